/* base/suggest.h - "did you mean ...?".
 * Uses: nothing of ours.  Used by: solver, trace, detentctl. */
#ifndef DT_BASE_SUGGEST_H
#define DT_BASE_SUGGEST_H

#include <stddef.h>

/* The name that is nearest to `word` and at most two edits (and at most half of
 * its length) away, the first of equals; NULL if none is.  Borrowed. */
const char *dt_suggest (const char *word, const char *const *name, size_t n);

#endif
