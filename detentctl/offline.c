/* detentctl/offline.c - solve in this process, and say it as detentd would. */
#include "detentctl/offline.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "solver/site.h"

#define MAX_COUNTEREXAMPLES 8

/* --- values as text ------------------------------------------------------------ */

static char *value_text (struct dt_arena *a, const struct dt_solution *s, uint8_t type, int64_t v)
{
    if (type == DT_TYPE_BOOL)
        return dt_arena_strf (a, "%s", v ? "true" : "false");
    if (type == DT_TYPE_ENUM && v >= 0 && v < (int64_t)s->residual->n_enums)
        return dt_arena_strf (a, "%s", s->residual->enum_text[v]);
    return dt_arena_strf (a, "%" PRId64, v);
}

static char **value_texts (struct dt_arena *a, const struct dt_solution *s, uint8_t type,
                           const int64_t *value, size_t n)
{
    char **text = dt_arena_array (a, n, sizeof *text);

    for (size_t i = 0; text && i < n; i++)
        if (!(text[i] = value_text (a, s, type, value[i])))
            return NULL;
    return text;
}

/* --- a solution as a message: each part returns 0, or -1 out of memory ----------- */

static int add_points (struct dt_arena *a, const struct dt_solution *s, Detent__SiteSolution *m)
{
    Detent__Point *p = dt_arena_array (a, s->n_points, sizeof *p);

    m->point = dt_arena_array (a, s->n_points, sizeof *m->point);
    if (!p || !m->point)
        return -1;
    for (size_t i = 0; i < s->n_points; i++) {
        detent__point__init (&p[i]);
        p[i].field = (char *)s->point[i].field;
        p[i].where = (char *)s->point[i].where;
        p[i].free = s->point[i].is_free;
        p[i].by_claim = s->point[i].by_claim;
        p[i].batch = s->point[i].batch;
        p[i].own = s->point[i].own;
        m->point[m->n_point++] = &p[i];
    }
    return 0;
}

static int add_pins (struct dt_arena *a, const struct dt_solution *s, Detent__SiteSolution *m)
{
    Detent__Pin *p = dt_arena_array (a, s->n_pins, sizeof *p);

    m->pin = dt_arena_array (a, s->n_pins, sizeof *m->pin);
    if (!p || !m->pin)
        return -1;
    for (size_t i = 0; i < s->n_pins; i++) {
        const struct dt_solution_pin *from = &s->pin[i];

        detent__pin__init (&p[i]);
        p[i].name = (char *)from->name;
        p[i].where = (char *)from->where;
        p[i].expression = (char *)from->expression;
        p[i].path = (char *)from->path;
        p[i].exact = from->exact;
        p[i].n_candidate = from->n_candidates;
        if (!(p[i].candidate
              = value_texts (a, s, from->type, from->candidate, from->n_candidates)))
            return -1;
        m->pin[m->n_pin++] = &p[i];
    }
    return 0;
}

static int add_knobs (struct dt_arena *a, const struct dt_solution *s, Detent__SiteSolution *m)
{
    Detent__Knob *k = dt_arena_array (a, s->n_knobs, sizeof *k);

    m->knob = dt_arena_array (a, s->n_knobs, sizeof *m->knob);
    if (!k || !m->knob)
        return -1;
    for (size_t i = 0; i < s->n_knobs; i++) {
        const struct dt_solution_knob *from = &s->knob[i];

        detent__knob__init (&k[i]);
        k[i].name = (char *)from->name;
        k[i].live = from->live;
        k[i].n_value = from->n_values;
        k[i].value = value_texts (a, s, from->type, from->value, from->n_values);
        k[i].initial = value_text (a, s, from->type, from->value[from->initial]);
        if (!k[i].value || !k[i].initial)
            return -1;
        m->knob[m->n_knob++] = &k[i];
    }
    return 0;
}

/* "block_n=64 waves=2: why". */
static char *counterexample (struct dt_arena *a, const struct dt_solution *s, size_t i)
{
    int64_t *v = dt_arena_array (a, s->n_pins + s->n_knobs, sizeof *v);
    char *text = dt_arena_strf (a, "%s", "");

    if (!v)
        return NULL;
    dt_solution_assignment (s, i, v, v + s->n_pins);
    for (size_t k = 0; text && k < s->n_pins + s->n_knobs; k++) {
        const struct dt_solution_knob *knob = k < s->n_pins ? NULL : &s->knob[k - s->n_pins];
        uint8_t type = knob ? knob->type : s->pin[k].type;
        char *value = value_text (a, s, type, v[k]);

        if (value && (!knob || knob->live))
            text = dt_arena_strf (a, "%s%s%s=%s", text, *text ? " " : "",
                                  knob ? knob->name : s->pin[k].name, value);
    }
    return text ? dt_arena_strf (a, "%s: %s", text, s->why[i]) : NULL;
}

static int add_verdicts (struct dt_arena *a, const struct dt_solution *s, Detent__SiteSolution *m)
{
    uint64_t *count[] = { [DT_ILLEGAL] = &m->illegal, [DT_PROVED] = &m->proved,
                          [DT_EXHAUSTED] = &m->exhausted, [DT_SAMPLED] = &m->sampled };

    m->assignments = s->n_assignments;
    if (!(m->why_illegal = dt_arena_array (a, MAX_COUNTEREXAMPLES, sizeof *m->why_illegal)))
        return -1;
    for (size_t i = 0; i < s->n_assignments; i++) {
        ++*count[s->verdict[i]];
        if (s->why[i] && m->n_why_illegal < MAX_COUNTEREXAMPLES) {
            if (!(m->why_illegal[m->n_why_illegal] = counterexample (a, s, i)))
                return -1;
            m->n_why_illegal++;
        }
    }
    return 0;
}

static int add_site (struct dt_offline *o, const struct dt_solution *s,
                     const struct dt_digest *key, uint64_t solve_us)
{
    struct dt_arena *a = &o->arena;
    Detent__SiteSolution *m = dt_arena_alloc (a, sizeof *m);
    uint8_t *bytes = dt_arena_alloc (a, DT_DIGEST_BYTES);

    if (!m || !bytes)
        return -1;
    detent__site_solution__init (m);
    memcpy (bytes, key->bytes, DT_DIGEST_BYTES);
    m->family = (char *)s->family;
    m->site = (char *)s->site;
    m->key = (ProtobufCBinaryData){ DT_DIGEST_BYTES, bytes };
    m->solve_us = solve_us;
    m->specialised = s->n_specialised;
    m->simplified = s->n_simplified;
    m->residual = s->n_residual;
    m->excluded = (char *)s->excluded;
    o->reply.site[o->reply.n_site++] = m;
    return add_points (a, s, m) || add_pins (a, s, m) || add_knobs (a, s, m)
           || add_verdicts (a, s, m)
               ? -1
               : 0;
}

/* --- solving --------------------------------------------------------------------- */

static int solve_site (struct dt_offline *o, const struct dt_collected *k, size_t i,
                       const struct dt_site_options *options, struct dt_err *reterr)
{
    struct dt_source source[DT_SOURCE_MAX_FILES];
    size_t n = dt_collected_sources (k, &k->deployment->site[i], source);
    uint64_t start_ns = dt_time_raw_ns ();
    struct dt_digest key;
    struct dt_solution *s = NULL;
    int r;

    if ((r = dt_site_solve (k->deployment, i, source, n, options, &s, &key, reterr)) < 0)
        return r;
    o->solution[o->n_solutions++] = s;
    if (add_site (o, s, &key, (dt_time_raw_ns () - start_ns) / 1000) < 0)
        return dt_err_nomem (reterr);
    return 0;
}

int dt_offline_solve (const struct dt_collected *k, int strict, int no_free,
                      struct dt_offline *ret, struct dt_err *reterr)
{
    struct dt_site_options options = { .strict = strict, .no_free = no_free };
    size_t n = k->deployment->n_sites;
    struct dt_offline o = { 0 };
    int r;

    detent__solve_reply__init (&o.reply);
    o.reply.deployment = (char *)k->deployment->name;
    o.reply.site = dt_arena_array (&o.arena, n, sizeof *o.reply.site);
    o.solution = dt_arena_array (&o.arena, n, sizeof (struct dt_solution *));
    r = o.reply.site && o.solution ? 0 : dt_err_nomem (reterr);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = solve_site (&o, k, i, &options, reterr);
    if (r < 0)
        dt_offline_done (&o);
    else
        *ret = o;
    return r;
}

void dt_offline_done (struct dt_offline *o)
{
    for (size_t i = 0; i < o->n_solutions; i++)
        dt_solution_free (o->solution[i]);
    dt_arena_done (&o->arena);
}
