/* detentd/req_hold.c - devices that are held: their list, and their release by hand. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "detentd/dispatch.h"

struct listing {
    struct dt_ask *a;
    const char *device; /* NULL: all */
    void **items;
    size_t n;
    uint64_t now_ns;
};

static int add (void *ctx, const struct dt_hold *one)
{
    struct listing *l = ctx;
    struct dt_arena *arena = &l->a->arena;
    Detent__Hold *m;

    if (l->device && strcmp (l->device, one->device) != 0)
        return 0;
    if (!(m = dt_arena_alloc (arena, sizeof *m)))
        return -ENOMEM;
    detent__hold__init (m);
    m->device = dt_arena_strf (arena, "%s", one->device);
    m->why = dt_arena_strf (arena, "%s", one->why);
    m->tried = *one->tried ? dt_arena_strf (arena, "%s", one->tried) : NULL;
    m->since_ns = one->since_ns;
    m->has_next_s = one->next_ns != 0;
    m->next_s = one->next_ns > l->now_ns ? (double)(one->next_ns - l->now_ns) / 1e9 : 0;
    return m->device && m->why && (m->tried || !*one->tried)
               ? dt_ask_push (l->a, &l->items, &l->n, m) : -ENOMEM;
}

int dt_hold_list (struct dt_ask *a, const char *device, Detent__Hold ***ret, size_t *ret_n,
                  struct dt_err *reterr)
{
    struct listing l = { .a = a, .device = device, .now_ns = dt_time_mono_ns () };

    if (dt_holds_walk (a->d->holds, add, &l) < 0)
        return dt_err_nomem (reterr);
    *ret = (Detent__Hold **)l.items;
    *ret_n = l.n;
    return 0;
}

static int release (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr)
{
    const Detent__HoldListReply *m = a->reply.hold_list;
    int r = 0;

    for (size_t i = 0; r == 0 && i < m->n_hold; i++)
        r = dt_store_hold_clear (s, m->hold[i]->device, reterr);
    return r;
}

/* The jobs go on at the next tick. */
static void released (struct dt_ask *a)
{
    const Detent__HoldListReply *m = a->reply.hold_list;

    for (size_t i = 0; i < m->n_hold; i++) {
        dt_holds_release (a->d->holds, m->hold[i]->device);
        dt_log (DT_LOG_INFO, "hold", "%s was released by hand", m->hold[i]->device);
    }
}

int dt_req_hold_release (struct dt_ask *a, struct dt_err *reterr)
{
    const char *device = a->rq->hold_release->device;
    Detent__HoldListReply *m = dt_arena_alloc (&a->arena, sizeof *m);
    int r;

    if (!m)
        return dt_err_nomem (reterr);
    detent__hold_list_reply__init (m);
    if (device && (r = dt_check_text ("device", device, DT_HOLD_DEVICE, reterr)) < 0)
        return r;
    if ((r = dt_hold_list (a, device, &m->hold, &m->n_hold, reterr)) < 0)
        return r;
    if (device && m->n_hold == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "device %s is not held", device);
    a->reply.body_case = DETENT__REPLY__BODY_HOLD_LIST;
    a->reply.hold_list = m;
    a->after = released;
    return dt_ask_write (a, release, reterr);
}
