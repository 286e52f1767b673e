/* tests/selir_eval.c - run SelIR programs on inputs, for selir_differential.py.
 *
 * stdin, repeated:
 *     program BYTES\n, then that many bytes and a newline
 *     run NAME=VALUE ...\n     inputs and knobs: ints, True, False, or text
 * stdout, a line for each:
 *     ok | reject CODE TEXT
 *     values FIELD=VALUE ... | error CLASS LINE | refused KIND LINE
 *
 * Each run is computed from the specialised graph itself, node by node: the
 * meaning that simplifying and the vm must keep. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "selir/program.h"

#define MAX_LINE 65536

struct outcome {
    uint64_t seq; /* of the first fault or failing condition; UINT64_MAX: none */
    const char *what, *name;
    uint32_t span;
};

/* The text of NAME in "NAME=VALUE ..."; copied to `value`. */
static int setting (const char *line, const char *name, char *value, size_t size)
{
    size_t n = strlen (name), k = 0;
    const char *p = line;

    while ((p = strchr (p, ' '))) {
        p++;
        if (strncmp (p, name, n) != 0 || p[n] != '=')
            continue;
        for (p += n + 1; p[k] && p[k] != ' ' && p[k] != '\n' && k + 1 < size; k++)
            value[k] = p[k];
        value[k] = 0;
        return 1;
    }
    return 0;
}

static int64_t parse (const struct dt_graph *g, uint8_t type, const char *value)
{
    uint32_t i;

    if (type == DT_TYPE_BOOL)
        return strcmp (value, "True") == 0;
    if (type == DT_TYPE_INT)
        return strtoll (value, NULL, 10);
    for (i = 0; i < g->n_enums; i++)
        if (strcmp (g->enum_text[i], value) == 0)
            return i;
    return -1;
}

static int64_t leaf (const struct dt_graph *g, const struct dt_node *n, const char *line)
{
    char value[256];

    if (n->op == DT_OP_CONST)
        return n->imm;
    if (n->op == DT_OP_INPUT)
        return setting (line, g->input[n->imm].name, value, sizeof value) ? parse (g, n->type, value) : 0;
    return setting (line, g->knob[n->imm].name, value, sizeof value) ? parse (g, n->type, value)
                                                                     : g->knob[n->imm].value[g->knob[n->imm].initial];
}

static void first (struct outcome *o, uint64_t seq, const char *what, const char *name, uint32_t span)
{
    if (seq < o->seq)
        *o = (struct outcome){ seq, what, name, span };
}

static void compute (const struct dt_graph *g, const char *line, int64_t *v, struct outcome *o)
{
    uint32_t i, args[3];
    int64_t x[3];
    int k, n;

    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *node = &g->node[i];
        enum dt_fault fault = DT_FAULT_NONE;

        n = dt_node_args (node, args);
        for (k = 0; k < 3; k++)
            x[k] = k < n ? v[args[k]] : 0;
        if (node->op == DT_OP_FAIL) {
            v[i] = 0;
            fault = (enum dt_fault)node->imm;
        } else if (n == 0)
            v[i] = leaf (g, node, line);
        else
            fault = dt_op_eval (node->op, x[0], x[1], x[2], &v[i]);
        if (fault != DT_FAULT_NONE && (node->guard == DT_NODE_NONE || v[node->guard]))
            first (o, node->seq, "error", dt_fault_name (fault), node->span);
    }
    for (i = 0; i < g->n_conds; i++) {
        const struct dt_cond *c = &g->cond[i];

        if (!v[c->value] && (c->guard == DT_NODE_NONE || v[c->guard]))
            first (o, c->seq, "refused", c->kind == DT_COND_REQUIRE ? "require" : "assume", c->span);
    }
}

static void show (const struct dt_graph *g, const struct dt_point *p, int64_t v)
{
    if (p->type == DT_TYPE_INT)
        printf (" %s=%" PRId64, p->field, v);
    else
        printf (" %s=%s", p->field, p->type == DT_TYPE_ENUM ? g->enum_text[v] : v ? "True" : "False");
}

static void run (const struct dt_graph *g, const char *line)
{
    struct outcome o = { .seq = UINT64_MAX };
    int64_t *v = dt_calloc (g->n_nodes + 1, sizeof *v);
    uint32_t i;

    if (!v)
        abort ();
    compute (g, line, v, &o);
    if (o.seq != UINT64_MAX)
        printf ("%s %s %u", o.what, o.name, g->span[o.span].line);
    else
        printf ("values");
    for (i = 0; o.seq == UINT64_MAX && i < g->n_points; i++)
        show (g, &g->point[i], v[g->point[i].node]);
    printf ("\n");
    dt_free (v);
}

static struct dt_graph *load (const char *text, size_t len)
{
    const struct dt_source source = { "program.py", text, len };
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    int r;

    if ((r = dt_program_parse (&source, 1, &p, &err)) == 0)
        r = dt_program_specialise (p, NULL, 0, &g, &err);
    dt_program_free (p);
    if (r < 0)
        err.text[strcspn (err.text, "\n")] = 0;
    if (r < 0)
        printf ("reject %d %s\n", -r, err.text);
    else
        printf ("ok\n");
    return g;
}

int main (void)
{
    static char line[MAX_LINE];
    struct dt_graph *g = NULL;
    size_t len;
    char *text;

    while (fgets (line, sizeof line, stdin)) {
        if (sscanf (line, "program %zu", &len) != 1) {
            if (g)
                run (g, line);
            else
                printf ("none\n");
            continue;
        }
        if (!(text = dt_calloc (len + 1, 1)) || fread (text, 1, len + 1, stdin) != len + 1)
            return 1;
        dt_graph_free (g);
        g = load (text, len);
        dt_free (text);
    }
    dt_graph_free (g);
    return 0;
}
