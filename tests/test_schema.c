/* tests/test_schema.c - call schemas. */
#include "base/file.h"
#include "tests/suite.h"
#include "trace/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(a) (sizeof (a) / sizeof *(a))

/* A call of attention and what must be derived, by name. */
static const struct {
    const char *what;
    size_t n;
    int64_t request[6];
    int want;
    int64_t requests, longest_query, longest_kv, total_query, total_kv;
} cases[] = {
    { "one decode", 1, { 1, 100 }, 0, 1, 1, 100, 1, 100 },
    { "a mix", 3, { 1, 700, 64, 64, 5, 9 }, 0, 3, 64, 700, 70, 773 },
    { "no request", 0, { 0 }, -DT_EINPUT, 0, 0, 0, 0, 0 },
    { "a negative field", 2, { 1, 5, -1, 5 }, -DT_EINPUT, 0, 0, 0, 0, 0 },
    { "the largest sum", 2, { 1, INT64_MAX - 1, 1, 1 }, 0, 2, 1, INT64_MAX - 1, 2, INT64_MAX },
    { "a sum beyond 64 bits", 2, { 1, INT64_MAX, 1, 1 }, -DT_EINPUT, 0, 0, 0, 0, 0 },
};

START_TEST (derive)
{
    const struct dt_schema *s = dt_schema_find ("attention");
    struct dt_call call = { cases[_i].n, cases[_i].request };
    int64_t q[DT_SCHEMA_MAX_QUANTITIES];
    struct dt_err err = { "" };
    int own = dt_schema_quantity (s, "kv_length");

    q[own] = 42;
    ck_assert_msg (dt_schema_derive (s, &call, q, &err) == cases[_i].want, "%s: %s",
                   cases[_i].what, err.text);
    if (cases[_i].want < 0) {
        ck_assert (*err.text);
        return;
    }
    ck_assert_int_eq (q[dt_schema_quantity (s, "requests")], cases[_i].requests);
    ck_assert_int_eq (q[dt_schema_quantity (s, "longest_query")], cases[_i].longest_query);
    ck_assert_int_eq (q[dt_schema_quantity (s, "longest_kv")], cases[_i].longest_kv);
    ck_assert_int_eq (q[dt_schema_quantity (s, "total_query")], cases[_i].total_query);
    ck_assert_int_eq (q[dt_schema_quantity (s, "total_kv")], cases[_i].total_kv);
    ck_assert_int_eq (q[own], 42); /* own entries are left as they are */
}
END_TEST

/* Calls of other families, and what is counted in them. */
static const struct {
    const char *what, *family;
    size_t n;
    int64_t row[8];
    int want;
    const char *name;
    int64_t value;
} others[] = {
    { "tiles of one decode", "attention", 1, { 1, 128 }, 0, "tiles_8", 1 },
    { "one key more", "attention", 1, { 1, 129 }, 0, "tiles_8", 2 },
    { "each request rounds up", "attention", 2, { 9, 129, 8, 128 }, 0, "tiles_8", 5 },
    { "tiles of 16 tokens", "attention", 2, { 17, 256, 16, 1 }, 0, "tiles_16", 5 },
    { "tiles of 32 tokens", "attention", 2, { 33, 256, 32, 1 }, 0, "tiles_32", 5 },
    { "tiles of 64 tokens", "attention", 2, { 65, 256, 64, 1 }, 0, "tiles_64", 5 },
    { "no tiles", "attention", 1, { 0, 0 }, 0, "tiles_8", 0 },
    { "tiles beyond 64 bits", "attention", 1, { INT64_MAX, INT64_MAX }, -DT_EINPUT, "tiles_8", 0 },
    { "tokens add up", "gemm", 3, { 1, 64, 0 }, 0, "tokens", 65 },
    { "tokens of a norm", "rowwise", 1, { 7 }, 0, "tokens", 7 },
    { "a negative row", "rowwise", 2, { 7, -1 }, -DT_EINPUT, "tokens", 0 },
    { "bytes", "allreduce", 2, { 4096, 0, 16, 1 }, 0, "bytes", 4112 },
    { "eager", "allreduce", 1, { 4096, 0 }, 0, "captured", 0 },
    { "captured", "allreduce", 2, { 4096, 0, 16, 1 }, 0, "captured", 1 },
    { "captured twice", "allreduce", 1, { 4096, 2 }, -DT_EINPUT, "captured", 0 },
    { "bytes beyond 64 bits", "allreduce", 2, { INT64_MAX, 0, 1, 0 }, -DT_EINPUT, "bytes", 0 },
    { "tokens of a moe call", "moe", 3, { 5, 8, 0, 0, 0, 2 }, 0, "tokens", 5 },
    { "experts that are hit", "moe", 3, { 5, 8, 0, 0, 0, 2 }, 0, "experts", 2 },
    { "the longest load", "moe", 3, { 5, 8, 0, 0, 0, 12 }, 0, "longest_load", 12 },
    { "a negative load", "moe", 1, { 5, -8 }, -DT_EINPUT, "tokens", 0 },
};

START_TEST (other)
{
    const struct dt_schema *s = dt_schema_find (others[_i].family);
    struct dt_call call = { others[_i].n, others[_i].row };
    int64_t q[DT_SCHEMA_MAX_QUANTITIES];
    int i = dt_schema_quantity (s, others[_i].name);

    ck_assert (i >= 0 && !s->quantity[i].own);
    ck_assert_msg (dt_schema_derive (s, &call, q, NULL) == others[_i].want, "%s", others[_i].what);
    if (others[_i].want == 0)
        ck_assert_msg (q[i] == others[_i].value, "%s: %jd", others[_i].what, (intmax_t)q[i]);
    ck_assert (dt_schema_work (s, &call) > 0 || others[_i].want < 0);
}
END_TEST

START_TEST (own)
{
    const struct dt_schema *s = dt_schema_find ("attention");
    const int64_t request[] = { 3, 77 };
    size_t query = (size_t)dt_schema_quantity (s, "query_length");
    size_t kv = (size_t)dt_schema_quantity (s, "kv_length");

    ck_assert_int_eq (dt_schema_own (s, query, request), 3);
    ck_assert_int_eq (dt_schema_own (s, kv, request), 77);
}
END_TEST

START_TEST (names)
{
    const struct dt_schema *s = dt_schema_find ("attention");

    ck_assert_ptr_null (dt_schema_find ("gemv"));
    ck_assert_ptr_nonnull (s);
    ck_assert_str_eq (s->field[0], "query_len");
    ck_assert_str_eq (s->field[1], "kv_len");
    ck_assert_int_eq (dt_schema_quantity (s, "longest"), -1);
    for (size_t q = 0; q < s->n_quantities; q++) {
        ck_assert_int_eq (dt_schema_quantity (s, s->quantity[q].name), (int)q);
        ck_assert (*s->quantity[q].unit && *s->quantity[q].formula);
    }
}
END_TEST

/* Of the class that the schema says, or refused with what to write. */
START_TEST (inputs)
{
    static const struct {
        const char *family, *name;
        int own, code;
        const char *text;
    } asked[] = {
        { "attention", "longest_query", 0, 0, "" },
        { "attention", "kv_length", 1, 0, "" },
        { "moe", "experts", 0, 0, "" },
        { "attention", "longst_query", 0, -DT_EINPUT, "did you mean \"longest_query\"?" },
        { "gemm", "moon", 0, -DT_EINPUT, "family gemm: a call has no quantity \"moon\"; it has tokens" },
        { "attention", "kv_length", 0, -DT_EINPUT, "a quantity of one request: declare it Own" },
        { "attention", "requests", 1, -DT_EINPUT, "of the whole call: declare it Runtime or Unpinnable" },
        { "gemv", "tokens", 0, -DT_EINPUT, "family gemv has no call schema" },
    };

    for (size_t i = 0; i < N (asked); i++) {
        struct dt_err err = { "" };

        ck_assert_int_eq (dt_schema_check_input (asked[i].family, asked[i].name, asked[i].own,
                                                 &err), asked[i].code);
        ck_assert_msg (strstr (err.text, asked[i].text), "%s", err.text);
    }
}
END_TEST

/* What engines are told of calls, in the public header. */
START_TEST (public_header)
{
    static const char *const family[] = { "attention", "gemm", "rowwise", "allreduce", "moe" };
    const char *top = getenv ("top_srcdir");
    char path[4096], *from, *to;
    struct dt_buf b;

    ck_assert_ptr_nonnull (top);
    snprintf (path, sizeof path, "%s/include/detent/detent.h", top);
    dt_buf_init (&b);
    ck_assert_int_eq (dt_file_read (path, 1 << 20, &b, NULL), 0);
    ck_assert_ptr_nonnull (from = strstr (dt_buf_str (&b), "/* One call: the family's fields"));
    ck_assert_ptr_nonnull (to = strstr (from, "struct detent_call {"));
    *to = '\0';
    for (size_t i = 0; i < N (family); i++) {
        const struct dt_schema *s = dt_schema_find (family[i]);

        ck_assert_ptr_nonnull (s);
        ck_assert_msg (strstr (from, family[i]) != NULL, "%s", family[i]);
        for (size_t k = 0; k < s->n_fields; k++)
            ck_assert_msg (strstr (from, s->field[k]) != NULL, "%s", s->field[k]);
        for (size_t k = 0; k < s->n_quantities; k++)
            ck_assert_msg (strstr (from, s->quantity[k].name) != NULL, "%s",
                           s->quantity[k].name);
    }
    dt_buf_done (&b);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("trace/schema");
    TCase *tc = tcase_create ("schema");

    tcase_add_loop_test (tc, derive, 0, N (cases));
    tcase_add_loop_test (tc, other, 0, N (others));
    tcase_add_test (tc, own);
    tcase_add_test (tc, names);
    tcase_add_test (tc, inputs);
    tcase_add_test (tc, public_header);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
