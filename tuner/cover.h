/* tuner/cover.h - what each legal assignment launches on the sampled calls, and
 * which assignments are the same on all of them.
 * Uses: solver/, selir/vm.h, trace/.  Used by: tuner/calls.h, tuner/tune.c,
 * tuner/tables.c. */
#ifndef DT_TUNER_COVER_H
#define DT_TUNER_COVER_H

#include "base/arena.h"
#include "tuner/tune.h"

/* A sampled call. */
struct dt_cover_at {
    const struct dt_trace_site *site;
    size_t trace, call;
    double weight;
};

/* One call with one set of parameters. */
struct dt_cover_variant {
    size_t at;                   /* call, as an index of the sampled ones      */
    struct dt_tune_param *param; /* [n_params] */
    const void *key;             /* call and parameters as bytes               */
    size_t key_len;
    uint64_t launch[2];
    uint32_t same;               /* the first variant of this call and launch  */
    const char *refused;         /* why the backend does; NULL: it does not    */
};

/* Assignments that launch the same on every sampled call. */
struct dt_cover_arm {
    size_t assignment; /* the incumbent, or the best verdict, or the lowest index */
    const uint32_t *variant; /* [n_at] */
    const uint32_t *same;    /* [n_at] its key */
};

struct dt_cover {
    struct dt_arena arena;
    const struct dt_solution *solution;
    const struct dt_cover_at *at; /* [n_at > 0] */
    size_t n_at;
    const uint8_t *allowed;
    const struct dt_tune_hooks *hooks;
    const char **field; /* [n_params] */
    size_t n_params;
    struct dt_cover_variant *variant;
    size_t n_variants, room_variants;
    struct dt_cover_arm *arm;
    size_t n_arms, room_arms;
    size_t n_legal, n_usable; /* assignments; of the allowed ones */
    size_t incumbent;         /* arm; n_arms if the incumbent is not usable */
    struct dt_table by_params, by_launch, by_row;
    size_t n_refused;         /* legal assignments that are not usable */
    struct dt_tune_refusal refusal[DT_TUNE_REFUSALS]; /* the first of them */
};

/* All pointers are borrowed until dt_cover_done, which is due after a failure too: what
 * was refused is then still there.
 *   -DT_EILLEGAL  no legal assignment is usable for the trace; the text says why */
int dt_cover_build (struct dt_cover *c, const struct dt_solution *solution,
                    const struct dt_cover_at *at, size_t n_at, const uint8_t *allowed,
                    size_t incumbent, const struct dt_tune_hooks *hooks, struct dt_err *reterr);
/* One assignment, on calls that it must be able to run: its one arm.  Likewise.
 *   -DT_EILLEGAL  it cannot; the text names the calls and says why */
int dt_cover_one (struct dt_cover *c, const struct dt_solution *solution,
                  const struct dt_cover_at *at, size_t n_at, size_t assignment,
                  const struct dt_tune_hooks *hooks, struct dt_err *reterr);
/* Note an assignment that cannot be used, on the sampled call `at`: one of the calls for
 * which it cannot.  In refusal.c. */
void dt_cover_refuse (struct dt_cover *c, size_t assignment, size_t at, const char *why);
void dt_cover_done (struct dt_cover *c);
/* The call and parameters of a variant, as hooks take them. */
struct dt_tune_call dt_cover_call (const struct dt_cover *c, size_t variant);

#endif
