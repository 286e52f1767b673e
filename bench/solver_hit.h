/* bench/solver_hit.h - times of a solve that detentd's cache answers.
 * Uses: detentd/.  Used by: bench/solver.c. */
#ifndef DT_BENCH_SOLVER_HIT_H
#define DT_BENCH_SOLVER_HIT_H

#include <stddef.h>

#include "bench/sources.h"

/* A daemon of its own in a temporary folder, asked for the deployment's first site
 * alone, then for all of them, `rounds` times after it solved it: each from the decoded request to the packed reply, through its
 * threads and its store.  `path` is the deployment's file; the backend is looked for in
 * .libs/, as a build has it. */
void bench_hit (const struct bench_sources *files, const char *path, size_t rounds);

#endif
