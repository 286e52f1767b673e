/* tests/family_check.h - what the tests of each kernel family ask alike.
 * Uses: tests/family_rig.h, check.  Used by: tests/test_{gemm,moe,rowwise,allreduce}*.c. */
#ifndef TESTS_FAMILY_CHECK_H
#define TESTS_FAMILY_CHECK_H

#include <check.h>
#include <stddef.h>

#include "tests/family_rig.h"

/* Run a suite of one case on the host's backend and on the planted one.  Returns what
 * main returns. */
int fam_suite (const char *name, const char *family, struct fam *host, struct fam *planted,
               void (*add) (TCase *tc));

/* Set the planted backend's fault; `symbol` is "gemm_plant", say. */
void fam_plant (const struct fam *planted, const char *symbol, int plant);
/* Two backends give the call the same bits. */
void fam_check_same (struct fam *a, struct fam *b, const struct fam_call *call);
/* The call starts the same, or not, with other parameters.  It is run with both. */
void fam_check_launch (struct fam *f, const struct fam_call *call, const int64_t *other, int same,
                       const char *what);
/* Plan, fill and run refuse the call with `code`: one line of the family, its parameters
 * and `says`. */
void fam_check_refused (struct fam *f, const struct fam_call *call, int code, const char *says);
/* Requests whose bits differ between two calls of the same requests. */
size_t fam_count_changed (struct fam *f, const struct fam_call *a, const struct fam_call *b);
/* Values of fp32 outputs that an exchange changes; none by more than `most`. */
size_t fam_count_exchanged (struct fam *f, const struct fam_call *call, uint32_t exchange,
                            double most);

/* Random batches in which requests that are watched stand among strangers, with free
 * values drawn from the family's own. */
struct fam_batches {
    const int64_t *fact, *param; /* of param, those that bind */
    int bf16;                    /* outputs */
    const int64_t *watched;      /* [n_watched] first fields; all others are 0 */
    size_t n_watched;            /* at most 16 */
    int64_t stranger, other;     /* bounds of strangers' first field, and of other fields */
    size_t most;                 /* requests of a batch, at most 32 */
    int trials;
};
/* Rows of them that are not as when their request is alone. */
int fam_count_batches (struct fam *f, const struct fam_batches *b);

#endif
