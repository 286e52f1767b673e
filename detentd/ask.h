/* detentd/ask.h - one request on its way to its reply.
 * Uses: base/, proto/, detentd/pool.h.  Used by: dispatch.c, req_*.c, jobs.c. */
#ifndef DT_DETENTD_ASK_H
#define DT_DETENTD_ASK_H

#include "base/arena.h"
#include "base/canon.h"
#include "detentd/daemon.h"
#include "proto/wire.h"

#define DT_PEER_MAX 255 /* ZeroMQ's limit of a routing id */

struct dt_peer {
    uint8_t route[DT_PEER_MAX];
    size_t n_route;
    uint64_t id; /* of the request */
};

struct dt_ask;
/* What a request does away from the loop.  It fills in the ask's reply. */
typedef int (*dt_task_f) (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr);

/* Owned by the loop, by a pool while it is queued there, and by the loop again. */
struct dt_ask {
    struct dt_work work; /* first */
    struct dt_daemon *d;
    struct dt_peer peer;
    Detent__Request *rq;    /* owned */
    struct dt_arena arena;  /* of the reply */
    Detent__Reply reply;    /* its body is set by the handler */
    dt_task_f task;
    void (*after) (struct dt_ask *a); /* on the loop, after success, before the reply;
                                         it may set `r` and `err` */
    int transact; /* the task runs in a transaction */
    int r;        /* of the task, or of `after` */
    struct dt_err err;
    struct dt_job *job; /* tune, certify: until the job is in the table */
    int has_place;      /* it counts among jobs.coming */
    struct dt_solving *solving; /* solve, pins: what the reply borrows from */
    ProtobufCAllocator allocator; /* into the arena: what it unpacks is not freed */
    struct dt_err warning; /* for the log; "" if none */
};

/* A handler's answer that says: the ask is on its way to a pool, reply later. */
#define DT_LATER 1

struct dt_ask *dt_ask_new (struct dt_daemon *d); /* NULL: out of memory */
/* Run the task on the crew, or in a transaction on the writer's thread. */
int dt_ask_crew (struct dt_ask *a, dt_task_f task, struct dt_err *reterr);
int dt_ask_write (struct dt_ask *a, dt_task_f task, struct dt_err *reterr);

/* Send the reply, or the error `r` says, and release the ask. */
void dt_ask_finish (struct dt_ask *a, int r, const struct dt_err *err);
void dt_ask_free (struct dt_ask *a);

/* Pack and send; never blocks.  0, or -EAGAIN if the peer does not read or is
 * gone (the reply is dropped). */
int dt_reply_send (struct dt_daemon *d, const struct dt_peer *peer, const Detent__Reply *reply);
int dt_reply_error (struct dt_daemon *d, const struct dt_peer *peer, int code,
                    const char *text);

/* Checks of what a request carries: 0, or -DT_EINPUT that names the field. */
int dt_check_name (const char *field, const char *value, struct dt_err *reterr);
int dt_check_optional_name (const char *field, const char *value, struct dt_err *reterr);
/* UTF-8 without control characters but \n and \t, at most `limit` bytes. */
int dt_check_text (const char *field, const char *value, size_t limit, struct dt_err *reterr);
int dt_check_digest (const char *field, ProtobufCBinaryData value, struct dt_digest *ret,
                     struct dt_err *reterr);

/* Parts of replies, in the ask's arena.  NULL / data NULL: out of memory. */
ProtobufCBinaryData dt_ask_bytes (struct dt_ask *a, const void *data, size_t n);
ProtobufCBinaryData dt_ask_digest (struct dt_ask *a, const struct dt_digest *digest);
/* A solving in the arena that lives as long as the ask; NULL: out of memory. */
struct dt_solving *dt_ask_solving (struct dt_ask *a);
/* Append to a pointer array in the arena that doubles; `*items` of n. */
int dt_ask_push (struct dt_ask *a, void ***items, size_t *n, void *item);

#endif
