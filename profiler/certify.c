#include "profiler/certify.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/table.h"
#include "profiler/lane.h"

/* What lies where nobody wrote: a NaN in fp32 and bf16, zeros, and large and small
 * numbers. */
static const int poisons[] = { 0xff, 0x00, 0x7e, 0x3c };

static const char *const kinds[DT_BACKEND_DATA_KINDS] = {
    [DT_BACKEND_RANDOM] = "random", [DT_BACKEND_CANCEL] = "cancelling",
    [DT_BACKEND_SPREAD] = "spread",
};

struct field {
    size_t param; /* index in the family */
    const int64_t *value;
    size_t n;
    int64_t *given; /* owned copy of the values asked for, or NULL: the family's own */
    uint8_t *ran;   /* [n] */
};

/* A request's bits when it was alone. */
struct reference {
    struct dt_digest key; /* of its fields, seed and kind of data */
    uint8_t *bits;
    size_t n;
};

struct rival {
    struct dt_lane lane;
    struct dt_backend_ctx *ctx;
    struct dt_backend_call call;
    struct dt_backend_value *param; /* [n_params] */
    pthread_t thread;
    int started, r;
    struct dt_err err;
};

enum { UNSEEN, REFUSED, RAN };

struct dt_certify {
    const struct dt_backend *b;
    const struct dt_backend_family *family;
    int64_t *fact;
    struct dt_backend_value *param; /* [n_params] */
    int64_t **each;                 /* [n_params] rooms for mixed values */
    size_t room_each;
    struct field *field; /* [n_fields] the free ones */
    size_t n_fields;
    uint8_t *state; /* [n_combos] */
    uint64_t n_combos, n_tried, n_refused, cursor, stride;
    uint64_t random;
    struct dt_lane lane;
    struct reference *ref;
    size_t n_refs, room_refs, ref_bytes;
    struct dt_table ref_of;
    struct rival *rival;
    size_t n_rivals;
    _Atomic int stop;
    char difference[1024];
    Detent__WorkerFree *told; /* [n_fields] */
    Detent__WorkerFree **told_of;
    int64_t *told_value;
};

static uint64_t next (uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* --- a round begins --------------------------------------------------------------- */

static int take_facts (struct dt_certify *c, const Detent__WorkerCertify *m,
                       struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->family;

    for (size_t i = 0; i < f->n_facts; i++) {
        size_t k = 0;

        while (k < m->n_fact && strcmp (m->fact[k]->name, f->facts[i].name) != 0)
            k++;
        if (k == m->n_fact && !f->facts[i].optional)
            return dt_err_set (reterr, -DT_EINPUT, "%s: the deployment does not state the fact "
                               "%s, which the backend needs", f->name, f->facts[i].name);
        c->fact[i] = k < m->n_fact ? m->fact[k]->one : f->facts[i].lo;
    }
    return 0;
}

static int find_param (const struct dt_backend_family *f, const char *name, size_t *ret,
                       struct dt_err *reterr)
{
    for (*ret = 0; *ret < f->n_params; ++*ret)
        if (strcmp (f->params[*ret].name, name) == 0)
            return 0;
    return dt_err_set (reterr, -DT_EINPUT, "%s: the backend has no parameter %s", f->name, name);
}

static int add_field (struct dt_certify *c, size_t p, const Detent__WorkerFree *m,
                      struct dt_err *reterr)
{
    const struct dt_backend_param *param = &c->family->params[p];
    struct field *f = &c->field[c->n_fields++];

    *f = (struct field){ .param = p, .value = param->values, .n = param->n_values };
    if (m->n_value) {
        if (!(f->given = dt_memdup (m->value, m->n_value * sizeof *m->value)))
            return dt_err_nomem (reterr);
        f->value = f->given;
        f->n = m->n_value;
    }
    if (!(f->ran = dt_calloc (f->n, 1)))
        return dt_err_nomem (reterr);
    return 0;
}

static int take_params (struct dt_certify *c, const Detent__WorkerCertify *m,
                        struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->family;
    uint8_t *given = dt_calloc (f->n_params, 1);
    size_t p;
    int r = given ? 0 : dt_err_nomem (reterr);

    for (size_t i = 0; r == 0 && i < m->n_param + m->n_free; i++) {
        int free = i >= m->n_param;
        const char *name = free ? m->free[i - m->n_param]->name : m->param[i]->name;

        if ((r = find_param (f, name, &p, reterr)) < 0)
            break;
        if (given[p]++)
            r = dt_err_set (reterr, -DT_EINPUT, "%s: %s is given twice", f->name, name);
        else if (free)
            r = add_field (c, p, m->free[i - m->n_param], reterr);
        else
            c->param[p].one = m->param[i]->one;
    }
    for (size_t i = 0; r == 0 && i < f->n_params; i++)
        if (!given[i])
            r = dt_err_set (reterr, -DT_EINPUT, "%s: the selection does not give %s, which the "
                            "backend needs", f->name, f->params[i].name);
    dt_free (given);
    return r;
}

static uint64_t gcd (uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;

        a = b;
        b = t;
    }
    return a;
}

/* All combinations of free values, visited in steps of about 0.618 of them, so that a
 * few already spread over all. */
static int count_combinations (struct dt_certify *c, struct dt_err *reterr)
{
    c->n_combos = 1;
    for (size_t i = 0; i < c->n_fields; i++)
        if (__builtin_mul_overflow (c->n_combos, c->field[i].n, &c->n_combos)
            || c->n_combos > DT_CERTIFY_MAX_COMBINATIONS)
            return dt_err_set (reterr, -DT_ELIMIT, "%s: more than %u combinations of free values",
                               c->family->name, DT_CERTIFY_MAX_COMBINATIONS);
    c->stride = c->n_combos * 618 / 1000;
    c->stride += c->stride == 0;
    while (gcd (c->stride, c->n_combos) > 1)
        c->stride++;
    c->state = dt_calloc (c->n_combos, 1);
    return c->state ? 0 : dt_err_nomem (reterr);
}

static int open_rivals (struct dt_certify *c, const struct dt_plugin *plugin, uint32_t n,
                        struct dt_err *reterr)
{
    struct dt_backend_options options = { .units = plugin->backend->identity (plugin->ctx)->units };
    struct dt_backend_error err = { "" };

    if (n > DT_CERTIFY_MAX_RIVALS)
        return dt_err_set (reterr, -DT_ELIMIT, "%u rivals; at most %d", n, DT_CERTIFY_MAX_RIVALS);
    if (!(c->rival = dt_calloc (n, sizeof *c->rival)))
        return dt_err_nomem (reterr);
    for (; c->n_rivals < n; c->n_rivals++) {
        struct rival *v = &c->rival[c->n_rivals];

        if (!(v->param = dt_calloc (c->family->n_params, sizeof *v->param)))
            return dt_err_nomem (reterr);
        if (c->b->open (&options, &v->ctx, &err) < 0) {
            dt_free (v->param);
            return dt_err_set (reterr, -DT_EDEVICE, "a context beside the first: %s", err.text);
        }
        dt_lane_init (&v->lane, c->b, v->ctx);
    }
    return 0;
}

static int make_rooms (struct dt_certify *c, const Detent__WorkerCertify *m,
                       struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->family;
    size_t values = 0;

    for (size_t i = 0; i < f->n_params; i++)
        values += f->params[i].n_values;
    for (size_t i = 0; i < m->n_free; i++)
        values += m->free[i]->n_value;
    c->fact = dt_calloc (f->n_facts, sizeof *c->fact);
    c->param = dt_calloc (f->n_params, sizeof *c->param);
    c->each = dt_calloc (f->n_params, sizeof *c->each);
    c->field = dt_calloc (m->n_free, sizeof *c->field);
    c->told = dt_calloc (m->n_free, sizeof *c->told);
    c->told_of = dt_calloc (m->n_free, sizeof *c->told_of);
    c->told_value = dt_calloc (values, sizeof *c->told_value);
    return c->fact && c->param && c->each && c->field && c->told && c->told_of && c->told_value
               ? 0 : dt_err_nomem (reterr);
}

int dt_certify_new (const struct dt_plugin *plugin, const Detent__WorkerCertify *m,
                    struct dt_certify **ret, struct dt_err *reterr)
{
    const struct dt_backend *b = plugin->backend;
    struct dt_certify *c = dt_calloc (1, sizeof *c);
    int r;

    if (!c)
        return dt_err_nomem (reterr);
    c->b = b;
    c->random = m->seed;
    dt_lane_init (&c->lane, b, plugin->ctx);
    for (size_t i = 0; i < b->n_families && !c->family; i++)
        if (strcmp (b->families[i].name, m->family) == 0)
            c->family = &b->families[i];
    if (!c->family) {
        r = dt_err_set (reterr, -DT_EUNSUPPORTED, "the backend has no family %s", m->family);
        goto fail;
    }
    if ((r = make_rooms (c, m, reterr)) < 0 || (r = take_facts (c, m, reterr)) < 0
        || (r = take_params (c, m, reterr)) < 0 || (r = count_combinations (c, reterr)) < 0
        || (r = open_rivals (c, plugin, m->rivals, reterr)) < 0)
        goto fail;
    *ret = c;
    return 0;
fail:
    dt_certify_free (c);
    return r;
}

struct dt_certify *dt_certify_free (struct dt_certify *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; i < c->n_rivals; i++) {
        dt_lane_done (&c->rival[i].lane);
        c->b->close (c->rival[i].ctx);
        dt_free (c->rival[i].param);
    }
    for (size_t i = 0; i < c->n_refs; i++)
        dt_free (c->ref[i].bits);
    for (size_t i = 0; i < c->n_fields; i++) {
        dt_free (c->field[i].given);
        dt_free (c->field[i].ran);
    }
    for (size_t i = 0; c->each && i < c->family->n_params; i++)
        dt_free (c->each[i]);
    dt_lane_done (&c->lane);
    dt_table_done (&c->ref_of);
    dt_free (c->ref);
    dt_free (c->rival);
    dt_free (c->fact);
    dt_free (c->param);
    dt_free (c->each);
    dt_free (c->field);
    dt_free (c->state);
    dt_free (c->told);
    dt_free (c->told_of);
    dt_free (c->told_value);
    dt_free (c);
    return NULL;
}

/* --- free values -------------------------------------------------------------------- */

/* Combination `i`, for all requests alike. */
static void set_combination (struct dt_certify *c, uint64_t i)
{
    for (size_t k = c->n_fields; k-- > 0; i /= c->field[k].n)
        c->param[c->field[k].param] = (struct dt_backend_value){
            .one = c->field[k].value[i % c->field[k].n] };
}

/* Values that are drawn for each request by itself, where the family can have that.
 * 0: it cannot. */
static int mix_values (struct dt_certify *c, size_t n_requests)
{
    int any = 0;

    for (size_t k = 0; k < c->n_fields; k++) {
        const struct field *f = &c->field[k];

        if (!c->family->params[f->param].per_request)
            continue;
        for (size_t i = 0; i < n_requests; i++)
            c->each[f->param][i] = f->value[next (&c->random) % f->n];
        c->param[f->param].each = c->each[f->param];
        any = 1;
    }
    return any;
}

static int room_for_each (struct dt_certify *c, size_t n, struct dt_err *reterr)
{
    if (n <= c->room_each)
        return 0;
    for (size_t k = 0; k < c->n_fields; k++) {
        size_t p = c->field[k].param;
        int64_t *larger = dt_realloc (c->each[p], n, sizeof *larger);

        if (!larger)
            return dt_err_nomem (reterr);
        c->each[p] = larger;
    }
    c->room_each = n;
    return 0;
}

static void note (struct dt_certify *c, uint64_t i, int state)
{
    if (c->state[i] == RAN || c->state[i] == state)
        return;
    c->n_refused += (state == REFUSED) - (c->state[i] == REFUSED);
    c->n_tried += state == RAN;
    c->state[i] = (uint8_t)state;
    for (size_t k = c->n_fields; state == RAN && k-- > 0; i /= c->field[k].n)
        c->field[k].ran[i % c->field[k].n] = 1;
}

/* --- references ----------------------------------------------------------------------- */

static const void *key_of (const void *ctx, uint32_t index, size_t *ret_len)
{
    const struct dt_certify *c = ctx;

    *ret_len = DT_DIGEST_BYTES;
    return c->ref[index].key.bytes;
}

static struct dt_digest request_key (const struct dt_certify *c,
                                     const struct dt_backend_call *call)
{
    struct dt_digest_state s;

    dt_digest_begin (&s, "request");
    dt_digest_add (&s, &call->data, sizeof call->data);
    dt_digest_add (&s, call->seed, sizeof *call->seed);
    dt_digest_add (&s, call->request, c->family->n_request_fields * sizeof *call->request);
    return dt_digest_end (&s);
}

/* The first combination that has a kernel for the call.  1, or 0: none has. */
static int choose_combination (struct dt_certify *c, const struct dt_backend_call *call,
                               struct dt_err *reterr)
{
    for (uint64_t i = 0; i < c->n_combos; i++) {
        int r;

        set_combination (c, i);
        if ((r = dt_lane_takes (&c->lane, call, reterr)) != 0)
            return r;
    }
    return 0;
}

/* Run a request alone; its bits are then in the lane.  1, or 0: there is no kernel. */
static int run_alone (struct dt_certify *c, const struct dt_backend_call *one,
                      struct dt_err *reterr)
{
    int r;

    if ((r = choose_combination (c, one, reterr)) <= 0)
        return r;
    if ((r = dt_lane_fill (&c->lane, one, 0, poisons[0], reterr)) < 0
        || (r = dt_lane_run (&c->lane, one, poisons[0], reterr)) < 0
        || (r = dt_lane_read (&c->lane, one, reterr)) < 0)
        return r;
    return 1;
}

static int keep (struct dt_certify *c, const struct dt_digest *key, uint32_t *ret,
                 struct dt_err *reterr)
{
    struct reference ref = { .key = *key, .n = c->lane.row[0].length };
    void *items = c->ref;

    if (c->ref_bytes + ref.n > DT_CERTIFY_REFERENCE_BYTES)
        return dt_err_set (reterr, -DT_ELIMIT, "outputs to compare with exceed %zu bytes",
                           DT_CERTIFY_REFERENCE_BYTES);
    if (dt_grow (&items, &c->room_refs, c->n_refs, sizeof *c->ref) < 0)
        return dt_err_nomem (reterr);
    c->ref = items;
    if (!(ref.bits = dt_memdup (c->lane.host + c->lane.row[0].offset, ref.n ? ref.n : 1)))
        return dt_err_nomem (reterr);
    c->ref[c->n_refs] = ref;
    if (dt_table_put (&c->ref_of, key->bytes, DT_DIGEST_BYTES, (uint32_t)c->n_refs) < 0) {
        dt_free (ref.bits);
        return dt_err_nomem (reterr);
    }
    *ret = (uint32_t)c->n_refs++;
    c->ref_bytes += ref.n;
    return 0;
}

/* One request of a batch as a call of its own. */
static struct dt_backend_call alone (const struct dt_certify *c,
                                     const struct dt_backend_call *call, size_t i)
{
    struct dt_backend_call one = *call;

    one.n_requests = 1;
    one.request = call->request + i * c->family->n_request_fields;
    one.seed = call->seed + i;
    one.exchange = 0;
    return one;
}

/* The reference of each request of the batch.  1, or 0: one has no kernel. */
static int find_references (struct dt_certify *c, const struct dt_backend_call *call,
                            uint32_t *ret, struct dt_err *reterr)
{
    int r;

    for (size_t i = 0; i < call->n_requests; i++) {
        struct dt_backend_call one = alone (c, call, i);
        struct dt_digest key = request_key (c, &one);

        ret[i] = dt_table_get (&c->ref_of, key.bytes, DT_DIGEST_BYTES, key_of, c);
        if (ret[i] != DT_TABLE_NONE)
            continue;
        if ((r = run_alone (c, &one, reterr)) <= 0
            || (r = keep (c, &key, &ret[i], reterr)) < 0)
            return r;
    }
    return 1;
}

/* --- comparing ------------------------------------------------------------------------- */

/* "row 3 of 17 (query_len=1 kv_len=700), cancelling data, tile_m=4 workers=2: byte ..." */
static void describe (struct dt_certify *c, const struct dt_backend_call *call, size_t i,
                      const uint8_t *is, const struct reference *was, const char *how)
{
    const struct dt_backend_family *f = c->family;
    char *text = c->difference;
    size_t room = sizeof c->difference, at = 0, n = 0;

    n = (size_t)snprintf (text, room, "row %zu of %zu (", i, call->n_requests);
    for (size_t k = 0; k < f->n_request_fields && n < room; k++)
        n += (size_t)snprintf (text + n, room - n, "%s%s=%lld", k ? " " : "",
                               f->request_fields[k],
                               (long long)call->request[i * f->n_request_fields + k]);
    if (n < room)
        n += (size_t)snprintf (text + n, room - n, "), %s data", kinds[call->data]);
    for (size_t k = 0; k < c->n_fields && n < room; k++) {
        const struct dt_backend_value *v = &call->param[c->field[k].param];

        n += (size_t)snprintf (text + n, room - n, " %s=%lld", f->params[c->field[k].param].name,
                               (long long)(v->each ? v->each[i] : v->one));
    }
    while (at < was->n && is[at] == was->bits[at])
        at++;
    if (n < room && at < was->n)
        snprintf (text + n, room - n, "%s: byte %zu of %zu is 0x%02x, and 0x%02x when the request "
                  "is alone", how, at, was->n, is[at], was->bits[at]);
}

/* Compare all rows of what the lane has read. */
static void compare (struct dt_certify *c, const struct dt_lane *l,
                     const struct dt_backend_call *call, const uint32_t *ref, const char *how,
                     Detent__WorkerCertified *ret)
{
    for (size_t i = 0; i < call->n_requests; i++) {
        const struct reference *was = &c->ref[ref[i]];
        const uint8_t *is = l->host + l->row[i].offset;

        ret->rows++;
        if (l->row[i].length == was->n && memcmp (is, was->bits, was->n) == 0)
            continue;
        ret->changed++;
        if (c->difference[0])
            continue;
        if (l->row[i].length != was->n)
            snprintf (c->difference, sizeof c->difference, "row %zu of %zu has %zu bytes, and "
                      "%zu when the request is alone", i, call->n_requests, l->row[i].length,
                      was->n);
        else
            describe (c, call, i, is, was, how);
    }
}

/* --- rivals ------------------------------------------------------------------------------ */

struct contest {
    struct dt_certify *c;
    struct rival *v;
};

static void *contend (void *arg)
{
    struct contest *x = arg;
    struct rival *v = x->v;

    do
        v->r = dt_lane_run (&v->lane, &v->call, poisons[1], &v->err);
    while (v->r == 0 && !atomic_load (&x->c->stop));
    return NULL;
}

/* The rivals run the same batch, each in a context and buffers of its own. */
static int start_rivals (struct dt_certify *c, const struct dt_backend_call *call,
                         struct contest *contest, struct dt_err *reterr)
{
    int r;

    atomic_store (&c->stop, 0);
    for (size_t i = 0; i < c->n_rivals; i++) {
        struct rival *v = &c->rival[i];

        memcpy (v->param, call->param, c->family->n_params * sizeof *v->param);
        v->call = *call;
        v->call.param = v->param;
        if ((r = dt_lane_fill (&v->lane, &v->call, next (&c->random), poisons[2], reterr)) < 0)
            return r;
        contest[i] = (struct contest){ c, v };
        if ((r = -pthread_create (&v->thread, NULL, contend, &contest[i])) < 0)
            return dt_err_set (reterr, r, "a thread to contend: %s", strerror (-r));
        v->started = 1;
    }
    return 0;
}

/* Ends the rivals; the outputs of their last runs are compared too. */
static int stop_rivals (struct dt_certify *c, const uint32_t *ref, Detent__WorkerCertified *ret,
                        struct dt_err *reterr)
{
    int r = 0;

    atomic_store (&c->stop, 1);
    for (size_t i = 0; i < c->n_rivals; i++) {
        struct rival *v = &c->rival[i];

        if (!v->started)
            continue;
        pthread_join (v->thread, NULL);
        v->started = 0;
        if (r < 0)
            continue;
        if (v->r < 0)
            r = dt_err_set (reterr, v->r, "%s", v->err.text);
        else if ((r = dt_lane_read (&v->lane, &v->call, reterr)) == 0)
            compare (c, &v->lane, &v->call, ref, ", in the rival context", ret);
    }
    return r;
}

/* --- a batch ------------------------------------------------------------------------------ */

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
        int poison = poisons[next (&c->random) % DT_ARRAY_SIZE (poisons)];

        if ((r = dt_lane_run (&c->lane, call, poison, reterr)) < 0
            || (r = dt_lane_read (&c->lane, call, reterr)) < 0)
            return r;
        ret->runs++;
        note_time (c->b->elapsed_ns (c->lane.ctx), ret);
        compare (c, &c->lane, call, ref, how, ret);
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
    set_combination (c, i);
    if ((r = dt_lane_takes (&c->lane, call, reterr)) < 0)
        return r;
    if (r == 0) {
        note (c, i, REFUSED);
        return 0;
    }
    if ((r = run_set (c, call, repeats, ref, how, ret, reterr)) < 0)
        return r;
    note (c, i, RAN);
    if (call->n_requests > 1 && mix_values (c, call->n_requests)
        && (r = dt_lane_takes (&c->lane, call, reterr)) > 0)
        r = run_set (c, call, 1, ref, how, ret, reterr);
    return r < 0 ? r : 0;
}

/* Half of the combinations, on operands at addresses of their own. */
static int run_half (struct dt_certify *c, const struct dt_backend_call *call,
                     const Detent__WorkerBatch *m, int contended, const uint32_t *ref,
                     Detent__WorkerCertified *ret, struct dt_err *reterr)
{
    struct contest contest[DT_CERTIFY_MAX_RIVALS];
    uint32_t n = (m->combinations + 1) / 2;
    struct dt_err ignored;
    int r, end;

    if ((r = choose_combination (c, call, reterr)) <= 0)
        return r;
    if ((r = dt_lane_fill (&c->lane, call, next (&c->random),
                           poisons[next (&c->random) % DT_ARRAY_SIZE (poisons)], reterr)) < 0)
        return r;
    if (contended)
        r = start_rivals (c, call, contest, reterr);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = run_next (c, call, m->repeats, ref, contended ? ", under contention" : "", ret,
                      reterr);
    if (contended) {
        end = stop_rivals (c, ref, ret, r < 0 ? &ignored : reterr);
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
        struct dt_backend_call one = alone (c, call, i);

        one.exchange = call->exchange;
        if ((r = run_alone (c, &one, reterr)) <= 0)
            return r;
        ret->runs++;
        compare (c, &c->lane, &one, ref + i, ", with exchanged terms", ret);
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

    if (!ref || room_for_each (c, m->requests, reterr) < 0) {
        dt_free (ref);
        return dt_err_nomem (reterr);
    }
    r = find_references (c, call, ref, reterr);
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
        const struct field *f = &c->field[k];
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
