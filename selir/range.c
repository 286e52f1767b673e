/* selir/range.c - ranges and value sets of all nodes, in one pass. */
#include "selir/range.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "selir/range_int.h"

/* Pairs of members that one node's set may cost.  A node of 2^9 costs some 10 us;
 * most have a constant on one side. */
#define PAIRS 512
/* How deep a condition is looked into for what it says of a value. */
#define DEPTH 8

#define SAFE 1
#define EXACT 2

struct dt_ranges {
    struct dt_arena arena; /* sets */
    struct dt_range *range; /* [n] */
    uint8_t *flags;
    size_t room_range, room_flags;
    uint32_t n;
    const struct dt_range *box; /* borrowed while extending */
};

static const int64_t bits01[] = { 0, 1 };
static const struct dt_range none = { 0, 0, 1, bits01 }; /* of an operand that is not there */

static struct dt_range bool_range (int can0, int can1)
{
    return (struct dt_range){ !can0, can1, (uint32_t)(can0 + can1), bits01 + !can0 };
}

static struct dt_range interval (int64_t lo, int64_t hi)
{
    return (struct dt_range){ lo, hi, 0, NULL };
}

/* --- small sets ------------------------------------------------------------- */

struct set {
    int64_t v[DT_RANGE_SET];
    uint32_t n;
    int over; /* more members than fit */
};

static void set_add (struct set *s, int64_t v)
{
    uint32_t lo = 0, hi = s->n;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (s->v[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < s->n && s->v[lo] == v)
        return;
    if (s->n == DT_RANGE_SET) {
        s->over = 1;
        return;
    }
    memmove (&s->v[lo + 1], &s->v[lo], (s->n - lo) * sizeof s->v[0]);
    s->v[lo] = v;
    s->n++;
}

static int keep_set (struct dt_ranges *r, const struct set *s, struct dt_range *ret)
{
    int64_t *v = dt_arena_array (&r->arena, s->n, sizeof *v);

    if (!v)
        return -1;
    memcpy (v, s->v, s->n * sizeof *v);
    *ret = (struct dt_range){ v[0], v[s->n - 1], s->n, v };
    return 0;
}

/* Values that the graph holds, as ranges have them. */
static int64_t as_range (uint8_t type, int64_t v)
{
    return type == DT_TYPE_FLOAT ? dt_range_key (v) : v;
}

/* A narrow interval is a set too. */
static int keep_interval (struct dt_ranges *r, int64_t lo, int64_t hi, struct dt_range *ret)
{
    struct set s = { .n = 0 };

    *ret = interval (lo, hi);
    if ((uint64_t)hi - (uint64_t)lo >= DT_RANGE_SET)
        return 0;
    for (s.n = 0; s.n <= (uint64_t)hi - (uint64_t)lo; s.n++)
        s.v[s.n] = (int64_t)((uint64_t)lo + s.n);
    return keep_set (r, &s, ret);
}

/* --- leaves ------------------------------------------------------------------ */

static int keep_values (struct dt_ranges *r, uint8_t type, const int64_t *v, size_t n,
                        struct dt_range *ret)
{
    struct set s = { .n = 0 };
    int64_t lo = INT64_MAX, hi = INT64_MIN, x;
    size_t i;

    for (i = 0; i < n; i++) {
        x = as_range (type, v[i]);
        set_add (&s, x);
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
    }
    *ret = interval (lo, hi);
    return s.over ? 0 : keep_set (r, &s, ret);
}

static int keep_domain (struct dt_ranges *r, uint8_t type, const struct dt_domain *d,
                        struct dt_range *ret)
{
    uint64_t i, n = dt_domain_size (d);
    struct set s = { .n = 0 };

    if (type == DT_TYPE_FLOAT)
        return keep_values (r, type, d->value, d->n, ret);
    *ret = interval (dt_domain_at (d, 0), dt_domain_at (d, n - 1));
    if (n > DT_RANGE_SET)
        return 0;
    for (i = 0; i < n; i++)
        s.v[s.n++] = dt_domain_at (d, i);
    return keep_set (r, &s, ret);
}

static int keep_any (struct dt_ranges *r, const struct dt_graph *g, uint8_t type,
                     struct dt_range *ret)
{
    if (type == DT_TYPE_BOOL)
        *ret = bool_range (1, 1);
    else if (type == DT_TYPE_ENUM && g->n_enums > 0)
        return keep_interval (r, 0, (int64_t)g->n_enums - 1, ret);
    else
        *ret = interval (INT64_MIN, INT64_MAX);
    return 0;
}

static int keep_pin (struct dt_ranges *r, const struct dt_graph *g, const struct dt_node *n,
                     struct dt_range *ret)
{
    const struct dt_pin *p = &g->pin[n->imm];

    if (!p->value || p->n_values == 0)
        return keep_any (r, g, n->type, ret);
    *ret = interval (p->value[0], p->value[p->n_values - 1]); /* no float is pinned */
    return p->n_values > DT_RANGE_SET ? 0 : keep_values (r, n->type, p->value, p->n_values, ret);
}

static int leaf (struct dt_ranges *r, const struct dt_graph *g, uint32_t id,
                 struct dt_range *ret)
{
    const struct dt_node *n = &g->node[id];

    if (n->op != DT_OP_CONST && r->box && r->box[id].lo <= r->box[id].hi) {
        const struct dt_range *box = &r->box[id];

        if (box->n > 0 && box->n <= DT_RANGE_SET)
            return keep_values (r, n->type, box->set, box->n, ret);
        return n->type == DT_TYPE_FLOAT ? keep_any (r, g, n->type, ret)
                                        : keep_interval (r, box->lo, box->hi, ret);
    }
    switch (n->op) {
    case DT_OP_CONST: return keep_values (r, n->type, &n->imm, 1, ret);
    case DT_OP_INPUT: return keep_domain (r, n->type, &g->input[n->imm].domain, ret);
    case DT_OP_KNOB:
        return keep_values (r, n->type, g->knob[n->imm].value, g->knob[n->imm].n_values, ret);
    case DT_OP_PIN: return keep_pin (r, g, n, ret);
    default: return keep_interval (r, 0, 0, ret); /* FAIL has the value 0 */
    }
}

/* --- comparisons and conditions ------------------------------------------------ */

static int meet (const struct dt_range *a, const struct dt_range *b)
{
    uint32_t i = 0, k = 0;

    if (a->hi < b->lo || b->hi < a->lo)
        return 0;
    if (a->n == 0 || b->n == 0)
        return 1; /* maybe */
    while (i < a->n && k < b->n) {
        if (a->set[i] == b->set[k])
            return 1;
        if (a->set[i] < b->set[k])
            i++;
        else
            k++;
    }
    return 0;
}

int dt_range_compare (uint8_t op, const struct dt_range *a, const struct dt_range *b)
{
    switch (op) {
    case DT_OP_LT: return a->hi < b->lo ? 1 : a->lo >= b->hi ? 0 : -1;
    case DT_OP_LE: return a->hi <= b->lo ? 1 : a->lo > b->hi ? 0 : -1;
    default: break;
    }
    if (a->lo == a->hi && b->lo == b->hi && a->lo == b->lo)
        return op == DT_OP_EQ;
    return meet (a, b) ? -1 : op == DT_OP_NE;
}

/* What a comparison says of its operands: x in lo..hi, x != not (if has_not). */
struct said {
    int64_t lo, hi, not;
    int has_not;
};

static int64_t less (int64_t v) { return v == INT64_MIN ? v : v - 1; }
static int64_t more (int64_t v) { return v == INT64_MAX ? v : v + 1; }

static void say_below (struct said *s, int64_t hi) { s->hi = hi < s->hi ? hi : s->hi; }
static void say_above (struct said *s, int64_t lo) { s->lo = lo > s->lo ? lo : s->lo; }

/* `op` (a, b) holds; x is a (or b, if is_b) and `other` the other's range. */
static void say (struct said *s, uint8_t op, int is_b, const struct dt_range *other)
{
    switch (op) {
    case DT_OP_LT:
        if (is_b)
            say_above (s, more (other->lo));
        else
            say_below (s, less (other->hi));
        break;
    case DT_OP_LE:
        if (is_b)
            say_above (s, other->lo);
        else
            say_below (s, other->hi);
        break;
    case DT_OP_EQ:
        say_above (s, other->lo);
        say_below (s, other->hi);
        break;
    default:
        if (other->lo == other->hi) {
            s->not = other->lo;
            s->has_not = 1;
        }
    }
}

static void comparison (const struct dt_ranges *r, const struct dt_node *c, int truth,
                        uint32_t node, struct said *s)
{
    uint32_t a = c->a, b = c->b, swap;
    uint8_t op = c->op;

    if (!truth) { /* not a < b is b <= a */
        op = op == DT_OP_LT ? DT_OP_LE : op == DT_OP_LE ? DT_OP_LT
             : op == DT_OP_EQ ? DT_OP_NE : DT_OP_EQ;
        if (op == DT_OP_LT || op == DT_OP_LE) {
            swap = a;
            a = b;
            b = swap;
        }
    }
    if (a == node)
        say (s, op, 0, &r->range[b]);
    if (b == node)
        say (s, op, 1, &r->range[a]);
}

static void listen (const struct dt_ranges *r, const struct dt_graph *g, uint32_t cond,
                    int truth, uint32_t node, struct said *s, int depth)
{
    const struct dt_node *c = &g->node[cond];

    switch (depth < DEPTH ? c->op : DT_OP_CONST) {
    case DT_OP_NOT: listen (r, g, c->a, !truth, node, s, depth + 1); break;
    case DT_OP_AND:
    case DT_OP_OR:
        if (truth == (c->op == DT_OP_AND)) {
            listen (r, g, c->a, truth, node, s, depth + 1);
            listen (r, g, c->b, truth, node, s, depth + 1);
        }
        break;
    case DT_OP_LT: case DT_OP_LE: case DT_OP_EQ: case DT_OP_NE:
        comparison (r, c, truth, node, s);
        break;
    default: break;
    }
}

static struct dt_range filter (const struct dt_range *of, const struct said *s,
                               int64_t room[DT_RANGE_SET])
{
    struct dt_range v = *of;
    uint32_t i;

    if (of->n == 0) {
        v.lo = s->lo + (s->has_not && s->not == s->lo && s->lo < s->hi);
        v.hi = s->hi - (s->has_not && s->not == s->hi && s->lo < s->hi);
        return v.lo <= v.hi ? v : *of;
    }
    for (v.n = 0, i = 0; i < of->n; i++)
        if (of->set[i] >= s->lo && of->set[i] <= s->hi
            && !(s->has_not && of->set[i] == s->not))
            room[v.n++] = of->set[i];
    if (v.n == 0)
        return *of;
    v.set = room;
    v.lo = room[0];
    v.hi = room[v.n - 1];
    return v;
}

struct dt_range dt_ranges_where (const struct dt_ranges *r, const struct dt_graph *g,
                                 uint32_t cond, int truth, uint32_t node,
                                 int64_t room[DT_RANGE_SET])
{
    const struct dt_range *of = &r->range[node];
    struct said s = { .lo = of->lo, .hi = of->hi };

    if (cond == node)
        return bool_range (!truth, truth);
    listen (r, g, cond, truth, node, &s, 0);
    if (s.lo > s.hi || (s.lo == of->lo && s.hi == of->hi && !s.has_not))
        return *of;
    return filter (of, &s, room);
}

/* --- ops ------------------------------------------------------------------------ */

/* Members of both sides through the op; 0 if there are too many pairs. */
static int pair_set (uint8_t op, const struct dt_range *a, const struct dt_range *b,
                     struct set *s, int *fault)
{
    const char *type = dt_op_types (op);
    int fa = type[0] == 'f', fb = type[1] == 'f', f = type[dt_op_args (op)] == 'f';
    uint32_t i, k;
    int64_t v;

    if (a->n == 0 || b->n == 0 || (uint64_t)a->n * b->n > PAIRS)
        return 0;
    for (i = 0; i < a->n; i++) {
        for (k = 0; k < b->n; k++) {
            int64_t x = fa ? dt_range_bits (a->set[i]) : a->set[i];
            int64_t y = fb ? dt_range_bits (b->set[k]) : b->set[k];

            *fault |= dt_op_eval (op, x, y, 0, &v) != DT_FAULT_NONE;
            set_add (s, f ? dt_range_key (v) : v);
        }
    }
    return 1;
}

static int arithmetic (struct dt_ranges *r, uint8_t op, const struct dt_range *a,
                       const struct dt_range *b, int *fault, struct dt_range *ret)
{
    struct set s = { .n = 0 };
    struct dt_interval v;
    int f = 0;

    if (pair_set (op, a, b, &s, &f)) {
        *fault = f;
        if (!s.over)
            return keep_set (r, &s, ret);
    }
    v = dt_interval_op (op, a, b);
    if (s.n == 0)
        *fault = v.fault;
    return keep_interval (r, v.lo, v.hi, ret);
}

static int join (struct dt_ranges *r, const struct dt_range *a, const struct dt_range *b,
                 struct dt_range *ret)
{
    struct set s = { .n = 0 };
    uint32_t i;

    *ret = interval (a->lo < b->lo ? a->lo : b->lo, a->hi > b->hi ? a->hi : b->hi);
    if (a->n == 0 || b->n == 0)
        return 0;
    memcpy (s.v, a->set, a->n * sizeof s.v[0]);
    s.n = a->n;
    for (i = 0; i < b->n && !s.over; i++)
        set_add (&s, b->set[i]);
    return s.over ? 0 : keep_set (r, &s, ret);
}

static int select_range (struct dt_ranges *r, const struct dt_graph *g,
                         const struct dt_node *n, struct dt_range *ret)
{
    const struct dt_range *c = &r->range[n->a];
    int64_t room_b[DT_RANGE_SET], room_c[DT_RANGE_SET];
    struct dt_range b = dt_ranges_where (r, g, n->a, 1, n->b, room_b);
    struct dt_range other = dt_ranges_where (r, g, n->a, 0, n->c, room_c);

    if (c->lo == c->hi) {
        *ret = r->range[c->lo ? n->b : n->c];
        return 0;
    }
    return join (r, &b, &other, ret);
}

static struct dt_range logic (const struct dt_ranges *r, const struct dt_node *n)
{
    const struct dt_range *a = &r->range[n->a];
    const struct dt_range *b = n->b == DT_NODE_NONE ? a : &r->range[n->b];
    struct dt_range zero = { 0, 0, 1, bits01 };
    int known;

    switch (n->op) {
    case DT_OP_NOT: return bool_range (a->hi != 0, a->lo == 0);
    case DT_OP_AND: return bool_range (a->lo == 0 || b->lo == 0, a->hi && b->hi);
    case DT_OP_OR: return bool_range (a->lo == 0 && b->lo == 0, a->hi || b->hi);
    case DT_OP_BOOL: known = dt_range_compare (DT_OP_NE, a, &zero); break;
    default: known = dt_range_compare (n->op, a, b);
    }
    return bool_range (known != 1, known != 0);
}

static const struct dt_range *second (const struct dt_ranges *r, const struct dt_node *n)
{
    return n->b == DT_NODE_NONE ? &none : &r->range[n->b];
}

/* Does the guard rule out the fault that the operands' own ranges allow? */
static int guarded (struct dt_ranges *r, const struct dt_graph *g, const struct dt_node *n)
{
    int64_t room_a[DT_RANGE_SET], room_b[DT_RANGE_SET];
    struct set s = { .n = 0 };
    struct dt_range a, b;
    int fault = 0;

    if (n->guard == DT_NODE_NONE)
        return 0;
    if (r->range[n->guard].hi == 0)
        return 1;
    if (n->op == DT_OP_FAIL)
        return 0;
    a = dt_ranges_where (r, g, n->guard, 1, n->a, room_a);
    b = n->b == DT_NODE_NONE ? none : dt_ranges_where (r, g, n->guard, 1, n->b, room_b);
    if (pair_set (n->op, &a, &b, &s, &fault))
        return !fault;
    return !dt_interval_op (n->op, &a, &b).fault;
}

static int partial (struct dt_ranges *r, const struct dt_graph *g, uint32_t id)
{
    const struct dt_node *n = &g->node[id];
    int fault = 1;

    if (n->op == DT_OP_FAIL) {
        if (leaf (r, g, id, &r->range[id]) < 0)
            return -1;
    } else {
        if (arithmetic (r, n->op, &r->range[n->a], second (r, n), &fault, &r->range[id]) < 0)
            return -1;
    }
    r->flags[id] = !fault ? SAFE | EXACT : n->safe || guarded (r, g, n) ? SAFE : 0;
    return 0;
}

static int compute (struct dt_ranges *r, const struct dt_graph *g, uint32_t id)
{
    const struct dt_node *n = &g->node[id];
    int fault;

    r->flags[id] = 0;
    if (dt_op_partial (n->op))
        return partial (r, g, id);
    switch (n->op) {
    case DT_OP_CONST: case DT_OP_INPUT: case DT_OP_KNOB: case DT_OP_PIN:
        return leaf (r, g, id, &r->range[id]);
    case DT_OP_SELECT: return select_range (r, g, n, &r->range[id]);
    case DT_OP_INT: r->range[id] = r->range[n->a]; return 0;
    case DT_OP_BITAND: case DT_OP_BITOR: case DT_OP_BITXOR: case DT_OP_MIN: case DT_OP_MAX:
    case DT_OP_INVERT:
        return arithmetic (r, n->op, &r->range[n->a], second (r, n), &fault, &r->range[id]);
    default:
        if (n->op > DT_OP_FAIL)
            return arithmetic (r, n->op, &r->range[n->a], second (r, n), &fault, &r->range[id]);
        r->range[id] = logic (r, n);
        return 0;
    }
}

int dt_ranges_open (struct dt_ranges **ret, struct dt_err *reterr)
{
    struct dt_ranges *r = dt_calloc (1, sizeof *r);

    if (!r)
        return dt_err_nomem (reterr);
    *ret = r;
    return 0;
}

int dt_ranges_extend (struct dt_ranges *r, const struct dt_graph *g, struct dt_err *reterr)
{
    for (; r->n < g->n_nodes; r->n++)
        if (dt_grow ((void **)&r->range, &r->room_range, r->n, sizeof *r->range) < 0
            || dt_grow ((void **)&r->flags, &r->room_flags, r->n, sizeof *r->flags) < 0
            || compute (r, g, r->n) < 0)
            return dt_err_nomem (reterr);
    return 0;
}

int dt_ranges_new (const struct dt_graph *g, const struct dt_range *box,
                   struct dt_ranges **ret, struct dt_err *reterr)
{
    struct dt_ranges *n = NULL;
    int r;

    if ((r = dt_ranges_open (&n, reterr)) < 0)
        return r;
    n->box = box;
    if ((r = dt_ranges_extend (n, g, reterr)) < 0) {
        dt_ranges_free (n);
        return r;
    }
    n->box = NULL;
    *ret = n;
    return 0;
}

struct dt_ranges *dt_ranges_free (struct dt_ranges *r)
{
    if (!r)
        return NULL;
    dt_arena_done (&r->arena);
    dt_free (r->range);
    dt_free (r->flags);
    dt_free (r);
    return NULL;
}

struct dt_range dt_ranges_get (const struct dt_ranges *r, uint32_t node)
{
    return r->range[node];
}

int dt_ranges_safe (const struct dt_ranges *r, uint32_t node)
{
    return (r->flags[node] & SAFE) != 0;
}

int dt_ranges_exact (const struct dt_ranges *r, uint32_t node)
{
    return (r->flags[node] & EXACT) != 0;
}
