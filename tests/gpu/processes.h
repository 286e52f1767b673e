/* gpu/processes.h - the ranks of a group, each a process of its own.
 * Uses: nothing.  Used by: tests/gpu, bench. */
#ifndef TESTS_GPU_PROCESSES_H
#define TESTS_GPU_PROCESSES_H

#include <stddef.h>

#define GPU_MAX_PROCESSES 16

struct gpu_process {
    int rank, ranks;
    int fd[GPU_MAX_PROCESSES]; /* rank 0 has one to each other rank, these have one to it */
};

/* Run `main` in `ranks` new processes, which must not have touched CUDA before.  The worst
 * exit status of theirs: 0, 1 (also of one that a signal ends), or 77. */
int gpu_processes (int ranks, int (*main) (struct gpu_process *p, void *user), void *user);

/* The `gather` of struct dt_backend_join; `process` is a struct gpu_process.  `all` takes the
 * `bytes` of each rank in order.  0, or a negative code: a rank is gone. */
int gpu_gather (void *process, const void *mine, size_t bytes, void *all);

/* Until the other end of `fd` is closed. */
void gpu_wait_for_end (int fd);
#endif
