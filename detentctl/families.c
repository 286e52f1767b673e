/* detentctl/families.c - what a solve found, family by family. */
#include "detentctl/families.h"

#include <string.h>

#include "detentctl/print.h"

static json_t *pins_json (const struct dt_solution *s)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_pins; i++)
        dt_json_append (a, dt_json_text (s->pin[i].name));
    return a;
}

static json_t *knobs_json (const struct dt_solution *s)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_knobs; i++)
        dt_json_append (a, dt_json_text (s->knob[i].name));
    return a;
}

static void set_points (json_t *o, const struct dt_solution *s)
{
    size_t batch = 0, free = 0;

    for (size_t i = 0; i < s->n_points; i++) {
        batch += s->point[i].batch && !s->point[i].is_free;
        free += s->point[i].is_free != 0;
    }
    dt_json_set (o, "batch_dependent", dt_json_u64 (batch));
    dt_json_set (o, "free", dt_json_u64 (free));
    dt_json_set (o, "selection_points", dt_json_u64 (s->n_points));
}

static void set_verdicts (json_t *o, const struct dt_solution *s)
{
    uint64_t n[DT_SAMPLED + 1] = { 0 };

    for (size_t i = 0; i < s->n_assignments; i++)
        n[s->verdict[i]]++;
    dt_json_set (o, "candidates", dt_json_u64 (s->n_assignments));
    dt_json_set (o, "exhausted", dt_json_u64 (n[DT_EXHAUSTED]));
    dt_json_set (o, "illegal", dt_json_u64 (n[DT_ILLEGAL]));
    dt_json_set (o, "legal", dt_json_u64 (n[DT_PROVED] + n[DT_EXHAUSTED] + n[DT_SAMPLED]));
    dt_json_set (o, "proved", dt_json_u64 (n[DT_PROVED]));
    dt_json_set (o, "sampled", dt_json_u64 (n[DT_SAMPLED]));
}

static json_t *counts_json (const struct dt_solution *s)
{
    json_t *o = dt_json_object ();

    set_verdicts (o, s);
    set_points (o, s);
    dt_json_set (o, "knobs", knobs_json (s));
    dt_json_set (o, "pins", pins_json (s));
    dt_json_set (o, "site", dt_json_text (s->site));
    return o;
}

static size_t sites_of (const struct dt_solved *v, const char *family)
{
    size_t n = 0;

    for (size_t i = 0; i < v->n_sites; i++)
        n += strcmp (v->site[i].solution->family, family) == 0;
    return n;
}

/* The object that the sites of a family are in; made at its first. */
static json_t *sites_object (json_t *families, const char *family)
{
    json_t *o = json_object_get (families, family), *sites;

    if (o)
        return json_object_get (o, "sites");
    o = dt_json_object ();
    sites = dt_json_object ();
    dt_json_set (o, "sites", sites);
    dt_json_set (families, family, o);
    return sites;
}

json_t *dt_families_json (const struct dt_solved *v)
{
    json_t *families = dt_json_object ();

    for (size_t i = 0; i < v->n_sites; i++) {
        const struct dt_solution *s = v->site[i].solution;

        if (sites_of (v, s->family) == 1)
            dt_json_set (families, s->family, counts_json (s));
        else
            dt_json_set (sites_object (families, s->family), s->site, counts_json (s));
    }
    return families;
}
