/* solver/cut.c - minimum vertex cut: Dinic's flow on the split graph.
 *
 * Vertex v becomes v_in = 2v and v_out = 2v + 1 with an arc of capacity one
 * between them (infinite: no bound); arcs of the graph, from the super-source to
 * the sources and from the sinks to the super-sink have no bound.  The capacities
 * of vertices are one, so there are at most sqrt (n) phases for them. */
#include "solver/cut.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

#define NONE UINT32_MAX
#define NO_BOUND UINT32_MAX         /* more than any flow: at most n finite vertices */
#define MAX_VERTICES (UINT32_C (1) << 28) /* ids and arcs of the network stay 32-bit */

/* Arc i and its reverse i ^ 1; the arcs of a node are a list through next. */
struct arc {
    uint32_t to, next, room;
};

struct net {
    uint32_t n_nodes, source, sink;
    uint32_t n_arcs;
    struct arc *arc;
    uint32_t *first;  /* [n_nodes] */
    uint32_t *level;  /* [n_nodes] */
    uint32_t *at;     /* [n_nodes] the arc that the search tries next */
    uint32_t *queue;  /* [n_nodes] also the path's arcs */
};

static void net_done (struct net *f)
{
    dt_free (f->arc);
    dt_free (f->first);
    dt_free (f->level);
    dt_free (f->at);
    dt_free (f->queue);
}

static void join (struct net *f, uint32_t from, uint32_t to, uint32_t room)
{
    f->arc[f->n_arcs] = (struct arc){ .to = to, .next = f->first[from], .room = room };
    f->first[from] = f->n_arcs++;
    f->arc[f->n_arcs] = (struct arc){ .to = from, .next = f->first[to], .room = 0 };
    f->first[to] = f->n_arcs++;
}

static int net_init (struct net *f, const struct dt_cut_graph *g)
{
    uint32_t v, i, n = 2 * g->n + 2;

    memset (f, 0, sizeof *f);
    f->arc = dt_calloc (2 * ((size_t)g->row[g->n] + 3 * (size_t)g->n), sizeof *f->arc);
    f->first = dt_calloc (n, sizeof *f->first);
    f->level = dt_calloc (n, sizeof *f->level);
    f->at = dt_calloc (n, sizeof *f->at);
    f->queue = dt_calloc (n, sizeof *f->queue);
    if (!f->arc || !f->first || !f->level || !f->at || !f->queue) {
        net_done (f);
        return -ENOMEM;
    }
    f->n_nodes = n;
    f->source = n - 2;
    f->sink = n - 1;
    memset (f->first, 0xff, n * sizeof *f->first);
    for (v = 0; v < g->n; v++) {
        join (f, 2 * v, 2 * v + 1, g->infinite[v] ? NO_BOUND : 1);
        for (i = g->row[v]; i < g->row[v + 1]; i++)
            join (f, 2 * v + 1, 2 * g->head[i], NO_BOUND);
        if (g->source[v])
            join (f, f->source, 2 * v, NO_BOUND);
        if (g->sink[v])
            join (f, 2 * v + 1, f->sink, NO_BOUND);
    }
    return 0;
}

/* Distance of every node from the source where there is room; 0 if the sink is
 * out of reach. */
static int layer (struct net *f)
{
    uint32_t head = 0, tail = 0, a;

    memset (f->level, 0xff, f->n_nodes * sizeof *f->level);
    f->level[f->source] = 0;
    f->queue[tail++] = f->source;
    while (head < tail) {
        uint32_t u = f->queue[head++];

        for (a = f->first[u]; a != NONE; a = f->arc[a].next) {
            uint32_t to = f->arc[a].to;

            if (f->arc[a].room > 0 && f->level[to] == NONE) {
                f->level[to] = f->level[u] + 1;
                f->queue[tail++] = to;
            }
        }
    }
    return f->level[f->sink] != NONE;
}

/* Send one unit along a path of arcs in f->queue[0..n).  Every path passes a
 * vertex of capacity one: the caller has ruled out others. */
static void push (struct net *f, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        struct arc *a = &f->arc[f->queue[i]], *back = &f->arc[f->queue[i] ^ 1];

        if (a->room != NO_BOUND)
            a->room--;
        if (back->room != NO_BOUND)
            back->room++;
    }
}

/* The next arc of u that leads one level on, or NONE. */
static uint32_t advance (struct net *f, uint32_t u)
{
    uint32_t a;

    for (a = f->at[u]; a != NONE; a = f->arc[a].next) {
        if (f->arc[a].room > 0 && f->level[f->arc[a].to] == f->level[u] + 1)
            break;
    }
    return f->at[u] = a;
}

/* All shortest augmenting paths of one layering. */
static void block_flow (struct net *f)
{
    uint32_t u = f->source, depth = 0, a;

    memcpy (f->at, f->first, f->n_nodes * sizeof *f->at);
    for (;;) {
        if (u == f->sink) {
            push (f, depth);
            u = f->source;
            depth = 0;
        } else if ((a = advance (f, u)) != NONE) {
            f->queue[depth++] = a;
            u = f->arc[a].to;
        } else if (depth > 0) {
            f->level[u] = NONE; /* a dead end */
            u = f->arc[f->queue[--depth] ^ 1].to;
        } else
            return;
    }
}

/* Vertices whose entry cannot reach the sink while their exit can. */
static uint32_t nearest (struct net *f, const struct dt_cut_graph *g, uint8_t *cut)
{
    uint32_t head = 0, tail = 0, a, v, size = 0;

    memset (f->level, 0, f->n_nodes * sizeof *f->level);
    f->level[f->sink] = 1;
    f->queue[tail++] = f->sink;
    while (head < tail) {
        uint32_t u = f->queue[head++];

        for (a = f->first[u]; a != NONE; a = f->arc[a].next) {
            uint32_t from = f->arc[a].to;

            if (f->arc[a ^ 1].room > 0 && !f->level[from]) {
                f->level[from] = 1;
                f->queue[tail++] = from;
            }
        }
    }
    for (v = 0; v < g->n; v++)
        size += cut[v] = f->level[2 * v + 1] && !f->level[2 * v];
    return size;
}

static int well_formed (const struct dt_cut_graph *g)
{
    uint32_t v, i;

    if (g->n > MAX_VERTICES || g->row[0] != 0)
        return 0;
    for (v = 0; v < g->n; v++)
        if (g->row[v + 1] < g->row[v])
            return 0;
    if (g->row[g->n] > MAX_VERTICES)
        return 0;
    for (i = 0; i < g->row[g->n]; i++)
        if (g->head[i] >= g->n)
            return 0;
    return 1;
}

/* Write the path that ends at `end`, source first. */
static void unwind (const uint32_t *from, uint32_t end, uint32_t *ret, uint32_t *ret_len)
{
    uint32_t n = 0, v;

    for (v = end; v != NONE; v = from[v])
        n++;
    *ret_len = n;
    for (v = end; v != NONE; v = from[v])
        ret[--n] = v;
}

/* A shortest path of infinite vertices from a source to a sink: 1 if there is
 * one, which is when no finite cut exists. */
static int uncuttable (const struct dt_cut_graph *g, uint32_t *ret_path, uint32_t *ret_len)
{
    uint32_t *from, *queue, head = 0, tail = 0, i, v, end = NONE;
    uint8_t *seen;

    from = dt_calloc (g->n, sizeof *from);
    queue = dt_calloc (g->n, sizeof *queue);
    seen = dt_calloc (g->n, 1);
    if (!from || !queue || !seen) {
        dt_free (from);
        dt_free (queue);
        dt_free (seen);
        return -ENOMEM;
    }
    for (v = 0; v < g->n; v++)
        if (g->source[v] && g->infinite[v]) {
            seen[v] = 1;
            from[v] = NONE;
            queue[tail++] = v;
        }
    while (head < tail && end == NONE) {
        v = queue[head++];
        if (g->sink[v])
            end = v;
        for (i = g->row[v]; i < g->row[v + 1]; i++)
            if (g->infinite[g->head[i]] && !seen[g->head[i]]) {
                seen[g->head[i]] = 1;
                from[g->head[i]] = v;
                queue[tail++] = g->head[i];
            }
    }
    if (end != NONE && ret_path)
        unwind (from, end, ret_path, ret_len);
    dt_free (from);
    dt_free (queue);
    dt_free (seen);
    return end != NONE;
}

int dt_cut_solve (const struct dt_cut_graph *g, uint8_t *ret_cut, uint32_t *ret_size,
                  uint32_t *ret_path, uint32_t *ret_path_len, struct dt_err *reterr)
{
    struct net f;
    int r;

    if (!well_formed (g))
        return dt_err_set (reterr, -EINVAL, "cut: malformed graph of %u vertices", g->n);
    if ((r = uncuttable (g, ret_path, ret_path_len)) < 0)
        return dt_err_nomem (reterr);
    if (r > 0)
        return dt_err_set (reterr, -DT_EUNCUT, "every cut holds a vertex that may not be in it");
    if (net_init (&f, g) < 0)
        return dt_err_nomem (reterr);
    while (layer (&f))
        block_flow (&f);
    *ret_size = nearest (&f, g, ret_cut);
    net_done (&f);
    return 0;
}
