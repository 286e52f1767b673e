/* trace/dtrace_decode.c - read .dtrace from bytes that nobody vouches for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/canon.h"
#include "base/mem.h"
#include "trace/dtrace.h"
#include "trace/dtrace_format.h"

struct decode {
    struct dt_reader in;
    struct dt_trace *t;
    size_t block, at;       /* number and offset of the block at hand           */
    uint8_t kind;
    const uint8_t *payload; /* plain; borrowed from the input or from `plain`   */
    size_t payload_len;
    uint8_t *plain;         /* [DT_TRACE_MAX_BLOCK] once a block is compressed  */
    size_t calls, requests; /* before merging                                   */
    struct dt_trace_lost *lost; /* NULL: what is damaged is refused             */
};

static int corrupt (const struct decode *d, struct dt_err *reterr, const char *why)
{
    return dt_err_set (reterr, -DT_ECORRUPT, "trace: block %zu at byte %zu: %s", d->block, d->at,
                       why);
}

/* Name the block in front of what a callee said. */
static int in_block (const struct decode *d, int r, struct dt_err *reterr)
{
    return dt_err_prefix (reterr, r, "trace: block %zu at byte %zu", d->block, d->at);
}

/* --- blocks ---------------------------------------------------------------- */

static int unpack (struct decode *d, const uint8_t *stored, size_t n, size_t plain_len,
                   struct dt_err *reterr)
{
    size_t len;

    if (!d->plain && !(d->plain = dt_realloc (NULL, DT_TRACE_MAX_BLOCK, 1)))
        return dt_err_nomem (reterr);
    len = ZSTD_decompress (d->plain, plain_len, stored, n);
    if (ZSTD_isError (len))
        return corrupt (d, reterr, ZSTD_getErrorName (len));
    if (len != plain_len)
        return corrupt (d, reterr, "the payload's length is not the stated one");
    d->payload = d->plain;
    return 0;
}

/* The next block, checked and plain, in d->kind and d->payload. */
static int next_block (struct decode *d, struct dt_err *reterr)
{
    struct dt_reader *in = &d->in;
    const uint8_t *stored;
    uint32_t n, plain;
    uint64_t sum;
    uint8_t flags;

    d->at = in->at;
    if (dt_reader_left (in) == 0)
        return corrupt (d, reterr, "the file ends without an end block: it is truncated");
    if (dt_reader_left (in) < DT_TRACE_BLOCK_HEAD)
        return corrupt (d, reterr, "truncated in a block's head");
    if (dt_reader_u32 (in) != DT_TRACE_BLOCK_MAGIC)
        return corrupt (d, reterr, "not a block");
    d->kind = dt_reader_u8 (in);
    flags = dt_reader_u8 (in);
    if (dt_reader_u16 (in) != 0 || flags & ~DT_TRACE_BLOCK_ZSTD || d->kind < DT_TRACE_HEADER ||
        d->kind > DT_TRACE_END)
        return corrupt (d, reterr, "unknown kind or flags");
    n = dt_reader_u32 (in);
    plain = dt_reader_u32 (in);
    sum = dt_reader_u64 (in);
    if (n > DT_TRACE_MAX_BLOCK || plain > DT_TRACE_MAX_BLOCK)
        return corrupt (d, reterr, "longer than a block may be");
    if (!(stored = dt_reader_take (in, n)))
        return corrupt (d, reterr, "truncated in a block's payload");
    if (XXH3_64bits_withSeed (stored, n, XXH3_64bits (in->data + d->at, DT_TRACE_BLOCK_HASHED)) != sum)
        return corrupt (d, reterr, "the checksum does not hold");
    d->payload = stored;
    d->payload_len = plain;
    if (flags & DT_TRACE_BLOCK_ZSTD)
        return unpack (d, stored, n, plain, reterr);
    return n == plain ? 0 : corrupt (d, reterr, "the payload's length is not the stated one");
}

/* --- header ---------------------------------------------------------------- */

/* Text of an entry of a map into one of the trace's texts. */
static int get_text (const struct decode *d, struct dt_canon_value map, const char *key,
                     char **ret, struct dt_err *reterr)
{
    char text[DT_TRACE_MAX_TEXT + 1], why[96];

    if (dt_canon_as_str (dt_canon_get (map, key), text, sizeof text) < 0) {
        snprintf (why, sizeof why, "header: no text '%s'", key);
        return corrupt (d, reterr, why);
    }
    return dt_trace_text (ret, text, reterr);
}

/* A digest; absent entries leave *ret alone. */
static int get_digest (const struct decode *d, struct dt_canon_value map, const char *key,
                       struct dt_digest *ret, int *ret_has, struct dt_err *reterr)
{
    struct dt_canon_value v = dt_canon_get (map, key);
    const uint8_t *p;
    size_t n;

    *ret_has = 0;
    if (!dt_canon_tag (v))
        return 0;
    if (dt_canon_as_bytes (v, &p, &n) < 0 || n != DT_DIGEST_BYTES)
        return corrupt (d, reterr, "header: a digest is malformed");
    memcpy (ret->bytes, p, n);
    *ret_has = 1;
    return 0;
}

static int get_limits (struct decode *d, struct dt_canon_value map, struct dt_err *reterr)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value v;
    const char *key;
    char *name;
    int64_t value;
    size_t n;
    int r = 0;

    if (dt_canon_tag (map) != 'm')
        return corrupt (d, reterr, "header: no limits");
    while (r == 0 && dt_canon_next (map, &it, &key, &n, &v)) {
        if (dt_canon_as_int (v, &value) < 0)
            return corrupt (d, reterr, "header: a limit is not an integer");
        if (!(name = dt_strndup (key, n)))
            return dt_err_nomem (reterr);
        if ((r = dt_trace_add_limit (d->t, name, value, reterr)) < 0)
            r = in_block (d, r, reterr);
        dt_free (name);
    }
    return r;
}

static int get_site (struct decode *d, struct dt_canon_value v, struct dt_err *reterr)
{
    char *family = NULL, *site = NULL;
    int64_t calls_per_step;
    int r;

    if (dt_canon_as_int (dt_canon_get (v, "calls_per_step"), &calls_per_step) < 0)
        return corrupt (d, reterr, "header: a site without calls_per_step");
    if ((r = get_text (d, v, "family", &family, reterr)) < 0 ||
        (r = get_text (d, v, "site", &site, reterr)) < 0)
        goto fail;
    if (!dt_schema_find (family)) {
        r = dt_err_set (reterr, -DT_EVERSION, "trace: this version does not know family '%.64s'",
                        family);
        goto fail;
    }
    if ((r = dt_trace_add_site (d->t, family, site, calls_per_step, reterr)) < 0)
        r = in_block (d, r == -DT_EINPUT ? -DT_ECORRUPT : r, reterr);
fail:
    dt_free (family);
    dt_free (site);
    return r < 0 ? r : 0;
}

static int get_sites (struct decode *d, struct dt_canon_value list, struct dt_err *reterr)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value v;
    int r = 0;

    if (dt_canon_tag (list) != 'l')
        return corrupt (d, reterr, "header: no sites");
    while (r == 0 && dt_canon_next (list, &it, NULL, NULL, &v))
        r = get_site (d, v, reterr);
    return r;
}

static int get_header (struct decode *d, struct dt_err *reterr)
{
    struct dt_trace *t = d->t;
    struct dt_canon_value v, p;
    int64_t version;
    int r, has;

    if ((r = dt_canon_check (d->payload, d->payload_len, &v, reterr)) < 0)
        return in_block (d, r, reterr);
    if (dt_canon_as_int (dt_canon_get (v, "version"), &version) < 0)
        return corrupt (d, reterr, "header: no version");
    if (version != DT_TRACE_VERSION)
        return dt_err_set (reterr, -DT_EVERSION, "trace: version %lld of the format; this reads %d",
                           (long long)version, DT_TRACE_VERSION);
    p = dt_canon_get (v, "provenance");
    if ((r = get_text (d, v, "deployment", &t->deployment, reterr)) < 0 ||
        (r = get_text (d, v, "engine", &t->engine, reterr)) < 0 ||
        (r = get_text (d, v, "model", &t->model, reterr)) < 0 ||
        (r = get_text (d, p, "importer", &t->importer, reterr)) < 0 ||
        (r = get_text (d, p, "options", &t->options, reterr)) < 0 ||
        (r = get_text (d, p, "source", &t->source, reterr)) < 0 ||
        (r = get_digest (d, p, "source_digest", &t->source_digest, &has, reterr)) < 0 ||
        (r = get_digest (d, v, "tuple", &t->tuple, &t->has_tuple, reterr)) < 0 ||
        (r = get_limits (d, dt_canon_get (v, "limits"), reterr)) < 0)
        return r;
    return get_sites (d, dt_canon_get (v, "sites"), reterr);
}

static int get_end (struct decode *d, struct dt_err *reterr)
{
    struct dt_canon_value v;
    int64_t blocks, calls, requests;
    int r;

    if ((r = dt_canon_check (d->payload, d->payload_len, &v, reterr)) < 0)
        return in_block (d, r, reterr);
    if (dt_canon_as_int (dt_canon_get (v, "blocks"), &blocks) < 0 ||
        dt_canon_as_int (dt_canon_get (v, "calls"), &calls) < 0 ||
        dt_canon_as_int (dt_canon_get (v, "requests"), &requests) < 0)
        return corrupt (d, reterr, "the end block is malformed");
    if ((uint64_t)blocks != d->block || (uint64_t)calls != d->calls ||
        (uint64_t)requests != d->requests)
        return corrupt (d, reterr, "the end block counts other blocks, calls or requests: some are missing");
    return dt_reader_left (&d->in) ? corrupt (d, reterr, "bytes after the end block") : 0;
}

/* --- calls ----------------------------------------------------------------- */

/* The columns of one block, row-major fields. */
struct columns {
    const struct dt_schema *schema;
    uint32_t n;        /* calls    */
    size_t n_requests; /* of them all */
    uint64_t *count, *size, *synthetic; /* [n] */
    uint64_t *field;   /* [n_requests * n_fields] */
    uint64_t *id;      /* [n_requests] or NULL */
    unsigned seen;     /* fields, by bit */
};

static void columns_done (struct columns *c)
{
    dt_free (c->count);
    dt_free (c->size);
    dt_free (c->synthetic);
    dt_free (c->field);
    dt_free (c->id);
}

/* n entries to ret[0], ret[stride], ...; what is wrong, or NULL. */
static const char *get_entries (struct dt_reader *in, int encoding, uint64_t *ret, size_t n,
                                size_t stride)
{
    uint64_t v = 0, run = 1;

    if (encoding < DT_TRACE_ENC_VARINT || encoding > DT_TRACE_ENC_RUN)
        return "a column has an unknown encoding";
    for (size_t k = 0; k < n && !in->bad; k += run) {
        if (encoding == DT_TRACE_ENC_DELTA)
            v += (uint64_t)dt_reader_zigzag (in);
        else
            v = dt_reader_varint (in);
        if (encoding == DT_TRACE_ENC_RUN)
            run = dt_reader_varint (in);
        if (run == 0 || run > n - k)
            return "a column's run is out of bounds";
        for (size_t i = 0; i < run; i++)
            ret[(k + i) * stride] = v;
    }
    return in->bad || dt_reader_left (in) ? "a column's length does not fit its entries" : NULL;
}

/* Sum up the calls' sizes once they are known. */
static const char *count_requests (struct columns *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->size[i] == 0 || c->size[i] > DT_TRACE_MAX_REQUESTS - c->n_requests)
            return "a call has no requests, or the block too many";
        c->n_requests += c->size[i];
    }
    return NULL;
}

/* Where column `id` goes, allocated; *ret NULL: unknown, skip.  The ascending order
 * of ids lets sizes come before fields. */
static int place (struct columns *c, int id, uint64_t **ret, size_t *ret_n, size_t *ret_stride)
{
    size_t f = c->schema->n_fields;
    uint64_t **to = id == DT_TRACE_COL_COUNT     ? &c->count
                    : id == DT_TRACE_COL_REQUESTS ? &c->size
                    : id == DT_TRACE_COL_SYNTHETIC ? &c->synthetic
                    : id == DT_TRACE_COL_ID        ? &c->id
                                                   : &c->field;
    int is_field = id >= DT_TRACE_COL_FIELD && id < DT_TRACE_COL_FIELD + (int)f;

    *ret = NULL;
    if (to == &c->field && !is_field)
        return 0;
    *ret_n = id < DT_TRACE_COL_FIELD ? c->n : c->n_requests;
    *ret_stride = is_field ? f : 1;
    if (!*to && !(*to = dt_calloc (*ret_n * *ret_stride, sizeof **to)))
        return -ENOMEM;
    *ret = *to + (is_field ? id - DT_TRACE_COL_FIELD : 0);
    c->seen |= is_field ? 1u << (id - DT_TRACE_COL_FIELD) : 0;
    return 0;
}

static int get_column (const struct decode *d, struct dt_reader *in, int *last, struct columns *c,
                       struct dt_err *reterr)
{
    int id = dt_reader_u8 (in), encoding = dt_reader_u8 (in);
    uint32_t len = dt_reader_u32 (in);
    const uint8_t *data = dt_reader_take (in, len);
    const char *why = NULL;
    struct dt_reader sub;
    uint64_t *to;
    size_t n, stride;

    if (!data)
        return corrupt (d, reterr, "a column leaves its block");
    if (id <= *last)
        return corrupt (d, reterr, "columns are not in ascending order");
    *last = id;
    if (place (c, id, &to, &n, &stride) < 0)
        return dt_err_nomem (reterr);
    if (!to)
        return 0;
    dt_reader_init (&sub, data, len);
    why = get_entries (&sub, encoding, to, n, stride);
    if (!why && id == DT_TRACE_COL_REQUESTS)
        why = count_requests (c);
    return why ? corrupt (d, reterr, why) : 0;
}

/* What the columns say must be what dt_trace_add_call takes. */
static const char *check_columns (const struct columns *c)
{
    if (!c->count || !c->size || c->seen != (1u << c->schema->n_fields) - 1)
        return "a block of calls lacks a column";
    for (uint32_t i = 0; i < c->n; i++)
        if (c->count[i] == 0 || (c->synthetic && c->synthetic[i] > 1))
            return "a call's count is 0, or its synthetic mark neither 0 nor 1";
    for (size_t i = 0; i < c->n_requests * c->schema->n_fields; i++)
        if (c->field[i] > INT64_MAX)
            return "a field is negative";
    return NULL;
}

static int add_calls (struct decode *d, size_t site, const struct columns *c,
                      struct dt_err *reterr)
{
    size_t at = 0;
    int r;

    for (uint32_t i = 0; i < c->n; i++) {
        struct dt_call call = { c->size[i], (const int64_t *)c->field + at * c->schema->n_fields };

        r = dt_trace_add_call (d->t, site, c->count[i], c->synthetic && c->synthetic[i], &call,
                               c->id ? c->id + at : NULL, reterr);
        if (r < 0)
            return in_block (d, r == -DT_EINPUT ? -DT_ECORRUPT : r, reterr);
        at += c->size[i];
    }
    d->calls += c->n;
    d->requests += c->n_requests;
    return 0;
}

static int get_calls (struct decode *d, struct dt_err *reterr)
{
    struct columns c = { 0 };
    struct dt_reader in;
    const char *why;
    size_t site;
    int r = 0, n_columns, last = 0;

    dt_reader_init (&in, d->payload, d->payload_len);
    site = dt_reader_u16 (&in);
    c.n = dt_reader_u32 (&in);
    n_columns = dt_reader_u8 (&in);
    if (in.bad || site >= d->t->n_sites || c.n == 0 || c.n > DT_TRACE_MAX_REQUESTS)
        return corrupt (d, reterr, "a block of calls names no site, or no or too many calls");
    c.schema = d->t->site[site].schema;
    for (int i = 0; r == 0 && i < n_columns; i++)
        r = get_column (d, &in, &last, &c, reterr);
    if (r < 0)
        goto fail;
    why = dt_reader_left (&in) ? "bytes after the last column" : check_columns (&c);
    if (why)
        r = corrupt (d, reterr, why);
    else if ((d->requests + c.n_requests) * (c.schema->n_fields + 1) * 8 > DT_TRACE_MAX_BYTES)
        r = dt_err_set (reterr, -DT_ELIMIT, "trace: more than %u bytes of calls", DT_TRACE_MAX_BYTES);
    else
        r = add_calls (d, site, &c, reterr);
fail:
    columns_done (&c);
    return r;
}

/* --- salvage ----------------------------------------------------------------- */

/* Go to the next block whose checksum holds; 0 at the end of the file. */
static int resync (struct decode *d, size_t from)
{
    struct dt_err ignored;

    for (d->in.at = from; dt_reader_left (&d->in) >= DT_TRACE_BLOCK_HEAD; d->in.at = ++from) {
        d->in.bad = 0;
        if (d->in.data[from] != (DT_TRACE_BLOCK_MAGIC & 0xff) || next_block (d, &ignored) < 0)
            continue;
        d->in.at = from;
        return 1;
    }
    d->in.bad = 0;
    d->in.at = d->in.len;
    return 0;
}

/* Note a fault at `start`, and what follows it up to the next whole block. */
static int skip (struct decode *d, size_t start, size_t from, const struct dt_err *why)
{
    struct dt_trace_lost *lost = d->lost;
    int more = resync (d, from);

    if (!*lost->first)
        snprintf (lost->first, sizeof lost->first, "%.191s", why->text);
    lost->gaps++;
    lost->bytes += d->in.at - start;
    return more;
}

/* What the end block counts beyond what was kept. */
static void count_lost (struct decode *d)
{
    struct dt_canon_value v;
    struct dt_err ignored;
    int64_t calls, requests;

    if (dt_canon_check (d->payload, d->payload_len, &v, &ignored) < 0
        || dt_canon_as_int (dt_canon_get (v, "calls"), &calls) < 0
        || dt_canon_as_int (dt_canon_get (v, "requests"), &requests) < 0
        || (uint64_t)calls < d->calls || (uint64_t)requests < d->requests)
        return;
    d->lost->has_end = 1;
    d->lost->lost_calls = (uint64_t)calls - d->calls;
    d->lost->lost_requests = (uint64_t)requests - d->requests;
}

/* All whole blocks from the header on. */
static int salvage_blocks (struct decode *d, struct dt_err *reterr)
{
    struct dt_err why = { "" };
    int r, more = 1;

    if ((r = next_block (d, reterr)) < 0)
        return r;
    if (d->kind != DT_TRACE_HEADER)
        return corrupt (d, reterr, "no header: nothing says of which sites the calls are");
    if ((r = get_header (d, reterr)) < 0)
        return r;
    d->lost->blocks = d->block = 1;
    while (more && dt_reader_left (&d->in)) {
        size_t start = d->in.at;

        r = next_block (d, &why);
        if (r == 0 && d->kind == DT_TRACE_END) {
            count_lost (d);
            break;
        }
        if (r == 0)
            r = d->kind == DT_TRACE_CALLS ? get_calls (d, &why)
                                          : corrupt (d, &why, "a second header");
        if (r < 0 && r != -DT_ECORRUPT)
            return dt_err_set (reterr, r, "%s", why.text);
        if (r < 0)
            more = skip (d, start, start + 1, &why);
        else
            d->lost->blocks++;
        d->block++;
    }
    if (!d->lost->has_end && !*d->lost->first)
        snprintf (d->lost->first, sizeof d->lost->first, "no end block: the file is truncated");
    d->lost->calls = d->calls;
    d->lost->requests = d->requests;
    return 0;
}

/* --- the whole ------------------------------------------------------------- */

static int get_blocks (struct decode *d, struct dt_err *reterr)
{
    int r;

    for (;; d->block++) {
        if ((r = next_block (d, reterr)) < 0)
            return r;
        if ((d->block == 0) != (d->kind == DT_TRACE_HEADER))
            return corrupt (d, reterr, "the header is not the first block, or not the only one");
        if (d->kind == DT_TRACE_END)
            return get_end (d, reterr);
        r = d->kind == DT_TRACE_HEADER ? get_header (d, reterr) : get_calls (d, reterr);
        if (r < 0)
            return r;
    }
}

/* lost: NULL to refuse what is damaged. */
static int decode (const void *data, size_t n, struct dt_trace **ret, struct dt_trace_lost *lost,
                   struct dt_err *reterr)
{
    struct decode d = { .lost = lost };
    const uint8_t *magic;
    int r;

    dt_reader_init (&d.in, data, n);
    magic = dt_reader_take (&d.in, DT_TRACE_MAGIC_BYTES);
    if (!magic || memcmp (magic, DT_TRACE_MAGIC, 6) != 0)
        return dt_err_set (reterr, -DT_ECORRUPT, "trace: block 0 at byte 0: not a .dtrace file");
    if (memcmp (magic, DT_TRACE_MAGIC, DT_TRACE_MAGIC_BYTES) != 0)
        return dt_err_set (reterr, -DT_EVERSION, "trace: another version of .dtrace");
    if (!(d.t = dt_trace_new ()))
        return dt_err_nomem (reterr);
    r = lost ? salvage_blocks (&d, reterr) : get_blocks (&d, reterr);
    dt_free (d.plain);
    if (r < 0) {
        dt_trace_free (d.t);
        return r;
    }
    *ret = d.t;
    return 0;
}

int dt_trace_decode (const void *data, size_t n, struct dt_trace **ret, struct dt_err *reterr)
{
    return decode (data, n, ret, NULL, reterr);
}

int dt_trace_salvage (const void *data, size_t n, struct dt_trace **ret,
                      struct dt_trace_lost *ret_lost, struct dt_err *reterr)
{
    struct dt_trace_lost lost = { 0 };
    int r = decode (data, n, ret, &lost, reterr);

    if (r == 0)
        *ret_lost = lost;
    return r;
}
