/* tuner/cover.c - what each legal assignment launches on the sampled calls. */
#include "tuner/cover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tuner/inputs.h"

#define PROGRESS_EVERY 64 /* assignments between two questions whether to go on */

void dt_cover_done (struct dt_cover *c)
{
    dt_arena_done (&c->arena);
    dt_free (c->variant);
    dt_free (c->arm);
    dt_table_done (&c->by_params);
    dt_table_done (&c->by_launch);
    dt_table_done (&c->by_row);
    *c = (struct dt_cover){ 0 };
}

struct dt_tune_call dt_cover_call (const struct dt_cover *c, size_t variant)
{
    const struct dt_cover_variant *v = &c->variant[variant];
    const struct dt_cover_at *at = &c->at[v->at];

    return (struct dt_tune_call){
        .family = at->site->family,
        .site = at->site->site,
        .call = dt_trace_call_get (at->site, at->call),
        .id = at->site->id + at->site->call[at->call].at,
        .param = v->param,
        .n_params = c->n_params,
    };
}

/* --- one assignment's selector --------------------------------------------- */

struct selector {
    struct dt_vm *vm;
    struct dt_inputs map;
    int64_t *regs, *in, *own, *out, *own_out; /* scratch for the largest call */
    int64_t *key;                             /* likewise: see take_key       */
    uint32_t *variant, *same;                 /* [n_at] a row                 */
};

static void selector_done (struct selector *s)
{
    dt_vm_free (s->vm);
    dt_free (s->regs);
    dt_free (s->in);
    dt_free (s->own);
    dt_free (s->out);
    dt_free (s->own_out);
    dt_free (s->key);
    dt_free (s->variant);
    dt_free (s->same);
}

static size_t largest_call (const struct dt_cover *c)
{
    size_t most = 0;

    for (size_t i = 0; i < c->n_at; i++) {
        size_t n = c->at[i].site->call[c->at[i].call].n_requests;

        most = n > most ? n : most;
    }
    return most;
}

static int selector_init (const struct dt_cover *c, size_t assignment, struct selector *s,
                          struct dt_err *reterr)
{
    struct dt_buf blob = { 0 };
    size_t n = largest_call (c), n_out;
    int r;

    if ((r = dt_solution_selector (c->solution, assignment, &blob, reterr)) == 0)
        r = dt_vm_load (blob.data, blob.len, &s->vm, reterr);
    if (r == 0)
        r = dt_vm_plan (s->vm, reterr);
    dt_buf_done (&blob);
    if (r < 0 || (r = dt_inputs_map (s->vm, c->at[0].site->schema, &s->map, reterr)) < 0)
        return r;
    n_out = dt_vm_outputs (s->vm);
    s->regs = dt_calloc (dt_vm_registers (s->vm), sizeof *s->regs);
    s->in = dt_calloc (s->map.n_scalar, sizeof *s->in);
    s->own = dt_calloc (n * s->map.n_own, sizeof *s->own);
    s->out = dt_calloc (n_out, sizeof *s->out);
    s->own_out = dt_calloc (n * n_out, sizeof *s->own_out);
    s->key = dt_calloc (1 + n_out * (1 + n), sizeof *s->key);
    s->variant = dt_calloc (c->n_at, sizeof *s->variant);
    s->same = dt_calloc (c->n_at, sizeof *s->same);
    if (!s->regs || !s->in || !s->own || !s->out || !s->own_out || !s->key || !s->variant || !s->same)
        return dt_err_nomem (reterr);
    dt_vm_prepare (s->vm, s->regs);
    return 0;
}

/* Names of the parameters, from the first selector; all others must have them. */
static int check_fields (struct dt_cover *c, const struct dt_vm *vm, struct dt_err *reterr)
{
    size_t n = dt_vm_outputs (vm);

    if (!c->field) {
        if (!(c->field = dt_arena_array (&c->arena, n, sizeof *c->field)))
            return dt_err_nomem (reterr);
        c->n_params = n;
        for (size_t i = 0; i < n; i++) {
            const char *name = dt_vm_output (vm, i)->field;

            if (!(c->field[i] = dt_arena_strn (&c->arena, name, strlen (name))))
                return dt_err_nomem (reterr);
        }
    }
    for (size_t i = 0; i < n; i++)
        if (n != c->n_params || strcmp (dt_vm_output (vm, i)->field, c->field[i]) != 0)
            return dt_err_set (reterr, -DT_ECORRUPT, "two selectors of one solution differ in fields");
    return 0;
}

/* --- variants -------------------------------------------------------------- */

static const void *variant_key (const void *ctx, uint32_t i, size_t *ret_len)
{
    const struct dt_cover *c = ctx;

    *ret_len = c->variant[i].key_len;
    return c->variant[i].key;
}

/* Call and launch as one key. */
struct launch_key {
    uint64_t at, launch[2];
};
_Static_assert (sizeof (struct launch_key) == 24, "no padding in a key");

static const void *launch_key_of (const void *ctx, uint32_t i, size_t *ret_len)
{
    static _Thread_local struct launch_key key; /* read at once by the table */
    const struct dt_cover_variant *v = &((const struct dt_cover *)ctx)->variant[i];

    key = (struct launch_key){ v->at, { v->launch[0], v->launch[1] } };
    *ret_len = sizeof key;
    return &key;
}

/* The call and the selector's outputs as a key of so many words: per output 0 and
 * the value, or 1 and the values of all requests. */
static size_t take_key (const struct dt_cover *c, struct selector *s, size_t at, size_t n_requests)
{
    size_t w = 0;

    s->key[w++] = (int64_t)at;
    for (size_t i = 0; i < c->n_params; i++) {
        int own = dt_vm_output (s->vm, i)->own;

        s->key[w++] = own;
        if (!own)
            s->key[w++] = s->out[i];
        for (size_t k = 0; own && k < n_requests; k++)
            s->key[w++] = s->own_out[k * c->n_params + i];
    }
    return w;
}

/* Append a variant: the key kept, and the parameters that it holds. */
static int add_variant (struct dt_cover *c, const struct selector *s, size_t at, size_t words,
                        size_t n_requests, struct dt_err *reterr)
{
    int64_t *key = dt_arena_array (&c->arena, words, sizeof *key);
    struct dt_tune_param *p = dt_arena_array (&c->arena, c->n_params, sizeof *p);
    size_t w = 1;

    if (!key || !p ||
        dt_grow ((void **)&c->variant, &c->room_variants, c->n_variants, sizeof *c->variant) < 0)
        return dt_err_nomem (reterr);
    memcpy (key, s->key, words * sizeof *key);
    for (size_t i = 0; i < c->n_params; i++) {
        int own = key[w++] != 0;

        p[i] = (struct dt_tune_param){ c->field[i], own ? 0 : key[w], own ? key + w : NULL };
        w += own ? n_requests : 1;
    }
    if (dt_table_put (&c->by_params, key, words * sizeof *key, (uint32_t)c->n_variants) < 0)
        return dt_err_nomem (reterr);
    c->variant[c->n_variants++] = (struct dt_cover_variant){
        .at = at, .param = p, .key = key, .key_len = words * sizeof *key };
    return 0;
}

/* Ask what the variant that was just appended launches. */
static int plan_variant (struct dt_cover *c, uint32_t i, struct dt_err *reterr)
{
    struct dt_cover_variant *v = &c->variant[i];
    struct dt_tune_call call = dt_cover_call (c, i);
    struct launch_key key;
    struct dt_err why = { "" };
    int r, refused = 0;

    if ((r = c->hooks->plan (c->hooks->ctx, &call, v->launch, &refused, &why)) < 0)
        return dt_err_set (reterr, r, "%s", why.text);
    if (refused) {
        v->refused = dt_arena_strf (&c->arena, "%s", *why.text ? why.text
                                                    : "the backend has no kernel for it");
        return v->refused ? 0 : dt_err_nomem (reterr);
    }
    key = (struct launch_key){ v->at, { v->launch[0], v->launch[1] } };
    v->same = dt_table_get (&c->by_launch, &key, sizeof key, launch_key_of, c);
    if (v->same != DT_TABLE_NONE)
        return 0;
    v->same = i;
    return dt_table_put (&c->by_launch, &key, sizeof key, i) < 0 ? dt_err_nomem (reterr) : 0;
}

static int find_variant (struct dt_cover *c, struct selector *s, size_t at, size_t n_requests,
                         uint32_t *ret, struct dt_err *reterr)
{
    size_t words = take_key (c, s, at, n_requests);
    uint32_t i = dt_table_get (&c->by_params, s->key, words * sizeof *s->key, variant_key, c);
    int r;

    if (i == DT_TABLE_NONE) {
        i = (uint32_t)c->n_variants;
        if ((r = add_variant (c, s, at, words, n_requests, reterr)) < 0 ||
            (r = plan_variant (c, i, reterr)) < 0)
            return r;
    }
    *ret = i;
    return 0;
}

/* --- arms ------------------------------------------------------------------ */

/* The variant of an assignment on a sampled call.  1: usable; 0: not, noted. */
static int run_call (struct dt_cover *c, size_t assignment, struct selector *s, size_t at,
                     struct dt_err *reterr)
{
    struct dt_call call = dt_trace_call_get (c->at[at].site, c->at[at].call);
    const struct dt_cover_variant *v;
    struct dt_err why = { "" };
    struct dt_vm_stop stop;
    int r;

    if ((r = dt_inputs_fill (&s->map, &call, s->in, s->own, reterr)) < 0)
        return r;
    r = dt_vm_run (s->vm, s->regs, s->in, s->own, call.n_requests, s->out, s->own_out, &stop);
    if (r < 0) {
        dt_vm_describe (s->vm, &stop, &why);
        dt_cover_refuse (c, assignment, at, why.text);
        return 0;
    }
    if ((r = find_variant (c, s, at, call.n_requests, &s->variant[at], reterr)) < 0)
        return r;
    v = &c->variant[s->variant[at]];
    if (v->refused)
        dt_cover_refuse (c, assignment, at, v->refused);
    s->same[at] = v->same;
    return !v->refused;
}

/* On all sampled calls: of one that is told as refused, every call is asked about. */
static int run_assignment (struct dt_cover *c, size_t assignment, struct selector *s,
                           struct dt_err *reterr)
{
    int usable = 1, told = c->n_refused < DT_TUNE_REFUSALS;

    for (size_t at = 0; at < c->n_at && (usable || told); at++) {
        int r = run_call (c, assignment, s, at, reterr);

        if (r < 0)
            return r;
        usable &= r;
    }
    return usable;
}

static const void *row_key (const void *ctx, uint32_t i, size_t *ret_len)
{
    const struct dt_cover *c = ctx;

    *ret_len = c->n_at * sizeof *c->arm[i].same;
    return c->arm[i].same;
}

/* Which of two assignments that do the same stands for both. */
static int stands_for (const struct dt_cover *c, size_t a, size_t b, size_t incumbent)
{
    if (a == incumbent || b == incumbent)
        return a == incumbent;
    if (c->solution->verdict[a] != c->solution->verdict[b])
        return c->solution->verdict[a] < c->solution->verdict[b]; /* proved comes first */
    return a < b;
}

static int append_arm (struct dt_cover *c, size_t assignment, const struct selector *s,
                       struct dt_err *reterr)
{
    size_t n = c->n_at;
    uint32_t *variant = dt_arena_array (&c->arena, n, sizeof *variant);
    uint32_t *same = dt_arena_array (&c->arena, n, sizeof *same);

    if (!variant || !same ||
        dt_grow ((void **)&c->arm, &c->room_arms, c->n_arms, sizeof *c->arm) < 0 ||
        dt_table_put (&c->by_row, s->same, n * sizeof *same, (uint32_t)c->n_arms) < 0)
        return dt_err_nomem (reterr);
    memcpy (variant, s->variant, n * sizeof *variant);
    memcpy (same, s->same, n * sizeof *same);
    c->arm[c->n_arms++] = (struct dt_cover_arm){ assignment, variant, same };
    return 0;
}

static int add_arm (struct dt_cover *c, size_t assignment, size_t incumbent,
                    const struct selector *s, struct dt_err *reterr)
{
    uint32_t i = dt_table_get (&c->by_row, s->same, c->n_at * sizeof *s->same, row_key, c);
    int r;

    c->n_usable++;
    if (i == DT_TABLE_NONE) {
        i = (uint32_t)c->n_arms;
        if ((r = append_arm (c, assignment, s, reterr)) < 0)
            return r;
    } else if (stands_for (c, assignment, c->arm[i].assignment, incumbent))
        c->arm[i].assignment = assignment;
    if (assignment == incumbent)
        c->incumbent = i;
    return 0;
}

static int cover_assignment (struct dt_cover *c, size_t assignment, size_t incumbent, struct dt_err *reterr)
{
    struct selector s = { 0 };
    int r;

    if ((r = selector_init (c, assignment, &s, reterr)) < 0 ||
        (r = check_fields (c, s.vm, reterr)) < 0 ||
        (r = run_assignment (c, assignment, &s, reterr)) <= 0)
        goto fail;
    r = add_arm (c, assignment, incumbent, &s, reterr);
fail:
    selector_done (&s);
    return r < 0 ? r : 0;
}

static int cover_all (struct dt_cover *c, size_t incumbent, struct dt_err *reterr)
{
    char text[DT_TUNE_REFUSAL_TEXT];
    int r;

    for (size_t i = 0; i < c->solution->n_assignments; i++) {
        if (c->solution->verdict[i] == DT_ILLEGAL || (c->allowed && !c->allowed[i]))
            continue;
        if (c->n_legal++ % PROGRESS_EVERY == 0 && c->hooks->progress &&
            c->hooks->progress (c->hooks->ctx, 0, -1, "planning the assignments"))
            return dt_err_set (reterr, -DT_ECANCELLED, "tuning was cancelled");
        if ((r = cover_assignment (c, i, incumbent, reterr)) < 0)
            return r;
    }
    if (c->n_arms)
        return 0;
    return dt_err_set (reterr, -DT_EILLEGAL, "%s/%s: no legal value is usable: each of %zu legal "
                       "assignments is refused; the first: %s", c->at[0].site->family,
                       c->at[0].site->site, c->n_legal,
                       c->n_refused ? dt_tune_refusal_text (&c->refusal[0], text)
                                    : "there is none");
}

int dt_cover_build (struct dt_cover *c, const struct dt_solution *solution,
                    const struct dt_cover_at *at, size_t n_at, const uint8_t *allowed,
                    size_t incumbent, const struct dt_tune_hooks *hooks, struct dt_err *reterr)
{
    int r;

    *c = (struct dt_cover){ .solution = solution, .at = at, .n_at = n_at, .allowed = allowed,
                            .hooks = hooks, .incumbent = SIZE_MAX };
    if ((r = cover_all (c, incumbent, reterr)) < 0)
        return r;
    if (c->incumbent == SIZE_MAX)
        c->incumbent = c->n_arms;
    return 0;
}

int dt_cover_one (struct dt_cover *c, const struct dt_solution *solution,
                  const struct dt_cover_at *at, size_t n_at, size_t assignment,
                  const struct dt_tune_hooks *hooks, struct dt_err *reterr)
{
    char text[DT_TUNE_REFUSAL_TEXT];
    int r;

    *c = (struct dt_cover){ .solution = solution, .at = at, .n_at = n_at, .hooks = hooks };
    if ((r = cover_assignment (c, assignment, assignment, reterr)) == 0 && c->n_arms == 0)
        r = dt_err_set (reterr, -DT_EILLEGAL, "%s/%s: not all of the trace can be run: %s",
                        at[0].site->family, at[0].site->site,
                        dt_tune_refusal_text (&c->refusal[0], text));
    return r;
}
