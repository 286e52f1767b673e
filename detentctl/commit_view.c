/* detentctl/commit_view.c - commits, for people and as JSON. */
#include "detentctl/commit_view.h"

#include <inttypes.h>

#include "base/time.h"
#include "detentctl/print.h"

static void line (const char *name, const char *value)
{
    dt_print (stdout, "%-11s %s", name, value);
    putchar ('\n');
}

void dt_commit_lines (const Detent__CommitInfo *m)
{
    char time[DT_TIME_TEXT];

    line ("commit", dt_hex (m->digest));
    dt_print (stdout, "%-11s %" PRIu64 " of %s for %s", "sequence", m->sequence, m->deployment,
              m->workload);
    putchar ('\n');
    if (m->has_parent)
        line ("parent", dt_hex (m->parent));
    line ("author", m->author);
    line ("time", dt_time_text (m->time_ns, time));
    line ("message", m->message);
    line ("tuple", dt_hex (m->tuple));
    line ("bits", dt_hex (m->bits));
    line ("signer", dt_hex (m->signer));
    line ("legality", m->sampled ? "sampled, and that was accepted" : "proved or exhausted");
}

json_t *dt_commit_json (const Detent__CommitInfo *m)
{
    json_t *o = dt_json_object ();

    dt_json_set (o, "author", dt_json_text (m->author));
    dt_json_set (o, "bits", dt_json_hex (m->bits));
    dt_json_set (o, "deployment", dt_json_text (m->deployment));
    dt_json_set (o, "digest", dt_json_hex (m->digest));
    dt_json_set (o, "message", dt_json_text (m->message));
    dt_json_set (o, "parent", m->has_parent ? dt_json_hex (m->parent) : json_null ());
    dt_json_set (o, "sampled", json_boolean (m->sampled));
    dt_json_set (o, "sequence", dt_json_u64 (m->sequence));
    dt_json_set (o, "signer", dt_json_hex (m->signer));
    dt_json_set (o, "time", dt_json_time (m->time_ns));
    dt_json_set (o, "tuple", dt_json_hex (m->tuple));
    dt_json_set (o, "workload", dt_json_text (m->workload));
    return o;
}
