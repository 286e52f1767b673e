/* selir/simplify_int.h - a graph being rebuilt, and the passes over its values.
 * Uses: selir/simplify.h, selir/range.h.  Used by: simplify.c, pass_*.c. */
#ifndef DT_SELIR_SIMPLIFY_INT_H
#define DT_SELIR_SIMPLIFY_INT_H

#include "selir/range.h"
#include "selir/simplify.h"

struct dt_simp {
    struct dt_graph *out;
    struct dt_ranges *ranges; /* of out */
    unsigned passes;
    int depth;          /* rewrites within rewrites                       */
    uint32_t path_left; /* values that the path pass may still add        */
    uint32_t *memo;     /* path: [room] what a value became under a fact  */
    uint32_t *stamp;    /* path: [room] the walk that memo is of          */
    size_t room;
    uint32_t walk;
    uint8_t *shared;    /* [n_shared] of out: 1, several values read it   */
    size_t n_shared, room_shared;
    struct dt_err *err;
};

/* Add a value to `out` after all passes that are on: *ret is an equal value.
 * `n` has the span and seq that a new value gets. */
int dt_simp_add (struct dt_simp *s, struct dt_node n, uint32_t *ret);

/* The same for an op of `like`'s place; unused operands are DT_NODE_NONE. */
int dt_simp_op (struct dt_simp *s, const struct dt_node *like, uint8_t op, uint8_t type,
                uint32_t a, uint32_t b, uint32_t *ret);
int dt_simp_select (struct dt_simp *s, const struct dt_node *like, uint32_t a, uint32_t b,
                    uint32_t c, uint32_t *ret);
int dt_simp_const (struct dt_simp *s, uint8_t type, int64_t v, uint32_t *ret);

/* 1 and the value if `id` is a constant. */
int dt_simp_known (const struct dt_simp *s, uint32_t id, int64_t *ret);

/* 1 if several values read `id`, as the round began. */
static inline int dt_simp_shared (const struct dt_simp *s, uint32_t id)
{
    return id < s->n_shared && s->shared[id];
}

/* A pass: 1 and *ret, an equal value; or 0 (`n` may be changed to an equal
 * operation); or a negative code. */
int dt_pass_fold (struct dt_simp *s, struct dt_node *n, uint32_t *ret);
int dt_pass_algebra (struct dt_simp *s, struct dt_node *n, uint32_t *ret);
int dt_pass_range (struct dt_simp *s, struct dt_node *n, uint32_t *ret);
int dt_pass_select (struct dt_simp *s, struct dt_node *n, uint32_t *ret);
int dt_pass_path (struct dt_simp *s, struct dt_node *n, uint32_t *ret);

/* A value that equals `id` wherever `cond` is `truth` (else anything). */
int dt_path_under (struct dt_simp *s, uint32_t cond, int truth, uint32_t id, uint32_t *ret);

/* The 1 of a pass whose answer is an existing value. */
static inline int dt_pass_is (uint32_t id, uint32_t *ret)
{
    *ret = id;
    return 1;
}

/* 1 or the error, of a pass whose answer was just added. */
static inline int dt_pass_done (int r)
{
    return r < 0 ? r : 1;
}

#endif
