/* tests/family_rig.h - run calls of any family through a backend plugin.
 * Uses: include/detent/backend.h.  Used by: tests, bench/. */
#ifndef TESTS_FAMILY_RIG_H
#define TESTS_FAMILY_RIG_H

#include <detent/backend.h>

#define FAM_MAX_UNITS 4
#define FAM_MAX_PARAMS 16

struct fam {
    void *object;
    const struct dt_backend *b;
    const struct dt_backend_family *family;
    struct dt_backend_ctx *ctx[FAM_MAX_UNITS + 1]; /* by units; opened when first used */
};

/* Facts and parameters in the family's order; fields row-major.  All borrowed until
 * the job is done. */
struct fam_call {
    const int64_t *fact, *param;
    size_t n;
    const int64_t *request;
    const uint64_t *seed;
    uint32_t data, exchange;
    uint64_t scatter;
    int units;
};

/* A call's buffers, ready to run as often as wanted. */
struct fam_job {
    struct fam *fam;
    struct dt_backend_ctx *ctx;
    struct dt_backend_call call;
    struct dt_backend_value param[FAM_MAX_PARAMS];
    struct dt_backend_plan plan;
    struct dt_backend_row *row; /* [n] */
    unsigned char *operands, *output, *workspace;
    void *owned; /* what else is freed with it, or NULL */
};

/* End the process: there is nothing to test. */
void fam_die (const char *what, const char *why) __attribute__ ((noreturn));
void *fam_need (void *p); /* p, which is not NULL */

/* Load 'plugin' (relative to the build directory).  Ends the process if it cannot:
 * there is nothing to test. */
void fam_open (struct fam *f, const char *plugin, const char *family);
void fam_close (struct fam *f);

/* The call as the backend takes it, without buffers; nothing to undo. */
void fam_call_init (struct fam_job *job, struct fam *f, const struct fam_call *c);
/* Plan the call of fam_call_init, as the backend answers. */
int fam_plan (struct fam_job *job, struct dt_backend_error *err);

/* Plan, allocate, poison with all bits set, and fill.  Ends the process on any error,
 * with the backend's message. */
void fam_job_init (struct fam_job *job, struct fam *f, const struct fam_call *c);
void fam_job_run (struct fam_job *job); /* poisons output and workspace first */
/* As fam_job_run, but the answer is the backend's. */
int fam_job_try (struct fam_job *job, struct dt_backend_error *err);
void fam_job_done (struct fam_job *job);

/* The n bytes at '*at' rounded up to the alignment of arrays; moves it past them. */
void *fam_place (const struct fam_job *job, size_t *at, size_t n);
/* Element i of an array of the operands or the output. */
float fam_value (const void *array, size_t i, int bf16);
void fam_put (void *array, size_t i, float x, int bf16); /* finite */
/* Elements of the output that are not finite. */
size_t fam_not_finite (const struct fam_job *job, int bf16);
/* Is the output of request i in a the one of request j in b? */
int fam_same_row (const struct fam_job *a, size_t i, const struct fam_job *b, size_t j);

uint64_t fam_random (uint64_t *state);
#endif
