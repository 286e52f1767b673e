/* trace/dtrace.h - the .dtrace format: recorded calls of kernel families.
 * Uses: base/, trace/schema.h.  Used by: tuner, detentd, detentctl, libdetent.
 *
 * A file is the 8 bytes "DTRACE1\n" and then blocks; each stands alone:
 *
 *   u32 magic 0x4b4c4244 ("DBLK")   u8 kind   u8 flags (bit 0: zstd)   u16 0
 *   u32 stored bytes   u32 plain bytes   u64 XXH3-64 of the stored payload,
 *   seeded with the XXH3-64 of the 16 bytes before it
 *   payload
 *
 *   kind 1  header: a canon map {deployment, engine, families: [names], limits:
 *           {name: int}, model, provenance: {importer, options, source,
 *           source_digest}, sites: [{calls_per_step, family, site}], tuple (digest
 *           under which it was recorded; absent if none), version: 1}; the first
 *           block, and the only one of its kind
 *   kind 2  calls: u16 site (index into the header's sites), u32 n calls, u8
 *           columns, then columns, each: u8 column id, u8 encoding, u32 bytes,
 *           data.  Column ids: 1 count (how often the call came), 2 n_requests,
 *           3 synthetic (0/1: a model made the call's data; absent: 0), 16+k:
 *           field k of the family's schema, all requests of all calls in order,
 *           32: request ids.  Column ids ascend.  Encodings: 1 varint, 2 zigzag
 *           delta to the entry before (the first: to 0), 3 run length (varint
 *           value, varint repeats).  Unknown column ids are skipped, unknown
 *           encodings of known columns refused.
 *   kind 3  end: canon map {blocks, calls, requests}, the blocks and their calls
 *           and requests before this one; the last block.  A file without it is
 *           truncated.
 *
 * All integers are little-endian.  Equal calls of one site are merged: the count
 * rises, and the request ids of the first are kept. */
#ifndef DT_TRACE_DTRACE_H
#define DT_TRACE_DTRACE_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/table.h"
#include "trace/schema.h"

#define DT_TRACE_MAX_BLOCK (8u << 20)   /* plain bytes of one block             */
#define DT_TRACE_MAX_BYTES (256u << 20) /* of a whole trace in memory           */
#define DT_TRACE_MAX_REQUESTS 65536     /* of one call, and of one block        */
#define DT_TRACE_MAX_SITES 4096
#define DT_TRACE_MAX_LIMITS 64
#define DT_TRACE_MAX_TEXT 4096          /* bytes of a name or other text        */

struct dt_trace_call {
    uint64_t count;
    uint32_t n_requests;
    uint8_t synthetic;
    size_t at; /* first request: field values at field[at * n_fields], ids at id[at] */
};

struct dt_trace_site {
    char *family, *site;
    const struct dt_schema *schema;
    int64_t calls_per_step;
    struct dt_trace_call *call;
    size_t n_calls, room_calls;
    int64_t *field;  /* [n_requests * schema->n_fields] */
    uint64_t *id;    /* [n_requests] request ids of the log */
    size_t n_requests, room_field, room_id;
    struct dt_table seen[2]; /* calls by their fields; [synthetic] */
};

struct dt_trace_limit {
    char *name;
    int64_t value;
};

/* Texts are never NULL: "" if not set. */
struct dt_trace {
    char *deployment, *engine, *model;
    char *importer, *source; /* provenance: "azure-csv", file name */
    struct dt_digest source_digest;
    char *options;           /* provenance: the importer's options as text */
    struct dt_trace_limit *limit; /* of the engine, ascending by name */
    size_t n_limits, room_limits;
    struct dt_trace_site *site;
    size_t n_sites, room_sites;
    size_t bytes;            /* held by calls, against DT_TRACE_MAX_BYTES */
    int has_tuple;
    struct dt_digest tuple;
};

struct dt_trace *dt_trace_new (void); /* NULL: out of memory */
struct dt_trace *dt_trace_free (struct dt_trace *t); /* NULL ok; returns NULL */
/* Replace one of the trace's texts: dt_trace_text (&t->model, "small", &err).
 *   -DT_ELIMIT  longer than DT_TRACE_MAX_TEXT */
int dt_trace_text (char **text, const char *value, struct dt_err *reterr);
/* Add a limit, or replace the one of this name. */
int dt_trace_add_limit (struct dt_trace *t, const char *name, int64_t value,
                        struct dt_err *reterr);
/* Index of a new site, or a negative code (-DT_EINPUT: unknown family, a site that
 * is there already, calls_per_step < 1). */
int dt_trace_add_site (struct dt_trace *t, const char *family, const char *site,
                       int64_t calls_per_step, struct dt_err *reterr);
/* Append a call; a call equal to one that is there (fields in order, synthetic)
 * raises its count.  id: [n_requests], or NULL for 0, 1, ...
 *   -DT_EINPUT  no request, a count of 0, a negative field, counts beyond 64 bits
 *   -DT_ELIMIT  DT_TRACE_MAX_REQUESTS or DT_TRACE_MAX_BYTES */
int dt_trace_add_call (struct dt_trace *t, size_t site, uint64_t count, int synthetic,
                       const struct dt_call *call, const uint64_t *id, struct dt_err *reterr);
/* The call as the schema's functions take it; borrowed. */
struct dt_call dt_trace_call_get (const struct dt_trace_site *s, size_t i);

/* Encode the whole, appended to `ret`; the same trace gives the same bytes with
 * the same zstd. */
int dt_trace_encode (const struct dt_trace *t, struct dt_buf *ret, struct dt_err *reterr);
/*   -DT_ECORRUPT  a checksum or layout fault: text names byte offset and block
 *   -DT_EVERSION  another version of the format, or a family unknown here
 *   -DT_ELIMIT, -ENOMEM */
int dt_trace_decode (const void *data, size_t n, struct dt_trace **ret, struct dt_err *reterr);
/* What a damaged file lost. */
struct dt_trace_lost {
    size_t blocks;           /* that are whole and were kept, the header among them        */
    size_t gaps;             /* stretches of bytes that hold no whole block                */
    uint64_t bytes;          /* in them                                                    */
    uint64_t calls, requests; /* kept; as the blocks have them                             */
    int has_end;             /* the end block is there: then these are known               */
    uint64_t lost_calls, lost_requests;
    char first[192];         /* what is wrong first: block, byte and reason; "": nothing   */
};
/* Keep the blocks that are whole: behind a fault, reading goes on at the next block whose
 * checksum holds.  The header must be whole.  Says nothing in the trace itself.
 *   as dt_trace_decode; -DT_ECORRUPT  no header */
int dt_trace_salvage (const void *data, size_t n, struct dt_trace **ret,
                      struct dt_trace_lost *ret_lost, struct dt_err *reterr);
/* Content address of an encoded trace (digest domain "trace"). */
struct dt_digest dt_trace_digest (const void *data, size_t n);

#endif
