/* base/log.c - lines for people, on stderr or in the journal. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* At most PIPE_BUF with every byte escaped and the frame around it, so that lines
 * of several processes do not mix in a pipe; what is longer is cut. */
#define TEXT 960
#define LINE (4 * TEXT + 80)

static atomic_int log_level = DT_LOG_INFO;
static atomic_int log_journal;

void dt_log_init (enum dt_log_level level, int journal)
{
    atomic_store (&log_level, (int)level);
    atomic_store (&log_journal, journal);
}

/* Copy text with control characters as \xNN; the new end. */
static char *escape (char *to, const char *text)
{
    static const char hex[] = "0123456789abcdef";

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c >= 0x20 && c != 0x7f) {
            *to++ = (char)c;
            continue;
        }
        *to++ = '\\';
        *to++ = 'x';
        *to++ = hex[c >> 4];
        *to++ = hex[c & 15];
    }
    return to;
}

void dt_log (enum dt_log_level level, const char *area, const char *format, ...)
{
    char text[TEXT], line[LINE], *end = line;
    int saved = errno;
    va_list ap;

    if ((int)level > atomic_load (&log_level))
        return;
    va_start (ap, format);
    if (vsnprintf (text, sizeof text, format, ap) < 0)
        text[0] = '\0';
    va_end (ap);
    if (atomic_load (&log_journal))
        end += snprintf (end, 16, "<%d>", (int)level);
    end += snprintf (end, 40, "%.32s: ", area);
    end = escape (end, text);
    *end++ = '\n';
    while (write (STDERR_FILENO, line, (size_t)(end - line)) < 0 && errno == EINTR)
        ;
    errno = saved; /* a line in between must not change what the caller reports */
}
