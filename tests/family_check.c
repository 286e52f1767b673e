#include "tests/family_check.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "tests/suite.h"

#define MOST_WATCHED 16
#define MOST_REQUESTS 32
#define MOST_FIELDS 4

int fam_suite (const char *name, const char *family, struct fam *host, struct fam *planted,
               void (*add) (TCase *tc))
{
    Suite *s = suite_create (name);
    TCase *tc = tcase_create ("all");
    int failed;

    fam_open (host, ".libs/detent-backend-host.so", family);
    fam_open (planted, "tests/.libs/backend-planted.so", family);
    tcase_set_timeout (tc, 120);
    add (tc);
    suite_add_tcase (s, tc);
    failed = suite_run (s);
    fam_close (host);
    fam_close (planted);
    return failed;
}

void fam_plant (const struct fam *planted, const char *symbol, int plant)
{
    unsigned *fault = dlsym (planted->object, symbol); /* an enum without negative values */

    ck_assert_ptr_nonnull (fault);
    *fault = (unsigned)plant;
}

void fam_check_same (struct fam *a, struct fam *b, const struct fam_call *call)
{
    struct fam_job x, y;

    fam_job_init (&x, a, call);
    fam_job_run (&x);
    fam_job_init (&y, b, call);
    fam_job_run (&y);
    ck_assert_uint_eq (x.plan.output_bytes, y.plan.output_bytes);
    ck_assert_mem_eq (x.output, y.output, x.plan.output_bytes);
    fam_job_done (&x);
    fam_job_done (&y);
}

void fam_check_launch (struct fam *f, const struct fam_call *call, const int64_t *other, int same,
                       const char *what)
{
    struct fam_call changed = *call;
    struct fam_job x, y;

    changed.param = other;
    fam_job_init (&x, f, call);
    fam_job_init (&y, f, &changed);
    fam_job_run (&x);
    fam_job_run (&y);
    ck_assert_msg ((memcmp (x.plan.launch, y.plan.launch, sizeof x.plan.launch) == 0) == same, "%s",
                   what);
    fam_job_done (&x);
    fam_job_done (&y);
}

void fam_check_refused (struct fam *f, const struct fam_call *call, int code, const char *says)
{
    size_t len = strlen (f->family->name);
    struct dt_backend_plan plan = { .operand_bytes = 1 };
    struct dt_backend_error err = { "" };
    struct fam_job job;
    char buffer[1];

    fam_call_init (&job, f, call);
    ck_assert_int_eq (f->b->plan (job.ctx, &job.call, &plan, &err), code);
    ck_assert_uint_eq (plan.operand_bytes, 1);
    ck_assert_msg (strncmp (err.text, f->family->name, len) == 0
                   && strncmp (err.text + len, ": ", 2) == 0 && strstr (err.text, says)
                   && strstr (err.text, f->family->params[0].name)
                   && !strchr (err.text, '\n'), "%s", err.text);
    ck_assert_int_eq (f->b->fill (job.ctx, &job.call, 1, buffer, NULL), code);
    ck_assert_int_eq (f->b->run (job.ctx, &job.call, buffer, buffer, buffer, NULL), code);
}

size_t fam_count_changed (struct fam *f, const struct fam_call *a, const struct fam_call *b)
{
    struct fam_job x, y;
    size_t changed = 0;

    fam_job_init (&x, f, a);
    fam_job_run (&x);
    fam_job_init (&y, f, b);
    fam_job_run (&y);
    for (size_t i = 0; i < a->n; i++)
        changed += !fam_same_row (&x, i, &y, i);
    fam_job_done (&x);
    fam_job_done (&y);
    return changed;
}

size_t fam_count_exchanged (struct fam *f, const struct fam_call *call, uint32_t exchange,
                            double most)
{
    struct fam_call exchanged = *call;
    struct fam_job x, y;
    size_t changed = 0;

    exchanged.exchange = exchange;
    fam_job_init (&x, f, call);
    fam_job_run (&x);
    fam_job_init (&y, f, &exchanged);
    fam_job_run (&y);
    for (size_t i = 0; i < x.plan.output_bytes / sizeof (float); i++) {
        double a = (double)fam_value (x.output, i, 0), b = (double)fam_value (y.output, i, 0);

        changed += a != b;
        ck_assert_double_eq_tol (a, b, most);
    }
    fam_job_done (&x);
    fam_job_done (&y);
    return changed;
}

/* --- batches ------------------------------------------------------------------------- */

struct watch {
    int64_t field[MOST_WATCHED][MOST_FIELDS];
    uint64_t seed[MOST_WATCHED];
    struct fam_job alone[MOST_WATCHED];
};

/* Each watched request alone, in one kind of data; requests of no rows have nothing that
 * is not finite. */
static int run_alone (struct fam *f, const struct fam_batches *b, struct watch *w)
{
    size_t n_fields = f->family->n_request_fields;
    int bad = 0;

    memset (w, 0, sizeof *w);
    for (size_t i = 0; i < b->n_watched; i++) {
        struct fam_call call = { b->fact, b->param, 1, w->field[i], &w->seed[i],
                                 (uint32_t)i % DT_BACKEND_DATA_KINDS, 0, 1, 1 };

        ck_assert_uint_le (n_fields, MOST_FIELDS);
        w->field[i][0] = b->watched[i];
        w->seed[i] = 100 + i;
        fam_job_init (&w->alone[i], f, &call);
        fam_job_run (&w->alone[i]);
        bad += fam_not_finite (&w->alone[i], b->bf16) != 0;
    }
    return bad;
}

static void draw_free (const struct fam *f, const struct fam_batches *b, uint64_t *state,
                       int64_t *ret)
{
    for (size_t p = 0; p < f->family->n_params; p++) {
        const struct dt_backend_param *param = &f->family->params[p];

        ret[p] = param->binding ? b->param[p] : param->values[fam_random (state) % param->n_values];
    }
}

static int run_trial (struct fam *f, const struct fam_batches *b, const struct watch *w,
                      int trial, uint64_t *state)
{
    size_t n_fields = f->family->n_request_fields, n = 1 + fam_random (state) % b->most;
    int64_t request[MOST_REQUESTS * MOST_FIELDS], param[FAM_MAX_PARAMS];
    uint64_t seed[MOST_REQUESTS];
    size_t which[MOST_REQUESTS];
    uint32_t data = (uint32_t)trial % DT_BACKEND_DATA_KINDS;
    struct fam_call call = { b->fact, param, n, request, seed, data, 0, 1,
                             1 + (int)(fam_random (state) % FAM_MAX_UNITS) };
    struct fam_job job;
    int bad = 0;

    for (size_t i = 0; i < n; i++) { /* watched ones of this kind of data, and strangers */
        int64_t *x = request + i * n_fields;
        int is_watched = (which[i] = fam_random (state) % (2 * b->n_watched)) < b->n_watched;

        x[0] = is_watched ? b->watched[which[i]]
                          : (int64_t)(fam_random (state) % (uint64_t)b->stranger);
        for (size_t k = 1; k < n_fields; k++)
            x[k] = (int64_t)(fam_random (state) % (uint64_t)b->other);
        seed[i] = is_watched ? w->seed[which[i]] : fam_random (state);
    }
    draw_free (f, b, state, param);
    fam_job_init (&job, f, &call);
    fam_job_run (&job);
    for (size_t i = 0; i < n; i++)
        if (which[i] < b->n_watched && which[i] % DT_BACKEND_DATA_KINDS == data)
            bad += !fam_same_row (&job, i, &w->alone[which[i]], 0);
    fam_job_done (&job);
    return bad;
}

int fam_count_batches (struct fam *f, const struct fam_batches *b)
{
    static struct watch w;
    uint64_t state = 7;
    int bad = run_alone (f, b, &w);

    ck_assert_uint_le (b->n_watched, MOST_WATCHED);
    ck_assert_uint_le (b->most, MOST_REQUESTS);
    for (int trial = 0; trial < b->trials; trial++)
        bad += run_trial (f, b, &w, trial, &state);
    for (size_t i = 0; i < b->n_watched; i++)
        fam_job_done (&w.alone[i]);
    return bad;
}
