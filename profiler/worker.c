#include "profiler/worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/digest.h"
#include "base/mem.h"
#include "profiler/certify.h"
#include "profiler/describe.h"
#include "profiler/device.h"
#include "profiler/ranks.h"
#include "proto/frame.h"

/* Runs of one call whose times are missed before that is the answer: a missed one is rare
 * and comes alone. */
#define TRIES 5

/* Operands of one call, filled.  They follow from facts, requests and seeds
 * alone, so one set serves every assignment. */
struct operands {
    struct dt_digest key;
    void *data;
    size_t bytes;
    uint64_t used; /* tick of the last use */
};

struct worker {
    int fd;
    struct dt_plugin plugin;
    struct dt_ranks *ranks;     /* the others, of a group; else NULL */
    int is_other;               /* one of those: rank 0 says what is run again */
    struct dt_certify *certify; /* the round, or NULL */
    struct operands set[DT_WORKER_OPERAND_SETS];
    size_t held_bytes;
    uint64_t tick;
    void *output, *workspace;
    size_t output_bytes, workspace_bytes;
};

static int reply (struct worker *w, const Detent__WorkerReply *m, struct dt_err *reterr)
{
    size_t n = detent__worker_reply__get_packed_size (m);
    uint8_t *data = dt_calloc (n, 1);
    int r;

    if (!data)
        return dt_err_nomem (reterr);
    detent__worker_reply__pack (m, data);
    r = dt_frame_write (w->fd, data, n, -1, reterr);
    dt_free (data);
    return r;
}

static int reply_error (struct worker *w, int code, struct dt_err *what, struct dt_err *reterr)
{
    Detent__Error e = DETENT__ERROR__INIT;
    Detent__WorkerReply m = DETENT__WORKER_REPLY__INIT;

    e.code = code < 0 ? -code : code;
    e.text = what->text;
    m.body_case = DETENT__WORKER_REPLY__BODY_ERROR;
    m.error = &e;
    return reply (w, &m, reterr);
}

static void release (struct worker *w, struct operands *o)
{
    w->plugin.backend->free (w->plugin.ctx, o->data);
    w->held_bytes -= o->bytes;
    *o = (struct operands){ .data = NULL };
}

static void close_plugin (struct worker *w)
{
    if (!w->plugin.backend)
        return;
    for (size_t i = 0; i < DT_WORKER_OPERAND_SETS; i++)
        if (w->set[i].data)
            release (w, &w->set[i]);
    w->plugin.backend->free (w->plugin.ctx, w->output);
    w->plugin.backend->free (w->plugin.ctx, w->workspace);
    w->certify = dt_certify_free (w->certify);
    w->output = w->workspace = NULL;
    w->output_bytes = w->workspace_bytes = 0;
    w->ranks = dt_ranks_free (w->ranks);
    w->is_other = 0;
    dt_plugin_close (&w->plugin);
}

/* A backend that knows no groups plays all ranks itself. */
static int open_ranks (struct worker *w, const Detent__WorkerOpen *m, const Detent__WorkerIdentity *who,
                       struct dt_err *reterr)
{
    struct dt_backend_join join = { .ranks = m->ranks, .gather = dt_ranks_gather };
    int r;

    if (m->has_rank) {
        join.rank = m->rank;
        join.gather = dt_ranks_gather_below;
        join.user = &w->fd;
        w->is_other = 1;
        return dt_plugin_join (&w->plugin, &join, reterr);
    }
    if ((r = dt_ranks_start (m, &w->ranks, reterr)) < 0)
        return r;
    join.user = w->ranks;
    r = dt_plugin_join (&w->plugin, &join, reterr);
    return dt_ranks_opened (w->ranks, r, who, reterr);
}

static uint32_t others_of (const Detent__WorkerOpen *m)
{
    return !m->has_shared ? DT_BACKEND_OTHERS_UNTIMED
           : m->shared    ? DT_BACKEND_OTHERS_TAKEN
                          : DT_BACKEND_OTHERS_REFUSED;
}

static int on_open (struct worker *w, const Detent__WorkerOpen *m, Detent__WorkerReply *rp,
                    Detent__WorkerIdentity *who, struct dt_err *reterr)
{
    struct dt_backend_options options = { .units = m->units, .device = m->device + m->rank,
                                          .timed = !m->untimed, .others = others_of (m) };
    int r;

    close_plugin (w);
    if (m->has_rank)
        prctl (PR_SET_PDEATHSIG, SIGKILL); /* rank 0 may be killed at any time */
    if ((r = dt_plugin_open (&w->plugin, m->backend, &options, reterr)) < 0)
        return r;
    dt_device_tell (&w->plugin, who);
    if (m->ranks > 1 && w->plugin.backend->join && (r = open_ranks (w, m, who, reterr)) < 0) {
        close_plugin (w);
        return r;
    }
    rp->body_case = DETENT__WORKER_REPLY__BODY_IDENTITY;
    rp->identity = who;
    return 0;
}

static struct dt_digest operands_key (const struct dt_plugin_call *c)
{
    const struct dt_backend_family *f = c->call.family;
    struct dt_digest_state s;

    dt_digest_begin (&s, "operands");
    dt_digest_add (&s, f->name, strlen (f->name) + 1);
    dt_digest_add (&s, c->fact, f->n_facts * sizeof *c->fact);
    dt_digest_add (&s, c->call.request,
                   c->call.n_requests * f->n_request_fields * sizeof *c->call.request);
    dt_digest_add (&s, c->call.seed, c->call.n_requests * sizeof *c->call.seed);
    return dt_digest_end (&s);
}

/* The set that was used least recently, or NULL. */
static struct operands *oldest (struct worker *w)
{
    struct operands *found = NULL;

    for (size_t i = 0; i < DT_WORKER_OPERAND_SETS; i++)
        if (w->set[i].data && (!found || w->set[i].used < found->used))
            found = &w->set[i];
    return found;
}

static struct operands *empty (struct worker *w)
{
    size_t i = 0;

    while (i < DT_WORKER_OPERAND_SETS && w->set[i].data)
        i++;
    return i < DT_WORKER_OPERAND_SETS ? &w->set[i] : NULL;
}

/* The slot for a new set of `bytes`: an empty one, or the least recently used
 * ones released until the bound holds. */
static struct operands *make_room (struct worker *w, size_t bytes)
{
    struct operands *o;

    while ((o = oldest (w)) && (!empty (w) || w->held_bytes + bytes > DT_WORKER_OPERAND_BYTES))
        release (w, o);
    return empty (w);
}

/* A buffer.  An engine beside may have left little memory: sets that are kept for calls which
 * may come again go first. */
static int allocate (struct worker *w, size_t bytes, void **ret, struct dt_err *reterr)
{
    struct operands *o;
    int r;

    while ((r = dt_plugin_buffer (w->plugin.backend, w->plugin.ctx, bytes, ret, reterr)) == -DT_EDEVICE
           && (o = oldest (w)))
        release (w, o);
    return r;
}

static int get_operands (struct worker *w, const struct dt_plugin_call *c,
                         const struct dt_backend_plan *plan, void **ret, struct dt_err *reterr)
{
    const struct dt_backend *b = w->plugin.backend;
    struct dt_backend_error err = { "" };
    struct dt_digest key = operands_key (c);
    struct operands *o;
    int r;

    for (size_t i = 0; i < DT_WORKER_OPERAND_SETS; i++)
        if (w->set[i].data && w->set[i].bytes >= plan->operand_bytes
            && dt_digest_equal (&w->set[i].key, &key)) {
            w->set[i].used = ++w->tick;
            *ret = w->set[i].data;
            return 0;
        }
    o = make_room (w, plan->operand_bytes);
    if ((r = allocate (w, plan->operand_bytes, &o->data, reterr)) < 0)
        return r;
    o->bytes = plan->operand_bytes;
    w->held_bytes += o->bytes;
    if ((r = b->fill (w->plugin.ctx, &c->call, 0, o->data, &err)) < 0) {
        release (w, o);
        return dt_err_set (reterr, r, "%s", err.text);
    }
    o->key = key;
    o->used = ++w->tick;
    *ret = o->data;
    return 0;
}

static int make_buffer (struct worker *w, void **buffer, size_t *have, size_t want,
                        struct dt_err *reterr)
{
    const struct dt_backend *b = w->plugin.backend;
    int r;

    if (*have >= want)
        return 0;
    b->free (w->plugin.ctx, *buffer);
    *buffer = NULL;
    *have = 0;
    if ((r = allocate (w, want, buffer, reterr)) < 0)
        return r;
    *have = want;
    return 0;
}

static int on_plan (struct worker *w, const struct dt_plugin_call *c, Detent__WorkerReply *rp,
                    Detent__WorkerPlan *ret, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    int r;

    if ((r = w->plugin.backend->plan (w->plugin.ctx, &c->call, &plan, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    ret->launch_a = plan.launch[0];
    ret->launch_b = plan.launch[1];
    ret->bytes = plan.operand_bytes + plan.output_bytes + plan.workspace_bytes;
    rp->body_case = DETENT__WORKER_REPLY__BODY_PLAN;
    rp->plan = ret;
    return 0;
}

static int run_once (struct worker *w, const struct dt_plugin_call *c, const void *operands,
                     uint64_t *ret_ns, struct dt_err *reterr)
{
    const struct dt_backend *b = w->plugin.backend;
    struct dt_backend_error err = { "" };
    uint64_t ns;
    int r;

    if ((r = b->run (w->plugin.ctx, &c->call, operands, w->output, w->workspace, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    if ((ns = b->elapsed_ns (w->plugin.ctx)) == 0)
        return dt_err_set (reterr, -DT_EDEVICE, "the backend's clock reports no time");
    *ret_ns = ns;
    return 0;
}

static int on_measure (struct worker *w, const struct dt_plugin_call *c, uint32_t repeats,
                       Detent__WorkerReply *rp, Detent__WorkerTimes *ret, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    void *operands = NULL;
    int r, again = 0;

    if (repeats < 1 || repeats > DT_WORKER_MAX_REPEATS)
        return dt_err_set (reterr, -DT_EINPUT, "%u repeats; 1 to %d are possible", repeats,
                           DT_WORKER_MAX_REPEATS);
    if ((r = w->plugin.backend->plan (w->plugin.ctx, &c->call, &plan, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    if ((r = make_buffer (w, &w->output, &w->output_bytes, plan.output_bytes, reterr)) < 0
        || (r = make_buffer (w, &w->workspace, &w->workspace_bytes, plan.workspace_bytes,
                             reterr)) < 0
        || (r = get_operands (w, c, &plan, &operands, reterr)) < 0)
        return r;
    if (!(ret->ns = dt_calloc (repeats, sizeof *ret->ns)))
        return dt_err_nomem (reterr);
    ret->n_ns = repeats;
    for (uint32_t i = 0; i < repeats; i++) { /* all of them: other ranks do not know of one */
        if ((r = run_once (w, c, operands, &ret->ns[i], reterr)) < 0 && r != -EAGAIN)
            return r;
        again |= r < 0;
    }
    if (again)
        return -EAGAIN;
    rp->body_case = DETENT__WORKER_REPLY__BODY_TIMES;
    rp->times = ret;
    return dt_device_state (&w->plugin, 0, ret->state, reterr);
}

/* A family that works over ranks has a fact of that name. */
static int is_collective (const struct dt_plugin_call *c)
{
    for (size_t i = 0; i < c->call.family->n_facts; i++)
        if (strcmp (c->call.family->facts[i].name, "ranks") == 0)
            return 1;
    return 0;
}

/* On every rank at once, if the call is of all. */
static int measure_ranks (struct worker *w, const struct dt_plugin_call *c,
                          const Detent__WorkerRequest *rq, Detent__WorkerReply *rp,
                          Detent__WorkerTimes *times, struct dt_err *reterr)
{
    int r;

    if (!w->ranks || !is_collective (c))
        return on_measure (w, c, rq->measure->repeats, rp, times, reterr);
    if ((r = dt_ranks_pass (w->ranks, rq, reterr)) < 0)
        return r;
    r = on_measure (w, c, rq->measure->repeats, rp, times, reterr);
    return dt_ranks_take (w->ranks, r, times, reterr);
}

/* At the devices of all ranks. */
static int look (struct worker *w, const Detent__WorkerRequest *rq, Detent__WorkerState *ret,
                 struct dt_err *reterr)
{
    Detent__WorkerTimes times = DETENT__WORKER_TIMES__INIT;
    int r;

    times.state = ret;
    if (w->ranks && (r = dt_ranks_pass (w->ranks, rq, reterr)) < 0)
        return r;
    r = dt_device_state (&w->plugin, 1, ret, reterr);
    return w->ranks ? dt_ranks_take (w->ranks, r, &times, reterr) : r;
}

/* A run whose time was missed is run again. */
static int measure (struct worker *w, const struct dt_plugin_call *c,
                    const Detent__WorkerRequest *rq, Detent__WorkerReply *rp,
                    Detent__WorkerTimes *times, struct dt_err *reterr)
{
    for (int turn = 0; turn < TRIES; turn++) {
        int r = measure_ranks (w, c, rq, rp, times, reterr);

        if (r != -EAGAIN || w->is_other)
            return r;
        dt_free (times->ns);
        times->ns = NULL;
        times->n_ns = 0;
    }
    return dt_err_prefix (reterr, -DT_EUNTRUSTED, "%d runs in a row", TRIES);
}

static int on_call (struct worker *w, const Detent__WorkerRequest *rq, Detent__WorkerReply *rp,
                    Detent__WorkerPlan *plan, Detent__WorkerTimes *times, struct dt_err *reterr)
{
    int timed = rq->body_case == DETENT__WORKER_REQUEST__BODY_MEASURE;
    const Detent__WorkerCall *m = timed ? rq->measure : rq->plan;
    struct dt_plugin_call c;
    int r;

    if (!w->plugin.backend)
        return dt_err_set (reterr, -DT_EINPUT, "no backend is open");
    if ((r = dt_plugin_call_init (&c, w->plugin.backend, m, reterr)) < 0)
        return r;
    r = timed ? measure (w, &c, rq, rp, times, reterr) : on_plan (w, &c, rp, plan, reterr);
    if (r < 0)
        dt_plugin_named (&c.call, r, reterr);
    dt_plugin_call_done (&c);
    return r;
}

static int on_certify (struct worker *w, const Detent__WorkerRequest *rq, Detent__WorkerReply *rp,
                       Detent__WorkerCertified *ret, struct dt_err *reterr)
{
    int r;

    rp->body_case = DETENT__WORKER_REPLY__BODY_CERTIFIED;
    rp->certified = ret;
    if (!w->plugin.backend)
        return dt_err_set (reterr, -DT_EINPUT, "no backend is open");
    if (rq->body_case == DETENT__WORKER_REQUEST__BODY_BATCH)
        return w->certify ? dt_certify_batch (w->certify, rq->batch, ret, reterr)
                          : dt_err_set (reterr, -DT_EINPUT, "a batch of no round");
    w->certify = dt_certify_free (w->certify);
    if ((r = dt_certify_new (&w->plugin, rq->certify, &w->certify, reterr)) < 0)
        return r;
    dt_certify_tell (w->certify, ret);
    return 0;
}

/* What is asked of devices; '*ret' is the reply's. */
static int on_device (struct worker *w, const Detent__WorkerRequest *rq, Detent__WorkerReply *rp,
                      struct dt_device_reply *ret, struct dt_err *reterr)
{
    int r;

    if (rq->body_case == DETENT__WORKER_REQUEST__BODY_DEVICES) {
        if ((r = dt_device_names (rq->devices, ret, reterr)) < 0)
            return r;
        rp->body_case = DETENT__WORKER_REPLY__BODY_DEVICES;
        rp->devices = &ret->names;
        return 0;
    }
    if (rq->body_case == DETENT__WORKER_REQUEST__BODY_IDENTIFY) {
        if ((r = dt_device_identify (rq->identify, ret, reterr)) < 0)
            return r;
        rp->body_case = DETENT__WORKER_REPLY__BODY_IDENTITY;
        rp->identity = &ret->who;
        return 0;
    }
    if (rq->body_case == DETENT__WORKER_REQUEST__BODY_PROBE)
        r = dt_device_probe (rq->probe, &ret->state, reterr);
    else if (!w->plugin.backend)
        r = dt_err_set (reterr, -DT_EINPUT, "no backend is open");
    else
        r = look (w, rq, &ret->state, reterr);
    rp->body_case = DETENT__WORKER_REPLY__BODY_STATE;
    rp->state = &ret->state;
    return r;
}

static int answer (struct worker *w, const Detent__WorkerRequest *rq, struct dt_err *reterr)
{
    Detent__WorkerReply rp = DETENT__WORKER_REPLY__INIT;
    Detent__WorkerPlan plan = DETENT__WORKER_PLAN__INIT;
    Detent__WorkerTimes times = DETENT__WORKER_TIMES__INIT;
    struct dt_device_reply device = DT_DEVICE_REPLY_INIT;
    struct dt_description about = { .schema = DETENT__WORKER_SCHEMA__INIT };
    Detent__WorkerCertified certified = DETENT__WORKER_CERTIFIED__INIT;
    struct dt_err what = { "" };
    int r;

    times.state = &device.state;
    switch (rq->body_case) {
    case DETENT__WORKER_REQUEST__BODY_DESCRIBE:
        r = dt_describe_plugin (rq->describe->backend, &about, &rp, &what);
        break;
    case DETENT__WORKER_REQUEST__BODY_OPEN:
        r = on_open (w, rq->open, &rp, &device.who, &what);
        break;
    case DETENT__WORKER_REQUEST__BODY_PLAN:
    case DETENT__WORKER_REQUEST__BODY_MEASURE:
        r = on_call (w, rq, &rp, &plan, &times, &what);
        break;
    case DETENT__WORKER_REQUEST__BODY_CERTIFY:
    case DETENT__WORKER_REQUEST__BODY_BATCH:
        r = on_certify (w, rq, &rp, &certified, &what);
        break;
    case DETENT__WORKER_REQUEST__BODY_DEVICES:
    case DETENT__WORKER_REQUEST__BODY_PROBE:
    case DETENT__WORKER_REQUEST__BODY_LOOK:
    case DETENT__WORKER_REQUEST__BODY_IDENTIFY:
        r = on_device (w, rq, &rp, &device, &what);
        break;
    default:
        r = dt_err_set (&what, -DT_EVERSION, "unknown request; the daemon is of another version");
    }
    r = r < 0 ? reply_error (w, r, &what, reterr) : reply (w, &rp, reterr);
    dt_free (times.ns);
    dt_describe_done (&about);
    dt_device_done (&device);
    return r;
}

int dt_worker_serve (int fd, struct dt_err *reterr)
{
    struct worker w = { .fd = fd };
    struct dt_buf frame;
    int r;

    dt_buf_init (&frame);
    for (;;) {
        Detent__WorkerRequest *rq;

        frame.len = 0;
        if ((r = dt_frame_read (fd, -1, &frame, reterr)) < 0)
            break;
        if (!(rq = detent__worker_request__unpack (NULL, frame.len, frame.data))) {
            struct dt_err what;

            dt_err_set (&what, -DT_EINPUT, "a frame is not a worker request");
            r = reply_error (&w, -DT_EINPUT, &what, reterr);
        } else {
            r = answer (&w, rq, reterr);
            detent__worker_request__free_unpacked (rq, NULL);
        }
        if (r < 0)
            break;
    }
    close_plugin (&w);
    dt_buf_done (&frame);
    return r == -DT_EWORKER ? 0 : r; /* the daemon closed: the normal end */
}
