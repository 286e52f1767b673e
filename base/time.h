/* base/time.h - clocks.
 * Uses: nothing of ours.  Used by: every folder that measures or waits. */
#ifndef DT_BASE_TIME_H
#define DT_BASE_TIME_H

#include <stdint.h>

uint64_t dt_time_raw_ns (void);  /* CLOCK_MONOTONIC_RAW: for measuring      */
uint64_t dt_time_mono_ns (void); /* CLOCK_MONOTONIC: for deadlines          */
/* Milliseconds until `deadline` (of dt_time_mono_ns; UINT64_MAX: none) as poll takes
 * them: rounded up, 0 when it has passed, -1 for none. */
int dt_time_left_ms (uint64_t deadline);
int64_t dt_time_wall_ns (void);  /* CLOCK_REALTIME: to tell a person        */
/* "2026-01-31T12:00:00Z" of nanoseconds since the epoch, terminated. */
#define DT_TIME_TEXT 32
char *dt_time_text (int64_t wall_ns, char text[DT_TIME_TEXT]);

#endif
