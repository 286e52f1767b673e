/* base/buf and base/digest: bytes in and out, and their names. */
#include "base/buf.h"
#include "base/digest.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "tests/suite.h"

static void write_sample (struct dt_buf *b)
{
    dt_buf_u8 (b, 0x12);
    dt_buf_u16 (b, 0x3456);
    dt_buf_u32 (b, 0x789abcde);
    dt_buf_u64 (b, 0xf0123456789abcdeULL);
    for (int i = 0; i < 100; i++)
        dt_buf_printf (b, "%d,", i);
    dt_buf_put (b, NULL, 0);
}

START_TEST (fixed_width)
{
    static const uint8_t want[] = { 0x12, 0x56, 0x34, 0xde, 0xbc, 0x9a, 0x78, 0xde,
                                    0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12, 0xf0 };
    struct dt_buf b = { 0 };
    struct dt_reader r;

    write_sample (&b);
    ck_assert_mem_eq (b.data, want, sizeof want);
    dt_reader_init (&r, b.data, b.len);
    ck_assert_uint_eq (dt_reader_u8 (&r), 0x12);
    ck_assert_uint_eq (dt_reader_u16 (&r), 0x3456);
    ck_assert_uint_eq (dt_reader_u32 (&r), 0x789abcde);
    ck_assert_uint_eq (dt_reader_u64 (&r), 0xf0123456789abcdeULL);
    ck_assert_mem_eq (dt_reader_take (&r, 4), "0,1,", 4);
    ck_assert_uint_eq (dt_reader_left (&r), b.len - 19);
    ck_assert_int_eq (r.bad, 0);
    dt_buf_done (&b);
    ck_assert_ptr_null (b.data);
}
END_TEST

START_TEST (text)
{
    struct dt_buf b = { 0 };
    size_t len;

    ck_assert_str_eq (dt_buf_str (&b), "");
    dt_buf_printf (&b, "%s %d", "pin", 7);
    ck_assert_str_eq (dt_buf_str (&b), "pin 7");
    ck_assert_uint_eq (b.len, 5);
    for (len = b.len; b.len < b.room;) /* the terminator needs a byte of its own */
        dt_buf_u8 (&b, 'x');
    ck_assert_uint_eq (strlen (dt_buf_str (&b)), b.len);
    ck_assert_uint_gt (b.len, len);
    dt_buf_done (&b);
}
END_TEST

static const struct {
    uint64_t v;
    size_t n;
} varints[] = {
    { 0, 1 },          { 127, 1 },        { 128, 2 },
    { 16383, 2 },      { 16384, 3 },      { UINT32_MAX, 5 },
    { INT64_MAX, 9 },  { 1ULL << 63, 10 }, { UINT64_MAX, 10 },
};

START_TEST (varint)
{
    struct dt_buf b = { 0 };
    struct dt_reader r;

    dt_buf_varint (&b, varints[_i].v);
    ck_assert_uint_eq (b.len, varints[_i].n);
    dt_buf_zigzag (&b, (int64_t)varints[_i].v);
    dt_buf_zigzag (&b, -(int64_t)(varints[_i].v >> 1) - 1);
    dt_reader_init (&r, b.data, b.len);
    ck_assert_uint_eq (dt_reader_varint (&r), varints[_i].v);
    ck_assert_int_eq (dt_reader_zigzag (&r), (int64_t)varints[_i].v);
    ck_assert_int_eq (dt_reader_zigzag (&r), -(int64_t)(varints[_i].v >> 1) - 1);
    ck_assert_int_eq (r.bad, 0);
    ck_assert_uint_eq (dt_reader_left (&r), 0);
    dt_buf_done (&b);
}
END_TEST

static const struct {
    const char *what, *bytes;
    size_t n;
} bad_varints[] = {
    { "nothing", "", 0 },
    { "no end", "\x80\x80", 2 },
    { "padded zero", "\x80\0", 2 },
    { "padded", "\xff\x80\0", 3 },
    { "65 bits", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 },
    { "11 bytes", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11 },
};

START_TEST (bad_varint)
{
    struct dt_reader r;

    dt_reader_init (&r, bad_varints[_i].bytes, bad_varints[_i].n);
    ck_assert_uint_eq (dt_reader_varint (&r), 0);
    ck_assert_msg (r.bad, "%s", bad_varints[_i].what);
}
END_TEST

START_TEST (reader_stops)
{
    struct dt_reader r;

    dt_reader_init (&r, "abc", 3);
    ck_assert_ptr_null (dt_reader_take (&r, 4));
    ck_assert_uint_eq (dt_reader_left (&r), 0);
    ck_assert_uint_eq (dt_reader_u8 (&r), 0); /* bad sticks, though a byte is there */
    ck_assert_ptr_null (dt_reader_take (&r, 0));
    dt_reader_init (&r, "abc", 3);
    ck_assert_ptr_null (dt_reader_take (&r, SIZE_MAX));
    dt_reader_init (&r, "abc", 3);
    ck_assert_uint_eq (dt_reader_u32 (&r), 0);
    ck_assert_int_eq (r.bad, 1);
    dt_reader_init (&r, NULL, 0);
    ck_assert_ptr_nonnull (dt_reader_take (&r, 0));
    ck_assert_int_eq (r.bad, 0);
}
END_TEST

START_TEST (failing_allocations)
{
    struct dt_buf b;
    size_t n;

    for (n = 0;; n++) {
        dt_mem_fail_after (n);
        dt_buf_init (&b);
        write_sample (&b);
        ck_assert_int_eq (b.failed, dt_mem_fail_hit ());
        if (!b.failed)
            break;
        ck_assert_ptr_null (dt_buf_str (&b)); /* failed sticks */
        dt_buf_done (&b);
        ck_assert_int_eq (b.failed, 0);
    }
    dt_mem_fail_after (SIZE_MAX);
    ck_assert_uint_gt (n, 2);
    dt_buf_done (&b);
}
END_TEST

/* From Python: hashlib.blake2b (data, digest_size=32, person=domain). */
static const struct {
    const char *domain, *data, *hex;
} digests[] = {
    { "tuple", "", "7dedb9bb4dcea3d0311279c1aeeec74f07804ca2b2823e09cdd9b0a5a96f5b40" },
    { "tuple", "abc", "dd380182de8f0822e23bf32e371b7be37c7b58dd9b200d2744ef8a4b28bbc022" },
    { "trace", "abc", "d8cde3814c4fd8f0f2aa39af97ee98591f2b37dca42f236595d15a059a1d2296" },
    { "", "abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319" },
};

START_TEST (known_digest)
{
    size_t n = strlen (digests[_i].data);
    struct dt_digest d = dt_digest_of (digests[_i].domain, digests[_i].data, n), parsed;
    char hex[DT_DIGEST_HEX];

    ck_assert_ptr_eq (dt_digest_hex (&d, hex), hex);
    ck_assert_str_eq (hex, digests[_i].hex);
    ck_assert_int_eq (dt_digest_parse (hex, &parsed), 0);
    ck_assert (dt_digest_equal (&d, &parsed));
    parsed.bytes[31] ^= 1;
    ck_assert (!dt_digest_equal (&d, &parsed));
}
END_TEST

START_TEST (digest_in_pieces)
{
    uint8_t data[1024];
    struct dt_digest_state s;
    struct dt_digest whole, d;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    dt_digest_parse ("e8fba9cd6c869dbef7b0b72d4a388602553a881779858189ae3e8cd8ce6751f7", &whole);
    for (size_t step = 1; step < sizeof data; step = step * 3 + 1) {
        dt_digest_begin (&s, "sixteen-chars-ok");
        for (size_t at = 0; at < sizeof data; at += step)
            dt_digest_add (&s, data + at, step < sizeof data - at ? step : sizeof data - at);
        dt_digest_add (&s, NULL, 0);
        d = dt_digest_end (&s);
        ck_assert (dt_digest_equal (&d, &whole));
    }
}
END_TEST

START_TEST (digest_parse)
{
    char hex[DT_DIGEST_HEX + 1];
    struct dt_digest d, untouched = { { 9 } };

    memset (hex, 'A', DT_DIGEST_HEX);
    hex[DT_DIGEST_HEX] = '\0';
    ck_assert_int_eq (dt_digest_parse (hex, &untouched), -EINVAL); /* 65 digits */
    hex[64] = '\0';
    ck_assert_int_eq (dt_digest_parse (hex, &d), 0);
    ck_assert_uint_eq (d.bytes[0], 0xaa);
    hex[0] = 'g';
    ck_assert_int_eq (dt_digest_parse (hex, &untouched), -EINVAL);
    ck_assert_int_eq (dt_digest_parse ("", &untouched), -EINVAL);
    ck_assert_uint_eq (untouched.bytes[0], 9);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("base/bytes");
    TCase *tc = tcase_create ("buf"), *dg = tcase_create ("digest");

    tcase_add_test (tc, fixed_width);
    tcase_add_test (tc, text);
    tcase_add_loop_test (tc, varint, 0, (int)DT_ARRAY_SIZE (varints));
    tcase_add_loop_test (tc, bad_varint, 0, (int)DT_ARRAY_SIZE (bad_varints));
    tcase_add_test (tc, reader_stops);
    tcase_add_test (tc, failing_allocations);
    suite_add_tcase (s, tc);
    tcase_add_loop_test (dg, known_digest, 0, (int)DT_ARRAY_SIZE (digests));
    tcase_add_test (dg, digest_in_pieces);
    tcase_add_test (dg, digest_parse);
    suite_add_tcase (s, dg);
    return suite_run (s);
}
