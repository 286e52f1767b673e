/* tests/test_import.c - parsers of public request logs. */
#include "trace/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/suite.h"

#define H "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define T "2023-11-16 18:15:46.6805900"
#define J(time, in, out, ids) \
    "{\"timestamp\": " time ", \"input_length\": " in ", \"output_length\": " out \
    ", \"hash_ids\": " ids "}\n"

/* Good logs: how many requests, and the last one. */
static const struct {
    const char *what, *format, *text;
    size_t n;
    double arrival_s;
    int64_t prompt, output;
    size_t n_blocks;
} good[] = {
    { "azure", "azure-csv", H T ",374,44\n2023-11-16 18:15:50.9951690,396,109\n", 2, 4.314579, 396,
      109, 0 },
    { "CRLF, no newline at the end", "azure-csv",
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n" T ",374,44\r\n" T ",5,6", 2, 0, 5, 6, 0 },
    { "columns by name, a mark, blank lines", "azure-csv",
      "\xef\xbb\xbf" "ContextTokens,user,TIMESTAMP,GeneratedTokens\n\n9,x,2024-02-28 23:59:59,1\n\n"
      "8,y,2024-03-01T00:00:00Z,2\n\n", 2, 86401, 8, 2, 0 },
    { "a year's end", "azure-csv", H "2023-12-31 23:59:59.5+00:00,1,1\n2024-01-01 00:00:00.25+00:00,2,3\n",
      2, 0.75, 2, 3, 0 },
    { "mooncake", "mooncake-jsonl", J ("27000", "1024", "3", "[5, 6]") J ("27500", "513", "4", "[5, 9]"),
      2, 0.5, 513, 4, 2 },
    { "mooncake, CRLF", "mooncake-jsonl",
      "{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[]}\r\n", 1, 0, 1, 1, 0 },
};

START_TEST (good_log)
{
    struct dt_requests r = { 0 };
    struct dt_err err = { "" };
    const struct dt_log_request *last;

    ck_assert_msg (dt_requests_parse (good[_i].format, good[_i].text, strlen (good[_i].text), 0, &r,
                                      &err) == 0, "%s: %s", good[_i].what, err.text);
    ck_assert_uint_eq (r.n, good[_i].n);
    last = &r.request[r.n - 1];
    ck_assert_double_eq (r.request[0].arrival_s, 0);
    ck_assert_double_eq_tol (last->arrival_s, good[_i].arrival_s, 1e-6);
    ck_assert_int_eq (last->prompt, good[_i].prompt);
    ck_assert_int_eq (last->output, good[_i].output);
    ck_assert_uint_eq (last->n_blocks, good[_i].n_blocks);
    if (good[_i].n_blocks) {
        ck_assert_int_eq (r.block_tokens, 512);
        ck_assert_uint_eq (last->block[1], 9);
    }
    dt_requests_done (&r);
}
END_TEST

#define GZIP "\x1f\x8b\x08"
/* Bad logs: what the text must hold. */
static const struct {
    const char *format, *text, *want;
} bad[] = {
    { "azure-csv", "", "empty" },
    { "azure-csv", H, "no requests" },
    { "azure-csv", GZIP, "compressed" },
    { "mooncake-jsonl", GZIP, "compressed" },
    { "xml", H, "unknown log format 'xml'" },
    { "azure-csv", "TIMESTAMP,GeneratedTokens\n" T ",4\n", "line 1: no column ContextTokens" },
    { "azure-csv", T ",374,44\n", "line 1: no column TIMESTAMP" },
    { "azure-csv", H T ",374\n", "line 2: 2 columns; the header has 3" },
    { "azure-csv", H T ",374,44,5\n", "line 2: 4 columns" },
    { "azure-csv", H T ",-374,44\n", "line 2: ContextTokens: '-374'" },
    { "azure-csv", H T ",374,4.5\n", "line 2: GeneratedTokens: '4.5'" },
    { "azure-csv", H T ",374,44\n" T ",1099511627776,44\n", "line 3: 1099511627776 prompt tokens" },
    { "azure-csv", H T ",9999999999999999999999,44\n", "line 2: ContextTokens" },
    { "azure-csv", H T ",0,44\n", "line 2: 0 prompt tokens" },
    { "azure-csv", H T ",4,0\n", "line 2: 0 output tokens" },
    { "azure-csv", H T ",,44\n", "line 2: ContextTokens: ''" },
    { "azure-csv", H T ",\"374\",44\n", "line 2: ContextTokens" },
    { "azure-csv", H "yesterday,374,44\n", "line 2: TIMESTAMP: 'yesterday'" },
    { "azure-csv", H "2023-02-29 00:00:00,374,44\n", "line 2: TIMESTAMP" },
    { "azure-csv", H "2023-11-16 24:00:00,374,44\n", "line 2: TIMESTAMP" },
    { "azure-csv", H T ",1,1\n2023-11-16 18:15:46.5,1,1\n", "line 3: earlier" },
    { "mooncake-jsonl", "\n\n", "no requests" },
    { "mooncake-jsonl", J ("0", "5", "1", "[]") "{\"timestamp\": 0,\n", "line 2: not JSON" },
    { "mooncake-jsonl", "[]\n", "line 1: not a JSON object" },
    { "mooncake-jsonl", J ("0", "5.5", "1", "[]"), "line 1: \"input_length\" is not a whole number" },
    { "mooncake-jsonl", J ("0", "-5", "1", "[]"), "line 1: -5 prompt tokens" },
    { "mooncake-jsonl", J ("0", "1099511627776", "1", "[]"), "line 1: 1099511627776" },
    { "mooncake-jsonl", "{\"timestamp\": 0, \"input_length\": 5}\n", "line 1: no \"output_length\"" },
    { "mooncake-jsonl", J ("-1", "5", "1", "[]"), "line 1: \"timestamp\"" },
    { "mooncake-jsonl", J ("0", "5", "1", "[-1]"), "line 1: \"hash_ids\": entry 0" },
    { "mooncake-jsonl", J ("0", "5", "1", "[1, 2]"), "line 1: 2 \"hash_ids\"" },
    { "mooncake-jsonl", J ("0", "5", "1", "7"), "line 1: no list" },
    { "mooncake-jsonl", J ("9", "5", "1", "[]") J ("8", "5", "1", "[]"), "line 2: earlier" },
};

START_TEST (bad_log)
{
    struct dt_requests r = { 0 };
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_requests_parse (bad[_i].format, bad[_i].text, strlen (bad[_i].text), 0, &r,
                                         &err), -DT_EINPUT);
    ck_assert_msg (strstr (err.text, bad[_i].want) != NULL, "'%s' lacks '%s'", err.text, bad[_i].want);
    ck_assert_ptr_null (r.request);
}
END_TEST

START_TEST (zero_byte)
{
    static const char text[] = H T ",374,\0" "44\n";
    struct dt_requests r;
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_requests_parse ("azure-csv", text, sizeof text - 1, 0, &r, &err), -DT_EINPUT);
    ck_assert_ptr_nonnull (strstr (err.text, "line 2"));
}
END_TEST

/* The limit stops before what follows is looked at. */
START_TEST (limit)
{
    static const char text[] = H T ",374,44\n" T ",1,1\nnonsense\n";
    struct dt_requests r;

    ck_assert_int_eq (dt_requests_parse ("azure-csv", text, strlen (text), 2, &r, NULL), 0);
    ck_assert_uint_eq (r.n, 2);
    dt_requests_done (&r);
}
END_TEST

/* The samples that are shipped. */
static const struct {
    const char *format, *file;
    size_t n;
    int64_t prompt; /* sums over the file, counted apart from this program */
    int64_t output;
} samples[] = {
    { "azure-csv", "azure_conv_sample.csv", 300, 270000, 76870 },
    { "mooncake-jsonl", "mooncake_conversation_sample.jsonl", 150, 2139452, 54751 },
};

START_TEST (sample)
{
    const char *top = getenv ("top_srcdir");
    char *path = dt_strf ("%s/trace/samples/%s", top ? top : ".", samples[_i].file);
    struct dt_buf b = { 0 };
    struct dt_requests r;
    struct dt_err err = { "" };
    int64_t prompt = 0, output = 0;

    ck_assert_msg (dt_file_read (path, 1 << 20, &b, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_requests_parse (samples[_i].format, b.data, b.len, 0, &r, &err) == 0, "%s",
                   err.text);
    for (size_t i = 0; i < r.n; i++) {
        prompt += r.request[i].prompt;
        output += r.request[i].output;
    }
    ck_assert_uint_eq (r.n, samples[_i].n);
    ck_assert_int_eq (prompt, samples[_i].prompt);
    ck_assert_int_eq (output, samples[_i].output);
    dt_requests_done (&r);
    dt_buf_done (&b);
    dt_free (path);
}
END_TEST

START_TEST (no_memory)
{
    for (size_t n = 0;; n++) {
        struct dt_requests q = { 0 };
        int r;

        dt_mem_fail_after (n);
        r = dt_requests_parse (good[_i].format, good[_i].text, strlen (good[_i].text), 0, &q, NULL);
        dt_requests_done (&q);
        if (suite_had_memory (r))
            break;
    }
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("trace/import");
    TCase *tc = tcase_create ("import");

    tcase_add_loop_test (tc, good_log, 0, DT_ARRAY_SIZE (good));
    tcase_add_loop_test (tc, bad_log, 0, DT_ARRAY_SIZE (bad));
    tcase_add_test (tc, zero_byte);
    tcase_add_test (tc, limit);
    tcase_add_loop_test (tc, sample, 0, DT_ARRAY_SIZE (samples));
    tcase_add_loop_test (tc, no_memory, 0, DT_ARRAY_SIZE (good));
    suite_add_tcase (s, tc);
    return suite_run (s);
}
