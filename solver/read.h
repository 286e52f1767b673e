/* solver/read.h - reading canonical values into an arena, checking as it goes.
 * Uses: base/canon.h, base/arena.h.  Used by: solver/residual.c, solver/encode.c. */
#ifndef DT_SOLVER_READ_H
#define DT_SOLVER_READ_H

#include "base/arena.h"
#include "base/canon.h"

/* `bad` sticks: read freely, check once.  What is bad reads as 0, "" or nothing. */
struct dt_read {
    struct dt_arena *arena;
    int bad, nomem;
};

/* A map with exactly `count` entries. */
void dt_read_map (struct dt_read *r, struct dt_canon_value map, uint32_t count);
/* An integer entry within lo..hi. */
int64_t dt_read_int (struct dt_read *r, struct dt_canon_value map, const char *key, int64_t lo,
                     int64_t hi);
/* A string without a zero byte, an entry or a value; in the arena. */
const char *dt_read_str (struct dt_read *r, struct dt_canon_value map, const char *key);
const char *dt_read_text (struct dt_read *r, struct dt_canon_value v);
/* Bytes, borrowed from the value. */
const uint8_t *dt_read_bytes (struct dt_read *r, struct dt_canon_value map, const char *key,
                              size_t *ret_len);
/* int64s, at least `least` of them, in the arena. */
int64_t *dt_read_ints (struct dt_read *r, struct dt_canon_value map, const char *key,
                       size_t least, size_t *ret_n);
/* A list entry. */
struct dt_canon_value dt_read_list (struct dt_read *r, struct dt_canon_value map,
                                    const char *key);
/* 0, -ENOMEM or -DT_ECORRUPT with `what` in its text. */
int dt_read_done (const struct dt_read *r, const char *what, struct dt_err *reterr);

#endif
