/* detentd/incumbent.c - what a tie keeps: the newest commit's assignment of a site. */
#include "detentd/incumbent.h"

#include <string.h>

#include "tuner/tuple.h"

struct head {
    struct dt_digest tuple;
    int found;
};

static int take_head (void *ctx, const struct dt_commit_row *row)
{
    *(struct head *)ctx = (struct head){ row->tuple, 1 };
    return 0;
}

int dt_incumbent_find (struct dt_store *s, const char *deployment, const char *workload,
                       const struct dt_solution *solution, size_t otherwise,
                       struct dt_incumbent *ret, struct dt_err *reterr)
{
    struct dt_incumbent found = { otherwise, otherwise, 0 };
    struct head head = { .found = 0 };
    struct dt_buf tuple = { 0 };
    struct dt_err ignored;
    int r;

    if ((r = dt_store_commits (s, deployment, workload, 1, take_head, &head, reterr)) < 0)
        return r;
    if (head.found) {
        if ((r = dt_store_blob_get (s, "tuple", &head.tuple, &tuple, reterr)) < 0)
            goto fail;
        r = dt_tuple_assignment (&tuple, solution, &found.assignment, &ignored);
        if (r < 0 && r != -DT_ENOTFOUND) {
            dt_err_set (reterr, r, "%s", ignored.text);
            goto fail;
        }
        found.committed = r == 0;
    }
    *ret = found;
    r = 0;
fail:
    dt_buf_done (&tuple);
    return r;
}

const char *dt_incumbent_name (const struct dt_incumbent *i, const struct dt_tune_result *result)
{
    if (i->committed && result->incumbent == i->assignment)
        return "committed";
    return result->incumbent == i->otherwise ? "default" : "first usable";
}
