/* trace/prefix.h - which prompt blocks a prefix cache holds, least recently used
 * out first.
 * Uses: trace/import.h.  Used by: trace/schedule.c. */
#ifndef DT_TRACE_PREFIX_H
#define DT_TRACE_PREFIX_H

#include "trace/import.h"

struct dt_prefix;
/* A cache of `capacity` blocks for the requests of a log (borrowed).
 * -ENOMEM. */
int dt_prefix_new (const struct dt_requests *r, int64_t capacity, struct dt_prefix **ret,
                   struct dt_err *reterr);
struct dt_prefix *dt_prefix_free (struct dt_prefix *p); /* NULL ok; returns NULL */
/* How many of the request's first n blocks are held, in a row from the first one;
 * they become the most recently used. */
size_t dt_prefix_hit (struct dt_prefix *p, const struct dt_log_request *request, size_t n);
/* The request's first n blocks are computed: hold them. */
void dt_prefix_put (struct dt_prefix *p, const struct dt_log_request *request, size_t n);

#endif
