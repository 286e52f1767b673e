/* selir/spec_number.c - ints and floats: one operation of the graph at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "selir/spec.h"

static const char *fault_text (enum dt_fault f, uint8_t op)
{
    if (f == DT_FAULT_ZERO_DIVISION)
        return "division by zero";
    if (f == DT_FAULT_VALUE)
        return op == DT_OP_LSHIFT || op == DT_OP_RSHIFT ? "negative shift count" : "a NaN is no int";
    return "an int leaves 64 bits";
}

int dt_spec_arith (struct dt_spec *s, const struct dt_expr *e, uint8_t op, uint8_t type, const struct dt_value *arg,
                   int n, struct dt_value *ret)
{
    enum dt_fault fault;
    int64_t v;

    if (arg[0].kind == DT_VALUE_NODE || (n > 1 && arg[1].kind == DT_VALUE_NODE))
        return dt_spec_node (s, e, op, type, arg, n, ret);
    fault = dt_op_eval (op, arg[0].i, n > 1 ? arg[1].i : 0, 0, &v);
    if (fault != DT_FAULT_NONE)
        return dt_spec_fault (s, e, fault, fault_text (fault, op));
    *ret = type == DT_TYPE_INT ? DT_V_INT (v) : type == DT_TYPE_BOOL ? DT_V_BOOL (v) : DT_V_FLOAT (v);
    return 0;
}

int dt_spec_int (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, const char *what, struct dt_value *ret)
{
    if (dt_value_is_int (v))
        *ret = v;
    else if (v.kind == DT_VALUE_BOOL)
        *ret = DT_V_INT (v.i);
    else if (dt_value_is_bool (v))
        return dt_spec_node (s, e, DT_OP_INT, DT_TYPE_INT, &v, 1, ret);
    else
        return dt_spec_error (s, -DT_ESYNTAX, e->at, dt_value_is_float (v) ? "write int (...) around it" : NULL,
                              "%s takes ints, not %s", what, dt_value_type (v));
    return 0;
}

int dt_spec_float (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, const char *what, struct dt_value *ret)
{
    int r;

    if (dt_value_is_float (v)) {
        *ret = v;
        return 0;
    }
    if (!dt_value_is_number (v))
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "%s takes a number, not %s", what, dt_value_type (v));
    if ((r = dt_spec_int (s, e, v, what, &v)) < 0)
        return r;
    return dt_spec_arith (s, e, DT_OP_ITOF, DT_TYPE_FLOAT, &v, 1, ret);
}

int dt_spec_round (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value v, const char *what,
                   struct dt_value *ret)
{
    if (!dt_value_is_float (v))
        return dt_spec_int (s, e, v, what, ret);
    return dt_spec_arith (s, e, op, DT_TYPE_INT, &v, 1, ret);
}

/* int ("12"): keys of data files are strings. */
static int int_of_text (struct dt_spec *s, const struct dt_expr *e, const char *text, struct dt_value *ret)
{
    const char *p = text + (*text == '-' || *text == '+');
    int64_t v = 0;

    if (!*p || strspn (p, "0123456789") != strlen (p))
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "test the string first, with == or in",
                              "int() of a string takes decimal digits, not \"%.40s\"", text);
    for (; *p; p++)
        if (__builtin_mul_overflow (v, 10, &v) || __builtin_sub_overflow (v, *p - '0', &v))
            return dt_spec_fault (s, e, DT_FAULT_OVERFLOW, "an int leaves 64 bits");
    if (*text != '-' && v == INT64_MIN)
        return dt_spec_fault (s, e, DT_FAULT_OVERFLOW, "an int leaves 64 bits");
    *ret = DT_V_INT (*text == '-' ? v : -v);
    return 0;
}

/* float ("inf") and its like, which no literal gives. */
static int float_of_text (struct dt_spec *s, const struct dt_expr *e, const char *text, struct dt_value *ret)
{
    static const struct {
        const char *text;
        double value;
    } known[] = { { "inf", INFINITY }, { "-inf", -INFINITY }, { "nan", NAN } };
    size_t i;

    for (i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp (known[i].text, text) == 0) {
            *ret = DT_V_FLOAT (dt_op_bits (known[i].value));
            return 0;
        }
    return dt_spec_error (s, -DT_ESYNTAX, e->at, "write the number itself",
                          "float() of a string takes \"inf\", \"-inf\" and \"nan\", not \"%.40s\"", text);
}

int dt_spec_convert (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, struct dt_value v, struct dt_value *ret)
{
    int r;

    switch (builtin) {
    case DT_BUILTIN_INT:
        return v.kind == DT_VALUE_STR ? int_of_text (s, e, v.s, ret) : dt_spec_round (s, e, DT_OP_FTOI, v, "int()", ret);
    case DT_BUILTIN_ROUND:
        return dt_spec_round (s, e, DT_OP_FROUND, v, "round()", ret);
    case DT_BUILTIN_FLOAT:
        return v.kind == DT_VALUE_STR ? float_of_text (s, e, v.s, ret) : dt_spec_float (s, e, v, "float()", ret);
    default:
        if ((r = dt_spec_float (s, e, v, "f32()", &v)) != 0)
            return r;
        return dt_spec_arith (s, e, DT_OP_F32, DT_TYPE_FLOAT, &v, 1, ret);
    }
}

/* --- comparisons: int with float exactly --------------------------------------------- */

static int less_mixed (struct dt_spec *s, const struct dt_expr *e, int strict, struct dt_value a, struct dt_value b,
                       struct dt_value *ret)
{
    struct dt_value arg[] = { a, b };
    int left = dt_value_is_float (a), r;

    if (left && dt_value_is_float (b))
        return dt_spec_arith (s, e, strict ? DT_OP_FLT : DT_OP_FLE, DT_TYPE_BOOL, arg, 2, ret);
    if ((r = dt_spec_int (s, e, arg[left], "<", &arg[left])) < 0)
        return r;
    if (left)
        return dt_spec_arith (s, e, strict ? DT_OP_FLTI : DT_OP_FLEI, DT_TYPE_BOOL, arg, 2, ret);
    return dt_spec_arith (s, e, strict ? DT_OP_ILTF : DT_OP_ILEF, DT_TYPE_BOOL, arg, 2, ret);
}

int dt_spec_less (struct dt_spec *s, const struct dt_expr *e, int strict, struct dt_value a, struct dt_value b,
                  struct dt_value *ret)
{
    struct dt_value arg[] = { a, b };
    int r;

    if (dt_value_is_float (a) || dt_value_is_float (b))
        return less_mixed (s, e, strict, a, b, ret);
    if ((r = dt_spec_int (s, e, a, "<", &arg[0])) < 0 || (r = dt_spec_int (s, e, b, "<", &arg[1])) < 0)
        return r;
    return dt_spec_arith (s, e, strict ? DT_OP_LT : DT_OP_LE, DT_TYPE_BOOL, arg, 2, ret);
}

int dt_spec_equal_numbers (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b,
                           struct dt_value *ret)
{
    struct dt_value arg[] = { a, b };
    int r;

    if (dt_value_is_float (a) && dt_value_is_float (b))
        return dt_spec_arith (s, e, DT_OP_FEQ, DT_TYPE_BOOL, arg, 2, ret);
    if (dt_value_is_float (a)) {
        arg[0] = b;
        arg[1] = a;
    }
    if (dt_value_is_float (arg[1])) {
        if ((r = dt_spec_int (s, e, arg[0], "==", &arg[0])) < 0)
            return r;
        return dt_spec_arith (s, e, DT_OP_IEQF, DT_TYPE_BOOL, arg, 2, ret);
    }
    if (!(dt_value_is_bool (a) && dt_value_is_bool (b))
        && ((r = dt_spec_int (s, e, a, "==", &arg[0])) < 0 || (r = dt_spec_int (s, e, b, "==", &arg[1])) < 0))
        return r;
    if (arg[0].kind == DT_VALUE_NODE && arg[1].kind == DT_VALUE_NODE && arg[0].node == arg[1].node) {
        *ret = DT_V_BOOL (1);
        return 0;
    }
    return dt_spec_arith (s, e, DT_OP_EQ, DT_TYPE_BOOL, arg, 2, ret);
}

/* --- what is known of a value ----------------------------------------------------------- */

#define MAX_LOOK 64 /* operations looked at */

static int never_nan (const struct dt_graph *g, uint32_t id, int *look)
{
    const struct dt_node *n = &g->node[id];

    switch ((*look)-- > 0 ? n->op : DT_OP_COUNT) {
    case DT_OP_CONST:
        return !isnan (dt_op_double (n->imm));
    case DT_OP_IDIV: case DT_OP_ITOF: case DT_OP_KNOB: case DT_OP_INPUT:
        return 1;
    case DT_OP_F32: case DT_OP_FNEG: case DT_OP_FABS:
        return never_nan (g, n->a, look);
    case DT_OP_FMIN: case DT_OP_FMAX:
        return never_nan (g, n->a, look) && never_nan (g, n->b, look);
    case DT_OP_SELECT:
        return never_nan (g, n->b, look) && never_nan (g, n->c, look);
    default:
        return 0;
    }
}

int dt_spec_never_nan (const struct dt_spec *s, struct dt_value v)
{
    int look = MAX_LOOK;

    if (v.kind == DT_VALUE_FLOAT)
        return !isnan (dt_op_double (v.i));
    return !dt_value_is_float (v) || never_nan (s->g, v.node, &look);
}

int dt_spec_limits (struct dt_spec *s, struct dt_value v, int64_t *ret_lo, int64_t *ret_hi)
{
    struct dt_range range;
    int r;

    *ret_lo = *ret_hi = v.i;
    if (v.kind != DT_VALUE_NODE)
        return 0;
    if ((!s->ranges && (r = dt_ranges_open (&s->ranges, s->err)) < 0)
        || (r = dt_ranges_extend (s->ranges, s->g, s->err)) < 0)
        return r;
    range = dt_ranges_get (s->ranges, v.node);
    *ret_lo = range.lo;
    *ret_hi = range.hi;
    return 0;
}

/* --- powers --------------------------------------------------------------------------------- */

int dt_spec_power (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret)
{
    struct dt_value arg[2];
    int64_t lo, hi;
    int r;

    if (dt_value_is_float (a) || dt_value_is_float (b))
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "multiply: x * x", "'**' takes ints here, not %s and %s", dt_value_type (a),
                              dt_value_type (b));
    if ((r = dt_spec_int (s, e, a, "**", &arg[0])) < 0 || (r = dt_spec_int (s, e, b, "**", &arg[1])) < 0
        || (r = dt_spec_limits (s, arg[1], &lo, &hi)) < 0)
        return r;
    if (lo < 0)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "write x ** max(n, 0), or 1 / x ** n",
                              b.kind == DT_VALUE_NODE ? "'**' with an exponent that may be negative, which gives a float, is not in the language here"
                                                      : "'**' with a negative exponent gives a float");
    return dt_spec_arith (s, e, DT_OP_IPOW, DT_TYPE_INT, arg, 2, ret);
}
