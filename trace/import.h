/* trace/import.h - public request logs, and the scheduler that forms batches.
 * Uses: trace/dtrace.h.  Used by: detentctl, tests. */
#ifndef DT_TRACE_IMPORT_H
#define DT_TRACE_IMPORT_H

#include "trace/dtrace.h"

/* One request of a log, in order of arrival. */
struct dt_log_request {
    double arrival_s;      /* seconds since the first request            */
    int64_t prompt, output; /* tokens, at least 1 each                    */
    const uint64_t *block; /* ids of prompt blocks for the prefix cache  */
    size_t n_blocks;
};
struct dt_requests {
    struct dt_log_request *request;
    size_t n;
    int64_t block_tokens; /* tokens per prefix block; 0: the log has none */
    uint64_t *blocks;     /* storage of all ids */
};
void dt_requests_done (struct dt_requests *r);

/* Parse a log.  format: "azure-csv" (TIMESTAMP,ContextTokens,GeneratedTokens) or
 * "mooncake-jsonl" (timestamp in ms, input_length, output_length, hash_ids of
 * 512-token blocks).  limit: stop after so many requests, 0 for all.
 *   -DT_EINPUT  names the line and what is wrong; nothing is returned */
int dt_requests_parse (const char *format, const void *data, size_t n, size_t limit,
                       struct dt_requests *ret, struct dt_err *reterr);
/* NULL-terminated names of the formats. */
const char *const *dt_requests_formats (void);

/* A continuous-batching engine in steps: each step runs one token of every
 * running request and, within what is left of the budget, chunks of waiting
 * prompts, first come first served. */
struct dt_scheduler {
    int64_t max_batch;    /* requests in one step                          */
    int64_t max_context;  /* prompts are cut to max_context - output       */
    int64_t max_query;    /* tokens of one prefill chunk                   */
    int64_t token_budget; /* tokens of one step, decode first              */
    double step_base_s;   /* a step takes base + per_token * its tokens    */
    double step_token_s;
    int64_t prefix_cache_blocks; /* 0: no prefix cache                      */
    size_t max_steps;     /* stop after so many steps, 0 for all           */
};

/* Run the requests through the scheduler and append each step's call to site
 * `site` of the trace (family attention).  Calls are marked synthetic = 0: the
 * lengths are the log's, the batching is the model's, which provenance says. */
int dt_schedule (const struct dt_requests *r, const struct dt_scheduler *s,
                 struct dt_trace *t, size_t site, struct dt_err *reterr);

#endif
