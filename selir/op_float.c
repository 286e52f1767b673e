/* selir/op_float.c - the arithmetic of floats: CPython's, bit for bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "selir/op_int.h"

/* The first double beyond an int: every double below it down to its negative fits. */
#define TWO63 0x1p63

static enum dt_fault value (double v, int64_t *ret)
{
    *ret = dt_op_bits (v);
    return DT_FAULT_NONE;
}

static uint64_t magnitude (int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* a / b of positive ints.  With both scaled to 2^63 .. 2^64 the quotient has at
 * least 62 bits; the remainder only says on which side of it the true one lies, and
 * a last bit that is set says that as well.  The one rounding is the conversion. */
static double quotient (uint64_t a, uint64_t b)
{
    int shift_a = __builtin_clzll (a), shift_b = __builtin_clzll (b);
    unsigned __int128 num = (unsigned __int128)(a << shift_a) << 62;
    uint64_t d = b << shift_b, q = (uint64_t)(num / d);

    return ldexp ((double)(q | (num % d != 0)), shift_b - shift_a - 62);
}

static enum dt_fault int_div (int64_t a, int64_t b, int64_t *ret)
{
    double v;

    *ret = 0;
    if (b == 0)
        return DT_FAULT_ZERO_DIVISION;
    v = a == 0 ? 0.0 : quotient (magnitude (a), magnitude (b));
    return value ((a < 0) != (b < 0) ? -v : v, ret);
}

/* The remainder with the divisor's sign, zero too. */
static double floor_mod (double a, double b)
{
    double m = fmod (a, b);

    if (m == 0)
        return copysign (0.0, b);
    return (b < 0) != (m < 0) ? m + b : m;
}

#define TWO52 0x1p52 /* doubles below have a fraction, and fit an int */

/* floor, without a call; -0.0 stays so. */
static double floor_small (double v)
{
    double whole = (double)(int64_t)v;

    return copysign (whole > v ? whole - 1.0 : whole, v);
}

/* CPython's float_divmod, step by step: its roundings are part of the result.  By 1 all
 * of them are exact; that is how ceil is written. */
static double floor_div (double a, double b)
{
    double m, div, whole;

    if (b == 1.0 && fabs (a) < TWO52)
        return floor_small (a);
    m = fmod (a, b);
    div = (a - m) / b;
    if (m != 0 && (b < 0) != (m < 0))
        div -= 1.0;
    if (div == 0)
        return copysign (0.0, a / b);
    whole = floor (div);
    return div - whole > 0.5 ? whole + 1.0 : whole;
}

static enum dt_fault division (uint8_t op, double a, double b, int64_t *ret)
{
    *ret = 0;
    if (b == 0)
        return DT_FAULT_ZERO_DIVISION;
    return value (op == DT_OP_FDIV ? a / b : op == DT_OP_FMOD ? floor_mod (a, b) : floor_div (a, b),
                  ret);
}

/* An integral double to an int. */
static enum dt_fault to_int (double v, int64_t *ret)
{
    *ret = 0;
    if (v != v)
        return DT_FAULT_VALUE;
    if (!(v >= -TWO63 && v < TWO63))
        return DT_FAULT_OVERFLOW;
    *ret = (int64_t)v;
    return DT_FAULT_NONE;
}

/* Ties to even whatever the rounding mode: v - floor (v) is exact below 2^52, where
 * a double has a fraction. */
static double round_even (double v)
{
    double whole = floor (v), rest = v - whole;

    if (rest > 0.5 || (rest == 0.5 && fmod (whole, 2.0) != 0))
        return whole + 1.0;
    return whole;
}

/* int against float, exactly: -1, 0, 1; 2 against NaN. */
static int order (int64_t a, double b)
{
    int64_t whole;
    double rest;

    if (b != b)
        return 2;
    if (b >= TWO63 || b < -TWO63)
        return b > 0 ? -1 : 1;
    whole = (int64_t)b;
    rest = b - (double)whole;
    if (a != whole)
        return a < whole ? -1 : 1;
    return rest > 0 ? -1 : rest < 0;
}

static int64_t compare (uint8_t op, int64_t a, int64_t b)
{
    double x = dt_op_double (a), y = dt_op_double (b);
    int c;

    switch (op) {
    case DT_OP_FLT: return x < y;
    case DT_OP_FLE: return x <= y;
    case DT_OP_FEQ: return x == y;
    case DT_OP_FNE: return x != y;
    case DT_OP_FBOOL: return x != 0;
    case DT_OP_ILTF: return order (a, y) == -1;
    case DT_OP_ILEF: c = order (a, y); return c <= 0;
    case DT_OP_FLTI: return order (b, x) == 1;
    case DT_OP_FLEI: c = order (b, x); return c == 0 || c == 1;
    default: return order (a, y) == 0; /* IEQF */
    }
}

enum dt_fault dt_op_float (uint8_t op, int64_t a, int64_t b, int64_t *ret)
{
    double x = dt_op_double (a), y = dt_op_double (b);

    switch (op) {
    case DT_OP_IDIV: return int_div (a, b, ret);
    case DT_OP_FADD: return value (x + y, ret);
    case DT_OP_FSUB: return value (x - y, ret);
    case DT_OP_FMUL: return value (x * y, ret);
    case DT_OP_FDIV: case DT_OP_FMOD: case DT_OP_FFLOORDIV: return division (op, x, y, ret);
    case DT_OP_FNEG: return value (-x, ret);
    case DT_OP_FABS: return value (fabs (x), ret);
    case DT_OP_FMIN: return value (y < x ? y : x, ret);
    case DT_OP_FMAX: return value (y > x ? y : x, ret);
    case DT_OP_ITOF: return value ((double)a, ret);
    case DT_OP_FTOI: return to_int (trunc (x), ret);
    case DT_OP_FROUND: return to_int (round_even (x), ret);
    case DT_OP_F32: return value ((double)(float)x, ret);
    default: *ret = compare (op, a, b); return DT_FAULT_NONE;
    }
}

/* As CPython: no exponent from 1e-4 up to 1e16, and a digit after the point. */
void dt_op_float_text (int64_t bits, char text[DT_FLOAT_TEXT])
{
    double v = dt_op_double (bits);
    int digits = 0, e;

    if (v != v || v - v != 0) {
        snprintf (text, DT_FLOAT_TEXT, v != v ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    do
        snprintf (text, DT_FLOAT_TEXT, "%.*e", digits, v);
    while (digits++ < 16 && strtod (text, NULL) != v);
    e = atoi (strchr (text, 'e') + 1);
    if (e >= -4 && e < 16)
        snprintf (text, DT_FLOAT_TEXT, "%.*f", digits - 1 - e > 1 ? digits - 1 - e : 1, v);
}
