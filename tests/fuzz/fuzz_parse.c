/* tests/fuzz/fuzz_parse.c - any bytes as a SelIR program: parsed, and what is a
 * program specialised.  Facts are given by kind, in the order of the record. */
#include <stdint.h>

#include "selir/program.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    const struct dt_source source = { "fuzz.py", (const char *)data, n };
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_fact fact[64];
    struct dt_err err;
    size_t i;

    if (dt_program_parse (&source, 1, &p, &err) < 0)
        return 0;
    for (i = 0; i < dt_program_facts (p) && i < 64; i++)
        fact[i] = (struct dt_fact){ .name = dt_program_fact (p, i), .kind = DT_FACT_INT, .i = 16 };
    if (dt_program_specialise (p, fact, i, &g, &err) == 0)
        dt_graph_check (g);
    dt_graph_free (g);
    dt_program_free (p);
    return 0;
}
