/* detentctl/cmd_export.c - a committed selector as C source, or as it is. */
#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "detentctl/bundle.h"
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "selir/vm.h"
#include "solver/deployment.h"
#include "solver/export.h"

static const struct dt_ctl_option options[] = {
    { "deployment", 0, "NAME", "the deployment whose newest commit to export" },
    { "workload", 0, "NAME", "the workload whose newest commit to export" },
    { "site", 0, "SITE", "of this site, a name or FAMILY/SITE (may be left out where there is one)" },
    { "format", 0, "FORMAT", "c or blob" },
    { "stock", 0, NULL, "the unpinned selector, not the pinned one" },
    { "output", 'o', "FILE", "write it there (default: standard output)" },
    { 0 },
};

static int choose (const struct dt_ctl *c, const Detent__FetchReply *f,
                   const Detent__Selector **ret, struct dt_err *reterr)
{
    const char *site = dt_ctl_value (c, "site");
    size_t n = 0;

    for (size_t i = 0; i < f->n_selector; i++)
        if (!site || dt_site_is_called (f->selector[i]->family, f->selector[i]->site, site)) {
            *ret = f->selector[i];
            n++;
        }
    if (n == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "the commit has no selector of site '%s'",
                           site ? site : "");
    if (n > 1)
        return dt_err_set (reterr, -DT_EUSAGE, "the commit has %zu selectors%s%s: --site %sSITE",
                           n, site ? " of site " : "", site ? site : "", site ? "FAMILY/" : "");
    return 0;
}

/* "detent_attention_decoder"; the stock one is another function, so that both fit into
 * one program. */
static char *prefix_of (const Detent__Selector *s, int stock)
{
    char *p = dt_strf ("detent_%s_%s%s", s->family, s->site, stock ? "_stock" : "");

    for (char *at = p; at && *at; at++)
        if (!isalnum ((unsigned char)*at))
            *at = '_';
    return p;
}

static int to_c (const Detent__Selector *s, int stock, struct dt_buf *ret,
                 struct dt_err *reterr)
{
    ProtobufCBinaryData blob = stock ? s->stock : s->pinned;
    char *prefix = prefix_of (s, stock);
    struct dt_vm *vm = NULL;
    int r = prefix ? dt_vm_load (blob.data, blob.len, &vm, reterr) : dt_err_nomem (reterr);

    if (r == 0)
        r = dt_export_c (vm, prefix, ret, reterr);
    dt_vm_free (vm);
    dt_free (prefix);
    return r;
}

static int put (const struct dt_ctl *c, const void *data, size_t n, struct dt_err *reterr)
{
    const char *path = dt_ctl_value (c, "output");

    if (path)
        return dt_file_replace (path, data, n, 0644, reterr);
    fwrite (data, 1, n, stdout); /* main looks at stdout's state */
    return 0;
}

static int export (const struct dt_ctl *c, const Detent__FetchReply *f, struct dt_err *reterr)
{
    int stock = dt_ctl_flag (c, "stock"), r;
    const Detent__Selector *s = NULL;
    struct dt_bundle_facts facts;
    ProtobufCBinaryData blob;
    struct dt_buf b = { 0 };

    if ((r = dt_bundle_check (f, &facts, reterr)) < 0 || (r = choose (c, f, &s, reterr)) < 0)
        return r;
    blob = stock ? s->stock : s->pinned;
    if (!strcmp (dt_ctl_value (c, "format"), "blob"))
        return put (c, blob.data, blob.len, reterr);
    if ((r = to_c (s, stock, &b, reterr)) == 0)
        r = put (c, b.data, b.len, reterr);
    dt_buf_done (&b);
    return r;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const needed[] = { "deployment", "workload", "format", NULL };
    const char *deployment, *workload, *format;
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__FetchRequest body = DETENT__FETCH_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0
        || (r = dt_ctl_name (c, "deployment", &deployment, reterr)) < 0
        || (r = dt_ctl_name (c, "workload", &workload, reterr)) < 0)
        return r;
    format = dt_ctl_value (c, "format");
    if (c->json || (strcmp (format, "c") && strcmp (format, "blob")))
        return dt_err_set (reterr, -DT_EUSAGE, c->json ? "export prints no JSON: --format c or blob"
                                                       : "--format '%s' is neither c nor blob",
                           format);
    body.deployment = (char *)deployment;
    body.workload = (char *)workload;
    rq.body_case = DETENT__REQUEST__BODY_FETCH;
    rq.fetch = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_FETCH, 30, &reply, reterr)) < 0)
        return r;
    r = export (c, reply->fetch, reterr);
    detent__reply__free_unpacked (reply, NULL);
    return r;
}

const struct dt_ctl_command dt_cmd_export = {
    "export", "", 0, 0, "Write a committed selector as C source, or as its bytes.", options, run,
};
