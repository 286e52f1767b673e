/* solver/site.h - a deployment's site, solved from its program's text.
 * Uses: solver/deployment.h, solver/solve.h, selir/program.h.  Used by: detentd,
 * detentctl. */
#ifndef DT_SOLVER_SITE_H
#define DT_SOLVER_SITE_H

#include "solver/deployment.h"
#include "solver/solve.h"

struct dt_family; /* solver/family.h */

/* May a program of `family` read an input of this name and class? */
typedef int (*dt_site_input_f) (const char *family, const char *name, int own,
                                struct dt_err *reterr);

struct dt_site_options {
    int strict, no_free;         /* as in dt_solve_options                       */
    unsigned n_threads;          /* likewise; no part of the key                 */
    const struct dt_family *family; /* what the backend says of the site's family: part
                                    of the key, and checked (dt_family_check_solve).
                                    NULL: no schema is known (no backend is there, or it
                                    has no such family); the key then says so         */
    const struct dt_digest *text; /* [n_sources] dt_solve_text of each, so that a key need
                                    not read them again; NULL: found here        */
    dt_site_input_f input;       /* NULL: any.  No part of the key: what is refused
                                    has no solution to keep                      */
};

/* Refuse facts of a site that neither the program's Facts record nor the backend's
 * family (its fact names, asked[n_asked]) asks for.  Limits may hold more.
 *   -DT_EINPUT, with a suggestion */
int dt_site_check (const struct dt_site *site, const struct dt_program *p,
                   const char *const *asked, size_t n_asked, struct dt_err *reterr);

/* Specialise a program to those of a site's facts that its Facts record names.
 *   -DT_EINPUT  the program is of another family, or as dt_program_specialise */
int dt_site_specialise (const struct dt_site *site, const struct dt_program *p,
                        struct dt_graph **ret, struct dt_err *reterr);

/* Refuse a specialised program that reads what is not known of its family's calls
 * (`input`), or does not return a field that the deployment claims.
 *   -DT_EINPUT, with a suggestion */
int dt_site_check_graph (const struct dt_deployment *d, size_t site, const struct dt_graph *g,
                         dt_site_input_f input, struct dt_err *reterr);

/* The question of a site's solve (dt_solve_digest).  `source` holds the site's program and all that it
 * imports, in any order; a source that is not imported only costs a miss.
 *   -DT_ENOTFOUND  the program is not among the sources */
int dt_site_key (const struct dt_deployment *d, size_t site, const struct dt_source *source,
                 size_t n_sources, const struct dt_site_options *options,
                 struct dt_digest *ret, struct dt_err *reterr);

/* Parse, specialise, check and solve.  *ret_key (may be NULL) is dt_site_key's. */
int dt_site_solve (const struct dt_deployment *d, size_t site, const struct dt_source *source,
                   size_t n_sources, const struct dt_site_options *options,
                   struct dt_solution **ret, struct dt_digest *ret_key, struct dt_err *reterr);

#endif
