/* solver/yaml.h - a strict reading of one YAML document.
 * Uses: base/, libyaml.  Used by: solver/deployment.c.
 *
 * Refused, each with its place: anchors, aliases, tags, keys that are no plain
 * text, repeated keys (both lines named), a second document, none at all, more
 * than DT_YAML_MAX_DEPTH open lists and maps, more than DT_YAML_MAX_ENTRIES in one
 * of them, more than DT_YAML_MAX_BYTES, a zero byte, and what YAML itself forbids. */
#ifndef DT_SOLVER_YAML_H
#define DT_SOLVER_YAML_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define DT_YAML_MAX_DEPTH 8
#define DT_YAML_MAX_ENTRIES 1024 /* repeated keys are looked for one by one */
#define DT_YAML_MAX_BYTES ((size_t)1 << 20)

enum dt_yaml_kind { DT_YAML_TEXT = 1, DT_YAML_INT, DT_YAML_BOOL, DT_YAML_LIST, DT_YAML_MAP };

/* Plain true and false are BOOL, plain decimal integers of 64 bits INT, all other
 * scalars TEXT. */
struct dt_yaml {
    uint8_t kind;
    size_t line, column; /* from 1; column counts characters */
    const char *text;    /* of a scalar, as written          */
    int64_t i;           /* INT and BOOL                     */
    const char *key;     /* of an entry of a map, else NULL  */
    size_t key_line, key_column;
    struct dt_yaml *first, *last; /* children, in the file's order */
    struct dt_yaml *next;
    size_t n;            /* children */
};

/* The document's root, in `arena`.  `file` is used in messages only.
 *   -DT_EINPUT "FILE:LINE:COLUMN: ..."   -DT_ELIMIT  too large or too deep
 *   -ENOMEM */
int dt_yaml_parse (const char *file, const void *data, size_t n, struct dt_arena *arena,
                   struct dt_yaml **ret, struct dt_err *reterr);

/* "a list", "the integer 7", ... for messages. */
const char *dt_yaml_describe (const struct dt_yaml *y, char ret[64]);

#endif
