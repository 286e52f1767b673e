/* selir/simplify.c - rebuild a graph, pass by pass, until nothing changes. */
#include "selir/simplify.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "selir/simplify_int.h"

/* Rewrites that one rewrite may start within itself; deeper ones wait for the next
 * round. */
#define DEPTH 24
#define KEY_BYTES (offsetof (struct dt_node, copy) + 1)

/* What is put in place of symbols in the first round. */
struct bind {
    const uint32_t *subst;      /* [n_nodes] index of a pin, or NULL */
    const int64_t *pin, *knob;  /* constants, or NULL */
};

struct job {
    unsigned passes;
    int faults;
    uint32_t path_left;
    struct bind bind;
    uint32_t n_map;
    uint32_t *map; /* [n_map] original to current, DT_NODE_NONE: dropped */
    struct dt_err *err;
};

static int on (const struct dt_simp *s, int bit)
{
    return (s->passes >> bit & 1) != 0;
}

const char *dt_pass_name (unsigned bit)
{
    static const char *const name[] = {
#define X(name, text) text,
        DT_PASSES (X)
#undef X
    };

    return bit < DT_PASS_COUNT ? name[bit] : NULL;
}

/* --- adding one value --------------------------------------------------------- */

int dt_simp_known (const struct dt_simp *s, uint32_t id, int64_t *ret)
{
    if (s->out->node[id].op != DT_OP_CONST)
        return 0;
    *ret = s->out->node[id].imm;
    return 1;
}

/* Enter it; an equal value that is there takes over the earlier place. */
static int enter (struct dt_simp *s, const struct dt_node *n, uint32_t *ret)
{
    struct dt_node *have;
    uint32_t id;
    int r;

    if ((r = dt_graph_add (s->out, *n, &id, s->err)) < 0
        || (s->passes && (r = dt_ranges_extend (s->ranges, s->out, s->err)) < 0))
        return r;
    have = &s->out->node[id];
    if (n->seq < have->seq) {
        have->seq = n->seq;
        have->span = n->span;
    }
    *ret = id;
    return 0;
}

int dt_simp_const (struct dt_simp *s, uint8_t type, int64_t v, uint32_t *ret)
{
    struct dt_node n = { .op = DT_OP_CONST, .type = type, .imm = v, .seq = UINT64_MAX };

    return enter (s, &n, ret);
}

/* After all rewrites: enter it, then see what its own range says. */
static int settle (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    struct dt_range range;
    uint32_t id;
    int r;

    if ((r = enter (s, n, &id)) < 0)
        return r;
    *ret = id;
    if (!on (s, DT_PASS_BIT_RANGE) || dt_op_args (n->op) == 0)
        return 0;
    if (dt_node_faults (n) && dt_ranges_safe (s->ranges, id)) {
        n->safe = 1;
        if ((r = enter (s, n, ret)) < 0)
            return r;
        s->out->node[id].safe = 1; /* left behind, and no fault to keep */
        s->out->node[id].guard = DT_NODE_NONE;
    }
    range = dt_ranges_get (s->ranges, *ret);
    if (range.lo != range.hi || dt_node_faults (&s->out->node[*ret]))
        return 0;
    return dt_simp_const (s, n->type, n->type == DT_TYPE_FLOAT ? dt_range_bits (range.lo) : range.lo,
                          ret);
}

static int rewrite (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    static int (*const pass[DT_PASS_COUNT]) (struct dt_simp *, struct dt_node *, uint32_t *) = {
        [DT_PASS_BIT_FOLD] = dt_pass_fold,     [DT_PASS_BIT_ALGEBRA] = dt_pass_algebra,
        [DT_PASS_BIT_RANGE] = dt_pass_range,   [DT_PASS_BIT_SELECT] = dt_pass_select,
        [DT_PASS_BIT_PATH] = dt_pass_path,
    };
    int i, r;

    for (i = 0; i < DT_PASS_COUNT; i++)
        if (pass[i] && on (s, i) && (r = pass[i] (s, n, ret)) != 0)
            return r;
    return 0;
}

int dt_simp_add (struct dt_simp *s, struct dt_node n, uint32_t *ret)
{
    int r = 0;

    s->depth++;
    if (s->depth <= DEPTH)
        r = rewrite (s, &n, ret);
    s->depth--;
    if (r != 0)
        return r < 0 ? r : 0;
    return settle (s, &n, ret);
}

int dt_simp_select (struct dt_simp *s, const struct dt_node *like, uint32_t a, uint32_t b,
                    uint32_t c, uint32_t *ret)
{
    struct dt_node n = { .op = DT_OP_SELECT, .type = s->out->node[b].type, .a = a, .b = b,
                         .c = c, .guard = DT_NODE_NONE, .span = like->span, .seq = like->seq };

    return dt_simp_add (s, n, ret);
}

int dt_simp_op (struct dt_simp *s, const struct dt_node *like, uint8_t op, uint8_t type,
                uint32_t a, uint32_t b, uint32_t *ret)
{
    struct dt_node n = { .op = op, .type = type, .a = a, .b = b, .c = DT_NODE_NONE,
                         .guard = DT_NODE_NONE, .span = like->span, .seq = like->seq };

    return dt_simp_add (s, n, ret);
}

/* --- what is needed ------------------------------------------------------------ */

static int is_const (const struct dt_graph *g, uint32_t id, int64_t v)
{
    return id != DT_NODE_NONE && g->node[id].op == DT_OP_CONST && g->node[id].imm == v;
}

/* A condition that holds on every input. */
static int idle (const struct job *j, const struct dt_graph *g, const struct dt_cond *c)
{
    return (j->passes >> DT_PASS_BIT_DEAD & 1) != 0
           && (is_const (g, c->value, 1) || is_const (g, c->guard, 0));
}

static void mark_roots (const struct job *j, const struct dt_graph *g, uint8_t *live)
{
    uint32_t i;

    for (i = 0; i < g->n_points; i++)
        live[g->point[i].node] = 1;
    for (i = 0; i < g->n_conds; i++) {
        if (idle (j, g, &g->cond[i]))
            continue;
        live[g->cond[i].value] = 1;
        if (g->cond[i].guard != DT_NODE_NONE)
            live[g->cond[i].guard] = 1;
    }
    if ((j->passes >> DT_PASS_BIT_DEAD & 1) == 0)
        for (i = 0; i < j->n_map; i++)
            if (j->map[i] != DT_NODE_NONE)
                live[j->map[i]] = 1;
}

/* `subst`: of the first round; what a pin replaces needs nothing. */
static uint8_t *mark (const struct job *j, const struct dt_graph *g, const uint32_t *subst)
{
    uint8_t *live = dt_calloc (g->n_nodes, 1);
    uint32_t i, args[3];
    int k;

    if (!live)
        return NULL;
    mark_roots (j, g, live);
    for (i = g->n_nodes; i-- > 0;) {
        const struct dt_node *n = &g->node[i];

        if (subst && subst[i] != DT_NODE_NONE)
            continue;
        if (j->faults && dt_node_faults (n))
            live[i] = 1;
        if (!live[i])
            continue;
        for (k = dt_node_args (n, args); k-- > 0;)
            live[args[k]] = 1;
        if (n->guard != DT_NODE_NONE)
            live[n->guard] = 1;
    }
    return live;
}

/* --- rebuilding ------------------------------------------------------------------ */

/* The node with its operands in the new graph, where equal values are one again. */
static struct dt_node moved (const struct dt_node *n, const uint32_t *map)
{
    struct dt_node m = *n;
    int k = dt_op_args (n->op);

    m.a = k > 0 ? map[n->a] : DT_NODE_NONE;
    m.b = k > 1 ? map[n->b] : DT_NODE_NONE;
    m.c = k > 2 ? map[n->c] : DT_NODE_NONE;
    m.guard = n->guard == DT_NODE_NONE ? DT_NODE_NONE : map[n->guard];
    m.copy = 0;
    return m;
}

static void name_it (struct dt_graph *g, uint32_t id, const char *name)
{
    if (name && !g->node[id].name && g->node[id].op != DT_OP_CONST)
        g->node[id].name = name;
}

static int put_symbol (struct dt_simp *s, const struct bind *b, const struct dt_node *n,
                       uint32_t pin, uint32_t *ret)
{
    if (pin == DT_NODE_NONE && n->op == DT_OP_PIN)
        pin = (uint32_t)n->imm;
    if (pin == DT_NODE_NONE) /* a knob */
        return dt_simp_const (s, n->type, b->knob[n->imm], ret);
    if (b->pin)
        return dt_simp_const (s, n->type, b->pin[pin], ret);
    return enter (s, &(struct dt_node){ .op = DT_OP_PIN, .type = n->type, .imm = pin,
                                        .span = n->span, .seq = n->seq, .name = n->name }, ret);
}

static int rebuild_node (struct dt_simp *s, const struct bind *b, const struct dt_graph *g,
                         uint32_t i, uint32_t *map)
{
    const struct dt_node *n = &g->node[i];
    uint32_t pin = b->subst ? b->subst[i] : DT_NODE_NONE;
    int r;

    if (pin != DT_NODE_NONE || (n->op == DT_OP_PIN && b->pin)
        || (n->op == DT_OP_KNOB && b->knob))
        r = put_symbol (s, b, n, pin, &map[i]);
    else if (n->copy == DT_COPY_INPUT)
        r = dt_simp_add (s, moved (&g->node[n->b], map), &map[i]);
    else
        r = dt_simp_add (s, moved (n, map), &map[i]);
    if (r < 0)
        return r;
    name_it (s->out, map[i], n->name);
    return 0;
}

/* Conditions under their guard, and points. */
static int rebuild_rows (struct dt_simp *s, const struct job *j, const struct dt_graph *g,
                         const uint32_t *map)
{
    uint32_t i;
    int r;

    for (i = 0; i < g->n_conds; i++) {
        struct dt_cond c = g->cond[i];

        if (idle (j, g, &c))
            continue;
        c.value = map[c.value];
        c.guard = c.guard == DT_NODE_NONE ? DT_NODE_NONE : map[c.guard];
        if (c.guard != DT_NODE_NONE && on (s, DT_PASS_BIT_FOLD) && is_const (s->out, c.guard, 1))
            c.guard = DT_NODE_NONE;
        if (c.guard != DT_NODE_NONE && on (s, DT_PASS_BIT_PATH)
            && (r = dt_path_under (s, c.guard, 1, c.value, &c.value)) < 0)
            return r;
        if (dt_graph_add_cond (s->out, &c) < 0)
            return dt_err_nomem (s->err);
    }
    for (i = 0; i < g->n_points; i++) {
        struct dt_point p = g->point[i];

        p.node = map[p.node];
        if (dt_graph_add_point (s->out, &p) < 0)
            return dt_err_nomem (s->err);
    }
    return 0;
}

/* How often live values, conditions and points read each value. */
static uint32_t *count_uses (const struct dt_graph *g, const uint8_t *live)
{
    uint32_t *uses = dt_calloc (g->n_nodes, sizeof *uses), args[3], i;
    int k;

    if (!uses)
        return NULL;
    for (i = 0; i < g->n_nodes; i++)
        for (k = live[i] ? dt_node_args (&g->node[i], args) : 0; k-- > 0;)
            uses[args[k]]++;
    for (i = 0; i < g->n_conds; i++)
        uses[g->cond[i].value]++;
    for (i = 0; i < g->n_points; i++)
        uses[g->point[i].node]++;
    return uses;
}

/* Note that several values read `id`. */
static int share (struct dt_simp *s, uint32_t id)
{
    while (s->n_shared <= id) {
        if (dt_grow ((void **)&s->shared, &s->room_shared, s->n_shared, 1) < 0)
            return dt_err_nomem (s->err);
        s->shared[s->n_shared++] = 0;
    }
    s->shared[id] = 1;
    return 0;
}

static int rebuild_into (struct dt_simp *s, struct job *j, const struct bind *b,
                         const struct dt_graph *g, uint32_t *map)
{
    uint8_t *live = mark (j, g, b->subst);
    uint32_t i, *uses = live ? count_uses (g, live) : NULL;
    int r = uses ? 0 : dt_err_nomem (s->err);

    for (i = 0; r == 0 && i < g->n_nodes; i++)
        if (live[i] && (r = rebuild_node (s, b, g, i, map)) == 0 && uses[i] > 1)
            r = share (s, map[i]);
    dt_free (uses);
    dt_free (live);
    return r < 0 ? r : rebuild_rows (s, j, g, map);
}

/* map after step: originals to the new graph. */
static void compose (struct job *j, const uint32_t *step)
{
    uint32_t i;

    for (i = 0; i < j->n_map; i++)
        if (j->map[i] != DT_NODE_NONE)
            j->map[i] = step[j->map[i]];
}

/* One graph to another: with `passes` 0 it is a copy of what is needed. */
static int step (struct job *j, unsigned passes, const struct bind *b, const struct dt_graph *g,
                 struct dt_graph **ret)
{
    struct dt_simp s = { .passes = passes, .path_left = j->path_left, .err = j->err };
    uint32_t *map = dt_calloc (g->n_nodes, sizeof *map);
    int r;

    if (!map)
        return dt_err_nomem (j->err);
    memset (map, 0xff, g->n_nodes * sizeof *map);
    if ((r = dt_graph_like (g, &s.out, j->err)) < 0
        || (r = dt_ranges_open (&s.ranges, j->err)) < 0
        || (r = rebuild_into (&s, j, b, g, map)) < 0)
        goto fail;
#ifdef DT_DEBUG
    dt_graph_check (s.out);
#endif
    compose (j, map);
    j->path_left = s.path_left;
    *ret = s.out;
    s.out = NULL;
    r = 0;
fail:
    dt_graph_free (s.out);
    dt_ranges_free (s.ranges);
    dt_free (s.memo);
    dt_free (s.shared);
    dt_free (s.stamp);
    dt_free (map);
    return r;
}

static int same_graph (const struct dt_graph *a, const struct dt_graph *b)
{
    uint32_t i;

    if (a->n_nodes != b->n_nodes || a->n_conds != b->n_conds || a->n_points != b->n_points)
        return 0;
    for (i = 0; i < a->n_nodes; i++)
        if (memcmp (&a->node[i], &b->node[i], KEY_BYTES) != 0)
            return 0;
    for (i = 0; i < a->n_conds; i++)
        if (a->cond[i].value != b->cond[i].value || a->cond[i].guard != b->cond[i].guard)
            return 0;
    for (i = 0; i < a->n_points; i++)
        if (a->point[i].node != b->point[i].node)
            return 0;
    return 1;
}

/* Names are borrowed from round to round; the last graph owns its own. */
static int own_names (struct dt_graph *g, struct dt_err *reterr)
{
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++)
        if (g->node[i].name && !(g->node[i].name = dt_graph_str (g, g->node[i].name)))
            return dt_err_nomem (reterr);
    return 0;
}

/* One round: rewrite, then drop what the rewriting left behind. */
static int round_once (struct job *j, const struct bind *b, const struct dt_graph *g,
                       struct dt_graph **ret)
{
    static const struct bind none = { 0 };
    struct dt_graph *wide = NULL;
    int r = step (j, j->passes, b, g, &wide);

    if (r < 0)
        return r;
    r = step (j, 0, &none, wide, ret);
    dt_graph_free (wide);
    return r;
}

static int rounds (struct job *j, const struct dt_graph *g, struct dt_graph **ret)
{
    static const struct bind none = { 0 };
    struct dt_graph *now = NULL, *next = NULL;
    int i, r, done = 0;

    if ((r = round_once (j, &j->bind, g, &now)) < 0)
        return r;
    for (i = 1; i < DT_SIMPLIFY_MAX_ROUNDS && !done; i++) {
        if ((r = round_once (j, &none, now, &next)) < 0)
            goto fail;
        done = same_graph (now, next);
        if ((r = own_names (next, j->err)) < 0)
            goto fail;
        dt_graph_free (now);
        now = next;
        next = NULL;
    }
    *ret = now;
    return 0;
fail:
    dt_graph_free (next);
    dt_graph_free (now);
    return r;
}

static int simplify (const struct dt_graph *g, unsigned passes, const struct bind *bind,
                     int faults, struct dt_graph **ret, uint32_t **ret_map,
                     struct dt_err *reterr)
{
    struct job j = { .passes = passes, .faults = faults, .bind = *bind, .n_map = g->n_nodes,
                     .path_left = g->n_nodes / 2 + 256, .err = reterr };
    uint32_t i;
    int r;

    if (!(j.map = dt_calloc (g->n_nodes, sizeof *j.map)))
        return dt_err_nomem (reterr);
    for (i = 0; i < g->n_nodes; i++)
        j.map[i] = i;
    if ((r = rounds (&j, g, ret)) < 0 || !ret_map)
        dt_free (j.map);
    else
        *ret_map = j.map;
    return r;
}

int dt_simplify (const struct dt_graph *g, unsigned passes, const uint32_t *subst, int faults,
                 struct dt_graph **ret, uint32_t **ret_map, struct dt_err *reterr)
{
    struct bind b = { .subst = subst };

    return simplify (g, passes, &b, faults, ret, ret_map, reterr);
}

int dt_simplify_bind (const struct dt_graph *g, const int64_t *pin, const int64_t *knob,
                      int faults, struct dt_graph **ret, struct dt_err *reterr)
{
    struct bind b = { .pin = pin, .knob = knob };

    return simplify (g, DT_PASS_ALL, &b, faults, ret, NULL, reterr);
}
