/* detentctl/cmd_status.c - is detentd there, and what does it hold? */
#include <inttypes.h>

#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/hold_view.h"
#include "detentctl/print.h"

struct row {
    const char *name;
    uint64_t value;
};
#define ROWS 10

/* Every number of the reply, by its name in JSON. */
static void rows_of (const Detent__StatusReply *s, struct row row[ROWS])
{
    const struct row all[ROWS] = {
        { "pid", s->pid },
        { "uptime_s", s->uptime_s },
        { "traces", s->traces },
        { "solutions", s->solutions },
        { "tuples", s->tuples },
        { "commits", s->commits },
        { "jobs_running", s->jobs_running },
        { "cache_hits", s->cache_hits },
        { "cache_misses", s->cache_misses },
        { "store_bytes", s->store_bytes },
    };

    for (size_t i = 0; i < ROWS; i++)
        row[i] = all[i];
}

static void line (const char *name, const char *value)
{
    dt_print (stdout, "%-13s %s", name, value);
    putchar ('\n');
}

static void print (const struct dt_ctl *c, const Detent__StatusReply *s)
{
    struct row row[ROWS];
    json_t *o, *r;

    rows_of (s, row);
    if (!c->json) {
        line ("detentd", s->version);
        line ("store", s->store);
        line ("signer", dt_hex (s->signer));
        for (size_t i = 0; i < ROWS; i++)
            printf ("%-13s %" PRIu64 "\n", row[i].name, row[i].value);
        dt_holds_print (s->hold, s->n_hold, "held");
        return;
    }
    o = dt_json_object ();
    for (size_t i = 0; i < ROWS; i++)
        dt_json_set (o, row[i].name, dt_json_u64 (row[i].value));
    dt_json_set (o, "held", dt_holds_json (s->hold, s->n_hold));
    dt_json_set (o, "daemon_version", dt_json_text (s->version));
    dt_json_set (o, "signer", dt_json_hex (s->signer));
    dt_json_set (o, "store", dt_json_text (s->store));
    r = dt_json_object ();
    dt_json_set (r, "status", o);
    dt_json_print (r);
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__StatusRequest body = DETENT__STATUS_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    rq.body_case = DETENT__REQUEST__BODY_STATUS;
    rq.status = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_STATUS, 30, &reply, reterr)) < 0)
        return r;
    print (c, reply->status);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_status = {
    "status", "", 0, 0, "Tell whether detentd is there, and what it holds.", NULL, run,
};
