/* selir/program.h - from source text to a graph: lex, parse, check, specialise.
 * Uses: selir/graph.h.  Used by: solver/, detentctl.
 *
 * Errors of the author are -DT_ESYNTAX (not in the language, ill-typed, at a
 * place) or -DT_ELIMIT (a named limit), with text of this form:
 *
 *     FILE:LINE:COLUMN: what is wrong
 *         the line
 *            ^
 *     advice: what to write instead        (where there is something)
 */
#ifndef DT_SELIR_PROGRAM_H
#define DT_SELIR_PROGRAM_H

#include "base/digest.h"
#include "selir/graph.h"

/* One file.  Borrowed.  `name` is what errors show and what `import NAME` of a
 * sibling finds ("attention.py"): no folder, ends in .py.  A file whose name ends
 * otherwise is data: JSON that table ("NAME") reads. */
struct dt_source {
    const char *name;
    const char *text;
    size_t len;
};

#define DT_SOURCE_MAX_BYTES (1u << 20)
#define DT_SOURCE_MAX_FILES 64

struct dt_program; /* parsed and checked; immutable; shared by threads */

/* Parse source[0] and those of the others that it imports, and check them.
 * `source` may be released afterwards. */
int dt_program_parse (const struct dt_source *source, size_t n_sources,
                      struct dt_program **ret, struct dt_err *reterr);
struct dt_program *dt_program_free (struct dt_program *p);

/* Digest of what the program says: the tokens of source[0] and of the sources that it
 * imports, and the data files that they name, whole.  Comments, layout and other files
 * change nothing. */
int dt_program_digest (const struct dt_program *p, struct dt_digest *ret, struct dt_err *reterr);

/* The family that the program's @selection names; borrowed. */
const char *dt_program_family (const struct dt_program *p);

/* A deployment's fact, for a field of the program's Facts record. */
struct dt_fact {
    const char *name;
    enum { DT_FACT_INT, DT_FACT_BOOL, DT_FACT_STR, DT_FACT_FLOAT } kind;
    int64_t i;
    const char *s;
    double d; /* FLOAT */
};

/* Evaluate the program on the facts: loops unrolled, calls inlined, everything
 * that no input or knob reaches computed.  The graph is the meaning of the
 * program; it is not simplified.
 *   -DT_EINPUT  a fact is missing, unknown or of another type; the text names it
 *   -DT_EEVAL   a run-time error that inputs cannot avoid (Python's class, place) */
int dt_program_specialise (const struct dt_program *p, const struct dt_fact *fact,
                           size_t n_facts, struct dt_graph **ret, struct dt_err *reterr);

/* The names of the Facts record's fields, in order. */
size_t dt_program_facts (const struct dt_program *p);
const char *dt_program_fact (const struct dt_program *p, size_t i);

/* A float given as text, whatever the locale: 1 if it is a JSON number, else 0. */
int dt_number_of_text (const char *text, double *ret);

#endif
