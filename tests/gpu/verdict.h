/* gpu/verdict.h - what a check on a GPU counts, and how it ends.
 * Uses: nothing.  Used by: tests/gpu, bench.  One thread. */
#ifndef TESTS_GPU_VERDICT_H
#define TESTS_GPU_VERDICT_H

#include <stddef.h>

/* Of this process; no more than GPU_PRINTED failures are printed. */
extern int gpu_checks, gpu_failures;
#define GPU_PRINTED 20

/* One check.  If it is not `good`, print a line that begins with FAIL. */
void gpu_verdict (int good, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

/* Print "WHAT: N checks, N failed"; the exit status, 0 or 1. */
int gpu_tally (const char *what);

/* End with status 1, or with 77 as there is no such device. */
void gpu_die (const char *what, const char *why) __attribute__ ((noreturn));
void gpu_skip (const char *why) __attribute__ ((noreturn));

/* The middle; leaves the values in ascending order. */
double gpu_median (double *value, size_t n);
#endif
