/* trace/log.h - what the parsers of log formats share: one file each.
 * Uses: trace/import.h.  Used by: trace/import.c, trace/azure.c, trace/mooncake.c. */
#ifndef DT_TRACE_LOG_H
#define DT_TRACE_LOG_H

#include "trace/import.h"

/* A log that grows. */
struct dt_log {
    struct dt_requests out;
    size_t room;
    size_t n_blocks, room_blocks; /* of out.blocks */
    uint64_t line;                /* the one being read, from 1 */
    size_t at;                    /* its first byte in the log  */
    struct dt_requests_lost *lost; /* NULL: a bad line ends it  */
};

/* -DT_EINPUT with "line N: " in front, and the line's first byte behind. */
int dt_log_error (const struct dt_log *log, struct dt_err *reterr, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
/* Append a request whose blocks are the last n_blocks appended; checks its times
 * (none may be before the last) and tokens (1..DT_LOG_MAX_TOKENS). */
int dt_log_add (struct dt_log *log, double arrival_s, int64_t prompt, int64_t output,
                size_t n_blocks, struct dt_err *reterr);
int dt_log_add_block (struct dt_log *log, uint64_t id, struct dt_err *reterr);

/* A format: `line` is called for each line without its end, that is not empty and
 * has no zero byte.  `state` is the format's own, zeroed at first. */
struct dt_log_state {
    int column[3]; /* azure: index of each column in the header */
    int n_columns; /* 0: no header so far */
};
struct dt_log_format {
    const char *name;
    int64_t block_tokens;
    int (*line) (struct dt_log *log, struct dt_log_state *state, const char *text, size_t len,
                 struct dt_err *reterr);
};
extern const struct dt_log_format dt_log_azure, dt_log_mooncake;

#endif
