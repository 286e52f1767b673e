/* detentd/forced.c - pins and knobs that the operator sets for a tune. */
#include "detentd/forced.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "detentd/ask.h"
#include "detentd/describe.h"

#define MAX_WORD 256 /* bytes */

/* A word of one line: it comes back in errors and in what a job says of itself. */
static int check_word (const char *what, const char *value, struct dt_err *reterr)
{
    int r = dt_check_text (what, value, MAX_WORD, reterr);

    if (r == 0 && strpbrk (value, "\t\n"))
        r = dt_err_set (reterr, -DT_EINPUT, "%s has a control character", what);
    return r;
}

static int check_words (const Detent__Forced *m, struct dt_err *reterr)
{
    int r;

    if ((r = check_word ("a forced value's site", m->site, reterr)) < 0
        || (r = check_word ("a forced value's name", m->name, reterr)) < 0)
        return r;
    return check_word ("a forced value", m->value, reterr);
}

int dt_forced_take (struct dt_job *j, Detent__Forced *const *force, size_t n,
                    struct dt_err *reterr)
{
    if (n > DT_JOB_MAX_FORCE)
        return dt_err_set (reterr, -DT_ELIMIT, "%zu values are forced; at most %d may be",
                           n, DT_JOB_MAX_FORCE);
    if (n && !(j->force = dt_calloc (n, sizeof *j->force)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++) {
        const Detent__Forced *m = force[i];
        struct dt_job_force *f = &j->force[i];
        int r = check_words (m, reterr);

        if (r < 0)
            return r;
        for (size_t k = 0; k < i; k++)
            if (!strcmp (j->force[k].site, m->site) && !strcmp (j->force[k].name, m->name))
                return dt_err_set (reterr, -DT_EINPUT, "%.64s:%.64s is forced twice", m->site,
                                   m->name);
        j->n_force++;
        if (!(f->site = dt_strdup (m->site)) || !(f->name = dt_strdup (m->name))
            || !(f->value = dt_strdup (m->value)))
            return dt_err_nomem (reterr);
    }
    return 0;
}

/* Is `name` this one: the whole, or what follows its last dot? */
static int is_name (const char *whole, const char *name)
{
    const char *dot = strrchr (whole, '.');

    return !strcmp (whole, name) || (dot && !strcmp (dot + 1, name));
}

/* Index among pins, then knobs. */
static int find_name (const struct dt_solution *s, const struct dt_job_force *f, size_t *ret,
                      struct dt_err *reterr)
{
    size_t found = 0;

    for (size_t i = 0; i < s->n_pins + s->n_knobs; i++)
        if (is_name (i < s->n_pins ? s->pin[i].name : s->knob[i - s->n_pins].name, f->name)) {
            *ret = i;
            found++;
        }
    if (found == 1)
        return 0;
    return dt_err_set (reterr, -DT_EINPUT, "%s/%s: %s '%.64s' (detentctl pins shows all)",
                       s->family, s->site, found ? "more than one pin or knob is named"
                                                 : "no pin or knob is named", f->name);
}

static int apply_one (const struct dt_job_force *f, struct dt_arena *scratch,
                      const struct dt_solution *s, uint8_t *allowed, struct dt_err *reterr)
{
    int64_t *v = dt_arena_array (scratch, s->n_pins + s->n_knobs, sizeof *v);
    size_t at = 0, left = 0;
    int r;

    if (!v)
        return dt_err_nomem (reterr);
    if ((r = find_name (s, f, &at, reterr)) < 0)
        return r;
    for (size_t i = 0; i < s->n_assignments; i++) {
        if (!allowed[i] || s->verdict[i] == DT_ILLEGAL)
            continue;
        dt_solution_assignment (s, i, v, v + s->n_pins);
        if ((r = dt_describe_is_value (s, at, v[at], f->value)) < 0)
            return dt_err_nomem (reterr);
        allowed[i] = (uint8_t)r;
        left += r != 0;
    }
    return left ? 0 : dt_err_set (reterr, -DT_EILLEGAL, "%s/%s: no legal assignment has %s=%.64s, "
                                  "which was forced", s->family, s->site, f->name, f->value);
}

int dt_forced_apply (const struct dt_job *j, struct dt_arena *scratch,
                     const struct dt_solution *s, uint8_t *allowed, struct dt_err *reterr)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < j->n_force; i++)
        if (dt_site_is_called (s->family, s->site, j->force[i].site))
            r = apply_one (&j->force[i], scratch, s, allowed, reterr);
    return r;
}

/* One that the job looks at: certify may leave sites out. */
static int is_site (const struct dt_job *j, const struct dt_site *site, const char *name)
{
    return dt_site_is_called (site->family, site->site, name) && (!j->site || !strcmp (j->site, site->site))
           && (!j->family || !strcmp (j->family, site->family));
}

int dt_forced_check (const struct dt_job *j, const struct dt_deployment *d, struct dt_err *reterr)
{
    for (size_t i = 0; i < j->n_force; i++) {
        size_t k;

        for (k = 0; k < d->n_sites && !is_site (j, &d->site[k], j->force[i].site); k++)
            ;
        if (k == d->n_sites)
            return dt_err_set (reterr, -DT_ENOTFOUND, "%.64s:%.64s is forced, and deployment '%s' "
                               "has no such site%s", j->force[i].site, j->force[i].name, d->name,
                               j->site || j->family ? " among those asked for" : "");
    }
    return 0;
}

int dt_forced_describe (const struct dt_job *j, struct dt_arena *a, Detent__SiteResult *ret)
{
    if (!(ret->forced = dt_arena_array (a, j->n_force, sizeof *ret->forced)))
        return -ENOMEM;
    for (size_t i = 0; i < j->n_force; i++)
        if (dt_site_is_called (ret->family, ret->site, j->force[i].site)
            && !(ret->forced[ret->n_forced++] =
                     dt_arena_strf (a, "%s=%s", j->force[i].name, j->force[i].value)))
            return -ENOMEM;
    return 0;
}
