/* tests/selir_eval.c - run SelIR programs on inputs, for selir_differential.py.
 *
 * stdin, repeated:
 *     file NAME BYTES\n, then that many bytes and a newline: beside the next program
 *     fact NAME KIND VALUE\n    of the next program; KIND is int, bool (0 or 1) or str
 *     program BYTES\n, then that many bytes and a newline
 *     run NAME=VALUE ...\n     inputs and knobs: ints, True, False, or text
 * stdout, a line for each:
 *     ok | reject CODE TEXT     its lines separated by tabs
 *     values FIELD=VALUE ... | error CLASS LINE | refused KIND LINE
 *
 * Each run is computed from the specialised graph itself, node by node: the
 * meaning.  The vm must give the same values from the emitted blob, simplified with
 * all passes, none, and all but each one, and stop at an error that the graph has too
 * (it runs what no Own input reaches first, so of several errors it may meet another
 * one first); else the line is "vm PASSES ...". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "selir/emit.h"
#include "selir/program.h"
#include "selir/simplify.h"
#include "selir/vm.h"

#define MAX_LINE 65536
#define MAX_FILES 32
#define MAX_FACTS 64
#define N_MASKS (DT_PASS_COUNT + 2)

static unsigned mask (int i)
{
    return i == 0 ? DT_PASS_ALL : i == 1 ? 0 : DT_PASS_ALL & ~(1u << (i - 2));
}

struct outcome {
    uint64_t seq; /* of the first fault or failing condition; UINT64_MAX: none */
    const char *what, *name;
    uint32_t span;
    const char *sought; /* "LINE NAME" that the vm stopped at ... */
    int found;          /* ... and whether the graph has it       */
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
    if (type == DT_TYPE_FLOAT)
        return dt_op_bits (strtod (value, NULL));
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

static void first (const struct dt_graph *g, struct outcome *o, uint64_t seq, const char *what, const char *name,
                   uint32_t span)
{
    char text[128];

    snprintf (text, sizeof text, "%u %s", g->span[span].line, name);
    o->found |= o->sought && strcmp (o->sought, text) == 0;
    if (seq >= o->seq)
        return;
    o->seq = seq;
    o->what = what;
    o->name = name;
    o->span = span;
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
            first (g, o, node->seq, "error", dt_fault_name (fault), node->span);
    }
    for (i = 0; i < g->n_conds; i++) {
        const struct dt_cond *c = &g->cond[i];

        if (!v[c->value] && (c->guard == DT_NODE_NONE || v[c->guard]))
            first (g, o, c->seq, "refused", c->kind == DT_COND_REQUIRE ? "require" : "assume", c->span);
    }
}

static void show (const struct dt_graph *g, const struct dt_point *p, int64_t v, char *out, size_t size)
{
    size_t n = strlen (out);

    if (p->type == DT_TYPE_INT)
        snprintf (out + n, size - n, " %s=%" PRId64, p->field, v);
    else if (p->type == DT_TYPE_FLOAT)
        snprintf (out + n, size - n, " %s=%016" PRIx64, p->field, (uint64_t)v);
    else
        snprintf (out + n, size - n, " %s=%s", p->field, p->type == DT_TYPE_ENUM ? g->enum_text[v] : v ? "True" : "False");
}

/* --- the vm -------------------------------------------------------------------- */

/* A vm with the memory that its runs share, as an engine has it. */
struct machine {
    struct dt_vm *vm;
    int64_t *regs;
};

static void machine_done (struct machine *m)
{
    dt_vm_free (m->vm);
    dt_free (m->regs);
    *m = (struct machine){ NULL };
}

/* None where a pass that is off leaves more than a selector takes. */
static struct machine machine (const struct dt_graph *g, unsigned passes)
{
    const struct dt_emit_options options = { .site = "", .variant = "stock" };
    struct dt_graph *simple = NULL;
    struct dt_buf blob = { 0 };
    struct machine m = { NULL };
    struct dt_err err = { "" };
    uint32_t *map = NULL;
    int r;

    if ((r = dt_simplify (g, passes, NULL, 1, &simple, &map, &err)) < 0
        || ((r = dt_emit (simple, &options, &blob, &err)) < 0 && (r != -DT_ELIMIT || passes == DT_PASS_ALL))
        || (r == 0 && ((r = dt_vm_load (blob.data, blob.len, &m.vm, &err)) < 0 || (r = dt_vm_plan (m.vm, &err)) < 0))
        || (r == 0 && !(m.regs = dt_calloc (dt_vm_registers (m.vm) + 1, sizeof *m.regs)))) {
        fprintf (stderr, "%s\n", err.text);
        abort ();
    }
    if (m.vm)
        dt_vm_prepare (m.vm, m.regs);
    dt_free (map);
    dt_graph_free (simple);
    dt_buf_done (&blob);
    return m;
}

static int64_t vm_value (const struct dt_vm *vm, const struct dt_graph *g, const struct dt_vm_input *in, const char *line)
{
    char value[256];
    int64_t i;

    if (!setting (line, in->name, value, sizeof value)) {
        for (uint32_t k = 0; k < g->n_knobs; k++)
            if (strcmp (g->knob[k].name, in->name) == 0)
                return g->knob[k].value[g->knob[k].initial];
        return 0;
    }
    if (in->type != DT_TYPE_ENUM)
        return parse (g, in->type, value);
    for (i = 0; dt_vm_enum (vm, i) && strcmp (dt_vm_enum (vm, i), value) != 0; i++)
        ;
    return i;
}

/* Run; returns 0 and the outputs' texts in `got`, or "LINE NAME" of the stop. */
static int vm_run (const struct machine *m, const struct dt_graph *g, const char *line, char *got, size_t size)
{
    const struct dt_vm *vm = m->vm;
    int64_t in[DT_VM_MAX_INPUTS], own[DT_VM_MAX_INPUTS], out[DT_VM_MAX_OUTPUTS], own_out[DT_VM_MAX_OUTPUTS], v;
    size_t i, n_in = 0, n_own = 0, n = 0;
    struct dt_vm_stop stop;
    struct dt_err err;
    unsigned at = 0;
    int r;

    for (i = 0; i < dt_vm_inputs (vm); i++) {
        v = vm_value (vm, g, dt_vm_input (vm, i), line);
        if (dt_vm_input (vm, i)->klass == DT_INPUT_OWN)
            own[n_own++] = v;
        else
            in[n_in++] = v;
    }
    r = dt_vm_run (vm, m->regs, in, own, 1, out, own_out, &stop);
    if (r < 0) {
        dt_vm_describe (vm, &stop, &err);
        sscanf (err.text, "program.py:%u", &at);
        snprintf (got, size, "%u %s", at, stop.what == DT_VM_FAULT ? dt_fault_name ((enum dt_fault)stop.fault)
                                          : strstr (err.text, " assume ") ? "assume" : "require");
        return r;
    }
    got[0] = 0;
    for (i = 0; i < dt_vm_outputs (vm); i++) {
        const struct dt_vm_output *o = dt_vm_output (vm, i);

        v = o->own ? own_out[i] : out[i];
        if (o->type == DT_TYPE_INT)
            n += (size_t)snprintf (got + n, size - n, " %s=%" PRId64, o->field, v);
        else if (o->type == DT_TYPE_FLOAT)
            n += (size_t)snprintf (got + n, size - n, " %s=%016" PRIx64, o->field, (uint64_t)v);
        else
            n += (size_t)snprintf (got + n, size - n, " %s=%s", o->field,
                                   o->type == DT_TYPE_ENUM ? dt_vm_enum (vm, v) : v ? "True" : "False");
    }
    return 0;
}

/* The vm of one mask against the graph: 1 and a line if they differ. */
static int differs (const struct dt_graph *g, const struct machine *m, int i, const char *line, int64_t *v,
                    const struct outcome *meaning, const char *want)
{
    struct outcome o = { .seq = UINT64_MAX };
    char got[4096];
    int r = vm_run (m, g, line, got, sizeof got);

    if (r == 0 && meaning->seq == UINT64_MAX && strcmp (want, got) == 0)
        return 0;
    o.sought = got;
    compute (g, line, v, &o);
    if (r < 0 && o.found)
        return 0;
    printf ("vm %x: %d %s where the graph has%s %s\n", mask (i), r, got, want, o.what ? o.name : "");
    return 1;
}

static void run (const struct dt_graph *g, const struct machine *vm, const char *line)
{
    struct outcome o = { .seq = UINT64_MAX };
    int64_t *v = dt_calloc (g->n_nodes + 1, sizeof *v);
    char want[4096] = "";
    uint32_t i;
    int k;

    if (!v)
        abort ();
    compute (g, line, v, &o);
    for (i = 0; o.seq == UINT64_MAX && i < g->n_points; i++)
        show (g, &g->point[i], v[g->point[i].node], want, sizeof want);
    for (k = 0; k < N_MASKS; k++)
        if (vm[k].vm && differs (g, &vm[k], k, line, v, &o, want))
            break;
    if (k == N_MASKS && o.seq != UINT64_MAX)
        printf ("%s %s %u\n", o.what, o.name, g->span[o.span].line);
    else if (k == N_MASKS)
        printf ("values%s\n", want);
    dt_free (v);
}

static struct dt_graph *load (const struct dt_source *source, size_t n, const struct dt_fact *fact,
                              size_t n_facts)
{
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    int r;

    if ((r = dt_program_parse (source, n, &p, &err)) == 0)
        r = dt_program_specialise (p, fact, n_facts, &g, &err);
    dt_program_free (p);
    if (r < 0) {
        for (char *c = err.text; *c; c++)
            *c = *c == '\n' ? '\t' : *c;
        printf ("reject %d %s\n", -r, err.text);
    } else
        printf ("ok\n");
    return g;
}

static char *read_text (size_t len)
{
    char *text = dt_calloc (len + 1, 1);

    if (!text || fread (text, 1, len + 1, stdin) != len + 1)
        exit (1);
    return text;
}

/* "fact NAME KIND VALUE" into *ret, whose texts are in `text`; 0 if the line is another. */
static int read_fact (const char *line, char text[2][256], struct dt_fact *ret)
{
    char kind[8];

    if (sscanf (line, "fact %255s %7s %255s", text[0], kind, text[1]) != 3)
        return 0;
    *ret = (struct dt_fact){ .name = text[0], .kind = DT_FACT_INT, .s = text[1] };
    ret->i = strtoll (text[1], NULL, 10);
    if (strcmp (kind, "int") != 0)
        ret->kind = strcmp (kind, "bool") == 0 ? DT_FACT_BOOL : DT_FACT_STR;
    return 1;
}

int main (void)
{
    static char line[MAX_LINE], name[MAX_FILES][256], text[MAX_FACTS][2][256];
    struct dt_fact fact[MAX_FACTS];
    size_t n_facts = 0;
    struct dt_source source[MAX_FILES] = { { .name = "program.py" } };
    struct machine vm[N_MASKS] = { { NULL } };
    struct dt_graph *g = NULL;
    size_t n = 1, len;
    int k;

    while (fgets (line, sizeof line, stdin)) {
        if (n < MAX_FILES && sscanf (line, "file %255s %zu", name[n], &len) == 2) {
            source[n] = (struct dt_source){ name[n], read_text (len), len };
            n++;
        } else if (n_facts < MAX_FACTS && read_fact (line, text[n_facts], &fact[n_facts])) {
            n_facts++;
        } else if (sscanf (line, "program %zu", &len) == 1) {
            source[0].text = read_text (len);
            source[0].len = len;
            dt_graph_free (g);
            g = load (source, n, fact, n_facts);
            for (k = 0; k < N_MASKS; k++) {
                machine_done (&vm[k]);
                if (g)
                    vm[k] = machine (g, mask (k));
            }
            for (; n > 0; n--)
                dt_free ((char *)(uintptr_t)source[n - 1].text);
            n = 1;
            n_facts = 0;
        } else if (g)
            run (g, vm, line);
        else
            printf ("none\n");
    }
    for (k = 0; k < N_MASKS; k++)
        machine_done (&vm[k]);
    dt_graph_free (g);
    return 0;
}
