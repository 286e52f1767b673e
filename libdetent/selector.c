/* libdetent/selector.c - make a selector, and say what its fields are. */
#include "libdetent/selector.h"

#include "base/mem.h"

static void map_inputs (struct detent_selector *s)
{
    for (size_t i = 0; i < dt_vm_inputs (s->vm); i++) {
        const struct dt_vm_input *in = dt_vm_input (s->vm, i);
        size_t q = (size_t)dt_schema_quantity (s->schema, in->name); /* verify.c has looked */

        if (in->klass == DT_VM_OWN)
            s->own_field[s->n_own++] = s->schema->own_field[q];
        else
            s->in_quantity[s->n_in++] = q;
    }
    s->n_out = dt_vm_outputs (s->vm);
}

static int64_t *array (size_t n, size_t m)
{
    return dt_calloc (n ? n : 1, (m ? m : 1) * sizeof (int64_t));
}

static int make_seen (struct detent_selector *s)
{
    size_t n_fields = s->schema->n_fields, most = s->max_requests * n_fields;
    uint8_t is_own[DT_VM_MAX_OUTPUTS];

    for (size_t i = 0; i < s->n_out; i++)
        is_own[i] = dt_vm_output (s->vm, i)->own;
    if (dt_seen_init (&s->few, DT_SELECTOR_FEW_WORDS, DT_SELECTOR_FEW_BITS, n_fields, s->n_out,
                      is_own) < 0)
        return -1;
    if (most <= DT_SELECTOR_FEW_WORDS)
        return 0;
    most = most < DT_SELECTOR_MANY_WORDS ? most : DT_SELECTOR_MANY_WORDS;
    return dt_seen_init (&s->many, most, DT_SELECTOR_MANY_BITS, n_fields, s->n_out, is_own);
}

static int make_memory (struct detent_selector *s)
{
    if (!(s->regs = array (dt_vm_registers (s->vm), 1))
        || !(s->own = array (s->max_requests, s->n_own))
        || !(s->own_out = array (s->max_requests, s->n_out))
        || !(s->missing = dt_calloc (s->max_requests, sizeof *s->missing))
        || !(s->calls = array (DT_SELECTOR_CALLS, 1 + s->n_in + s->n_out))
        || !(s->requests = array (DT_SELECTOR_REQUESTS, 1 + s->n_own + s->n_out))
        || make_seen (s) < 0)
        return -1;
    for (size_t i = 0; i < s->n_out; i++)
        if (dt_vm_output (s->vm, i)->own && !(s->each[i] = array (s->max_requests, 1)))
            return -1;
    return 0;
}

int detent_selector_new (const struct detent *d, const char *family, const char *site,
                         size_t max_requests, struct detent_selector **ret,
                         struct detent_error *err)
{
    const struct dt_handle_site *at = dt_handle_site_find (d, family, site);
    struct dt_err *e = dt_handle_err (err);
    struct detent_selector *s;

    if (!at)
        return dt_err_set (e, -DT_ENOTFOUND, "the tuple of %s/%s has no site %s/%s: add it to the "
                           "deployment, solve, tune and commit", d->deployment, d->workload,
                           family, site);
    if (max_requests == 0 || max_requests > DT_SELECTOR_MAX_REQUESTS)
        return dt_err_set (e, -DT_EINPUT, "max_requests is %zu; 1 to %d are possible",
                           max_requests, DT_SELECTOR_MAX_REQUESTS);
    if (!d->stock && !d->backend_ok)
        return dt_err_set (e, -DT_EENVIRONMENT, "%s/%s: the loaded backend was not checked: call "
                           "detent_check_backend first", family, site);
    if (!(s = dt_calloc (1, sizeof *s)))
        return dt_err_nomem (e);
    s->d = d;
    s->vm = at->vm[d->stock ? DETENT_UNPINNED : DETENT_PINNED];
    s->schema = dt_schema_find (family);
    s->max_requests = max_requests;
    map_inputs (s);
    if (make_memory (s) < 0) {
        detent_selector_free (s);
        return dt_err_nomem (e);
    }
    dt_vm_prepare (s->vm, s->regs);
    *ret = s;
    return 0;
}

void detent_selector_free (struct detent_selector *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_out; i++)
        dt_free (s->each[i]);
    dt_seen_done (&s->few);
    dt_seen_done (&s->many);
    dt_free (s->regs);
    dt_free (s->own);
    dt_free (s->own_out);
    dt_free (s->missing);
    dt_free (s->calls);
    dt_free (s->requests);
    dt_free (s);
}

size_t detent_selector_fields (const struct detent_selector *s)
{
    return s->n_out;
}

const char *detent_selector_field (const struct detent_selector *s, size_t i)
{
    return i < s->n_out ? dt_vm_output (s->vm, i)->field : NULL;
}

int detent_selector_binding (const struct detent_selector *s, size_t i)
{
    return i < s->n_out && dt_vm_output (s->vm, i)->binding;
}

const char *detent_selector_text (const struct detent_selector *s, int64_t value)
{
    return dt_vm_enum (s->vm, value);
}
