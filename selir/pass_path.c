/* selir/pass_path.c - conditions known on the path.
 *
 * In the arms of c ? x : y the condition is known, and so is what follows from it.
 * An arm that depends on it is copied with the answer put in.  The copy equals the
 * arm only on its path, so it stands for no value of the program; values that may
 * fault are not copied, since their faults are not on this path alone. */
#include "selir/simplify_int.h"

#include <string.h>

#include "base/mem.h"

/* Values that one arm's walk may visit, and its depth.  Budget: a walk costs some
 * 2 us, two a select.  Beyond it the arm stays as it is. */
#define VISITS 32
#define DEPTH 12
#define FACTS 16

struct fact {
    uint32_t id;
    int truth;
};

struct walk {
    struct dt_simp *s;
    uint32_t cond;
    int truth;
    struct fact fact[FACTS]; /* bools known, cond first */
    int n_facts;
    int visits;
};

/* The bools that the condition decides: both sides of a true `and`, ... */
static void collect (struct walk *w, uint32_t id, int truth)
{
    const struct dt_node *n = &w->s->out->node[id];
    int i;

    if (w->n_facts == FACTS)
        return;
    w->fact[w->n_facts++] = (struct fact){ id, truth };
    for (i = w->n_facts - 1; i < w->n_facts; i++) {
        struct fact add[2];
        int k, n_add = 0;

        n = &w->s->out->node[w->fact[i].id];
        if (n->op == DT_OP_NOT)
            add[n_add++] = (struct fact){ n->a, !w->fact[i].truth };
        else if ((n->op == DT_OP_AND && w->fact[i].truth)
                 || (n->op == DT_OP_OR && !w->fact[i].truth)) {
            add[n_add++] = (struct fact){ n->a, w->fact[i].truth };
            add[n_add++] = (struct fact){ n->b, w->fact[i].truth };
        }
        for (k = 0; k < n_add && w->n_facts < FACTS; k++)
            w->fact[w->n_facts++] = add[k];
    }
}

/* Does one comparison decide another of the same two values?  -1: no. */
static int implied (const struct dt_node *f, int truth, const struct dt_node *n)
{
    uint32_t lo, hi; /* lo < hi (strict) or lo <= hi is known */
    int strict;

    if (f->op != DT_OP_LT && f->op != DT_OP_LE)
        return -1;
    lo = truth ? f->a : f->b;
    hi = truth ? f->b : f->a;
    strict = truth == (f->op == DT_OP_LT);
    if (n->a == lo && n->b == hi) {
        if (n->op == DT_OP_LE || (n->op == DT_OP_LT && strict))
            return 1;
    } else if (n->a == hi && n->b == lo) {
        if (n->op == DT_OP_LT || (n->op == DT_OP_LE && strict))
            return 0;
    } else {
        return -1;
    }
    return strict && n->op == DT_OP_EQ ? 0 : strict && n->op == DT_OP_NE ? 1 : -1;
}

/* A bool's value on the path, or -1. */
static int decide (const struct walk *w, uint32_t id)
{
    const struct dt_graph *g = w->s->out;
    const struct dt_node *n = &g->node[id];
    int64_t room_a[DT_RANGE_SET], room_b[DT_RANGE_SET];
    struct dt_range a, b;
    int i, v;

    for (i = 0; i < w->n_facts; i++)
        if (w->fact[i].id == id)
            return w->fact[i].truth;
    if (n->op < DT_OP_LT || n->op > DT_OP_NE)
        return -1;
    for (i = 0; i < w->n_facts; i++)
        if ((v = implied (&g->node[w->fact[i].id], w->fact[i].truth, n)) >= 0)
            return v;
    a = dt_ranges_where (w->s->ranges, g, w->cond, w->truth, n->a, room_a);
    b = dt_ranges_where (w->s->ranges, g, w->cond, w->truth, n->b, room_b);
    return dt_range_compare (n->op, &a, &b);
}

static int value_on_path (struct walk *w, uint32_t id, int64_t *ret)
{
    const struct dt_node *n = &w->s->out->node[id];
    int64_t room[DT_RANGE_SET];
    struct dt_range v;

    if (n->op == DT_OP_CONST || dt_node_faults (n))
        return 0;
    if (n->type == DT_TYPE_BOOL) {
        *ret = decide (w, id);
        return *ret >= 0;
    }
    v = dt_ranges_where (w->s->ranges, w->s->out, w->cond, w->truth, id, room);
    *ret = n->type == DT_TYPE_FLOAT ? dt_range_bits (v.lo) : v.lo;
    return v.lo == v.hi;
}

static int remember (struct dt_simp *s, uint32_t id, uint32_t what)
{
    size_t old = s->room, room = (size_t)s->out->n_nodes * 2 + 64;
    uint32_t *p;

    if (id >= s->room) {
        if (!(p = dt_realloc (s->memo, room, sizeof *p)))
            return dt_err_nomem (s->err);
        s->memo = p;
        if (!(p = dt_realloc (s->stamp, room, sizeof *p)))
            return dt_err_nomem (s->err);
        s->stamp = p;
        memset (p + old, 0, (room - old) * sizeof *p);
        s->room = room;
    }
    s->memo[id] = what;
    s->stamp[id] = s->walk;
    return 0;
}

static int copy (struct walk *w, uint32_t id, int depth, uint32_t *ret);

/* The value with its operands as they are on the path.  One that others read too is
 * replaced by what is there already only: a copy of it for this path would be a way
 * around a value that a cut could take. */
static int copy_node (struct walk *w, uint32_t id, int depth, uint32_t *ret)
{
    struct dt_node n = w->s->out->node[id];
    uint32_t old = w->s->out->n_nodes, made, args[3], now[3] = { DT_NODE_NONE, DT_NODE_NONE, DT_NODE_NONE };
    int i, r, changed = 0, k = dt_node_args (&n, args);

    *ret = id;
    if (dt_node_faults (&n))
        return 0;
    for (i = 0; i < k; i++) {
        if ((r = copy (w, args[i], depth + 1, &now[i])) < 0)
            return r;
        changed |= now[i] != args[i];
    }
    if (!changed || w->s->path_left == 0)
        return 0;
    w->s->path_left--;
    n.a = now[0];
    n.b = now[1];
    n.c = now[2];
    n.name = NULL;
    if ((r = dt_simp_add (w->s, n, &made)) < 0)
        return r;
    if (made < old || !dt_simp_shared (w->s, id))
        *ret = made;
    return 0;
}

static int copy (struct walk *w, uint32_t id, int depth, uint32_t *ret)
{
    int64_t v;
    int r;

    if (id < w->s->room && w->s->stamp[id] == w->s->walk) {
        *ret = w->s->memo[id];
        return 0;
    }
    *ret = id;
    if (depth > DEPTH || w->visits == 0)
        return 0;
    w->visits--;
    if (value_on_path (w, id, &v))
        r = dt_simp_const (w->s, w->s->out->node[id].type, v, ret);
    else
        r = copy_node (w, id, depth, ret);
    return r < 0 ? r : remember (w->s, id, *ret);
}

int dt_path_under (struct dt_simp *s, uint32_t cond, int truth, uint32_t id, uint32_t *ret)
{
    struct walk w = { .s = s, .cond = cond, .truth = truth, .visits = VISITS };
    unsigned passes = s->passes;
    int r;

    s->walk++;
    collect (&w, cond, truth);
    s->passes &= ~(1u << DT_PASS_BIT_PATH); /* no walk within a walk */
    r = copy (&w, id, 0, ret);
    s->passes = passes;
    return r;
}

int dt_pass_path (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    int r;

    (void)ret;
    switch (n->op) {
    case DT_OP_SELECT:
        if ((r = dt_path_under (s, n->a, 1, n->b, &n->b)) < 0)
            return r;
        return dt_path_under (s, n->a, 0, n->c, &n->c);
    case DT_OP_AND:
    case DT_OP_OR: /* the side that is decided alone knows the other's answer */
        return dt_path_under (s, n->a, n->op == DT_OP_AND, n->b, &n->b);
    default: return 0;
    }
}
