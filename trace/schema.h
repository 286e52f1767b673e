/* trace/schema.h - call schemas: what is known of one call of a family.
 * Uses: base/.  Used by: trace, tuner, detentd, detentctl, libdetent.
 *
 * A family's call is described by fields per request (what an engine knows) and
 * by quantities derived from them (what selection programs read).  The one
 * function that derives them is here; engine, trace and tuner share it. */
#ifndef DT_TRACE_SCHEMA_H
#define DT_TRACE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DT_SCHEMA_MAX_FIELDS 4
#define DT_SCHEMA_MAX_QUANTITIES 16

struct dt_quantity {
    const char *name, *unit;
    const char *formula; /* for people: "max over requests of query_len" */
    uint8_t own;         /* 1: of one request; 0: of the whole call      */
};

/* Immutable, static. */
struct dt_schema {
    const char *family;
    const char *const *field; /* of a row: "query_len", "kv_len" */
    size_t n_fields;
    const struct dt_quantity *quantity;
    size_t n_quantities;
    /* Behind the functions below. */
    int (*derive) (const int64_t *request, size_t n_requests, int64_t *ret);
    const uint8_t *own_field; /* [n_quantities] the field that an own quantity is; NULL:
                                 no own quantity */
    double (*work) (const int64_t *request); /* of one request; dt_schema_work */
};

/* NULL if there is no such family.
 *
 * Which there are, what their fields and quantities mean: detent/detent.h, at struct
 * detent_call. */
const struct dt_schema *dt_schema_find (const char *family);
/* Index of a quantity by name, -1 if there is none. */
int dt_schema_quantity (const struct dt_schema *s, const char *name);
/* May a program of the family read `name`, as an own input or not?
 *   -DT_EINPUT  no such family, no such quantity (with a suggestion), or the other
 *               class */
int dt_schema_check_input (const char *family, const char *name, int own, struct dt_err *reterr);

/* One call: field values row-major
 * [n_requests * s->n_fields], borrowed.  Fields are counts: never negative. */
struct dt_call {
    size_t n_requests;
    const int64_t *request;
};

/* Derive the quantities of the call that are not own into ret[n_quantities]
 * (own entries are left as they are).  -DT_EINPUT: no request (row), a negative field,
 * or a sum that leaves 64 bits; ret is then unspecified.  Allocates nothing. */
int dt_schema_derive (const struct dt_schema *s, const struct dt_call *call, int64_t *ret,
                      struct dt_err *reterr);
/* The own quantity `q` (an index of an own one) of one request, from its fields. */
int64_t dt_schema_own (const struct dt_schema *s, size_t q, const int64_t *request);
/* A rough measure of a call's work, in units of its own, above 0: for sampling calls
 * in proportion to what they may cost, never for results. */
double dt_schema_work (const struct dt_schema *s, const struct dt_call *call);

#endif
