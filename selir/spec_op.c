/* selir/spec_op.c - arithmetic on values. */
#include <string.h>

#include "base/mem.h"
#include "selir/spec.h"

static const struct {
    uint8_t token, op;
    const char *text;
} ops[] = {
    { DT_TOK_ADD, DT_OP_ADD, "+" },        { DT_TOK_SUB, DT_OP_SUB, "-" },
    { DT_TOK_MUL, DT_OP_MUL, "*" },        { DT_TOK_FLOORDIV, DT_OP_FLOORDIV, "//" },
    { DT_TOK_MOD, DT_OP_MOD, "%" },        { DT_TOK_LSHIFT, DT_OP_LSHIFT, "<<" },
    { DT_TOK_RSHIFT, DT_OP_RSHIFT, ">>" }, { DT_TOK_AMP, DT_OP_BITAND, "&" },
    { DT_TOK_BAR, DT_OP_BITOR, "|" },      { DT_TOK_CARET, DT_OP_BITXOR, "^" },
    { DT_TOK_DIV, DT_OP_IDIV, "/" },       { DT_TOK_POW, DT_OP_IPOW, "**" },
};

/* The float's operation for an int's; 0: there is none. */
static uint8_t float_op (uint8_t op)
{
    switch (op) {
    case DT_OP_ADD:
        return DT_OP_FADD;
    case DT_OP_SUB:
        return DT_OP_FSUB;
    case DT_OP_MUL:
        return DT_OP_FMUL;
    case DT_OP_FLOORDIV:
        return DT_OP_FFLOORDIV;
    case DT_OP_MOD:
        return DT_OP_FMOD;
    case DT_OP_IDIV:
        return DT_OP_FDIV;
    default:
        return 0;
    }
}

static size_t find_op (uint8_t token)
{
    size_t i;

    for (i = 0; ops[i].token != token; i++)
        ;
    return i;
}

/* A str or None that inputs decide is false where it is None or "". */
static int enum_truth (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, struct dt_value *ret)
{
    struct dt_value empty = DT_V_BOOL (0), is;
    uint32_t i;
    int r;

    for (i = 0; i < s->g->n_enums; i++) {
        const char *text = s->g->enum_text[i];

        if (text[0] && strcmp (text, "None") != 0)
            continue;
        if ((r = dt_spec_equal (s, e, v, text[0] ? DT_V_NONE : DT_V_STR (""), &is)) < 0
            || (r = dt_spec_or (s, e, empty, is, &empty)) < 0)
            return r;
    }
    return dt_spec_not (s, e, empty, ret);
}

int dt_spec_truth (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, struct dt_value *ret)
{
    switch (v.kind) {
    case DT_VALUE_BOOL:
    case DT_VALUE_INT:
        *ret = DT_V_BOOL (v.i != 0);
        return 0;
    case DT_VALUE_FLOAT:
        *ret = DT_V_BOOL (dt_op_double (v.i) != 0);
        return 0;
    case DT_VALUE_NONE:
    case DT_VALUE_STR:
        *ret = DT_V_BOOL (v.kind == DT_VALUE_STR && v.s[0] != 0);
        return 0;
    case DT_VALUE_TUPLE: case DT_VALUE_LIST: case DT_VALUE_DICT: case DT_VALUE_RANGE:
        *ret = DT_V_BOOL (dt_value_count (v) > 0);
        return 0;
    case DT_VALUE_NODE:
        if (v.type == DT_TYPE_INT)
            return dt_spec_node (s, e, DT_OP_BOOL, DT_TYPE_BOOL, &v, 1, ret);
        if (v.type == DT_TYPE_FLOAT)
            return dt_spec_node (s, e, DT_OP_FBOOL, DT_TYPE_BOOL, &v, 1, ret);
        if (v.type == DT_TYPE_ENUM)
            return enum_truth (s, e, v, ret);
        *ret = v;
        return 0;
    case DT_VALUE_CONFLICT:
        return dt_spec_usable (s, e, v);
    case DT_VALUE_BOUNDED:
        return dt_spec_range_truth (s, e, v.bounded, ret);
    default:
        *ret = DT_V_BOOL (1);
        return 0;
    }
}

int dt_spec_unary (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value a, struct dt_value *ret)
{
    int r;

    if (dt_value_is_float (a) && op != DT_TOK_TILDE) {
        *ret = a;
        return op == DT_TOK_ADD ? 0 : dt_spec_arith (s, e, DT_OP_FNEG, DT_TYPE_FLOAT, &a, 1, ret);
    }
    if ((r = dt_spec_int (s, e, a, op == DT_TOK_SUB ? "'-'" : op == DT_TOK_ADD ? "'+'" : "'~'", &a)) < 0)
        return r;
    if (op != DT_TOK_ADD)
        return dt_spec_arith (s, e, op == DT_TOK_SUB ? DT_OP_NEG : DT_OP_INVERT, DT_TYPE_INT, &a, 1, ret);
    *ret = a;
    return 0;
}

/* & | ^ of two bools is a bool. */
static int bool_op (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value a, struct dt_value b,
                    struct dt_value *ret)
{
    struct dt_value equal;
    int r;

    if (op == DT_TOK_AMP)
        return dt_spec_and (s, e, a, b, ret);
    if (op == DT_TOK_BAR)
        return dt_spec_or (s, e, a, b, ret);
    if ((r = dt_spec_equal (s, e, a, b, &equal)) < 0)
        return r;
    return dt_spec_not (s, e, equal, ret);
}

#define BYTES_A_STEP 16 /* so that strings take 2^27 bytes at most */

static int join_strings (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b,
                         struct dt_value *ret)
{
    const char *text = dt_arena_strf (&s->arena, "%s%s", a.s, b.s);
    int r;

    if (!text)
        return dt_err_nomem (s->err);
    if ((r = dt_spec_string (s, e, text)) < 0 || (r = dt_spec_step (s, (uint32_t)(strlen (text) / BYTES_A_STEP), e->at)) < 0)
        return r;
    *ret = DT_V_STR (text);
    return 0;
}

static int join_items (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret)
{
    struct dt_seq *seq;
    int r;

    if ((r = dt_spec_unroll (s, (uint64_t)a.seq->n + b.seq->n, e->at)) < 0)
        return r;
    if (!(seq = dt_seq_new (&s->arena, a.seq->n + b.seq->n)))
        return dt_err_nomem (s->err);
    memcpy (seq->item, a.seq->item, a.seq->n * sizeof a);
    memcpy (seq->item + a.seq->n, b.seq->item, b.seq->n * sizeof a);
    *ret = (struct dt_value){ .kind = a.kind, .seq = seq };
    return 0;
}

static int repeat_items (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, int64_t times, struct dt_value *ret)
{
    uint64_t n = times > 0 ? a.seq->n * (uint64_t)(times > DT_SPEC_MAX_UNROLLED ? DT_SPEC_MAX_UNROLLED + 1 : times) : 0, i;
    struct dt_seq *seq;
    int r;

    if ((r = dt_spec_unroll (s, n, e->at)) < 0)
        return r;
    if (!(seq = dt_seq_new (&s->arena, (uint32_t)n)))
        return dt_err_nomem (s->err);
    for (i = 0; i < n; i++)
        seq->item[i] = a.seq->item[i % a.seq->n];
    *ret = (struct dt_value){ .kind = a.kind, .seq = seq };
    return 0;
}

static int is_sequence (struct dt_value v)
{
    return v.kind == DT_VALUE_TUPLE || v.kind == DT_VALUE_LIST;
}

/* An int or bool: what repeats a sequence. */
static int is_count (struct dt_value v)
{
    return v.kind == DT_VALUE_INT || v.kind == DT_VALUE_BOOL;
}

static int number_op (struct dt_spec *s, const struct dt_expr *e, size_t i, struct dt_value a, struct dt_value b,
                      struct dt_value *ret)
{
    int is_float = dt_value_is_float (a) || dt_value_is_float (b), r;
    uint8_t op = is_float ? float_op (ops[i].op) : ops[i].op;
    struct dt_value arg[2];

    if (!op)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "write int (...) around the float", "'%s' takes ints, not %s and %s",
                              ops[i].text, dt_value_type (a), dt_value_type (b));
    r = is_float ? dt_spec_float (s, e, a, ops[i].text, &arg[0]) : dt_spec_int (s, e, a, ops[i].text, &arg[0]);
    if (r != 0)
        return r;
    r = is_float ? dt_spec_float (s, e, b, ops[i].text, &arg[1]) : dt_spec_int (s, e, b, ops[i].text, &arg[1]);
    if (r != 0)
        return r;
    return dt_spec_arith (s, e, op, is_float || op == DT_OP_IDIV ? DT_TYPE_FLOAT : DT_TYPE_INT, arg, 2, ret);
}

int dt_spec_binary (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value a, struct dt_value b,
                    struct dt_value *ret)
{
    size_t i = find_op (op);
    int r;

    if (op == DT_TOK_ADD && a.kind == DT_VALUE_STR && b.kind == DT_VALUE_STR)
        return join_strings (s, e, a, b, ret);
    if (op == DT_TOK_ADD && is_sequence (a) && a.kind == b.kind)
        return join_items (s, e, a, b, ret);
    if (op == DT_TOK_MUL && is_sequence (a) && is_count (b))
        return repeat_items (s, e, a, b.i, ret);
    if (op == DT_TOK_MUL && is_sequence (b) && is_count (a))
        return repeat_items (s, e, b, a.i, ret);
    if (!dt_value_is_number (a) || !dt_value_is_number (b)) {
        if ((r = dt_spec_usable (s, e, a)) < 0 || (r = dt_spec_usable (s, e, b)) < 0)
            return r;
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "'%s' does not take %s and %s", ops[i].text,
                              dt_value_type (a), dt_value_type (b));
    }
    if ((op == DT_TOK_AMP || op == DT_TOK_BAR || op == DT_TOK_CARET) && dt_value_is_bool (a) && dt_value_is_bool (b))
        return bool_op (s, e, op, a, b, ret);
    return op == DT_TOK_POW ? dt_spec_power (s, e, a, b, ret) : number_op (s, e, i, a, b, ret);
}
