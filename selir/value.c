/* selir/value.c - what a program's expressions are while it is specialised. */
#include "selir/value.h"

#include <string.h>

const char *dt_value_type (struct dt_value v)
{
    static const char *const names[] = {
        [DT_VALUE_UNSET] = "nothing", [DT_VALUE_NOTHING] = "nothing", [DT_VALUE_NONE] = "None",
        [DT_VALUE_BOOL] = "bool", [DT_VALUE_INT] = "int", [DT_VALUE_FLOAT] = "float", [DT_VALUE_STR] = "str", [DT_VALUE_TUPLE] = "tuple",
        [DT_VALUE_LIST] = "list", [DT_VALUE_ITER] = "iterator", [DT_VALUE_ZIPPED] = "iterator",
        [DT_VALUE_DICT] = "dict",
        [DT_VALUE_RANGE] = "range", [DT_VALUE_BOUNDED] = "a range whose bound depends on inputs",
        [DT_VALUE_FUNC] = "function", [DT_VALUE_CLASS] = "class",
        [DT_VALUE_BUILTIN] = "built-in function", [DT_VALUE_MODULE] = "module", [DT_VALUE_SELIR] = "module",
        [DT_VALUE_MAYBE] = "a value that is not always set", [DT_VALUE_CONFLICT] = "a value of two types",
    };

    if (v.kind == DT_VALUE_RECORD)
        return v.seq->class->name;
    if (v.kind == DT_VALUE_NODE)
        return v.type == DT_TYPE_INT ? "int" : v.type == DT_TYPE_BOOL ? "bool"
               : v.type == DT_TYPE_FLOAT ? "float" : "str or None";
    return names[v.kind];
}

int dt_value_same (struct dt_value a, struct dt_value b)
{
    if (a.kind != b.kind)
        return 0;
    switch (a.kind) {
    case DT_VALUE_UNSET: case DT_VALUE_NOTHING: case DT_VALUE_NONE: case DT_VALUE_SELIR:
        return 1;
    case DT_VALUE_NODE:
        return a.node == b.node;
    case DT_VALUE_STR:
        return strcmp (a.s, b.s) == 0;
    case DT_VALUE_RANGE:
        return a.range->n == b.range->n
               && (a.range->n == 0 || (a.range->start == b.range->start && a.range->step == b.range->step));
    default:
        return a.i == b.i; /* the int, or one pointer */
    }
}

int dt_value_is_int (struct dt_value v)
{
    return v.kind == DT_VALUE_INT || (v.kind == DT_VALUE_NODE && v.type == DT_TYPE_INT);
}

int dt_value_is_bool (struct dt_value v)
{
    return v.kind == DT_VALUE_BOOL || (v.kind == DT_VALUE_NODE && v.type == DT_TYPE_BOOL);
}

int dt_value_is_float (struct dt_value v)
{
    return v.kind == DT_VALUE_FLOAT || (v.kind == DT_VALUE_NODE && v.type == DT_TYPE_FLOAT);
}

int dt_value_is_number (struct dt_value v)
{
    return dt_value_is_int (v) || dt_value_is_bool (v) || dt_value_is_float (v);
}

int dt_value_is_static_number (struct dt_value v)
{
    return v.kind == DT_VALUE_INT || v.kind == DT_VALUE_BOOL || v.kind == DT_VALUE_FLOAT;
}

int dt_value_is_enum (struct dt_value v)
{
    return v.kind == DT_VALUE_STR || v.kind == DT_VALUE_NONE
           || (v.kind == DT_VALUE_NODE && v.type == DT_TYPE_ENUM);
}

int dt_value_is_iter (struct dt_value v)
{
    return v.kind == DT_VALUE_ITER || v.kind == DT_VALUE_ZIPPED;
}

struct dt_seq *dt_seq_new (struct dt_arena *a, uint32_t n)
{
    struct dt_seq *s = dt_arena_alloc (a, sizeof *s + (size_t)n * sizeof s->item[0]);

    if (s)
        s->n = n;
    return s;
}

int dt_value_iterable (struct dt_value v)
{
    return v.kind == DT_VALUE_TUPLE || v.kind == DT_VALUE_LIST || v.kind == DT_VALUE_ITER
           || v.kind == DT_VALUE_DICT || v.kind == DT_VALUE_RANGE;
}

uint64_t dt_value_count (struct dt_value v)
{
    return v.kind == DT_VALUE_RANGE ? v.range->n : v.kind == DT_VALUE_DICT ? v.seq->n / 2 : v.seq->n;
}

struct dt_value dt_value_at (struct dt_value v, uint64_t i)
{
    if (v.kind == DT_VALUE_RANGE) /* within start..stop, so that it cannot overflow */
        return DT_V_INT ((int64_t)((uint64_t)v.range->start + i * (uint64_t)v.range->step));
    return v.seq->item[v.kind == DT_VALUE_DICT ? 2 * i : i];
}
