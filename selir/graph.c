/* selir/graph.c - building, checking and printing dependence graphs. */
#include "selir/graph.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define KEY_BYTES (offsetof (struct dt_node, copy) + 1)
_Static_assert (KEY_BYTES == 8 + 4 * 4 + 4, "the key has no padding");

struct dt_graph *dt_graph_new (void)
{
    return dt_calloc (1, sizeof (struct dt_graph));
}

struct dt_graph *dt_graph_free (struct dt_graph *g)
{
    if (!g)
        return NULL;
    dt_table_done (&g->index);
    dt_free (g->node);
    dt_free (g->span);
    dt_free (g->file);
    dt_free (g->input);
    dt_free (g->knob);
    dt_free (g->pin);
    dt_free (g->cond);
    dt_free (g->point);
    dt_free (g->raise);
    dt_free (g->enum_text);
    dt_arena_done (&g->arena);
    dt_free (g);
    return NULL;
}

static const void *key_of (const void *ctx, uint32_t i, size_t *ret_len)
{
    const struct dt_graph *g = ctx;

    *ret_len = KEY_BYTES;
    return &g->node[i];
}

/* What the op does not use must not tell equal values apart. */
static void normalise (struct dt_node *n)
{
    int args = dt_op_args (n->op);

    if (args < 3)
        n->c = DT_NODE_NONE;
    if (args < 2)
        n->b = DT_NODE_NONE;
    if (args < 1)
        n->a = DT_NODE_NONE;
    else
        n->imm = 0;
    if (n->op == DT_OP_CONST && n->type == DT_TYPE_FLOAT)
        n->imm = dt_op_bits (dt_op_double (n->imm)); /* there is one NaN */
    if (!dt_op_partial (n->op))
        n->safe = 0;
    if (!dt_op_partial (n->op) || n->safe)
        n->guard = DT_NODE_NONE;
}

static void enter (struct dt_graph *g, const struct dt_node *n, uint32_t id)
{
    if (n->op == DT_OP_INPUT)
        g->input[n->imm].node = id;
    else if (n->op == DT_OP_KNOB)
        g->knob[n->imm].node = id;
    else if (n->op == DT_OP_PIN)
        g->pin[n->imm].node = id;
}

int dt_graph_add (struct dt_graph *g, struct dt_node n, uint32_t *ret, struct dt_err *reterr)
{
    uint32_t found;

    normalise (&n);
    found = dt_table_get (&g->index, &n, KEY_BYTES, key_of, g);
    if (found != DT_TABLE_NONE) {
        *ret = found;
        return 0;
    }
    if (g->n_nodes >= DT_GRAPH_MAX_NODES)
        return dt_err_set (reterr, -DT_ELIMIT, "the program has more than %u values",
                           DT_GRAPH_MAX_NODES);
    if (dt_grow ((void **)&g->node, &g->room_nodes, g->n_nodes, sizeof *g->node) < 0
        || dt_table_put (&g->index, &n, KEY_BYTES, g->n_nodes) < 0)
        return dt_err_nomem (reterr);
    g->node[g->n_nodes] = n;
    enter (g, &n, g->n_nodes);
    *ret = g->n_nodes++;
    return 0;
}

int dt_graph_const (struct dt_graph *g, uint8_t type, int64_t v, uint32_t *ret,
                    struct dt_err *reterr)
{
    struct dt_node n = { .op = DT_OP_CONST, .type = type, .imm = v };

    return dt_graph_add (g, n, ret, reterr);
}

const char *dt_graph_str (struct dt_graph *g, const char *s)
{
    return s ? dt_arena_strn (&g->arena, s, strlen (s)) : NULL;
}

/* Room for one more row; its index or -ENOMEM. */
#define APPEND(g, what, row) \
    (dt_grow ((void **)&(g)->what, &(g)->room_##what##s, (g)->n_##what##s, \
              sizeof *(g)->what) < 0 \
         ? -ENOMEM \
         : ((g)->what[(g)->n_##what##s] = (row), (int64_t)(g)->n_##what##s++))

int64_t dt_graph_add_file (struct dt_graph *g, const char *path)
{
    const char *copy = dt_graph_str (g, path);

    return copy ? APPEND (g, file, copy) : -ENOMEM;
}

int64_t dt_graph_add_span (struct dt_graph *g, struct dt_span span)
{
    return APPEND (g, span, span);
}

/* A member that is not there yet. */
static int64_t new_enum (struct dt_graph *g, const char *text)
{
    const char *copy;

    if (!(copy = dt_graph_str (g, text))
        || dt_grow ((void **)&g->enum_text, &g->room_enums, g->n_enums,
                    sizeof *g->enum_text) < 0)
        return -ENOMEM;
    g->enum_text[g->n_enums] = copy;
    return g->n_enums++;
}

int64_t dt_graph_add_enum (struct dt_graph *g, const char *text)
{
    uint32_t i;

    for (i = 0; i < g->n_enums; i++)
        if (strcmp (g->enum_text[i], text) == 0)
            return i;
    return new_enum (g, text);
}

static int64_t *copy_values (struct dt_graph *g, const int64_t *v, size_t n)
{
    int64_t *p = dt_arena_array (&g->arena, n, sizeof *p);

    if (p && n > 0)
        memcpy (p, v, n * sizeof *p);
    return p;
}

int64_t dt_graph_add_input (struct dt_graph *g, const struct dt_input *in)
{
    struct dt_input row = *in;

    row.node = DT_NODE_NONE;
    if (!(row.name = dt_graph_str (g, in->name)))
        return -ENOMEM;
    if (in->domain.value) {
        if (!(row.domain.value = copy_values (g, in->domain.value, in->domain.n)))
            return -ENOMEM;
        row.domain.lo = in->domain.value[0];
        row.domain.hi = in->domain.value[in->domain.n - 1];
    }
    return APPEND (g, input, row);
}

int64_t dt_graph_add_knob (struct dt_graph *g, const struct dt_knob *knob)
{
    struct dt_knob row = *knob;

    row.node = DT_NODE_NONE;
    if (!(row.name = dt_graph_str (g, knob->name))
        || !(row.value = copy_values (g, knob->value, knob->n_values)))
        return -ENOMEM;
    return APPEND (g, knob, row);
}

int64_t dt_graph_add_pin (struct dt_graph *g, const struct dt_pin *pin)
{
    struct dt_pin row = *pin;

    row.node = DT_NODE_NONE;
    if (!(row.name = dt_graph_str (g, pin->name))
        || (pin->value && !(row.value = copy_values (g, pin->value, pin->n_values))))
        return -ENOMEM;
    return APPEND (g, pin, row);
}

int64_t dt_graph_add_cond (struct dt_graph *g, const struct dt_cond *cond)
{
    struct dt_cond row = *cond;

    if (!(row.message = dt_graph_str (g, cond->message)))
        return -ENOMEM;
    return APPEND (g, cond, row);
}

int64_t dt_graph_add_point (struct dt_graph *g, const struct dt_point *point)
{
    struct dt_point row = *point;

    if (!(row.field = dt_graph_str (g, point->field)))
        return -ENOMEM;
    return APPEND (g, point, row);
}

int64_t dt_graph_add_raise (struct dt_graph *g, struct dt_raise raise)
{
    return APPEND (g, raise, raise);
}

static int copy_rows (const struct dt_graph *g, struct dt_graph *n)
{
    uint32_t i;

    for (i = 0; i < g->n_files; i++)
        if (dt_graph_add_file (n, g->file[i]) < 0)
            return -ENOMEM;
    for (i = 0; i < g->n_spans; i++)
        if (dt_graph_add_span (n, g->span[i]) < 0)
            return -ENOMEM;
    for (i = 0; i < g->n_enums; i++)
        if (new_enum (n, g->enum_text[i]) < 0)
            return -ENOMEM;
    for (i = 0; i < g->n_inputs; i++)
        if (dt_graph_add_input (n, &g->input[i]) < 0)
            return -ENOMEM;
    for (i = 0; i < g->n_knobs; i++)
        if (dt_graph_add_knob (n, &g->knob[i]) < 0)
            return -ENOMEM;
    for (i = 0; i < g->n_pins; i++)
        if (dt_graph_add_pin (n, &g->pin[i]) < 0)
            return -ENOMEM;
    n->next_seq = g->next_seq;
    return g->family && !(n->family = dt_graph_str (n, g->family)) ? -ENOMEM : 0;
}

int dt_graph_like (const struct dt_graph *g, struct dt_graph **ret, struct dt_err *reterr)
{
    struct dt_graph *n = dt_graph_new ();

    if (!n || copy_rows (g, n) < 0) {
        dt_graph_free (n);
        return dt_err_nomem (reterr);
    }
    *ret = n;
    return 0;
}

int dt_node_args (const struct dt_node *n, uint32_t args[3])
{
    args[0] = n->a;
    args[1] = n->b;
    args[2] = n->c;
    return dt_op_args (n->op);
}

int dt_node_faults (const struct dt_node *n)
{
    return dt_op_partial (n->op) && !n->safe;
}

/* Does the type fit the letter?  *any is what the op's * or = stand for, 0 as yet. */
static int type_fits (char letter, uint8_t type, uint8_t *any)
{
    switch (letter) {
    case 'i': return type == DT_TYPE_INT;
    case 'b': return type == DT_TYPE_BOOL;
    case 'f': return type == DT_TYPE_FLOAT;
    default: break;
    }
    if (*any == 0)
        *any = type;
    return *any == type && type >= DT_TYPE_INT && type <= DT_TYPE_ENUM
           && !(letter == '=' && type == DT_TYPE_FLOAT);
}

static int types_fit (const struct dt_graph *g, const struct dt_node *n)
{
    const char *types = dt_op_types (n->op);
    uint32_t args[3];
    uint8_t any = 0;
    int i, k = dt_node_args (n, args);

    for (i = 0; i < k; i++)
        if (!type_fits (types[i], g->node[args[i]].type, &any))
            return 0;
    return type_fits (types[k], n->type, &any);
}

static int row_fits (const struct dt_graph *g, const struct dt_node *n, uint32_t id)
{
    switch (n->op) {
    case DT_OP_CONST:
        return n->type != DT_TYPE_BOOL || n->imm == 0 || n->imm == 1;
    case DT_OP_INPUT:
        return n->imm >= 0 && n->imm < g->n_inputs && g->input[n->imm].node == id
               && g->input[n->imm].type == n->type;
    case DT_OP_KNOB:
        return n->imm >= 0 && n->imm < g->n_knobs && g->knob[n->imm].node == id
               && g->knob[n->imm].type == n->type;
    case DT_OP_PIN:
        return n->imm >= 0 && n->imm < g->n_pins && g->pin[n->imm].node == id
               && g->pin[n->imm].type == n->type;
    default:
        return 1;
    }
}

static int node_fits (const struct dt_graph *g, uint32_t i)
{
    const struct dt_node *n = &g->node[i];
    uint32_t args[3];
    int k;

    if (n->op >= DT_OP_COUNT)
        return 0;
    for (k = dt_node_args (n, args); k-- > 0;)
        if (args[k] >= i)
            return 0;
    if (n->guard != DT_NODE_NONE
        && (n->guard >= i || g->node[n->guard].type != DT_TYPE_BOOL || !dt_node_faults (n)))
        return 0;
    return types_fit (g, n) && row_fits (g, n, i)
           && (n->span < g->n_spans || g->n_spans == 0);
}

static int is_bool (const struct dt_graph *g, uint32_t node)
{
    return node < g->n_nodes && g->node[node].type == DT_TYPE_BOOL;
}

int dt_graph_valid (const struct dt_graph *g)
{
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++)
        if (!node_fits (g, i))
            return 0;
    for (i = 0; i < g->n_conds; i++)
        if (!is_bool (g, g->cond[i].value)
            || (g->cond[i].guard != DT_NODE_NONE && !is_bool (g, g->cond[i].guard)))
            return 0;
    for (i = 0; i < g->n_points; i++)
        if (g->point[i].node >= g->n_nodes
            || g->node[g->point[i].node].type != g->point[i].type)
            return 0;
    for (i = 0; i < g->n_raises; i++)
        if (g->raise[i].fail >= g->n_nodes
            || (g->raise[i].value != DT_NODE_NONE && g->raise[i].value >= g->n_nodes))
            return 0;
    return 1;
}

void dt_graph_check (const struct dt_graph *g)
{
    assert (dt_graph_valid (g));
    (void)g;
}

static void dump_const (const struct dt_node *n, struct dt_buf *out)
{
    char text[DT_FLOAT_TEXT];

    if (n->type == DT_TYPE_FLOAT) {
        dt_op_float_text (n->imm, text);
        dt_buf_printf (out, " %s", text);
    } else {
        dt_buf_printf (out, " %" PRId64, n->imm);
    }
}

static void dump_leaf (const struct dt_graph *g, const struct dt_node *n, struct dt_buf *out)
{
    switch (n->op) {
    case DT_OP_CONST: dump_const (n, out); break;
    case DT_OP_INPUT: dt_buf_printf (out, " %s", g->input[n->imm].name); break;
    case DT_OP_KNOB: dt_buf_printf (out, " %s", g->knob[n->imm].name); break;
    case DT_OP_PIN: dt_buf_printf (out, " %s", g->pin[n->imm].name); break;
    case DT_OP_FAIL: dt_buf_printf (out, " %s", dt_fault_name ((enum dt_fault)n->imm)); break;
    default: break;
    }
}

static void dump_place (const struct dt_graph *g, uint32_t span, struct dt_buf *out)
{
    if (span < g->n_spans && g->span[span].file < g->n_files)
        dt_buf_printf (out, "  %s:%u:%u", g->file[g->span[span].file], g->span[span].line,
                       g->span[span].column);
}

static void dump_node (const struct dt_graph *g, uint32_t i, struct dt_buf *out)
{
    const struct dt_node *n = &g->node[i];
    static const char type[] = "?ibfe";
    uint32_t args[3];
    int j, k = dt_node_args (n, args);

    dt_buf_printf (out, "%%%u:%c = %s", i, type[n->type <= DT_TYPE_ENUM ? n->type : 0],
                   dt_op_text (n->op));
    dump_leaf (g, n, out);
    for (j = 0; j < k; j++)
        dt_buf_printf (out, " %%%u", args[j]);
    if (n->guard != DT_NODE_NONE)
        dt_buf_printf (out, " if %%%u", n->guard);
    if (n->safe)
        dt_buf_printf (out, " safe");
    if (n->copy)
        dt_buf_printf (out, " copy");
    if (n->name)
        dt_buf_printf (out, "  # %s", n->name);
    dump_place (g, n->span, out);
    dt_buf_printf (out, "\n");
}

void dt_graph_dump (const struct dt_graph *g, struct dt_buf *out)
{
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++)
        dump_node (g, i, out);
    for (i = 0; i < g->n_conds; i++) {
        const struct dt_cond *c = &g->cond[i];

        dt_buf_printf (out, "%s %%%u", c->kind == DT_COND_REQUIRE ? "require" : "assume",
                       c->value);
        if (c->guard != DT_NODE_NONE)
            dt_buf_printf (out, " if %%%u", c->guard);
        dt_buf_printf (out, " \"%s\"", c->message);
        dump_place (g, c->span, out);
        dt_buf_printf (out, "\n");
    }
    for (i = 0; i < g->n_points; i++)
        dt_buf_printf (out, "%s %s = %%%u\n", g->point[i].is_free ? "free" : "point",
                       g->point[i].field, g->point[i].node);
}
