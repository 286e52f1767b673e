/* trace/step.h - the calls that one step of an engine makes at each site.
 * Uses: trace/import.h.  Used by: trace/schedule.c.
 *
 * A step runs tokens of several requests.  Rows of its calls:
 *
 *   attention           a request: its query tokens, and those that they may see
 *   gemm, rowwise       a request's tokens, most first
 *   allreduce           likewise, in bytes; captured if no request has more than one
 *                       token and the batch fits the deployment's CUDA graphs
 *   moe                 a request's tokens, likewise; behind them an expert and its load
 *
 * All but attention see their call's total alone: steps with equal totals and about as
 * many requests (up to the same power of two) are one call, and the rows of the first
 * stand for all.  So a site has few distinct calls, at most 34 * token_budget, however
 * long the log, and they still show how requests shared steps.
 *
 * No log says how tokens were routed, so loads are drawn: token i of a step goes to
 * top_k distinct experts, popular as 1/sqrt(rank), the same for every step.  Such calls
 * are marked synthetic. */
#ifndef DT_TRACE_STEP_H
#define DT_TRACE_STEP_H

#include "trace/import.h"

/* One request's part of a step. */
struct dt_step_row {
    uint64_t id;
    int64_t query, kv; /* tokens; kv with those of the query */
};

struct dt_step; /* scratch for steps of at most so many rows and tokens */
/* facts: [t->n_sites], borrowed; NULL: all zero.
 *   -DT_EINPUT  an allreduce site without row_bytes, a moe site without experts and
 *               top_k; -ENOMEM */
int dt_step_new (struct dt_trace *t, const struct dt_step_facts *facts, size_t max_rows,
                 size_t max_tokens, struct dt_step **ret, struct dt_err *reterr);
struct dt_step *dt_step_free (struct dt_step *s); /* NULL ok; returns NULL */
/* Append the step's call to every site; 0 < n <= max_rows.  Errors of
 * dt_trace_add_call. */
int dt_step_add (struct dt_step *s, const struct dt_step_row *row, size_t n,
                 struct dt_err *reterr);

#endif
