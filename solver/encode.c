/* solver/encode.c - a solution as one canonical value, and back.
 *
 *   excluded   s
 *   pins       l  of {exact, expression, node, path, where}; names, types and candidates
 *                 are the residual graph's
 *   pins_blob  s
 *   points     l  of {batch, claim, free, own: i, where: s}
 *   proof      s  see proof.h
 *   residual   m  see residual.h
 *   site       s
 *   stock      s
 *   values     s  three int64: specialised, simplified, residual
 *   verdicts   s  one byte an assignment
 *   version    i  DT_SOLVER_VERSION
 *   why        l  of s: distinct counterexamples, in order of first use
 *   why_index  s  u32 an assignment; 0xffffffff: none */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/table.h"
#include "selir/vm.h"
#include "solver/read.h"
#include "solver/residual.h"
#include "solver/solution.h"

/* --- writing ----------------------------------------------------------------------- */

static void put_pins (const struct dt_solution *s, struct dt_canon *c)
{
    size_t i;

    dt_canon_key (c, "pins");
    dt_canon_list (c);
    for (i = 0; i < s->n_pins; i++) {
        const struct dt_solution_pin *p = &s->pin[i];

        dt_canon_map (c);
        dt_canon_kint (c, "exact", p->exact);
        dt_canon_kstr (c, "expression", p->expression);
        dt_canon_kint (c, "node", p->node);
        dt_canon_kstr (c, "path", p->path);
        dt_canon_kstr (c, "where", p->where);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_points (const struct dt_solution *s, struct dt_canon *c)
{
    size_t i;

    dt_canon_key (c, "points");
    dt_canon_list (c);
    for (i = 0; i < s->n_points; i++) {
        const struct dt_solution_point *p = &s->point[i];

        dt_canon_map (c);
        dt_canon_kint (c, "batch", p->batch);
        dt_canon_kint (c, "claim", p->by_claim);
        dt_canon_kint (c, "free", p->is_free);
        dt_canon_kint (c, "own", p->own);
        dt_canon_kstr (c, "where", p->where);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static const void *text_key (const void *ctx, uint32_t i, size_t *ret_len)
{
    const char *const *text = ctx;

    *ret_len = strlen (text[i]);
    return text[i];
}

/* Each text once, and which assignment has which. */
static void put_why (const struct dt_solution *s, struct dt_canon *c)
{
    const char **text = dt_calloc (s->n_assignments, sizeof *text);
    struct dt_table index = { 0 };
    struct dt_buf b = { 0 };
    uint32_t n = 0, k;
    size_t i;

    dt_canon_key (c, "why");
    dt_canon_list (c);
    c->buf.failed |= !text;
    for (i = 0; text && i < s->n_assignments; i++) {
        size_t len = s->why[i] ? strlen (s->why[i]) : 0;

        k = s->why[i] ? dt_table_get (&index, s->why[i], len, text_key, text) : UINT32_MAX;
        if (s->why[i] && k == DT_TABLE_NONE) {
            c->buf.failed |= dt_table_put (&index, s->why[i], len, n) < 0;
            text[k = n++] = s->why[i];
            dt_canon_str (c, s->why[i]);
        }
        dt_buf_u32 (&b, k);
    }
    dt_canon_end (c);
    c->buf.failed |= b.failed;
    dt_canon_kbytes (c, "why_index", b.data, b.failed ? 0 : b.len);
    dt_table_done (&index);
    dt_buf_done (&b);
    dt_free (text);
}

void dt_solution_encode (const struct dt_solution *s, struct dt_canon *c)
{
    const int64_t values[] = { s->n_specialised, s->n_simplified, s->n_residual };

    dt_canon_map (c);
    dt_canon_kstr (c, "excluded", s->excluded);
    put_pins (s, c);
    dt_canon_kbytes (c, "pins_blob", s->pins.data, s->pins.len);
    put_points (s, c);
    dt_canon_kbytes (c, "proof", s->proof.data, s->proof.len);
    dt_canon_key (c, "residual");
    dt_residual_encode (s->residual, c); /* a failure sticks in c */
    dt_canon_kstr (c, "site", s->site);
    dt_canon_kbytes (c, "stock", s->stock.data, s->stock.len);
    dt_canon_kwords (c, "values", values, DT_ARRAY_SIZE (values));
    dt_canon_kbytes (c, "verdicts", s->verdict, s->n_assignments);
    dt_canon_kint (c, "version", DT_SOLVER_VERSION);
    put_why (s, c);
    dt_canon_end (c);
}

/* --- reading ----------------------------------------------------------------------- */

static void get_pins (struct dt_read *r, struct dt_canon_value v, struct dt_solution *s)
{
    struct dt_canon_value list = dt_read_list (r, v, "pins"), item;
    struct dt_canon_iter it = { 0 };
    size_t i;

    s->n_pins = s->residual->n_pins;
    r->bad |= dt_canon_count (list) != s->n_pins;
    if (!(s->pin = dt_arena_array (r->arena, s->n_pins, sizeof *s->pin)))
        r->nomem = 1;
    for (i = 0; !r->bad && !r->nomem && dt_canon_next (list, &it, NULL, NULL, &item); i++) {
        struct dt_solution_pin *p = &s->pin[i];

        dt_read_map (r, item, 5);
        p->name = s->residual->pin[i].name;
        p->type = s->residual->pin[i].type;
        p->candidate = s->residual->pin[i].value;
        p->n_candidates = s->residual->pin[i].n_values;
        p->exact = (uint8_t)dt_read_int (r, item, "exact", 0, 1);
        p->expression = dt_read_str (r, item, "expression");
        p->node = (uint32_t)dt_read_int (r, item, "node", 0, DT_GRAPH_MAX_NODES - 1);
        p->path = dt_read_str (r, item, "path");
        p->where = dt_read_str (r, item, "where");
    }
}

static void get_points (struct dt_read *r, struct dt_canon_value v, struct dt_solution *s)
{
    struct dt_canon_value list = dt_read_list (r, v, "points"), item;
    struct dt_canon_iter it = { 0 };
    size_t i;

    s->n_points = s->residual->n_points;
    r->bad |= dt_canon_count (list) != s->n_points;
    if (!(s->point = dt_arena_array (r->arena, s->n_points, sizeof *s->point)))
        r->nomem = 1;
    for (i = 0; !r->bad && !r->nomem && dt_canon_next (list, &it, NULL, NULL, &item); i++) {
        struct dt_solution_point *p = &s->point[i];

        dt_read_map (r, item, 5);
        p->field = s->residual->point[i].field;
        p->type = s->residual->point[i].type;
        p->batch = (uint8_t)dt_read_int (r, item, "batch", 0, 1);
        p->by_claim = (uint8_t)dt_read_int (r, item, "claim", 0, 1);
        p->is_free = (uint8_t)dt_read_int (r, item, "free", 0, 1);
        p->own = (uint8_t)dt_read_int (r, item, "own", 0, 1);
        p->where = dt_read_str (r, item, "where");
    }
}

static void get_why (struct dt_read *r, struct dt_canon_value v, struct dt_solution *s)
{
    struct dt_canon_value list = dt_read_list (r, v, "why"), item;
    struct dt_canon_iter it = { 0 };
    struct dt_reader in;
    size_t i, len, n = dt_canon_count (list);
    const uint8_t *p = dt_read_bytes (r, v, "why_index", &len);
    const char **text = dt_arena_array (r->arena, n, sizeof *text);

    s->why = dt_arena_array (r->arena, s->n_assignments, sizeof *s->why);
    r->nomem |= !text || !s->why;
    r->bad |= len != 4 * s->n_assignments;
    for (i = 0; !r->nomem && dt_canon_next (list, &it, NULL, NULL, &item); i++)
        text[i] = dt_read_text (r, item);
    dt_reader_init (&in, p, len);
    for (i = 0; !r->bad && !r->nomem && i < s->n_assignments; i++) {
        uint32_t k = dt_reader_u32 (&in);

        r->bad |= (k == UINT32_MAX) != (s->verdict[i] != DT_ILLEGAL)
                  || (k != UINT32_MAX && k >= n);
        s->why[i] = r->bad || k == UINT32_MAX ? NULL : text[k];
    }
}

static void get_verdicts (struct dt_read *r, struct dt_canon_value v, struct dt_solution *s)
{
    size_t i, len;
    const uint8_t *p = dt_read_bytes (r, v, "verdicts", &len);

    if (dt_solution_count (s, NULL) < 0 || len != s->n_assignments) {
        r->bad = 1;
        return;
    }
    if (!(s->verdict = dt_arena_array (r->arena, len, 1))) {
        r->nomem = 1;
        return;
    }
    for (i = 0; i < len; i++) {
        r->bad |= p[i] > DT_SAMPLED;
        s->verdict[i] = p[i];
    }
    get_why (r, v, s);
}

/* A blob that loads, of `variant`, with `outputs` outputs. */
static void get_blob (struct dt_read *r, struct dt_canon_value v, const char *key,
                      const char *variant, size_t outputs, struct dt_buf *ret)
{
    size_t len;
    const uint8_t *p = dt_read_bytes (r, v, key, &len);
    struct dt_vm *vm;
    int x;

    if (r->bad || r->nomem)
        return;
    if ((x = dt_vm_load (p, len, &vm, NULL)) < 0) {
        *(x == -ENOMEM ? &r->nomem : &r->bad) = 1;
        return;
    }
    r->bad |= strcmp (dt_vm_variant (vm), variant) != 0 || dt_vm_outputs (vm) != outputs;
    dt_vm_free (vm);
    dt_buf_put (ret, p, len);
    r->nomem |= ret->failed;
}

static int read_all (struct dt_read *r, struct dt_canon_value v, struct dt_solution *s)
{
    const char *excluded;
    const uint8_t *proof;
    int64_t *values;
    size_t n;

    dt_read_map (r, v, 13);
    excluded = dt_read_str (r, v, "excluded");
    r->bad |= strlen (excluded) >= sizeof s->excluded;
    snprintf (s->excluded, sizeof s->excluded, "%s", excluded);
    s->family = s->residual->family;
    s->site = dt_read_str (r, v, "site");
    values = dt_read_ints (r, v, "values", 3, &n);
    r->bad |= n != 3;
    if (!r->bad) {
        s->n_specialised = (uint32_t)values[0];
        s->n_simplified = (uint32_t)values[1];
        s->n_residual = (uint32_t)values[2];
    }
    get_pins (r, v, s);
    get_points (r, v, s);
    r->nomem |= dt_solution_knobs (s) < 0;
    if (!r->bad && !r->nomem)
        get_verdicts (r, v, s);
    proof = dt_read_bytes (r, v, "proof", &n);
    dt_buf_put (&s->proof, proof, n);
    r->nomem |= s->proof.failed;
    get_blob (r, v, "pins_blob", "pins", s->n_pins, &s->pins);
    get_blob (r, v, "stock", "stock", s->n_points, &s->stock);
    return dt_read_done (r, "solution", NULL);
}

int dt_solution_decode (struct dt_canon_value v, struct dt_solution **ret,
                        struct dt_err *reterr)
{
    struct dt_solution *s;
    struct dt_read rd = { 0 };
    int64_t version;
    int r;

    if (dt_canon_as_int (dt_canon_get (v, "version"), &version) < 0)
        return dt_err_set (reterr, -DT_ECORRUPT, "no solution");
    if (version != DT_SOLVER_VERSION)
        return dt_err_set (reterr, -DT_EVERSION, "a solution of version %lld; this is %d",
                           (long long)version, DT_SOLVER_VERSION);
    if (!(s = dt_calloc (1, sizeof *s)))
        return dt_err_nomem (reterr);
    rd.arena = &s->arena;
    if ((r = dt_residual_decode (dt_canon_get (v, "residual"), &s->residual, reterr)) < 0)
        goto fail;
    if ((r = read_all (&rd, v, s)) < 0) {
        r = dt_read_done (&rd, "solution", reterr);
        goto fail;
    }
    *ret = s;
    return 0;
fail:
    dt_solution_free (s);
    return r;
}
