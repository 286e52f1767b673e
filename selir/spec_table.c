/* selir/spec_table.c - data files: table ("name.json"). */
#include <jansson.h>
#include <string.h>

#include "selir/spec.h"

#define BYTES_A_STEP 16
#define MAX_DEPTH 16 /* of lists and dicts inside each other in a data file */

struct reading {
    const struct dt_expr *call;
    const char *file;
    int depth;
};

static int bad_data (struct dt_spec *s, const struct reading *d, int code, const char *what)
{
    return dt_spec_error (s, code, d->call->at, NULL, "table(\"%s\"): %s", d->file, what);
}

static int value (struct dt_spec *s, struct reading *d, json_t *json, struct dt_value *ret);

static int list (struct dt_spec *s, struct reading *d, json_t *json, struct dt_value *ret)
{
    struct dt_seq *seq = dt_seq_new (&s->arena, (uint32_t)json_array_size (json));
    uint32_t i;
    int r;

    if (!seq)
        return dt_err_nomem (s->err);
    for (i = 0; i < seq->n; i++)
        if ((r = value (s, d, json_array_get (json, i), &seq->item[i])) < 0)
            return r;
    *ret = (struct dt_value){ .kind = DT_VALUE_LIST, .seq = seq };
    return 0;
}

/* Keys differ, and keep the file's order. */
static int dict (struct dt_spec *s, struct reading *d, json_t *json, struct dt_value *ret)
{
    struct dt_seq *seq = dt_seq_new (&s->arena, 2 * (uint32_t)json_object_size (json));
    uint32_t i = 0;
    const char *key, *copy;
    json_t *item;
    int r;

    if (!seq)
        return dt_err_nomem (s->err);
    json_object_foreach (json, key, item) {
        if (!(copy = dt_arena_strf (&s->arena, "%s", key)))
            return dt_err_nomem (s->err);
        seq->item[i++] = DT_V_STR (copy);
        if ((r = value (s, d, item, &seq->item[i++])) < 0)
            return r;
    }
    *ret = (struct dt_value){ .kind = DT_VALUE_DICT, .seq = seq };
    return 0;
}

static int scalar (struct dt_spec *s, const struct dt_expr *e, json_t *json, struct dt_value *ret)
{
    const char *copy;

    switch (json_typeof (json)) {
    case JSON_STRING:
        if (!(copy = dt_arena_strf (&s->arena, "%s", json_string_value (json))))
            return dt_err_nomem (s->err);
        *ret = DT_V_STR (copy);
        return dt_spec_string (s, e, copy);
    case JSON_INTEGER:
        *ret = DT_V_INT (json_integer_value (json));
        return 0;
    case JSON_REAL:
        *ret = DT_V_FLOAT (dt_op_bits (json_real_value (json)));
        return 0;
    case JSON_NULL:
        *ret = DT_V_NONE;
        return 0;
    default:
        *ret = DT_V_BOOL (json_is_true (json));
        return 0;
    }
}

static int value (struct dt_spec *s, struct reading *d, json_t *json, struct dt_value *ret)
{
    int r;

    if ((r = dt_spec_unroll (s, 1, d->call->at)) < 0)
        return r;
    if (!json_is_array (json) && !json_is_object (json))
        return scalar (s, d->call, json, ret);
    if (d->depth >= MAX_DEPTH)
        return bad_data (s, d, -DT_ELIMIT, "lists and objects inside each other deeper than 16");
    d->depth++;
    r = json_is_array (json) ? list (s, d, json, ret) : dict (s, d, json, ret);
    d->depth--;
    return r;
}

static int parse (struct dt_spec *s, const struct dt_expr *e, const struct dt_source *src, struct dt_value *ret)
{
    struct reading d = { .call = e, .file = src->name };
    json_error_t error;
    json_t *json;
    int r;

    if ((r = dt_spec_step (s, (uint32_t)(src->len / BYTES_A_STEP), e->at)) < 0)
        return r;
    if (!(json = json_loadb (src->text, src->len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error)))
        return dt_err_set (s->err, -DT_EINPUT, "%s:%d:%d: %s", src->name, error.line, error.column, error.text);
    r = value (s, &d, json, ret);
    json_decref (json);
    return r;
}

int dt_number_of_text (const char *text, double *ret)
{
    json_t *json = json_loads (text, JSON_DECODE_ANY, NULL);
    int is = json_is_number (json);

    if (is)
        *ret = json_number_value (json);
    json_decref (json);
    return is;
}

int dt_spec_table (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_value name;
    uint32_t i;
    int r;

    if (e->n != 2 || e->key[1])
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "write table(\"name.json\")", "table() takes the name of a data file");
    if ((r = dt_spec_eval (s, e->arg[1], &name)) != 0)
        return r;
    if (name.kind != DT_VALUE_STR)
        return dt_spec_error (s, -DT_ESYNTAX, e->arg[1]->at, NULL, "table() takes a static string, not %s", dt_value_type (name));
    for (i = 0; i < s->p->n_data; i++)
        if (strcmp (s->p->data[i].name, name.s) == 0)
            return parse (s, e, &s->p->data[i], ret);
    return dt_spec_error (s, -DT_ESYNTAX, e->at, "name it among the deployment's files", "there is no data file '%s'", name.s);
}
