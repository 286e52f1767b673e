/* Rivals: contexts that run the same batch beside the first, to contend. */
#include "profiler/certify_round.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

int dt_certify_open_rivals (struct dt_certify *c, const struct dt_plugin *plugin, uint32_t n,
                            struct dt_err *reterr)
{
    struct dt_backend_options options = { .units = plugin->backend->identity (plugin->ctx)->units,
                                          .device = plugin->device };
    struct dt_backend_error err = { "" };
    int r;

    if (n > DT_CERTIFY_MAX_RIVALS)
        return dt_err_set (reterr, -DT_ELIMIT, "%u rivals; at most %d", n, DT_CERTIFY_MAX_RIVALS);
    if (!(c->rival = dt_calloc (n, sizeof *c->rival)))
        return dt_err_nomem (reterr);
    for (; c->n_rivals < n; c->n_rivals++) {
        struct dt_certify_rival *v = &c->rival[c->n_rivals];

        if (!(v->param = dt_calloc (c->family->n_params, sizeof *v->param)))
            return dt_err_nomem (reterr);
        if ((r = c->b->open (&options, &v->ctx, &err)) < 0) {
            dt_free (v->param);
            return dt_err_set (reterr, r, "a context beside the first: %s", err.text);
        }
        v->round = c;
        dt_lane_init (&v->lane, c->b, v->ctx);
    }
    return 0;
}

void dt_certify_close_rivals (struct dt_certify *c)
{
    for (size_t i = 0; i < c->n_rivals; i++) {
        dt_lane_done (&c->rival[i].lane);
        c->b->close (c->rival[i].ctx);
        dt_free (c->rival[i].param);
    }
    dt_free (c->rival);
}

static void *contend (void *arg)
{
    struct dt_certify_rival *v = arg;

    do
        v->r = dt_lane_run (&v->lane, &v->call, dt_certify_poison[1], &v->err);
    while (v->r == 0 && !atomic_load (&v->round->stop));
    return NULL;
}

int dt_certify_start_rivals (struct dt_certify *c, const struct dt_backend_call *call,
                             struct dt_err *reterr)
{
    int r;

    atomic_store (&c->stop, 0);
    for (size_t i = 0; i < c->n_rivals; i++) {
        struct dt_certify_rival *v = &c->rival[i];

        memcpy (v->param, call->param, c->family->n_params * sizeof *v->param);
        v->call = *call;
        v->call.param = v->param;
        if ((r = dt_lane_fill (&v->lane, &v->call, dt_certify_next (c), dt_certify_poison[2],
                               reterr)) < 0)
            return r;
        if ((r = -pthread_create (&v->thread, NULL, contend, v)) < 0)
            return dt_err_set (reterr, r, "a thread to contend: %s", strerror (-r));
        v->started = 1;
    }
    return 0;
}

int dt_certify_stop_rivals (struct dt_certify *c, const uint32_t *ref,
                            Detent__WorkerCertified *ret, struct dt_err *reterr)
{
    int r = 0;

    atomic_store (&c->stop, 1);
    for (size_t i = 0; i < c->n_rivals; i++) {
        struct dt_certify_rival *v = &c->rival[i];

        if (!v->started)
            continue;
        pthread_join (v->thread, NULL);
        v->started = 0;
        if (r < 0)
            continue;
        if (v->r < 0)
            r = dt_err_set (reterr, v->r, "%s", v->err.text);
        else if ((r = dt_lane_read (&v->lane, &v->call, reterr)) == 0)
            dt_certify_compare (c, &v->lane, &v->call, ref, ", in the rival context", ret);
    }
    return r;
}
