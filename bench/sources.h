/* bench/sources.h - a deployment and all programs of a folder, for the benches.
 * Uses: base/, solver/deployment.h, selir/program.h.  Used by: bench/solver*.c. */
#ifndef DT_BENCH_SOURCES_H
#define DT_BENCH_SOURCES_H

#include "selir/program.h"
#include "solver/deployment.h"

/* Any failure ends the bench with a line on stderr. */
struct bench_sources {
    struct dt_deployment *d;
    struct dt_source source[DT_SOURCE_MAX_FILES];
    size_t n_sources;
};

_Noreturn void bench_die (const char *text);
void bench_sources_read (struct bench_sources *b, const char *deployment, const char *folder);
/* The program to the front, where a solve expects it. */
void bench_sources_lead (struct bench_sources *b, const char *program);
void bench_sources_done (struct bench_sources *b);

#endif
