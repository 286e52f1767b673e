/* detentd/publish.h - events for whoever subscribes.
 * Uses: detentd/ask.h.  Used by: req_*.c, jobs.c.
 *
 * A message has two parts: the topic ("trace", "solve", "job", "commit") and a
 * packed Reply with id 0 whose body says what happened.  Slow subscribers lose
 * events; nothing waits for them. */
#ifndef DT_DETENTD_PUBLISH_H
#define DT_DETENTD_PUBLISH_H

#include "detentd/ask.h"

void dt_publish (struct dt_daemon *d, const char *topic, const Detent__Reply *reply);

#endif
