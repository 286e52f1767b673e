/* trace/prefix.c - which prompt blocks a prefix cache holds. */
#include "trace/prefix.h"

#include "base/mem.h"
#include "base/table.h"

#define NONE UINT32_MAX

/* Each distinct block of the log has an entry; those held form a list from the
 * most to the least recently used. */
struct entry {
    uint64_t id;
    uint32_t newer, older;
    int held;
};

struct dt_prefix {
    const uint64_t *blocks; /* the log's */
    uint32_t *of;           /* entry of each of them */
    struct entry *entry;
    size_t n_entries, room_entries;
    uint32_t newest, oldest;
    uint64_t held, capacity;
};

static const void *entry_key (const void *ctx, uint32_t index, size_t *ret_len)
{
    const struct dt_prefix *p = ctx;

    *ret_len = sizeof p->entry[index].id;
    return &p->entry[index].id;
}

/* The entry of a block, made if it is not there; NONE out of memory. */
static uint32_t intern (struct dt_prefix *p, struct dt_table *seen, uint64_t id)
{
    uint32_t e = dt_table_get (seen, &id, sizeof id, entry_key, p);

    if (e != DT_TABLE_NONE)
        return e;
    if (dt_grow ((void **)&p->entry, &p->room_entries, p->n_entries, sizeof *p->entry) < 0 ||
        dt_table_put (seen, &id, sizeof id, (uint32_t)p->n_entries) < 0)
        return NONE;
    p->entry[p->n_entries] = (struct entry){ .id = id, .newer = NONE, .older = NONE };
    return (uint32_t)p->n_entries++;
}

int dt_prefix_new (const struct dt_requests *r, int64_t capacity, struct dt_prefix **ret,
                   struct dt_err *reterr)
{
    struct dt_prefix *p = dt_calloc (1, sizeof *p);
    struct dt_table seen = { 0 };
    size_t n = 0;
    int bad;

    for (size_t i = 0; i < r->n; i++)
        n += r->request[i].n_blocks;
    bad = !p || !(p->of = dt_calloc (n, sizeof *p->of));
    for (size_t i = 0; !bad && i < n; i++)
        bad = (p->of[i] = intern (p, &seen, r->blocks[i])) == NONE;
    dt_table_done (&seen);
    if (bad) {
        dt_prefix_free (p);
        return dt_err_nomem (reterr);
    }
    p->blocks = r->blocks;
    p->newest = p->oldest = NONE;
    p->capacity = (uint64_t)capacity;
    *ret = p;
    return 0;
}

struct dt_prefix *dt_prefix_free (struct dt_prefix *p)
{
    if (p) {
        dt_free (p->of);
        dt_free (p->entry);
        dt_free (p);
    }
    return NULL;
}

static void unlink_entry (struct dt_prefix *p, uint32_t e)
{
    struct entry *x = &p->entry[e];

    if (x->newer == NONE)
        p->newest = x->older;
    else
        p->entry[x->newer].older = x->older;
    if (x->older == NONE)
        p->oldest = x->newer;
    else
        p->entry[x->older].newer = x->newer;
    x->held = 0;
    p->held--;
}

static void link_newest (struct dt_prefix *p, uint32_t e)
{
    struct entry *x = &p->entry[e];

    x->newer = NONE;
    x->older = p->newest;
    if (p->newest == NONE)
        p->oldest = e;
    else
        p->entry[p->newest].newer = e;
    p->newest = e;
    x->held = 1;
    p->held++;
}

/* From the last block to the first, so that a prompt's tail goes before its head:
 * a head alone is of use, a tail is not. */
static void touch (struct dt_prefix *p, const uint32_t *of, size_t n)
{
    while (n-- > 0) {
        if (p->entry[of[n]].held)
            unlink_entry (p, of[n]);
        link_newest (p, of[n]);
    }
    while (p->held > p->capacity)
        unlink_entry (p, p->oldest);
}

size_t dt_prefix_hit (struct dt_prefix *p, const struct dt_log_request *request, size_t n)
{
    const uint32_t *of;
    size_t hit = 0;

    if (n == 0)
        return 0;
    of = p->of + (request->block - p->blocks);
    while (hit < n && p->entry[of[hit]].held)
        hit++;
    touch (p, of, hit);
    return hit;
}

void dt_prefix_put (struct dt_prefix *p, const struct dt_log_request *request, size_t n)
{
    if (n)
        touch (p, p->of + (request->block - p->blocks), n);
}
