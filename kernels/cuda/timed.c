#include "kernels/cuda/timed.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/cuda/clock.h"
#include "kernels/cuda/plant.h"
#include "kernels/cuda/sweep.h"

/* The device's state is read at most this often: NVML takes up to 1 ms. */
#define STATE_NS 50000000u
/* Pauses for a device that is slowed: 50 ms, then double, 1.5 s in all. */
#define PAUSE_NS 50000000u
#define PAUSES 5
/* Head start of the host when events keep the time. */
#define DELAY_NS 50000u
/* Nodes that one call's graph may have. */
#define MAX_NODES 4096

/* Calls of a group that are timed together: see cuda_span_row. */
#define ROW 17

struct graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t calls;    /* 1, or ROW */
    size_t expected; /* records that a run leaves */
};

/* An error of the device, with the call that met it. */
static int check (struct dt_backend_ctx *ctx, const struct cuda_run *run, cudaError_t e,
                  const char *what, struct dt_backend_error *err)
{
    struct dt_backend_error text = { "" };
    int r;

    if ((r = cuda_check (ctx, e, what, &text)) < 0)
        return cuda_refuse (run->call, err, r, "%s", text.text);
    return 0;
}

static int launch (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                   struct dt_backend_error *err)
{
    int r = check (ctx, run, cuda_plant_launch (ctx->stream), "launch", err);

    if (r < 0)
        return r;
    return run->family->launch (ctx, run->slot, run->call, run->operands, run->output,
                                run->workspace, err);
}

/* Until the launch is complete. */
static int wait_for (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                     struct dt_backend_error *err)
{
    if (run->family->wait)
        return run->family->wait (ctx, run->slot, run->call, err);
    return check (ctx, run, cudaStreamSynchronize (ctx->stream), "run", err);
}

int cuda_run_plain (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                    struct dt_backend_error *err)
{
    uint64_t begin = cuda_host_ns ();
    int r;

    if ((r = launch (ctx, run, err)) < 0 || (r = wait_for (ctx, run, err)) < 0)
        return r;
    ctx->elapsed_ns = cuda_host_ns () - begin;
    return 0;
}

static void graph_done (struct graph *g)
{
    if (g->exec)
        cudaGraphExecDestroy (g->exec);
    if (g->graph)
        cudaGraphDestroy (g->graph);
}

/* Kernels, memsets and copies leave a record each; other nodes none. */
static cudaError_t count_nodes (cudaGraph_t graph, size_t *ret)
{
    cudaGraphNode_t *node;
    size_t n = MAX_NODES, i, expected = 0;
    cudaError_t e;

    if (!(node = malloc (n * sizeof *node)))
        return cudaErrorMemoryAllocation;
    e = cudaGraphGetNodes (graph, node, &n);
    for (i = 0; e == cudaSuccess && i < n; i++) {
        enum cudaGraphNodeType type;

        e = cudaGraphNodeGetType (node[i], &type);
        expected += e == cudaSuccess && (type == cudaGraphNodeTypeKernel
                    || type == cudaGraphNodeTypeMemset || type == cudaGraphNodeTypeMemcpy);
    }
    free (node);
    if (e == cudaSuccess)
        *ret = expected;
    return e;
}

/* Do other ranks take part? */
static int is_of_group (const struct dt_backend_ctx *ctx, const struct cuda_run *run)
{
    return run->family->peers && ctx->joined;
}

/* Capture the call.  '*g' is the caller's to give to graph_done, also on failure. */
static int capture (struct dt_backend_ctx *ctx, const struct cuda_run *run, struct graph *g,
                    struct dt_backend_error *err)
{
    int r, ended;
    size_t i;

    g->calls = is_of_group (ctx, run) ? ROW : 1;
    if ((r = check (ctx, run, cudaStreamBeginCapture (ctx->stream,
                    cudaStreamCaptureModeThreadLocal), "begin of the graph", err)) < 0)
        return r;
    for (r = 0, i = 0; r == 0 && i < g->calls; i++)
        r = launch (ctx, run, err);
    ended = check (ctx, run, cudaStreamEndCapture (ctx->stream, &g->graph), "end of the graph",
                   r < 0 ? NULL : err);
    if (r < 0 || (r = ended) < 0)
        return r;
    if ((r = check (ctx, run, count_nodes (g->graph, &g->expected), "nodes of the graph",
                    err)) < 0)
        return r;
    return check (ctx, run, cudaGraphInstantiate (&g->exec, g->graph, 0), "graph", err);
}

/* Empty the cache before a run; the sweep is no node of the graph, so it is not timed. */
static int sweep (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                  struct dt_backend_error *err)
{
    if (!run->family->cold)
        return 0;
    return check (ctx, run, cuda_sweep_launch (ctx->stream, ctx->sweep, ctx->sweep_bytes), "sweep",
                  err);
}

static int run_by_cupti (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                         const struct graph *g, enum cuda_span *ret_verdict, uint64_t *ret_ns,
                         struct dt_backend_error *err)
{
    int r;

    if ((r = cuda_clock_begin (ctx->clock, 1, err)) < 0 || (r = sweep (ctx, run, err)) < 0
        || (r = check (ctx, run, cudaGraphLaunch (g->exec, ctx->stream), "launch", err)) < 0
        || (r = wait_for (ctx, run, err)) < 0
        || (r = cuda_clock_end (ctx->clock, g->expected, ret_verdict, ret_ns, err)) < 0)
        return r;
    if (g->calls > 1 && *ret_verdict == CUDA_SPAN_OK) {
        size_t n;
        const struct cuda_stamp *stamp = cuda_clock_stamps (ctx->clock, &n);

        *ret_verdict = cuda_span_row (stamp, n, g->calls, ret_ns);
    }
    return 0;
}

static int run_by_events (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                          const struct graph *g, enum cuda_span *ret_verdict, uint64_t *ret_ns,
                          struct dt_backend_error *err)
{
    float ms = 0;
    int r;

    /* The first launch of a graph brings it to the device, which is not the call's. */
    if ((r = check (ctx, run, cudaGraphUpload (g->exec, ctx->stream), "upload", err)) < 0
        || (r = sweep (ctx, run, err)) < 0
        || (r = check (ctx, run, cuda_delay_launch (ctx->stream, DELAY_NS), "delay", err)) < 0
        || (g->calls > 1 /* the group meets in a row before the one that is timed */
            && (r = check (ctx, run, cudaGraphLaunch (g->exec, ctx->stream), "launch", err)) < 0)
        || (r = check (ctx, run, cudaEventRecord (ctx->begin, ctx->stream), "event", err)) < 0
        || (r = check (ctx, run, cudaGraphLaunch (g->exec, ctx->stream), "launch", err)) < 0
        || (r = check (ctx, run, cudaEventRecord (ctx->end, ctx->stream), "event", err)) < 0
        || (r = wait_for (ctx, run, err)) < 0
        || (r = check (ctx, run, cudaEventElapsedTime (&ms, ctx->begin, ctx->end), "time of events",
                       err)) < 0)
        return r;
    *ret_ns = (uint64_t)((double)ms * 1e6 / (double)g->calls);
    *ret_verdict = *ret_ns ? CUDA_SPAN_OK : CUDA_SPAN_REVERSED;
    return 0;
}

/* One attempt. */
static int attempt (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                    enum cuda_span *ret_verdict, uint64_t *ret_ns, struct dt_backend_error *err)
{
    struct graph g = { 0 };
    int r;

    if ((r = capture (ctx, run, &g, err)) < 0)
        goto fail;
    if (g.expected == 0) {
        /* Nothing to do takes no time; a clock reads at least one tick. */
        *ret_verdict = CUDA_SPAN_OK;
        *ret_ns = 1;
        r = 0;
    } else if (ctx->clock)
        r = run_by_cupti (ctx, run, &g, ret_verdict, ret_ns, err);
    else
        r = run_by_events (ctx, run, &g, ret_verdict, ret_ns, err);
fail:
    graph_done (&g);
    return r;
}

static const char *slowed_by (const struct dt_backend_ctx *ctx)
{
    const char *reason = cuda_reasons_text (ctx->seen.reasons);

    if (reason)
        return reason;
    return cuda_clock_is_low (ctx->seen.clock_mhz, ctx->least_mhz, ctx->seen.reasons)
               ? "its clock is low" : NULL;
}

/* Look at the device, at most every STATE_NS.  '*ret_slowed' names what slows it, or
 * is NULL. */
static int look (struct dt_backend_ctx *ctx, int now, const char **ret_slowed,
                 struct dt_backend_error *err)
{
    int r;

    *ret_slowed = NULL;
    if (!now && cuda_host_ns () - ctx->looked_ns < STATE_NS)
        return 0;
    if ((r = cuda_state (ctx, err)) < 0)
        return r;
    ctx->looked_ns = cuda_host_ns ();
    *ret_slowed = slowed_by (ctx);
    return 0;
}

/* A pause in which the device has something to do, and until after it: at rest its clocks
 * may be low. */
static int rest (struct dt_backend_ctx *ctx, uint64_t ns, struct dt_backend_error *err)
{
    struct timespec pause = { .tv_nsec = (long)ns };
    int r = cuda_check (ctx, cuda_delay_launch (ctx->stream, ns + PAUSE_NS), "cuda: delay", err);

    if (r == 0)
        nanosleep (&pause, NULL);
    return r;
}

/* Wait until nothing slows the device. */
static int settle (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    uint64_t pause = PAUSE_NS;
    const char *slowed;
    int i, r;

    for (i = 0;; i++) {
        if ((r = look (ctx, i > 0, &slowed, err)) < 0)
            return r;
        if (!slowed)
            return i == 0 ? 0
                          : cuda_check (ctx, cudaStreamSynchronize (ctx->stream), "cuda: delay",
                                        err);
        if (i == PAUSES)
            break;
        if ((r = rest (ctx, pause, err)) < 0)
            return r;
        pause = pause < 500000000 ? pause * 2 : pause;
    }
    ctx->looked_ns = 0; /* what was seen lets no run pass: the next one looks for itself */
    return cuda_fail (err, -DT_BACKEND_EUNTRUSTED, "unstable: device %d is slowed (%s: SM clock"
                      " %u MHz, least %u); let it cool, or see to its power and clocks",
                      ctx->device, slowed, ctx->seen.clock_mhz, ctx->least_mhz);
}

/* Load what the call launches, before it is timed or captured.  Ranks of a group make
 * the same calls, so they come here together. */
static int warm_up (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                    struct dt_backend_error *err)
{
    struct dt_backend_plan plan;
    size_t slot;
    int r;

    if ((r = run->family->plan (ctx, run->slot, run->call, &plan, err)) < 0)
        return r;
    slot = (size_t)(plan.launch[0] % CUDA_WARM);
    if (ctx->warm[slot][0] == plan.launch[0] && ctx->warm[slot][1] == plan.launch[1])
        return 0;
    if ((r = cuda_run_plain (ctx, run, err)) < 0)
        return r;
    ctx->warm[slot][0] = plan.launch[0];
    ctx->warm[slot][1] = plan.launch[1];
    return 0;
}

int cuda_run_timed (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                    struct dt_backend_error *err)
{
    enum cuda_span verdict = CUDA_SPAN_MISSING;
    uint64_t ns = 0;
    int r;

    if ((r = warm_up (ctx, run, err)) < 0 || (r = settle (ctx, err)) < 0
        || (r = attempt (ctx, run, &verdict, &ns, err)) < 0)
        return r;
    if (ctx->clock && cuda_tally_broken (cuda_clock_tally (ctx->clock)))
        return cuda_refuse (run->call, err, -DT_BACKEND_EUNTRUSTED, "%llu of %llu runs gave no"
                            " time (last: %s); beyond 1 in %u the clock is not trusted",
                            (unsigned long long)cuda_clock_tally (ctx->clock)->dropped,
                            (unsigned long long)cuda_clock_tally (ctx->clock)->runs,
                            cuda_span_text (verdict), CUDA_TALLY_SHARE);
    if (verdict != CUDA_SPAN_OK)
        return cuda_refuse (run->call, err, -EAGAIN, "a run gave no time: %s",
                            cuda_span_text (verdict));
    ctx->elapsed_ns = ns;
    return 0;
}
