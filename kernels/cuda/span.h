/* cuda/span.h - from a clock's records to the time of a call, as plain host code.
 *
 * A call's time is the span of all its kernels: from the first start to the last
 * end.  A span is believed only if every launch left one record with two stamps
 * in order; what is not believed is counted, and never becomes a time.
 * Uses: nothing.  Used by: kernels/cuda/clock.c. */
#ifndef KERNELS_CUDA_SPAN_H
#define KERNELS_CUDA_SPAN_H

#include <stddef.h>
#include <stdint.h>

struct cuda_stamp {
    uint64_t start_ns, end_ns; /* 0: the record has no time */
};

enum cuda_span {
    CUDA_SPAN_OK,
    CUDA_SPAN_MISSING, /* fewer records than launches */
    CUDA_SPAN_EXTRA,   /* more: somebody else's, or an earlier run's */
    CUDA_SPAN_LOST,    /* some had no room, as their counter says */
    CUDA_SPAN_NO_TIME, /* a stamp is 0 */
    CUDA_SPAN_REVERSED /* an end before its start, or a span of no length */
};

/* Judge the 'n' records of a run that made 'expected' launches.  '*ret_ns' is
 * written for CUDA_SPAN_OK only, and is then above 0. */
enum cuda_span cuda_span_of (const struct cuda_stamp *stamp, size_t n, size_t expected,
                             uint64_t *ret_ns);
/* The time of one of `calls` equal calls that ran one after the other and left `n` records,
 * a whole number each: from the end of the first call to the end of the last, over the
 * calls after the first.  Ranks of a group do not launch at one time: the first call waits
 * for the last rank, and those after it do not.  The records are good by cuda_span_of. */
enum cuda_span cuda_span_row (const struct cuda_stamp *stamp, size_t n, size_t calls,
                              uint64_t *ret_ns);
const char *cuda_span_text (enum cuda_span verdict);

/* Runs and what became of them, over a context's life. */
struct cuda_tally {
    uint64_t runs;
    uint64_t dropped; /* runs that were judged not OK */
};

/* Beyond this share of dropped runs a context's times are not to be trusted.  One
 * in 100: a healthy clock drops none in 10^5 (doc/gpu-results.md). */
#define CUDA_TALLY_SHARE 100u
/* Drops that may happen before the share is looked at. */
#define CUDA_TALLY_GRACE 3u

void cuda_tally_add (struct cuda_tally *t, enum cuda_span verdict);
int cuda_tally_broken (const struct cuda_tally *t); /* 1: beyond the share */

/* Which clock event reasons (NVML's mask) make a time worthless, as text, or NULL:
 * hardware slowdown, thermal slowdown of either kind, power brake.  The software
 * power cap is normal under load and is not among them. */
const char *cuda_reasons_text (uint64_t reasons);

/* The share of a device's highest SM clock, in %, below which a time is not kept.  Under
 * the power cap an H200 goes down to 75% (doc/gpu-results.md). */
#define CUDA_LEAST_CLOCK 60u

/* 1: the SM clock is below `least_mhz`, and neither the software power cap nor the
 * operator's setting (of NVML's mask) is why.  0 MHz: not reported, and not low. */
int cuda_clock_is_low (uint32_t mhz, uint32_t least_mhz, uint64_t reasons);
#endif
