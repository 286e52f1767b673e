/* detentd/probing.h - what the parts of a probe share.
 * Uses: detentd/probe.h.  Used by: detentd/probe.c, probe_edges.c. */
#ifndef DT_DETENTD_PROBING_H
#define DT_DETENTD_PROBING_H

#include "detentd/probe.h"

#define DT_PROBE_MAX_CANDIDATES 96 /* of one field */

struct dt_probe_field {
    int64_t value[DT_PROBE_MAX_CANDIDATES]; /* that a call of one request may have */
    size_t n;
};

struct dt_probe {
    const struct dt_schema *schema;
    const struct dt_vm *vm;
    struct dt_inputs inputs;
    struct dt_probe_field field[DT_SCHEMA_MAX_FIELDS];
    int64_t *regs, *out, *own_out, *own;
    uint64_t state, salt;
};

/* Run the selector on quantities, or on requests; 1 if it takes them. */
int dt_probe_takes (struct dt_probe *p, const int64_t *in, const int64_t *own, size_t n);
int dt_probe_takes_rows (struct dt_probe *p, const int64_t *row, size_t n);
/* Ascending, each once; how many are left. */
size_t dt_probe_sort (int64_t *value, size_t n);

/* A request of at most `work`, or the cheapest of some; and the longest of some. */
void dt_probe_request (struct dt_probe *p, double work, int64_t *ret);
void dt_probe_long (struct dt_probe *p, double work, int64_t *ret);

/* An empty batch with room for n requests.  -ENOMEM */
int dt_probe_batch_init (struct dt_probe *p, struct dt_arena *a, size_t n,
                         struct dt_probe_batch *ret, struct dt_err *reterr);
/* Its request i. */
void dt_probe_put (struct dt_probe *p, struct dt_probe_batch *b, size_t i, const int64_t *row);

#endif
