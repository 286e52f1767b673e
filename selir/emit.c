/* selir/emit.c - write a graph as a selector blob. */
#include "selir/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "base/mem.h"

#define NONE UINT32_MAX

/* Something that can stop a run: a value that may fault, or a condition. */
struct event {
    uint64_t seq;
    uint32_t id;
    uint8_t is_cond;
};

struct emit {
    const struct dt_graph *g;
    const struct dt_emit_options *options;
    uint8_t *own;      /* [n_nodes] an Own input reaches it, or its guard       */
    uint8_t *live;     /* [n_nodes]                                             */
    uint32_t *reg;     /* [n_nodes] or NONE: not emitted yet                    */
    uint32_t *stack;   /* [n_nodes]                                             */
    uint32_t *where;   /* [n_spans + 1] index into the places, or NONE          */
    uint32_t *places;  /* [n_places] spans, in order of first use               */
    uint32_t n_places;
    int64_t *constant; /* [n_constants] ascending                               */
    uint32_t n_constants;
    struct event *event;
    uint32_t n_events;
    uint32_t n_inputs, n_regs;
    struct dt_buf code[2];
};

static int emit_alloc (struct emit *e)
{
    size_t n = e->g->n_nodes;

    e->own = dt_calloc (n, 1);
    e->live = dt_calloc (n, 1);
    e->reg = dt_calloc (n, sizeof *e->reg);
    e->stack = dt_calloc (n, sizeof *e->stack);
    e->where = dt_calloc ((size_t)e->g->n_spans + 1, sizeof *e->where);
    e->places = dt_calloc ((size_t)e->g->n_spans + 1, sizeof *e->places);
    e->constant = dt_calloc (n, sizeof *e->constant);
    e->event = dt_calloc (n + e->g->n_conds, sizeof *e->event);
    if (!e->own || !e->live || !e->reg || !e->stack || !e->where || !e->places
        || !e->constant || !e->event)
        return -ENOMEM;
    memset (e->reg, 0xff, n * sizeof *e->reg);
    memset (e->where, 0xff, ((size_t)e->g->n_spans + 1) * sizeof *e->where);
    return 0;
}

static void emit_done (struct emit *e)
{
    dt_free (e->own);
    dt_free (e->live);
    dt_free (e->reg);
    dt_free (e->stack);
    dt_free (e->where);
    dt_free (e->places);
    dt_free (e->constant);
    dt_free (e->event);
    dt_buf_done (&e->code[0]);
    dt_buf_done (&e->code[1]);
}

/* Operands and, where it is read, the guard. */
static int needs (const struct dt_node *n, uint32_t need[4])
{
    int k = dt_node_args (n, need);

    if (n->guard != DT_NODE_NONE)
        need[k++] = n->guard;
    return k;
}

static void find_own (struct emit *e)
{
    const struct dt_graph *g = e->g;
    uint32_t i, need[4];
    int k;

    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *n = &g->node[i];

        e->own[i] = n->op == DT_OP_INPUT && g->input[n->imm].klass == DT_INPUT_OWN;
        for (k = needs (n, need); k-- > 0;)
            e->own[i] |= e->own[need[k]];
    }
}

static void find_live (struct emit *e)
{
    const struct dt_graph *g = e->g;
    uint32_t i, need[4];
    int k;

    for (i = 0; i < g->n_points; i++)
        e->live[g->point[i].node] = 1;
    for (i = 0; i < g->n_conds; i++) {
        e->live[g->cond[i].value] = 1;
        if (g->cond[i].guard != DT_NODE_NONE)
            e->live[g->cond[i].guard] = 1;
    }
    for (i = g->n_nodes; i-- > 0;) {
        e->live[i] |= (uint8_t)dt_node_faults (&g->node[i]);
        if (e->live[i])
            for (k = needs (&g->node[i], need); k-- > 0;)
                e->live[need[k]] = 1;
    }
}

static int by_seq (const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    if (x->is_cond != y->is_cond)
        return x->is_cond - y->is_cond;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void find_events (struct emit *e)
{
    const struct dt_graph *g = e->g;
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++)
        if (dt_node_faults (&g->node[i]))
            e->event[e->n_events++] = (struct event){ g->node[i].seq, i, 0 };
    for (i = 0; i < g->n_conds; i++)
        e->event[e->n_events++] = (struct event){ g->cond[i].seq, i, 1 };
    if (e->n_events > 0)
        qsort (e->event, e->n_events, sizeof *e->event, by_seq);
}

static int by_value (const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void find_constants (struct emit *e)
{
    const struct dt_graph *g = e->g;
    uint32_t i, n = 0;

    for (i = 0; i < g->n_nodes; i++)
        if (e->live[i] && g->node[i].op == DT_OP_CONST)
            e->constant[n++] = g->node[i].imm;
    if (n > 0)
        qsort (e->constant, n, sizeof *e->constant, by_value);
    for (i = 0; i < n; i++)
        if (i == 0 || e->constant[i] != e->constant[i - 1])
            e->constant[e->n_constants++] = e->constant[i];
}

static int is_live (const struct emit *e, uint32_t node)
{
    return node != DT_NODE_NONE && e->live[node];
}

static void take_register (struct emit *e, uint32_t node)
{
    if (node != DT_NODE_NONE)
        e->reg[node] = e->n_regs;
    e->n_regs++;
}

static void place_leaves (struct emit *e)
{
    const struct dt_graph *g = e->g;
    const int64_t *at;
    uint32_t i;

    for (i = 0; i < g->n_inputs; i++)
        take_register (e, g->input[i].node);
    for (i = 0; i < g->n_pins; i++)
        if (is_live (e, g->pin[i].node))
            take_register (e, g->pin[i].node);
    for (i = 0; i < g->n_knobs; i++)
        if (is_live (e, g->knob[i].node))
            take_register (e, g->knob[i].node);
    e->n_inputs = e->n_regs;
    for (i = 0; i < g->n_nodes; i++) {
        if (!e->live[i] || g->node[i].op != DT_OP_CONST)
            continue;
        at = bsearch (&g->node[i].imm, e->constant, e->n_constants, sizeof *at, by_value);
        e->reg[i] = e->n_inputs + (uint32_t)(at - e->constant);
    }
    e->n_regs += e->n_constants;
}

static void put_insn (struct dt_buf *b, const struct dt_insn *i)
{
    dt_buf_u16 (b, i->op);
    dt_buf_u16 (b, i->dst);
    dt_buf_u16 (b, i->a);
    dt_buf_u16 (b, i->b);
    dt_buf_u16 (b, i->c);
    dt_buf_u16 (b, i->guard);
    dt_buf_u32 (b, i->aux);
}

static uint32_t place_of (struct emit *e, uint32_t span)
{
    if (span > e->g->n_spans)
        span = e->g->n_spans; /* unknown */
    if (e->where[span] == NONE) {
        e->where[span] = e->n_places;
        e->places[e->n_places++] = span;
    }
    return e->where[span];
}

static uint16_t guard_of (const struct emit *e, const struct dt_node *n)
{
    if (n->safe)
        return DT_VM_NEVER;
    return n->guard == DT_NODE_NONE ? DT_VM_ALWAYS : (uint16_t)e->reg[n->guard];
}

/* The node's instruction; what it needs is there. */
static void emit_one (struct emit *e, uint32_t id)
{
    const struct dt_node *n = &e->g->node[id];
    struct dt_insn i = { .op = n->op, .dst = (uint16_t)e->n_regs, .guard = guard_of (e, n) };
    uint32_t args[3];
    int k = dt_node_args (n, args);

    if (k > 0)
        i.a = (uint16_t)e->reg[args[0]];
    if (k > 1)
        i.b = (uint16_t)e->reg[args[1]];
    if (k > 2)
        i.c = (uint16_t)e->reg[args[2]];
    if (n->op == DT_OP_FAIL)
        i.a = (uint16_t)n->imm;
    if (dt_op_partial (n->op))
        i.aux = place_of (e, n->span);
    e->reg[id] = e->n_regs++;
    put_insn (&e->code[e->own[id]], &i);
}

/* The node after all that it needs, without recursion. */
static void emit_closure (struct emit *e, uint32_t root)
{
    uint32_t depth = 0, need[4];
    int k;

    if (e->reg[root] != NONE)
        return;
    e->stack[depth++] = root;
    while (depth > 0) {
        uint32_t id = e->stack[depth - 1], next = NONE;

        for (k = needs (&e->g->node[id], need); k-- > 0;)
            if (e->reg[need[k]] == NONE)
                next = need[k];
        if (next != NONE) {
            e->stack[depth++] = next;
            continue;
        }
        emit_one (e, id);
        depth--;
    }
}

static int cond_is_own (const struct emit *e, const struct dt_cond *c)
{
    return e->own[c->value] || (c->guard != DT_NODE_NONE && e->own[c->guard]);
}

static void emit_cond (struct emit *e, uint32_t index)
{
    const struct dt_cond *c = &e->g->cond[index];
    struct dt_insn i = { .op = DT_VM_CHECK, .guard = DT_VM_ALWAYS, .aux = index };

    emit_closure (e, c->value);
    if (c->guard != DT_NODE_NONE) {
        emit_closure (e, c->guard);
        i.guard = (uint16_t)e->reg[c->guard];
    }
    i.a = (uint16_t)e->reg[c->value];
    put_insn (&e->code[cond_is_own (e, c)], &i);
}

static void emit_code (struct emit *e)
{
    uint32_t i;
    int part;

    for (part = 0; part < 2; part++) {
        for (i = 0; i < e->n_events; i++) {
            const struct event *v = &e->event[i];

            if (v->is_cond && cond_is_own (e, &e->g->cond[v->id]) == part)
                emit_cond (e, v->id);
            else if (!v->is_cond && e->own[v->id] == part)
                emit_closure (e, v->id);
        }
    }
    for (i = 0; i < e->g->n_points; i++)
        emit_closure (e, e->g->point[i].node);
}

/* --- the blob ---------------------------------------------------------------- */

static void put_where (struct dt_canon *c, const struct dt_graph *g, uint32_t span)
{
    struct dt_buf b = { 0 };
    const char *text;

    if (span < g->n_spans && g->span[span].file < g->n_files)
        dt_buf_printf (&b, "%s:%u:%u", g->file[g->span[span].file], g->span[span].line,
                       g->span[span].column);
    else
        dt_buf_printf (&b, "?");
    text = dt_buf_str (&b);
    dt_canon_str (c, text ? text : ""); /* a key wants its value even now */
    c->buf.failed |= !text;
    dt_buf_done (&b);
}

static void put_input (struct dt_canon *c, const char *klass, const char *name, uint8_t type,
                       const struct dt_domain *d)
{
    dt_canon_map (c);
    dt_canon_kstr (c, "class", klass);
    dt_canon_key (c, "domain");
    dt_canon_map (c);
    if (d->value) {
        dt_canon_kwords (c, "values", d->value, d->n);
    } else {
        dt_canon_kint (c, "hi", d->hi);
        dt_canon_kint (c, "lo", d->lo);
        dt_canon_kint (c, "step", d->step);
    }
    dt_canon_end (c);
    dt_canon_kstr (c, "name", name);
    dt_canon_kint (c, "type", type);
    dt_canon_end (c);
}

static void put_pin (struct dt_canon *c, const struct dt_graph *g, const struct dt_pin *p)
{
    struct dt_domain d = { .lo = INT64_MIN, .hi = INT64_MAX, .step = 1 };

    if (p->type == DT_TYPE_BOOL || p->type == DT_TYPE_ENUM) {
        d.lo = 0;
        d.hi = p->type == DT_TYPE_BOOL ? 1 : (int64_t)g->n_enums - 1;
    }
    put_input (c, "pin", p->name, p->type, &d);
}

/* A knob's values are in the program's order; a domain ascends. */
static void put_knob (struct dt_canon *c, const struct dt_knob *k)
{
    struct dt_domain d = { .n = k->n_values };
    int64_t *v = dt_memdup (k->value, k->n_values * sizeof *v);
    size_t i;

    if (!v) {
        c->buf.failed = 1;
        return;
    }
    qsort (v, k->n_values, sizeof *v, by_value);
    for (d.n = 0, i = 0; i < k->n_values; i++)
        if (i == 0 || v[i] != v[i - 1])
            v[d.n++] = v[i];
    d.value = v;
    put_input (c, "knob", k->name, k->type, &d);
    dt_free (v);
}

static void put_inputs (struct dt_canon *c, const struct emit *e)
{
    static const char *const klass[] = { "", "runtime", "unpinnable", "own" };
    const struct dt_graph *g = e->g;
    uint32_t i;

    dt_canon_key (c, "inputs");
    dt_canon_list (c);
    for (i = 0; i < g->n_inputs; i++)
        put_input (c, klass[g->input[i].klass], g->input[i].name, g->input[i].type,
                   &g->input[i].domain);
    for (i = 0; i < g->n_pins; i++)
        if (is_live (e, g->pin[i].node))
            put_pin (c, g, &g->pin[i]);
    for (i = 0; i < g->n_knobs; i++)
        if (is_live (e, g->knob[i].node))
            put_knob (c, &g->knob[i]);
    dt_canon_end (c);
}

static void put_outputs (struct dt_canon *c, const struct emit *e)
{
    uint32_t i;

    dt_canon_key (c, "outputs");
    dt_canon_list (c);
    for (i = 0; i < e->g->n_points; i++) {
        const struct dt_point *p = &e->g->point[i];
        struct dt_emit_field f = { .binding = 1, .unit = "" };

        if (e->options->field)
            f = e->options->field[i];
        dt_canon_map (c);
        dt_canon_kint (c, "binding", f.binding);
        dt_canon_kint (c, "claim", f.by_claim);
        dt_canon_kstr (c, "field", p->field);
        dt_canon_kint (c, "own", e->own[p->node]);
        dt_canon_kint (c, "register", e->reg[p->node]);
        dt_canon_kint (c, "type", p->type);
        dt_canon_kstr (c, "unit", f.unit ? f.unit : "");
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_conds (struct dt_canon *c, const struct dt_graph *g)
{
    uint32_t i;

    dt_canon_key (c, "conditions");
    dt_canon_list (c);
    for (i = 0; i < g->n_conds; i++) {
        dt_canon_map (c);
        dt_canon_kstr (c, "kind", g->cond[i].kind == DT_COND_ASSUME ? "assume" : "require");
        dt_canon_kstr (c, "message", g->cond[i].message);
        dt_canon_key (c, "where");
        put_where (c, g, g->cond[i].span);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_cell (struct dt_canon *c, const struct dt_vm_cell *cell)
{
    size_t i;

    dt_canon_map (c);
    dt_canon_kint (c, "value", cell->value);
    dt_canon_key (c, "when");
    dt_canon_list (c);
    for (i = 0; i < cell->n; i++) {
        dt_canon_map (c);
        dt_canon_kint (c, "hi", cell->when[i].hi);
        dt_canon_kint (c, "lo", cell->when[i].lo);
        dt_canon_kstr (c, "quantity", cell->when[i].quantity);
        dt_canon_end (c);
    }
    dt_canon_end (c);
    dt_canon_end (c);
}

static void put_tables (struct dt_canon *c, const struct dt_emit_options *o)
{
    size_t i, k;

    dt_canon_key (c, "tables");
    dt_canon_list (c);
    for (i = 0; i < o->n_tables; i++) {
        dt_canon_map (c);
        dt_canon_key (c, "cells");
        dt_canon_list (c);
        for (k = 0; k < o->table[i].n; k++)
            put_cell (c, &o->table[i].cell[k]);
        dt_canon_end (c);
        dt_canon_kstr (c, "field", o->table[i].field);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_code (struct dt_canon *c, struct emit *e)
{
    dt_buf_put (&e->code[0], e->code[1].data, e->code[1].len);
    c->buf.failed |= e->code[0].failed | e->code[1].failed;
    dt_canon_kbytes (c, "code", e->code[0].data, c->buf.failed ? 0 : e->code[0].len);
}

static void put_blob (struct dt_canon *c, struct emit *e)
{
    const struct dt_graph *g = e->g;
    size_t request = e->code[0].len / 16; /* before the parts are joined */
    uint32_t i;

    dt_canon_map (c);
    put_code (c, e);
    put_conds (c, g);
    dt_canon_kwords (c, "constants", e->constant, e->n_constants);
    dt_canon_key (c, "enums");
    dt_canon_list (c);
    for (i = 0; i < g->n_enums; i++)
        dt_canon_str (c, g->enum_text[i]);
    dt_canon_end (c);
    dt_canon_kstr (c, "family", g->family ? g->family : "");
    put_inputs (c, e);
    put_outputs (c, e);
    dt_canon_kint (c, "registers", e->n_regs);
    dt_canon_kint (c, "request", (int64_t)request);
    dt_canon_kstr (c, "site", e->options->site ? e->options->site : "");
    put_tables (c, e->options);
    dt_canon_kstr (c, "variant", e->options->variant ? e->options->variant : "");
    dt_canon_kint (c, "vm", DT_VM_VERSION);
    dt_canon_key (c, "where");
    dt_canon_list (c);
    for (i = 0; i < e->n_places; i++)
        put_where (c, g, e->places[i]);
    dt_canon_end (c);
    dt_canon_end (c);
}

static int check_limits (const struct emit *e, struct dt_err *reterr)
{
    if (e->n_regs > DT_VM_MAX_REGISTERS)
        return dt_err_set (reterr, -DT_ELIMIT, "the selector needs %u registers of %u",
                           e->n_regs, DT_VM_MAX_REGISTERS);
    if (e->n_inputs > DT_VM_MAX_INPUTS)
        return dt_err_set (reterr, -DT_ELIMIT, "the selector has %u inputs of %u",
                           e->n_inputs, DT_VM_MAX_INPUTS);
    if (e->g->n_points > DT_VM_MAX_OUTPUTS)
        return dt_err_set (reterr, -DT_ELIMIT, "the selector has %u outputs of %u",
                           e->g->n_points, DT_VM_MAX_OUTPUTS);
    return 0;
}

static int finish (struct dt_canon *c, struct dt_buf *ret, struct dt_err *reterr)
{
    if (c->buf.failed)
        return dt_err_nomem (reterr);
    if (c->buf.len > DT_VM_MAX_BYTES)
        return dt_err_set (reterr, -DT_ELIMIT, "the selector has %zu bytes of %u", c->buf.len,
                           DT_VM_MAX_BYTES);
    dt_buf_put (ret, c->buf.data, c->buf.len);
    return ret->failed ? dt_err_nomem (reterr) : 0;
}

int dt_emit (const struct dt_graph *g, const struct dt_emit_options *options,
             struct dt_buf *ret, struct dt_err *reterr)
{
    struct emit e = { .g = g, .options = options };
    struct dt_canon c;
    int r;

    dt_canon_init (&c);
    if (emit_alloc (&e) < 0) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    find_own (&e);
    find_live (&e);
    find_events (&e);
    find_constants (&e);
    place_leaves (&e);
    emit_code (&e);
    if ((r = check_limits (&e, reterr)) < 0)
        goto fail;
    put_blob (&c, &e);
    r = finish (&c, ret, reterr);
fail:
    dt_canon_done (&c);
    emit_done (&e);
    return r;
}
