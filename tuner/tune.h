/* tuner/tune.h - from a trace to the cheapest legal assignment of one site.
 * Uses: solver/, selir/vm.h, trace/, base/.  Used by: detentd.
 *
 * The tuner knows no process and no socket: it is handed callbacks. */
#ifndef DT_TUNER_TUNE_H
#define DT_TUNER_TUNE_H

#include "solver/solve.h"
#include "trace/dtrace.h"
#include "tuner/race.h"

/* A call with its parameters, as the backend takes them: param[i] in the order
 * of the selector's outputs; own ones are arrays over requests. */
struct dt_tune_param {
    const char *field;
    int64_t one;
    const int64_t *each; /* [n_requests] or NULL */
};
struct dt_tune_call {
    const char *family, *site;
    struct dt_call call;
    const uint64_t *id; /* [n_requests] */
    const struct dt_tune_param *param;
    size_t n_params;
};

/* What is timed: an assignment, which stands for all that launch the same, on a call of
 * a trace. */
struct dt_tune_at {
    size_t assignment;
    size_t trace, call; /* index of the trace, of the call in its site */
};

struct dt_tune_hooks {
    void *ctx;
    /* Identity of what the call would launch: equal means the same work.
     * 1 in *ret_unsupported: the backend refuses these parameters (not an error; the
     * text of reterr says why).  They are never measured. */
    int (*plan) (void *ctx, const struct dt_tune_call *call, uint64_t ret_launch[2],
                 int *ret_unsupported, struct dt_err *reterr);
    /* Run the call once and time it, in nanoseconds.  -DT_EUNSUPPORTED: it cannot be
     * run; tuning goes on without this assignment. */
    int (*measure) (void *ctx, const struct dt_tune_call *call, uint64_t *ret_ns,
                    struct dt_err *reterr);
    /* From now on measure in a new process; NULL: winners are not confirmed. */
    int (*fresh) (void *ctx, struct dt_err *reterr);
    /* 1: this measurement is known from before, in the order in which tuning asks;
     * then it is neither measured nor kept.  NULL: none is. */
    int (*recall) (void *ctx, const struct dt_tune_at *at, uint64_t *ret_ns);
    /* Told after each measured round; fraction in 0..1, seconds left or < 0 if
     * unknown.  A result other than 0 cancels: tuning returns -DT_ECANCELLED. */
    int (*progress) (void *ctx, double fraction, double left_s, const char *what);
    /* A measurement is complete: keep it.  Called before it is used. */
    int (*keep) (void *ctx, const struct dt_tune_at *at, uint64_t ns, struct dt_err *reterr);
    /* The same of a free field's value that is timed for its table, or of the program's
     * own (`value` NULL).  Never recalled.  NULL: not kept. */
    int (*keep_free) (void *ctx, const struct dt_tune_at *at, const char *field,
                      const int64_t *value, uint64_t ns, struct dt_err *reterr);
};

struct dt_tune_options {
    size_t max_calls;   /* distinct calls replayed, sampled with weights, of all traces;
                           0: 24 */
    double budget_s;    /* wall time for this site; 0: 30                        */
    double minimum_effect; /* relative; 0: 0.01                                  */
    uint64_t seed;
    int exhaustive;     /* every assignment on every sampled call, same rounds   */
    const uint8_t *allowed; /* [n_assignments] 1: may be chosen; NULL: all legal ones */
    size_t otherwise;   /* takes the incumbent's place if that is not usable     */
};
/* Raised when tuning with the same options and timings asks in another order. */
#define DT_TUNE_ORDER 1

/* An assignment that the backend refuses, or whose selector does, on calls of a trace. */
struct dt_tune_refusal {
    size_t assignment;
    size_t n_calls, n_named; /* the calls; those of them that are named */
    char calls[400];         /* "tokens=48; tokens=80" */
    char why[320];           /* of the first, with its numbers */
};
#define DT_TUNE_REFUSALS 8      /* that are told; all are counted */
#define DT_TUNE_REFUSED_CALLS 8 /* of each, that are named; likewise */

/* "3 calls (tokens=48; tokens=80; tokens=112): WHY", terminated; returns it. */
#define DT_TUNE_REFUSAL_TEXT 900
char *dt_tune_refusal_text (const struct dt_tune_refusal *r, char text[DT_TUNE_REFUSAL_TEXT]);

/* What came out. */
struct dt_tune_result {
    size_t chosen;         /* assignment                                        */
    size_t incumbent;      /* assignment: what a tie keeps                      */
    size_t runner_up;      /* the next best; chosen if there is no other        */
    int tie;               /* chosen == incumbent because nothing beat it       */
    double ratio, ratio_lo, ratio_hi; /* chosen over incumbent, with its interval */
    double worst_ratio;    /* the worst measured assignment over the chosen      */
    double trace_ns;       /* estimated sum over the trace, chosen               */
    double sample_error;   /* of that estimate, relative: half of its interval (99%) */
    size_t n_legal, n_merged, n_measured; /* assignments; after merging; measured */
    size_t n_calls, n_sampled;            /* distinct calls of the trace; replayed */
    uint64_t n_measurements, n_recalled; /* the latter are among the former */
    int confirm;           /* enum dt_race_confirm */
    double again, again_lo, again_hi; /* the winner over the incumbent in a fresh process */
    size_t n_refused; /* legal assignments that are not usable; the first of them: */
    struct dt_tune_refusal refusal[DT_TUNE_REFUSALS];
};

/* `incumbent` is what a tie keeps: what is committed, or the default assignment.  If it
 * is not usable for the trace, options.otherwise takes its place, and if that is not
 * either, the first usable one; result.incumbent says which.  An assignment is not usable if its selector refuses a sampled call or
 * the backend has no kernel for it.  Sampled
 * verdicts are considered like others; the commit decides about them.
 * trace: [n_traces > 0] the site's calls in each trace of the workload: what is least is
 * the mean over traces of the cost relative to the incumbent's.
 *   -DT_EILLEGAL no legal assignment is usable, or what was chosen does not run all of the
 *                traces: the text names the calls and the reason
 *   -DT_EUNTRUSTED  unstable: see tuner/race.h
 *   -DT_ECANCELLED, or what a hook returned */
int dt_tune_site (const struct dt_solution *s, const struct dt_trace_site *const *trace,
                  size_t n_traces, size_t incumbent, const struct dt_tune_options *options,
                  const struct dt_tune_hooks *hooks, struct dt_tune_result *ret,
                  struct dt_err *reterr);

/* The traces' calls as observations for dt_solution_default; owned by the caller
 * (dt_tune_observations_done). */
struct dt_tune_observations {
    struct dt_observations view;
    int64_t *in, *own;
    size_t *n_own;
    uint64_t *weight;
};
int dt_tune_observe (const struct dt_solution *s, const struct dt_trace_site *const *trace,
                     size_t n_traces, struct dt_tune_observations *ret, struct dt_err *reterr);
void dt_tune_observations_done (struct dt_tune_observations *o);

#endif
