/* solver/explain.c - values, places, expressions and paths as text. */
#include "solver/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#define MAX_DEPTH 6 /* operations inside one another that an expression shows */
#define MAX_STEPS 8 /* values that a path shows */

void dt_explain_place (const struct dt_graph *g, uint32_t span, struct dt_buf *out)
{
    if (span < g->n_spans && g->span[span].file < g->n_files)
        dt_buf_printf (out, "%s:%u:%u", g->file[g->span[span].file], g->span[span].line,
                       g->span[span].column);
    else
        dt_buf_printf (out, "?");
}

void dt_explain_value (const struct dt_graph *g, uint8_t type, int64_t v, struct dt_buf *out)
{
    char text[DT_FLOAT_TEXT];

    if (type == DT_TYPE_FLOAT) {
        dt_op_float_text (v, text);
        dt_buf_printf (out, "%s", text);
    } else if (type == DT_TYPE_BOOL)
        dt_buf_printf (out, "%s", v ? "True" : "False");
    else if (type == DT_TYPE_ENUM && v >= 0 && v < g->n_enums)
        dt_buf_printf (out, "\"%s\"", g->enum_text[v]);
    else
        dt_buf_printf (out, "%" PRId64, v);
}

/* "local" of "function.local". */
static const char *local (const char *name)
{
    const char *dot = strrchr (name, '.');

    return dot ? dot + 1 : name;
}

/* The name of a value for people, NULL if it has none. */
static const char *label (const struct dt_graph *g, uint32_t node)
{
    const struct dt_node *n = &g->node[node];

    switch (n->op) {
    case DT_OP_INPUT: return g->input[n->imm].name;
    case DT_OP_KNOB: return g->knob[n->imm].name;
    case DT_OP_PIN: return local (g->pin[n->imm].name);
    default: return n->name ? local (n->name) : NULL;
    }
}

/* How an expression is written: `self` is the name of its root, which is no name
 * for a part of it. */
struct writer {
    const struct dt_graph *g;
    const char *self;
    struct dt_buf *out;
};

static void render (const struct writer *w, uint32_t node, int depth, int inside);

/* NAME(a, b, c) */
static void render_call (const struct writer *w, const char *name, const uint32_t *args, int n,
                         int depth)
{
    int i;

    dt_buf_printf (w->out, "%s(", name);
    for (i = 0; i < n; i++) {
        dt_buf_printf (w->out, "%s", i ? ", " : "");
        render (w, args[i], depth + 1, 0);
    }
    dt_buf_printf (w->out, ")");
}

/* Is it written NAME(a, b)?  The names that are no functions are operators. */
static int is_call (uint8_t op)
{
    const char first = *dt_op_text (op);

    return first >= 'a' && first <= 'z' && op != DT_OP_NOT && op != DT_OP_AND
           && op != DT_OP_OR && op != DT_OP_NEG && op != DT_OP_FNEG;
}

/* `inside`: an operand of an infix operation, which needs parentheses. */
static void render_op (const struct writer *w, uint32_t node, int depth, int inside)
{
    const struct dt_node *n = &w->g->node[node];
    const char *text = dt_op_text (n->op);
    uint32_t args[3];
    int k = dt_node_args (n, args), call;

    call = is_call (n->op);
    if (call || k == 0) {
        render_call (w, text, args, k, depth);
        return;
    }
    dt_buf_printf (w->out, "%s", inside ? "(" : "");
    if (k == 1)
        dt_buf_printf (w->out, "%s",
                       n->op == DT_OP_NEG || n->op == DT_OP_FNEG ? "-" : n->op == DT_OP_NOT ? "not " : text);
    render (w, args[0], depth + 1, 1);
    if (k == 2) {
        dt_buf_printf (w->out, " %s ", text);
        render (w, args[1], depth + 1, 1);
    }
    dt_buf_printf (w->out, "%s", inside ? ")" : "");
}

/* Recursion is bounded by MAX_DEPTH. */
static void render (const struct writer *w, uint32_t node, int depth, int inside)
{
    const struct dt_node *n = &w->g->node[node];
    const char *name = label (w->g, node);

    if (n->op == DT_OP_CONST)
        dt_explain_value (w->g, n->type, n->imm, w->out);
    else if (name && (dt_op_args (n->op) == 0
                      || (depth > 0 && !(w->self && strcmp (name, w->self) == 0))))
        dt_buf_printf (w->out, "%s", name);
    else if (depth == MAX_DEPTH || w->out->len > 4 * DT_EXPLAIN_MAX)
        dt_buf_printf (w->out, "...");
    else
        render_op (w, node, depth, inside);
}

/* Cut what was appended since `at` to DT_EXPLAIN_MAX characters. */
static void shorten (struct dt_buf *out, size_t at)
{
    if (!out->failed && out->len - at > DT_EXPLAIN_MAX) {
        out->len = at + DT_EXPLAIN_MAX - 3;
        dt_buf_printf (out, "...");
    }
}

void dt_explain_expression (const struct dt_graph *g, uint32_t node, struct dt_buf *out)
{
    struct dt_buf b = { 0 };
    struct writer w = { g, label (g, node), &b };

    render (&w, node, 0, 0);
    shorten (&b, 0);
    out->failed |= b.failed;
    dt_buf_put (out, b.data, b.len);
    dt_buf_done (&b);
}

void dt_explain_path (const struct dt_graph *g, const uint32_t *path, size_t n,
                      const char *last, struct dt_buf *out)
{
    const char *shown = NULL;
    size_t i, named = 0, skip_from, skip_to, k = 0;

    for (i = 0; i < n; i++)
        named += label (g, path[i]) != NULL;
    skip_from = named > MAX_STEPS ? MAX_STEPS / 2 : named;
    skip_to = named > MAX_STEPS ? named - MAX_STEPS / 2 : named;
    for (i = 0; i < n; i++) {
        const char *name = label (g, path[i]);

        if (!name)
            continue;
        if (k == skip_from && k < skip_to)
            dt_buf_printf (out, " -> ...");
        if ((k < skip_from || k >= skip_to) && !(shown && strcmp (shown, name) == 0)) {
            dt_buf_printf (out, "%s%s", shown ? " -> " : "", name);
            shown = name;
        }
        k++;
    }
    if (last && !(shown && strcmp (shown, last) == 0))
        dt_buf_printf (out, "%s%s", shown ? " -> " : "", last);
}

int dt_explain_route (const struct dt_graph *g, const uint8_t *from, uint32_t to,
                      const uint8_t *through, uint32_t *ret, size_t *ret_n)
{
    uint32_t *user = dt_calloc (g->n_nodes, sizeof *user); /* next on the way, + 1 */
    uint32_t *queue = dt_calloc (g->n_nodes, sizeof *queue);
    uint32_t head = 0, tail = 0, v = to, args[3];
    int k, found = 0;

    if (!user || !queue) {
        dt_free (user);
        dt_free (queue);
        return -ENOMEM;
    }
    user[to] = to + 1;
    queue[tail++] = to;
    while (head < tail && !found) {
        v = queue[head++];
        found = from[v];
        for (k = found ? 0 : dt_node_args (&g->node[v], args); k-- > 0;)
            if (!user[args[k]] && (!through || through[args[k]])) {
                user[args[k]] = v + 1;
                queue[tail++] = args[k];
            }
    }
    for (*ret_n = 0; found; v = user[v] - 1) {
        ret[(*ret_n)++] = v;
        if (v == to)
            break;
    }
    dt_free (user);
    dt_free (queue);
    return found;
}
