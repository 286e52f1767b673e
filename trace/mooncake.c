/* trace/mooncake.c - Mooncake's request logs: JSON objects, one a line. */
#include <jansson.h>
#include <string.h>

#include "trace/log.h"

#define BLOCK_TOKENS 512 /* of each entry of hash_ids, by the log's own description */

static int get_tokens (const struct dt_log *log, const json_t *o, const char *key, int64_t *ret,
                       struct dt_err *reterr)
{
    const json_t *v = json_object_get (o, key);

    if (!v)
        return dt_log_error (log, reterr, "no \"%s\"", key);
    if (!json_is_integer (v))
        return dt_log_error (log, reterr, "\"%s\" is not a whole number", key);
    *ret = json_integer_value (v);
    return 0;
}

static int get_blocks (struct dt_log *log, const json_t *o, int64_t prompt, size_t *ret_n,
                       struct dt_err *reterr)
{
    const json_t *list = json_object_get (o, "hash_ids"), *v;
    size_t i, n = json_array_size (list); /* 0 for no array */
    int r;

    if (!json_is_array (list))
        return dt_log_error (log, reterr, "no list \"hash_ids\"");
    if (prompt > 0 && n > ((size_t)prompt + BLOCK_TOKENS - 1) / BLOCK_TOKENS)
        return dt_log_error (log, reterr, "%zu \"hash_ids\" for %lld tokens: more than one per %d", n,
                             (long long)prompt, BLOCK_TOKENS);
    json_array_foreach (list, i, v) {
        if (!json_is_integer (v) || json_integer_value (v) < 0)
            return dt_log_error (log, reterr, "\"hash_ids\": entry %zu is not a whole number", i);
        if ((r = dt_log_add_block (log, (uint64_t)json_integer_value (v), reterr)) < 0)
            return r;
    }
    *ret_n = n;
    return 0;
}

static int request (struct dt_log *log, const json_t *o, struct dt_err *reterr)
{
    const json_t *time = json_object_get (o, "timestamp");
    int64_t prompt, output;
    size_t n_blocks = 0;
    int r;

    if (!json_is_number (time) || !(json_number_value (time) >= 0))
        return dt_log_error (log, reterr, "\"timestamp\" is not a time in milliseconds");
    if ((r = get_tokens (log, o, "input_length", &prompt, reterr)) < 0 ||
        (r = get_tokens (log, o, "output_length", &output, reterr)) < 0 ||
        (r = get_blocks (log, o, prompt, &n_blocks, reterr)) < 0)
        return r;
    return dt_log_add (log, json_number_value (time) / 1e3, prompt, output, n_blocks, reterr);
}

static int line (struct dt_log *log, struct dt_log_state *s, const char *text, size_t len,
                 struct dt_err *reterr)
{
    json_error_t error;
    json_t *o = json_loadb (text, len, JSON_REJECT_DUPLICATES, &error);
    int r;

    (void)s; /* each line stands alone */
    if (!o)
        return json_error_code (&error) == json_error_out_of_memory
                   ? dt_err_nomem (reterr)
                   : dt_log_error (log, reterr, "not JSON: %s", error.text);
    r = json_is_object (o) ? request (log, o, reterr)
                           : dt_log_error (log, reterr, "not a JSON object");
    json_decref (o);
    return r;
}

const struct dt_log_format dt_log_mooncake = {
    .name = "mooncake-jsonl",
    .block_tokens = BLOCK_TOKENS,
    .line = line,
};
