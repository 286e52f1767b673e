/* Who takes part in a sum: each rank's memory, as every other rank sees it. */
#include "kernels/allreduce/cuda/allreduce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/settings.h"

/* What a rank tells the others. */
struct card {
    cudaIpcMemHandle_t memory;
    uint32_t has_nccl;
    char nccl_id[AR_NCCL_ID_BYTES]; /* of rank 0 */
};

void ar_group_library (struct dt_backend_ctx *ctx)
{
    size_t n = strlen (ctx->libraries);
    struct dt_backend_error ignored;
    struct ar_nccl *nccl;
    int v;

    if (ar_nccl_new (&nccl, &ignored) < 0)
        return;
    v = ar_nccl_version (nccl);
    snprintf (ctx->libraries + n, sizeof ctx->libraries - n, "%sNCCL %d.%d.%d", n ? ", " : "",
              v / 10000, v % 10000 / 100, v % 100);
    ar_nccl_free (nccl);
}

int ar_group_open (struct dt_backend_ctx *ctx, struct ar_group **ret, struct dt_backend_error *err)
{
    struct ar_group *g = calloc (1, sizeof *g);
    void *host = NULL, *device = NULL;
    int r;

    if (!g)
        return cuda_fail (err, -ENOMEM, "allreduce: out of memory");
    g->ranks = 1;
    g->timeout_ns = cuda_setting_number (CUDA_SETTING_PEER, AR_TIMEOUT_MS) * 1000000u;
    if ((r = cuda_check (ctx, ar_load (&g->resident, &g->overlap), "allreduce: kernels", err)) < 0
        || (r = cuda_check (ctx, cudaHostAlloc (&host, sizeof (uint32_t), cudaHostAllocMapped),
                            "allreduce: flag", err)) < 0
        || (r = cuda_check (ctx, cudaHostGetDevicePointer (&device, host, 0), "allreduce: flag",
                            err)) < 0) {
        if (host)
            cudaFreeHost (host);
        free (g);
        return r;
    }
    g->lost = host;
    *g->lost = 0;
    g->lost_device = device;
    ar_nccl_new (&g->nccl, &g->why_nccl);
    *ret = g;
    return 0;
}

struct ar_group *ar_group_free (struct ar_group *g)
{
    uint32_t i;

    if (!g)
        return NULL;
    ar_nccl_free (g->nccl);
    for (i = 0; i < g->ranks; i++)
        if (g->bank[i] && i != g->rank)
            cudaIpcCloseMemHandle (g->bank[i]);
    if (g->ranks > 1 && g->bank[g->rank])
        cudaFree (g->bank[g->rank]);
    cudaFreeHost ((void *)g->lost);
    free (g);
    return NULL;
}

/* This rank's memory, with every flag at 0, before anybody is told of it. */
static int make_bank (struct dt_backend_ctx *ctx, struct ar_group *g, struct card *card,
                      struct dt_backend_error *err)
{
    void *bank = NULL;
    int r;

    if ((r = cuda_alloc (ctx, ar_bank_bytes (g->ranks, AR_MAX_BLOCKS), &bank, err)) < 0)
        return r;
    g->bank[g->rank] = bank;
    if ((r = cuda_check (ctx, cudaMemset (bank, 0, ar_slots_at (g->ranks, AR_MAX_BLOCKS)),
                         "allreduce: flags", err)) < 0
        || (r = cuda_check (ctx, cudaDeviceSynchronize (), "allreduce: flags", err)) < 0)
        return r;
    return cuda_check (ctx, cudaIpcGetMemHandle (&card->memory, bank), "allreduce: memory to share", err);
}

static int open_banks (struct dt_backend_ctx *ctx, struct ar_group *g, const struct card *cards,
                       struct dt_backend_error *err)
{
    uint32_t i;
    int r;

    for (i = 0; i < g->ranks; i++) {
        char what[64];
        void *p = NULL;

        if (i == g->rank)
            continue;
        snprintf (what, sizeof what, "allreduce: memory of rank %u", i);
        if ((r = cuda_check (ctx, cudaIpcOpenMemHandle (&p, cards[i].memory,
                             cudaIpcMemLazyEnablePeerAccess), what, err)) < 0)
            return r;
        g->bank[i] = p;
    }
    return 0;
}

/* NCCL takes part only if every rank has it, and rank 0 could start it. */
static void join_nccl (struct ar_group *g, const struct card *cards)
{
    uint32_t i, all = 1;

    for (i = 0; i < g->ranks; i++)
        all = all && cards[i].has_nccl;
    if (all) {
        ar_nccl_join (g->nccl, cards[0].nccl_id, g->rank, g->ranks, g->timeout_ns);
        return;
    }
    if (g->nccl)
        cuda_fail (&g->why_nccl, 0, "NCCL is not there on every rank, or does not start");
    g->nccl = ar_nccl_free (g->nccl);
}

int ar_group_join (struct dt_backend_ctx *ctx, struct ar_group *g, const struct dt_backend_join *join,
                   struct dt_backend_error *err)
{
    struct card mine = { .has_nccl = 0 }, *cards;
    int r;

    if (g->ranks > 1)
        return cuda_fail (err, -EINVAL, "allreduce: this process is already one of %u ranks", g->ranks);
    if (join->ranks < 2 || join->ranks > AR_MAX_RANKS || join->rank >= join->ranks)
        return cuda_fail (err, -EINVAL, "allreduce: rank %u of %u; 2 to %d ranks can join", join->rank,
                          join->ranks, AR_MAX_RANKS);
    if (!(cards = calloc (join->ranks, sizeof *cards)))
        return cuda_fail (err, -ENOMEM, "allreduce: out of memory");
    g->rank = join->rank;
    g->ranks = join->ranks;
    if ((r = make_bank (ctx, g, &mine, err)) < 0)
        goto fail;
    /* It starts by opening sockets, which it may not be let; sums by rank do without. */
    if (g->nccl && g->rank == 0 && ar_nccl_id (g->nccl, mine.nccl_id, &g->why_nccl) < 0)
        g->nccl = ar_nccl_free (g->nccl);
    mine.has_nccl = g->nccl != NULL;
    if ((r = join->gather (join->user, &mine, sizeof mine, cards)) < 0) {
        cuda_fail (err, r, "allreduce: rank %u: the other ranks do not answer: %s", g->rank,
                   strerror (-r));
        goto fail;
    }
    if ((r = open_banks (ctx, g, cards, err)) == 0)
        join_nccl (g, cards);
fail:
    if (r < 0)
        *g->lost = AR_SOME_RANK; /* a group that was not made gives no sums */
    free (cards);
    return r;
}
