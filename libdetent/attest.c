/* libdetent/attest.c - is what the engine used what the selector gives? */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libdetent/selector.h"

struct line {
    char text[640];
    size_t len;
};

static void say (struct line *l, const char *before, const char *name, const char *sign,
                 int64_t value)
{
    int n = snprintf (l->text + l->len, sizeof l->text - l->len, "%s%s%s%" PRId64, before, name,
                      sign, value);

    if (n > 0)
        l->len = l->len + (size_t)n < sizeof l->text ? l->len + (size_t)n : sizeof l->text - 1;
}

/* "requests=2, longest_query=8": what the unpinned program would have followed. */
static void say_call (const struct detent_selector *s, const struct detent_call *call,
                      struct line *l)
{
    const struct dt_call c = { .n_requests = call->n_requests, .request = call->request };
    int64_t quantity[DT_SCHEMA_MAX_QUANTITIES] = { 0 };
    const struct dt_handle_site *at
        = dt_handle_site_find (s->d, dt_vm_family (s->vm), dt_vm_site (s->vm));
    const struct dt_vm *vm = at->vm[DETENT_UNPINNED];

    dt_schema_derive (s->schema, &c, quantity, NULL); /* it did when it was selected for */
    for (size_t i = 0; i < dt_vm_inputs (vm); i++) {
        const struct dt_vm_input *in = dt_vm_input (vm, i);

        if (in->klass == DT_VM_OWN)
            continue;
        say (l, l->len ? ", " : "", in->name, "=",
             quantity[dt_schema_quantity (s->schema, in->name)]);
    }
}

/* An enum member's text, any other value as a number. */
static const char *text_of (const struct detent_selector *s, size_t field, int64_t v,
                            char room[24])
{
    const char *member = dt_vm_output (s->vm, field)->type == DT_VM_TYPE_ENUM
                             ? dt_vm_enum (s->vm, v)
                             : NULL;

    snprintf (room, 24, "%" PRId64, v);
    return member ? member : room;
}

static int differs (const struct detent_selector *s, const struct detent_call *call,
                    size_t field, size_t request, int64_t expected, int64_t used, int code,
                    struct dt_err *err)
{
    struct line l = { "", 0 };
    char a[24], b[24];

    say_call (s, call, &l);
    if (s->each[field])
        say (&l, l.len ? ", " : "", "request", " ", (int64_t)request);
    return dt_err_set (err, code, "%s/%s: %s%sexpected %s %s, the engine used %s%s",
                       dt_vm_family (s->vm), dt_vm_site (s->vm), l.text, l.len ? ": " : "",
                       dt_vm_output (s->vm, field)->field, text_of (s, field, expected, a),
                       text_of (s, field, used, b), code ? "" : " (free: no bit depends on it)");
}

/* Compare one field: the first request that differs is told. */
static int compare (struct detent_selector *s, const struct detent_call *call, size_t field,
                    const int64_t *expected, const int64_t *used, size_t n, struct dt_err *err)
{
    int code = dt_vm_output (s->vm, field)->binding ? -DT_EREFUSED : 0;

    for (size_t k = 0; k < n; k++)
        if (expected[k] != used[k]) {
            s->attested.free_differs += code == 0;
            return differs (s, call, field, k, expected[k], used[k], code, err);
        }
    return 0;
}

int detent_attest (struct detent_selector *s, const struct detent_call *call,
                   const int64_t *used, struct detent_error *err)
{
    struct dt_err *e = dt_handle_err (err);
    struct detent_choice c;
    int r;

    if ((r = detent_select (s, call, &c, err)) < 0)
        return r;
    dt_err_set (e, 0, "%s", "");
    s->attested.calls++;
    for (size_t i = 0; r == 0 && i < s->n_out; i++) {
        size_t n = c.each[i] ? call->n_requests : 1;

        r = compare (s, call, i, c.each[i] ? c.each[i] : &c.value[i], used, n, e);
        used += n;
    }
    s->attested.refused += r < 0;
    return r;
}

struct detent_attested detent_attested (const struct detent_selector *s)
{
    return s->attested;
}
