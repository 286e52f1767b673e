/* detent/backend.h - what a kernel supplier implements.
 *
 * A backend is one shared object, detent-backend-NAME.so, that exports
 *
 *     const struct dt_backend *dt_backend_get (void);
 *
 * The worker process (detent-profiler) and engines load it with dlopen.  The
 * same binary serves tuning, certificates and inference, so that what was
 * measured is what runs.
 *
 * Words: a family is the set of kernels that one selection program chooses
 * among ("attention"); a site is one place of a model that calls it with facts
 * of its own (head_dim, ...); a parameter is one value that selection returns.
 * A parameter is binding if output bits may depend on it, else it is free.
 *
 * Errors: every function that can fail returns 0 or a negative code, either
 * -errno or -DT_E... below, and writes one line to `err` that names the family,
 * the call's shape and the parameters.  Outputs are written on success only.
 *
 * Threads: `get`, `identity` and the family table may be used from any thread.
 * A context is used by one thread at a time; several contexts may run at once. */
#ifndef DETENT_BACKEND_H
#define DETENT_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a structure below changes its layout or a function its meaning.
 * A loader refuses a backend of another number. */
#define DT_BACKEND_ABI 9u

/* Codes beside -errno.  The numbers are also those of base/err.h. */
#define DT_BACKEND_EUNSUPPORTED 1010 /* legal in form, but no kernel for it    */
#define DT_BACKEND_EDEVICE      1011 /* the device reported an error           */
#define DT_BACKEND_EUNTRUSTED   1020 /* a time that is not to be trusted       */
#define DT_BACKEND_ELOST        1021 /* the device answers this process no more, and
                                      * perhaps no other: the text has the code's name */
#define DT_BACKEND_EPEER        1022 /* another rank of the group did not come: why, it
                                      * may know itself */

/* A line of error text, always terminated. */
struct dt_backend_error {
    char text[512];
};

/* Who computes.  Two outputs may be compared bit by bit only if every field is
 * equal.  Strings are borrowed from the backend and live as long as it does. */
struct dt_backend_identity {
    const char *name;      /* "host", "cuda"                                   */
    const char *build;     /* digest of the sources and flags it was built from */
    const char *libraries; /* "libm 2.36", "cublasLt 13.1"; "" if none         */
    const char *driver;    /* "" on the host                                   */
    const char *device;    /* CPU or GPU model                                 */
    uint32_t units;        /* streaming multiprocessors, or worker threads     */
};

/* One parameter of a family.  Names are those of the selection program's output
 * fields. */
struct dt_backend_param {
    const char *name;
    const char *unit;      /* "tokens", "threads", "" for a flag or a count    */
    int binding;           /* 1: output bits may depend on it                  */
    int per_request;       /* 1: an array over requests, else one value        */
    const int64_t *values; /* [n_values] every value some kernel takes, ascending */
    size_t n_values;
    const char *why;       /* one sentence: why binding, or why free           */
};

/* One family.  `request_fields` are the numbers that describe one request of a
 * call, in the order of dt_backend_call.request; `facts` are what a site must
 * state.  A fact with values outside `lo..hi` is refused by `plan`. */
struct dt_backend_fact {
    const char *name, *unit;
    int64_t lo, hi;
    int optional; /* 1: a site that does not state it has `lo` */
};

struct dt_backend_family {
    const char *name;
    const struct dt_backend_fact *facts;
    size_t n_facts;
    const char *const *request_fields;
    size_t n_request_fields;
    const struct dt_backend_param *params;
    size_t n_params;
};

/* A parameter's value in one call: `each` for a per-request parameter
 * ([n_requests], borrowed), or NULL and `one` for all requests; `one` otherwise. */
struct dt_backend_value {
    int64_t one;
    const int64_t *each;
};

/* What `fill` makes operands of.  The plan, the kernels and the parameters know
 * nothing of it.  A family for which a kind says nothing takes it as RANDOM. */
enum dt_backend_data {
    DT_BACKEND_RANDOM, /* as an engine's might be; also what is timed            */
    DT_BACKEND_CANCEL, /* sums nearly vanish ([v, -Pv] against [u, Pu], P a
                        * permutation), so that what rounding did stands out in an
                        * output of few bits; where nothing cancels (squares,
                        * powers), whatever makes rounding stand out             */
    DT_BACKEND_SPREAD, /* terms of one sum lie more than 2^16 apart              */
    DT_BACKEND_DATA_KINDS
};

/* One call of a family at a site.  Borrowed by every function that takes one.
 *   fact     [family.n_facts]                       in the family's order
 *   request  [n_requests * family.n_request_fields] row-major
 *   seed     [n_requests]  names the request's data: equal seed and equal
 *            request fields give equal operands in whatever batch and row
 *   param    [family.n_params]                      in the family's order
 *   data     enum dt_backend_data: what `fill` writes
 *   exchange 0, or d: `fill` exchanges the last term of every sum with the term d
 *            before it.  The sums are then the same and their order is not, so a
 *            check of bits must see it: the power of certificates is measured so.
 *            Nothing but order may change: a request that has fewer terms, or whose
 *            terms some output does not see all of, stays as it is; where an output
 *            belongs to one term, the exchanged ones weigh 0 (a norm) or are not
 *            drawn (a sampled token).  `fill` of a family that has no such
 *            exchange fails with -DT_BACKEND_EUNSUPPORTED. */
struct dt_backend_call {
    const struct dt_backend_family *family;
    const int64_t *fact;
    size_t n_requests;
    const int64_t *request;
    const uint64_t *seed;
    const struct dt_backend_value *param;
    uint32_t data;
    uint32_t exchange;
};

/* What a call needs and launches.  Sizes in bytes; a size of 0 means that none
 * is needed.  `launch` identifies what is started: two parameter sets with
 * equal `launch` on a call do the very same work, and are measured once. */
struct dt_backend_plan {
    size_t operand_bytes;
    size_t output_bytes;
    size_t workspace_bytes;
    uint64_t launch[2];
};

/* Where one request's output lies in the output buffer, in bytes. */
struct dt_backend_row {
    size_t offset, length;
};

struct dt_backend_ctx; /* the backend's own; one per thread of use */

struct dt_backend_options {
    uint32_t units;  /* worker threads of a host backend; 0: all there are    */
    uint32_t device; /* ordinal of the device; 0 on the host                  */
    uint32_t timed;  /* 1: elapsed_ns will be asked for; an engine leaves it 0, and
                      * no profiling library is started in its process */
    uint32_t others; /* enum dt_backend_others */
    uint32_t identify; /* 1: `identity` and `close` are all that is called then.  No thread
                      * is started and no memory of the device taken: who computes on it is
                      * not disturbed, and may be anybody */
};

/* Other processes that work on the device: whoever measures must be alone. */
enum dt_backend_others {
    DT_BACKEND_OTHERS_UNTIMED, /* refused (-EBUSY) if the context is timed          */
    DT_BACKEND_OTHERS_REFUSED, /* in any case: what is run would disturb them       */
    DT_BACKEND_OTHERS_TAKEN    /* never                                             */
};

/* What of a state is known: 0 is else no number. */
#define DT_BACKEND_KNOWS_REASONS 1u
#define DT_BACKEND_KNOWS_OTHERS  2u

/* What the device was like.  A clock of 0 is not reported. */
struct dt_backend_state {
    uint32_t clock_mhz, memory_mhz; /* of what computes, and of its memory          */
    uint64_t reasons;               /* why the clock is what it is: the driver's bits */
    uint32_t others;                /* processes beside this one that work on it    */
    uint32_t known;                 /* DT_BACKEND_KNOWS_...                         */
};

/* One rank's word to the others of a group: called on every rank at once with equal
 * `bytes`, it puts each rank's `mine` at its place in `all` [ranks * bytes] and returns
 * when all have it.  0 or -errno. */
typedef int (*dt_backend_gather_f) (void *user, const void *mine, size_t bytes, void *all);

struct dt_backend_join {
    uint32_t rank, ranks;
    dt_backend_gather_f gather;
    void *user;
};

struct dt_backend {
    uint32_t abi; /* DT_BACKEND_ABI */
    const struct dt_backend_family *families;
    size_t n_families;

    /* Open a context (threads, streams) and learn who computes, the same with
     * `identify`.  Owned by the caller; `close` takes NULL.
     *   -ENODEV  no such device      -ENOMEM  out of memory
     *   -EINVAL  a setting of the backend's own has no such value
     *   -EBUSY   another process works on it, or nothing tells that none does
     *   -DT_BACKEND_EDEVICE  it, or a library that is needed, reported an error
     *   -DT_BACKEND_ELOST  it is there, and does not answer */
    int (*open) (const struct dt_backend_options *options, struct dt_backend_ctx **ret,
                 struct dt_backend_error *err);
    void (*close) (struct dt_backend_ctx *ctx);

    /* Make this context one rank of a group, one process a rank: families that work over
     * ranks then take this rank's share of a call, and every rank must make the same calls
     * in the same order.  A rank that does not come is an error of the others' `run`
     * (-DT_BACKEND_EPEER), not a hang.  A group may keep memory of the device, which no
     * `plan` counts, until `close`.  Once in a context's life.  NULL: this backend's ranks
     * are always its own (threads), and a context that never joins plays all ranks itself.
     *   -EINVAL  joined before, or no such rank      -errno  of `gather`
     *   -ENOMEM, -DT_BACKEND_EDEVICE, -DT_BACKEND_ELOST */
    int (*join) (struct dt_backend_ctx *ctx, const struct dt_backend_join *join,
                 struct dt_backend_error *err);

    /* Borrowed from the context. */
    const struct dt_backend_identity *(*identity) (const struct dt_backend_ctx *ctx);

    /* Check a call and state what it needs.  Starts nothing.
     *   -EINVAL                    a fact, request field or parameter is out of
     *                              range, or a product of sizes overflows
     *   -DT_BACKEND_EUNSUPPORTED   no kernel takes this combination */
    int (*plan) (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err);

    /* Memory that `run` can reach (device memory on a GPU), aligned to 256 bytes,
     * contents undefined; the caller's until `free`, which takes NULL.  What a call needs
     * beside operands, output and workspace the context holds from `open` or `join` on.
     *   -ENOMEM  there is none left      -DT_BACKEND_EDEVICE, -DT_BACKEND_ELOST */
    int (*alloc) (struct dt_backend_ctx *ctx, size_t bytes, void **ret,
                  struct dt_backend_error *err);
    void (*free) (struct dt_backend_ctx *ctx, void *buffer);
    /* Set `bytes` bytes of a buffer to `byte`: what nobody wrote must not show. */
    int (*set) (struct dt_backend_ctx *ctx, void *buffer, int byte, size_t bytes,
                struct dt_backend_error *err);

    /* Write the operands of a call: keys, values, weights, page tables.
     * Everything of request i follows from seed[i], the site's facts, the
     * request's fields, `data` and `exchange` alone.  `scatter` permutes addresses
     * (pages, say) and chooses what lies in slots that nobody may use: outputs must
     * not depend on it.  operands: [plan.operand_bytes]. */
    int (*fill) (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 uint64_t scatter, void *operands, struct dt_backend_error *err);

    /* Compute the call into `output` and return when it is complete.  The
     * workspace's contents are undefined before and after.  Buffers are from
     * `alloc`, with the sizes of `plan`, and must not overlap.
     *   -EINVAL, -DT_BACKEND_EUNSUPPORTED  as `plan`
     *   -EAGAIN                 of a timed context: this run gave no time, and another
     *                           may; of a group, all ranks run the call again
     *   -DT_BACKEND_EUNTRUSTED  of a timed context: no time to be trusted, since the
     *                           device is slowed, say
     *   -DT_BACKEND_EPEER       of a group
     *   -EBUSY, -DT_BACKEND_EDEVICE, -DT_BACKEND_ELOST */
    int (*run) (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                const void *operands, void *output, void *workspace,
                struct dt_backend_error *err);

    /* Nanoseconds on the backend's clock that the last successful `run` of this
     * context took, kernels only, and the clock's name ("CLOCK_MONOTONIC_RAW",
     * "CUPTI").  A context that was not opened `timed` says what its host's clock gives,
     * or 0. */
    uint64_t (*elapsed_ns) (const struct dt_backend_ctx *ctx);
    const char *clock;
    /* What caches hold when a timed run starts, for people; never NULL.  "warm": operands
     * lie where they lay the time before, and nothing empties a cache. */
    const char *caches;

    /* The device's state: during the last timed run, or, if `now`, at this moment.  NULL:
     * nothing is known of it.
     *   -EBUSY  another process came to work on the device, which this context refuses
     *   -DT_BACKEND_ELOST */
    int (*state) (struct dt_backend_ctx *ctx, int now, struct dt_backend_state *ret,
                  struct dt_backend_error *err);

    /* The name of the device of an ordinal, the same in all processes of this machine and
     * fit for a file's: who measures holds a lock of that name.  No context is opened.
     * NULL: there is one, the machine.
     *   -ENODEV, -DT_BACKEND_ELOST */
    int (*device_name) (uint32_t device, char *text, size_t size, struct dt_backend_error *err);

    /* Copy `bytes` from an output buffer to host memory. */
    int (*read) (struct dt_backend_ctx *ctx, const void *output, size_t offset, size_t bytes,
                 void *ret, struct dt_backend_error *err);

    /* ret: [call->n_requests]; each request's output within the buffer. */
    int (*rows) (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_row *ret, struct dt_backend_error *err);
};

/* The one exported symbol; never NULL. */
typedef const struct dt_backend *(*dt_backend_get_f) (void);
#define DT_BACKEND_SYMBOL "dt_backend_get"

#ifdef __cplusplus
}
#endif
#endif
