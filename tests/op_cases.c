/* tests/op_cases.c - random and edge operands through every op, for op_python.py.
 * usage: op_cases CASES [SEED]
 *
 * stdout: a line "NAME TYPES" for each op that has operands, and an empty line; then
 * for each op CASES records of five little-endian words: fault, a, b, c, value.  Then
 * CASES pairs of a float's bits and its text in 32 bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "selir/op.h"

static const char *const names[] = {
#define X(name, text, types, partial) #name,
    DT_OPS (X)
#undef X
};

static uint64_t state;

static uint64_t word (void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
}

static uint32_t below (uint32_t n)
{
    return (uint32_t)((word () >> 32) % n);
}

static int64_t any_int (void)
{
    static const int64_t edge[] = {
        0, 1, -1, 2, -2, 3, 10, 31, 32, 33, 62, 63, 64, 65, INT64_MIN, INT64_MIN + 1, INT64_MAX,
        INT64_MAX - 1, 1LL << 53, (1LL << 53) - 1, (1LL << 53) + 1, -(1LL << 53) - 1, 1LL << 62,
        3037000499, 3037000500, 1LL << 31, 1LL << 32, INT64_MAX - 511, INT64_MAX - 512,
    };

    switch (below (4)) {
    case 0: return edge[below (DT_ARRAY_SIZE (edge))];
    case 1: return (int64_t)below (200) - 100;
    default: return (int64_t)word () >> below (64);
    }
}

static int64_t any_float (void)
{
    static const double edge[] = {
        0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 0.1, 3.0, 0x1p-1074, -0x1p-1074, 0x1p-1022,
        0x1.fffffffffffffp1023, 0x1p53, 0x1p53 - 1, 0x1p53 + 2, 0x1p63, -0x1p63, 0x1.fffffffffffffp62,
        -0x1.0000000000001p63, 0x1p64, 0x1p52 + 0.5, 0x1p51 + 0.5, 0x1.fffffep127, 0x1.fffffefffffffp127,
        0x1.ffffffp127, 0x1p-149, 0x1p-150, 0x1.000001p0, 0x1.000003p0, 1e16, 1e-5, 9999999999999998.0,
        0.49999999999999994, __builtin_inf (), -__builtin_inf (), __builtin_nan (""),
    };

    switch (below (5)) {
    case 0: return dt_op_bits (edge[below (DT_ARRAY_SIZE (edge))]);
    case 1: return dt_op_bits ((double)any_int ());
    case 2: return dt_op_bits (((double)below (2000) - 1000) / 4);
    case 3: return dt_op_bits ((double)any_int () / (double)(1 + below (1000)));
    default: return (int64_t)word (); /* any bits, NaNs of all kinds too */
    }
}

static int64_t any (char type)
{
    return type == 'b' ? below (2) : type == 'f' ? any_float () : any_int ();
}

/* Often close to the first operand, where comparisons and roundings turn. */
static int64_t near (char type, char of, int64_t a)
{
    int64_t step = (int64_t)below (5) - 2;

    if (type == 'b' || below (3))
        return any (type);
    if (type == of)
        return (int64_t)((uint64_t)a + (uint64_t)step); /* of a float: its neighbours */
    if (type == 'f')
        return (int64_t)((uint64_t)dt_op_bits ((double)a) + (uint64_t)step);
    return dt_op_double (a) > -0x1p62 && dt_op_double (a) < 0x1p62 ? (int64_t)dt_op_double (a) + step
                                                                   : any_int ();
}

static void put (const void *p, size_t n)
{
    if (fwrite (p, 1, n, stdout) != n)
        exit (EXIT_FAILURE);
}

static void cases (uint8_t op, long n)
{
    const char *types = dt_op_types (op);
    int args = dt_op_args (op);
    int64_t row[5];

    for (; n > 0; n--) {
        row[1] = any (types[0]);
        row[2] = args > 1 ? near (types[1], types[0], row[1]) : 0;
        row[3] = args > 2 ? any (types[2]) : 0;
        row[0] = dt_op_eval (op, row[1], row[2], row[3], &row[4]);
        put (row, sizeof row);
    }
}

int main (int argc, char **argv)
{
    long i, n = argc > 1 ? strtol (argv[1], NULL, 10) : 0;
    uint8_t op;

    state = argc > 2 ? strtoull (argv[2], NULL, 10) | 1 : 0x9e3779b97f4a7c15u;
    for (op = 0; op < DT_OP_COUNT; op++)
        if (dt_op_args (op) > 0)
            printf ("%s %s\n", names[op], dt_op_types (op));
    printf ("\n");
    for (op = 0; op < DT_OP_COUNT; op++)
        if (dt_op_args (op) > 0)
            cases (op, n);
    for (i = 0; i < n; i++) {
        char text[DT_FLOAT_TEXT] = "";
        int64_t bits = any_float ();

        dt_op_float_text (bits, text);
        put (&bits, sizeof bits);
        put (text, sizeof text);
    }
    return EXIT_SUCCESS;
}
