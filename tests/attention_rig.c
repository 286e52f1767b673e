#include "tests/attention_rig.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die (const char *what, const char *why)
{
    fprintf (stderr, "%s: %s\n", what, why);
    exit (1);
}

static void *need (void *p)
{
    if (!p)
        die ("rig", "out of memory");
    return p;
}

static void *need_buffer (const struct dt_backend *b, struct dt_backend_ctx *ctx, size_t bytes)
{
    struct dt_backend_error err = { "" };
    void *p = NULL;

    if (b->alloc (ctx, bytes, &p, &err) < 0)
        die ("alloc", err.text);
    return p;
}

void rig_open (struct rig *rig, const char *name)
{
    const char *top = getenv ("top_builddir");
    char path[4096];
    dt_backend_get_f get;

    snprintf (path, sizeof path, "%s/%s", top ? top : ".", name);
    memset (rig, 0, sizeof *rig);
    if (!(rig->object = dlopen (path, RTLD_NOW | RTLD_LOCAL)))
        die (path, dlerror ());
    if (!(get = (dt_backend_get_f)dlsym (rig->object, DT_BACKEND_SYMBOL)))
        die (path, "no " DT_BACKEND_SYMBOL);
    rig->b = get ();
    if (rig->b->abi != DT_BACKEND_ABI)
        die (path, "another interface version");
}

void rig_close (struct rig *rig)
{
    int i;

    for (i = 0; i <= RIG_MAX_UNITS; i++)
        rig->b->close (rig->ctx[i]);
    dlclose (rig->object);
}

void rig_call_init (struct rig_job *job, struct rig *rig, const struct rig_call *c)
{
    const struct rig_site *s = c->site;
    const int64_t facts[RIG_N_FACTS] = { s->head_dim, s->q_heads, s->kv_heads, s->page_size,
        s->bf16, s->output_bf16, s->max_context, s->max_batch, s->max_query, s->window };
    struct dt_backend_options options = { .units = (uint32_t)c->units };
    struct dt_backend_error err = { "" };
    size_t i, family = 0;

    memset (job, 0, sizeof *job);
    job->rig = rig;
    if (!rig->ctx[c->units] && rig->b->open (&options, &rig->ctx[c->units], &err) < 0)
        die ("open", err.text);
    job->ctx = rig->ctx[c->units];
    job->fields = need (calloc (c->n + 1, 2 * sizeof *job->fields));
    job->seeds = need (calloc (c->n + 1, sizeof *job->seeds));
    for (i = 0; i < c->n; i++) {
        job->fields[2 * i] = c->request[i].query_len;
        job->fields[2 * i + 1] = c->request[i].kv_len;
        job->seeds[i] = c->request[i].seed;
    }
    memcpy (job->facts, facts, sizeof facts);
    job->params[0].one = c->params.block_n;
    job->params[1].one = c->params.split_stride;
    job->params[2].one = c->params.tile_m;
    job->params[3].one = c->params.workers_per_request;
    while (strcmp (rig->b->families[family].name, "attention") != 0)
        family++;
    job->call = (struct dt_backend_call){
        .family = &rig->b->families[family], .fact = job->facts, .n_requests = c->n,
        .request = job->fields, .seed = job->seeds, .param = job->params,
    };
}

void rig_call_done (struct rig_job *job)
{
    free (job->fields);
    free (job->seeds);
}

void rig_job_init (struct rig_job *job, struct rig *rig, const struct rig_call *c)
{
    const struct dt_backend *b = rig->b;
    struct dt_backend_error err = { "" };

    rig_call_init (job, rig, c);
    if (b->plan (job->ctx, &job->call, &job->plan, &err) < 0)
        die ("plan", err.text);
    job->operands = need_buffer (b, job->ctx, job->plan.operand_bytes);
    job->output = need_buffer (b, job->ctx, job->plan.output_bytes);
    job->workspace = need_buffer (b, job->ctx, job->plan.workspace_bytes);
    job->row = need (calloc (c->n + 1, sizeof *job->row));
    memset (job->operands, 0xff, job->plan.operand_bytes);
    if (b->fill (job->ctx, &job->call, c->scatter, job->operands, &err) < 0)
        die ("fill", err.text);
    if (b->rows (job->ctx, &job->call, job->row, &err) < 0)
        die ("rows", err.text);
}

void rig_job_run (struct rig_job *job)
{
    struct dt_backend_error err = { "" };

    memset (job->output, 0xff, job->plan.output_bytes);
    memset (job->workspace, 0xff, job->plan.workspace_bytes);
    if (job->rig->b->run (job->ctx, &job->call, job->operands, job->output, job->workspace,
                          &err) < 0)
        die ("run", err.text);
}

void rig_job_done (struct rig_job *job)
{
    const struct dt_backend *b = job->rig->b;

    b->free (job->ctx, job->operands);
    b->free (job->ctx, job->output);
    b->free (job->ctx, job->workspace);
    free (job->row);
    rig_call_done (job);
}

static void *place (const struct rig_job *job, size_t *at, size_t bytes)
{
    void *start = job->operands + (*at = (*at + 255) / 256 * 256);

    *at += bytes;
    return start;
}

void rig_layout (const struct rig_job *job, struct rig_layout *ret)
{
    const int64_t *f = job->facts;
    size_t n = job->call.n_requests, elem = f[4] ? 2 : 4, tokens = 0, pages = 0, at = 0, i;
    size_t page = (size_t)(f[3] * f[2] * f[0]);

    for (i = 0; i < n; i++) {
        tokens += (size_t)job->fields[2 * i];
        pages += (size_t)((job->fields[2 * i + 1] + f[3] - 1) / f[3]);
    }
    ret->n_physical = pages + pages / 16 + 1;
    ret->q_start = place (job, &at, (n + 1) * 8);
    ret->kv_start = place (job, &at, (n + 1) * 8);
    ret->table = place (job, &at, pages * 4);
    ret->q = place (job, &at, tokens * (size_t)(f[1] * f[0]) * elem);
    ret->k = place (job, &at, ret->n_physical * page * elem);
    ret->v = place (job, &at, ret->n_physical * page * elem);
    if (at != job->plan.operand_bytes)
        die ("rig", "the layout of the operands is not as stated");
}

float rig_value (const void *array, size_t i, int bf16)
{
    uint32_t u;
    float x;

    if (!bf16)
        return ((const float *)array)[i];
    u = (uint32_t)((const uint16_t *)array)[i] << 16;
    memcpy (&x, &u, sizeof x);
    return x;
}
