/* solver/check.c - verify a cut, and a solution's proof, from scratch. */
#include "solver/check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "solver/proof.h"

/* --- cuts ------------------------------------------------------------------------- */

/* Mark what is reached from marked vertices; those of the cut are marked, and not
 * passed. */
static void spread (uint32_t n, const uint32_t *row, const uint32_t *head, const uint8_t *cut,
                    uint8_t *mark, uint32_t *todo)
{
    uint32_t k = 0, v, a;

    for (v = 0; v < n; v++)
        if (mark[v])
            todo[k++] = v;
    while (k > 0) {
        v = todo[--k];
        for (a = row[v]; !cut[v] && a < row[v + 1]; a++)
            if (!mark[head[a]]) {
                mark[head[a]] = 1;
                todo[k++] = head[a];
            }
    }
}

/* The graph's arcs turned round. */
static void turn (const struct dt_cut_graph *g, uint32_t *row, uint32_t *head)
{
    uint32_t v, a;

    for (a = 0; a < g->row[g->n]; a++)
        row[g->head[a] + 1]++;
    for (v = 0; v < g->n; v++)
        row[v + 1] += row[v];
    for (v = 0; v < g->n; v++)
        for (a = g->row[v]; a < g->row[v + 1]; a++)
            head[row[g->head[a]]++] = v;
    memmove (row + 1, row, g->n * sizeof *row); /* each had moved to the next one's */
    row[0] = 0;
}

int dt_check_cut (const struct dt_cut_graph *g, const uint8_t *cut, struct dt_err *reterr)
{
    uint32_t *row = dt_calloc ((size_t)g->n + 1, sizeof *row), v;
    uint32_t *head = dt_calloc (g->row[g->n], sizeof *head);
    uint32_t *todo = dt_calloc (g->n, sizeof *todo);
    uint8_t *ahead = dt_memdup (g->source, g->n), *behind = dt_memdup (g->sink, g->n);
    const char *wrong = NULL;
    int r;

    if (!row || !head || !todo || !ahead || !behind) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    spread (g->n, g->row, g->head, cut, ahead, todo);
    turn (g, row, head);
    spread (g->n, row, head, cut, behind, todo);
    for (v = 0; v < g->n && !wrong; v++) {
        if (cut[v] && g->infinite[v])
            wrong = "may not be pinned";
        else if (cut[v] && !(ahead[v] && behind[v]))
            wrong = "is not needed";
        else if (!cut[v] && ahead[v] && g->sink[v])
            wrong = "is still reached";
    }
    r = wrong ? dt_err_set (reterr, -DT_ECORRUPT, "this is no minimal cut: value %u %s", v - 1,
                            wrong)
              : 0;
fail:
    dt_free (row);
    dt_free (head);
    dt_free (todo);
    dt_free (ahead);
    dt_free (behind);
    return r;
}

/* --- proofs ----------------------------------------------------------------------- */

/* A side of a box: members first..last of a pin's candidates, a knob's values or an
 * input's domain. */
struct reach {
    uint64_t first, last;
};

struct check {
    const struct dt_solution *s;
    const struct dt_graph *g;
    size_t n_axes;         /* pins, knobs, inputs */
    uint8_t *symbolic;     /* [values] depends on a pin or a knob */
    uint8_t *limit;        /* [conditions] says what the domain is */
    uint8_t *raised;       /* [values] computed from what the duty's fault is a fault of */
    uint8_t *seen;         /* [conditions + values] duties with a tree */
    uint8_t *open;         /* [assignments] */
    struct reach *todo;    /* [room] boxes of n_axes sides: parts of a tree to come */
    size_t n_todo, room;
    struct dt_range *box;  /* [values] */
    struct dt_reader in;
    struct dt_err *err;
};

static int corrupt (struct check *c, const char *what)
{
    return dt_err_set (c->err, -DT_ECORRUPT, "proof: %s (at byte %zu)", what, c->in.at);
}

/* Which values depend on pins and knobs; which on the batch. */
static void depend (const struct dt_graph *g, int batch, uint8_t *ret)
{
    uint32_t i, args[3];
    int k;

    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *n = &g->node[i];

        ret[i] = batch ? n->op == DT_OP_INPUT && g->input[n->imm].klass != DT_INPUT_OWN
                       : n->op == DT_OP_PIN || n->op == DT_OP_KNOB;
        for (k = dt_node_args (n, args); k-- > 0;)
            ret[i] |= ret[args[k]];
    }
}

static uint64_t members (const struct check *c, size_t axis)
{
    const struct dt_solution *s = c->s;

    if (axis < s->n_pins)
        return s->pin[axis].n_candidates;
    if ((axis -= s->n_pins) < s->n_knobs)
        return s->knob[axis].live ? s->knob[axis].n_values : 1;
    return dt_domain_size (&c->g->input[axis - s->n_knobs].domain);
}

/* An axis's leaf in the residual graph, and the values of some of its members. */
static uint32_t leaf (const struct check *c, size_t axis, struct reach side,
                      struct dt_range *ret)
{
    const struct dt_solution *s = c->s;
    const int64_t *value = NULL;
    const struct dt_domain *d = NULL;
    uint32_t node;
    uint64_t i;

    if (axis < s->n_pins) {
        node = c->g->pin[axis].node;
        value = s->pin[axis].candidate;
    } else if ((axis -= s->n_pins) < s->n_knobs) {
        node = c->g->knob[axis].node;
        value = s->knob[axis].value;
    } else {
        node = c->g->input[axis - s->n_knobs].node;
        d = &c->g->input[axis - s->n_knobs].domain;
        value = d->value;
    }
    if (!value) {
        *ret = (struct dt_range){ dt_domain_at (d, side.first), dt_domain_at (d, side.last), 0,
                                  NULL };
        return node;
    }
    *ret = (struct dt_range){ INT64_MAX, INT64_MIN, 0, NULL };
    for (i = side.first; i <= side.last; i++) {
        ret->lo = value[i] < ret->lo ? value[i] : ret->lo;
        ret->hi = value[i] > ret->hi ? value[i] : ret->hi;
    }
    if (side.last - side.first < DT_RANGE_SET) {
        ret->n = (uint32_t)(side.last - side.first + 1);
        ret->set = value + side.first;
    }
    return node;
}

static int is (const struct dt_ranges *r, uint32_t node, int64_t v)
{
    struct dt_range x = dt_ranges_get (r, node);

    return x.lo == v && x.hi == v;
}

static int never_on (const struct dt_ranges *r, uint32_t guard)
{
    return guard != DT_NODE_NONE && is (r, guard, 0);
}

static int always_on (const struct dt_ranges *r, uint32_t guard)
{
    return guard == DT_NODE_NONE || is (r, guard, 1);
}

/* Mark all that cannot be had where the duty's fault is. */
static void mark_raised (struct check *c, uint64_t duty)
{
    const struct dt_graph *g = c->g;
    uint32_t i, fault = (uint32_t)(duty / 2), args[3];

    memset (c->raised, 0, g->n_nodes);
    if (duty % 2 == 0)
        return;
    c->raised[fault] = 1;
    for (i = 0; i < g->n_nodes; i++)
        for (int k = dt_node_args (&g->node[i], args); k-- > 0;)
            c->raised[i] |= c->raised[args[k]];
}

static int is_raised (const struct check *c, const struct dt_cond *x)
{
    return c->raised[x->value] || (x->guard != DT_NODE_NONE && c->raised[x->guard]);
}

/* Whether the ranges of a box show that the duty stops no run there. */
static int shown (const struct check *c, uint64_t duty, const struct dt_ranges *r)
{
    const struct dt_graph *g = c->g;
    uint32_t i;

    if (duty % 2 == 0 && (is (r, g->cond[duty / 2].value, 1)
                          || never_on (r, g->cond[duty / 2].guard)))
        return 1;
    if (duty % 2 == 1 && (dt_ranges_safe (r, (uint32_t)(duty / 2))
                          || never_on (r, g->node[duty / 2].guard)))
        return 1;
    for (i = 0; i < g->n_conds; i++)
        if (c->limit[i] && !is_raised (c, &g->cond[i]) && is (r, g->cond[i].value, 0)
            && always_on (r, g->cond[i].guard))
            return 1; /* the box is outside the domain */
    return 0;
}

static int box_holds (struct check *c, uint64_t duty, const struct reach *side)
{
    struct dt_ranges *ranges;
    struct dt_range range;
    size_t i;
    int r;

    for (i = 0; i < c->n_axes; i++) {
        uint32_t node = leaf (c, i, side[i], &range);

        if (node != DT_NODE_NONE)
            c->box[node] = range;
    }
    if ((r = dt_ranges_new (c->g, c->box, &ranges, c->err)) < 0)
        return r;
    r = shown (c, duty, ranges) && dt_check_floats (c->g, ranges) == DT_NODE_NONE
            ? 0 : corrupt (c, "a box does not hold");
    dt_ranges_free (ranges);
    return r;
}

/* All assignments in a box are open. */
static void mark_open (struct check *c, const struct reach *side)
{
    size_t i, n = c->s->n_pins + c->s->n_knobs;
    uint64_t count = 1, k;

    for (i = 0; i < n; i++)
        count *= side[i].last - side[i].first + 1; /* at most n_assignments */
    for (k = 0; k < count; k++) {
        uint64_t rest = k, a = 0, stride = 1;

        for (i = n; i-- > 0; stride *= members (c, i)) {
            uint64_t width = side[i].last - side[i].first + 1;

            a += (side[i].first + rest % width) * stride;
            rest /= width;
        }
        c->open[a] = 1;
    }
}

static int push (struct check *c, const struct reach *side)
{
    size_t need = (c->n_todo + 1) * c->n_axes;

    if (need > c->room) {
        struct reach *p = dt_realloc (c->todo, 2 * need, sizeof *p);

        if (!p)
            return dt_err_nomem (c->err);
        c->todo = p;
        c->room = 2 * need;
    }
    if (c->n_axes > 0)
        memcpy (c->todo + c->n_todo * c->n_axes, side, c->n_axes * sizeof *side);
    c->n_todo++;
    return 0;
}

/* The two parts of a box: the lower one comes first. */
static int part (struct check *c, struct reach *side)
{
    uint64_t axis = dt_reader_varint (&c->in), at = dt_reader_varint (&c->in), first, last;
    int r;

    if (c->in.bad || axis >= c->n_axes)
        return corrupt (c, "no such axis");
    first = side[axis].first;
    last = side[axis].last;
    if (at >= last - first)
        return corrupt (c, "a part is empty");
    side[axis].first = first + at + 1;
    if ((r = push (c, side)) < 0)
        return r;
    side[axis] = (struct reach){ first, first + at };
    return push (c, side);
}

static int check_tree (struct check *c, uint64_t duty, struct reach *side)
{
    size_t i;
    int r;

    for (i = 0; i < c->n_axes; i++)
        side[i] = (struct reach){ 0, members (c, i) - 1 };
    c->n_todo = 0;
    mark_raised (c, duty);
    if ((r = push (c, side)) < 0)
        return r;
    while (c->n_todo > 0) {
        c->n_todo--;
        if (c->n_axes > 0)
            memcpy (side, c->todo + c->n_todo * c->n_axes, c->n_axes * sizeof *side);
        switch (dt_reader_u8 (&c->in)) {
        case DT_PROOF_OPEN: mark_open (c, side); r = 0; break;
        case DT_PROOF_HOLDS: r = box_holds (c, duty, side); break;
        case DT_PROOF_SPLIT: r = part (c, side); break;
        default: r = corrupt (c, "no such mark");
        }
        if (r < 0 || c->in.bad)
            return r < 0 ? r : corrupt (c, "it ends too early");
    }
    return 0;
}

/* What must have a tree: conditions that are no limits, and faults. */
static int is_duty (const struct check *c, uint64_t i)
{
    return i < c->g->n_conds ? !c->limit[i] : dt_node_faults (&c->g->node[i - c->g->n_conds]);
}

static int check_duties (struct check *c, struct reach *side)
{
    uint64_t n = dt_reader_varint (&c->in), k, i;
    int r;

    for (k = 0; k < n; k++) {
        uint64_t duty = dt_reader_varint (&c->in);

        i = duty / 2 + (duty % 2 ? c->g->n_conds : 0);
        if (c->in.bad || duty / 2 >= (duty % 2 ? c->g->n_nodes : c->g->n_conds) || !is_duty (c, i))
            return corrupt (c, "no such duty");
        if (c->seen[i])
            return corrupt (c, "a duty comes twice");
        c->seen[i] = 1;
        if ((r = check_tree (c, duty, side)) < 0)
            return r;
    }
    if (c->in.bad || dt_reader_left (&c->in) > 0)
        return corrupt (c, "its length is wrong");
    for (i = 0; i < (uint64_t)c->g->n_conds + c->g->n_nodes; i++)
        if (is_duty (c, i) && !c->seen[i])
            return corrupt (c, "a duty is missing");
    return 0;
}

/* Verdicts say what the trees say, and points do not follow the batch. */
static int check_claims (struct check *c)
{
    size_t i;

    for (i = 0; i < c->s->n_assignments; i++)
        if ((c->s->verdict[i] == DT_PROVED) == c->open[i])
            return corrupt (c, "a verdict says something else");
    depend (c->g, 1, c->symbolic);
    for (i = 0; i < c->s->n_points; i++)
        if (!c->s->point[i].is_free && c->symbolic[c->g->point[i].node])
            return corrupt (c, "a binding field follows the batch");
    return 0;
}

static int check_all (struct check *c)
{
    struct reach *side = dt_calloc (c->n_axes, sizeof *side);
    uint32_t i;
    int r;

    if (!side)
        return dt_err_nomem (c->err);
    depend (c->g, 0, c->symbolic);
    for (i = 0; i < c->g->n_conds; i++) {
        const struct dt_cond *x = &c->g->cond[i];

        c->limit[i] = x->kind == DT_COND_ASSUME && !c->symbolic[x->value]
                      && (x->guard == DT_NODE_NONE || !c->symbolic[x->guard]);
    }
    for (i = 0; i < c->g->n_nodes; i++)
        c->box[i] = (struct dt_range){ 1, 0, 0, NULL };
    if ((r = check_duties (c, side)) == 0)
        r = check_claims (c);
    dt_free (side);
    return r;
}

int dt_check_proof (const struct dt_solution *s, struct dt_err *reterr)
{
    const struct dt_graph *g = s->residual;
    struct check c = { .s = s, .g = g, .err = reterr };
    size_t i;
    int r;

    c.n_axes = s->n_pins + s->n_knobs + g->n_inputs;
    for (i = 0; i < s->n_pins; i++)
        if (s->pin[i].n_candidates == 0)
            return 0; /* no assignment: nothing is claimed */
    c.symbolic = dt_calloc (g->n_nodes, 1);
    c.limit = dt_calloc (g->n_conds, 1);
    c.raised = dt_calloc (g->n_nodes, 1);
    c.seen = dt_calloc ((size_t)g->n_conds + g->n_nodes, 1);
    c.open = dt_calloc (s->n_assignments, 1);
    c.box = dt_calloc (g->n_nodes, sizeof *c.box);
    dt_reader_init (&c.in, s->proof.data, s->proof.len);
    r = c.symbolic && c.limit && c.raised && c.seen && c.open && c.box ? check_all (&c)
                                                                       : dt_err_nomem (reterr);
    dt_free (c.symbolic);
    dt_free (c.limit);
    dt_free (c.raised);
    dt_free (c.seen);
    dt_free (c.open);
    dt_free (c.box);
    dt_free (c.todo);
    return r;
}
