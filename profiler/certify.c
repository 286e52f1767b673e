/* A batch of a round. */
#include "profiler/certify_round.h"

#include <errno.h>

#include "base/mem.h"

static int any_poison (struct dt_certify *c)
{
    return dt_certify_poison[dt_certify_next (c) % DT_CERTIFY_POISONS];
}

static void note_time (uint64_t ns, Detent__WorkerCertified *ret)
{
    if (!ret->has_least_ns || ns < ret->least_ns)
        ret->least_ns = ns;
    ret->has_least_ns = 1;
}

/* Run what the parameters are set to, `repeats` times. */
static int run_set (struct dt_certify *c, const struct dt_backend_call *call, uint32_t repeats,
                    const uint32_t *ref, const char *how, Detent__WorkerCertified *ret,
                    struct dt_err *reterr)
{
    int r;

    for (uint32_t i = 0; i < repeats; i++) {
        if ((r = dt_lane_run (&c->lane, call, any_poison (c), reterr)) < 0
            || (r = dt_lane_read (&c->lane, call, reterr)) < 0)
            return r;
        ret->runs++;
        note_time (c->b->elapsed_ns (c->lane.ctx), ret);
        dt_certify_compare (c, &c->lane, call, ref, how, ret);
    }
    return 0;
}

/* The next combination for all requests alike, then other values for each. */
static int run_next (struct dt_certify *c, const struct dt_backend_call *call, uint32_t repeats,
                     const uint32_t *ref, const char *how, Detent__WorkerCertified *ret,
                     struct dt_err *reterr)
{
    uint64_t i = c->cursor;
    int r;

    c->cursor = (c->cursor + c->stride) % c->n_combos;
    dt_certify_set (c, i);
    if ((r = dt_lane_takes (&c->lane, call, reterr)) < 0)
        return r;
    if (r == 0) {
        dt_certify_note (c, i, DT_CERTIFY_REFUSED);
        return 0;
    }
    if ((r = run_set (c, call, repeats, ref, how, ret, reterr)) < 0)
        return r;
    dt_certify_note (c, i, DT_CERTIFY_RAN);
    if (call->n_requests > 1 && dt_certify_mix (c, call->n_requests)
        && (r = dt_lane_takes (&c->lane, call, reterr)) > 0)
        r = run_set (c, call, 1, ref, how, ret, reterr);
    return r < 0 ? r : 0;
}

/* Half of the combinations, on operands at addresses of their own. */
static int run_half (struct dt_certify *c, const struct dt_backend_call *call,
                     const Detent__WorkerBatch *m, int contended, const uint32_t *ref,
                     Detent__WorkerCertified *ret, struct dt_err *reterr)
{
    uint32_t n = (m->combinations + 1) / 2;
    uint64_t scatter = dt_certify_next (c);
    struct dt_err ignored;
    int r, end;

    if ((r = dt_certify_choose (c, call, reterr)) <= 0)
        return r;
    if ((r = dt_lane_fill (&c->lane, call, scatter, any_poison (c), reterr)) < 0)
        return r;
    if (contended)
        r = dt_certify_start_rivals (c, call, reterr);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = run_next (c, call, m->repeats, ref, contended ? ", under contention" : "", ret,
                      reterr);
    if (contended) {
        end = dt_certify_stop_rivals (c, ref, ret, r < 0 ? &ignored : reterr);
        r = r < 0 ? r : end;
    }
    return r;
}

/* Each request alone, with exchanged terms: how many show it? */
static int run_exchange (struct dt_certify *c, const struct dt_backend_call *call,
                         const uint32_t *ref, Detent__WorkerCertified *ret, struct dt_err *reterr)
{
    int r;

    for (size_t i = 0; i < call->n_requests; i++) {
        struct dt_backend_call one = dt_certify_one (c, call, i);

        one.exchange = call->exchange;
        if ((r = dt_certify_run_one (c, &one, reterr)) <= 0)
            return r;
        ret->runs++;
        dt_certify_compare (c, &c->lane, &one, ref + i, ", with exchanged terms", ret);
    }
    return 0;
}

static int check_batch (const struct dt_certify *c, const Detent__WorkerBatch *m,
                        struct dt_err *reterr)
{
    if (m->requests < 1 || m->n_seed != m->requests
        || m->n_request != (size_t)m->requests * c->family->n_request_fields)
        return dt_err_set (reterr, -DT_EINPUT, "%s: %u requests with %zu seeds and %zu fields; "
                           "%zu fields are due for each", c->family->name, m->requests, m->n_seed,
                           m->n_request, c->family->n_request_fields);
    if (m->data >= DT_BACKEND_DATA_KINDS)
        return dt_err_set (reterr, -DT_EINPUT, "%s: there is no kind %u of data",
                           c->family->name, m->data);
    if (m->repeats < 1 || m->combinations < 1
        || (uint64_t)m->repeats * m->combinations > DT_CERTIFY_MAX_RUNS)
        return dt_err_set (reterr, -DT_EINPUT, "%s: %u combinations, each %u times; at least 1, "
                           "at most %d runs", c->family->name, m->combinations, m->repeats,
                           DT_CERTIFY_MAX_RUNS);
    return 0;
}

static int run_batch (struct dt_certify *c, const struct dt_backend_call *call,
                      const Detent__WorkerBatch *m, Detent__WorkerCertified *ret,
                      struct dt_err *reterr)
{
    uint32_t *ref = dt_calloc (m->requests, sizeof *ref);
    int r;

    if (!ref || dt_certify_room (c, m->requests, reterr) < 0) {
        dt_free (ref);
        return dt_err_nomem (reterr);
    }
    r = dt_certify_references (c, call, ref, reterr);
    if (r > 0 && m->exchange)
        r = run_exchange (c, call, ref, ret, reterr);
    else if (r > 0) {
        r = run_half (c, call, m, 0, ref, ret, reterr);
        if (r == 0 && c->n_rivals && ret->runs)
            r = run_half (c, call, m, 1, ref, ret, reterr);
    }
    dt_free (ref);
    return r;
}

int dt_certify_batch (struct dt_certify *c, const Detent__WorkerBatch *m,
                      Detent__WorkerCertified *ret, struct dt_err *reterr)
{
    struct dt_backend_call call = { .family = c->family, .fact = c->fact,
                                    .n_requests = m->requests, .request = m->request,
                                    .seed = m->seed, .param = c->param, .data = m->data,
                                    .exchange = m->exchange };
    int r;

    if ((r = check_batch (c, m, reterr)) < 0)
        return r;
    c->difference[0] = 0;
    if ((r = run_batch (c, &call, m, ret, reterr)) < 0)
        return r;
    dt_certify_tell (c, ret);
    return 0;
}

void dt_certify_tell (struct dt_certify *c, Detent__WorkerCertified *ret)
{
    int64_t *value = c->told_value;

    ret->difference = c->difference[0] ? c->difference : NULL;
    ret->tried = c->n_tried;
    ret->refused = c->n_refused;
    ret->of = c->n_combos;
    ret->free = c->told_of;
    ret->n_free = c->n_fields;
    for (size_t k = 0; k < c->n_fields; k++) {
        const struct dt_certify_field *f = &c->field[k];
        Detent__WorkerFree *m = &c->told[k];

        detent__worker_free__init (m);
        m->name = (char *)c->family->params[f->param].name;
        m->value = value;
        for (size_t i = 0; i < f->n; i++)
            if (f->ran[i])
                m->value[m->n_value++] = f->value[i];
        value += m->n_value;
        c->told_of[k] = m;
    }
}
