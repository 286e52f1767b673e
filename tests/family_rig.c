#include "tests/family_rig.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fam_die (const char *what, const char *why)
{
    fprintf (stderr, "%s: %s\n", what, why);
    exit (1);
}

void *fam_need (void *p)
{
    if (!p)
        fam_die ("rig", "out of memory");
    return p;
}

static void *need_buffer (const struct dt_backend *b, struct dt_backend_ctx *ctx, size_t bytes)
{
    struct dt_backend_error err = { "" };
    void *p = NULL;

    if (b->alloc (ctx, bytes, &p, &err) < 0)
        fam_die ("alloc", err.text);
    return p;
}

void fam_open (struct fam *f, const char *plugin, const char *family)
{
    const char *top = getenv ("top_builddir");
    char path[4096];
    dt_backend_get_f get;
    size_t i;

    snprintf (path, sizeof path, "%s/%s", top ? top : ".", plugin);
    memset (f, 0, sizeof *f);
    if (!(f->object = dlopen (path, RTLD_NOW | RTLD_LOCAL)))
        fam_die (path, dlerror ());
    if (!(get = (dt_backend_get_f)dlsym (f->object, DT_BACKEND_SYMBOL)))
        fam_die (path, "no " DT_BACKEND_SYMBOL);
    f->b = get ();
    if (f->b->abi != DT_BACKEND_ABI)
        fam_die (path, "another interface version");
    for (i = 0; i < f->b->n_families; i++)
        if (!strcmp (f->b->families[i].name, family))
            f->family = &f->b->families[i];
    if (!f->family || f->family->n_params > FAM_MAX_PARAMS)
        fam_die (path, family);
}

void fam_close (struct fam *f)
{
    int i;

    for (i = 0; i <= FAM_MAX_UNITS; i++)
        f->b->close (f->ctx[i]);
    dlclose (f->object);
}

void fam_call_init (struct fam_job *job, struct fam *f, const struct fam_call *c)
{
    struct dt_backend_options options = { .units = (uint32_t)c->units };
    struct dt_backend_error err = { "" };
    size_t i;

    memset (job, 0, sizeof *job);
    job->fam = f;
    if (!f->ctx[c->units] && f->b->open (&options, &f->ctx[c->units], &err) < 0)
        fam_die ("open", err.text);
    job->ctx = f->ctx[c->units];
    for (i = 0; i < f->family->n_params; i++)
        job->param[i].one = c->param[i];
    job->call = (struct dt_backend_call){
        .family = f->family, .fact = c->fact, .n_requests = c->n, .request = c->request,
        .seed = c->seed, .param = job->param, .data = c->data, .exchange = c->exchange,
    };
}

int fam_plan (struct fam_job *job, struct dt_backend_error *err)
{
    return job->fam->b->plan (job->ctx, &job->call, &job->plan, err);
}

void fam_job_init (struct fam_job *job, struct fam *f, const struct fam_call *c)
{
    const struct dt_backend *b = f->b;
    struct dt_backend_error err = { "" };

    fam_call_init (job, f, c);
    if (fam_plan (job, &err) < 0)
        fam_die ("plan", err.text);
    job->operands = need_buffer (b, job->ctx, job->plan.operand_bytes);
    job->output = need_buffer (b, job->ctx, job->plan.output_bytes);
    job->workspace = need_buffer (b, job->ctx, job->plan.workspace_bytes);
    job->row = fam_need (calloc (c->n + 1, sizeof *job->row));
    memset (job->operands, 0xff, job->plan.operand_bytes);
    if (b->fill (job->ctx, &job->call, c->scatter, job->operands, &err) < 0)
        fam_die ("fill", err.text);
    if (b->rows (job->ctx, &job->call, job->row, &err) < 0)
        fam_die ("rows", err.text);
}

int fam_job_try (struct fam_job *job, struct dt_backend_error *err)
{
    memset (job->output, 0xff, job->plan.output_bytes);
    memset (job->workspace, 0xff, job->plan.workspace_bytes);
    return job->fam->b->run (job->ctx, &job->call, job->operands, job->output, job->workspace,
                             err);
}

void fam_job_run (struct fam_job *job)
{
    struct dt_backend_error err = { "" };

    if (fam_job_try (job, &err) < 0)
        fam_die ("run", err.text);
}

void fam_job_done (struct fam_job *job)
{
    const struct dt_backend *b = job->fam->b;

    b->free (job->ctx, job->operands);
    b->free (job->ctx, job->output);
    b->free (job->ctx, job->workspace);
    free (job->row);
    free (job->owned);
}

void *fam_place (const struct fam_job *job, size_t *at, size_t n)
{
    void *start = job->operands + (*at = (*at + 255) / 256 * 256);

    *at += n;
    return start;
}

float fam_value (const void *array, size_t i, int bf16)
{
    uint32_t u;
    float x;

    if (!bf16)
        return ((const float *)array)[i];
    u = (uint32_t)((const uint16_t *)array)[i] << 16;
    memcpy (&x, &u, sizeof x);
    return x;
}

void fam_put (void *array, size_t i, float x, int bf16)
{
    uint32_t u;

    if (!bf16) {
        ((float *)array)[i] = x;
        return;
    }
    memcpy (&u, &x, sizeof u);
    ((uint16_t *)array)[i] = (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

size_t fam_not_finite (const struct fam_job *job, int bf16)
{
    size_t i, n = job->plan.output_bytes / (bf16 ? 2 : 4), bad = 0;

    for (i = 0; i < n; i++)
        bad += !isfinite (fam_value (job->output, i, bf16));
    return bad;
}

int fam_same_row (const struct fam_job *a, size_t i, const struct fam_job *b, size_t j)
{
    return a->row[i].length == b->row[j].length
           && !memcmp (a->output + a->row[i].offset, b->output + b->row[j].offset,
                       a->row[i].length);
}

uint64_t fam_random (uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 31);
}
