/* tests/test_conditions.c - what a job says of the device that it measured on. */
#include "detentd/conditions.h"

#include <errno.h>

#include "base/mem.h"
#include "tests/suite.h"

static int add (struct dt_conditions *c, uint32_t clock, uint32_t memory, uint64_t reasons,
                int others) /* -1: not known */
{
    Detent__WorkerState s = DETENT__WORKER_STATE__INIT;

    s.has_clock_mhz = s.has_reasons = clock != 0;
    s.clock_mhz = clock;
    s.reasons = reasons;
    s.has_memory_mhz = memory != 0;
    s.memory_mhz = memory;
    s.has_others = others >= 0;
    s.others = others < 0 ? 0 : (uint32_t)others;
    return dt_conditions_add (c, &s, NULL);
}

/* Least and median of each clock, every reason, the most other processes. */
START_TEST (summary)
{
    static const uint32_t clock[] = { 1980, 1200, 1965, 1980, 1950 };
    Detent__JobReply j = DETENT__JOB_REPLY__INIT;
    struct dt_conditions c = { .any_reasons = 0 };

    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq (add (&c, clock[i], i < 3 ? 2619 - (uint32_t)i : 0, i == 1 ? 0x40 : 0x4,
                               i == 3 ? 2 : 1), 0);
    dt_conditions_describe (&c, &j);
    ck_assert (j.has_clock_mhz && j.has_clock_mhz_least && j.has_memory_mhz && j.has_contended);
    ck_assert_uint_eq (j.clock_mhz, 1965);
    ck_assert_uint_eq (j.clock_mhz_least, 1200);
    ck_assert_uint_eq (j.memory_mhz, 2618);
    ck_assert_uint_eq (j.memory_mhz_least, 2617);
    ck_assert_uint_eq (j.clock_reasons, 0x44);
    ck_assert_uint_eq (j.contended, 2);
    dt_conditions_done (&c);
}
END_TEST

/* What nobody reported is absent, and not 0. */
START_TEST (nothing_reported)
{
    Detent__JobReply j = DETENT__JOB_REPLY__INIT;
    struct dt_conditions c = { .any_reasons = 0 };

    ck_assert_int_eq (dt_conditions_add (&c, NULL, NULL), 0);
    ck_assert_int_eq (add (&c, 0, 0, 0, -1), 0);
    dt_conditions_describe (&c, &j);
    ck_assert (!j.has_clock_mhz && !j.has_clock_mhz_least && !j.has_memory_mhz
               && !j.has_memory_mhz_least && !j.has_clock_reasons && !j.has_contended);
    /* No reason is one that was reported. */
    ck_assert_int_eq (add (&c, 1980, 0, 0, 0), 0);
    dt_conditions_describe (&c, &j);
    ck_assert (j.has_clock_reasons && j.clock_reasons == 0 && !j.has_memory_mhz);
    dt_conditions_done (&c);
}
END_TEST

/* Somebody is there if any look told so, and nobody only if every look did. */
static const struct {
    int others[3];
    int has;
    uint32_t want;
} looks[] = {
    { { 0, 0, 0 }, 1, 0 },    { { 0, 3, 1 }, 1, 3 }, { { 0, -1, 0 }, 0, 0 },
    { { -1, -1, -1 }, 0, 0 }, { { -1, 2, 0 }, 1, 2 },
};

START_TEST (contended)
{
    Detent__JobReply j = DETENT__JOB_REPLY__INIT;
    struct dt_conditions c = { .any_reasons = 0 };

    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq (add (&c, 0, 0, 0, looks[_i].others[i]), 0);
    dt_conditions_describe (&c, &j);
    ck_assert_int_eq (j.has_contended, looks[_i].has);
    ck_assert_uint_eq (j.contended, looks[_i].want);
    dt_conditions_done (&c);
}
END_TEST

START_TEST (out_of_memory)
{
    int r = -ENOMEM;

    for (size_t n = 0; r < 0; n++) {
        struct dt_conditions c = { .any_reasons = 0 };

        dt_mem_fail_after (n);
        r = add (&c, 1980, 2619, 0, 0);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || r == -ENOMEM);
        dt_conditions_done (&c);
        ck_assert_uint_lt (n, 10);
    }
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("detentd/conditions");
    TCase *tc = tcase_create ("conditions");

    tcase_add_test (tc, summary);
    tcase_add_test (tc, nothing_reported);
    tcase_add_loop_test (tc, contended, 0, DT_ARRAY_SIZE (looks));
    tcase_add_test (tc, out_of_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
