/* The arithmetic of SelIR: Python's values and errors on 64-bit ints. */

#include "base/mem.h"
#include "selir/op.h"
#include "tests/suite.h"

#define OVER DT_FAULT_OVERFLOW
#define ZERO DT_FAULT_ZERO_DIVISION
#define MIN INT64_MIN
#define MAX INT64_MAX

static const struct {
    uint8_t op;
    int64_t a, b, want;
    enum dt_fault fault;
} cases[] = {
    { DT_OP_ADD, 2, 3, 5, 0 }, { DT_OP_ADD, MAX, 1, 0, OVER }, { DT_OP_ADD, MIN, -1, 0, OVER },
    { DT_OP_ADD, MAX, MIN, -1, 0 },
    { DT_OP_SUB, 2, 3, -1, 0 }, { DT_OP_SUB, MIN, 1, 0, OVER }, { DT_OP_SUB, 0, MIN, 0, OVER },
    { DT_OP_SUB, -1, MIN, MAX, 0 },
    { DT_OP_MUL, -4, 5, -20, 0 }, { DT_OP_MUL, MIN, -1, 0, OVER }, { DT_OP_MUL, MIN, 1, MIN, 0 },
    { DT_OP_MUL, 1LL << 32, 1LL << 31, 0, OVER }, { DT_OP_MUL, 1LL << 31, -(1LL << 32), MIN, 0 },
    { DT_OP_FLOORDIV, 7, 2, 3, 0 }, { DT_OP_FLOORDIV, -7, 2, -4, 0 },
    { DT_OP_FLOORDIV, 7, -2, -4, 0 }, { DT_OP_FLOORDIV, -7, -2, 3, 0 },
    { DT_OP_FLOORDIV, 6, 2, 3, 0 }, { DT_OP_FLOORDIV, -6, 2, -3, 0 },
    { DT_OP_FLOORDIV, 6, -2, -3, 0 }, { DT_OP_FLOORDIV, -6, -2, 3, 0 },
    { DT_OP_FLOORDIV, 1, 0, 0, ZERO }, { DT_OP_FLOORDIV, 0, -3, 0, 0 },
    { DT_OP_FLOORDIV, MIN, -1, 0, OVER }, { DT_OP_FLOORDIV, MIN, 1, MIN, 0 },
    { DT_OP_FLOORDIV, MAX, MIN, -1, 0 }, { DT_OP_FLOORDIV, MIN, MAX, -2, 0 },
    { DT_OP_MOD, 7, 2, 1, 0 }, { DT_OP_MOD, -7, 2, 1, 0 }, { DT_OP_MOD, 7, -2, -1, 0 },
    { DT_OP_MOD, -7, -2, -1, 0 }, { DT_OP_MOD, 6, -2, 0, 0 }, { DT_OP_MOD, -6, 2, 0, 0 },
    { DT_OP_MOD, 5, 0, 0, ZERO }, { DT_OP_MOD, MIN, -1, 0, 0 }, { DT_OP_MOD, MAX, MIN, -1, 0 },
    { DT_OP_MOD, MIN, MAX, MAX - 1, 0 }, { DT_OP_MOD, 1, MIN, MIN + 1, 0 },
    { DT_OP_LSHIFT, 3, 4, 48, 0 }, { DT_OP_LSHIFT, -3, 4, -48, 0 },
    { DT_OP_LSHIFT, 1, 62, 1LL << 62, 0 }, { DT_OP_LSHIFT, 1, 63, 0, OVER },
    { DT_OP_LSHIFT, -1, 63, MIN, 0 }, { DT_OP_LSHIFT, -1, 64, 0, OVER },
    { DT_OP_LSHIFT, 0, 1000, 0, 0 }, { DT_OP_LSHIFT, 5, -1, 0, DT_FAULT_VALUE },
    { DT_OP_LSHIFT, 0, -1, 0, DT_FAULT_VALUE }, { DT_OP_LSHIFT, 5, 0, 5, 0 },
    { DT_OP_RSHIFT, 48, 4, 3, 0 }, { DT_OP_RSHIFT, -1, 1, -1, 0 }, { DT_OP_RSHIFT, -5, 1, -3, 0 },
    { DT_OP_RSHIFT, 5, 64, 0, 0 }, { DT_OP_RSHIFT, -5, 64, -1, 0 }, { DT_OP_RSHIFT, MIN, 63, -1, 0 },
    { DT_OP_RSHIFT, MAX, MAX, 0, 0 }, { DT_OP_RSHIFT, 5, -1, 0, DT_FAULT_VALUE },
    { DT_OP_NEG, 5, 0, -5, 0 }, { DT_OP_NEG, MIN, 0, 0, OVER }, { DT_OP_NEG, MAX, 0, -MAX, 0 },
    { DT_OP_ABS, -5, 0, 5, 0 }, { DT_OP_ABS, 5, 0, 5, 0 }, { DT_OP_ABS, MIN, 0, 0, OVER },
    { DT_OP_BITAND, -2, 7, 6, 0 }, { DT_OP_BITOR, -8, 3, -5, 0 }, { DT_OP_BITXOR, -1, 5, -6, 0 },
    { DT_OP_INVERT, 5, 0, -6, 0 }, { DT_OP_INVERT, MIN, 0, MAX, 0 },
    { DT_OP_MIN, 3, -4, -4, 0 }, { DT_OP_MAX, 3, -4, 3, 0 },
    { DT_OP_LT, 1, 1, 0, 0 }, { DT_OP_LT, MIN, MAX, 1, 0 }, { DT_OP_LE, 1, 1, 1, 0 },
    { DT_OP_EQ, 4, 4, 1, 0 }, { DT_OP_NE, 4, 4, 0, 0 }, { DT_OP_NOT, 0, 0, 1, 0 },
    { DT_OP_AND, 1, 0, 0, 0 }, { DT_OP_AND, 1, 1, 1, 0 }, { DT_OP_OR, 0, 1, 1, 0 },
    { DT_OP_INT, 1, 0, 1, 0 }, { DT_OP_BOOL, -9, 0, 1, 0 }, { DT_OP_BOOL, 0, 0, 0, 0 },
    { DT_OP_FAIL, DT_FAULT_UNBOUND, 0, 0, DT_FAULT_UNBOUND },
};

START_TEST (eval_case)
{
    int64_t v = 77;
    enum dt_fault f = dt_op_eval (cases[_i].op, cases[_i].a, cases[_i].b, 0, &v);

    ck_assert_msg (f == cases[_i].fault && v == cases[_i].want,
                   "%s (%lld, %lld) gave %lld, %s", dt_op_text (cases[_i].op),
                   (long long)cases[_i].a, (long long)cases[_i].b, (long long)v,
                   dt_fault_name (f));
}
END_TEST

/* q * b + r == a, r between 0 and b, for all sign pairs. */
START_TEST (floor_identity)
{
    int64_t a, b, q, r;

    for (a = -40; a <= 40; a++) {
        for (b = -9; b <= 9; b++) {
            if (b == 0)
                continue;
            ck_assert_int_eq (dt_op_eval (DT_OP_FLOORDIV, a, b, 0, &q), 0);
            ck_assert_int_eq (dt_op_eval (DT_OP_MOD, a, b, 0, &r), 0);
            ck_assert_int_eq (q * b + r, a);
            ck_assert (b > 0 ? r >= 0 && r < b : r <= 0 && r > b);
        }
    }
}
END_TEST

START_TEST (select_and_names)
{
    int64_t v;

    dt_op_eval (DT_OP_SELECT, 1, 10, 20, &v);
    ck_assert_int_eq (v, 10);
    dt_op_eval (DT_OP_SELECT, 0, 10, 20, &v);
    ck_assert_int_eq (v, 20);
    ck_assert_str_eq (dt_fault_name (DT_FAULT_KEY), "KeyError");
    ck_assert_str_eq (dt_fault_name ((enum dt_fault)99), "unknown fault");
    ck_assert_int_eq (dt_op_args (DT_OP_SELECT), 3);
    ck_assert_int_eq (dt_op_args (200), 0);
    ck_assert (dt_op_partial (DT_OP_FAIL) && !dt_op_partial (DT_OP_MIN));
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/op");
    TCase *tc = tcase_create ("op");

    tcase_add_loop_test (tc, eval_case, 0, (int)DT_ARRAY_SIZE (cases));
    tcase_add_test (tc, floor_identity);
    tcase_add_test (tc, select_and_names);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
