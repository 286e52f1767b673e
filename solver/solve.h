/* solver/solve.h - from a specialised graph to pins, candidates and verdicts.
 * Uses: selir/, base/.  Used by: tuner, detentd, detentctl.
 *
 * See section 4 of the design.  All functions are pure: equal input gives equal
 * bytes, on every machine. */
#ifndef DT_SOLVER_SOLVE_H
#define DT_SOLVER_SOLVE_H

#include "base/canon.h"
#include "base/digest.h"
#include "selir/program.h"
#include "selir/vm.h"

#define DT_SOLVER_VERSION 6
#define DT_SOLVE_MAX_ASSIGNMENTS (1u << 20)
#define DT_SOLVE_MAX_CANDIDATES (1u << 16) /* of one pin */

struct dt_solve_options {
    const char *site;
    const char *const *claim; /* [n_claims] fields that the deployment claims      */
    size_t n_claims;
    /* A field is free if the program marks it Free (provisionally, until it has a
     * certificate) or the deployment claims it. */
    int strict;   /* claims are binding, also of fields marked Free */
    int no_free;  /* all fields are binding */
    unsigned without; /* passes (bits of selir/simplify.h) to leave out: for benches, never
                         stored */
    unsigned n_threads; /* that judge assignments; 0: one.  The answer is the same */
};

struct dt_solution_point {
    const char *field, *where;
    uint8_t type;
    uint8_t is_free, by_claim; /* is_free: treated as free in this solve         */
    uint8_t batch;  /* a batch-dependent input reaches it in the program         */
    uint8_t own;    /* depends on an Own input                                   */
};
struct dt_solution_pin {
    const char *name, *where, *expression; /* "choose.block_n", "f.py:51:9", source line */
    const char *path;     /* one path that it cuts: "longest_query -> ... -> block_n" */
    uint32_t node;        /* the value of the specialised graph that names it     */
    uint8_t type;
    uint8_t exact;        /* candidates enumerated, else a superset              */
    const int64_t *candidate; /* ascending */
    size_t n_candidates;
};
struct dt_solution_knob {
    const char *name;
    uint8_t type, live;   /* live: the residual graph still reads it             */
    const int64_t *value; /* in the program's order */
    size_t n_values;
    uint32_t initial;
};

enum dt_verdict { DT_ILLEGAL = 0, DT_PROVED = 1, DT_EXHAUSTED = 2, DT_SAMPLED = 3 };
const char *dt_verdict_name (enum dt_verdict v); /* "illegal", "proved", ... */

struct dt_solution {
    struct dt_arena arena;
    const char *family, *site;
    uint32_t n_specialised, n_simplified, n_residual; /* values */
    struct dt_solution_point *point;
    size_t n_points;
    struct dt_solution_pin *pin;
    size_t n_pins;
    struct dt_solution_knob *knob;
    size_t n_knobs;
    /* Assignments: mixed radix over pins then live knobs, the last fastest; other
     * knobs stay at their default.  verdict[n_assignments]; why[i] is NULL or a
     * counterexample for an illegal one. */
    size_t n_assignments;
    uint8_t *verdict;
    const char **why;
    struct dt_graph *residual;  /* owned: simplified, pins and knobs symbolic      */
    struct dt_buf stock, pins;  /* blobs: stock variant; the one that returns pins */
    struct dt_buf proof;        /* of what is proved: see proof.h                  */
    char excluded[160];         /* what assumes exclude, "" if nothing             */
};

/* Does the graph return every field that is claimed?
 *   -DT_EINPUT    one that it does not (with a suggestion) */
int dt_solve_check_claims (const struct dt_graph *g, const char *const *claim, size_t n_claims,
                           struct dt_err *reterr);

/* Cut, candidates, residual graph, legality.  `g` is a specialised graph.
 *   -DT_EINPUT    a claim names no field (with a suggestion)
 *   -DT_EUNCUT    no finite cut; the text shows one path
 *   -DT_EILLEGAL  assumes exclude everything, or no assignment is legal
 *   -DT_ELIMIT    too many candidates or assignments */
int dt_solve (const struct dt_graph *g, const struct dt_solve_options *options,
              struct dt_solution **ret, struct dt_err *reterr);
struct dt_solution *dt_solution_free (struct dt_solution *s);

/* Values of assignment i: pin[n_pins], knob[n_knobs] (all knobs). */
void dt_solution_assignment (const struct dt_solution *s, size_t i, int64_t *pin, int64_t *knob);
/* The index of an assignment by its values (legal or not); -DT_EILLEGAL if a value
 * is no candidate or knob value (the text lists those that are).  A knob that is
 * not live has its default only. */
int dt_solution_find (const struct dt_solution *s, const int64_t *pin, const int64_t *knob,
                      size_t *ret, struct dt_err *reterr);

/* Repin: the pinned selector of assignment i, appended to `ret`. */
int dt_solution_selector (const struct dt_solution *s, size_t i, struct dt_buf *ret,
                          struct dt_err *reterr);

/* Likewise, with tables for free fields (`output` of a table is not read). */
int dt_solution_selector_with (const struct dt_solution *s, size_t i,
                               const struct dt_vm_table *table, size_t n_tables,
                               struct dt_buf *ret, struct dt_err *reterr);

/* The default assignment (section 6): knobs at their defaults, the legal joint
 * pin values that the unpinned program returns most often.  Observation k is the
 * values of the program's Batch inputs that are not own, in the order of the
 * pins blob's inputs, for each of its requests' own inputs: see vm.h.
 *   in      [n * non-own inputs]     own  concatenated per observation
 *   n_own   [n] requests             weight [n]
 * Ties go to the lower index.  Observations that the program refuses are skipped;
 * if none is left, the first legal assignment is taken. */
struct dt_observations {
    size_t n;
    const int64_t *in, *own;
    const size_t *n_own;
    const uint64_t *weight;
};
int dt_solution_default (const struct dt_solution *s, const struct dt_observations *o,
                         size_t *ret, struct dt_err *reterr);

/* The whole as one canon value, and back.  Decoding checks everything. */
void dt_solution_encode (const struct dt_solution *s, struct dt_canon *c);
int dt_solution_decode (struct dt_canon_value v, struct dt_solution **ret,
                        struct dt_err *reterr);

/* What a solve is asked: all that can change pins, candidates and verdicts.
 * sources: names and bytes of the program, its imports and data files. */
struct dt_solve_key {
    int64_t version; /* DT_SOLVER_VERSION */
    const struct dt_source *source;
    const struct dt_digest *text; /* [n_sources] dt_solve_text of each, or NULL */
    size_t n_sources;
    const struct dt_fact *fact;
    size_t n_facts;
    struct dt_digest parameters; /* dt_family_digest of the backend's schema; zero: none
                                    is known */
    struct dt_solve_options options;
};
/* The digest of the question.  Solutions, measurements and plans go by it: certificates
 * are none of it, since a field that the program marks Free is free until a commit,
 * whatever is certified by then, and what was measured stays true. */
struct dt_digest dt_solve_text (const struct dt_source *source); /* the digest of its bytes */
int dt_solve_digest (const struct dt_solve_key *key, struct dt_digest *ret,
                     struct dt_err *reterr);
/* The key of the JIT cache: of the question, and of the certificates in force, which say
 * what stands behind each selection point.  in_force: a digest of all that may change
 * which of them hold; NULL: there are none. */
struct dt_digest dt_solve_cache_key (const struct dt_digest *question,
                                     const struct dt_digest *in_force);

/* Why a selection point may follow the batch, or that it may not.  Among `legal`
 * assignments `certified` have a certificate that holds for the field; a claim stands
 * beside certificates of some. */
enum dt_standing_by { DT_BY_BINDING, DT_BY_CERTIFICATE, DT_BY_CLAIM, DT_BY_NOTHING };
enum dt_standing_by dt_solution_standing (const struct dt_solution_point *p, uint64_t certified,
                                          uint64_t legal);

#endif
