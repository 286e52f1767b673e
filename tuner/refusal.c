/* tuner/refusal.c - what is said of an assignment that cannot be used. */
#include <stdio.h>
#include <string.h>

#include "tuner/cover.h"

#define QUANTITIES 3 /* of a call, that it is known by */

/* "requests=4 longest_query=1 longest_kv=6000" */
static void name_call (const struct dt_cover_at *at, char *text, size_t size)
{
    const struct dt_schema *s = at->site->schema;
    struct dt_call call = dt_trace_call_get (at->site, at->call);
    int64_t value[DT_SCHEMA_MAX_QUANTITIES];
    size_t n = 0;
    int k = 0;

    text[0] = 0;
    if (dt_schema_derive (s, &call, value, NULL) < 0)
        return;
    for (size_t i = 0; i < s->n_quantities && k < QUANTITIES && n < size; i++)
        if (!s->quantity[i].own)
            n += (size_t)snprintf (text + n, size - n, "%s%s=%lld", k++ ? " " : "",
                                   s->quantity[i].name, (long long)value[i]);
}

static void add_call (struct dt_tune_refusal *to, const struct dt_cover_at *at)
{
    size_t n = strlen (to->calls);
    char name[128];

    to->n_calls++;
    name_call (at, name, sizeof name);
    if (to->n_named == DT_TUNE_REFUSED_CALLS || n + strlen (name) + 3 > sizeof to->calls)
        return;
    snprintf (to->calls + n, sizeof to->calls - n, "%s%s", n ? "; " : "", name);
    to->n_named++;
}

void dt_cover_refuse (struct dt_cover *c, size_t assignment, size_t at, const char *why)
{
    struct dt_tune_refusal *to;

    for (size_t i = 0; i < c->n_refused && i < DT_TUNE_REFUSALS; i++)
        if (c->refusal[i].assignment == assignment) {
            add_call (&c->refusal[i], &c->at[at]);
            return;
        }
    if (c->n_refused++ >= DT_TUNE_REFUSALS)
        return;
    to = &c->refusal[c->n_refused - 1];
    *to = (struct dt_tune_refusal){ .assignment = assignment };
    snprintf (to->why, sizeof to->why, "%s", why);
    add_call (to, &c->at[at]);
}

char *dt_tune_refusal_text (const struct dt_tune_refusal *r, char text[DT_TUNE_REFUSAL_TEXT])
{
    char more[64] = "";

    if (r->n_calls > r->n_named)
        snprintf (more, sizeof more, "; and %zu more", r->n_calls - r->n_named);
    if (r->n_calls == 1)
        snprintf (text, DT_TUNE_REFUSAL_TEXT, "a call of %s: %s", r->calls, r->why);
    else
        snprintf (text, DT_TUNE_REFUSAL_TEXT, "%zu calls (%s%s): %s", r->n_calls, r->calls, more,
                  r->why);
    return text;
}
