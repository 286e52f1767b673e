/* trace/schedule.c - a continuous-batching engine in steps: who shares a batch. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "trace/import.h"
#include "trace/prefix.h"
#include "trace/step.h"

/* An admitted request. */
struct running {
    size_t i;               /* in the log */
    int64_t prompt, output; /* after cutting */
    int64_t computed;       /* tokens whose keys and values are there */
    int64_t produced;       /* output tokens */
    int64_t query;          /* tokens of this step; 0: it waits */
};

struct engine {
    const struct dt_requests *log;
    const struct dt_scheduler *s;
    struct dt_prefix *prefix; /* NULL: none */
    struct running *run;      /* [max_batch], in order of admission */
    size_t n_run;
    size_t next;              /* first request of the log not admitted */
    double now_s;
    int64_t budget;           /* tokens left in this step */
    struct dt_step *step;
    struct dt_step_row *row;  /* [max_batch] the step at hand */
};

struct dt_scheduler dt_scheduler_default (void)
{
    return (struct dt_scheduler){
        .max_batch = 32,
        .max_context = 32768,
        .max_query = 512,
        .token_budget = 512,
        .step_base_s = 20e-3, /* the header says where these are from */
        .step_token_s = 0.1e-3,
        .step_kv_s = 40e-9,
    };
}

static int check (const struct dt_requests *r, const struct dt_scheduler *s,
                  const struct dt_trace *t, struct dt_err *reterr)
{
    const char *why = NULL;

    if (r->n == 0)
        why = "no requests";
    else if (t->n_sites == 0)
        why = "no sites";
    else if (s->max_batch < 1 || s->max_batch > DT_TRACE_MAX_REQUESTS)
        why = "max_batch is out of range (1 to 65536)";
    else if (s->max_context < 2 || s->max_query < 1)
        why = "max_context is below 2, or max_query below 1";
    else if (s->token_budget < s->max_batch)
        why = "token_budget is below max_batch: running requests would starve";
    else if (!isfinite (s->step_base_s) || !isfinite (s->step_token_s) ||
             !isfinite (s->step_kv_s) || s->step_base_s < 0 || s->step_token_s < 0 ||
             s->step_kv_s < 0)
        why = "a step's time is negative or not finite";
    else if (s->prefix_cache_blocks < 0 || (s->prefix_cache_blocks && r->block_tokens == 0))
        why = "a prefix cache needs a log with prefix blocks";
    return why ? dt_err_set (reterr, -DT_EINPUT, "scheduler: %s", why) : 0;
}

static int64_t min (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Blocks that lie wholly in the (cut) prompt: only those can be shared. */
static size_t whole_blocks (const struct engine *e, const struct running *run)
{
    size_t n = e->log->request[run->i].n_blocks, fit = 0;

    if (e->log->block_tokens)
        fit = (size_t)(run->prompt / e->log->block_tokens);
    return n < fit ? n : fit;
}

static void admit (struct engine *e)
{
    const struct dt_log_request *q = &e->log->request[e->next];
    struct running run = { .i = e->next };

    run.output = min (q->output, e->s->max_context - 1);
    run.prompt = min (q->prompt, e->s->max_context - run.output);
    if (e->prefix)
        run.computed = min (run.prompt - 1, e->log->block_tokens *
                            (int64_t)dt_prefix_hit (e->prefix, q, whole_blocks (e, &run)));
    e->run[e->n_run++] = run;
    e->next++;
}

/* Take a prefill chunk from the budget. */
static void chunk (struct engine *e, struct running *run)
{
    run->query = min (min (e->s->max_query, e->budget), run->prompt - run->computed);
    e->budget -= run->query;
}

/* Who runs in this step, and how many tokens: decode first, then prompts. */
static void plan (struct engine *e)
{
    e->budget = e->s->token_budget;
    for (size_t k = 0; k < e->n_run; k++)
        if (e->run[k].computed >= e->run[k].prompt) {
            e->run[k].query = 1;
            e->budget--;
        }
    for (size_t k = 0; k < e->n_run; k++)
        if (e->run[k].computed < e->run[k].prompt)
            chunk (e, &e->run[k]);
    while (e->budget > 0 && e->n_run < (size_t)e->s->max_batch && e->next < e->log->n &&
           e->log->request[e->next].arrival_s <= e->now_s) {
        admit (e);
        chunk (e, &e->run[e->n_run - 1]);
    }
}

/* The step's calls into the trace. */
static int record (struct engine *e, struct dt_err *reterr)
{
    size_t n = 0;

    for (size_t k = 0; k < e->n_run; k++) {
        const struct running *run = &e->run[k];

        if (run->query)
            e->row[n++] = (struct dt_step_row){ run->i, run->query, run->computed + run->query };
    }
    return dt_step_add (e->step, e->row, n, reterr);
}

/* The step has run: time passes, tokens are there, finished requests leave. */
static void advance (struct engine *e)
{
    size_t left = 0;
    int64_t kv = 0;

    for (size_t k = 0; k < e->n_run; k++)
        kv += e->run[k].query ? e->run[k].computed + e->run[k].query : 0;
    e->now_s += e->s->step_base_s + e->s->step_token_s * (double)(e->s->token_budget - e->budget)
                + e->s->step_kv_s * (double)kv;
    for (size_t k = 0; k < e->n_run; k++) {
        struct running run = e->run[k];

        run.computed += run.query;
        if (run.query && run.computed >= run.prompt && run.produced++ == 0 && e->prefix)
            dt_prefix_put (e->prefix, &e->log->request[run.i], whole_blocks (e, &run));
        run.query = 0;
        if (run.produced < run.output)
            e->run[left++] = run;
    }
    e->n_run = left;
}

static int run_all (struct engine *e, struct dt_err *reterr)
{
    int r;

    for (size_t step = 0; e->n_run || e->next < e->log->n; step++) {
        if (e->s->max_steps && step == e->s->max_steps)
            break;
        if (e->n_run == 0 && e->log->request[e->next].arrival_s > e->now_s)
            e->now_s = e->log->request[e->next].arrival_s;
        plan (e);
        if ((r = record (e, reterr)) < 0)
            return r;
        advance (e);
    }
    return 0;
}

/* The model in words: options and limits of the trace. */
static int describe (const struct dt_scheduler *s, struct dt_trace *t, struct dt_err *reterr)
{
    char *text = dt_strf ("%s%sstep_base_s=%.9g step_token_s=%.9g step_kv_s=%.9g "
                          "prefix_cache_blocks=%lld max_steps=%zu", t->options,
                          *t->options ? " " : "", s->step_base_s, s->step_token_s, s->step_kv_s,
                          (long long)s->prefix_cache_blocks, s->max_steps);
    int r;

    if (!text)
        return dt_err_nomem (reterr);
    if ((r = dt_trace_text (&t->options, text, reterr)) == 0 &&
        (r = dt_trace_add_limit (t, "max_batch", s->max_batch, reterr)) == 0 &&
        (r = dt_trace_add_limit (t, "max_context", s->max_context, reterr)) == 0 &&
        (r = dt_trace_add_limit (t, "max_query", s->max_query, reterr)) == 0)
        r = dt_trace_add_limit (t, "token_budget", s->token_budget, reterr);
    dt_free (text);
    return r;
}

int dt_schedule (const struct dt_requests *r, const struct dt_scheduler *s, struct dt_trace *t,
                 const struct dt_step_facts *facts, struct dt_err *reterr)
{
    struct engine e = { .log = r, .s = s };
    int ret;

    if ((ret = check (r, s, t, reterr)) < 0)
        return ret;
    e.run = dt_calloc ((size_t)s->max_batch, sizeof *e.run);
    e.row = dt_calloc ((size_t)s->max_batch, sizeof *e.row);
    if (!e.run || !e.row) {
        ret = dt_err_nomem (reterr);
        goto fail;
    }
    if ((ret = dt_step_new (t, facts, (size_t)s->max_batch, (size_t)s->token_budget, &e.step,
                            reterr)) < 0
        || (s->prefix_cache_blocks
            && (ret = dt_prefix_new (r, s->prefix_cache_blocks, &e.prefix, reterr)) < 0))
        goto fail;
    if ((ret = run_all (&e, reterr)) == 0)
        ret = describe (s, t, reterr);
fail:
    dt_prefix_free (e.prefix);
    dt_step_free (e.step);
    dt_free (e.run);
    dt_free (e.row);
    return ret;
}
