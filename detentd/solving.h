/* detentd/solving.h - a deployment that travelled by content, with its programs.
 * Uses: solver/, detentd/store.h.  Used by: req_solve.c, standing.c, tuning.c. */
#ifndef DT_DETENTD_SOLVING_H
#define DT_DETENTD_SOLVING_H

#include "detentd/store.h"
#include "proto/detent.pb-c.h"
#include "solver/deployment.h"
#include "solver/site.h"
#include "solver/solve.h"

/* What stands behind a solution's points: see standing.h. */
struct dt_standing {
    struct dt_digest key;   /* of the JIT cache */
    size_t n_points;
    uint64_t *certified;    /* [n_points] legal assignments with a certificate that holds */
    const char *unjudged;   /* why none can be told to hold here; NULL: they can */
    int cached;
    struct dt_buf data;     /* unless cached: its bytes */
};

struct dt_solved_site {
    struct dt_digest key; /* of the question (dt_solve_digest) */
    struct dt_solution *solution; /* NULL: not decoded (dt_solving_decode) */
    int cached;
    uint64_t solve_us;
    struct dt_buf data; /* the solution's bytes */
    struct dt_standing standing; /* in solves and pins */
};

/* Zero-initialise; dt_solving_done whatever happened. */
struct dt_solving {
    struct dt_arena arena;
    struct dt_deployment *deployment;
    const void *file; /* borrowed, or in the arena */
    size_t n_file;
    struct dt_source *source; /* [n_sources] ascending by name */
    struct dt_digest *text;   /* [n_sources] of their bytes    */
    size_t n_sources;
    struct dt_solved_site *site; /* [deployment->n_sites] */
};
void dt_solving_done (struct dt_solving *v);

/* Check names and sizes, and parse; the message is borrowed until done.
 *   -DT_EINPUT, -DT_ELIMIT */
int dt_solving_take (struct dt_solving *v, const Detent__Deployment *m, struct dt_err *reterr);
/* The deployment's last solve, from the store, with its solutions.
 *   -DT_ENOTFOUND  never solved      -DT_ECORRUPT  solve it again */
int dt_solving_load (struct dt_solving *v, struct dt_store *s, const char *name,
                     struct dt_err *reterr);
/* 1 if the store holds the deployment as it is here: file, programs and sites, under the
 * same keys; or 0.  (That the solutions are there, the caller knows.) */
int dt_solving_is_stored (const struct dt_solving *v, struct dt_store *s, struct dt_err *reterr);
/* A site's solution from the store, by its key: its bytes, as they were put there.
 *   -DT_ENOTFOUND      -DT_ECORRUPT  damaged */
int dt_solving_stored (struct dt_solved_site *site, struct dt_store *s, struct dt_err *reterr);
/* The solution of its bytes, unless it is there.  -DT_ECORRUPT */
int dt_solving_decode (struct dt_solved_site *site, struct dt_err *reterr);
/* dt_program_digest of a site's program.
 *   -DT_EINPUT  its file is not there */
int dt_solving_program (const struct dt_solving *v, const struct dt_site *site,
                        struct dt_digest *ret, struct dt_err *reterr);

#endif
