/* trace/azure.c - Azure's request logs: TIMESTAMP,ContextTokens,GeneratedTokens. */
#include <string.h>

#include "trace/log.h"

enum { TIMESTAMP, CONTEXT, GENERATED, N_COLUMNS };
static const char *const column_name[N_COLUMNS] = { "TIMESTAMP", "ContextTokens",
                                                    "GeneratedTokens" };
#define MAX_COLUMNS 32

struct cell {
    const char *p;
    size_t n;
};

/* Split at commas; the number of cells, or MAX_COLUMNS + 1 if there are more.
 * These logs quote nothing: a quote is part of a cell, and refused there. */
static int split (const char *text, size_t len, struct cell cell[MAX_COLUMNS])
{
    const char *end = text + len, *comma;
    int n = 0;

    for (;; text = comma + 1) {
        if (n == MAX_COLUMNS)
            return MAX_COLUMNS + 1;
        comma = memchr (text, ',', (size_t)(end - text));
        cell[n++] = (struct cell){ text, (size_t)((comma ? comma : end) - text) };
        if (!comma)
            return n;
    }
}

/* Exactly `digits` decimal digits at c->p, which advances; -1 if they are not there. */
static int take_digits (struct cell *c, size_t digits)
{
    int v = 0;

    if (c->n < digits)
        return -1;
    for (size_t i = 0; i < digits; i++) {
        if (c->p[i] < '0' || c->p[i] > '9')
            return -1;
        v = v * 10 + (c->p[i] - '0');
    }
    c->p += digits;
    c->n -= digits;
    return v;
}

static int take_char (struct cell *c, const char *any)
{
    if (c->n == 0 || !strchr (any, *c->p))
        return -1;
    c->p++;
    c->n--;
    return 0;
}

/* Days since 1970-01-01 in the Gregorian calendar (years from March on, so that
 * the leap day comes last). */
static int64_t days (int year, int month, int day)
{
    int64_t y = year - (month <= 2), m = (month + 9) % 12;

    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static int month_days (int year, int month)
{
    static const int n[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return n[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

/* A fraction ".d..." of up to 9 digits, if there is one. */
static int take_fraction (struct cell *c, double *ret)
{
    double unit = 0.1;
    size_t n;

    *ret = 0;
    if (take_char (c, ".") < 0)
        return 0;
    for (n = 0; c->n && *c->p >= '0' && *c->p <= '9'; n++, unit /= 10)
        *ret += unit * take_digits (c, 1);
    return n >= 1 && n <= 9 ? 0 : -1;
}

/* "2023-11-16 18:15:46.6805900", with an optional UTC offset of zero. */
static int parse_time (struct cell c, double *ret)
{
    int year, month, day, hour, minute, second;
    double fraction;

    if ((year = take_digits (&c, 4)) < 1970 || take_char (&c, "-") < 0 ||
        (month = take_digits (&c, 2)) < 1 || month > 12 || take_char (&c, "-") < 0 ||
        (day = take_digits (&c, 2)) < 1 || day > month_days (year, month) ||
        take_char (&c, " T") < 0 || (hour = take_digits (&c, 2)) < 0 || hour > 23 ||
        take_char (&c, ":") < 0 || (minute = take_digits (&c, 2)) < 0 || minute > 59 ||
        take_char (&c, ":") < 0 || (second = take_digits (&c, 2)) < 0 || second > 60 ||
        take_fraction (&c, &fraction) < 0)
        return -1;
    if (c.n && !(c.n == 1 && *c.p == 'Z') && !(c.n == 6 && memcmp (c.p, "+00:00", 6) == 0))
        return -1;
    *ret = (double)((days (year, month, day) * 24 + hour) * 3600 + minute * 60 + second) + fraction;
    return 0;
}

static int parse_tokens (const struct dt_log *log, const char *name, struct cell c, int64_t *ret,
                         struct dt_err *reterr)
{
    int64_t v = 0;

    if (c.n == 0 || c.n > 18)
        return dt_log_error (log, reterr, "%s: '%.*s' is not a number of tokens", name,
                             (int)(c.n < 40 ? c.n : 40), c.p);
    for (size_t i = 0; i < c.n; i++) {
        if (c.p[i] < '0' || c.p[i] > '9')
            return dt_log_error (log, reterr, "%s: '%.*s' is not a whole number of tokens", name,
                                 (int)c.n, c.p);
        v = v * 10 + (c.p[i] - '0');
    }
    *ret = v;
    return 0;
}

static int header (struct dt_log *log, struct dt_log_state *s, const struct cell *cell, int n,
                   struct dt_err *reterr)
{
    for (int k = 0; k < N_COLUMNS; k++) {
        int at = 0;

        while (at < n && (cell[at].n != strlen (column_name[k]) ||
                          memcmp (cell[at].p, column_name[k], cell[at].n) != 0))
            at++;
        if (at == n)
            return dt_log_error (log, reterr, "no column %s; a header with %s,%s,%s is expected",
                                 column_name[k], column_name[TIMESTAMP], column_name[CONTEXT],
                                 column_name[GENERATED]);
        s->column[k] = at;
    }
    s->n_columns = n;
    return 0;
}

static int line (struct dt_log *log, struct dt_log_state *s, const char *text, size_t len,
                 struct dt_err *reterr)
{
    struct cell cell[MAX_COLUMNS], *time;
    int64_t prompt, output;
    double arrival_s;
    int n, r;

    if (log->line == 1 && len >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* a byte order mark */
        len -= 3;
    }
    if ((n = split (text, len, cell)) > MAX_COLUMNS)
        return dt_log_error (log, reterr, "more than %d columns", MAX_COLUMNS);
    if (s->n_columns == 0)
        return header (log, s, cell, n, reterr);
    if (n != s->n_columns)
        return dt_log_error (log, reterr, "%d columns; the header has %d", n, s->n_columns);
    time = &cell[s->column[TIMESTAMP]];
    if (parse_time (*time, &arrival_s) < 0)
        return dt_log_error (log, reterr, "%s: '%.*s' is not a time as 2023-11-16 18:15:46.680",
                             column_name[TIMESTAMP], (int)(time->n < 40 ? time->n : 40), time->p);
    if ((r = parse_tokens (log, column_name[CONTEXT], cell[s->column[CONTEXT]], &prompt, reterr)) < 0 ||
        (r = parse_tokens (log, column_name[GENERATED], cell[s->column[GENERATED]], &output, reterr)) < 0)
        return r;
    return dt_log_add (log, arrival_s, prompt, output, 0, reterr);
}

const struct dt_log_format dt_log_azure = { .name = "azure-csv", .line = line };
