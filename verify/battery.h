/* verify/battery.h - does a request's output depend on the batch it is in?
 * Uses: base/, trace/, include/detent/.  Used by: verify/main.c, tests.
 *
 * Calls of a trace are run as recorded, permuted with other pages, some requests of
 * them alone and put into another recorded batch at a random row, and mixed with
 * another call: each batch once with the stock selection's parameters and once with the
 * committed tuple's, on the same operands and through the same plugin.  A request
 * has a seed of its own, which names its data.  A row is one request's output
 * vector; all rows of one request must have equal bits: -0 is not +0, and a NaN is
 * equal to the same NaN alone. */
#ifndef DT_VERIFY_BATTERY_H
#define DT_VERIFY_BATTERY_H

#include "base/err.h"
#include "detent/backend.h"
#include "detent/detent.h"
#include "trace/dtrace.h"

#define DT_BATTERY_MAX_PARAMS 32
#define DT_BATTERY_MAX_FACTS 64

enum dt_battery_variant { DT_BATTERY_STOCK, DT_BATTERY_DETENT, DT_BATTERY_VARIANTS };

struct dt_battery {
    const struct dt_backend *backend;
    struct dt_backend_ctx *ctx;
    const struct dt_backend_family *family;
    int64_t fact[DT_BATTERY_MAX_FACTS];                   /* in the family's order   */
    struct detent_selector *selector[DT_BATTERY_VARIANTS];
    size_t field_of[DT_BATTERY_MAX_PARAMS];               /* of each parameter       */
    const struct dt_trace_site *calls;
    size_t max_requests;                                  /* that a batch may have   */
    uint64_t rows, seed; /* compare at least so many rows, chosen by this seed       */

    /* For tests that want to see a failure: changes Detent's parameters before a
     * run (numbered from 0).  NULL in the shipped program. */
    void (*tweak) (const struct dt_backend_family *family, uint64_t run,
                   struct dt_backend_value *param);
};

/* Two runs of one request with different bits. */
struct dt_battery_change {
    int is;                  /* 0: there was none */
    uint64_t id, seed;       /* of the request, in the trace and of its data */
    int64_t field[DT_SCHEMA_MAX_FIELDS];
    size_t n_requests[2];    /* of the two batches */
    int64_t param[2][DT_BATTERY_MAX_PARAMS];
    size_t element, n_elements, n_different;
    double value[2];         /* of the first element that differs */
};

struct dt_battery_result {
    struct {
        uint64_t compared, changed; /* rows against the request's first run */
        uint64_t nan;               /* rows, first ones too, with a value that is no number */
        uint64_t ns;                /* in kernels, recorded batches, best of three each */
        struct dt_battery_change first;
    } variant[DT_BATTERY_VARIANTS];
    uint64_t batches, refused; /* run; mixed ones that a selection refused */
};

/*   -DT_EREFUSED, -DT_EEVAL  a selection refuses a recorded call
 *   -DT_EUNSUPPORTED, -DT_EDEVICE, -EINVAL  as the backend says
 *   -ENOMEM */
int dt_battery_run (const struct dt_battery *b, struct dt_battery_result *ret,
                    struct dt_err *reterr);

#endif
