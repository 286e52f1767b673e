/* bench/solver_ablation.c - what each pass of the simplifier is worth to a deployment's
 * solves: pins, candidates, legal assignments and time with each pass left out, with
 * constant folding alone, and with none.
 * usage: bench/solver-ablation DEPLOYMENT PROGRAMS [FAMILY]
 *   PROGRAMS: the engine's folder; FAMILY: its sites alone */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "bench/sources.h"
#include "selir/simplify.h"
#include "solver/site.h"

static void print (const char *what, const struct dt_solution *s, uint64_t ns)
{
    size_t candidates = 0, legal = 0, dependent = 0;

    for (size_t i = 0; i < s->n_pins; i++)
        candidates += s->pin[i].n_candidates;
    for (size_t i = 0; i < s->n_assignments; i++)
        legal += s->verdict[i] != DT_ILLEGAL;
    for (size_t i = 0; i < s->n_points; i++)
        dependent += s->point[i].batch && !s->point[i].is_free;
    printf ("  %-16s %7u %9zu %5zu %10zu %11zu %8zu %8.1f\n", what, s->n_simplified, dependent,
            s->n_pins, candidates, s->n_assignments, legal, (double)ns / 1e6);
}

static void solve (const struct dt_graph *g, const struct dt_solve_options *like, unsigned without,
                   const char *what)
{
    struct dt_solve_options options = *like;
    struct dt_solution *s = NULL;
    struct dt_err err = { "" };
    uint64_t start = dt_time_raw_ns ();

    options.without = without;
    if (dt_solve (g, &options, &s, &err) < 0)
        printf ("  %-16s %.90s\n", what, err.text);
    else
        print (what, s, dt_time_raw_ns () - start);
    dt_solution_free (s);
}

static void ablate (const struct dt_graph *g, const struct dt_solve_options *options)
{
    char what[32];

    printf ("  %-16s %7s %9s %5s %10s %11s %8s %8s\n", "passes", "values", "dependent", "pins",
            "candidates", "assignments", "legal", "ms");
    solve (g, options, 0, "all");
    for (unsigned bit = 0; bit < DT_PASS_COUNT; bit++) {
        snprintf (what, sizeof what, "without %s", dt_pass_name (bit));
        solve (g, options, 1u << bit, what);
    }
    solve (g, options, DT_PASS_ALL & ~(1u << DT_PASS_BIT_FOLD), "folding alone");
    solve (g, options, DT_PASS_ALL, "none");
}

static void ablate_site (struct bench_sources *b, const struct dt_site *site)
{
    struct dt_solve_options options = { .site = site->site };
    const char **claim = dt_calloc (b->d->n_claims + 1, sizeof *claim);
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };

    if (!claim)
        bench_die ("out of memory");
    for (size_t i = 0; i < b->d->n_claims; i++)
        if (!strcmp (b->d->claim[i].family, site->family))
            claim[options.n_claims++] = b->d->claim[i].field;
    options.claim = claim;
    bench_sources_lead (b, site->program);
    if (dt_program_parse (b->source, b->n_sources, &p, &err) < 0
        || dt_site_specialise (site, p, &g, &err) < 0)
        bench_die (err.text);
    printf ("%s/%s: %u values specialised\n", site->family, site->site, g->n_nodes);
    ablate (g, &options);
    dt_graph_free (g);
    dt_program_free (p);
    dt_free (claim);
}

int main (int argc, char **argv)
{
    static struct bench_sources b;

    if (argc != 3 && argc != 4)
        bench_die ("usage: bench/solver-ablation DEPLOYMENT PROGRAMS [FAMILY]");
    setvbuf (stdout, NULL, _IOLBF, 0); /* a row takes minutes where a pass that is missed does */
    bench_sources_read (&b, argv[1], argv[2]);
    for (size_t i = 0; i < b.d->n_sites; i++)
        if (argc == 3 || !strcmp (argv[3], b.d->site[i].family))
            ablate_site (&b, &b.d->site[i]);
    bench_sources_done (&b);
    return EXIT_SUCCESS;
}
