/* tests/suite.h - how a test with libcheck runs, and its loops that fail an allocation.
 * Uses: libcheck, base/mem.h.  Used by: tests. */
#ifndef DT_TESTS_SUITE_H
#define DT_TESTS_SUITE_H

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

/* Run it and free it; what main returns. */
static inline int suite_run (Suite *s)
{
    SRunner *sr = srunner_create (s);
    int failed;

    srunner_run_all (sr, CK_ENV);
    failed = srunner_ntests_failed (sr);
    srunner_free (sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* After dt_mem_fail_after (n) and what it was to fail in, which returned `r`: 1 if that
 * needed no more than n, and so succeeded; else it must have said that memory is out. */
static inline int suite_had_memory (int r)
{
    int hit = dt_mem_fail_hit ();

    ck_assert_int_eq (r, hit ? -ENOMEM : 0);
    if (!hit)
        dt_mem_fail_after (SIZE_MAX);
    return !hit;
}

#endif
