#include "tests/attention_rig.h"

#include <stdlib.h>
#include <string.h>

/* A call as the family has it: facts, parameters, and fields and seeds of n requests. */
struct args {
    int64_t facts[10], params[4];
    uint64_t *seeds;
    int64_t fields[];
};

static struct fam_call args_new (const struct rig_call *c, struct args **ret)
{
    const struct rig_site *s = c->site;
    const struct rig_params *p = &c->params;
    const int64_t facts[] = { s->head_dim, s->q_heads, s->kv_heads, s->page_size, s->bf16,
        s->output_bf16, s->max_context, s->max_batch, s->max_query, s->window };
    const int64_t params[] = { p->block_n, p->split_stride, p->tile_m, p->workers_per_request };
    struct args *a = fam_need (calloc (1, sizeof *a + c->n * (2 * sizeof *a->fields
                                                              + sizeof *a->seeds)));

    memcpy (a->facts, facts, sizeof facts);
    memcpy (a->params, params, sizeof params);
    a->seeds = (uint64_t *)(a->fields + 2 * c->n);
    for (size_t i = 0; i < c->n; i++) {
        a->fields[2 * i] = c->request[i].query_len;
        a->fields[2 * i + 1] = c->request[i].kv_len;
        a->seeds[i] = c->request[i].seed;
    }
    *ret = a;
    return (struct fam_call){ .fact = a->facts, .param = a->params, .n = c->n,
                              .request = a->fields, .seed = a->seeds, .scatter = c->scatter,
                              .units = c->units };
}

void rig_call_init (struct fam_job *job, struct fam *f, const struct rig_call *c)
{
    struct args *a;
    struct fam_call call = args_new (c, &a);

    fam_call_init (job, f, &call);
    job->owned = a;
}

void rig_job_init (struct fam_job *job, struct fam *f, const struct rig_call *c)
{
    struct args *a;
    struct fam_call call = args_new (c, &a);

    fam_job_init (job, f, &call);
    job->owned = a;
}

void rig_layout (const struct fam_job *job, struct rig_layout *ret)
{
    const int64_t *f = job->call.fact;
    size_t n = job->call.n_requests, elem = f[4] ? 2 : 4, tokens = 0, pages = 0, at = 0, i;
    size_t page = (size_t)(f[3] * f[2] * f[0]);

    for (i = 0; i < n; i++) {
        tokens += (size_t)job->call.request[2 * i];
        pages += (size_t)((job->call.request[2 * i + 1] + f[3] - 1) / f[3]);
    }
    ret->n_physical = pages + pages / 16 + 1;
    ret->q_start = fam_place (job, &at, (n + 1) * 8);
    ret->kv_start = fam_place (job, &at, (n + 1) * 8);
    ret->table = fam_place (job, &at, pages * 4);
    ret->q = fam_place (job, &at, tokens * (size_t)(f[1] * f[0]) * elem);
    ret->k = fam_place (job, &at, ret->n_physical * page * elem);
    ret->v = fam_place (job, &at, ret->n_physical * page * elem);
    if (at != job->plan.operand_bytes)
        fam_die ("rig", "the layout of the operands is not as stated");
}
