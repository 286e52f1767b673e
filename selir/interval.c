/* selir/interval.c - interval arithmetic of the ops, in 128 bits. */
#include "selir/range_int.h"

typedef __int128 wide;

static struct dt_interval whole (int64_t lo, int64_t hi)
{
    return (struct dt_interval){ lo, hi, 0 };
}

/* An interval of what the op gives where it does not raise. */
static struct dt_interval with_fault (int64_t lo, int64_t hi)
{
    return (struct dt_interval){ lo < 0 ? lo : 0, hi > 0 ? hi : 0, 1 };
}

static struct dt_interval clamp (wide lo, wide hi)
{
    int64_t l = lo < INT64_MIN ? INT64_MIN : lo > INT64_MAX ? INT64_MAX : (int64_t)lo;
    int64_t h = hi < INT64_MIN ? INT64_MIN : hi > INT64_MAX ? INT64_MAX : (int64_t)hi;

    return lo < INT64_MIN || hi > INT64_MAX ? with_fault (l, h) : whole (l, h);
}

static struct dt_interval corners (wide a, wide b, wide c, wide d)
{
    wide lo = a < b ? a : b, hi = a < b ? b : a;

    lo = c < lo ? c : lo;
    hi = c > hi ? c : hi;
    return clamp (d < lo ? d : lo, d > hi ? d : hi);
}

static struct dt_interval join (struct dt_interval a, struct dt_interval b)
{
    return (struct dt_interval){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi,
                                 a.fault | b.fault };
}

static wide floor_wide (wide a, wide b)
{
    wide q = a / b;

    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Divisors lo..hi of one sign: monotone in both operands on each side of 0. */
static struct dt_interval div_side (const struct dt_range *a, wide lo, wide hi)
{
    return corners (floor_wide (a->lo, lo), floor_wide (a->lo, hi), floor_wide (a->hi, lo),
                    floor_wide (a->hi, hi));
}

static struct dt_interval mod_above (const struct dt_range *a, int64_t lo, int64_t hi)
{
    if (a->lo >= 0 && a->hi < lo)
        return whole (a->lo, a->hi);
    if (lo == hi && floor_wide (a->lo, lo) == floor_wide (a->hi, lo)) {
        wide base = floor_wide (a->lo, lo) * lo;

        return whole ((int64_t)(a->lo - base), (int64_t)(a->hi - base));
    }
    return whole (0, a->lo >= 0 && a->hi < hi - 1 ? a->hi : hi - 1);
}

/* floordiv and mod: each sign of the divisor apart, and 0. */
static struct dt_interval divide (uint8_t op, const struct dt_range *a,
                                  const struct dt_range *b)
{
    struct dt_interval v = { 0, 0, 0 }, side;
    int any = 0;

    if (b->hi > 0) {
        int64_t lo = b->lo > 1 ? b->lo : 1;

        v = op == DT_OP_MOD ? mod_above (a, lo, b->hi) : div_side (a, lo, b->hi);
        any = 1;
    }
    if (b->lo < 0) {
        int64_t hi = b->hi < -1 ? b->hi : -1;

        side = op == DT_OP_MOD ? whole (b->lo + 1, 0) : div_side (a, b->lo, hi);
        v = any ? join (v, side) : side;
        any = 1;
    }
    if (b->lo <= 0 && b->hi >= 0)
        v = with_fault (any ? v.lo : 0, any ? v.hi : 0);
    return v;
}

static struct dt_interval shift_left (const struct dt_range *a, const struct dt_range *b)
{
    int64_t lo = b->lo > 0 ? b->lo : 0, hi = b->hi < 64 ? b->hi : 64;
    struct dt_interval v;
    wide l, h;

    if (b->hi < 0)
        return with_fault (0, 0);
    l = (wide)1 << (lo < 64 ? lo : 64); /* 2^63 * 2^64 is the most that fits */
    h = (wide)1 << hi;
    v = corners (a->lo * l, a->lo * h, a->hi * l, a->hi * h);
    return b->lo < 0 ? with_fault (v.lo, v.hi) : v;
}

static struct dt_interval shift_right (const struct dt_range *a, const struct dt_range *b)
{
    int64_t lo = b->lo > 0 ? b->lo : 0, hi = b->hi < 63 ? b->hi : 63;
    struct dt_interval v;

    if (b->hi < 0)
        return with_fault (0, 0);
    lo = lo < 63 ? lo : 63;
    v = corners (a->lo >> lo, a->lo >> hi, a->hi >> lo, a->hi >> hi);
    return b->lo < 0 ? with_fault (v.lo, v.hi) : v;
}

/* 2^w - 1, the least that is not below v (v >= 0), or for v < 0 above ~v. */
static int64_t mask (int64_t v)
{
    uint64_t m = (uint64_t)(v < 0 ? ~v : v);
    int s;

    for (s = 1; s < 64; s *= 2)
        m |= m >> s;
    return (int64_t)m;
}

static struct dt_interval bits (uint8_t op, const struct dt_range *a, const struct dt_range *b)
{
    int64_t m = mask (a->lo) | mask (a->hi) | mask (b->lo) | mask (b->hi);
    int64_t least = a->hi < b->hi ? a->hi : b->hi;

    if (op == DT_OP_BITAND) {
        if (a->lo >= 0 && b->lo >= 0)
            return whole (0, least);
        if (a->lo >= 0 || b->lo >= 0)
            return whole (0, a->lo >= 0 ? a->hi : b->hi);
        return whole (~m, a->hi > b->hi ? a->hi : b->hi);
    }
    if (a->lo >= 0 && b->lo >= 0)
        return whole (op == DT_OP_BITOR ? (a->lo > b->lo ? a->lo : b->lo) : 0, m);
    return whole (~m, m);
}

static struct dt_interval absolute (const struct dt_range *a)
{
    wide l = a->lo < 0 ? -(wide)a->lo : a->lo, h = a->hi < 0 ? -(wide)a->hi : a->hi;

    if (a->lo <= 0 && a->hi >= 0)
        return clamp (0, l > h ? l : h);
    return clamp (l < h ? l : h, l > h ? l : h);
}

/* v ** n for v, n >= 0, no more than a bound that is beyond 64 bits. */
static wide power (wide v, int64_t n)
{
    wide p = 1;

    if (v <= 1)
        return n == 0 ? 1 : v;
    for (; n > 0 && p <= INT64_MAX; n--)
        p *= v;
    return p;
}

static struct dt_interval powers (const struct dt_range *a, const struct dt_range *b)
{
    wide far = a->lo < 0 && -(wide)a->lo > a->hi ? -(wide)a->lo : a->hi, top;
    struct dt_interval v;
    int64_t least = b->lo > 0 ? b->lo : 0;

    if (b->hi < 0)
        return with_fault (0, 0);
    top = power (far, b->hi);
    if (top < 1)
        top = 1; /* 0 ** 0 */
    v = clamp (a->lo < 0 ? -top : a->lo > 0 ? power (a->lo, least) : 0, top);
    return b->lo < 0 ? with_fault (v.lo, v.hi) : v;
}

struct dt_interval dt_interval_op (uint8_t op, const struct dt_range *a,
                                   const struct dt_range *b)
{
    switch (op) {
    case DT_OP_ADD: return clamp ((wide)a->lo + b->lo, (wide)a->hi + b->hi);
    case DT_OP_SUB: return clamp ((wide)a->lo - b->hi, (wide)a->hi - b->lo);
    case DT_OP_MUL:
        return corners ((wide)a->lo * b->lo, (wide)a->lo * b->hi, (wide)a->hi * b->lo,
                        (wide)a->hi * b->hi);
    case DT_OP_FLOORDIV: case DT_OP_MOD: return divide (op, a, b);
    case DT_OP_LSHIFT: return shift_left (a, b);
    case DT_OP_RSHIFT: return shift_right (a, b);
    case DT_OP_NEG: return clamp (-(wide)a->hi, -(wide)a->lo);
    case DT_OP_ABS: return absolute (a);
    case DT_OP_BITAND: case DT_OP_BITOR: case DT_OP_BITXOR: return bits (op, a, b);
    case DT_OP_INVERT: return whole (~a->hi, ~a->lo);
    case DT_OP_MIN:
        return whole (a->lo < b->lo ? a->lo : b->lo, a->hi < b->hi ? a->hi : b->hi);
    case DT_OP_MAX:
        return whole (a->lo > b->lo ? a->lo : b->lo, a->hi > b->hi ? a->hi : b->hi);
    case DT_OP_IPOW: return powers (a, b);
    default: return dt_interval_float (op, a, b);
    }
}
