/* solver/default.c - the default assignment: what the unpinned program returns
 * most often. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "selir/vm.h"
#include "solver/solve.h"

struct tally {
    const struct dt_solution *s;
    struct dt_vm *vm;
    int64_t *regs, *out, *own_out;
    int64_t *pin, *knob;
    uint64_t *weight;   /* [n_assignments] */
    size_t n_in, n_own; /* inputs of a call and of a request */
    size_t room;        /* requests that own_out holds */
};

static void tally_done (struct tally *t)
{
    dt_vm_free (t->vm);
    dt_free (t->regs);
    dt_free (t->out);
    dt_free (t->own_out);
    dt_free (t->pin);
    dt_free (t->knob);
    dt_free (t->weight);
}

static int tally_init (struct tally *t, const struct dt_solution *s, struct dt_err *reterr)
{
    size_t i;
    int r;

    *t = (struct tally){ .s = s };
    if ((r = dt_vm_load (s->pins.data, s->pins.len, &t->vm, reterr)) < 0)
        return r;
    if ((r = dt_vm_plan (t->vm, reterr)) < 0) {
        tally_done (t);
        return r;
    }
    for (i = 0; i < dt_vm_inputs (t->vm); i++)
        *(dt_vm_input (t->vm, i)->klass == DT_VM_OWN ? &t->n_own : &t->n_in) += 1;
    t->regs = dt_calloc (dt_vm_registers (t->vm), sizeof *t->regs);
    t->out = dt_calloc (dt_vm_outputs (t->vm), sizeof *t->out);
    t->pin = dt_calloc (s->n_pins, sizeof *t->pin);
    t->knob = dt_calloc (s->n_knobs, sizeof *t->knob);
    t->weight = dt_calloc (s->n_assignments, sizeof *t->weight);
    if (t->regs && t->out && t->pin && t->knob && t->weight) {
        dt_vm_prepare (t->vm, t->regs);
        return 0;
    }
    tally_done (t);
    return dt_err_nomem (reterr);
}

/* Room for the outputs of n requests. */
static int reserve (struct tally *t, size_t n)
{
    size_t n_out = dt_vm_outputs (t->vm);
    int64_t *p;

    if (n <= t->room)
        return 0;
    if ((n_out && n > SIZE_MAX / n_out)
        || !(p = dt_realloc (t->own_out, n * n_out, sizeof *p)))
        return -ENOMEM;
    t->own_out = p;
    t->room = n;
    return 0;
}

/* Add one observation; a refusal by the program is none. */
static int observe (struct tally *t, const int64_t *in, const int64_t *own, size_t n,
                    uint64_t weight)
{
    const struct dt_solution *s = t->s;
    struct dt_vm_stop stop;
    size_t i, a;

    if (reserve (t, n) < 0)
        return -ENOMEM;
    if (dt_vm_run (t->vm, t->regs, in, own, n, t->out, t->own_out, &stop) < 0)
        return 0;
    for (i = 0; i < s->n_pins; i++)
        t->pin[i] = t->out[i]; /* a pin never depends on an Own input */
    if (dt_solution_find (s, t->pin, t->knob, &a, NULL) < 0 || s->verdict[a] == DT_ILLEGAL)
        return 0;
    t->weight[a] = t->weight[a] > UINT64_MAX - weight ? UINT64_MAX : t->weight[a] + weight;
    return 0;
}

/* 1 if assignment a has every knob at its default; its knobs are in t->knob. */
static int at_defaults (struct tally *t, size_t a)
{
    size_t i;

    dt_solution_assignment (t->s, a, t->pin, t->knob);
    for (i = 0; i < t->s->n_knobs; i++)
        if (t->knob[i] != t->s->knob[i].value[t->s->knob[i].initial])
            return 0;
    return 1;
}

/* The heaviest legal assignment with default knobs, the first of equals. */
static int heaviest (struct tally *t, size_t *ret, struct dt_err *reterr)
{
    size_t a, best = t->s->n_assignments;

    for (a = 0; a < t->s->n_assignments; a++)
        if (t->s->verdict[a] != DT_ILLEGAL && at_defaults (t, a)
            && (best == t->s->n_assignments || t->weight[a] > t->weight[best]))
            best = a;
    if (best == t->s->n_assignments)
        return dt_err_set (reterr, -DT_EILLEGAL,
                           "no assignment with the knobs at their defaults is legal");
    *ret = best;
    return 0;
}

int dt_solution_default (const struct dt_solution *s, const struct dt_observations *o,
                         size_t *ret, struct dt_err *reterr)
{
    struct tally t;
    const int64_t *own;
    size_t i;
    int r;

    if ((r = tally_init (&t, s, reterr)) < 0)
        return r;
    for (i = 0; i < s->n_knobs; i++)
        t.knob[i] = s->knob[i].value[s->knob[i].initial];
    for (own = o->own, i = 0; i < o->n; i++) {
        if (observe (&t, o->in + i * t.n_in, own, o->n_own[i], o->weight[i]) < 0) {
            r = dt_err_nomem (reterr);
            goto fail;
        }
        own += o->n_own[i] * t.n_own;
    }
    r = heaviest (&t, ret, reterr);
fail:
    tally_done (&t);
    return r;
}
