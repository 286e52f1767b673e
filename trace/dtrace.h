/* trace/dtrace.h - the .dtrace format: recorded calls of kernel families.
 * Uses: base/, trace/schema.h.  Used by: tuner, detentd, detentctl, libdetent.
 *
 * A file is the 8 bytes "DTRACE1\n" and then blocks; each stands alone:
 *
 *   u32 magic 0x4b4c4244 ("DBLK")   u8 kind   u8 flags (bit 0: zstd)   u16 0
 *   u32 stored bytes   u32 plain bytes   u64 XXH3-64 of the stored payload
 *   payload
 *
 *   kind 1  header: a canon map {deployment, engine, families: [names], limits:
 *           {name: int}, model, provenance: {importer, source, source_digest,
 *           options...}, sites: [{calls_per_step, family, site}], tuple (digest
 *           under which it was recorded; absent if none), version: 1}
 *   kind 2  calls: u16 site (index into the header's sites), u32 n calls, u8
 *           columns, then columns, each: u8 column id, u8 encoding, u32 bytes,
 *           data.  Column ids: 1 count (how often the call came), 2 n_requests,
 *           3 synthetic (0/1: a model made the call's data), 16+k: field k of
 *           the family's schema, all requests of all calls in order, 32: request
 *           ids.  Encodings: 1 varint, 2 zigzag delta to the entry before,
 *           3 run length (varint value, varint repeats).  Unknown column ids are
 *           skipped, unknown encodings refused.
 *   kind 3  end: canon map {calls, requests, blocks}: a file without it is
 *           truncated.
 *
 * All integers are little-endian.  Equal calls of one site are merged with
 * counts by the writer within a block. */
#ifndef DT_TRACE_DTRACE_H
#define DT_TRACE_DTRACE_H

#include "base/buf.h"
#include "base/digest.h"
#include "trace/schema.h"

#define DT_TRACE_MAX_BLOCK (8u << 20)   /* plain bytes of one block             */
#define DT_TRACE_MAX_BYTES (256u << 20) /* of a whole trace in memory           */
#define DT_TRACE_MAX_REQUESTS 65536     /* of one call                          */

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
};

struct dt_trace {
    char *deployment, *engine, *model;
    char *importer, *source; /* provenance: "azure-csv", file name */
    struct dt_digest source_digest;
    char *options;           /* provenance: the importer's options as text */
    struct { char *name; int64_t value; } *limit;
    size_t n_limits;
    struct dt_trace_site *site;
    size_t n_sites;
    int has_tuple;
    struct dt_digest tuple;
};

struct dt_trace *dt_trace_new (void);
struct dt_trace *dt_trace_free (struct dt_trace *t); /* NULL ok; returns NULL */
/* Index of a new site, or a negative code (-DT_EINPUT: unknown family). */
int dt_trace_add_site (struct dt_trace *t, const char *family, const char *site,
                       int64_t calls_per_step, struct dt_err *reterr);
/* Append a call; a call equal to one that is there raises its count. */
int dt_trace_add_call (struct dt_trace *t, size_t site, uint64_t count, int synthetic,
                       const struct dt_call *call, const uint64_t *id, struct dt_err *reterr);
/* The call as the schema's functions take it; borrowed. */
struct dt_call dt_trace_call_get (const struct dt_trace_site *s, size_t i);

/* Encode the whole; the same trace gives the same bytes. */
int dt_trace_encode (const struct dt_trace *t, struct dt_buf *ret, struct dt_err *reterr);
/*   -DT_ECORRUPT  a checksum or layout fault: text names byte offset and block
 *   -DT_ELIMIT, -DT_EVERSION */
int dt_trace_decode (const void *data, size_t n, struct dt_trace **ret, struct dt_err *reterr);
/* Content address of an encoded trace (digest domain "trace"). */
struct dt_digest dt_trace_digest (const void *data, size_t n);

#endif
