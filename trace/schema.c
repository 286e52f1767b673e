/* trace/schema.c - call schemas: what is known of one call of a family. */
#include "trace/schema.h"

#include <assert.h>
#include <string.h>

/* --- attention ------------------------------------------------------------- */

enum { QUERY_LEN, KV_LEN, ATTENTION_FIELDS };
enum { REQUESTS, LONGEST_QUERY, LONGEST_KV, TOTAL_QUERY, TOTAL_KV, QUERY_LENGTH, KV_LENGTH };

static const char *const attention_field[] = { [QUERY_LEN] = "query_len", [KV_LEN] = "kv_len" };

static const struct dt_quantity attention_quantity[] = {
    [REQUESTS] = { "requests", "requests", "number of requests", 0 },
    [LONGEST_QUERY] = { "longest_query", "tokens", "max over requests of query_len", 0 },
    [LONGEST_KV] = { "longest_kv", "tokens", "max over requests of kv_len", 0 },
    [TOTAL_QUERY] = { "total_query", "tokens", "sum over requests of query_len", 0 },
    [TOTAL_KV] = { "total_kv", "tokens", "sum over requests of kv_len", 0 },
    [QUERY_LENGTH] = { "query_length", "tokens", "query_len of the request", 1 },
    [KV_LENGTH] = { "kv_length", "tokens", "kv_len of the request", 1 },
};

static int attention_derive (const int64_t *request, size_t n_requests, int64_t *ret)
{
    int64_t most[ATTENTION_FIELDS] = { 0 }, sum[ATTENTION_FIELDS] = { 0 };

    for (size_t i = 0; i < n_requests; i++)
        for (size_t f = 0; f < ATTENTION_FIELDS; f++) {
            int64_t v = request[i * ATTENTION_FIELDS + f];

            if (v < 0 || __builtin_add_overflow (sum[f], v, &sum[f]))
                return -DT_EINPUT;
            if (v > most[f])
                most[f] = v;
        }
    ret[REQUESTS] = (int64_t)n_requests;
    ret[LONGEST_QUERY] = most[QUERY_LEN];
    ret[LONGEST_KV] = most[KV_LEN];
    ret[TOTAL_QUERY] = sum[QUERY_LEN];
    ret[TOTAL_KV] = sum[KV_LEN];
    return 0;
}

static int64_t attention_own (size_t q, const int64_t *request)
{
    return request[q == QUERY_LENGTH ? QUERY_LEN : KV_LEN];
}

/* Scores and their sums for each query token, and the reading of keys and values. */
static double attention_work (const int64_t *request)
{
    return (1 + (double)request[QUERY_LEN]) * (1 + (double)request[KV_LEN]);
}

/* --- all families ---------------------------------------------------------- */

static const struct dt_schema schemas[] = {
    { "attention", attention_field, sizeof attention_field / sizeof *attention_field,
      attention_quantity, sizeof attention_quantity / sizeof *attention_quantity,
      attention_derive, attention_own, attention_work },
};

_Static_assert (ATTENTION_FIELDS <= DT_SCHEMA_MAX_FIELDS, "raise DT_SCHEMA_MAX_FIELDS");
_Static_assert (KV_LENGTH < DT_SCHEMA_MAX_QUANTITIES, "raise DT_SCHEMA_MAX_QUANTITIES");

const struct dt_schema *dt_schema_find (const char *family)
{
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        if (strcmp (schemas[i].family, family) == 0)
            return &schemas[i];
    return NULL;
}

int dt_schema_quantity (const struct dt_schema *s, const char *name)
{
    for (size_t q = 0; q < s->n_quantities; q++)
        if (strcmp (s->quantity[q].name, name) == 0)
            return (int)q;
    return -1;
}

int dt_schema_derive (const struct dt_schema *s, const struct dt_call *call, int64_t *ret,
                      struct dt_err *reterr)
{
    if (call->n_requests == 0)
        return dt_err_set (reterr, -DT_EINPUT, "%s: a call without requests", s->family);
    if (s->derive (call->request, call->n_requests, ret) < 0)
        return dt_err_set (reterr, -DT_EINPUT,
                           "%s: a field is negative or their sum leaves 64 bits", s->family);
    return 0;
}

int64_t dt_schema_own (const struct dt_schema *s, size_t q, const int64_t *request)
{
    assert (q < s->n_quantities && s->quantity[q].own);
    return s->own (q, request);
}

double dt_schema_work (const struct dt_schema *s, const struct dt_call *call)
{
    double sum = 0;

    for (size_t i = 0; i < call->n_requests; i++)
        sum += s->work (call->request + i * s->n_fields);
    return sum;
}
