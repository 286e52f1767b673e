/* trace/import.c - public request logs, line by line. */
#include "trace/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "trace/log.h"

static const struct dt_log_format *const formats[] = { &dt_log_azure, &dt_log_mooncake };

static const struct dt_log_format *format_find (const char *name)
{
    for (size_t i = 0; i < DT_ARRAY_SIZE (formats); i++)
        if (strcmp (formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

const char *const *dt_requests_formats (void)
{
    static const char *const names[] = { "azure-csv", "mooncake-jsonl", NULL };

    return names;
}

void dt_requests_done (struct dt_requests *r)
{
    dt_free (r->request);
    dt_free (r->blocks);
    *r = (struct dt_requests){ 0 };
}

int dt_log_error (const struct dt_log *log, struct dt_err *reterr, const char *format, ...)
{
    char text[256];
    va_list ap;

    va_start (ap, format);
    vsnprintf (text, sizeof text, format, ap);
    va_end (ap);
    return dt_err_set (reterr, -DT_EINPUT, "line %llu: %s (byte %zu)", (unsigned long long)log->line,
                       text, log->at);
}

static int check_tokens (const struct dt_log *log, const char *what, int64_t n,
                         struct dt_err *reterr)
{
    if (n >= 1 && n <= DT_LOG_MAX_TOKENS)
        return 0;
    return dt_log_error (log, reterr, "%lld %s tokens; 1 to %d are possible", (long long)n, what,
                         DT_LOG_MAX_TOKENS);
}

/* Times are kept as the log has them until the end: see from_first. */
int dt_log_add (struct dt_log *log, double arrival_s, int64_t prompt, int64_t output,
                size_t n_blocks, struct dt_err *reterr)
{
    struct dt_requests *o = &log->out;
    int r;

    if ((r = check_tokens (log, "prompt", prompt, reterr)) < 0 ||
        (r = check_tokens (log, "output", output, reterr)) < 0)
        return r;
    if (o->n && arrival_s < o->request[o->n - 1].arrival_s)
        return dt_log_error (log, reterr, "earlier than the request before; sort the log by time");
    if (o->n == DT_LOG_MAX_REQUESTS)
        return dt_err_set (reterr, -DT_ELIMIT, "line %llu: more than %u requests",
                           (unsigned long long)log->line, DT_LOG_MAX_REQUESTS);
    if (dt_grow ((void **)&o->request, &log->room, o->n, sizeof *o->request) < 0)
        return dt_err_nomem (reterr);
    o->request[o->n++] = (struct dt_log_request){ arrival_s, prompt, output, NULL, n_blocks };
    return 0;
}

int dt_log_add_block (struct dt_log *log, uint64_t id, struct dt_err *reterr)
{
    if (dt_grow ((void **)&log->out.blocks, &log->room_blocks, log->n_blocks, sizeof id) < 0)
        return dt_err_nomem (reterr);
    log->out.blocks[log->n_blocks++] = id;
    return 0;
}

/* Times from the first request, and pointers to blocks that no longer move. */
static void finish (struct dt_log *log, int64_t block_tokens)
{
    struct dt_requests *o = &log->out;
    double first = o->request[0].arrival_s;
    size_t at = 0;

    for (size_t i = 0; i < o->n; i++) {
        o->request[i].arrival_s -= first;
        o->request[i].block = o->request[i].n_blocks ? o->blocks + at : NULL;
        at += o->request[i].n_blocks;
    }
    o->block_tokens = block_tokens;
}

/* The next line without its end; 0 at the end of the log. */
static int next_line (struct dt_log *log, const char **p, const char *end, const char **ret,
                      size_t *ret_len)
{
    const char *start = *p, *lf;

    if (start == end)
        return 0;
    lf = memchr (start, '\n', (size_t)(end - start));
    *p = lf ? lf + 1 : end;
    *ret = start;
    *ret_len = (size_t)((lf ? lf : end) - start);
    if (*ret_len && start[*ret_len - 1] == '\r')
        --*ret_len;
    log->line++;
    return 1;
}

static int parse_line (const struct dt_log_format *f, struct dt_log *log,
                       struct dt_log_state *state, const char *text, size_t len,
                       struct dt_err *reterr)
{
    if (len > DT_LOG_MAX_LINE)
        return dt_log_error (log, reterr, "longer than %u bytes", DT_LOG_MAX_LINE);
    if (len && memchr (text, 0, len))
        return dt_log_error (log, reterr, "a zero byte: this is not text");
    return len ? f->line (log, state, text, len, reterr) : 0;
}

/* A line that is no request is left out, with the blocks it named so far. */
static void leave_out (struct dt_log *log, size_t n_blocks, const struct dt_err *why)
{
    log->n_blocks = n_blocks;
    if (log->lost->lines++ == 0)
        snprintf (log->lost->first, sizeof log->lost->first, "%.255s", why->text);
}

static int parse_lines (const struct dt_log_format *f, const char *data, size_t n, size_t limit,
                        struct dt_log *log, struct dt_err *reterr)
{
    struct dt_log_state state = { 0 };
    const char *p = data, *end = data + n, *text;
    size_t len;
    int r;

    while ((limit == 0 || log->out.n < limit) && next_line (log, &p, end, &text, &len)) {
        size_t n_blocks = log->n_blocks;
        struct dt_err why = { "" };

        log->at = (size_t)(text - data);
        r = parse_line (f, log, &state, text, len, &why);
        if (r == -DT_EINPUT && log->lost)
            leave_out (log, n_blocks, &why);
        else if (r < 0)
            return dt_err_set (reterr, r, "%s", why.text);
    }
    return log->out.n ? 0 : dt_err_set (reterr, -DT_EINPUT, "the log has no requests");
}

static int parse (const char *format, const void *data, size_t n, size_t limit,
                  struct dt_requests_lost *lost, struct dt_requests *ret, struct dt_err *reterr)
{
    static const uint8_t gzip[] = { 0x1f, 0x8b }, zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
    const struct dt_log_format *f = format_find (format);
    struct dt_log log = { .lost = lost };
    int r;

    if (!f)
        return dt_err_set (reterr, -DT_EINPUT, "unknown log format '%.32s'; azure-csv and "
                           "mooncake-jsonl are known", format);
    if ((n >= sizeof gzip && memcmp (data, gzip, sizeof gzip) == 0) ||
        (n >= sizeof zstd && memcmp (data, zstd, sizeof zstd) == 0))
        return dt_err_set (reterr, -DT_EINPUT, "line 1: the log is compressed; unpack it first");
    if (n == 0)
        return dt_err_set (reterr, -DT_EINPUT, "the log is empty");
    if ((r = parse_lines (f, data, n, limit, &log, reterr)) < 0) {
        dt_requests_done (&log.out);
        return r;
    }
    finish (&log, f->block_tokens);
    *ret = log.out;
    return 0;
}

int dt_requests_parse (const char *format, const void *data, size_t n, size_t limit,
                       struct dt_requests *ret, struct dt_err *reterr)
{
    return parse (format, data, n, limit, NULL, ret, reterr);
}

int dt_requests_salvage (const char *format, const void *data, size_t n, size_t limit,
                         struct dt_requests *ret, struct dt_requests_lost *ret_lost,
                         struct dt_err *reterr)
{
    struct dt_requests_lost lost = { 0 };
    int r = parse (format, data, n, limit, &lost, ret, reterr);

    if (r == 0)
        *ret_lost = lost;
    return r;
}
