/* solver/export_ops.c - the arithmetic of the ops as C source.
 *
 * A second writing of selir/op*.c, for readers of exported code; tests/test_export.c
 * compares them.  Faults are numbers of enum dt_fault. */
#include "solver/export_ops.h"

#include "base/mem.h"
#include "selir/op.h"

_Static_assert (DT_FAULT_OVERFLOW == 1 && DT_FAULT_ZERO_DIVISION == 2 && DT_FAULT_VALUE == 3,
                "the sources below say 1, 2 and 3");

static const char *const parts[DT_EXPORT_PARTS] = {
    "static double detent_num (int64_t bits)\n"
    "{\n"
    "    double v;\n\n"
    "    memcpy (&v, &bits, sizeof v);\n"
    "    return v;\n"
    "}\n\n",
    "static int64_t detent_bits (double v)\n"
    "{\n"
    "    int64_t bits = 0x7ff8000000000000;\n\n"
    "    if (v == v)\n"
    "        memcpy (&bits, &v, sizeof bits);\n"
    "    return bits;\n"
    "}\n\n",
    "static int detent_order (int64_t a, double b)\n"
    "{\n"
    "    int64_t whole;\n"
    "    double rest;\n\n"
    "    if (b != b)\n"
    "        return 2;\n"
    "    if (b >= 0x1p63 || b < -0x1p63)\n"
    "        return b > 0 ? -1 : 1;\n"
    "    whole = (int64_t)b;\n"
    "    rest = b - (double)whole;\n"
    "    if (a != whole)\n"
    "        return a < whole ? -1 : 1;\n"
    "    return rest > 0 ? -1 : rest < 0;\n"
    "}\n\n",
    "static int detent_to_int (double v, int64_t *ret)\n"
    "{\n"
    "    *ret = 0;\n"
    "    if (v != v)\n"
    "        return 3;\n"
    "    if (!(v >= -0x1p63 && v < 0x1p63))\n"
    "        return 1;\n"
    "    *ret = (int64_t)v;\n"
    "    return 0;\n"
    "}\n\n",
};

/* An int op whose builtin says whether it overflows. */
#define OVERFLOWS(name, builtin) \
    { .function = "detent_" name, .source = \
    "static int detent_" name " (int64_t a, int64_t b, int64_t *ret)\n" \
    "{\n" \
    "    int over = __builtin_" builtin "_overflow (a, b, ret);\n\n" \
    "    *ret = over ? 0 : *ret;\n" \
    "    return over;\n" \
    "}\n\n" }

/* Functions, because compilers warn of a comparison of one register with itself. */
#define COMPARES(name, expression) \
    { .value = "detent_" name " (A, B)", .source = \
    "static int64_t detent_" name " (int64_t a, int64_t b)\n" \
    "{\n" \
    "    return " expression ";\n" \
    "}\n\n" }

/* A float division, whose divisor must not be zero. */
#define DIVIDES(name, body) \
    { .function = "detent_" name, .parts = DT_EXPORT_NUM | DT_EXPORT_BITS, .source = \
    "static int detent_" name " (int64_t x, int64_t y, int64_t *ret)\n" \
    "{\n" \
    "    double a = detent_num (x), b = detent_num (y), v, m;\n\n" \
    "    *ret = 0;\n" \
    "    if (b == 0)\n" \
    "        return 2;\n" \
    body \
    "    *ret = detent_bits (v);\n" \
    "    return 0;\n" \
    "}\n\n" }

#define NUMBER(expression) \
    { .value = "detent_bits (" expression ")", .parts = DT_EXPORT_NUM | DT_EXPORT_BITS }
#define ORDERED(expression) { .value = expression, .parts = DT_EXPORT_NUM | DT_EXPORT_ORDER }
#define PICKS(name, compare) \
    { .value = "detent_" name " (detent_num (A), detent_num (B))", \
      .parts = DT_EXPORT_NUM | DT_EXPORT_BITS, .source = \
    "static int64_t detent_" name " (double a, double b)\n" \
    "{\n" \
    "    return detent_bits (b " compare " a ? b : a);\n" \
    "}\n\n" }
#define FCOMPARES(name, expression) \
    { .value = "detent_" name " (detent_num (A), detent_num (B))", .parts = DT_EXPORT_NUM, \
      .source = \
    "static int64_t detent_" name " (double a, double b)\n" \
    "{\n" \
    "    return " expression ";\n" \
    "}\n\n" }

static const struct dt_export_op ops[DT_OP_COUNT] = {
    [DT_OP_ADD] = OVERFLOWS ("add", "add"),
    [DT_OP_SUB] = OVERFLOWS ("sub", "sub"),
    [DT_OP_MUL] = OVERFLOWS ("mul", "mul"),
    [DT_OP_FLOORDIV] = { .function = "detent_floordiv", .source =
        "static int detent_floordiv (int64_t a, int64_t b, int64_t *ret)\n"
        "{\n"
        "    *ret = 0;\n"
        "    if (b == 0)\n"
        "        return 2;\n"
        "    if (a == INT64_MIN && b == -1)\n"
        "        return 1;\n"
        "    *ret = a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
        "    return 0;\n"
        "}\n\n" },
    [DT_OP_MOD] = { .function = "detent_mod", .source =
        "static int detent_mod (int64_t a, int64_t b, int64_t *ret)\n"
        "{\n"
        "    int64_t m;\n\n"
        "    *ret = 0;\n"
        "    if (b == 0)\n"
        "        return 2;\n"
        "    m = b == -1 ? 0 : a % b;\n"
        "    *ret = m != 0 && (m < 0) != (b < 0) ? m + b : m;\n"
        "    return 0;\n"
        "}\n\n" },
    [DT_OP_LSHIFT] = { .function = "detent_lshift", .source =
        "static int detent_lshift (int64_t a, int64_t n, int64_t *ret)\n"
        "{\n"
        "    int64_t v;\n\n"
        "    *ret = 0;\n"
        "    if (n < 0)\n"
        "        return 3;\n"
        "    if (a == 0)\n"
        "        return 0;\n"
        "    if (n >= 64)\n"
        "        return 1;\n"
        "    v = (int64_t)((uint64_t)a << n);\n"
        "    if ((v >> n) != a)\n"
        "        return 1;\n"
        "    *ret = v;\n"
        "    return 0;\n"
        "}\n\n" },
    [DT_OP_RSHIFT] = { .function = "detent_rshift", .source =
        "static int detent_rshift (int64_t a, int64_t n, int64_t *ret)\n"
        "{\n"
        "    *ret = n < 0 ? 0 : a >> (n > 63 ? 63 : n);\n"
        "    return n < 0 ? 3 : 0;\n"
        "}\n\n" },
    [DT_OP_NEG] = { .function = "detent_neg", .source =
        "static int detent_neg (int64_t a, int64_t *ret)\n"
        "{\n"
        "    *ret = a == INT64_MIN ? 0 : -a;\n"
        "    return a == INT64_MIN;\n"
        "}\n\n" },
    [DT_OP_ABS] = { .function = "detent_abs", .source =
        "static int detent_abs (int64_t a, int64_t *ret)\n"
        "{\n"
        "    *ret = a == INT64_MIN ? 0 : a < 0 ? -a : a;\n"
        "    return a == INT64_MIN;\n"
        "}\n\n" },
    [DT_OP_BITAND] = { .value = "A & B" },
    [DT_OP_BITOR] = { .value = "A | B" },
    [DT_OP_BITXOR] = { .value = "A ^ B" },
    [DT_OP_INVERT] = { .value = "~A" },
    [DT_OP_MIN] = COMPARES ("min", "b < a ? b : a"),
    [DT_OP_MAX] = COMPARES ("max", "b > a ? b : a"),
    [DT_OP_LT] = COMPARES ("lt", "a < b"),
    [DT_OP_LE] = COMPARES ("le", "a <= b"),
    [DT_OP_EQ] = COMPARES ("eq", "a == b"),
    [DT_OP_NE] = COMPARES ("ne", "a != b"),
    [DT_OP_NOT] = { .value = "!A" },
    [DT_OP_AND] = { .value = "A && B" },
    [DT_OP_OR] = { .value = "A || B" },
    [DT_OP_INT] = { .value = "A" },
    [DT_OP_BOOL] = { .value = "A != 0" },
    [DT_OP_SELECT] = { .value = "A ? B : C" },
    [DT_OP_IPOW] = { .function = "detent_pow", .source =
        "static int detent_pow (int64_t a, int64_t n, int64_t *ret)\n"
        "{\n"
        "    int64_t v = 1;\n\n"
        "    *ret = 0;\n"
        "    if (n < 0)\n"
        "        return a == 0 ? 2 : 3;\n"
        "    if (a == 0 || a == 1 || a == -1)\n"
        "        n = n == 0 ? 0 : 2 - (n & 1);\n"
        "    else if (n > 63)\n"
        "        return 1;\n"
        "    for (; n > 0; n--)\n"
        "        if (__builtin_mul_overflow (v, a, &v))\n"
        "            return 1;\n"
        "    *ret = v;\n"
        "    return 0;\n"
        "}\n\n" },
    [DT_OP_IDIV] = { .function = "detent_div", .parts = DT_EXPORT_BITS, .source =
        "__extension__ typedef unsigned __int128 detent_wide;\n\n"
        "static int detent_div (int64_t a, int64_t b, int64_t *ret)\n"
        "{\n"
        "    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;\n"
        "    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b, q;\n"
        "    double v = 0;\n"
        "    int i, j;\n\n"
        "    *ret = 0;\n"
        "    if (b == 0)\n"
        "        return 2;\n"
        "    if (a != 0) {\n"
        "        i = __builtin_clzll (x);\n"
        "        j = __builtin_clzll (y);\n"
        "        y <<= j;\n"
        "        q = (uint64_t)(((detent_wide)(x << i) << 62) / y);\n"
        "        q |= ((detent_wide)(x << i) << 62) % y != 0; /* rounds as the rest would */\n"
        "        v = ldexp ((double)q, j - i - 62);\n"
        "    }\n"
        "    *ret = detent_bits ((a < 0) != (b < 0) ? -v : v);\n"
        "    return 0;\n"
        "}\n\n" },
    [DT_OP_FADD] = NUMBER ("detent_num (A) + detent_num (B)"),
    [DT_OP_FSUB] = NUMBER ("detent_num (A) - detent_num (B)"),
    [DT_OP_FMUL] = NUMBER ("detent_num (A) * detent_num (B)"),
    [DT_OP_FDIV] = DIVIDES ("fdiv", "    v = a / b;\n    (void)m;\n"),
    [DT_OP_FFLOORDIV] = DIVIDES ("ffloordiv",
        "    m = fmod (a, b);\n"
        "    v = (a - m) / b;\n"
        "    if (m != 0 && (b < 0) != (m < 0))\n"
        "        v -= 1.0;\n"
        "    if (v == 0)\n"
        "        v = copysign (0.0, a / b);\n"
        "    else\n"
        "        v = v - floor (v) > 0.5 ? floor (v) + 1.0 : floor (v);\n"),
    [DT_OP_FMOD] = DIVIDES ("fmod",
        "    m = fmod (a, b);\n"
        "    v = m == 0 ? copysign (0.0, b) : (b < 0) != (m < 0) ? m + b : m;\n"),
    [DT_OP_FNEG] = NUMBER ("-detent_num (A)"),
    [DT_OP_FABS] = NUMBER ("fabs (detent_num (A))"),
    [DT_OP_FMIN] = PICKS ("fmin", "<"),
    [DT_OP_FMAX] = PICKS ("fmax", ">"),
    [DT_OP_FLT] = FCOMPARES ("flt", "a < b"),
    [DT_OP_FLE] = FCOMPARES ("fle", "a <= b"),
    [DT_OP_FEQ] = FCOMPARES ("feq", "a == b"),
    [DT_OP_FNE] = FCOMPARES ("fne", "a != b"),
    [DT_OP_ILTF] = ORDERED ("detent_order (A, detent_num (B)) == -1"),
    [DT_OP_ILEF] = ORDERED ("detent_order (A, detent_num (B)) <= 0"),
    [DT_OP_FLTI] = ORDERED ("detent_order (B, detent_num (A)) == 1"),
    [DT_OP_FLEI] = ORDERED ("detent_order (B, detent_num (A)) / 2 == 0 "
                            "&& detent_order (B, detent_num (A)) >= 0"),
    [DT_OP_IEQF] = ORDERED ("detent_order (A, detent_num (B)) == 0"),
    [DT_OP_ITOF] = { .value = "detent_bits ((double)A)", .parts = DT_EXPORT_BITS },
    [DT_OP_FTOI] = { .function = "detent_ftoi", .parts = DT_EXPORT_NUM | DT_EXPORT_TO_INT,
        .source =
        "static int detent_ftoi (int64_t a, int64_t *ret)\n"
        "{\n"
        "    return detent_to_int (trunc (detent_num (a)), ret);\n"
        "}\n\n" },
    [DT_OP_FROUND] = { .function = "detent_round", .parts = DT_EXPORT_NUM | DT_EXPORT_TO_INT,
        .source =
        "static int detent_round (int64_t a, int64_t *ret)\n"
        "{\n"
        "    double v = detent_num (a), whole = floor (v), rest = v - whole;\n\n"
        "    if (rest > 0.5 || (rest == 0.5 && fmod (whole, 2.0) != 0))\n"
        "        whole += 1.0;\n"
        "    return detent_to_int (whole, ret);\n"
        "}\n\n" },
    [DT_OP_F32] = NUMBER ("(double)(float)detent_num (A)"),
    [DT_OP_FBOOL] = { .value = "detent_num (A) != 0", .parts = DT_EXPORT_NUM },
};

const char *dt_export_part (unsigned i)
{
    return parts[i];
}

const struct dt_export_op *dt_export_op (uint16_t op)
{
    return op < DT_ARRAY_SIZE (ops) && (ops[op].value || ops[op].function) ? &ops[op] : NULL;
}
