/* detentctl/cmd_fetch.c - fetch what an engine would, check it, and keep it. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "detentctl/bundle.h"
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/print.h"

#define MAGIC "DTBUNDLE1\n" /* as libdetent keeps its last good bundle */

static const struct dt_ctl_option options[] = {
    { "deployment", 0, "NAME", "the deployment to fetch for" },
    { "workload", 0, "NAME", "the workload to fetch for" },
    { "snapshot", 0, "DIGEST", "this commit (default: the newest)" },
    { "output", 'o', "FILE", "write the bundle there, as an engine keeps it" },
    { 0 },
};

static int keep (const char *path, const Detent__FetchReply *f, struct dt_err *reterr)
{
    size_t n = detent__fetch_reply__get_packed_size (f), head = strlen (MAGIC);
    uint8_t *data = dt_calloc (head + n, 1);
    int r;

    if (!data)
        return dt_err_nomem (reterr);
    memcpy (data, MAGIC, head);
    detent__fetch_reply__pack (f, data + head);
    r = dt_file_replace (path, data, head + n, 0600, reterr);
    dt_free (data);
    return r;
}

static ProtobufCBinaryData bytes_of (const struct dt_digest *d)
{
    return (ProtobufCBinaryData){ DT_DIGEST_BYTES, (uint8_t *)d->bytes };
}

static void print_text (const Detent__FetchReply *f, const struct dt_bundle_facts *k)
{
    static const struct dt_column columns[] = { { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },
                                                { "SELECTOR BYTES", DT_RIGHT },
                                                { "STOCK BYTES", DT_RIGHT }, { 0 } };
    struct dt_sheet *t = dt_sheet_new (columns);

    printf ("%-9s %s\n%-9s %" PRId64 "\n%-9s %s\n%-9s %s\n%-9s %s\n", "commit",
            dt_hex (bytes_of (&k->commit)), "sequence", k->sequence, "tuple",
            dt_hex (bytes_of (&k->tuple)), "bits", dt_hex (bytes_of (&k->bits)), "signer",
            dt_hex (f->signer));
    puts ("checked   signature, digests of tuple and selectors");
    for (size_t i = 0; i < f->n_selector; i++) {
        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", f->selector[i]->family);
        dt_sheet_cell (t, "%s", f->selector[i]->site);
        dt_sheet_cell (t, "%zu", f->selector[i]->pinned.len);
        dt_sheet_cell (t, "%zu", f->selector[i]->stock.len);
    }
    dt_sheet_print (t, "Selectors");
}

static void print_json (const Detent__FetchReply *f, const struct dt_bundle_facts *k)
{
    json_t *o = dt_json_object (), *r = dt_json_object (), *a = dt_json_array ();

    for (size_t i = 0; i < f->n_selector; i++) {
        json_t *s = dt_json_object ();

        dt_json_set (s, "family", dt_json_text (f->selector[i]->family));
        dt_json_set (s, "pinned_bytes", dt_json_u64 (f->selector[i]->pinned.len));
        dt_json_set (s, "site", dt_json_text (f->selector[i]->site));
        dt_json_set (s, "stock_bytes", dt_json_u64 (f->selector[i]->stock.len));
        dt_json_append (a, s);
    }
    dt_json_set (o, "bits", dt_json_hex (bytes_of (&k->bits)));
    dt_json_set (o, "certificates", dt_json_u64 (f->n_certificate));
    dt_json_set (o, "commit", dt_json_hex (bytes_of (&k->commit)));
    dt_json_set (o, "selectors", a);
    dt_json_set (o, "sequence", json_integer (k->sequence));
    dt_json_set (o, "signer", dt_json_hex (f->signer));
    dt_json_set (o, "snapshot", dt_json_hex (f->snapshot));
    dt_json_set (o, "tuple", dt_json_hex (bytes_of (&k->tuple)));
    dt_json_set (r, "bundle", o);
    dt_json_print (r);
}

static int fill (const struct dt_ctl *c, Detent__FetchRequest *body, struct dt_digest *snapshot,
                 struct dt_err *reterr)
{
    const char *deployment, *workload;
    int r, has;

    if ((r = dt_ctl_name (c, "deployment", &deployment, reterr)) < 0
        || (r = dt_ctl_name (c, "workload", &workload, reterr)) < 0
        || (r = dt_ctl_digest (c, "snapshot", snapshot, &has, &body->snapshot, reterr)) < 0)
        return r;
    body->has_snapshot = has;
    body->deployment = (char *)deployment;
    body->workload = (char *)workload;
    return 0;
}

static int finish (const struct dt_ctl *c, const Detent__FetchReply *f, struct dt_err *reterr)
{
    const char *path = dt_ctl_value (c, "output");
    struct dt_bundle_facts k;
    int r;

    if ((r = dt_bundle_check (f, &k, reterr)) < 0
        || (path && (r = keep (path, f, reterr)) < 0))
        return r;
    (c->json ? print_json : print_text) (f, &k);
    return 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const needed[] = { "deployment", "workload", NULL };
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__FetchRequest body = DETENT__FETCH_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    struct dt_digest snapshot;
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0 || (r = fill (c, &body, &snapshot, reterr)) < 0)
        return r;
    rq.body_case = DETENT__REQUEST__BODY_FETCH;
    rq.fetch = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_FETCH, 30, &reply, reterr)) < 0)
        return r;
    r = finish (c, reply->fetch, reterr);
    detent__reply__free_unpacked (reply, NULL);
    return r;
}

const struct dt_ctl_command dt_cmd_fetch = {
    "fetch", "", 0, 0, "Fetch what an engine would, check it, and keep it.", options, run,
};
