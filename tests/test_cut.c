/* tests/test_cut.c - solver/cut: fixed graphs, and brute force over random ones. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "solver/cut.h"
#include "tests/suite.h"

#define MAX_N 12
#define MAX_ARCS 64

struct graph {
    uint32_t n, n_arcs, from[MAX_ARCS], to[MAX_ARCS];
    uint32_t row[MAX_N + 1], head[MAX_ARCS];
    uint8_t infinite[MAX_N], source[MAX_N], sink[MAX_N];
};

static struct dt_cut_graph rows (struct graph *g)
{
    uint32_t v, i, k = 0;

    for (v = 0; v < g->n; v++) {
        g->row[v] = k;
        for (i = 0; i < g->n_arcs; i++)
            if (g->from[i] == v)
                g->head[k++] = g->to[i];
    }
    g->row[g->n] = k;
    return (struct dt_cut_graph){ .n = g->n, .row = g->row, .head = g->head,
                                  .infinite = g->infinite, .source = g->source,
                                  .sink = g->sink };
}

/* Vertices reached from the set `start`, none of `removed`, along arcs or
 * (back != 0) against them; sets are bit masks. */
static uint32_t reach (const struct graph *g, uint32_t start, uint32_t removed, int back)
{
    uint32_t seen = start & ~removed, before, i;

    do {
        before = seen;
        for (i = 0; i < g->n_arcs; i++) {
            uint32_t a = back ? g->to[i] : g->from[i], b = back ? g->from[i] : g->to[i];

            if ((seen >> a & 1) && !(removed >> b & 1))
                seen |= 1u << b;
        }
    } while (seen != before);
    return seen;
}

static uint32_t mask (const uint8_t *flag, uint32_t n)
{
    uint32_t m = 0, v;

    for (v = 0; v < n; v++)
        m |= flag[v] ? 1u << v : 0;
    return m;
}

/* The minimum cut with the fewest vertices on the sinks' side, UINT32_MAX if all
 * cuts hold an infinite vertex. */
static uint32_t brute (const struct graph *g)
{
    uint32_t best = UINT32_MAX, side = 0, s, source = mask (g->source, g->n);
    uint32_t sink = mask (g->sink, g->n), infinite = mask (g->infinite, g->n);

    for (s = 0; s < 1u << g->n; s++) {
        uint32_t mine;

        if ((s & infinite) || (reach (g, source, s, 0) & sink))
            continue;
        if (best != UINT32_MAX && __builtin_popcount (s) > __builtin_popcount (best))
            continue;
        mine = (uint32_t)__builtin_popcount (reach (g, sink, s, 1));
        if (best == UINT32_MAX || __builtin_popcount (s) < __builtin_popcount (best)
            || mine < side) {
            best = s;
            side = mine;
        }
    }
    return best;
}

static void check_path (const struct graph *g, const uint32_t *path, uint32_t len)
{
    uint32_t i, k;

    ck_assert_uint_ge (len, 1);
    ck_assert (g->source[path[0]] && g->sink[path[len - 1]]);
    for (i = 0; i < len; i++)
        ck_assert (g->infinite[path[i]]);
    for (i = 1; i < len; i++) {
        for (k = 0; k < g->n_arcs; k++)
            if (g->from[k] == path[i - 1] && g->to[k] == path[i])
                break;
        ck_assert_msg (k < g->n_arcs, "%u -> %u is no arc", path[i - 1], path[i]);
    }
}

/* Solve and compare with brute force: the whole set. */
static void check_graph (struct graph *g)
{
    struct dt_cut_graph cg = rows (g);
    uint32_t size = 99, path[MAX_N], len = 0, want = brute (g);
    uint8_t cut[MAX_N] = { 0 };
    struct dt_err err = { "" };
    int r = dt_cut_solve (&cg, cut, &size, path, &len, &err);

    if (want == UINT32_MAX) {
        ck_assert_int_eq (r, -DT_EUNCUT);
        ck_assert_uint_eq (size, 99); /* untouched */
        check_path (g, path, len);
        return;
    }
    ck_assert_msg (r == 0, "%d %s", r, err.text);
    ck_assert_uint_eq (mask (cut, g->n), want);
    ck_assert_uint_eq (size, (uint32_t)__builtin_popcount (want));
}

/* Vertices are letters; "M" is the source and "Z" the sink unless flags say so. */
static const struct {
    const char *what, *arcs; /* "Ma ab bZ" */
    const char *infinite;    /* beside M and Z */
    const char *want;        /* letters of the cut; NULL: none exists */
} cases[] = {
    { "B13a: only the output itself", "MZ", "M", "Z" },
    { "B13b: nothing reaches the sink", "Ma bZ", "M", "" },
    { "B13c: only unpinnable values", "Ma ab bZ", "MabZ", NULL },
    { "B14a", "Ma Mb Md ac bc de cf ef fZ", "MZ", "f" },
    { "B14a with d -> c", "Ma Mb Md ac bc de cf ef fZ dc", "MZ", "f" },
    { "B14b", "Ma Mb Mx My ac bc xc xe ye cZ eZ", "MZ", "ce" },
    { "B14c: one value used twice", "Ma ab ab bZ aZ", "MZ", "a" },
    { "nearest the sink", "Ma ab bc cZ", "MZ", "c" },
    { "past an unpinnable one", "Ma ab bc cZ", "MZc", "b" },
    { "the source may be the cut", "Ma Mb aZ bZ", "", "Z" },
    { "wide", "Ma Mb Mc aZ bZ cZ", "MZ", "abc" },
    { "flow must be rerouted", "Ma Mb ac ad bc cZ dZ", "MZ", "cd" },
    { "one sink of its own", "Z", "", "" },
};

static uint32_t letter (char c)
{
    static const char all[] = "MZabcdefxy";
    const char *at = strchr (all, c);

    ck_assert_ptr_nonnull (at);
    return (uint32_t)(at - all);
}

START_TEST (cut_case)
{
    struct graph g = { .n = 10, .source[0] = 1, .sink[1] = 1 };
    const char *p;
    uint32_t want = 0;

    for (p = cases[_i].arcs; *p; p++)
        if (*p != ' ' && p[1] && p[1] != ' ') {
            g.from[g.n_arcs] = letter (*p);
            g.to[g.n_arcs++] = letter (p[1]);
        }
    for (p = cases[_i].infinite; *p; p++)
        g.infinite[letter (*p)] = 1;
    for (p = cases[_i].want ? cases[_i].want : ""; *p; p++)
        want |= 1u << letter (*p);
    ck_assert_msg (brute (&g) == (cases[_i].want ? want : UINT32_MAX), "%s: %x", cases[_i].what,
                   brute (&g));
    check_graph (&g);
}
END_TEST

static uint64_t draw (uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return *s >> 33;
}

START_TEST (cut_random)
{
    uint64_t s = (uint64_t)_i * 7919 + 1;
    int round;

    for (round = 0; round < 1000; round++) {
        struct graph g = { .n = (uint32_t)(1 + draw (&s) % MAX_N) };
        uint32_t v, k = (uint32_t)(draw (&s) % (3 * g.n)), often = (uint32_t)(2 + draw (&s) % 6);

        for (v = 0; v < k; v++) {
            g.from[g.n_arcs] = (uint32_t)(draw (&s) % g.n);
            g.to[g.n_arcs++] = (uint32_t)(draw (&s) % g.n); /* cycles and loops too */
        }
        for (v = 0; v < g.n; v++) {
            g.source[v] = draw (&s) % 4 == 0;
            g.sink[v] = draw (&s) % 4 == 0;
            g.infinite[v] = draw (&s) % often == 0;
        }
        check_graph (&g);
    }
}
END_TEST

START_TEST (cut_malformed)
{
    uint32_t back[] = { 0, 1, 0 }, one[] = { 0, 1, 1 }, size, head[] = { 7 };
    uint8_t flag[2] = { 0 }, cut[2];
    struct dt_cut_graph g = { .n = 2, .row = back, .head = head, .infinite = flag,
                              .source = flag, .sink = flag };

    ck_assert_int_eq (dt_cut_solve (&g, cut, &size, NULL, NULL, NULL), -EINVAL);
    g.row = one;
    ck_assert_int_eq (dt_cut_solve (&g, cut, &size, NULL, NULL, NULL), -EINVAL);
    head[0] = 1;
    ck_assert_int_eq (dt_cut_solve (&g, cut, &size, NULL, NULL, NULL), 0);
}
END_TEST

/* A chain of 200,000 and a grid: no recursion, and phases stay few. */
START_TEST (cut_large)
{
    uint32_t n = 200000, v, size, *row = dt_calloc (n + 1, sizeof *row);
    uint32_t *head = dt_calloc (2 * n, sizeof *head), k = 0;
    uint8_t *flag = dt_calloc (4, n);
    struct dt_cut_graph g = { .n = n, .row = row, .head = head, .infinite = flag,
                              .source = flag + n, .sink = flag + 2 * n };

    flag[n] = flag[3 * n - 1] = 1;
    for (v = 0; v < n; v++) {
        if (v + 1 < n)
            head[k++] = v + 1;
        if (v + 100 < n)
            head[k++] = v + 100;
        row[v + 1] = k;
    }
    flag[0] = flag[n - 1] = 1;
    ck_assert_int_eq (dt_cut_solve (&g, flag + 3 * n, &size, NULL, NULL, NULL), 0);
    ck_assert_uint_eq (size, 2);
    ck_assert (flag[3 * n + n - 2] && flag[3 * n + n - 101]);
    dt_free (row);
    dt_free (head);
    dt_free (flag);
}
END_TEST

START_TEST (cut_nomem)
{
    struct graph g = { .n = 3, .n_arcs = 2, .from = { 0, 1 }, .to = { 1, 2 },
                       .source[0] = 1, .sink[2] = 1 };
    struct dt_cut_graph cg = rows (&g);
    uint32_t size;
    uint8_t cut[3];
    size_t n;
    int r = -ENOMEM;

    for (n = 0; r == -ENOMEM; n++) {
        dt_mem_fail_after (n);
        r = dt_cut_solve (&cg, cut, &size, NULL, NULL, NULL);
        dt_mem_fail_after (SIZE_MAX);
    }
    ck_assert_int_eq (r, 0);
    ck_assert_uint_gt (n, 5);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("solver/cut");
    TCase *tc = tcase_create ("cut");

    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, cut_case, 0, DT_ARRAY_SIZE (cases));
    tcase_add_loop_test (tc, cut_random, 0, 5);
    tcase_add_test (tc, cut_malformed);
    tcase_add_test (tc, cut_large);
    tcase_add_test (tc, cut_nomem);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
