/* trace/dtrace_encode.c - write a trace as .dtrace. */
#include <errno.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/canon.h"
#include "base/mem.h"
#include "trace/dtrace.h"
#include "trace/dtrace_format.h"

#define BLOCK_CALLS 4096 /* calls of one block, at most; with BLOCK_REQUESTS that */
#define BLOCK_REQUESTS DT_TRACE_MAX_REQUESTS /* is under 4 MiB in the worst case:  */
_Static_assert (10 * (3 * BLOCK_CALLS + (DT_SCHEMA_MAX_FIELDS + 1) * BLOCK_REQUESTS) <
                    DT_TRACE_MAX_BLOCK, "10 bytes for each varint");
#define ZSTD_LEVEL 3

/* --- blocks ---------------------------------------------------------------- */

/* Append one block.  The payload is compressed if that makes it smaller. */
static int put_block (struct dt_buf *out, int kind, const struct dt_buf *payload,
                      struct dt_err *reterr)
{
    size_t bound = ZSTD_compressBound (payload->len), len, start = out->len;
    uint8_t *packed;
    int zstd;

    if (payload->len > DT_TRACE_MAX_BLOCK)
        return dt_err_set (reterr, -DT_ELIMIT, "trace: a block of more than %u bytes",
                           DT_TRACE_MAX_BLOCK);
    if (!(packed = dt_realloc (NULL, bound, 1)))
        return dt_err_nomem (reterr);
    len = ZSTD_compress (packed, bound, payload->data, payload->len, ZSTD_LEVEL);
    if (ZSTD_isError (len)) { /* only memory can be short */
        dt_free (packed);
        return dt_err_nomem (reterr);
    }
    zstd = len < payload->len;
    dt_buf_u32 (out, DT_TRACE_BLOCK_MAGIC);
    dt_buf_u8 (out, (uint8_t)kind);
    dt_buf_u8 (out, zstd ? DT_TRACE_BLOCK_ZSTD : 0);
    dt_buf_u16 (out, 0);
    dt_buf_u32 (out, (uint32_t)(zstd ? len : payload->len));
    dt_buf_u32 (out, (uint32_t)payload->len);
    if (!out->failed) {
        uint64_t seed = XXH3_64bits (out->data + start, DT_TRACE_BLOCK_HASHED);

        dt_buf_u64 (out, zstd ? XXH3_64bits_withSeed (packed, len, seed)
                              : XXH3_64bits_withSeed (payload->data, payload->len, seed));
    }
    dt_buf_put (out, zstd ? packed : payload->data, zstd ? len : payload->len);
    dt_free (packed);
    return out->failed ? dt_err_nomem (reterr) : 0;
}

static int put_canon (struct dt_buf *out, int kind, struct dt_canon *c, struct dt_err *reterr)
{
    int r = dt_canon_finish (c);

    if (r == -ENOMEM)
        r = dt_err_nomem (reterr);
    else if (r < 0)
        r = dt_err_set (reterr, r, "trace: a header that cannot be encoded");
    else
        r = put_block (out, kind, &c->buf, reterr);
    dt_canon_done (c);
    return r;
}

/* --- header and end -------------------------------------------------------- */

static void put_sites (const struct dt_trace *t, struct dt_canon *c)
{
    dt_canon_key (c, "sites");
    dt_canon_list (c);
    for (size_t i = 0; i < t->n_sites; i++) {
        dt_canon_map (c);
        dt_canon_kint (c, "calls_per_step", t->site[i].calls_per_step);
        dt_canon_kstr (c, "family", t->site[i].family);
        dt_canon_kstr (c, "site", t->site[i].site);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

/* Each family once, in the order of its first site. */
static void put_families (const struct dt_trace *t, struct dt_canon *c)
{
    dt_canon_key (c, "families");
    dt_canon_list (c);
    for (size_t i = 0; i < t->n_sites; i++) {
        size_t k = 0;

        while (strcmp (t->site[k].family, t->site[i].family) != 0)
            k++;
        if (k == i)
            dt_canon_str (c, t->site[i].family);
    }
    dt_canon_end (c);
}

static int put_header (const struct dt_trace *t, struct dt_buf *out, struct dt_err *reterr)
{
    struct dt_canon c;

    dt_canon_init (&c);
    dt_canon_map (&c);
    dt_canon_kstr (&c, "deployment", t->deployment);
    dt_canon_kstr (&c, "engine", t->engine);
    put_families (t, &c);
    dt_canon_key (&c, "limits");
    dt_canon_map (&c);
    for (size_t i = 0; i < t->n_limits; i++)
        dt_canon_kint (&c, t->limit[i].name, t->limit[i].value);
    dt_canon_end (&c);
    dt_canon_kstr (&c, "model", t->model);
    dt_canon_key (&c, "provenance");
    dt_canon_map (&c);
    dt_canon_kstr (&c, "importer", t->importer);
    dt_canon_kstr (&c, "options", t->options);
    dt_canon_kstr (&c, "source", t->source);
    dt_canon_kbytes (&c, "source_digest", t->source_digest.bytes, DT_DIGEST_BYTES);
    dt_canon_end (&c);
    put_sites (t, &c);
    if (t->has_tuple)
        dt_canon_kbytes (&c, "tuple", t->tuple.bytes, DT_DIGEST_BYTES);
    dt_canon_kint (&c, "version", DT_TRACE_VERSION);
    dt_canon_end (&c);
    return put_canon (out, DT_TRACE_HEADER, &c, reterr);
}

static int put_end (const struct dt_trace *t, size_t blocks, struct dt_buf *out,
                    struct dt_err *reterr)
{
    struct dt_canon c;
    size_t calls = 0, requests = 0;

    for (size_t i = 0; i < t->n_sites; i++) {
        calls += t->site[i].n_calls;
        requests += t->site[i].n_requests;
    }
    dt_canon_init (&c);
    dt_canon_map (&c);
    dt_canon_kint (&c, "blocks", (int64_t)blocks);
    dt_canon_kint (&c, "calls", (int64_t)calls);
    dt_canon_kint (&c, "requests", (int64_t)requests);
    dt_canon_end (&c);
    return put_canon (out, DT_TRACE_END, &c, reterr);
}

/* --- columns --------------------------------------------------------------- */

/* Entry k of a column of a run of calls. */
struct column {
    const struct dt_trace_site *s;
    int id;
    size_t first; /* call, or request */
};

static uint64_t entry (const struct column *c, size_t k)
{
    const struct dt_trace_site *s = c->s;
    size_t i = c->first + k;

    switch (c->id) {
    case DT_TRACE_COL_COUNT:
        return s->call[i].count;
    case DT_TRACE_COL_REQUESTS:
        return s->call[i].n_requests;
    case DT_TRACE_COL_SYNTHETIC:
        return s->call[i].synthetic;
    case DT_TRACE_COL_ID:
        return s->id[i];
    default:
        return (uint64_t)s->field[i * s->schema->n_fields + (size_t)(c->id - DT_TRACE_COL_FIELD)];
    }
}

static void put_entries (const struct column *c, size_t n, int encoding, struct dt_buf *out)
{
    uint64_t last = 0, run;

    for (size_t k = 0; k < n; k += run) {
        uint64_t v = entry (c, k);

        run = 1;
        if (encoding == DT_TRACE_ENC_DELTA)
            dt_buf_zigzag (out, (int64_t)(v - last));
        else
            dt_buf_varint (out, v);
        if (encoding == DT_TRACE_ENC_RUN) {
            while (k + run < n && entry (c, k + run) == v)
                run++;
            dt_buf_varint (out, run);
        }
        last = v;
    }
}

/* Append a column in its shortest encoding, the lowest of equal ones.  `scratch`
 * is reused. */
static void put_column (const struct column *c, size_t n, struct dt_buf scratch[2],
                        struct dt_buf *out)
{
    int best = 0, encoding = DT_TRACE_ENC_VARINT;

    scratch[0].len = 0;
    put_entries (c, n, DT_TRACE_ENC_VARINT, &scratch[0]);
    for (int e = DT_TRACE_ENC_DELTA; e <= DT_TRACE_ENC_RUN; e++) {
        scratch[!best].len = 0;
        put_entries (c, n, e, &scratch[!best]);
        if (scratch[!best].len < scratch[best].len) {
            best = !best;
            encoding = e;
        }
    }
    dt_buf_u8 (out, (uint8_t)c->id);
    dt_buf_u8 (out, (uint8_t)encoding);
    dt_buf_u32 (out, (uint32_t)scratch[best].len);
    dt_buf_put (out, scratch[best].data, scratch[best].len);
    out->failed |= scratch[0].failed | scratch[1].failed;
}

/* Calls first..first+n of a site as one payload. */
static void put_calls (const struct dt_trace *t, size_t site, size_t first, size_t n,
                       size_t n_requests, struct dt_buf scratch[2], struct dt_buf *out)
{
    const struct dt_trace_site *s = &t->site[site];
    size_t at = s->call[first].at;

    dt_buf_u16 (out, (uint16_t)site);
    dt_buf_u32 (out, (uint32_t)n);
    dt_buf_u8 (out, (uint8_t)(4 + s->schema->n_fields));
    for (int id = DT_TRACE_COL_COUNT; id <= DT_TRACE_COL_SYNTHETIC; id++)
        put_column (&(struct column){ s, id, first }, n, scratch, out);
    for (size_t f = 0; f < s->schema->n_fields; f++)
        put_column (&(struct column){ s, DT_TRACE_COL_FIELD + (int)f, at }, n_requests, scratch, out);
    put_column (&(struct column){ s, DT_TRACE_COL_ID, at }, n_requests, scratch, out);
}

static int put_site (const struct dt_trace *t, size_t site, size_t *blocks,
                     struct dt_buf work[3], struct dt_buf *out, struct dt_err *reterr)
{
    const struct dt_trace_site *s = &t->site[site];
    size_t n, requests;
    int r;

    for (size_t first = 0; first < s->n_calls; first += n) {
        for (n = requests = 0; n < BLOCK_CALLS && first + n < s->n_calls &&
                               requests + s->call[first + n].n_requests <= BLOCK_REQUESTS; n++)
            requests += s->call[first + n].n_requests;
        work[2].len = 0;
        put_calls (t, site, first, n, requests, work, &work[2]);
        if (work[2].failed)
            return dt_err_nomem (reterr);
        if ((r = put_block (out, DT_TRACE_CALLS, &work[2], reterr)) < 0)
            return r;
        ++*blocks;
    }
    return 0;
}

int dt_trace_encode (const struct dt_trace *t, struct dt_buf *ret, struct dt_err *reterr)
{
    struct dt_buf out = { 0 }, work[3] = { { 0 } };
    size_t blocks = 1;
    int r;

    dt_buf_put (&out, DT_TRACE_MAGIC, DT_TRACE_MAGIC_BYTES);
    r = put_header (t, &out, reterr);
    for (size_t i = 0; r == 0 && i < t->n_sites; i++)
        r = put_site (t, i, &blocks, work, &out, reterr);
    if (r == 0)
        r = put_end (t, blocks, &out, reterr);
    if (r == 0) {
        dt_buf_put (ret, out.data, out.len);
        if (ret->failed)
            r = dt_err_nomem (reterr);
    }
    for (size_t i = 0; i < DT_ARRAY_SIZE (work); i++)
        dt_buf_done (&work[i]);
    dt_buf_done (&out);
    return r;
}
