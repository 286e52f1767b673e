/* tests/test_dtrace.c - the .dtrace format: round trips, merging, hostile bytes. */
#include "trace/dtrace.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/canon.h"
#include "base/mem.h"
#include "tests/suite.h"

#define HEAD 24 /* bytes in front of a block's payload */

static int add (struct dt_trace *t, size_t site, uint64_t count, int synthetic, size_t n,
                const int64_t *request, const uint64_t *id, struct dt_err *err)
{
    struct dt_call call = { n, request };

    return dt_trace_add_call (t, site, count, synthetic, &call, id, err);
}

/* A small trace of two sites; on failure NULL (out of memory in tests of that). */
static struct dt_trace *sample (struct dt_err *err)
{
    static const int64_t one[] = { 1, 100 }, two[] = { 1, 101, 64, 64 }, big[] = { 512, INT64_MAX };
    static const uint64_t id[] = { 7, UINT64_MAX };
    struct dt_trace *t = dt_trace_new ();
    int site, other;

    if (!t || dt_trace_text (&t->deployment, "small", err) < 0 ||
        dt_trace_text (&t->source, "log.csv", err) < 0 ||
        dt_trace_add_limit (t, "max_query", 512, err) < 0 ||
        dt_trace_add_limit (t, "max_batch", 32, err) < 0 ||
        (site = dt_trace_add_site (t, "attention", "decoder", 4, err)) < 0 ||
        (other = dt_trace_add_site (t, "attention", "encoder", 1, err)) < 0 ||
        add (t, (size_t)site, 1, 0, 1, one, id + 1, err) < 0 ||
        add (t, (size_t)site, 3, 0, 2, two, id, err) < 0 ||
        add (t, (size_t)site, 2, 1, 1, one, NULL, err) < 0 ||
        add (t, (size_t)site, 5, 0, 1, one, NULL, err) < 0 ||
        add (t, (size_t)other, UINT64_MAX, 0, 1, big, id, err) < 0)
        return dt_trace_free (t);
    t->has_tuple = 1;
    t->tuple = dt_digest_of ("tuple", "x", 1);
    t->source_digest = dt_digest_of ("log", "y", 1);
    return t;
}

static void encode (const struct dt_trace *t, struct dt_buf *b)
{
    struct dt_err err = { "" };

    ck_assert_msg (dt_trace_encode (t, b, &err) == 0, "%s", err.text);
}

static struct dt_trace *decode (const void *data, size_t n)
{
    struct dt_trace *t = NULL;
    struct dt_err err = { "" };

    ck_assert_msg (dt_trace_decode (data, n, &t, &err) == 0, "%s", err.text);
    return t;
}

static void assert_refused (const void *data, size_t n, int code, const char *text)
{
    struct dt_trace *t = NULL;
    struct dt_err err = { "" };
    int r = dt_trace_decode (data, n, &t, &err);

    ck_assert_msg (r == code, "%d %s; wanted %d %s", r, err.text, code, text);
    ck_assert_msg (strstr (err.text, text) != NULL, "'%s' lacks '%s'", err.text, text);
    ck_assert_ptr_null (t);
}

START_TEST (round_trip)
{
    struct dt_trace *t = sample (NULL), *u;
    struct dt_buf a = { 0 }, b = { 0 };
    const struct dt_trace_site *s;

    encode (t, &a);
    u = decode (a.data, a.len);
    encode (u, &b);
    ck_assert_uint_eq (a.len, b.len);
    ck_assert_mem_eq (a.data, b.data, a.len);
    ck_assert_str_eq (u->deployment, "small");
    ck_assert_str_eq (u->source, "log.csv");
    ck_assert_str_eq (u->model, "");
    ck_assert (u->has_tuple && dt_digest_equal (&u->tuple, &t->tuple));
    ck_assert (dt_digest_equal (&u->source_digest, &t->source_digest));
    ck_assert_uint_eq (u->n_limits, 2);
    ck_assert_str_eq (u->limit[0].name, "max_batch");
    ck_assert_int_eq (u->limit[1].value, 512);
    ck_assert_uint_eq (u->n_sites, 2);
    s = &u->site[0];
    ck_assert_str_eq (s->site, "decoder");
    ck_assert_int_eq (s->calls_per_step, 4);
    ck_assert_uint_eq (s->n_calls, 3);
    ck_assert_uint_eq (s->call[1].count, 3);
    ck_assert_int_eq (dt_trace_call_get (s, 1).request[2], 64);
    ck_assert_uint_eq (s->id[s->call[1].at + 1], UINT64_MAX);
    ck_assert_uint_eq (s->call[2].synthetic, 1);
    ck_assert_uint_eq (u->site[1].call[0].count, UINT64_MAX);
    ck_assert_int_eq (u->site[1].field[1], INT64_MAX);
    dt_buf_done (&a);
    dt_buf_done (&b);
    dt_trace_free (t);
    dt_trace_free (u);
}
END_TEST

START_TEST (merging)
{
    struct dt_trace *t = sample (NULL);
    const struct dt_trace_site *s = &t->site[0];

    ck_assert_uint_eq (s->n_calls, 3); /* synthetic ones are others */
    ck_assert_uint_eq (s->call[0].count, 6);
    ck_assert_uint_eq (s->id[0], UINT64_MAX); /* the first's ids are kept */
    ck_assert_uint_eq (s->n_requests, 4);
    dt_trace_free (t);
}
END_TEST

START_TEST (refused_calls)
{
    struct dt_trace *t = sample (NULL);
    const int64_t bad[] = { 1, -1 }, big[] = { 512, INT64_MAX };
    int64_t *many = dt_calloc (DT_TRACE_MAX_REQUESTS + 1, 2 * sizeof *many);
    struct dt_err err = { "" };

    ck_assert_int_eq (add (t, 0, 1, 0, 0, bad, NULL, &err), -DT_EINPUT);
    ck_assert_int_eq (add (t, 0, 0, 0, 1, big, NULL, &err), -DT_EINPUT);
    ck_assert_int_eq (add (t, 0, 1, 0, 1, bad, NULL, &err), -DT_EINPUT);
    ck_assert_ptr_nonnull (strstr (err.text, "kv_len"));
    ck_assert_int_eq (add (t, 1, 1, 0, 1, big, NULL, &err), -DT_EINPUT); /* count overflows */
    ck_assert_int_eq (add (t, 0, 1, 0, DT_TRACE_MAX_REQUESTS + 1, many, NULL, &err), -DT_ELIMIT);
    ck_assert_int_eq (add (t, 0, 1, 0, DT_TRACE_MAX_REQUESTS, many, NULL, &err), 0);
    ck_assert_int_eq (dt_trace_add_site (t, "attention", "decoder", 1, &err), -DT_EINPUT);
    ck_assert_int_eq (dt_trace_add_site (t, "gemv", "x", 1, &err), -DT_EINPUT);
    ck_assert_int_eq (dt_trace_add_site (t, "attention", "x", 0, &err), -DT_EINPUT);
    dt_free (many);
    dt_trace_free (t);
}
END_TEST

/* Many calls, of widths that spread over several blocks. */
START_TEST (blocks)
{
    struct dt_trace *t = dt_trace_new (), *u;
    struct dt_buf a = { 0 }, b = { 0 };
    int64_t request[2 * 200];
    uint64_t x = 1;
    int site = dt_trace_add_site (t, "attention", "decoder", 4, NULL);

    for (size_t i = 0; i < 6000; i++) {
        size_t n = 1 + i % 200;

        for (size_t k = 0; k < 2 * n; k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            request[k] = (int64_t)(x >> 48);
        }
        ck_assert_int_eq (add (t, (size_t)site, 1 + i % 3, (int)(i & 1), n, request, NULL, NULL), 0);
    }
    encode (t, &a);
    u = decode (a.data, a.len);
    encode (u, &b);
    ck_assert (a.len == b.len && memcmp (a.data, b.data, a.len) == 0);
    ck_assert_mem_eq (u->site[0].field, t->site[0].field, t->site[0].n_requests * 16);
    dt_buf_done (&a);
    dt_buf_done (&b);
    dt_trace_free (t);
    dt_trace_free (u);
}
END_TEST

START_TEST (empty_trace)
{
    struct dt_trace *t = dt_trace_new (), *u;
    struct dt_buf a = { 0 };

    encode (t, &a);
    u = decode (a.data, a.len);
    ck_assert_uint_eq (u->n_sites, 0);
    ck_assert_int_eq (u->has_tuple, 0);
    dt_buf_done (&a);
    dt_trace_free (t);
    dt_trace_free (u);
}
END_TEST

START_TEST (truncations)
{
    struct dt_trace *t = sample (NULL), *u;
    struct dt_buf a = { 0 };
    struct dt_err err;
    char *cut;

    encode (t, &a);
    for (size_t n = 0; n < a.len; n++) {
        cut = dt_memdup (a.data, n); /* of its own: a sanitizer sees one byte too far */
        u = NULL;
        ck_assert_int_eq (dt_trace_decode (cut, n, &u, &err), -DT_ECORRUPT);
        ck_assert_ptr_null (u);
        ck_assert_msg (strstr (err.text, "block ") && strstr (err.text, " at byte "), "%s", err.text);
        dt_free (cut);
    }
    dt_buf_put (&a, "x", 1);
    assert_refused (a.data, a.len, -DT_ECORRUPT, "bytes after the end block");
    dt_buf_done (&a);
    dt_trace_free (t);
}
END_TEST

START_TEST (bit_flips)
{
    struct dt_trace *t = sample (NULL), *u = NULL;
    struct dt_buf a = { 0 };
    struct dt_err err;
    int r;

    encode (t, &a);
    for (size_t i = 0; i < 8 * a.len; i++) {
        a.data[i / 8] ^= (uint8_t)(1 << i % 8);
        r = dt_trace_decode (a.data, a.len, &u, &err);
        ck_assert_msg (r == -DT_ECORRUPT || r == -DT_EVERSION, "bit %zu: %d", i, r);
        a.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    ck_assert_ptr_null (u);
    dt_buf_done (&a);
    dt_trace_free (t);
}
END_TEST

/* Leaving a whole block out is seen by the end block's counts. */
START_TEST (lost_block)
{
    struct dt_trace *t = sample (NULL);
    struct dt_buf a = { 0 };
    size_t at[8], n = 0, p = 8;

    encode (t, &a);
    for (; p < a.len; n++) {
        uint32_t stored;

        at[n] = p;
        memcpy (&stored, a.data + p + 8, 4);
        p += HEAD + stored;
    }
    ck_assert_uint_eq (n, 4); /* header, one per site, end */
    memmove (a.data + at[1], a.data + at[2], a.len - at[2]);
    assert_refused (a.data, a.len - (at[2] - at[1]), -DT_ECORRUPT, "block 2 at byte");
    dt_buf_done (&a);
    dt_trace_free (t);
}
END_TEST

START_TEST (versions)
{
    struct dt_trace *t = sample (NULL);
    struct dt_buf a = { 0 };

    encode (t, &a);
    a.data[6] = '2';
    assert_refused (a.data, a.len, -DT_EVERSION, "version");
    assert_refused ("PK\3\4aaaaaaaaa", 13, -DT_ECORRUPT, "not a .dtrace");
    dt_buf_done (&a);
    dt_trace_free (t);
}
END_TEST

/* Every allocation of building, encoding and decoding fails once. */
START_TEST (no_memory)
{
    for (size_t n = 0;; n++) {
        struct dt_trace *t, *u = NULL;
        struct dt_buf a = { 0 };
        struct dt_err err = { "" };
        int r = -ENOMEM;

        dt_mem_fail_after (n);
        if ((t = sample (&err)))
            r = dt_trace_encode (t, &a, &err);
        if (r == 0)
            r = dt_trace_decode (a.data, a.len, &u, &err);
        ck_assert_msg (r == 0 || r == -ENOMEM, "%zu: %d %s", n, r, err.text);
        ck_assert ((r == 0) == (u != NULL));
        dt_buf_done (&a);
        dt_trace_free (t);
        dt_trace_free (u);
        if (suite_had_memory (r))
            break;
    }
}
END_TEST

/* --- files written by hand, after the format's description ------------------ */

static void put_block (struct dt_buf *out, int kind, const void *payload, size_t n)
{
    size_t at = out->len;

    dt_buf_u32 (out, 0x4b4c4244);
    dt_buf_u8 (out, (uint8_t)kind);
    dt_buf_u8 (out, 0);
    dt_buf_u16 (out, 0);
    dt_buf_u32 (out, (uint32_t)n);
    dt_buf_u32 (out, (uint32_t)n);
    dt_buf_u64 (out, XXH3_64bits_withSeed (payload, n, XXH3_64bits (out->data + at, 16)));
    dt_buf_put (out, payload, n);
}

static void put_canon (struct dt_buf *out, int kind, struct dt_canon *c)
{
    ck_assert_int_eq (dt_canon_finish (c), 0);
    put_block (out, kind, c->buf.data, c->buf.len);
    dt_canon_done (c);
}

static void put_header (struct dt_buf *out, int64_t version, const char *family)
{
    static const char *const text[] = { "importer", "options", "source" };
    struct dt_canon c;

    dt_buf_put (out, "DTRACE1\n", 8);
    dt_canon_init (&c);
    dt_canon_map (&c);
    dt_canon_kstr (&c, "deployment", "d");
    dt_canon_kstr (&c, "engine", "e");
    dt_canon_key (&c, "families");
    dt_canon_list (&c);
    dt_canon_str (&c, family);
    dt_canon_end (&c);
    dt_canon_key (&c, "limits");
    dt_canon_map (&c);
    dt_canon_end (&c);
    dt_canon_kstr (&c, "model", "m");
    dt_canon_key (&c, "provenance");
    dt_canon_map (&c);
    for (size_t i = 0; i < 3; i++)
        dt_canon_kstr (&c, text[i], "");
    dt_canon_end (&c);
    dt_canon_key (&c, "sites");
    dt_canon_list (&c);
    dt_canon_map (&c);
    dt_canon_kint (&c, "calls_per_step", 1);
    dt_canon_kstr (&c, "family", family);
    dt_canon_kstr (&c, "site", "s");
    dt_canon_end (&c);
    dt_canon_end (&c);
    dt_canon_kint (&c, "version", version);
    dt_canon_end (&c);
    put_canon (out, 1, &c);
}

static void put_end (struct dt_buf *out, int64_t n_blocks, int64_t calls, int64_t requests)
{
    struct dt_canon c;

    dt_canon_init (&c);
    dt_canon_map (&c);
    dt_canon_kint (&c, "blocks", n_blocks);
    dt_canon_kint (&c, "calls", calls);
    dt_canon_kint (&c, "requests", requests);
    dt_canon_end (&c);
    put_canon (out, 3, &c);
}

/* Two calls of one and two requests: columns count (run length), n_requests
 * (varint), fields (delta, varint), an unknown one. */
#define N_COLUMNS 5
#define COUNT 1, 3, 2, 0, 0, 0, 7, 2
#define SIZE 2, 1, 2, 0, 0, 0, 1, 2
#define QUERY 16, 2, 3, 0, 0, 0, 2, 0, 1                     /* 1, 1, 0        */
#define KV 17, 1, 4, 0, 0, 0, 9, 0x80, 1, 5                  /* 9, 128, 5      */
#define UNKNOWN 99, 77, 1, 0, 0, 0, 5
#define FRONT 0, 0, 2, 0, 0, 0, N_COLUMNS
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof (const uint8_t[]){ __VA_ARGS__ }
static const struct {
    const uint8_t *payload;
    size_t n;
    const char *want; /* NULL: accepted */
} by_hand[] = {
    { BYTES (FRONT, COUNT, SIZE, QUERY, KV, UNKNOWN), NULL },
    { BYTES (FRONT, COUNT, SIZE, QUERY, KV), "a column leaves its block" },
    { BYTES (FRONT, COUNT, SIZE, QUERY, KV, UNKNOWN, 0), "bytes after the last column" },
    { BYTES (FRONT, COUNT, SIZE, KV, QUERY, UNKNOWN), "ascending order" },
    { BYTES (0, 0, 2, 0, 0, 0, 3, COUNT, SIZE, QUERY), "lacks a column" },
    { BYTES (0, 0, 2, 0, 0, 0, 3, SIZE, QUERY, KV), "lacks a column" },
    { BYTES (1, 0, 2, 0, 0, 0, 4, COUNT, SIZE, QUERY, KV), "names no site" },
    { BYTES (0, 0, 0, 0, 0, 0, 4, COUNT, SIZE, QUERY, KV), "no or too many calls" },
    { BYTES (0, 0, 2, 0, 9, 0, 4, COUNT, SIZE, QUERY, KV), "no or too many calls" },
    { BYTES (FRONT, 1, 4, 2, 0, 0, 0, 7, 2, SIZE, QUERY, KV, UNKNOWN), "unknown encoding" },
    { BYTES (FRONT, 1, 3, 2, 0, 0, 0, 7, 3, SIZE, QUERY, KV, UNKNOWN), "run is out of bounds" },
    { BYTES (FRONT, 1, 3, 2, 0, 0, 0, 7, 0, SIZE, QUERY, KV, UNKNOWN), "run is out of bounds" },
    { BYTES (FRONT, 1, 3, 2, 0, 0, 0, 0, 2, SIZE, QUERY, KV, UNKNOWN), "count is 0" },
    { BYTES (FRONT, COUNT, 2, 1, 2, 0, 0, 0, 0, 3, QUERY, KV, UNKNOWN), "no requests" },
    { BYTES (FRONT, COUNT, 2, 1, 4, 0, 0, 0, 1, 0xff, 0xff, 7, QUERY, KV, UNKNOWN), "too many" },
    { BYTES (FRONT, COUNT, SIZE, 16, 2, 3, 0, 0, 0, 2, 0, 3, KV, UNKNOWN), "negative" },
    { BYTES (FRONT, COUNT, SIZE, 16, 1, 2, 0, 0, 0, 1, 1, KV, UNKNOWN), "does not fit" },
};

START_TEST (hand_written)
{
    struct dt_buf b = { 0 };
    struct dt_trace *t;
    const struct dt_trace_site *s;

    put_header (&b, 1, "attention");
    put_block (&b, 2, by_hand[_i].payload, by_hand[_i].n);
    put_end (&b, 2, 2, 3);
    if (by_hand[_i].want)
        assert_refused (b.data, b.len, -DT_ECORRUPT, by_hand[_i].want);
    else {
        t = decode (b.data, b.len);
        s = &t->site[0];
        ck_assert_uint_eq (s->n_calls, 2);
        ck_assert (s->call[0].count == 7 && s->call[1].count == 7 && s->call[1].n_requests == 2);
        ck_assert_mem_eq (s->field, ((const int64_t[]){ 1, 9, 1, 128, 0, 5 }), 48);
        ck_assert_uint_eq (s->id[2], 1); /* no ids: the place in the call */
        dt_trace_free (t);
    }
    dt_buf_done (&b);
}
END_TEST

/* Blocks of a recorder that merges within a block only. */
START_TEST (repeated_calls)
{
    struct dt_buf b = { 0 };
    struct dt_trace *t;

    put_header (&b, 1, "attention");
    for (int i = 0; i < 2; i++)
        put_block (&b, 2, by_hand[0].payload, by_hand[0].n);
    put_end (&b, 3, 4, 6);
    t = decode (b.data, b.len);
    ck_assert_uint_eq (t->site[0].n_calls, 2);
    ck_assert_uint_eq (t->site[0].call[0].count, 14);
    dt_trace_free (t);
    dt_buf_done (&b);
}
END_TEST

/* 10 million rows of which 200 are distinct, as a recorder that merges
 * nothing writes them: the trace is that of 200 calls with counts, byte for byte, and no
 * memory but that of a block is needed for the rest. */
#define MANY_BLOCKS 500
#define MANY_CALLS 20000 /* of a block */
#define MANY_KIND 200

static void put_many (struct dt_buf *p)
{
    static const uint8_t front[] = { 0, 0, 0x20, 0x4e, 0, 0, 4 };
    static const uint8_t same[][3] = { { 1, 3, 4 }, { 2, 3, 4 }, { 16, 3, 4 } };

    dt_buf_put (p, front, sizeof front);
    for (size_t i = 0; i < 3; i++) { /* count, n_requests and query_len: 1, 20,000 times */
        dt_buf_put (p, same[i], 2);
        dt_buf_u32 (p, 4);
        dt_buf_put (p, (const uint8_t[]){ 1, 0xa0, 0x9c, 1 }, 4);
    }
    dt_buf_put (p, (const uint8_t[]){ 17, 1 }, 2); /* kv_len: two bytes each */
    dt_buf_u32 (p, 2 * MANY_CALLS);
    for (unsigned i = 0; i < MANY_CALLS; i++) {
        unsigned kv = 128 + i * 7919 % MANY_KIND;

        dt_buf_u8 (p, (uint8_t)(kv | 0x80));
        dt_buf_u8 (p, (uint8_t)(kv >> 7));
    }
}

static long peak_kib (void)
{
    struct rusage u;

    ck_assert_int_eq (getrusage (RUSAGE_SELF, &u), 0);
    return u.ru_maxrss;
}

START_TEST (many_rows)
{
    struct dt_buf b = { 0 }, block = { 0 }, merged = { 0 }, again = { 0 };
    struct dt_trace *t, *u;
    const struct dt_trace_site *s;
    long before;

    put_many (&block);
    put_header (&b, 1, "attention");
    for (int i = 0; i < MANY_BLOCKS; i++)
        put_block (&b, 2, block.data, block.len);
    put_end (&b, MANY_BLOCKS + 1, MANY_BLOCKS * MANY_CALLS, MANY_BLOCKS * MANY_CALLS);
    before = peak_kib ();
    t = decode (b.data, b.len);
#if !defined(__SANITIZE_ADDRESS__)
    ck_assert_int_lt (peak_kib () - before, 16 << 10);
#endif
    (void)before;
    s = &t->site[0];
    ck_assert_uint_eq (s->n_calls, MANY_KIND);
    for (size_t i = 0; i < MANY_KIND; i++)
        ck_assert_uint_eq (s->call[i].count, MANY_BLOCKS * MANY_CALLS / MANY_KIND);
    encode (t, &merged);
    ck_assert_uint_lt (merged.len, 8192);
    u = decode (merged.data, merged.len);
    encode (u, &again);
    ck_assert_uint_eq (again.len, merged.len);
    ck_assert_mem_eq (again.data, merged.data, merged.len);
    dt_trace_free (t);
    dt_trace_free (u);
    dt_buf_done (&b);
    dt_buf_done (&block);
    dt_buf_done (&merged);
    dt_buf_done (&again);
}
END_TEST

START_TEST (headers)
{
    struct dt_buf b = { 0 };

    put_header (&b, 2, "attention");
    put_end (&b, 1, 0, 0);
    assert_refused (b.data, b.len, -DT_EVERSION, "version 2");
    b.len = 0;
    put_header (&b, 1, "gemv");
    put_end (&b, 1, 0, 0);
    assert_refused (b.data, b.len, -DT_EVERSION, "'gemv'");
    b.len = 0;
    put_header (&b, 1, "attention");
    put_end (&b, 1, 1, 0);
    assert_refused (b.data, b.len, -DT_ECORRUPT, "some are missing");
    b.len = 8;
    put_end (&b, 0, 0, 0);
    assert_refused (b.data, b.len, -DT_ECORRUPT, "not the first block");
    dt_buf_done (&b);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("trace/dtrace");
    TCase *tc = tcase_create ("dtrace");

    tcase_set_timeout (tc, 60);
    tcase_add_test (tc, round_trip);
    tcase_add_test (tc, merging);
    tcase_add_test (tc, refused_calls);
    tcase_add_test (tc, blocks);
    tcase_add_test (tc, empty_trace);
    tcase_add_test (tc, truncations);
    tcase_add_test (tc, bit_flips);
    tcase_add_test (tc, lost_block);
    tcase_add_test (tc, versions);
    tcase_add_test (tc, no_memory);
    tcase_add_loop_test (tc, hand_written, 0, DT_ARRAY_SIZE (by_hand));
    tcase_add_test (tc, repeated_calls);
    tcase_add_test (tc, many_rows);
    tcase_add_test (tc, headers);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
