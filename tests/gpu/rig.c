#include "tests/gpu/rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct dt_backend *gpu_load (const char *path, const char *family,
                                   const struct dt_backend_family **ret_family)
{
    void *object = dlopen (path, RTLD_NOW | RTLD_LOCAL);
    const struct dt_backend *b;
    dt_backend_get_f get;
    size_t i;

    if (!object)
        gpu_die (path, dlerror ());
    *(void **)&get = dlsym (object, DT_BACKEND_SYMBOL);
    if (!get || (b = get ())->abi != DT_BACKEND_ABI)
        gpu_die (path, "no backend of this version");
    for (i = 0; i < b->n_families; i++)
        if (strcmp (b->families[i].name, family) == 0) {
            *ret_family = &b->families[i];
            return b;
        }
    gpu_die (path, "a family is not there");
}

void gpu_open (struct gpu_rig *rig, const char *path, int timed)
{
    struct dt_backend_options options = { .timed = (uint32_t)timed };
    struct dt_backend_error err = { "" };
    int r;

    memset (rig, 0, sizeof *rig);
    rig->b = gpu_load (path, "gemm", &rig->gemm);
    if ((r = rig->b->open (&options, &rig->ctx, &err)) == -ENODEV)
        gpu_skip (err.text);
    if (r < 0)
        gpu_die (path, err.text);
}

void gpu_close (struct gpu_rig *rig)
{
    rig->b->close (rig->ctx);
}

static void set_fact (struct gpu_job *job, const char *name, int64_t value)
{
    size_t i;

    for (i = 0; i < job->call.family->n_facts; i++)
        if (strcmp (job->call.family->facts[i].name, name) == 0) {
            job->fact[i] = value;
            return;
        }
    gpu_die ("gemm has no fact", name);
}

void gpu_job_set (struct gpu_job *job, const char *param, int64_t value)
{
    size_t i;

    for (i = 0; i < job->call.family->n_params; i++)
        if (strcmp (job->call.family->params[i].name, param) == 0) {
            job->param[i].one = value;
            return;
        }
    gpu_die ("gemm has no parameter", param);
}

int64_t gpu_values (const struct gpu_rig *rig, const char *param, const int64_t **ret)
{
    size_t i;

    for (i = 0; i < rig->gemm->n_params; i++)
        if (strcmp (rig->gemm->params[i].name, param) == 0) {
            *ret = rig->gemm->params[i].values;
            return (int64_t)rig->gemm->params[i].n_values;
        }
    gpu_die ("gemm has no parameter", param);
}

void gpu_job_init (struct gpu_job *job, const struct gpu_rig *rig, int64_t n, int64_t k,
                   int output_bf16, const int64_t *tokens, size_t n_requests)
{
    size_t i;

    memset (job, 0, sizeof *job);
    job->call = (struct dt_backend_call){
        .family = rig->gemm, .fact = job->fact, .n_requests = n_requests, .request = job->tokens,
        .seed = job->seed, .param = job->param,
    };
    for (i = 0; i < n_requests; i++) {
        job->tokens[i] = tokens[i];
        job->seed[i] = 1000 + i;
    }
    set_fact (job, "n", n);
    set_fact (job, "k", k);
    set_fact (job, "output_bf16", output_bf16);
    gpu_job_set (job, "splits", 1);
    gpu_job_set (job, "config", 0);
    gpu_job_set (job, "pad", 1);
}

/* Make '*buffer' hold 'bytes'. */
static int grow (const struct gpu_rig *rig, void **buffer, size_t have, size_t bytes,
                 struct dt_backend_error *err)
{
    if (*buffer && have >= bytes)
        return 0;
    rig->b->free (rig->ctx, *buffer);
    *buffer = NULL;
    return rig->b->alloc (rig->ctx, bytes, buffer, err);
}

static int make_buffers (struct gpu_job *job, const struct gpu_rig *rig,
                         struct dt_backend_error *err)
{
    struct dt_backend_plan plan;
    int r;

    if ((r = rig->b->plan (rig->ctx, &job->call, &plan, err)) < 0
        || (r = grow (rig, &job->operands, job->plan.operand_bytes, plan.operand_bytes, err)) < 0
        || (r = grow (rig, &job->output, job->plan.output_bytes, plan.output_bytes, err)) < 0
        || (r = grow (rig, &job->workspace, job->plan.workspace_bytes, plan.workspace_bytes,
                      err)) < 0)
        return r;
    job->plan = plan;
    return 0;
}

int gpu_job_fill (struct gpu_job *job, const struct gpu_rig *rig, struct dt_backend_error *err)
{
    int r;

    if ((r = make_buffers (job, rig, err)) < 0)
        return r;
    return rig->b->fill (rig->ctx, &job->call, 0, job->operands, err);
}

int gpu_job_run (struct gpu_job *job, const struct gpu_rig *rig, struct dt_backend_error *err)
{
    int turn, r;

    if ((r = make_buffers (job, rig, err)) < 0)
        return r;
    for (turn = 0, r = -EAGAIN; turn < 5 && r == -EAGAIN; turn++)
        r = rig->b->run (rig->ctx, &job->call, job->operands, job->output, job->workspace, err);
    return r;
}

void gpu_job_done (struct gpu_job *job, const struct gpu_rig *rig)
{
    rig->b->free (rig->ctx, job->operands);
    rig->b->free (rig->ctx, job->output);
    rig->b->free (rig->ctx, job->workspace);
}
