/* base/log.h - lines for people, on stderr or in the journal.
 * Uses: nothing of ours.  Used by: mains and the daemon's loop only; libraries
 * return text instead. */
#ifndef DT_BASE_LOG_H
#define DT_BASE_LOG_H

enum dt_log_level { DT_LOG_ERROR = 3, DT_LOG_WARNING = 4, DT_LOG_INFO = 6, DT_LOG_DEBUG = 7 };

/* Lines above `level` are dropped.  With `journal`, lines start with "<N>" so
 * that systemd reads their priority. */
void dt_log_init (enum dt_log_level level, int journal);
/* "area: text"; thread-safe, one write per line; control characters and
 * newlines inside the text are written as \xNN.  Cut after 959 bytes of text.
 * Keeps errno. */
void dt_log (enum dt_log_level level, const char *area, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

#endif
