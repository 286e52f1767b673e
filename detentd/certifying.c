/* detentd/certifying.c - a job that certifies, on the tuner's thread. */
#include "detentd/certifying.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "detentd/covering.h"
#include "detentd/daemon.h"
#include "detentd/forced.h"
#include "detentd/measure.h"
#include "detentd/solving.h"

/* One assignment of one site, by the values that bind. */
struct subject {
    size_t site, assignment;
    struct dt_digest key;
    Detent__Certified *told; /* what the job's reply says of it */
    int known;
};
struct certifying {
    struct dt_job *job;
    struct dt_solving solving;
    struct dt_measure measure;
    struct subject *subject; /* [n_subjects], in the solving's arena */
    size_t n_subjects, at;   /* at: the one under way */
    Detent__JobReply reply;
    char what[DT_JOB_WHAT];
};

static struct dt_arena *arena (struct certifying *t)
{
    return &t->solving.arena;
}

static struct dt_covering cover_of (struct certifying *t, size_t site)
{
    return dt_covering_of (&t->solving.deployment->site[site], t->solving.site[site].solution,
                        t->measure.who);
}

/* --- what is certified ------------------------------------------------------------- */

static Detent__Certified *describe (struct certifying *t, size_t site,
                                    const struct dt_named *binding, size_t n)
{
    const struct dt_solution *s = t->solving.site[site].solution;
    Detent__Certified *m = dt_arena_alloc (arena (t), sizeof *m);

    if (!m || !(m->binding = NULL, detent__certified__init (m),
                m->binding = dt_arena_array (arena (t), n, sizeof *m->binding)))
        return NULL;
    m->family = (char *)s->family;
    m->site = (char *)s->site;
    m->state = m->power = (char *)"";
    for (size_t i = 0; i < n; i++) {
        Detent__NameValue *v = dt_arena_alloc (arena (t), sizeof *v);

        if (!v)
            return NULL;
        detent__name_value__init (v);
        v->name = (char *)binding[i].name;
        if (!(v->value = dt_arena_strf (arena (t), "%lld", (long long)binding[i].value)))
            return NULL;
        m->binding[m->n_binding++] = v;
    }
    return m;
}

/* Does a certificate that holds cover all free fields? */
static int is_known (struct certifying *t, struct dt_store *s, struct subject *x,
                     struct dt_err *reterr)
{
    const struct dt_solution *solution = t->solving.site[x->site].solution;
    struct dt_digest digest;
    int r;

    x->known = !t->job->anew;
    for (size_t i = 0; x->known && i < solution->n_points; i++) {
        if (!solution->point[i].is_free)
            continue;
        if ((r = dt_store_certified (s, &x->key, solution->point[i].field, &digest, reterr)) < 0)
            return r;
        x->known = r > 0;
    }
    if (!x->known)
        return 0;
    x->told->state = (char *)"known";
    x->told->has_digest = 1;
    x->told->digest.data = dt_arena_alloc (arena (t), DT_DIGEST_BYTES);
    if (!x->told->digest.data)
        return dt_err_nomem (reterr);
    x->told->digest.len = DT_DIGEST_BYTES;
    memcpy (x->told->digest.data, digest.bytes, DT_DIGEST_BYTES);
    return 0;
}

static int add_subject (struct certifying *t, struct dt_store *s, size_t site, size_t assignment,
                        struct dt_err *reterr)
{
    struct dt_covering cover = cover_of (t, site);
    struct subject x = { .site = site, .assignment = assignment };
    struct dt_named *binding;
    size_t n;
    int r;

    if ((r = dt_covering_key (&cover, assignment, arena (t), &x.key, &binding, &n, reterr)) < 0)
        return dt_err_prefix (reterr, r, "%s/%s", cover.solution->family, cover.solution->site);
    for (size_t i = 0; i < t->n_subjects; i++)
        if (dt_digest_equal (&t->subject[i].key, &x.key))
            return 0; /* another knob, the same kernels */
    if (t->n_subjects == DT_CERTIFYING_MAX_ROUNDS)
        return dt_err_set (reterr, -DT_ELIMIT, "more than %d assignments to certify: say which "
                           "(--site, --assignment)", DT_CERTIFYING_MAX_ROUNDS);
    if (!(x.told = describe (t, site, binding, n)))
        return dt_err_nomem (reterr);
    if ((r = is_known (t, s, &x, reterr)) < 0)
        return r;
    t->subject[t->n_subjects++] = x;
    return 0;
}

static int has_free (const struct dt_solution *s)
{
    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].is_free)
            return 1;
    return 0;
}

static int add_site (struct certifying *t, struct dt_store *s, size_t site, struct dt_err *reterr)
{
    const struct dt_solution *solution = t->solving.site[site].solution;
    uint8_t *allowed = dt_arena_array (arena (t), solution->n_assignments, 1);
    int r;

    if (!allowed)
        return dt_err_nomem (reterr);
    memset (allowed, 1, solution->n_assignments);
    if ((r = dt_forced_apply (t->job, arena (t), solution, allowed, reterr)) < 0)
        return r;
    for (size_t i = 0; i < solution->n_assignments; i++)
        if (allowed[i] && solution->verdict[i] != DT_ILLEGAL
            && (r = add_subject (t, s, site, i, reterr)) < 0)
            return r;
    return 0;
}

static int is_asked (const struct dt_job *j, const struct dt_site *site)
{
    return (!j->family || strcmp (j->family, site->family) == 0)
           && (!j->site || strcmp (j->site, site->site) == 0);
}

/* Before a device is asked for. */
static int check_sites (const struct certifying *t, struct dt_err *reterr)
{
    const struct dt_deployment *d = t->solving.deployment;
    const struct dt_job *j = t->job;

    for (size_t i = 0; i < d->n_sites; i++)
        if (is_asked (j, &d->site[i]))
            return 0;
    return dt_err_set (reterr, -DT_ENOTFOUND, "deployment '%s' has no site %s/%s", d->name,
                       j->family ? j->family : "*", j->site ? j->site : "*");
}

static int choose (struct certifying *t, struct dt_store *s, struct dt_err *reterr)
{
    const struct dt_deployment *d = t->solving.deployment;
    int r;

    t->subject = dt_arena_array (arena (t), DT_CERTIFYING_MAX_ROUNDS, sizeof *t->subject);
    if (!t->subject)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < d->n_sites; i++)
        if (is_asked (t->job, &d->site[i]) && has_free (t->solving.site[i].solution)
            && (r = add_site (t, s, i, reterr)) < 0)
            return r;
    return 0;
}

/* --- rounds --------------------------------------------------------------------------- */

static int progress (void *ctx, double fraction, const char *what)
{
    struct certifying *t = ctx;
    struct dt_job *j = t->job;
    const Detent__Certified *m = t->subject[t->at].told;

    pthread_mutex_lock (&j->lock);
    j->fraction = ((double)t->at + fraction) / (double)t->n_subjects;
    snprintf (j->what, sizeof j->what, "%s/%s %zu of %zu: %s", m->family, m->site, t->at + 1,
              t->n_subjects, what);
    j->changes++;
    pthread_mutex_unlock (&j->lock);
    return atomic_load (&j->cancel);
}

/* Whoever came to the device is not disturbed by more than one batch. */
static int ask (void *ctx, const Detent__WorkerRequest *rq, const char *doing,
                Detent__WorkerReply **ret, struct dt_err *reterr)
{
    struct certifying *t = ctx;
    int r;

    if (rq->body_case == DETENT__WORKER_REQUEST__BODY_BATCH
        && (r = dt_measure_look (&t->measure, reterr)) < 0)
        return r;
    return dt_measure_ask (&t->measure, rq, doing, ret, reterr);
}

struct putting {
    struct dt_certificate_row row;
    const char *field[DT_VM_MAX_OUTPUTS];
    size_t n_fields;
    struct dt_digest digest;
    int holds; /* 0: the very same evidence was revoked before */
};

static int put (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct putting *p = ctx;
    struct dt_digest holds;
    int r;

    if ((r = dt_store_certificate_put (s, &p->row, p->field, p->n_fields, &p->digest, reterr)) < 0
        || (r = dt_store_certified (s, &p->row.key, p->field[0], &holds, reterr)) < 0)
        return r;
    p->holds = r;
    return 0;
}

static int keep (struct certifying *t, struct subject *x, const struct dt_certificate *c,
                 struct dt_err *reterr)
{
    struct putting p = { .row = { .key = x->key, .deployment = t->job->deployment,
                                  .family = c->family, .site = c->site } };
    struct dt_buf bytes = { 0 };
    int r;

    for (size_t i = 0; i < c->n_free && i < DT_ARRAY_SIZE (p.field); i++)
        p.field[p.n_fields++] = c->free[i].name;
    if ((r = dt_certificate_encode (c, &bytes, reterr)) == 0) {
        p.row.data = bytes.data;
        p.row.n_data = bytes.len;
        r = dt_pool_transact (t->job->d->writer, put, &p, reterr);
    }
    dt_buf_done (&bytes);
    if (r < 0)
        return r;
    if (!(x->told->digest.data = dt_arena_alloc (arena (t), DT_DIGEST_BYTES)))
        return dt_err_nomem (reterr);
    memcpy (x->told->digest.data, p.digest.bytes, DT_DIGEST_BYTES);
    x->told->digest.len = DT_DIGEST_BYTES;
    x->told->has_digest = 1;
    if (p.holds)
        return 0;
    x->told->state = (char *)"revoked";
    x->told->why = (char *)"the same evidence was revoked; another --seed gives other";
    return 0;
}

/* "random 1 (4/24), cancelling 1 (5/24), spread none (0/24)" */
static int tell_power (struct certifying *t, Detent__Certified *m, const struct dt_certificate *c)
{
    const char *text = "";

    for (size_t k = 0; text && k < DT_CERTIFICATE_KINDS; k++)
        text = c->power[k].exchange
                   ? dt_arena_strf (arena (t), "%s%s%s %llu (%llu/%llu)", text, k ? ", " : "",
                                    dt_certificate_kind[k],
                                    (unsigned long long)c->power[k].exchange,
                                    (unsigned long long)c->power[k].changed,
                                    (unsigned long long)c->power[k].rows)
                   : dt_arena_strf (arena (t), "%s%s%s none (0/%llu)", text, k ? ", " : "",
                                    dt_certificate_kind[k],
                                    (unsigned long long)c->power[k].rows);
    m->power = (char *)text;
    return text ? 0 : -ENOMEM;
}

static int judge (struct certifying *t, struct subject *x, int r, const struct dt_certificate *c,
                  const struct dt_err *difference, struct dt_err *reterr)
{
    Detent__Certified *m = x->told;
    const char *why = r < 0 ? reterr->text : difference->text;

    m->batches = c->batches;
    m->runs = c->runs;
    m->rows = c->rows;
    if (tell_power (t, m, c) < 0 || !(m->why = dt_arena_strf (arena (t), "%s", why)))
        return dt_err_nomem (reterr);
    if (r == 0 && !why[0]) {
        m->state = (char *)"certified";
        m->why = NULL;
        return keep (t, x, c, reterr);
    }
    if (r < 0 && r != -DT_EUNSUPPORTED)
        return r;
    m->state = (char *)(r < 0 ? "unsupported" : strncmp (why, "row ", 4) == 0 ? "varies"
                                                                              : "powerless");
    return 0;
}

static int run_round (struct certifying *t, struct subject *x, struct dt_err *reterr)
{
    struct dt_covering cover = cover_of (t, x->site);
    struct dt_round round = { .seed = t->job->seed, .rivals = t->job->rivals,
                              .repeats = t->job->repeats, .call = ask, .progress = progress,
                              .ctx = t };
    struct dt_certificate c = { .family = NULL };
    struct dt_err difference = { "" };
    struct dt_arena a = { 0 };
    struct dt_vm *vm = NULL;
    int r;

    if ((r = dt_covering_round (&cover, x->assignment, &a, &vm, &round, reterr)) == 0) {
        r = dt_round_run (&round, &c, &difference, reterr);
        r = judge (t, x, r, &c, &difference, reterr);
    }
    dt_certificate_done (&c);
    dt_vm_free (vm);
    dt_arena_done (&a);
    return r;
}

static int certify (struct certifying *t, struct dt_store *s, struct dt_err *reterr)
{
    int r;

    t->measure.untimed = 1; /* contexts run beside one another, and bits are all that counts */
    if ((r = dt_solving_load (&t->solving, s, t->job->deployment, reterr)) < 0
        || (r = check_sites (t, reterr)) < 0
        || (r = dt_forced_check (t->job, t->solving.deployment, reterr)) < 0
        || (r = dt_measure_open (&t->measure, t->job, t->solving.deployment->backend,
                                 dt_covering_units (t->solving.deployment), 1, reterr)) < 0
        || (r = choose (t, s, reterr)) < 0)
        return r;
    for (t->at = 0; t->at < t->n_subjects; t->at++)
        if (!t->subject[t->at].known && (r = run_round (t, &t->subject[t->at], reterr)) < 0)
            return r;
    if ((r = dt_measure_look (&t->measure, reterr)) == 0)
        dt_holds_forget (t->job->d->holds, t->job->backend, t->job->device, t->job->devices);
    return r;
}

/* --- the end ---------------------------------------------------------------------------- */

static int pack (struct certifying *t, enum dt_job_state state, int code, const char *text,
                 struct dt_err *reterr)
{
    Detent__JobReply *r = &t->reply;

    dt_job_describe_end (t->job, state, code, text, r, t->what);
    dt_conditions_describe (&t->measure.conditions, r);
    r->device_model = t->measure.who ? t->measure.who->device : NULL;
    if (!(r->certified = dt_arena_array (arena (t), t->n_subjects, sizeof *r->certified)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < t->n_subjects; i++)
        if (t->subject[i].told->state[0]) /* else it was not reached */
            r->certified[r->n_certified++] = t->subject[i].told;
    return dt_job_pack (t->job, r, reterr);
}

static void end (struct certifying *t, enum dt_job_state state, int code, const struct dt_err *err)
{
    struct dt_err ignored;

    if (pack (t, state, code, err->text, &ignored) == 0)
        dt_job_end (t->job, &t->reply);
    dt_job_move (t->job, state);
}

void dt_certifying_run (struct dt_work *w, struct dt_store *s)
{
    struct dt_job *j = (struct dt_job *)w;
    struct certifying *t = dt_calloc (1, sizeof *t);
    struct dt_err err = { "" };
    int r;

    if (!t)
        return; /* no result: clients are told an error, the row fails at the next start */
    t->job = j;
    if ((r = dt_job_live (j, &err)) == 0 && (r = certify (t, s, &err)) == 0)
        err.text[0] = 0;
    if (j->waits)
        dt_job_hold (j, err.text);
    else
        end (t, dt_job_state_of (r), r, &err);
    dt_measure_close (&t->measure);
    dt_solving_done (&t->solving);
    dt_free (t);
}
