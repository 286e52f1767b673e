/* solver/residual.c - a dependence graph as a canonical value, and back. */
#include "solver/residual.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "solver/read.h"

#define ROW_BYTES 44

static int64_t id (uint32_t v)
{
    return v == UINT32_MAX ? -1 : (int64_t)v;
}

/* --- writing ----------------------------------------------------------------------- */

static void put_texts (struct dt_canon *c, const char *key, const char *const *text, uint32_t n)
{
    uint32_t i;

    dt_canon_key (c, key);
    dt_canon_list (c);
    for (i = 0; i < n; i++)
        dt_canon_str (c, text[i]);
    dt_canon_end (c);
}

static void put_conditions (const struct dt_graph *g, struct dt_canon *c)
{
    uint32_t i;

    dt_canon_key (c, "conditions");
    dt_canon_list (c);
    for (i = 0; i < g->n_conds; i++) {
        const struct dt_cond *x = &g->cond[i];

        dt_canon_map (c);
        dt_canon_kint (c, "guard", id (x->guard));
        dt_canon_kint (c, "kind", x->kind);
        dt_canon_kstr (c, "message", x->message);
        dt_canon_kint (c, "seq", (int64_t)x->seq);
        dt_canon_kint (c, "span", id (x->span));
        dt_canon_kint (c, "value", x->value);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_domain (const struct dt_domain *d, struct dt_canon *c)
{
    dt_canon_key (c, "domain");
    dt_canon_map (c);
    if (d->value)
        dt_canon_kwords (c, "values", d->value, d->n);
    else {
        dt_canon_kint (c, "hi", d->hi);
        dt_canon_kint (c, "lo", d->lo);
        dt_canon_kint (c, "step", d->step);
    }
    dt_canon_end (c);
}

static void put_inputs (const struct dt_graph *g, struct dt_canon *c)
{
    uint32_t i;

    dt_canon_key (c, "inputs");
    dt_canon_list (c);
    for (i = 0; i < g->n_inputs; i++) {
        dt_canon_map (c);
        dt_canon_kint (c, "class", g->input[i].klass);
        put_domain (&g->input[i].domain, c);
        dt_canon_kstr (c, "name", g->input[i].name);
        dt_canon_kint (c, "span", id (g->input[i].span));
        dt_canon_kint (c, "type", g->input[i].type);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_knobs (const struct dt_graph *g, struct dt_canon *c)
{
    uint32_t i;

    dt_canon_key (c, "knobs");
    dt_canon_list (c);
    for (i = 0; i < g->n_knobs; i++) {
        const struct dt_knob *k = &g->knob[i];

        dt_canon_map (c);
        dt_canon_kint (c, "initial", k->initial);
        dt_canon_kstr (c, "name", k->name);
        dt_canon_kint (c, "span", id (k->span));
        dt_canon_kint (c, "type", k->type);
        dt_canon_kwords (c, "values", k->value, k->n_values);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static const void *name_key (const void *ctx, uint32_t i, size_t *ret_len)
{
    const char *const *name = ctx;

    *ret_len = strlen (name[i]);
    return name[i];
}

/* Names and the rows that index them:
 *   op u8, type u8, safe u8, 0 u8, a, b, c, guard, span, name u32, imm, seq u64 */
static int put_nodes (const struct dt_graph *g, struct dt_canon *c)
{
    const char **name = dt_calloc (g->n_nodes, sizeof *name);
    struct dt_table index = { 0 };
    struct dt_buf b = { 0 };
    uint32_t i, k, n = 0;
    int r = -ENOMEM;

    if (!name)
        return -ENOMEM;
    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *x = &g->node[i];
        size_t len = x->name ? strlen (x->name) : 0;

        k = x->name ? dt_table_get (&index, x->name, len, name_key, name) : UINT32_MAX;
        if (x->name && k == DT_TABLE_NONE) {
            if (dt_table_put (&index, x->name, len, n) < 0)
                goto fail;
            name[k = n++] = x->name;
        }
        dt_buf_u8 (&b, x->op);
        dt_buf_u8 (&b, x->type);
        dt_buf_u8 (&b, x->safe);
        dt_buf_u8 (&b, 0);
        dt_buf_u32 (&b, x->a);
        dt_buf_u32 (&b, x->b);
        dt_buf_u32 (&b, x->c);
        dt_buf_u32 (&b, x->guard);
        dt_buf_u32 (&b, x->span);
        dt_buf_u32 (&b, k);
        dt_buf_u64 (&b, (uint64_t)x->imm);
        dt_buf_u64 (&b, x->seq);
    }
    if (b.failed)
        goto fail;
    put_texts (c, "names", name, n);
    dt_canon_kbytes (c, "nodes", b.data, b.len);
    r = 0;
fail:
    dt_table_done (&index);
    dt_buf_done (&b);
    dt_free (name);
    return r;
}

static void put_pins (const struct dt_graph *g, struct dt_canon *c)
{
    uint32_t i;

    dt_canon_key (c, "pins");
    dt_canon_list (c);
    for (i = 0; i < g->n_pins; i++) {
        dt_canon_map (c);
        dt_canon_kstr (c, "name", g->pin[i].name);
        dt_canon_kint (c, "span", id (g->pin[i].span));
        dt_canon_kint (c, "type", g->pin[i].type);
        dt_canon_kwords (c, "values", g->pin[i].value, g->pin[i].n_values);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_points (const struct dt_graph *g, struct dt_canon *c)
{
    uint32_t i;

    dt_canon_key (c, "points");
    dt_canon_list (c);
    for (i = 0; i < g->n_points; i++) {
        dt_canon_map (c);
        dt_canon_kstr (c, "field", g->point[i].field);
        dt_canon_kint (c, "free", g->point[i].is_free);
        dt_canon_kint (c, "node", g->point[i].node);
        dt_canon_kint (c, "span", id (g->point[i].span));
        dt_canon_kint (c, "type", g->point[i].type);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_spans (const struct dt_graph *g, struct dt_canon *c)
{
    struct dt_buf b = { 0 };
    uint32_t i;

    for (i = 0; i < g->n_spans; i++) {
        dt_buf_u32 (&b, g->span[i].file);
        dt_buf_u32 (&b, g->span[i].line);
        dt_buf_u32 (&b, g->span[i].column);
    }
    c->buf.failed |= b.failed;
    dt_canon_kbytes (c, "spans", b.data, b.failed ? 0 : b.len);
    dt_buf_done (&b);
}

int dt_residual_encode (const struct dt_graph *g, struct dt_canon *c)
{
    dt_canon_map (c);
    put_conditions (g, c);
    put_texts (c, "enums", g->enum_text, g->n_enums);
    dt_canon_kstr (c, "family", g->family ? g->family : "");
    put_texts (c, "files", g->file, g->n_files);
    put_inputs (g, c);
    put_knobs (g, c);
    if (put_nodes (g, c) < 0)
        c->buf.failed = 1; /* sticks: the value is never read */
    put_pins (g, c);
    put_points (g, c);
    dt_canon_kint (c, "seq", (int64_t)g->next_seq);
    put_spans (g, c);
    dt_canon_end (c);
    return c->buf.failed ? -ENOMEM : 0;
}

/* --- reading ----------------------------------------------------------------------- */

#define ID_MAX ((int64_t)UINT32_MAX - 1)

static uint32_t get_id (struct dt_read *r, struct dt_canon_value v, const char *key)
{
    int64_t i = dt_read_int (r, v, key, -1, ID_MAX);

    return i < 0 ? UINT32_MAX : (uint32_t)i;
}

static uint8_t get_type (struct dt_read *r, struct dt_canon_value v)
{
    return (uint8_t)dt_read_int (r, v, "type", DT_TYPE_INT, DT_TYPE_ENUM);
}

/* A row that a list yields: read it into the graph. */
typedef int64_t (*row_f) (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g);

static void each (struct dt_read *r, struct dt_canon_value map, const char *key, row_f row,
                  struct dt_graph *g)
{
    struct dt_canon_value list = dt_read_list (r, map, key), v;
    struct dt_canon_iter it = { 0 };
    int64_t i = 0, got;

    while (!r->bad && !r->nomem && dt_canon_next (list, &it, NULL, NULL, &v)) {
        got = row (r, v, g);
        r->nomem |= got < 0;
        r->bad |= got >= 0 && got != i++; /* a repeated enum text */
    }
}

static int64_t get_file (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    return dt_graph_add_file (g, dt_read_text (r, v));
}

static int64_t get_enum (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    return dt_graph_add_enum (g, dt_read_text (r, v));
}

static void get_domain (struct dt_read *r, struct dt_canon_value v, struct dt_domain *d)
{
    size_t i;

    if (dt_canon_tag (dt_canon_get (v, "values"))) {
        dt_read_map (r, v, 1);
        d->value = dt_read_ints (r, v, "values", 1, &d->n);
        for (i = 1; i < d->n; i++)
            r->bad |= d->value[i] <= d->value[i - 1];
        return;
    }
    dt_read_map (r, v, 3);
    d->hi = dt_read_int (r, v, "hi", INT64_MIN, INT64_MAX);
    d->lo = dt_read_int (r, v, "lo", INT64_MIN, d->hi);
    d->step = dt_read_int (r, v, "step", 1, INT64_MAX);
}

static int64_t get_input (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    struct dt_input in = { 0 };

    dt_read_map (r, v, 5);
    in.klass = (uint8_t)dt_read_int (r, v, "class", DT_INPUT_RUNTIME, DT_INPUT_OWN);
    get_domain (r, dt_canon_get (v, "domain"), &in.domain);
    in.name = dt_read_str (r, v, "name");
    in.span = get_id (r, v, "span");
    in.type = get_type (r, v);
    return r->bad ? 0 : dt_graph_add_input (g, &in);
}

static int64_t get_knob (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    struct dt_knob k = { 0 };

    dt_read_map (r, v, 5);
    k.value = dt_read_ints (r, v, "values", 1, &k.n_values);
    k.initial = (uint32_t)dt_read_int (r, v, "initial", 0, (int64_t)k.n_values - 1);
    k.name = dt_read_str (r, v, "name");
    k.span = get_id (r, v, "span");
    k.type = get_type (r, v);
    return r->bad ? 0 : dt_graph_add_knob (g, &k);
}

static int64_t get_pin (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    struct dt_pin p = { 0 };
    size_t i;

    dt_read_map (r, v, 4);
    p.name = dt_read_str (r, v, "name");
    p.span = get_id (r, v, "span");
    p.type = get_type (r, v);
    p.value = dt_read_ints (r, v, "values", 1, &p.n_values);
    for (i = 1; i < p.n_values; i++)
        r->bad |= p.value[i] <= p.value[i - 1];
    return r->bad ? 0 : dt_graph_add_pin (g, &p);
}

static int64_t get_condition (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    struct dt_cond c = { 0 };

    dt_read_map (r, v, 6);
    c.guard = get_id (r, v, "guard");
    c.kind = (uint8_t)dt_read_int (r, v, "kind", DT_COND_REQUIRE, DT_COND_ASSUME);
    c.message = dt_read_str (r, v, "message");
    c.seq = (uint64_t)dt_read_int (r, v, "seq", INT64_MIN, INT64_MAX);
    c.span = get_id (r, v, "span");
    c.value = (uint32_t)dt_read_int (r, v, "value", 0, ID_MAX);
    return dt_graph_add_cond (g, &c);
}

static int64_t get_point (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    struct dt_point p = { 0 };

    dt_read_map (r, v, 5);
    p.field = dt_read_str (r, v, "field");
    p.is_free = (uint8_t)dt_read_int (r, v, "free", 0, 1);
    p.node = (uint32_t)dt_read_int (r, v, "node", 0, ID_MAX);
    p.span = get_id (r, v, "span");
    p.type = get_type (r, v);
    return dt_graph_add_point (g, &p);
}

static void get_spans (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    struct dt_reader in;
    size_t len;
    const uint8_t *p = dt_read_bytes (r, v, "spans", &len);

    r->bad |= len % 12 != 0;
    dt_reader_init (&in, p, len);
    while (!r->bad && !r->nomem && dt_reader_left (&in)) {
        struct dt_span s = { .file = dt_reader_u32 (&in) };

        s.line = dt_reader_u32 (&in);
        s.column = dt_reader_u32 (&in);
        r->bad |= s.file >= g->n_files;
        r->nomem |= dt_graph_add_span (g, s) < 0;
    }
}

/* What dt_graph_add itself relies on. */
static int row_exists (const struct dt_graph *g, const struct dt_node *n)
{
    switch (n->op) {
    case DT_OP_INPUT: return n->imm >= 0 && n->imm < g->n_inputs;
    case DT_OP_KNOB: return n->imm >= 0 && n->imm < g->n_knobs;
    case DT_OP_PIN: return n->imm >= 0 && n->imm < g->n_pins;
    default: return n->op < DT_OP_COUNT;
    }
}

static void get_nodes (struct dt_read *r, struct dt_canon_value v, struct dt_graph *g)
{
    struct dt_canon_value names = dt_read_list (r, v, "names"), item;
    struct dt_canon_iter it = { 0 };
    struct dt_reader in;
    uint32_t i, n_names = dt_canon_count (names), name, got;
    const char **text = dt_arena_array (r->arena, n_names, sizeof *text);
    size_t len;
    const uint8_t *p = dt_read_bytes (r, v, "nodes", &len);

    r->nomem |= !text;
    r->bad |= len % ROW_BYTES != 0 || len / ROW_BYTES > DT_GRAPH_MAX_NODES;
    for (i = 0; !r->nomem && dt_canon_next (names, &it, NULL, NULL, &item); i++)
        text[i] = dt_read_text (r, item);
    dt_reader_init (&in, p, len);
    for (i = 0; !r->bad && !r->nomem && dt_reader_left (&in); i++) {
        struct dt_node n = { .op = dt_reader_u8 (&in) };

        n.type = dt_reader_u8 (&in);
        n.safe = dt_reader_u8 (&in);
        r->bad |= dt_reader_u8 (&in) != 0 || n.safe > 1;
        n.a = dt_reader_u32 (&in);
        n.b = dt_reader_u32 (&in);
        n.c = dt_reader_u32 (&in);
        n.guard = dt_reader_u32 (&in);
        n.span = dt_reader_u32 (&in);
        name = dt_reader_u32 (&in);
        n.imm = (int64_t)dt_reader_u64 (&in);
        n.seq = dt_reader_u64 (&in);
        r->bad |= (name != UINT32_MAX && name >= n_names) || !row_exists (g, &n);
        if (r->bad)
            return;
        n.name = name == UINT32_MAX ? NULL : text[name];
        if (dt_graph_add (g, n, &got, NULL) < 0)
            r->nomem = 1;
        else
            r->bad |= got != i; /* a repeated value */
    }
}

int dt_residual_decode (struct dt_canon_value v, struct dt_graph **ret, struct dt_err *reterr)
{
    struct dt_graph *g = dt_graph_new ();
    struct dt_read rd = { .arena = g ? &g->arena : NULL };
    int r;

    if (!g)
        return dt_err_nomem (reterr);
    dt_read_map (&rd, v, 12);
    g->family = dt_read_str (&rd, v, "family");
    each (&rd, v, "enums", get_enum, g);
    each (&rd, v, "files", get_file, g);
    get_spans (&rd, v, g);
    each (&rd, v, "inputs", get_input, g);
    each (&rd, v, "knobs", get_knob, g);
    each (&rd, v, "pins", get_pin, g);
    get_nodes (&rd, v, g);
    each (&rd, v, "conditions", get_condition, g);
    each (&rd, v, "points", get_point, g);
    g->next_seq = (uint64_t)dt_read_int (&rd, v, "seq", INT64_MIN, INT64_MAX);
    if (!rd.bad && !rd.nomem && !dt_graph_valid (g))
        rd.bad = 1;
    if ((r = dt_read_done (&rd, "residual graph", reterr)) < 0) {
        dt_graph_free (g);
        return r;
    }
    *ret = g;
    return 0;
}
