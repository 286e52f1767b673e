/* detentd/tuning_parts.h - what the parts of a tune share.
 * Uses: detentd/.  Used by: tuning.c, tuning_site.c, tuning_tuple.c. */
#ifndef DT_DETENTD_TUNING_PARTS_H
#define DT_DETENTD_TUNING_PARTS_H

#include "detentd/additive.h"
#include "detentd/families.h"
#include "detentd/incumbent.h"
#include "detentd/job.h"
#include "detentd/measure.h"
#include "detentd/solving.h"
#include "detentd/store.h"
#include "trace/dtrace.h"
#include "tuner/tables.h"
#include "tuner/tune.h"

struct dt_tuning_site {
    const struct dt_trace_site *trace[DT_JOB_MAX_TRACES]; /* [job->n_traces] */
    uint8_t *allowed; /* [n_assignments] 1: may be chosen */
    struct dt_incumbent incumbent;
    struct dt_tune_result result;
    struct dt_tables_result tables;
    struct dt_buf pinned;
    struct dt_free_row *free; /* [n_free] fields that need certificates */
    size_t n_free;
};
struct dt_tuning {
    struct dt_job *job;
    struct dt_solving solving;
    struct dt_trace *trace[DT_JOB_MAX_TRACES]; /* [job->n_traces] */
    struct dt_tuning_site *site; /* [deployment->n_sites], in the solving's arena */
    struct dt_schema_of *schema; /* of the backend; NULL: none is known */
    struct dt_measure measure;
    struct dt_additive_result additive;
    size_t n_additive;   /* tuples it is over; 0: one site, nothing to add */
    struct dt_buf tuple; /* the tuple's bytes */
    struct dt_tuple_row row;
    Detent__JobReply reply;
    char what[DT_JOB_WHAT];
};

/* --- tuning_site.c --------------------------------------------------------------- */

/* Measure site i and choose: its result, tables and pinned selector. */
int dt_tuning_search (struct dt_tuning *t, size_t i, struct dt_store *s, struct dt_err *reterr);

/* --- tuning_tuple.c -------------------------------------------------------------- */

/* Its bytes and its row, of what each site has chosen. */
int dt_tuning_tuple (struct dt_tuning *t, struct dt_err *reterr);
/* In one transaction, with a struct dt_tuning: selectors, tuple, and the job's end. */
int dt_tuning_put (struct dt_store *s, void *ctx, struct dt_err *reterr);

#endif
