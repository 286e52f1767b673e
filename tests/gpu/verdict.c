#define _GNU_SOURCE 1 /* program_invocation_short_name */
#include "tests/gpu/verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int gpu_checks, gpu_failures;

void gpu_verdict (int good, const char *format, ...)
{
    va_list args;

    gpu_checks++;
    if (good || ++gpu_failures > GPU_PRINTED)
        return;
    printf ("FAIL: ");
    va_start (args, format);
    vprintf (format, args);
    va_end (args);
    printf ("\n");
}

int gpu_tally (const char *what)
{
    printf ("%s: %d checks, %d failed\n", what, gpu_checks, gpu_failures);
    return gpu_failures != 0;
}

void gpu_die (const char *what, const char *why)
{
    fprintf (stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit (1);
}

void gpu_skip (const char *why)
{
    fprintf (stderr, "SKIP: %s\n", why);
    exit (77);
}

static int by_value (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double gpu_median (double *value, size_t n)
{
    qsort (value, n, sizeof *value, by_value);
    return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}
