/* detentctl/cmd_selir_run.c - run a program on inputs, as CPython would. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "detentctl/commands.h"
#include "detentctl/evaluate.h"
#include "detentctl/print.h"
#include "detentctl/selir.h"
#include "detentctl/settings.h"
#include "detentctl/sheet.h"
#include "solver/explain.h"
#include "solver/reach.h"

#define MAX_REQUESTS 4096

static const struct dt_ctl_option options[] = {
    DT_SELIR_OPTIONS,
    { "inputs", 0, "NAME=VALUE,...", "each input of the Batch record; of an Own one V/V/..., one a "
                                     "request" },
    { "knobs", 0, "NAME=VALUE,...", "knobs that are not to have their default" },
    { 0 },
};

struct running {
    const struct dt_graph *g;
    int64_t *input;   /* [n_requests * n_inputs] */
    int64_t *knob;    /* [n_knobs]               */
    int64_t *field;   /* [n_requests * n_points] */
    int64_t *value;   /* [n_nodes] of one request */
    uint8_t *own;     /* [n_nodes] depends on the request */
    size_t n_requests;
};

static void running_done (struct running *v)
{
    dt_free (v->input);
    dt_free (v->knob);
    dt_free (v->field);
    dt_free (v->value);
    dt_free (v->own);
}

/* --- what was given ------------------------------------------------------------- */

/* A value as the command line has it; 0 if it is none of this type. */
static int parse (const struct dt_graph *g, uint8_t type, const char *text, int64_t *ret)
{
    double d;

    if (type == DT_TYPE_INT)
        return dt_setting_int (text, ret);
    if (type == DT_TYPE_BOOL)
        return dt_setting_bool (text, ret);
    if (type == DT_TYPE_FLOAT) {
        if (!dt_number_of_text (text, &d))
            return 0;
        *ret = dt_op_bits (d);
        return 1;
    }
    for (uint32_t i = 0; i < g->n_enums; i++)
        if (!strcmp (g->enum_text[i], text)) {
            *ret = i;
            return 1;
        }
    return 0;
}

/* "1..32", "0..64 step 16", "1, 2, 4, ... (9)". */
static void domain_text (const struct dt_graph *g, const struct dt_input *in, struct dt_buf *b)
{
    const struct dt_domain *d = &in->domain;

    if (!d->value) {
        dt_buf_printf (b, "%" PRId64 "..%" PRId64, d->lo, dt_domain_at (d, dt_domain_size (d) - 1));
        if (d->step > 1)
            dt_buf_printf (b, " step %" PRId64, d->step);
        return;
    }
    for (size_t i = 0; i < d->n && i < 8; i++) {
        dt_buf_printf (b, "%s", i ? ", " : "");
        dt_explain_value (g, in->type, d->value[i], b);
    }
    if (d->n > 8)
        dt_buf_printf (b, ", ... (%zu)", d->n);
}

static int bad_input (const struct dt_graph *g, const struct dt_input *in, int code,
                      const char *text, struct dt_err *reterr)
{
    struct dt_buf b = { 0 };

    domain_text (g, in, &b);
    if (text)
        code = dt_err_set (reterr, code, "%s = %s is outside its domain %s", in->name, text,
                           dt_buf_str (&b) ? dt_buf_str (&b) : "?");
    else
        code = dt_err_set (reterr, code, "input '%s' is missing (--inputs %s=VALUE, one of %s)",
                           in->name, in->name, dt_buf_str (&b) ? dt_buf_str (&b) : "?");
    dt_buf_done (&b);
    return code;
}

/* Values of an Own input, separated by '/'. */
static size_t count_values (const struct dt_input *in, const char *text)
{
    size_t n = 1;

    for (const char *p = text; in->klass == DT_INPUT_OWN && *p; p++)
        n += *p == '/';
    return n;
}

/* One request unless an Own input has more; those have one value or all as many. */
static int count_requests (struct running *v, const struct dt_settings *given,
                           struct dt_err *reterr)
{
    v->n_requests = 1;
    for (uint32_t i = 0; i < v->g->n_inputs; i++) {
        const struct dt_input *in = &v->g->input[i];
        const char *text = dt_settings_get (given, in->name);
        size_t n = text ? count_values (in, text) : 1;

        if (n == 1)
            continue;
        if (n > MAX_REQUESTS)
            return dt_err_set (reterr, -DT_ELIMIT, "%s has %zu requests; the limit is %d",
                               in->name, n, MAX_REQUESTS);
        if (v->n_requests > 1 && n != v->n_requests)
            return dt_err_set (reterr, -DT_EINPUT, "%s has %zu requests, and another input %zu",
                               in->name, n, v->n_requests);
        v->n_requests = n;
    }
    return 0;
}

/* One input of every request; the last value stands for those after it. */
static int take_input (struct running *v, uint32_t i, char *text, struct dt_err *reterr)
{
    const struct dt_input *in = &v->g->input[i];
    char *rest = text, *item = text;
    int64_t x = 0;

    for (size_t k = 0; k < v->n_requests; k++) {
        if (rest) {
            item = in->klass == DT_INPUT_OWN ? strsep (&rest, "/") : rest;
            if (in->klass != DT_INPUT_OWN)
                rest = NULL;
            if (!parse (v->g, in->type, item, &x) || !dt_domain_has (&in->domain, x))
                return bad_input (v->g, in, -DT_EREFUSED, item, reterr);
        }
        v->input[k * v->g->n_inputs + i] = x;
    }
    return 0;
}

static int known_inputs (const struct dt_graph *g, const struct dt_settings *given,
                         struct dt_err *reterr)
{
    const char **name = dt_calloc (g->n_inputs, sizeof *name);
    int r;

    if (!name)
        return dt_err_nomem (reterr);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        name[i] = g->input[i].name;
    r = dt_settings_known (given, "input", name, g->n_inputs, reterr);
    dt_free (name);
    return r;
}

static int take_inputs (struct running *v, const struct dt_settings *given, struct dt_err *reterr)
{
    const struct dt_graph *g = v->g;
    int r;

    if ((r = known_inputs (g, given, reterr)) < 0 || (r = count_requests (v, given, reterr)) < 0)
        return r;
    if (!(v->input = dt_calloc (v->n_requests * g->n_inputs, sizeof *v->input)))
        return dt_err_nomem (reterr);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const char *text = dt_settings_get (given, g->input[i].name);

        if (!text)
            return bad_input (g, &g->input[i], -DT_EINPUT, NULL, reterr);
        if ((r = take_input (v, i, (char *)text, reterr)) < 0) /* cuts the text at '/' */
            return r;
    }
    return 0;
}

static int bad_knob (const struct dt_graph *g, const struct dt_knob *k, const char *text,
                     struct dt_err *reterr)
{
    struct dt_buf b = { 0 };
    int r;

    for (size_t i = 0; i < k->n_values; i++) {
        dt_buf_printf (&b, "%s", i ? ", " : "");
        dt_explain_value (g, k->type, k->value[i], &b);
    }
    r = dt_err_set (reterr, -DT_EINPUT, "knob %s = %s is none of %s", k->name, text,
                    dt_buf_str (&b) ? dt_buf_str (&b) : "?");
    dt_buf_done (&b);
    return r;
}

static int take_knob (const struct dt_graph *g, const struct dt_knob *k, const char *text,
                      int64_t *ret, struct dt_err *reterr)
{
    size_t i = k->n_values;

    *ret = k->value[k->initial];
    if (!text)
        return 0;
    if (parse (g, k->type, text, ret))
        for (i = 0; i < k->n_values && k->value[i] != *ret; i++)
            ;
    return i < k->n_values ? 0 : bad_knob (g, k, text, reterr);
}

static int take_knobs (const struct dt_ctl *c, struct running *v, struct dt_err *reterr)
{
    const struct dt_graph *g = v->g;
    const char **name = dt_calloc (g->n_knobs, sizeof *name);
    struct dt_settings given = { 0 };
    int r;

    v->knob = dt_calloc (g->n_knobs, sizeof *v->knob);
    r = name && v->knob ? dt_settings_parse (c, "knobs", &given, reterr) : dt_err_nomem (reterr);
    for (uint32_t i = 0; r == 0 && i < g->n_knobs; i++) {
        name[i] = g->knob[i].name;
        r = take_knob (g, &g->knob[i], dt_settings_get (&given, name[i]), &v->knob[i], reterr);
    }
    if (r == 0)
        r = dt_settings_known (&given, "knob", name, g->n_knobs, reterr);
    dt_settings_done (&given);
    dt_free (name);
    return r;
}

/* --- running --------------------------------------------------------------------- */

static int stopped (const struct dt_selir *s, const struct running *v,
                    const struct dt_stopped *stop, size_t request, struct dt_err *reterr)
{
    struct dt_source source[DT_SOURCE_MAX_FILES];
    int r;

    for (size_t i = 0; i < s->file.n_files; i++)
        source[i] = (struct dt_source){ s->file.file[i].name,
                                        (const char *)s->file.file[i].data.data,
                                        s->file.file[i].data.len };
    r = dt_stopped_describe (v->g, stop, source, s->file.n_files, reterr);
    return v->n_requests > 1 ? dt_err_prefix (reterr, r, "request %zu", request) : r;
}

static int run_requests (const struct dt_selir *s, struct running *v, struct dt_err *reterr)
{
    const struct dt_graph *g = v->g;

    v->field = dt_calloc (v->n_requests * g->n_points, sizeof *v->field);
    v->value = dt_calloc (g->n_nodes, sizeof *v->value);
    v->own = dt_reach_class (g, DT_REACH_OWN);
    if (!v->field || !v->value || !v->own)
        return dt_err_nomem (reterr);
    for (size_t k = 0; k < v->n_requests; k++) {
        struct dt_stopped stop = dt_evaluate (g, v->input + k * g->n_inputs, v->knob, v->value);

        if (stop.seq != UINT64_MAX)
            return stopped (s, v, &stop, k, reterr);
        for (uint32_t i = 0; i < g->n_points; i++)
            v->field[k * g->n_points + i] = v->value[g->point[i].node];
    }
    return 0;
}

/* As Python's str() writes it. */
static void put_value (const struct dt_graph *g, const struct dt_point *p, int64_t v,
                       struct dt_buf *b)
{
    if (p->type == DT_TYPE_ENUM)
        dt_buf_printf (b, "%s", g->enum_text[v]);
    else
        dt_explain_value (g, p->type, v, b);
}

static void print_text (const struct running *v)
{
    const struct dt_graph *g = v->g;
    struct dt_buf b = { 0 };

    for (uint32_t i = 0; i < g->n_points; i++) {
        const struct dt_point *p = &g->point[i];
        size_t n = v->own[p->node] ? v->n_requests : 1;

        b.len = 0;
        for (size_t k = 0; k < n; k++) {
            dt_buf_printf (&b, "%s", k ? "/" : "");
            put_value (g, p, v->field[k * g->n_points + i], &b);
        }
        if (!dt_buf_str (&b))
            dt_print_nomem ();
        dt_print (stdout, "%s = %s", p->field, (const char *)b.data);
        putchar ('\n');
    }
    dt_buf_done (&b);
}

static json_t *value_json (const struct dt_graph *g, const struct dt_point *p, int64_t v)
{
    double d;

    switch (p->type) {
    case DT_TYPE_INT: return json_integer (v);
    case DT_TYPE_BOOL: return json_boolean (v);
    case DT_TYPE_FLOAT: memcpy (&d, &v, sizeof d); return dt_json_real (d);
    default: return dt_json_text (g->enum_text[v]);
    }
}

static void print_json (const struct running *v)
{
    json_t *o = dt_json_object (), *fields = dt_json_object ();
    const struct dt_graph *g = v->g;

    for (uint32_t i = 0; i < g->n_points; i++) {
        const struct dt_point *p = &g->point[i];
        json_t *a;

        if (!v->own[p->node]) {
            dt_json_set (fields, p->field, value_json (g, p, v->field[i]));
            continue;
        }
        a = dt_json_array ();
        for (size_t k = 0; k < v->n_requests; k++)
            dt_json_append (a, value_json (g, p, v->field[k * g->n_points + i]));
        dt_json_set (fields, p->field, a);
    }
    dt_json_set (o, "fields", fields);
    dt_json_set (o, "requests", dt_json_u64 (v->n_requests));
    dt_json_print (o);
}

static int run_program (const struct dt_ctl *c, const struct dt_selir *s, struct dt_err *reterr)
{
    struct running v = { .g = s->graph };
    struct dt_settings inputs;
    int r;

    if ((r = dt_settings_parse (c, "inputs", &inputs, reterr)) < 0)
        return r;
    if ((r = take_inputs (&v, &inputs, reterr)) == 0 && (r = take_knobs (c, &v, reterr)) == 0
        && (r = run_requests (s, &v, reterr)) == 0)
        (c->json ? print_json : print_text) (&v);
    running_done (&v);
    dt_settings_done (&inputs);
    return r;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    struct dt_selir s;
    int r;

    if ((r = dt_selir_open (c->arg[0], &s, reterr)) < 0)
        return r;
    if ((r = dt_selir_specialise (c, &s, reterr)) == 0)
        r = run_program (c, &s, reterr);
    dt_selir_done (&s);
    return r;
}

const struct dt_ctl_command dt_cmd_selir_run = {
    "selir run", "PROGRAM", 1, 1, "Run a selection program on facts and inputs, as CPython would.",
    options, run,
};
