/* detentd/sd.c - what systemd is told; nothing without systemd. */
#include <config.h>

#include "detentd/sd.h"

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>

void dt_sd_ready (const char *status)
{
    sd_notifyf (0, "READY=1\nSTATUS=%s", status);
}

void dt_sd_stopping (uint64_t extend_us)
{
    sd_notifyf (0, "STOPPING=1\nSTATUS=stopping\nEXTEND_TIMEOUT_USEC=%llu",
                (unsigned long long)extend_us);
}

void dt_sd_extend (uint64_t extend_us)
{
    sd_notifyf (0, "EXTEND_TIMEOUT_USEC=%llu", (unsigned long long)extend_us);
}

void dt_sd_watchdog (void)
{
    sd_notify (0, "WATCHDOG=1");
}

uint64_t dt_sd_watchdog_us (void)
{
    uint64_t us = 0;

    return sd_watchdog_enabled (0, &us) > 0 ? us / 2 : 0;
}

#else

void dt_sd_ready (const char *status)
{
    (void)status;
}

void dt_sd_stopping (uint64_t extend_us)
{
    (void)extend_us;
}

void dt_sd_extend (uint64_t extend_us)
{
    (void)extend_us;
}

void dt_sd_watchdog (void)
{
}

uint64_t dt_sd_watchdog_us (void)
{
    return 0;
}

#endif
