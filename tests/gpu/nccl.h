/* gpu/nccl.h - what the stand-in NCCL does, and what was asked of it.
 * Uses: nothing.  Used by: tests/gpu/nccl.c, test_cuda_frame.c. */
#ifndef TESTS_GPU_NCCL_H
#define TESTS_GPU_NCCL_H

enum { DT_NCCL_SUCCESS = 0, DT_NCCL_SYSTEM_ERROR = 2, DT_NCCL_REMOTE_ERROR = 6, DT_NCCL_IN_PROGRESS = 7 };

struct dt_nccl {
    int no_id;       /* no id is to be had, for that reason */
    int polls;       /* so many looks at the state find it in progress, */
    int state;       /*   and then this */
    int sums, aborts;
    int after_abort; /* calls that used the group when it had been aborted */
    int by_tree;     /* the environment said so when the group was made, */
    int restored;    /*   and what was there before (Ring) when it was aborted */
};
#endif
