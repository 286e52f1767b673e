/* trace/schema.c - call schemas: what is known of one call of a family. */
#include "trace/schema.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

/* --- attention ------------------------------------------------------------- */

enum { QUERY_LEN, KV_LEN, ATTENTION_FIELDS };
enum {
    REQUESTS, LONGEST_QUERY, LONGEST_KV, TOTAL_QUERY, TOTAL_KV, QUERY_LENGTH, KV_LENGTH,
    TILES_8, TILES_16, TILES_32, TILES_64, ATTENTION_QUANTITIES
};
enum { TILE_ROWS_SHIFT = 3, TILE_KEYS_SHIFT = 7 }; /* of the smallest tiles: 8 by 128 */

static const char *const attention_field[] = { [QUERY_LEN] = "query_len", [KV_LEN] = "kv_len" };

#define TILES(rows) \
    { "tiles_" #rows, "tiles", \
      "sum over requests of ceil(query_len / " #rows ") * ceil(kv_len / 128)", 0 }
static const struct dt_quantity attention_quantity[] = {
    [REQUESTS] = { "requests", "requests", "number of requests", 0 },
    [LONGEST_QUERY] = { "longest_query", "tokens", "max over requests of query_len", 0 },
    [LONGEST_KV] = { "longest_kv", "tokens", "max over requests of kv_len", 0 },
    [TOTAL_QUERY] = { "total_query", "tokens", "sum over requests of query_len", 0 },
    [TOTAL_KV] = { "total_kv", "tokens", "sum over requests of kv_len", 0 },
    [QUERY_LENGTH] = { "query_length", "tokens", "query_len of the request", 1 },
    [KV_LENGTH] = { "kv_length", "tokens", "kv_len of the request", 1 },
    [TILES_8] = TILES (8),
    [TILES_16] = TILES (16),
    [TILES_32] = TILES (32),
    [TILES_64] = TILES (64),
};

/* ceil(v / 2^shift).  Engines derive on every step: no division. */
static int64_t ceil_shift (int64_t v, int shift)
{
    return (v >> shift) + ((v & ((1 << shift) - 1)) != 0);
}

/* ret[TILES_8] ... are sums so far: add one request's. */
static int add_tiles (const int64_t *request, int64_t *ret)
{
    int64_t tiles, keys = ceil_shift (request[KV_LEN], TILE_KEYS_SHIFT);

    for (int q = TILES_8; q <= TILES_64; q++)
        if (__builtin_mul_overflow (
                ceil_shift (request[QUERY_LEN], TILE_ROWS_SHIFT + q - TILES_8), keys, &tiles)
            || __builtin_add_overflow (ret[q], tiles, &ret[q]))
            return -DT_EINPUT;
    return 0;
}

/* Fields below 2^26 and at most 2^16 requests: no sum leaves 64 bits, for a request has
 * at most 2^23 * 2^19 tiles. */
#define SMALL_FIELD_BITS 26
#define SMALL_REQUESTS (1u << 16)

static int is_small (const int64_t *request, size_t n_requests)
{
    uint64_t all = 0;

    for (size_t i = 0; i < n_requests * ATTENTION_FIELDS; i++)
        all |= (uint64_t)request[i];
    return n_requests <= SMALL_REQUESTS && all >> SMALL_FIELD_BITS == 0;
}

static void derive_small (const int64_t *request, size_t n_requests, int64_t *ret)
{
    int64_t longest[2] = { 0 }, total[2] = { 0 }, tiles[4] = { 0 };

    for (const int64_t *end = request + n_requests * ATTENTION_FIELDS; request < end;
         request += ATTENTION_FIELDS) {
        int64_t q = request[QUERY_LEN], kv = request[KV_LEN];
        int64_t keys = (kv + (1 << TILE_KEYS_SHIFT) - 1) >> TILE_KEYS_SHIFT;

        longest[0] = q > longest[0] ? q : longest[0];
        longest[1] = kv > longest[1] ? kv : longest[1];
        total[0] += q;
        total[1] += kv;
        tiles[0] += ((q + 7) >> 3) * keys;
        tiles[1] += ((q + 15) >> 4) * keys;
        tiles[2] += ((q + 31) >> 5) * keys;
        tiles[3] += ((q + 63) >> 6) * keys;
    }
    ret[REQUESTS] = (int64_t)n_requests;
    ret[LONGEST_QUERY] = longest[0];
    ret[LONGEST_KV] = longest[1];
    ret[TOTAL_QUERY] = total[0];
    ret[TOTAL_KV] = total[1];
    memcpy (ret + TILES_8, tiles, sizeof tiles);
}

static int attention_derive (const int64_t *request, size_t n_requests, int64_t *ret)
{
    int64_t most[ATTENTION_FIELDS] = { 0 }, sum[ATTENTION_FIELDS] = { 0 };

    if (is_small (request, n_requests)) {
        derive_small (request, n_requests, ret);
        return 0;
    }
    for (size_t q = TILES_8; q <= TILES_64; q++)
        ret[q] = 0;
    for (size_t i = 0; i < n_requests; i++) {
        for (size_t f = 0; f < ATTENTION_FIELDS; f++) {
            int64_t v = request[i * ATTENTION_FIELDS + f];

            if (v < 0 || __builtin_add_overflow (sum[f], v, &sum[f]))
                return -DT_EINPUT;
            if (v > most[f])
                most[f] = v;
        }
        if (add_tiles (request + i * ATTENTION_FIELDS, ret) < 0)
            return -DT_EINPUT;
    }
    ret[REQUESTS] = (int64_t)n_requests;
    ret[LONGEST_QUERY] = most[QUERY_LEN];
    ret[LONGEST_KV] = most[KV_LEN];
    ret[TOTAL_QUERY] = sum[QUERY_LEN];
    ret[TOTAL_KV] = sum[KV_LEN];
    return 0;
}

static const uint8_t attention_own[ATTENTION_QUANTITIES]
    = { [QUERY_LENGTH] = QUERY_LEN, [KV_LENGTH] = KV_LEN };

/* Scores and their sums for each query token, and the reading of keys and values. */
static double attention_work (const int64_t *request)
{
    return (1 + (double)request[QUERY_LEN]) * (1 + (double)request[KV_LEN]);
}

/* --- families whose calls are an amount ---------------------------------------- */

/* gemm, rowwise, allreduce: a row is a part of the call (the whole, or one request's
 * tokens or bytes); the call's amount is the sum. */
enum { AMOUNT, CAPTURED, ALLREDUCE_FIELDS };

static const char *const tokens_field[] = { [AMOUNT] = "tokens" };
static const struct dt_quantity tokens_quantity[] = {
    [AMOUNT] = { "tokens", "tokens", "sum over rows of tokens", 0 },
};
static const char *const allreduce_field[] = { [AMOUNT] = "bytes", [CAPTURED] = "captured" };
static const struct dt_quantity allreduce_quantity[] = {
    [AMOUNT] = { "bytes", "bytes", "sum over rows of bytes", 0 },
    [CAPTURED] = { "captured", "0 or 1", "max over rows of captured", 0 },
};

static int amount_derive (const int64_t *row, size_t n_rows, int64_t *ret)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n_rows; i++)
        if (row[i] < 0 || __builtin_add_overflow (sum, row[i], &sum))
            return -DT_EINPUT;
    ret[AMOUNT] = sum;
    return 0;
}

static int allreduce_derive (const int64_t *row, size_t n_rows, int64_t *ret)
{
    int64_t sum = 0, captured = 0;

    for (size_t i = 0; i < n_rows; i++, row += ALLREDUCE_FIELDS) {
        if (row[AMOUNT] < 0 || __builtin_add_overflow (sum, row[AMOUNT], &sum)
            || row[CAPTURED] < 0 || row[CAPTURED] > 1)
            return -DT_EINPUT;
        captured |= row[CAPTURED];
    }
    ret[AMOUNT] = sum;
    ret[CAPTURED] = captured;
    return 0;
}

static double amount_work (const int64_t *row)
{
    return 1 + (double)row[AMOUNT];
}

/* Weights are read whatever the tokens are: on a GPU as long as 100 to 300 tokens take. */
static double gemm_work (const int64_t *row)
{
    return 128 + (double)row[AMOUNT];
}

/* Ranks meet whatever the bytes are: over NVLink as long as a MiB takes. */
static double allreduce_work (const int64_t *row)
{
    return (1 << 20) + (double)row[AMOUNT];
}

/* --- moe ----------------------------------------------------------------------- */

/* A row is a part of the call, or an expert of this rank. */
enum { MOE_TOKENS, MOE_LOAD, MOE_FIELDS };
enum { TOKENS, EXPERTS, LONGEST_LOAD };

static const char *const moe_field[] = { [MOE_TOKENS] = "tokens", [MOE_LOAD] = "load" };
static const struct dt_quantity moe_quantity[] = {
    [TOKENS] = { "tokens", "tokens", "sum over rows of tokens", 0 },
    [EXPERTS] = { "experts", "experts", "number of rows whose load is above 0", 0 },
    [LONGEST_LOAD] = { "longest_load", "tokens", "max over rows of load", 0 },
};

static int moe_derive (const int64_t *row, size_t n_rows, int64_t *ret)
{
    int64_t tokens = 0, experts = 0, longest = 0;

    for (size_t i = 0; i < n_rows; i++, row += MOE_FIELDS) {
        if (row[MOE_TOKENS] < 0 || row[MOE_LOAD] < 0
            || __builtin_add_overflow (tokens, row[MOE_TOKENS], &tokens))
            return -DT_EINPUT;
        experts += row[MOE_LOAD] > 0;
        if (row[MOE_LOAD] > longest)
            longest = row[MOE_LOAD];
    }
    ret[TOKENS] = tokens;
    ret[EXPERTS] = experts;
    ret[LONGEST_LOAD] = longest;
    return 0;
}

/* An expert's weights are read once if it has any token. */
static double moe_work (const int64_t *row)
{
    return 1 + (double)row[MOE_TOKENS] + (row[MOE_LOAD] > 0 ? 64 : 0);
}

/* --- all families ---------------------------------------------------------- */

#define NAMES(family) \
    family##_field, sizeof family##_field / sizeof *family##_field, family##_quantity, \
        sizeof family##_quantity / sizeof *family##_quantity

static const struct dt_schema schemas[] = {
    { "attention", NAMES (attention), attention_derive, attention_own, attention_work },
    { "gemm", NAMES (tokens), amount_derive, NULL, gemm_work },
    { "rowwise", NAMES (tokens), amount_derive, NULL, amount_work },
    { "allreduce", NAMES (allreduce), allreduce_derive, NULL, allreduce_work },
    { "moe", NAMES (moe), moe_derive, NULL, moe_work },
};

_Static_assert (ATTENTION_FIELDS <= DT_SCHEMA_MAX_FIELDS, "raise DT_SCHEMA_MAX_FIELDS");
_Static_assert (MOE_FIELDS <= DT_SCHEMA_MAX_FIELDS, "raise DT_SCHEMA_MAX_FIELDS");
_Static_assert (ATTENTION_QUANTITIES <= DT_SCHEMA_MAX_QUANTITIES, "raise DT_SCHEMA_MAX_QUANTITIES");

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

/* The quantity whose name is nearest, as part of a sentence. */
static int unknown_input (const struct dt_schema *s, const char *name, struct dt_err *reterr)
{
    const char *all[DT_SCHEMA_MAX_QUANTITIES], *near;
    char list[512] = "";
    size_t len = 0;

    for (size_t q = 0; q < s->n_quantities; q++) {
        all[q] = s->quantity[q].name;
        len += (size_t)snprintf (list + len, sizeof list - len, "%s%s", q ? ", " : "", all[q]);
        if (len >= sizeof list)
            len = sizeof list - 1;
    }
    if ((near = dt_suggest (name, all, s->n_quantities)))
        return dt_err_set (reterr, -DT_EINPUT, "family %s: a call has no quantity \"%s\"; did you "
                           "mean \"%s\"?", s->family, name, near);
    return dt_err_set (reterr, -DT_EINPUT, "family %s: a call has no quantity \"%s\"; it has %s",
                       s->family, name, list);
}

int dt_schema_check_input (const char *family, const char *name, int own, struct dt_err *reterr)
{
    const struct dt_schema *s = dt_schema_find (family);
    int q;

    if (!s)
        return dt_err_set (reterr, -DT_EINPUT, "family %s has no call schema, so nothing is known "
                           "of its calls (detent-trace(5) lists the families)", family);
    if ((q = dt_schema_quantity (s, name)) < 0)
        return unknown_input (s, name, reterr);
    if (s->quantity[q].own == (own != 0))
        return 0;
    return dt_err_set (reterr, -DT_EINPUT, "family %s: \"%s\" is a quantity of %s: declare it "
                       "%s", s->family, name, own ? "the whole call" : "one request",
                       own ? "Runtime or Unpinnable" : "Own");
}

int dt_schema_derive (const struct dt_schema *s, const struct dt_call *call, int64_t *ret,
                      struct dt_err *reterr)
{
    if (call->n_requests == 0)
        return dt_err_set (reterr, -DT_EINPUT, "%s: a call without requests", s->family);
    if (s->derive (call->request, call->n_requests, ret) < 0)
        return dt_err_set (reterr, -DT_EINPUT,
                           "%s: a field is negative, a flag not 0 or 1, or a sum leaves 64 bits",
                           s->family);
    return 0;
}

int64_t dt_schema_own (const struct dt_schema *s, size_t q, const int64_t *request)
{
    assert (q < s->n_quantities && s->quantity[q].own);
    return request[s->own_field[q]];
}

double dt_schema_work (const struct dt_schema *s, const struct dt_call *call)
{
    double sum = 0;

    for (size_t i = 0; i < call->n_requests; i++)
        sum += s->work (call->request + i * s->n_fields);
    return sum;
}
