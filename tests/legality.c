/* Legal and illegal assignments of a deployment's first site, by trying them.
 *
 * usage: legality DEPLOYMENT PROGRAMS EACH TOTAL
 *
 * A legal one: its selector is run on all corners of the domain and EACH random points,
 * and random legal ones on TOTAL points together.  No condition may break, and binding
 * values that read no input of a request must be the same everywhere.
 * An illegal one: its counterexample is tried on the specialised graph, before any
 * simplification, with the pins and knobs put in: some condition must break. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/sources.h"
#include "selir/vm.h"
#include "solver/site.h"

#define MAX_PINS 16
#define BATCH 1000 /* points of one assignment at a time, of TOTAL */

struct rig {
    struct bench_sources files;
    struct dt_graph *g; /* specialised */
    struct dt_solution *s;
    int64_t input[DT_VM_MAX_INPUTS], pin[MAX_PINS], knob[MAX_PINS];
    int64_t *value;  /* [g->n_nodes] */
    uint8_t *inputs_only; /* [g->n_nodes] reads no pin and no knob */
    uint8_t *domain;      /* [g->n_nodes] an assume of inputs alone needs it */
    uint64_t random, points, outside;
    size_t wrong;
};

static uint64_t draw (struct rig *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static int64_t member (const struct dt_domain *d, uint64_t i)
{
    return d->value ? d->value[i] : d->lo + (int64_t)i * d->step;
}

static uint64_t members (const struct dt_domain *d)
{
    return d->value ? d->n : ((uint64_t)d->hi - (uint64_t)d->lo) / (uint64_t)d->step + 1;
}

/* Any member, or one of any scale. */
static void random_point (struct rig *w)
{
    for (uint32_t i = 0; i < w->g->n_inputs; i++) {
        const struct dt_domain *d = &w->g->input[i].domain;
        uint64_t n = members (d), v = draw (w);

        if (v & 1)
            n = n >> ((v >> 1) % 24) ? n >> ((v >> 1) % 24) : 1;
        w->input[i] = member (d, (draw (w) >> 8) % n);
    }
}

static void corner (struct rig *w, uint64_t k)
{
    for (uint32_t i = 0; i < w->g->n_inputs; i++) {
        const struct dt_domain *d = &w->g->input[i].domain;

        w->input[i] = member (d, k >> i & 1 ? members (d) - 1 : 0);
    }
}

/* --- the specialised graph ------------------------------------------------------------ */

static int64_t pinned (const struct rig *w, uint32_t node, int64_t v)
{
    for (size_t k = 0; k < w->s->n_pins; k++)
        if (w->s->pin[k].node == node)
            return w->pin[k];
    return v;
}

/* All values at w's point, or those that `only` marks; 1 if one faults on its path. */
static int compute (struct rig *w, int with_pins, const uint8_t *only)
{
    int faults = 0;

    for (uint32_t i = 0; i < w->g->n_nodes; i++) {
        const struct dt_node *n = &w->g->node[i];
        int64_t v = n->imm;
        enum dt_fault f = DT_FAULT_NONE;
        uint32_t arg[3] = { 0, 0, 0 };

        if (only && !only[i])
            continue;
        if (n->op == DT_OP_INPUT)
            v = w->input[n->imm];
        else if (n->op == DT_OP_KNOB)
            v = w->knob[n->imm];
        else if (n->op != DT_OP_CONST) {
            for (int k = dt_node_args (n, arg); k < 3; k++)
                arg[k] = 0; /* read, and of no use */
            f = dt_op_eval (n->op, n->op == DT_OP_FAIL ? n->imm : w->value[arg[0]],
                            w->value[arg[1]], w->value[arg[2]], &v);
        }
        if (f && !n->safe && (n->guard == DT_NODE_NONE || w->value[n->guard]))
            faults = 1;
        w->value[i] = with_pins ? pinned (w, i, v) : v;
    }
    return faults;
}

static int breaks (const struct rig *w, const struct dt_cond *c)
{
    return !w->value[c->value] && (c->guard == DT_NODE_NONE || w->value[c->guard]);
}

static void find_inputs_only (struct rig *w)
{
    for (uint32_t i = 0; i < w->g->n_nodes; i++) {
        const struct dt_node *n = &w->g->node[i];
        uint32_t arg[3];
        int k = dt_node_args (n, arg);

        w->inputs_only[i] = n->op != DT_OP_KNOB;
        while (k-- > 0)
            w->inputs_only[i] &= w->inputs_only[arg[k]];
        for (size_t p = 0; p < w->s->n_pins; p++)
            w->inputs_only[i] &= w->s->pin[p].node != i;
    }
}

static int of_inputs (const struct rig *w, const struct dt_cond *c)
{
    return c->kind == DT_COND_ASSUME && w->inputs_only[c->value];
}

/* What assumes of inputs alone are computed from. */
static void find_domain (struct rig *w)
{
    uint32_t arg[3];

    for (uint32_t i = 0; i < w->g->n_conds; i++)
        if (of_inputs (w, &w->g->cond[i])) {
            w->domain[w->g->cond[i].value] = 1;
            if (w->g->cond[i].guard != DT_NODE_NONE)
                w->domain[w->g->cond[i].guard] = 1;
        }
    for (uint32_t i = w->g->n_nodes; i-- > 0;)
        for (int k = w->domain[i] ? dt_node_args (&w->g->node[i], arg) : 0; k-- > 0;)
            w->domain[arg[k]] = 1;
}

/* Does the point break an assume that only inputs decide? */
static int is_outside (struct rig *w)
{
    compute (w, 0, w->domain);
    for (uint32_t i = 0; i < w->g->n_conds; i++)
        if (of_inputs (w, &w->g->cond[i]) && breaks (w, &w->g->cond[i]))
            return 1;
    return 0;
}

/* Does anything stop the pinned program at the point? */
static int stops (struct rig *w)
{
    int bad = compute (w, 1, NULL);

    for (uint32_t i = 0; i < w->g->n_conds; i++)
        bad |= breaks (w, &w->g->cond[i]);
    return bad;
}

/* --- legal ones ---------------------------------------------------------------------------- */

struct trial {
    struct dt_vm *vm;
    int64_t *regs, first[DT_VM_MAX_OUTPUTS];
    size_t assignment;
    uint64_t points;
};

static void say (struct rig *w, const struct trial *t, const char *what, const char *name)
{
    if (w->wrong++ < 10) {
        printf ("assignment %zu: %s %s at", t->assignment, name, what);
        for (uint32_t i = 0; i < w->g->n_inputs; i++)
            printf (" %s=%" PRId64, w->g->input[i].name, w->input[i]);
        printf ("\n");
    }
}

/* 1 if the point is in the domain. */
static int try_point (struct rig *w, struct trial *t)
{
    int64_t in[DT_VM_MAX_INPUTS], own[DT_VM_MAX_INPUTS], out[DT_VM_MAX_OUTPUTS] = { 0 },
        own_out[DT_VM_MAX_OUTPUTS];
    size_t n_in = 0, n_own = 0;
    struct dt_vm_stop stop;
    struct dt_err err = { "" };

    for (size_t i = 0; i < dt_vm_inputs (t->vm); i++)
        for (uint32_t k = 0; k < w->g->n_inputs; k++)
            if (!strcmp (w->g->input[k].name, dt_vm_input (t->vm, i)->name)) {
                if (dt_vm_input (t->vm, i)->klass == DT_VM_OWN)
                    own[n_own++] = w->input[k];
                else
                    in[n_in++] = w->input[k];
            }
    if (dt_vm_run (t->vm, t->regs, in, own, 1, out, own_out, &stop) < 0) {
        if (is_outside (w)) {
            w->outside++;
            return 0;
        }
        dt_vm_describe (t->vm, &stop, &err);
        say (w, t, "stops", err.text);
    }
    for (size_t i = 0; i < dt_vm_outputs (t->vm); i++) {
        const struct dt_vm_output *o = dt_vm_output (t->vm, i);

        if (t->points > 0 && o->binding && !o->own && out[i] != t->first[i])
            say (w, t, "varies", o->field);
    }
    if (t->points++ == 0)
        memcpy (t->first, out, sizeof out);
    w->points++;
    return 1;
}

static void trial_init (struct rig *w, struct trial *t, size_t assignment)
{
    struct dt_buf blob = { 0 };
    struct dt_err err = { "" };

    *t = (struct trial){ .assignment = assignment };
    if (dt_solution_selector (w->s, assignment, &blob, &err) < 0
        || dt_vm_load (blob.data, blob.len, &t->vm, &err) < 0 || dt_vm_plan (t->vm, &err) < 0
        || !(t->regs = dt_calloc (dt_vm_registers (t->vm), sizeof *t->regs)))
        bench_die (err.text);
    dt_vm_prepare (t->vm, t->regs);
    dt_buf_done (&blob);
}

static void trial_done (struct trial *t)
{
    dt_free (t->regs);
    dt_vm_free (t->vm);
}

static void try_random (struct rig *w, struct trial *t, uint64_t n)
{
    while (n > 0) {
        random_point (w);
        n -= (uint64_t)try_point (w, t);
    }
}

static void try_legal (struct rig *w, size_t assignment, uint64_t each)
{
    struct trial t;

    trial_init (w, &t, assignment);
    for (uint64_t k = 0; k < UINT64_C (1) << w->g->n_inputs; k++) {
        corner (w, k);
        try_point (w, &t);
    }
    try_random (w, &t, each);
    dt_solution_assignment (w->s, assignment, w->pin, w->knob);
    if (!is_outside (w) && stops (w)) /* the last point, on the specialised graph */
        say (w, &t, "stops", "the specialised graph");
    trial_done (&t);
}

static void try_any (struct rig *w, const size_t *legal, size_t n_legal, uint64_t total)
{
    for (; total > 0; total -= total < BATCH ? total : BATCH) {
        struct trial t;

        trial_init (w, &t, legal[draw (w) % n_legal]);
        try_random (w, &t, total < BATCH ? total : BATCH);
        trial_done (&t);
    }
}

/* --- illegal ones -------------------------------------------------------------------------- */

/* "a=1, b=2: message (place)", or the message alone where any point will do. */
static void take_point (struct rig *w, const char *why)
{
    for (uint32_t i = 0; i < w->g->n_inputs; i++) {
        size_t len = strlen (w->g->input[i].name);
        const char *at = why;

        while ((at = strstr (at, w->g->input[i].name))
               && (at[len] != '=' || (at != why && at[-1] != ' ')))
            at++;
        if (at)
            w->input[i] = strtoll (at + len + 1, NULL, 10);
    }
}

/* Inputs that the counterexample does not name stay at an end that is in the domain. */
static int counterexample_holds (struct rig *w, const char *why)
{
    for (int end = 0; end < 2; end++) {
        corner (w, end ? UINT64_MAX : 0);
        take_point (w, why);
        if (is_outside (w))
            continue;
        return stops (w);
    }
    return 0;
}

static void try_illegal (struct rig *w, size_t assignment)
{
    struct trial t = { .assignment = assignment };

    dt_solution_assignment (w->s, assignment, w->pin, w->knob);
    if (!w->s->why[assignment])
        say (w, &t, "is missing", "the counterexample");
    else if (!counterexample_holds (w, w->s->why[assignment]))
        say (w, &t, "does not hold", w->s->why[assignment]);
}

/* --------------------------------------------------------------------------------------------- */

static void solve (struct rig *w, const char *deployment, const char *folder)
{
    static const struct dt_site_options options = { .n_threads = 2 };
    struct dt_program *p = NULL;
    struct dt_err err = { "" };

    bench_sources_read (&w->files, deployment, folder);
    bench_sources_lead (&w->files, w->files.d->site[0].program);
    if (dt_program_parse (w->files.source, w->files.n_sources, &p, &err) < 0
        || dt_site_specialise (&w->files.d->site[0], p, &w->g, &err) < 0
        || dt_site_solve (w->files.d, 0, w->files.source, w->files.n_sources, &options, &w->s, NULL,
                          &err) < 0)
        bench_die (err.text);
    dt_program_free (p);
    w->value = dt_calloc (w->g->n_nodes, sizeof *w->value);
    w->inputs_only = dt_calloc (w->g->n_nodes, 1);
    w->domain = dt_calloc (w->g->n_nodes, 1);
    if (!w->value || !w->inputs_only || !w->domain || w->s->n_pins > MAX_PINS || w->g->n_knobs > MAX_PINS)
        bench_die ("out of memory");
    for (size_t k = 0; k < w->s->n_knobs; k++)
        w->knob[k] = w->s->knob[k].value[w->s->knob[k].initial];
    find_inputs_only (w);
    find_domain (w);
}

int main (int argc, char **argv)
{
    static struct rig w = { .random = 88172645463325252u };
    size_t *legal, n_legal = 0;

    if (argc != 5)
        bench_die ("usage: legality DEPLOYMENT PROGRAMS EACH TOTAL");
    solve (&w, argv[1], argv[2]);
    if (!(legal = dt_calloc (w.s->n_assignments, sizeof *legal)))
        bench_die ("out of memory");
    for (size_t a = 0; a < w.s->n_assignments; a++)
        if (w.s->verdict[a] != DT_ILLEGAL)
            legal[n_legal++] = a;
        else
            try_illegal (&w, a);
    for (size_t k = 0; k < n_legal; k++)
        try_legal (&w, legal[k], strtoull (argv[3], NULL, 10));
    try_any (&w, legal, n_legal, strtoull (argv[4], NULL, 10));
    printf ("%s: %zu legal on %" PRIu64 " points (%" PRIu64 " more outside the domain), %zu "
            "illegal by their counterexamples: %zu wrong\n", w.files.d->name, n_legal, w.points,
            w.outside, w.s->n_assignments - n_legal, w.wrong);
    dt_free (legal);
    dt_free (w.value);
    dt_free (w.inputs_only);
    dt_free (w.domain);
    dt_solution_free (w.s);
    dt_graph_free (w.g);
    bench_sources_done (&w.files);
    return w.wrong > 0;
}
