/* solver/deployment.h - a deployment's facts, as YAML.
 * Uses: base/, selir/program.h, solver/yaml.h.  Used by: solver, tuner, detentd,
 * detentctl.
 *
 *   version: 1
 *   name: host-small                  # [a-z0-9][a-z0-9._-]{0,62}
 *   model: small-mqa                  # text
 *   engine: {name: detent-ref, build: "1"}
 *   backend: host
 *   parallelism: {tp: 1}
 *   limits: {max_batch: 32, max_context: 16384, max_query: 512, token_budget: 512}
 *   graph_buckets: [1, 2, 4, 8]       # batch sizes that CUDA graphs are captured for
 *   sites:
 *     - family: attention
 *       site: decoder                 # same alphabet as name
 *       program: attention.py         # file beside the deployment or installed
 *       calls_per_step: 4
 *       facts: {head_dim: 64, q_heads: 8, ...}
 *   claims:
 *     - {family: attention, field: tile_m, reason: "...", source: "..."}
 *
 *   outside:                          # of selection: what Detent does not pin
 *     - {what: "fp8 activation scale", reason: "one scale for the whole batch"}
 *
 * parallelism, graph_buckets (which ascend), claims and outside may be left out.  Facts of a site are `limits` and
 * `facts` together; a name in both is refused.  Limits may hold more than a site
 * asks for; a fact must be asked for by the program's Facts record or by the
 * backend's family (dt_site_check).  Keys are strict: unknown (with a
 * suggestion) or repeated ones (both lines named) are refused, and so is what
 * solver/yaml.h lists.  Plain true/false are bools, plain decimal integers are
 * ints; all else is text.  Text where a number or bool is meant, and the reverse,
 * is refused: 1.10, 0x1F, 1e3, no and yes are texts. */
#ifndef DT_SOLVER_DEPLOYMENT_H
#define DT_SOLVER_DEPLOYMENT_H

#include "base/digest.h"
#include "selir/program.h"

struct dt_claim {
    const char *family, *field, *reason, *source;
};
struct dt_outside {
    const char *what, *reason;
};
struct dt_site {
    const char *family, *site, *program;
    int64_t calls_per_step;
    struct dt_fact *fact; /* [n_facts] the limits, then the site's own facts,
                             each in the file's order */
    size_t n_facts, n_limits;
};
struct dt_deployment {
    struct dt_arena arena;
    const char *name, *model, *engine, *engine_build, *backend;
    struct dt_fact *parallelism; /* ints */
    size_t n_parallelism;
    struct dt_fact *limit;
    size_t n_limits;
    int64_t *graph_bucket; /* [n_graph_buckets] ascending */
    size_t n_graph_buckets;
    struct dt_site *site;
    size_t n_sites;
    struct dt_claim *claim;
    size_t n_claims;
    struct dt_outside *outside;
    size_t n_outside;
};

/* `data` may be released afterwards; `file` is used in messages only.
 *   -DT_EINPUT  "FILE:LINE:COLUMN: ..."
 *   -DT_ELIMIT  a limit of solver/yaml.h      -ENOMEM */
int dt_deployment_parse (const char *file, const void *data, size_t n,
                         struct dt_deployment **ret, struct dt_err *reterr);
struct dt_deployment *dt_deployment_free (struct dt_deployment *d);
/* A fact of a site by name, NULL if it is not given. */
const struct dt_fact *dt_site_fact (const struct dt_site *s, const char *name);
/* Is it what a person calls `name`: the site's name, or FAMILY/SITE? */
int dt_site_is_called (const char *family, const char *site, const char *name);
/* Index of a site by family and name, or -1. */
int64_t dt_deployment_find (const struct dt_deployment *d, const char *family, const char *site);

#endif
