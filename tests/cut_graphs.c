/* tests/cut_graphs.c - a large random graph and the size of its cut, as text:
 *   n arcs size   then a line of flags a vertex (1 source, 2 sink, 4 infinite), then
 *   the arcs.  size is -1 if there is no cut.
 * usage: cut_graphs SEED VALUES    For tests/cut-lemon.sh. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "solver/check.h"
#include "solver/cut.h"

static uint64_t state;

static uint32_t draw (uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

/* Values of 1 to 3 operands among the last `near` before them, as programs are; the
 * fewer may be pinned the wider the cut. */
static void fill (uint32_t n, uint32_t *row, uint32_t *head, uint8_t *source, uint8_t *sink,
                  uint8_t *infinite)
{
    uint32_t near = 20 + draw (400), often = 2 + draw (8), v, i, k = 0;

    for (v = 0; v < n; v++) { /* towards users: turned round, which is as random */
        for (i = 1 + draw (3); i > 0; i--)
            if (v + 1 < n)
                head[k++] = v + 1 + draw (n - v - 1 < near ? n - v - 1 : near);
        row[v + 1] = k;
        source[v] = v < 60 || draw (500) == 0;
        sink[v] = v + 40 > n || draw (500) == 0;
        infinite[v] = (source[v] && draw (2)) || draw (often) == 0;
        infinite[v] &= !sink[v];
    }
}

int main (int argc, char **argv)
{
    uint32_t n = argc > 2 ? (uint32_t)strtoul (argv[2], NULL, 10) : 10000, v, a, size = 0;
    uint32_t *row = dt_calloc ((size_t)n + 1, sizeof *row), *head = dt_calloc (3 * (size_t)n, sizeof *head);
    uint8_t *flag = dt_calloc (n, 4);
    struct dt_cut_graph g = { n, row, head, flag, flag + n, flag + 2 * (size_t)n };
    int r;

    if (!row || !head || !flag)
        return EXIT_FAILURE;
    state = argc > 1 ? strtoull (argv[1], NULL, 10) : 1;
    fill (n, row, head, flag + n, flag + 2 * (size_t)n, flag);
    r = dt_cut_solve (&g, flag + 3 * (size_t)n, &size, NULL, NULL, NULL);
    if (r == 0 && dt_check_cut (&g, flag + 3 * (size_t)n, NULL) < 0)
        return EXIT_FAILURE;
    printf ("%" PRIu32 " %" PRIu32 " %ld\n", n, row[n], r < 0 ? -1L : (long)size);
    for (v = 0; v < n; v++)
        printf ("%d\n", g.source[v] + 2 * g.sink[v] + 4 * g.infinite[v]);
    for (v = 0; v < n; v++)
        for (a = row[v]; a < row[v + 1]; a++)
            printf ("%" PRIu32 " %" PRIu32 "\n", v, head[a]);
    dt_free (row);
    dt_free (head);
    dt_free (flag);
    return EXIT_SUCCESS;
}
