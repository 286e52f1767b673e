/* bench/moe_host - a tuned table for the host's moe, in the form of vLLM's and SGLang's:
 * for each token count the fastest parameters, as JSON, with the time that they took.
 * Usage: bench/moe_host [rounds [experts top_k hidden intermediate bf16]]
 *        (default 5 8 4 256 128 1; from the build directory)
 *
 * Rounds are interleaved: each runs every set once; a set's time is its least.  The
 * fastest is taken, by however little, as such tables are made. */
#include "tests/family_rig.h"

#include <stdio.h>
#include <stdlib.h>

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))
#define UNITS 2
#define MAX_SETS 256
#define PARAMS 5

static int64_t set[MAX_SETS][PARAMS];

/* Every combination of the parameters' values. */
static size_t list_sets (const struct dt_backend_family *f)
{
    size_t n = 1, i, p;

    for (p = 0; p < PARAMS; p++)
        n *= f->params[p].n_values;
    for (i = 0; i < n && n <= MAX_SETS; i++) {
        size_t left = i;

        for (p = 0; p < PARAMS; p++) {
            set[i][p] = f->params[p].values[left % f->params[p].n_values];
            left /= f->params[p].n_values;
        }
    }
    return n <= MAX_SETS ? n : 0;
}

/* Least nanoseconds of each set on `tokens` tokens. */
static void measure (struct fam *fam, const int64_t *fact, int64_t tokens, size_t n, int rounds,
                     double *ret_ns)
{
    static struct fam_job job[MAX_SETS];
    static const uint64_t seed = 1;
    int64_t request[2] = { tokens, 0 };
    size_t i;
    int round;

    for (i = 0; i < n; i++) {
        struct fam_call call = { fact, set[i], 1, request, &seed, 0, 0, 1, UNITS };

        fam_job_init (&job[i], fam, &call);
        ret_ns[i] = 1e30;
    }
    for (round = 0; round < rounds; round++)
        for (i = 0; i < n; i++) {
            double ns;

            fam_job_run (&job[i]);
            ns = (double)fam->b->elapsed_ns (job[i].ctx);
            ret_ns[i] = ns < ret_ns[i] ? ns : ret_ns[i];
        }
    for (i = 0; i < n; i++)
        fam_job_done (&job[i]);
}

static size_t best_of (const double *ns, size_t n)
{
    size_t i, best = 0;

    for (i = 1; i < n; i++)
        best = ns[i] < ns[best] ? i : best;
    return best;
}

int main (int argc, char **argv)
{
    static const int64_t tokens[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    static double ns[MAX_SETS];
    int64_t fact[] = { 8, 4, 256, 128, 1, 1 };
    int rounds = argc > 1 ? atoi (argv[1]) : 5;
    struct fam fam;
    size_t n, i, p;

    for (i = 0; i < 5 && argc > 2 + (int)i; i++)
        fact[i] = atoi (argv[2 + i]);
    fact[5] = fact[4];
    fam_open (&fam, ".libs/detent-backend-host.so", "moe");
    n = list_sets (fam.family);
    if (rounds < 1 || n == 0) {
        fprintf (stderr, "usage: moe_host [rounds [experts top_k hidden intermediate bf16]]\n");
        return 2;
    }
    printf ("{\n");
    for (i = 0; i < ARRAY_SIZE (tokens); i++) {
        size_t best;

        measure (&fam, fact, tokens[i], n, rounds, ns);
        best = best_of (ns, n);
        printf ("    \"%lld\": {", (long long)tokens[i]);
        for (p = 0; p < PARAMS; p++)
            printf ("%s\"%s\": %lld", p ? ", " : "", fam.family->params[p].name,
                    (long long)set[best][p]);
        printf ("}%s\n", i + 1 < ARRAY_SIZE (tokens) ? "," : "");
        fprintf (stderr, "%4lld tokens: %.1f us\n", (long long)tokens[i], ns[best] / 1e3);
    }
    printf ("}\n");
    fam_close (&fam);
    return 0;
}
