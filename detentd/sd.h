/* detentd/sd.h - what systemd is told; nothing without systemd.
 * Uses: libsystemd, if it is there.  Used by: daemon.c, loop.c. */
#ifndef DT_DETENTD_SD_H
#define DT_DETENTD_SD_H

#include <stdint.h>

void dt_sd_ready (const char *status);
/* Stopping, with this much more time asked for. */
void dt_sd_stopping (uint64_t extend_us);
void dt_sd_extend (uint64_t extend_us); /* for a long step before READY */
void dt_sd_watchdog (void);
/* How often dt_sd_watchdog wants to be called, 0: never. */
uint64_t dt_sd_watchdog_us (void);

#endif
