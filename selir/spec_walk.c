/* selir/spec_walk.c - ranges, and what loops walk over. */
#include <string.h>

#include "selir/spec.h"

static int static_range (struct dt_spec *s, const struct dt_expr *e, int64_t start, int64_t stop, int64_t step,
                         struct dt_value *ret)
{
    struct dt_steps *steps = dt_arena_alloc (&s->arena, sizeof *steps);

    if (!steps)
        return dt_err_nomem (s->err);
    if (step == 0)
        return dt_spec_fault (s, e, DT_FAULT_VALUE, "the step of a range is zero");
    steps->start = start;
    steps->step = step;
    if (step > 0 && start < stop)
        steps->n = ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1;
    else if (step < 0 && start > stop)
        steps->n = ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1;
    *ret = (struct dt_value){ .kind = DT_VALUE_RANGE, .range = steps };
    return 0;
}

/* How many turns there are at most, by the ranges of the bounds; none of the numbers
 * that the loop counts leaves 64 bits. */
static int bound (struct dt_spec *s, const struct dt_expr *e, struct dt_bounded *b)
{
    int64_t lo[2], hi[2], from, to, last;
    int up = b->step > 0, r;

    if ((r = dt_spec_limits (s, b->start, &lo[0], &hi[0])) < 0 || (r = dt_spec_limits (s, b->stop, &lo[1], &hi[1])) < 0)
        return r;
    from = up ? lo[0] : hi[0];
    to = up ? hi[1] : lo[1];
    b->surely = up ? lo[1] : hi[1];
    if (up ? from < to : from > to)
        b->most = up ? ((uint64_t)to - (uint64_t)from - 1) / (uint64_t)b->step + 1
                     : ((uint64_t)from - (uint64_t)to - 1) / (0 - (uint64_t)b->step) + 1;
    if (b->most > DT_SPEC_MAX_UNROLLED
        || __builtin_mul_overflow (b->step, (int64_t)b->most, &last) || __builtin_add_overflow (up ? hi[0] : lo[0], last, &last))
        return dt_spec_error (s, -DT_ELIMIT, e->at, "bound it where inputs do not: range(min(n, 64))",
                              "this range is not proven to have at most %u values (its bounds lie in %lld..%lld and %lld..%lld)",
                              DT_SPEC_MAX_UNROLLED, (long long)lo[0], (long long)hi[0], (long long)lo[1], (long long)hi[1]);
    return 0;
}

int dt_spec_range (struct dt_spec *s, const struct dt_expr *e, struct dt_value *v, uint32_t n, struct dt_value *ret)
{
    struct dt_value start = DT_V_INT (0), stop, step = DT_V_INT (1);
    struct dt_bounded *b;
    uint32_t i;
    int r;

    for (i = 0; i < n; i++)
        if ((r = dt_spec_int (s, e, v[i], "range()", &v[i])) < 0)
            return r;
    stop = v[n > 1];
    if (n > 1)
        start = v[0];
    if (n > 2)
        step = v[2];
    if (start.kind != DT_VALUE_NODE && stop.kind != DT_VALUE_NODE && step.kind != DT_VALUE_NODE)
        return static_range (s, e, start.i, stop.i, step.i, ret);
    if (step.kind == DT_VALUE_NODE)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "count in ones, and multiply inside the loop",
                              "a range whose step depends on inputs is not in the language here");
    if (step.i == 0)
        return dt_spec_fault (s, e, DT_FAULT_VALUE, "the step of a range is zero");
    if (!(b = dt_arena_alloc (&s->arena, sizeof *b)))
        return dt_err_nomem (s->err);
    *b = (struct dt_bounded){ .start = start, .stop = stop, .step = step.i };
    if ((r = bound (s, e, b)) < 0)
        return r;
    *ret = (struct dt_value){ .kind = DT_VALUE_BOUNDED, .bounded = b };
    return 0;
}

int dt_spec_range_truth (struct dt_spec *s, const struct dt_expr *e, const struct dt_bounded *b, struct dt_value *ret)
{
    int up = b->step > 0;

    return dt_spec_less (s, e, 1, up ? b->start : b->stop, up ? b->stop : b->start, ret);
}

/* What is left between the bounds, rounded up to steps: -((start - stop) // step), with
 * stop moved to start where it lies before it.  bound() keeps start - stop in 64 bits.
 * The last two say what ranges cannot see: that it is 0..most. */
int dt_spec_range_len (struct dt_spec *s, const struct dt_expr *e, const struct dt_bounded *b, struct dt_value *ret)
{
    const struct {
        uint8_t op;
        int left; /* the value so far is the left operand */
        struct dt_value other;
    } steps[] = { { b->step > 0 ? DT_OP_MAX : DT_OP_MIN, 1, b->start }, { DT_OP_SUB, 0, b->start },
                  { DT_OP_FLOORDIV, 1, DT_V_INT (b->step) },            { DT_OP_NEG, 1, DT_V_NOTHING },
                  { DT_OP_MAX, 1, DT_V_INT (0) },                       { DT_OP_MIN, 1, DT_V_INT ((int64_t)b->most) } };
    struct dt_value v = b->stop;
    size_t i;
    int r;

    for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct dt_value arg[] = { steps[i].left ? v : steps[i].other, steps[i].left ? steps[i].other : v };

        if ((r = dt_spec_arith (s, e, steps[i].op, DT_TYPE_INT, arg, steps[i].op == DT_OP_NEG ? 1 : 2, &v)) != 0)
            return r;
    }
    *ret = v;
    return 0;
}

int dt_spec_walkable (struct dt_value v)
{
    return v.kind == DT_VALUE_BOUNDED || v.kind == DT_VALUE_ZIPPED || dt_value_iterable (v);
}

int dt_spec_zipped (struct dt_spec *s, const struct dt_value *part, uint32_t n, struct dt_value *ret)
{
    struct dt_zipped *z = dt_arena_alloc (&s->arena, sizeof *z + n * sizeof *part);
    uint32_t i;

    if (!z)
        return dt_err_nomem (s->err);
    memcpy (z->part, part, n * sizeof *part);
    z->n = n;
    z->most = dt_spec_turns (part[0]);
    for (i = 1; i < n; i++)
        if (dt_spec_turns (part[i]) < z->most)
            z->most = dt_spec_turns (part[i]);
    *ret = (struct dt_value){ .kind = DT_VALUE_ZIPPED, .zipped = z };
    return 0;
}

/* Ranges come from the operands' ranges alone, so the number holds as well where a
 * pin, which takes no value that its own range excludes, stands for one of them. */
uint64_t dt_spec_turns (struct dt_value v)
{
    return v.kind == DT_VALUE_BOUNDED ? v.bounded->most : v.kind == DT_VALUE_ZIPPED ? v.zipped->most : dt_value_count (v);
}

/* The tuple of the parts' k-th elements: there is one where each part has one. */
static int row (struct dt_spec *s, const struct dt_expr *e, const struct dt_zipped *z, uint64_t k, struct dt_value *ret,
                struct dt_value *ret_where)
{
    struct dt_seq *seq = dt_seq_new (&s->arena, z->n);
    struct dt_value is;
    uint32_t i;
    int r;

    if (!seq)
        return dt_err_nomem (s->err);
    if ((r = dt_spec_step (s, z->n, e->at)) < 0)
        return r;
    for (i = 0; i < z->n; i++)
        if ((r = dt_spec_turn (s, e, z->part[i], k, &seq->item[i], &is)) != 0
            || (r = dt_spec_and (s, e, *ret_where, is, ret_where)) < 0)
            return r;
    *ret = (struct dt_value){ .kind = DT_VALUE_TUPLE, .seq = seq };
    return 0;
}

int dt_spec_turn (struct dt_spec *s, const struct dt_expr *e, struct dt_value over, uint64_t k, struct dt_value *ret,
                  struct dt_value *ret_where)
{
    const struct dt_bounded *b = over.bounded;
    struct dt_value arg[2];
    int up, r;

    *ret_where = DT_V_BOOL (1);
    if (over.kind == DT_VALUE_ZIPPED)
        return row (s, e, over.zipped, k, ret, ret_where);
    if (over.kind != DT_VALUE_BOUNDED) {
        *ret = dt_value_at (over, k);
        return 0;
    }
    up = b->step > 0;
    arg[0] = b->start;
    arg[1] = DT_V_INT (b->step * (int64_t)k);
    if (k == 0)
        *ret = b->start;
    else if ((r = dt_spec_arith (s, e, DT_OP_ADD, DT_TYPE_INT, arg, 2, ret)) != 0)
        return r;
    if (ret->kind != DT_VALUE_NODE && (up ? ret->i < b->surely : ret->i > b->surely))
        return 0;
    return dt_spec_less (s, e, 1, up ? *ret : b->stop, up ? b->stop : *ret, ret_where);
}
