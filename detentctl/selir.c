/* detentctl/selir.c - a program file and the facts given for it, without a daemon. */
#include "detentctl/selir.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "detentctl/settings.h"

void dt_selir_done (struct dt_selir *s)
{
    dt_graph_free (s->graph);
    dt_program_free (s->program);
    dt_collected_done (&s->file);
    memset (s, 0, sizeof *s);
}

static int parse (const struct dt_collected *k, struct dt_program **ret, struct dt_err *reterr)
{
    struct dt_source source[DT_SOURCE_MAX_FILES];

    for (size_t i = 0; i < k->n_files; i++)
        source[i] = (struct dt_source){ k->file[i].name, (const char *)k->file[i].data.data,
                                        k->file[i].data.len };
    return dt_program_parse (source, k->n_files, ret, reterr);
}

int dt_selir_open (const char *path, struct dt_selir *ret, struct dt_err *reterr)
{
    struct dt_selir s = { 0 };
    int r;

    memset (ret, 0, sizeof *ret);
    if ((r = dt_collect_program (path, &s.file, reterr)) < 0)
        return r;
    r = parse (&s.file, &s.program, reterr);
    if (r < 0)
        dt_selir_done (&s);
    else
        *ret = s;
    return r;
}

/* --- facts ------------------------------------------------------------------------- */

static int asks (const struct dt_program *p, const char *name)
{
    size_t i = 0, n = dt_program_facts (p);

    while (i < n && strcmp (dt_program_fact (p, i), name))
        i++;
    return i < n;
}

/* The site that --site names, or the only one of the program. */
static int choose_site (const struct dt_ctl *c, const struct dt_selir *s,
                        const struct dt_deployment *d, const struct dt_site **ret,
                        struct dt_err *reterr)
{
    const char *name = dt_ctl_value (c, "site"), *program = s->file.file[0].name;
    const struct dt_site *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < d->n_sites; i++) {
        if (name ? !dt_site_is_called (d->site[i].family, d->site[i].site, name) : strcmp (d->site[i].program, program) != 0)
            continue;
        found = &d->site[i];
        n++;
    }
    if (n == 0 && name)
        return dt_err_set (reterr, -DT_ENOTFOUND, "deployment %s has no site '%s'", d->name, name);
    if (n != 1)
        return dt_err_set (reterr, -DT_EUSAGE,
                           name ? "deployment %s has %zu sites '%s': --site FAMILY/SITE"
                                : "deployment %s has %zu sites that run %s: --site SITE",
                           d->name, n, name ? name : program);
    *ret = found;
    return 0;
}

static struct dt_fact given (const struct dt_setting *s)
{
    struct dt_fact f = { .name = s->name, .kind = DT_FACT_STR, .s = s->value };

    if (dt_setting_int (s->value, &f.i))
        f.kind = DT_FACT_INT;
    else if (dt_setting_bool (s->value, &f.i))
        f.kind = DT_FACT_BOOL;
    else if (dt_setting_float (s->value, &f.d))
        f.kind = DT_FACT_FLOAT;
    return f;
}

/* With the data files that facts name, which parsing the program did not know. */
static int add_data (struct dt_selir *s, const char *beside, const struct dt_fact *fact, size_t n,
                     struct dt_err *reterr)
{
    size_t before = s->file.n_files;
    struct dt_program *p;
    int r;

    for (size_t i = 0; i < n; i++)
        if ((r = dt_collect_data (&s->file, beside, s->file.file[0].folder, "the facts", &fact[i],
                                  reterr)) < 0)
            return r;
    if (s->file.n_files == before)
        return 0;
    if ((r = parse (&s->file, &p, reterr)) < 0)
        return r;
    dt_program_free (s->program);
    s->program = p;
    return 0;
}

/* Those of --facts, then those of the site that the program asks for and --facts
 * does not give. */
static int specialise (struct dt_selir *s, const struct dt_settings *own, const char *beside,
                       const struct dt_site *site, struct dt_err *reterr)
{
    struct dt_fact *fact = dt_calloc (own->n + (site ? site->n_facts : 0), sizeof *fact);
    size_t n = 0;
    int r;

    if (!fact)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < own->n; i++)
        fact[n++] = given (&own->setting[i]);
    for (size_t i = 0; site && i < site->n_facts; i++)
        if (asks (s->program, site->fact[i].name) && !dt_settings_get (own, site->fact[i].name))
            fact[n++] = site->fact[i];
    if ((r = add_data (s, beside, fact, n, reterr)) == 0)
        r = dt_program_specialise (s->program, fact, n, &s->graph, reterr);
    dt_free (fact);
    return r;
}

static int load_deployment (const char *path, struct dt_deployment **ret, struct dt_err *reterr)
{
    struct dt_buf b = { 0 };
    int r;

    if ((r = dt_file_read (path, DT_DEPLOYMENT_MAX_BYTES, &b, reterr)) == 0)
        r = dt_deployment_parse (path, b.data, b.len, ret, reterr);
    dt_buf_done (&b);
    return r;
}

int dt_selir_specialise (const struct dt_ctl *c, struct dt_selir *s, struct dt_err *reterr)
{
    const char *path = dt_ctl_value (c, "deployment");
    const struct dt_site *site = NULL;
    struct dt_deployment *d = NULL;
    char *beside = dt_collect_folder (path ? path : c->arg[0]);
    struct dt_settings own = { 0 };
    int r;

    if (!beside)
        return dt_err_nomem (reterr);
    if (dt_ctl_flag (c, "site") && !path)
        r = dt_err_set (reterr, -DT_EUSAGE, "--site goes with --deployment FILE");
    else
        r = dt_settings_parse (c, "facts", &own, reterr);
    if (r < 0)
        goto fail;
    if (path && ((r = load_deployment (path, &d, reterr)) < 0
                 || (r = choose_site (c, s, d, &site, reterr)) < 0))
        goto fail;
    r = specialise (s, &own, beside, site, reterr);
fail:
    dt_deployment_free (d);
    dt_settings_done (&own);
    dt_free (beside);
    return r;
}

int dt_selir_has_facts (const struct dt_ctl *c, const struct dt_selir *s)
{
    return dt_ctl_flag (c, "facts") || dt_ctl_flag (c, "deployment")
           || dt_program_facts (s->program) == 0;
}
