/* detentctl/dump.c - a site's graphs and code as text, and its graph for dot(1). */
#include "detentctl/dump.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "detentctl/graphs.h"
#include "detentctl/print.h"
#include "selir/vm.h"
#include "solver/explain.h"

static const char *const words[] = { "graph", "simplified", "residual", "code" };

int dt_dump_parse (const char *word, enum dt_dump_what *ret, struct dt_err *reterr)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp (word, words[i])) {
            *ret = (enum dt_dump_what)i;
            return 0;
        }
    return dt_err_set (reterr, -DT_EUSAGE, "--dump '%s' is none of graph, simplified, residual, "
                       "code", word);
}

static int put_code (const struct dt_solution *s, struct dt_buf *out, struct dt_err *reterr)
{
    struct dt_vm *vm;
    int r = dt_vm_load (s->stock.data, s->stock.len, &vm, reterr);

    if (r < 0)
        return r;
    dt_vm_disassemble (vm, out);
    dt_vm_free (vm);
    return 0;
}

/* --- dot ------------------------------------------------------------------------- */

/* A text between the quotes of a dot string. */
static void put_quoted (struct dt_buf *out, const char *text)
{
    for (; *text; text++)
        dt_buf_printf (out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* cut[simple values]: index of its pin + 1. */
static void mark_cut (const struct dt_graphs *s, size_t *cut)
{
    for (size_t p = 0; p < s->solution->n_pins; p++) {
        uint32_t node = dt_graphs_pin (s, &s->solution->pin[p]);

        if (node != DT_NODE_NONE)
            cut[node] = p + 1;
    }
}

static void put_value (const struct dt_graphs *s, const size_t *cut, uint32_t i, struct dt_buf *out)
{
    const struct dt_node *n = &s->simple->node[i];
    const char *name = n->op == DT_OP_INPUT ? s->simple->input[n->imm].name
                       : n->op == DT_OP_KNOB ? s->simple->knob[n->imm].name : n->name;
    uint8_t klass = n->op == DT_OP_INPUT ? s->simple->input[n->imm].klass : 0;
    struct dt_buf text = { 0 };

    if (n->op == DT_OP_CONST)
        dt_explain_value (s->simple, n->type, n->imm, &text);
    else
        dt_buf_printf (&text, "%s", dt_op_text (n->op));
    dt_buf_printf (out, "  v%u [label=\"", i);
    if (cut[i])
        dt_buf_printf (out, "PIN "), put_quoted (out, s->solution->pin[cut[i] - 1].name);
    else if (name)
        put_quoted (out, name);
    dt_buf_printf (out, cut[i] || name ? "\\n" : "");
    put_quoted (out, dt_buf_str (&text) ? dt_buf_str (&text) : "?");
    dt_buf_printf (out, "\"%s%s%s];\n",
                   cut[i] ? ", style=filled, fillcolor=salmon, penwidth=3" : "",
                   klass == DT_INPUT_OWN ? ", shape=box, style=dashed"
                   : klass ? ", shape=box, style=filled, fillcolor=lightblue" : "",
                   n->op == DT_OP_KNOB ? ", shape=diamond" : "");
    dt_buf_done (&text);
}

static void put_edges (const struct dt_graph *g, struct dt_buf *out)
{
    uint32_t args[3];

    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (int k = 0, n = dt_node_args (&g->node[i], args); k < n; k++)
            dt_buf_printf (out, "  v%u -> v%u;\n", args[k], i);
    for (uint32_t i = 0; i < g->n_points; i++)
        dt_buf_printf (out, "  v%u -> p%u;\n", g->point[i].node, i);
}

/* Sources are blue boxes, binding selection points double, the cut red and bold. */
static int put_dot (const struct dt_graphs *s, struct dt_buf *out, struct dt_err *reterr)
{
    const struct dt_graph *g = s->simple;
    size_t *cut = dt_calloc (g->n_nodes, sizeof *cut);

    if (!cut)
        return dt_err_nomem (reterr);
    mark_cut (s, cut);
    dt_buf_printf (out, "digraph \"%s/%s\" {\n  rankdir=TB;\n", s->solution->family,
                   s->solution->site);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        put_value (s, cut, i, out);
    for (uint32_t i = 0; i < g->n_points; i++) {
        int is_free = s->solution->point[i].is_free;

        dt_buf_printf (out, "  p%u [label=\"", i);
        put_quoted (out, g->point[i].field);
        dt_buf_printf (out, "\\n%s\", shape=box, peripheries=%d%s];\n",
                       is_free ? "free" : "binding", is_free ? 1 : 2,
                       is_free ? ", style=dashed" : "");
    }
    put_edges (g, out);
    dt_buf_printf (out, "}\n");
    dt_free (cut);
    return 0;
}

/* --- all ------------------------------------------------------------------------- */

static int put_site (const struct dt_graphs *s, enum dt_dump_what what, struct dt_buf *out,
                     struct dt_err *reterr)
{
    if (what == DT_DUMP_DOT)
        return put_dot (s, out, reterr);
    dt_buf_printf (out, "# %s/%s: %s\n", s->solution->family, s->solution->site, words[what]);
    if (what == DT_DUMP_CODE)
        return put_code (s->solution, out, reterr);
    dt_graph_dump (what == DT_DUMP_GRAPH ? s->graph
                   : what == DT_DUMP_SIMPLIFIED ? s->simple : s->solution->residual, out);
    return 0;
}

int dt_dump (const struct dt_collected *k, enum dt_dump_what what,
             const struct dt_site_options *options, struct dt_err *reterr)
{
    struct dt_buf out = { 0 };
    int r = 0;

    for (size_t i = 0; r == 0 && i < k->deployment->n_sites; i++) {
        struct dt_graphs s;

        if ((r = dt_graphs_make (k, i, options, &s, reterr)) < 0)
            break;
        r = put_site (&s, what, &out, reterr);
        dt_graphs_done (&s);
    }
    if (r == 0 && !dt_buf_str (&out))
        r = dt_err_nomem (reterr);
    if (r == 0)
        dt_print_lines (stdout, dt_buf_str (&out));
    dt_buf_done (&out);
    return r;
}
