/* cuda/clock.h - the time of a run on the GPU's own clock.
 *
 * CUPTI's activity records give each kernel's own start and end.  CUPTI serves one
 * client of a process, and one clock is open in a process at a time.
 * Uses: CUPTI's headers, span.h.  Used by: kernels/cuda/backend.c, tests/gpu. */
#ifndef KERNELS_CUDA_CLOCK_H
#define KERNELS_CUDA_CLOCK_H

#include <cupti.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/span.h"

/* CUPTI as the clock calls it: from the library, or a test's own. */
struct cuda_cupti {
    CUptiResult (*get_version) (uint32_t *version);
    CUptiResult (*subscribe) (CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                              void *user);
    CUptiResult (*unsubscribe) (CUpti_SubscriberHandle subscriber);
    CUptiResult (*set_attribute) (CUpti_ActivityAttribute attr, size_t *size, void *value);
    CUptiResult (*register_callbacks) (CUpti_BuffersCallbackRequestFunc requested,
                                       CUpti_BuffersCallbackCompleteFunc completed);
    CUptiResult (*register_timestamp) (CUpti_TimestampCallbackFunc now);
    CUptiResult (*enable) (CUpti_ActivityKind kind);
    CUptiResult (*disable) (CUpti_ActivityKind kind);
    CUptiResult (*flush_all) (uint32_t flag);
    CUptiResult (*next_record) (uint8_t *buffer, size_t bytes, CUpti_Activity **record);
    CUptiResult (*dropped) (CUcontext context, uint32_t stream, size_t *n);
    CUptiResult (*result_string) (CUptiResult result, const char **text);
};

/* Records that one run may leave. */
#define CUDA_CLOCK_RECORDS 65536u

/* CUPTI from the toolkit.
 *   -ENOENT  not there */
int cuda_cupti_load (struct cuda_cupti *ret, struct dt_backend_error *err);

/* Subscribe and start recording; before the device's first use, if possible.  The
 * table is copied.
 *   -DT_BACKEND_EDEVICE  taken or refused: the text names cause and remedy
 *   -EBUSY               a clock is open in this process */
int cuda_clock_new (const struct cuda_cupti *api, struct cuda_clock **ret,
                    struct dt_backend_error *err);
struct cuda_clock *cuda_clock_free (struct cuda_clock *clock); /* NULL ok; returns NULL */

/* Forget every record so far: what is pending is flushed first.  'graphs': only what
 * CUDA graphs launch is recorded from now on, so that contexts of this process that
 * are not timed, and launch without graphs, may run beside. */
int cuda_clock_begin (struct cuda_clock *clock, int graphs, struct dt_backend_error *err);

/* The records since `begin`, once the run has ended: waits until 'expected'
 * have come, at most a second.  '*ret_ns' is written for CUDA_SPAN_OK only.  The
 * verdict is counted.
 *   -DT_BACKEND_EDEVICE  CUPTI reports an error */
int cuda_clock_end (struct cuda_clock *clock, size_t expected, enum cuda_span *ret_verdict,
                    uint64_t *ret_ns, struct dt_backend_error *err);

/* The name of the longest record's kernel of the last run; "" if it had none. */
const char *cuda_clock_kernel (const struct cuda_clock *clock);
/* The records of the last run, in the order in which they came; valid until the next
 * `begin`.  The device must be idle. */
const struct cuda_stamp *cuda_clock_stamps (const struct cuda_clock *clock, size_t *ret_n);
const struct cuda_tally *cuda_clock_tally (const struct cuda_clock *clock);
#endif
