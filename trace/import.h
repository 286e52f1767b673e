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

#define DT_LOG_MAX_TOKENS (1 << 24)     /* of one prompt or output */
#define DT_LOG_MAX_REQUESTS (16u << 20) /* of one log              */
#define DT_LOG_MAX_LINE (1u << 20)      /* bytes                   */

/* Parse a log.  format: "azure-csv" (TIMESTAMP,ContextTokens,GeneratedTokens) or
 * "mooncake-jsonl" (timestamp in ms, input_length, output_length, hash_ids of
 * 512-token blocks).  limit: stop after so many requests, 0 for all.  Lines end
 * in LF or CRLF; times must not go back.
 *   -DT_EINPUT  names the line, what is wrong and the line's byte; nothing is returned
 *   -DT_ELIMIT  DT_LOG_MAX_REQUESTS */
int dt_requests_parse (const char *format, const void *data, size_t n, size_t limit,
                       struct dt_requests *ret, struct dt_err *reterr);
/* What a damaged log lost. */
struct dt_requests_lost {
    uint64_t lines;  /* that are no request and were left out */
    char first[256]; /* what is wrong with the first of them; "": nothing */
};
/* Likewise, leaving out lines that are no request.  What is no log of the format at all
 * (empty, compressed, without a header or a request) is refused as before. */
int dt_requests_salvage (const char *format, const void *data, size_t n, size_t limit,
                         struct dt_requests *ret, struct dt_requests_lost *ret_lost,
                         struct dt_err *reterr);
/* NULL-terminated names of the formats. */
const char *const *dt_requests_formats (void);

/* A continuous-batching engine in steps: each step runs one token of every
 * running request and, within what is left of the budget, chunks of waiting
 * prompts, first come first served.  The step that completes a prompt yields its
 * first output token; each later step feeds one output token and yields the next,
 * so the last output token is never fed. */
struct dt_scheduler {
    int64_t max_batch;    /* requests in one step                          */
    int64_t max_context;  /* prompts are cut to max_context - output, and outputs
                             to max_context - 1                            */
    int64_t max_query;    /* tokens of one prefill chunk                   */
    int64_t token_budget; /* tokens of one step, decode first; at least max_batch */
    double step_base_s;   /* a step takes base + per token of it + per token that
                             its requests may see, themselves included    */
    double step_token_s, step_kv_s;
    int64_t prefix_cache_blocks; /* 0: no prefix cache.  Whole blocks of finished
                                    prompts, least recently used out first; a
                                    request computes at least its last prompt token */
    size_t max_steps;     /* stop after so many steps, 0 for all           */
};

/* max_batch 32, max_context 32768, max_query 512, token_budget 512, no prefix
 * cache; a step takes 20 ms + 0.1 ms a token + 40 ns a token of keys and values.
 * That is a model of 70e9 bf16 weights on four H100 (data sheet: 3.35 TB/s, 989
 * Tflop/s each): 140 GB over 4 * 3.35 TB/s at 60% take 17 ms; 140 Gflop a token over
 * 4 * 989 Tflop/s at 40% take 0.09 ms; keys and values of 80 layers of 8 heads of 128
 * are 328 kB a token, which at the same 60% take 41 ns.  At the rates of the public
 * logs (5 requests/s) batches form. */
struct dt_scheduler dt_scheduler_default (void);

/* What a site's calls depend on beside a step's tokens; 0: not stated. */
struct dt_step_facts {
    int64_t row_bytes;       /* allreduce: of one token                            */
    int64_t experts, top_k;  /* moe: experts of this rank; experts of one token    */
    int64_t graph_max_batch; /* allreduce: largest batch that CUDA graphs hold     */
};

/* Run the requests through the scheduler and append each step's call to every site of
 * the trace; trace/step.h says what a family's call holds.  Request ids are indices
 * into the log.  facts: [t->n_sites], or NULL if no site needs any.
 * Calls are marked synthetic = 0 except moe's: the lengths are the log's, the batching
 * is the model's, which provenance says: the scheduler is written to the trace's options
 * and limits.  On failure the trace may hold part of the calls.
 *   -DT_EINPUT  no requests, no sites, a fact that is not stated, or a scheduler that
 *               cannot run */
int dt_schedule (const struct dt_requests *r, const struct dt_scheduler *s,
                 struct dt_trace *t, const struct dt_step_facts *facts, struct dt_err *reterr);

#endif
