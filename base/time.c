/* base/time.c - clocks. */
#include "base/time.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_S 1000000000LL

static int64_t read_ns (clockid_t clock)
{
    struct timespec t = { 0 };

    clock_gettime (clock, &t); /* fails for an unknown clock only */
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

uint64_t dt_time_raw_ns (void)
{
    return (uint64_t)read_ns (CLOCK_MONOTONIC_RAW);
}

uint64_t dt_time_mono_ns (void)
{
    return (uint64_t)read_ns (CLOCK_MONOTONIC);
}

int dt_time_left_ms (uint64_t deadline)
{
    uint64_t now, ms;

    if (deadline == UINT64_MAX)
        return -1;
    if ((now = dt_time_mono_ns ()) >= deadline)
        return 0;
    ms = (deadline - now - 1) / 1000000 + 1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

int64_t dt_time_wall_ns (void)
{
    return read_ns (CLOCK_REALTIME);
}

char *dt_time_text (int64_t wall_ns, char text[DT_TIME_TEXT])
{
    /* Towards minus infinity: a moment before the epoch belongs to its own second.
     * 64 bits of nanoseconds reach from 1677 to 2262, so the text always fits. */
    time_t s = (time_t)(wall_ns / NS_PER_S - (wall_ns % NS_PER_S < 0));
    struct tm tm;

    gmtime_r (&s, &tm);
    if (!strftime (text, DT_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm))
        text[0] = '\0';
    return text;
}
