/* solver/vra_int.h - what the files of vra share.
 * Uses: selir/, solver/batch.h, solver/vra.h.  Used by: vra*.c. */
#ifndef DT_SOLVER_VRA_INT_H
#define DT_SOLVER_VRA_INT_H

#include "selir/range.h"
#include "solver/batch.h"
#include "solver/vra.h"

/* Digit d of an assignment: a pin, or a knob that is live. */
struct dt_vra_digit {
    uint32_t node; /* in the residual graph, DT_NODE_NONE if it is not read */
    uint32_t axis; /* in proofs */
    const int64_t *value;
    uint64_t n;
    uint64_t stride; /* in assignments */
};

/* An assume that depends on inputs alone: it narrows the domain. */
struct dt_vra_limit {
    const struct dt_cond *cond;
    uint64_t inputs; /* bit set */
};

/* What may stop a run, to be judged. */
struct dt_vra_duty {
    const struct dt_cond *cond; /* NULL: a fault */
    uint32_t node;              /* of the fault, in the residual graph */
    uint64_t seq;
};

/* Read only while duties are judged. */
struct dt_vra {
    const struct dt_graph *g;
    struct dt_solution *s;
    struct dt_vra_digit *digit;
    size_t n_digits;
    struct dt_vra_limit *limit;
    size_t n_limits;
    struct dt_vra_duty *duty;
    size_t n_duties;
};

/* The part of the residual graph that one duty needs. */
struct dt_vra_part {
    struct dt_graph *g;
    uint32_t node, value, guard; /* of the duty, in g */
    struct dt_axis axis[DT_VRA_MAX_INPUTS];
    uint32_t input[DT_VRA_MAX_INPUTS]; /* of the axis, in the residual graph */
    size_t n_read, n_axes; /* first those that the duty reads, then the limits' */
    struct {
        uint32_t value, guard;
    } *limit;
    size_t n_limits;
    struct {
        uint32_t node;
        const struct dt_vra_digit *digit;
        uint64_t stride; /* in combinations */
    } *dim;
    size_t n_dims;
    uint64_t n_combinations;
};

/* One duty's judgement.  verdict and why have one entry a combination; verdict is
 * NULL if all are proved. */
struct dt_vra_job {
    const struct dt_vra_duty *duty;
    struct dt_vra_part *part; /* kept where points are still to be tried */
    struct dt_buf tree;       /* proof.h */
    uint8_t *verdict;
    char **why;
};

/* What a thread needs for itself. */
struct dt_vra_worker {
    const struct dt_vra *v;
    uint8_t *mask; /* [residual values] */
    uint32_t *map; /* [residual values] */
    const struct dt_vra_part *part; /* that batch and box are of */
    struct dt_batch *batch;
    struct dt_range *box; /* [part's values] for dt_ranges_new */
};

/* vra_part.c */
int dt_vra_worker_init (struct dt_vra_worker *w, const struct dt_vra *v);
void dt_vra_worker_done (struct dt_vra_worker *w);
/* A duty's part (NULL: of all limits and no duty). */
int dt_vra_part_new (struct dt_vra_worker *w, const struct dt_vra_duty *d,
                     struct dt_vra_part **ret);
struct dt_vra_part *dt_vra_part_free (struct dt_vra_part *p);
/* Make the worker's batch and box those of a part. */
int dt_vra_take (struct dt_vra_worker *w, const struct dt_vra_part *p);
/* Set pins and knobs of the batch to combination c. */
void dt_vra_bind (struct dt_vra_worker *w, uint64_t c);
/* Whether the duty stops the run at point i of the batch, inside the domain; and
 * whether an assume puts the point outside. */
int dt_vra_breaks (const struct dt_vra_worker *w, size_t i);
int dt_vra_outside (const struct dt_vra_worker *w, size_t i);
/* Points at..at+n: of the product of the domains, or of the fixed sample. */
void dt_vra_points (struct dt_vra_worker *w, int sample, uint64_t at, size_t n);
/* "kv_length=16385: a split kernel takes at most 64 splits (f.py:88:5)", of point i;
 * dt_free.  NULL out of memory. */
char *dt_vra_explain (const struct dt_vra_worker *w, const struct dt_vra_duty *d, size_t i);

/* vra_prove.c: ranges.  Fills the job's tree and, unless all are proved, its verdicts:
 * DT_PROVED, DT_ILLEGAL with why, or DT_SAMPLED where points must be tried. */
int dt_vra_prove (struct dt_vra_worker *w, struct dt_vra_job *job);

/* vra_limits.c: fill in s->excluded; -DT_EILLEGAL if nothing is left. */
int dt_vra_judge_limits (struct dt_vra_worker *w, struct dt_err *reterr);

#endif
