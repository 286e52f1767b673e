/* bench/attention_host - times of the host attention kernels: each legal
 * (block_n, split_stride) on several kinds of calls, then the free parameters.
 * Usage: bench/attention_host [rounds [kv_heads]]   (default 7 and 2; from the
 * build directory)
 *
 * Rounds are interleaved: each runs every cell once, so that a slow moment of
 * the machine falls on all assignments alike.  A cell is the median of rounds. */
#include "tests/attention_rig.h"

#include <stdio.h>
#include <stdlib.h>

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))
#define UNITS 2
#define MAX_ROUNDS 101

static struct rig_site site = { 64, 8, 2, 16, 0, 0, 1 << 15, 256, 4096 };

static const struct kind {
    const char *name;
    size_t n;
    int64_t query_len, kv_len, step; /* of request i: kv_len + i * step */
} kinds[] = {
    { "1 decode of 16k", 1, 1, 16384, 0 },
    { "1 decode of 1k", 1, 1, 1024, 0 },
    { "32 decodes of 0.3k-1.2k", 32, 1, 300, 30 },
    { "64 prefills of 12", 64, 12, 12, 0 },
    { "1 prefill of 768", 1, 768, 768, 0 },
    { "4 chunks of 32 after 2k", 4, 32, 2048, 100 },
};

#define MAX_CELLS 32

struct table {
    const char *title;
    struct rig_params params[MAX_CELLS];
    size_t n;
};

static struct fam rig;

static int by_value (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Medians in microseconds, of one kind of call, over a table's assignments. */
static void measure (const struct kind *kind, const struct table *table, int rounds,
                     double *ret_us)
{
    static double us[MAX_CELLS][MAX_ROUNDS];
    static struct fam_job job[MAX_CELLS];
    struct rig_request *request = calloc (kind->n, sizeof *request);
    size_t i;
    int round;

    for (i = 0; request && i < kind->n; i++)
        request[i] = (struct rig_request){ kind->query_len, kind->kv_len + (int64_t)i * kind->step, i };
    for (i = 0; i < table->n; i++) {
        struct rig_call call = { &site, table->params[i], kind->n, request, 1, UNITS };

        rig_job_init (&job[i], &rig, &call);
    }
    for (round = -1; round < rounds; round++) /* the first warms up */
        for (i = 0; i < table->n; i++) {
            fam_job_run (&job[i]);
            if (round >= 0)
                us[i][round] = (double)rig.b->elapsed_ns (job[i].ctx) / 1e3;
        }
    for (i = 0; i < table->n; i++) {
        qsort (us[i], (size_t)rounds, sizeof us[i][0], by_value);
        ret_us[i] = us[i][rounds / 2];
        fam_job_done (&job[i]);
    }
    free (request);
}

static void print_table (const struct table *t, int rounds)
{
    static double us[ARRAY_SIZE (kinds)][MAX_CELLS];
    size_t i, k;

    printf ("%s\nblock_n stride tile workers", t->title);
    for (k = 0; k < ARRAY_SIZE (kinds); k++) {
        measure (&kinds[k], t, rounds, us[k]);
        printf (" %10c", (char)('A' + k));
    }
    printf ("   (microseconds)\n");
    for (i = 0; i < t->n; i++) {
        printf ("%7lld %6lld %4lld %7lld", (long long)t->params[i].block_n,
                (long long)t->params[i].split_stride, (long long)t->params[i].tile_m,
                (long long)t->params[i].workers_per_request);
        for (k = 0; k < ARRAY_SIZE (kinds); k++)
            printf (" %10.1f", us[k][i]);
        printf ("\n");
    }
    printf ("%-27s", "worst over best");
    for (k = 0; k < ARRAY_SIZE (kinds); k++) {
        qsort (us[k], t->n, sizeof us[k][0], by_value);
        printf (" %10.2f", us[k][t->n - 1] / us[k][0]);
    }
    printf ("\n\n");
}

static void add (struct table *t, struct rig_params p)
{
    t->params[t->n++] = p;
}

int main (int argc, char **argv)
{
    static const int64_t blocks[] = { 16, 32, 64, 128 };
    static const int64_t strides[] = { 0, 256, 512, 1024, 2048, 4096 };
    static const int64_t tiles[] = { 1, 4, 16, 32, 64 }, workers[] = { 1, 2, 4, 8 };
    struct table binding = { .title = "Binding parameters" }, tile = { .title = "Free: tile_m" };
    struct table runs = { .title = "Free: workers_per_request" };
    int rounds = argc > 1 ? atoi (argv[1]) : 7;
    size_t i, j;

    site.kv_heads = argc > 2 ? atoi (argv[2]) : site.kv_heads;
    if (rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf (stderr, "usage: attention_host [rounds: 1..%d [kv_heads]]\n", MAX_ROUNDS);
        return 2;
    }
    fam_open (&rig, ".libs/detent-backend-host.so", "attention");
    for (i = 0; i < ARRAY_SIZE (blocks); i++)
        for (j = 0; j < ARRAY_SIZE (strides); j++)
            add (&binding, (struct rig_params){ blocks[i], strides[j], 32, 2 });
    for (i = 0; i < ARRAY_SIZE (tiles); i++)
        add (&tile, (struct rig_params){ 64, 1024, tiles[i], 2 });
    for (i = 0; i < ARRAY_SIZE (workers); i++)
        add (&runs, (struct rig_params){ 64, 256, 32, workers[i] });
    for (i = 0; i < ARRAY_SIZE (kinds); i++)
        printf ("%c  %s\n", (char)('A' + i), kinds[i].name);
    printf ("%d rounds, %d threads, %lld key/value heads\n\n", rounds, UNITS,
            (long long)site.kv_heads);
    print_table (&binding, rounds);
    print_table (&tile, rounds);
    print_table (&runs, rounds);
    fam_close (&rig);
    return 0;
}
