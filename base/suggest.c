/* base/suggest.c - "did you mean ...?". */
#include "base/suggest.h"

#include <string.h>

#define MAX_WORD 63 /* longer words get no suggestion: names are shorter */
#define MAX_EDITS 2

/* Edits (insert, drop, replace, swap neighbours) from a to b. */
static size_t distance (const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][MAX_WORD + 2], i, j;

    for (j = 0; j <= nb; j++)
        row[0][j] = j;
    for (i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

        now[0] = i;
        for (j = 1; j <= nb; j++) {
            size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);

            best = up[j] + 1 < best ? up[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = up2[j - 2] + 1 < best ? up2[j - 2] + 1 : best;
            now[j] = best;
        }
    }
    return row[na % 3][nb];
}

const char *dt_suggest (const char *word, const char *const *name, size_t n)
{
    size_t i, len = strlen (word), best = MAX_EDITS + 1;
    const char *ret = NULL;

    if (len > MAX_WORD)
        return NULL;
    for (i = 0; i < n; i++) {
        size_t other = strlen (name[i]), d;

        if (other > MAX_WORD)
            continue;
        d = distance (word, len, name[i], other);
        if (d < best && 2 * d <= len) {
            best = d;
            ret = name[i];
        }
    }
    return ret;
}
