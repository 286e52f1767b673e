/* detent/detent.h - the engine's side of Detent (libdetent).
 *
 * An engine opens Detent once when it starts, asks for the selector of each
 * (family, site) that it runs, and then selects parameters for each call:
 *
 *     struct detent_options o = { .deployment = "host-small", .workload = "chat",
 *                                 .without_tuple = DETENT_REFUSE };
 *     detent_open (&o, &d, &err);
 *     detent_check_backend (d, name, build, libraries, driver, device, units, &err);
 *     if (detent_why_stock (d)) ...                // say it loudly
 *     detent_selector_new (d, "attention", "decoder", 64, &s, &err);
 *     detent_selector_check_limits (s, limits, n, &err);
 *     detent_select (s, &call, &choice, &err);     // per call, no allocation
 *
 * engines/ref/ref.c is a whole engine in this manner.
 *
 * Errors: functions return 0 or a negative code (-errno, or -1000 and below: the
 * DETENT_E... codes) and fill `err` (may be NULL) with one line.  An error of
 * detent_select means that the engine must stop and run no other kernel.
 * Pointers are not NULL unless it says so.
 *
 * Threads: a struct detent may be shared once detent_check_backend is done.  A
 * selector belongs to one thread; make one for each. */
#ifndef DETENT_H
#define DETENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DETENT_API __attribute__ ((visibility ("default")))

#define DETENT_EINPUT 1001       /* an argument's content is not valid         */
#define DETENT_ELIMIT 1002       /* a named limit is exceeded                  */
#define DETENT_EEVAL 1005        /* the selection program failed on this call  */
#define DETENT_EREFUSED 1006     /* a condition or domain refuses this call    */
#define DETENT_ECORRUPT 1007     /* digest or signature does not hold          */
#define DETENT_EVERSION 1008     /* written by a version this one cannot read  */
#define DETENT_EUNREACH 1009     /* detentd does not answer                    */
#define DETENT_ENOTFOUND 1015    /* no such deployment, workload or site       */
#define DETENT_EENVIRONMENT 1017 /* the tuple is for another backend or device */

struct detent_error {
    char text[1024];
};

struct detent;          /* one fetched bundle, immutable                      */
struct detent_selector; /* one site's selector, with its thread's memory      */

/* What to do when there is no valid tuple: stop, or run the stock selection.
 * There is no default: 0 is refused.
 *
 * Stock selectors come with a bundle and are as well verified as pinned ones.  So
 * with DETENT_STOCK an engine runs stock
 *   - of the fetched bundle, if its tuple is not the one of required_bits, or is for
 *     another backend (detent_check_backend);
 *   - of the last good bundle at bundle_path, if none could be fetched (detentd is
 *     down or fails, knows no such workload, or what it sent does not verify);
 * and with no bundle at all it stops like DETENT_REFUSE.  Whenever it runs stock in
 * place of a tuple, detent_why_stock says why: print it. */
enum detent_without { DETENT_REFUSE = 1, DETENT_STOCK = 2 };
enum detent_variant { DETENT_PINNED = 0, DETENT_UNPINNED = 1 };

struct detent_options {
    const char *endpoint;   /* ipc://PATH; NULL: $DETENT_ENDPOINT, else the
                               daemon's default (see libdetent(3))             */
    const char *deployment;
    const char *workload;
    enum detent_without without_tuple;
    enum detent_variant variant; /* DETENT_UNPINNED runs stock, for comparison */
    const uint8_t *snapshot;     /* 32 bytes: the commit that other ranks run;
                                    NULL: the newest                           */
    const uint8_t *signer;       /* 32 bytes: accept this key only; NULL: trust
                                    the daemon behind its private socket       */
    const char *bundle_path;     /* keep the last good bundle there (0600);
                                    NULL: no                                    */
    const uint8_t *required_bits; /* 32 bytes: must be the tuple's bits digest.
                                     Only with it may an engine start from
                                     bundle_path while detentd is down          */
    int timeout_ms;         /* 0: 5000                                         */
};

/* The engine's limits, checked once against the programs' domains, so that a
 * refusal while serving can only be a bug.  quantity: "requests", "longest_kv",
 * ... of the family's call schema. */
struct detent_limit {
    const char *quantity; /* of the call, or of a row: see struct detent_call */
    int64_t lo, hi; /* every value the engine may present lies between */
    int64_t step;   /* ... and is lo, lo + step, ...; 0 or 1: any of them   */
};

/* Fetch, verify digests, signature and blobs, and keep the bundle.
 * *ret is owned by the caller.
 *   -DETENT_EINPUT     an option is not valid, the endpoint among them
 *   -DETENT_EUNREACH, -DETENT_ENOTFOUND   as detentd (does not) answer; what else it
 *                      answers is passed on, as its failing store
 *   -DETENT_ECORRUPT   a digest, the signature, the signer, the snapshot or a selector
 *                      is not what it must be
 *   -DETENT_EVERSION   of a version that this library does not read, or the reply is
 *   -DETENT_EREFUSED   the tuple is not the one of required_bits; a free field has neither
 *                      certificate nor claim, or its certificate was revoked
 *   -DETENT_EENVIRONMENT  a certificate is of another backend than the tuple
 *   -ENOMEM, or -errno of writing bundle_path */
DETENT_API int detent_open (const struct detent_options *options, struct detent **ret,
                            struct detent_error *err);
DETENT_API void detent_close (struct detent *d); /* NULL ok */

/* Identity of what was fetched.  Borrowed, 32 bytes. */
DETENT_API const uint8_t *detent_bits_digest (const struct detent *d);
DETENT_API const uint8_t *detent_tuple_digest (const struct detent *d);
DETENT_API const uint8_t *detent_snapshot (const struct detent *d);
/* 1: the engine runs the stock selection, by its own setting. */
DETENT_API int detent_is_stock (const struct detent *d);
/* Why it does so although it asked for the tuple; NULL if that is not so.  Borrowed. */
DETENT_API const char *detent_why_stock (const struct detent *d);

/* The sites of the tuple, by index: 1 and borrowed names, or 0 after the last. */
DETENT_API int detent_site (const struct detent *d, size_t i, const char **ret_family,
                            const char **ret_site);
/* A fact of a site (head_dim, ...) that is an int or a bool.
 *   -DETENT_ENOTFOUND  no such site, or no such fact of it */
DETENT_API int detent_site_fact (const struct detent *d, const char *family, const char *site,
                                 const char *fact, int64_t *ret, struct detent_error *err);

/* The backend that the tuple was tuned on, one field by name ("name", "build",
 * "libraries", "driver", "device"), borrowed; NULL if there is no such field. */
DETENT_API const char *detent_backend_field (const struct detent *d, const char *field);
/* Its units: open a host backend with as many. */
DETENT_API uint32_t detent_backend_units (const struct detent *d);
/* Refuse to serve on another backend: pass what the loaded one reports.  With
 * DETENT_STOCK a difference is no error: selectors made from now on are stock.
 *   -DETENT_EENVIRONMENT  naming the field and both values */
DETENT_API int detent_check_backend (struct detent *d, const char *name, const char *build,
                                     const char *libraries, const char *driver,
                                     const char *device, uint32_t units,
                                     struct detent_error *err);

/* A selector for one thread.  Owned by the caller; `d` must outlive it.
 *   -DETENT_ENOTFOUND     the tuple has no such site
 *   -DETENT_EENVIRONMENT  a pinned one, and detent_check_backend was not passed
 *   -DETENT_EINPUT        max_requests is 0 or above 65536
 *   -ENOMEM */
DETENT_API int detent_selector_new (const struct detent *d, const char *family,
                                    const char *site, size_t max_requests,
                                    struct detent_selector **ret, struct detent_error *err);
DETENT_API void detent_selector_free (struct detent_selector *s);
/* Every input that the program reads needs a limit; other limits are ignored.
 *   -DETENT_EREFUSED  a value within the limits is outside an input's domain
 *   -DETENT_EINPUT    no such quantity, one twice, hi < lo, step < 0, or an input
 *                     without a limit */
DETENT_API int detent_selector_check_limits (const struct detent_selector *s,
                                             const struct detent_limit *limit, size_t n_limits,
                                             struct detent_error *err);

/* One call: the family's fields for each row, row-major.  Borrowed.
 *
 * family     fields of a row              quantities of the call
 * attention  query_len, kv_len            requests, longest_query, longest_kv,
 *                                         total_query, total_kv,
 *                                         tiles_8, tiles_16, tiles_32, tiles_64;
 *                                         of each request: query_length, kv_length
 * gemm       tokens                       tokens
 * rowwise    tokens                       tokens
 * allreduce  bytes, captured              bytes, captured
 * moe        tokens, load                 tokens, experts, longest_load
 *
 * attention: a row is a request; query_len are the tokens that ask in this call, kv_len
 * those that they may see, themselves included.  tiles_R counts the pairs of R query
 * tokens and 128 keys, each request rounded up: the work that a kernel with such tiles
 * sees (a kernel with 64 rows of 8 heads a KV head: tiles_8).
 * gemm, rowwise, allreduce: a row is a part of the call, usually the whole, with padding
 * as the kernel sees it; captured is 1 if the call is part of a CUDA graph.
 * moe: a row is a part of the call with its tokens and a load of 0, or an expert of this
 * rank with its load (token-expert pairs) and 0 tokens; experts are those with a load. */
struct detent_call {
    size_t n_requests; /* rows */
    const int64_t *request;
};

/* The parameters of a call.  value[i] belongs to detent_selector_field (s, i); for
 * a per-request field use each[i][request] instead (else each[i] is NULL).
 * Enum members are numbers; detent_selector_text has their text.  Borrowed from the
 * selector until its next use. */
struct detent_choice {
    size_t n_fields;
    const int64_t *value;
    const int64_t *const *each;
};

DETENT_API size_t detent_selector_fields (const struct detent_selector *s);
DETENT_API const char *detent_selector_field (const struct detent_selector *s, size_t i);
/* 1 if output bits may depend on the field. */
DETENT_API int detent_selector_binding (const struct detent_selector *s, size_t i);

/* The text of an enum member; NULL if `value` is none.  Borrowed. */
DETENT_API const char *detent_selector_text (const struct detent_selector *s, int64_t value);

/* Select.  Allocates nothing.  A call seen before costs a hash and a compare, and
 * one more for each request where the program reads inputs of the request.
 *   -DETENT_EREFUSED  a condition or a domain refuses: stop
 *   -DETENT_EEVAL     the program fails on this call: stop
 *   -DETENT_EINPUT    no request, more than max_requests, or a negative field */
DETENT_API int detent_select (struct detent_selector *s, const struct detent_call *call,
                              struct detent_choice *ret, struct detent_error *err);

/* --- attesting -------------------------------------------------------------
 * Tell Detent what ran: call it with the inputs of the step that ran and the values
 * that its kernels were really given, read back from the launch and not from what was
 * selected.  An engine that resolved its choice once, at a dummy call, is caught where
 * another call would have got other values; where all get the same, that is accepted.
 *
 * used: the fields in order, one value each, or one for each request where
 * detent_choice has an array.  A free field that differs is counted and told in `err`,
 * and is no error; else `err` is "" on success.  Allocates nothing; the selector's last
 * choice is overwritten.
 *   -DETENT_EREFUSED  a binding field differs: the text names the call's quantities,
 *                     the field and both values
 *   or as detent_select */
DETENT_API int detent_attest (struct detent_selector *s, const struct detent_call *call,
                              const int64_t *used, struct detent_error *err);
/* Calls compared so far; those refused; free fields that differed. */
struct detent_attested {
    uint64_t calls, refused, free_differs;
};
DETENT_API struct detent_attested detent_attested (const struct detent_selector *s);

/* --- recording -------------------------------------------------------------
 * A recorder collects the calls of one process and writes a .dtrace, which names the
 * tuple that ran: not if it was stock, nor if the recorder was made before
 * detent_check_backend.
 *   -DETENT_ENOTFOUND  no such site
 *   -DETENT_ELIMIT     the trace is full: write it, and go on with a new recorder */
struct detent_recorder;
DETENT_API int detent_recorder_new (const struct detent *d, struct detent_recorder **ret,
                                    struct detent_error *err);
/* Thread-safe.  Equal calls are counted. */
DETENT_API int detent_record (struct detent_recorder *r, const char *family, const char *site,
                              const struct detent_call *call, struct detent_error *err);
DETENT_API int detent_recorder_write (struct detent_recorder *r, const char *path,
                                      struct detent_error *err);
DETENT_API void detent_recorder_free (struct detent_recorder *r);

#ifdef __cplusplus
}
#endif
#endif
