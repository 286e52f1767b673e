#include "kernels/cuda/span.h"

enum cuda_span cuda_span_of (const struct cuda_stamp *stamp, size_t n, size_t expected,
                             uint64_t *ret_ns)
{
    uint64_t first = UINT64_MAX, last = 0;
    size_t i;

    if (n < expected || n == 0)
        return CUDA_SPAN_MISSING;
    if (n > expected)
        return CUDA_SPAN_EXTRA;
    for (i = 0; i < n; i++) {
        if (stamp[i].start_ns == 0 || stamp[i].end_ns == 0)
            return CUDA_SPAN_NO_TIME;
        if (stamp[i].end_ns < stamp[i].start_ns)
            return CUDA_SPAN_REVERSED;
        if (stamp[i].start_ns < first)
            first = stamp[i].start_ns;
        if (stamp[i].end_ns > last)
            last = stamp[i].end_ns;
    }
    if (last == first)
        return CUDA_SPAN_REVERSED;
    *ret_ns = last - first;
    return CUDA_SPAN_OK;
}

/* The k-th end in time, from 0. */
static uint64_t end_at (const struct cuda_stamp *stamp, size_t n, size_t k)
{
    uint64_t end = 0;
    size_t i, j;

    for (i = 0; i < n; i++) {
        size_t before = 0;

        for (j = 0; j < n; j++)
            before += stamp[j].end_ns < stamp[i].end_ns || (stamp[j].end_ns == stamp[i].end_ns && j < i);
        if (before == k)
            end = stamp[i].end_ns;
    }
    return end;
}

enum cuda_span cuda_span_row (const struct cuda_stamp *stamp, size_t n, size_t calls,
                              uint64_t *ret_ns)
{
    uint64_t whole;

    if (n == 0 || calls < 2 || n % calls)
        return n < calls ? CUDA_SPAN_MISSING : CUDA_SPAN_EXTRA;
    whole = end_at (stamp, n, n - 1) - end_at (stamp, n, n / calls - 1);
    if (whole < calls - 1)
        return CUDA_SPAN_REVERSED;
    *ret_ns = whole / (calls - 1);
    return CUDA_SPAN_OK;
}

const char *cuda_span_text (enum cuda_span verdict)
{
    switch (verdict) {
    case CUDA_SPAN_OK:
        return "complete";
    case CUDA_SPAN_MISSING:
        return "fewer records than launches";
    case CUDA_SPAN_EXTRA:
        return "more records than launches";
    case CUDA_SPAN_LOST:
        return "CUPTI lost records";
    case CUDA_SPAN_NO_TIME:
        return "a record without a time stamp";
    case CUDA_SPAN_REVERSED:
        return "a record that does not end after its start";
    }
    return "an unknown verdict";
}

void cuda_tally_add (struct cuda_tally *t, enum cuda_span verdict)
{
    t->runs++;
    t->dropped += verdict != CUDA_SPAN_OK;
}

int cuda_tally_broken (const struct cuda_tally *t)
{
    return t->dropped > CUDA_TALLY_GRACE && t->dropped > t->runs / CUDA_TALLY_SHARE;
}

const char *cuda_reasons_text (uint64_t reasons)
{
    static const struct {
        uint64_t bit;
        const char *text;
    } bad[] = { /* nvml.h: nvmlClocksEventReason* */
        { 0x40, "hardware thermal slowdown" },
        { 0x20, "software thermal slowdown" },
        { 0x80, "hardware power brake" },
        { 0x08, "hardware slowdown" },
    };
    size_t i;

    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        if (reasons & bad[i].bit)
            return bad[i].text;
    return NULL;
}

int cuda_clock_is_low (uint32_t mhz, uint32_t least_mhz, uint64_t reasons)
{
    const uint64_t explained = 0x2 | 0x4; /* application clocks, software power cap */

    return mhz > 0 && mhz < least_mhz && !(reasons & explained);
}
