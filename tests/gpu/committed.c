/* What a committed tuple makes of an all-reduce, as an engine of two ranks meets it:
 * committed PLUGIN DEPLOYMENT WORKLOAD.
 *
 * Each rank fetches the bundle, and selects for messages of one row, two, four, ... up to
 * the largest.  A line of each: its bytes; the committed algorithm and blocks, and the time;
 * the stock selector's, and the time; NCCL's by tree on one channel (`order` 1); all in the
 * same order of sums but the last.  Times are medians of ROUNDS, in turn, on rank 0.
 * Exit status: 0 as it should be, 1 not, 77 too few devices. */
#include <detent/backend.h>
#include <detent/detent.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/processes.h"
#include "tests/gpu/rig.h"

#define ROUNDS 11
/* A run that gives a rank no time is run again, so often. */
#define TRIES 20
#define FAMILY "allreduce"

enum { ORDER, ALGORITHM, BLOCKS, N_PARAMS };
static const char *const param_name[N_PARAMS] = { "order", "algorithm", "blocks" };
enum { COMMITTED, STOCK, TREE, N_WAYS };

struct rank {
    struct gpu_process *process;
    const char *site;
    struct detent *detent[2]; /* COMMITTED, STOCK */
    struct detent_selector *selector[2];
    const struct dt_backend *backend;
    const struct dt_backend_family *family;
    struct dt_backend_ctx *ctx;
    int64_t fact[8], request[8];
    uint64_t seed;
    struct dt_backend_value param[N_WAYS][N_PARAMS];
    struct dt_backend_call call;
    void *operands, *output;
};

static void open_backend (struct rank *k)
{
    struct dt_backend_options options = { .device = (uint32_t)k->process->rank, .timed = 1 };
    struct dt_backend_join how = { (uint32_t)k->process->rank, 2, gpu_gather, k->process };
    struct dt_backend_error err = { "" };
    int r = k->backend->open (&options, &k->ctx, &err);

    if (r == -ENODEV)
        gpu_skip (err.text);
    if (r < 0 || k->backend->join (k->ctx, &how, &err) < 0)
        gpu_die ("open", err.text);
}

/* The bundle, its selectors, and the site's facts as the backend wants them. */
static void fetch (struct rank *k, const char *deployment, const char *workload)
{
    const struct dt_backend_identity *id = k->backend->identity (k->ctx);
    struct detent_error err = { "" };
    const char *family;
    size_t i;

    for (i = 0; i < 2; i++) {
        struct detent_options o = { .endpoint = getenv ("DETENT_ENDPOINT"), .deployment = deployment,
                                    .workload = workload, .without_tuple = DETENT_REFUSE,
                                    .variant = i == STOCK ? DETENT_UNPINNED : DETENT_PINNED };

        if (detent_open (&o, &k->detent[i], &err) < 0
            || detent_check_backend (k->detent[i], id->name, id->build, id->libraries, id->driver,
                                     id->device, id->units, &err) < 0)
            gpu_die ("fetch", err.text);
        if (!detent_site (k->detent[i], 0, &family, &k->site) || strcmp (family, FAMILY) != 0)
            gpu_die ("fetch", "the first site is no all-reduce");
        if (detent_selector_new (k->detent[i], family, k->site, 1, &k->selector[i], &err) < 0)
            gpu_die ("selector", err.text);
    }
    for (i = 0; i < k->family->n_facts; i++)
        if (detent_site_fact (k->detent[0], FAMILY, k->site, k->family->facts[i].name, &k->fact[i], &err) < 0)
            gpu_die ("facts", err.text);
}

static int64_t fact (const struct rank *k, const char *name)
{
    struct detent_error err = { "" };
    int64_t v;

    if (detent_site_fact (k->detent[0], FAMILY, k->site, name, &v, &err) < 0)
        gpu_die ("fact", err.text);
    return v;
}

static void select_way (struct rank *k, int way)
{
    struct detent_call call = { 1, k->request };
    struct detent_error err = { "" };
    struct detent_choice choice;
    size_t i, f;

    if (detent_select (k->selector[way], &call, &choice, &err) < 0)
        gpu_die ("select", err.text);
    for (i = 0; i < N_PARAMS; i++)
        for (f = 0; f < choice.n_fields; f++)
            if (strcmp (detent_selector_field (k->selector[way], f), param_name[i]) == 0)
                k->param[way][i].one = choice.value[f];
}

/* In the backend's order of parameters, which is ours (checked in `begin`).  Where one rank has
 * no time, both run the call again. */
static double time_of (struct rank *k, int way)
{
    struct dt_backend_error err = { "" };
    int r, all[2], i;

    k->call.param = k->param[way];
    for (i = 0; i < TRIES; i++) {
        r = k->backend->run (k->ctx, &k->call, k->operands, k->output, NULL, &err);
        if (r < 0 && r != -EAGAIN)
            gpu_die ("run", err.text);
        if (gpu_gather (k->process, &r, sizeof r, all) < 0)
            gpu_die ("run", "the other rank is gone");
        if (all[0] == 0 && all[1] == 0)
            return (double)k->backend->elapsed_ns (k->ctx) / 1000;
    }
    gpu_die ("run", *err.text ? err.text : "the other rank has no time");
}

static void row (struct rank *k, int64_t bytes)
{
    static const char *const names[] = { "push", "pull", "two-shot", "words" };
    struct dt_backend_error err = { "" };
    double us[N_WAYS][ROUNDS], median[N_WAYS];
    const char *name[2];
    int round, way;

    k->request[0] = bytes;
    for (way = COMMITTED; way <= STOCK; way++) {
        select_way (k, way);
        name[way] = k->param[way][ORDER].one ? "NCCL's tree" : names[k->param[way][ALGORITHM].one & 3];
    }
    k->param[TREE][ORDER].one = 1;
    k->param[TREE][BLOCKS] = k->param[COMMITTED][BLOCKS];
    k->call.param = k->param[COMMITTED];
    if (k->backend->fill (k->ctx, &k->call, 0, k->operands, &err) < 0)
        gpu_die ("fill", err.text);
    for (round = 0; round < ROUNDS; round++)
        for (way = 0; way < N_WAYS; way++)
            us[way][round] = time_of (k, way);
    for (way = 0; way < N_WAYS; way++)
        median[way] = gpu_median (us[way], ROUNDS);
    if (k->process->rank == 0)
        printf ("%9lld  %-8s %3lld %8.2f   %-11s %3lld %8.2f %5.2f %9.2f\n", (long long)bytes,
                name[COMMITTED], (long long)k->param[COMMITTED][BLOCKS].one, median[COMMITTED],
                name[STOCK], (long long)k->param[STOCK][BLOCKS].one, median[STOCK],
                median[COMMITTED] / median[STOCK], median[TREE]);
    fflush (stdout);
}

static void begin (struct rank *k, int64_t most)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    size_t i;

    if (k->family->n_params != N_PARAMS)
        gpu_die ("backend", "its all-reduce has other parameters");
    for (i = 0; i < N_PARAMS; i++)
        if (strcmp (k->family->params[i].name, param_name[i]) != 0)
            gpu_die ("backend", "its all-reduce has other parameters");
    k->request[0] = most;
    k->call = (struct dt_backend_call){ .family = k->family, .fact = k->fact, .n_requests = 1,
                                        .request = k->request, .seed = &k->seed, .param = k->param[0] };
    select_way (k, COMMITTED);
    if (k->backend->plan (k->ctx, &k->call, &plan, &err) < 0)
        gpu_die ("plan", err.text);
    if (k->backend->alloc (k->ctx, plan.operand_bytes, &k->operands, &err) < 0
        || k->backend->alloc (k->ctx, plan.output_bytes, &k->output, &err) < 0)
        gpu_die ("memory", err.text);
}

static int serve (struct gpu_process *p, void *user)
{
    struct rank *k = calloc (1, sizeof *k);
    int64_t bytes, most, least;
    char **argv = user;

    if (!k)
        gpu_die ("memory", "none left");
    k->process = p;
    k->backend = gpu_load (argv[1], FAMILY, &k->family);
    open_backend (k);
    fetch (k, argv[2], argv[3]);
    least = fact (k, "row_bytes");
    most = least * fact (k, "token_budget");
    begin (k, most);
    if (p->rank == 0)
        printf ("%9s  %-12s %8s   %-15s %8s %5s %9s\n", "bytes", "committed", "us", "stock", "us", "ratio",
                "tree us");
    for (bytes = least; bytes <= most; bytes *= 2)
        row (k, bytes);
    k->backend->close (k->ctx);
    return 0;
}

int main (int argc, char **argv)
{
    if (argc != 4)
        gpu_die ("usage", "committed PLUGIN DEPLOYMENT WORKLOAD");
    return gpu_processes (2, serve, argv);
}
