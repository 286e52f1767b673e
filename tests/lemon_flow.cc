/* tests/lemon_flow.cc - the flow value of a graph of tests/cut_graphs, by LEMON; says
 * whether it is the size of the cut.  For tests/cut-lemon.sh. */
#include <cstdio>
#include <lemon/preflow.h>
#include <lemon/smart_graph.h>

int main ()
{
    lemon::SmartDigraph g;
    lemon::SmartDigraph::ArcMap<long> capacity (g);
    std::vector<lemon::SmartDigraph::Node> in, out;
    long n, arcs, size, infinite;
    auto arc = [&] (lemon::SmartDigraph::Node a, lemon::SmartDigraph::Node b, long c) {
        capacity[g.addArc (a, b)] = c;
    };

    if (std::scanf ("%ld %ld %ld", &n, &arcs, &size) != 3)
        return 2;
    infinite = n + 1; /* more than any cut of single values */
    auto s = g.addNode (), t = g.addNode ();
    for (long v = 0; v < n; v++) {
        int flags;

        if (std::scanf ("%d", &flags) != 1)
            return 2;
        in.push_back (g.addNode ());
        out.push_back (g.addNode ());
        arc (in[v], out[v], flags & 4 ? infinite : 1);
        if (flags & 1)
            arc (s, in[v], infinite);
        if (flags & 2)
            arc (out[v], t, infinite);
    }
    for (long i = 0; i < arcs; i++) {
        long a, b;

        if (std::scanf ("%ld %ld", &a, &b) != 2)
            return 2;
        arc (out[a], in[b], infinite);
    }
    lemon::Preflow<lemon::SmartDigraph, lemon::SmartDigraph::ArcMap<long>> flow (g, capacity, s, t);
    flow.runMinCut ();
    long value = flow.flowValue () >= infinite ? -1 : flow.flowValue ();
    std::printf ("%ld values: cut %ld, flow %ld\n", n, size, value);
    return value == size ? 0 : 1;
}
