/* detentctl/commit_view.h - commits, for people and as JSON.
 * Uses: print.h.  Used by: cmd_{commit,log,show}.c. */
#ifndef DT_CTL_COMMIT_VIEW_H
#define DT_CTL_COMMIT_VIEW_H

#include <jansson.h>

#include "proto/wire.h"

void dt_commit_lines (const Detent__CommitInfo *m);
json_t *dt_commit_json (const Detent__CommitInfo *m);

#endif
