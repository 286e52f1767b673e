/* profiler/lane: what a backend says of a buffer is said of the call that it is for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/lane.h"
#include "tests/suite.h"

/* A family of one fact and one parameter, whose backend fails where it is told to. */
static const struct dt_backend_fact facts[] = { { .name = "n", .unit = "columns", .lo = 1, .hi = 1 << 20 } };
static const char *const fields[] = { "tokens" };
static const int64_t values[] = { 1, 2 };
static const struct dt_backend_param params[] = { { .name = "splits", .unit = "", .values = values, .n_values = 2,
                                                    .why = "a test's" } };
static const struct dt_backend_family family = { .name = "product", .facts = facts, .n_facts = 1,
                                                 .request_fields = fields, .n_request_fields = 1,
                                                 .params = params, .n_params = 1 };

static const char *fails; /* the entry, or NULL */
static int with;

static int met (const char *entry, struct dt_backend_error *err)
{
    if (!fails || strcmp (fails, entry) != 0)
        return 0;
    snprintf (err->text, sizeof err->text, "%s: cudaErrorLaunchFailure (719)", entry);
    return with;
}

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err)
{
    (void)ctx, (void)call, (void)err;
    *ret = (struct dt_backend_plan){ .operand_bytes = 64, .output_bytes = 64, .workspace_bytes = 64 };
    return 0;
}

static int alloc (struct dt_backend_ctx *ctx, size_t bytes, void **ret, struct dt_backend_error *err)
{
    int r = met ("alloc", err);

    (void)ctx;
    if (r == 0)
        *ret = malloc (bytes);
    return r;
}

static void release (struct dt_backend_ctx *ctx, void *buffer)
{
    (void)ctx;
    free (buffer);
}

static int set (struct dt_backend_ctx *ctx, void *buffer, int byte, size_t bytes, struct dt_backend_error *err)
{
    (void)ctx;
    memset (buffer, byte, bytes);
    return met ("set", err);
}

static int fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, uint64_t scatter,
                 void *operands, struct dt_backend_error *err)
{
    (void)ctx, (void)call, (void)scatter, (void)operands;
    return met ("fill", err);
}

static int run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, const void *operands,
                void *output, void *workspace, struct dt_backend_error *err)
{
    (void)ctx, (void)call, (void)operands, (void)output, (void)workspace;
    return met ("run", err);
}

static int read_out (struct dt_backend_ctx *ctx, const void *output, size_t offset, size_t bytes, void *ret,
                     struct dt_backend_error *err)
{
    (void)ctx;
    memcpy (ret, (const char *)output + offset, bytes);
    return met ("read", err);
}

static int rows (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, struct dt_backend_row *ret,
                 struct dt_backend_error *err)
{
    (void)ctx, (void)call, (void)err;
    ret[0] = (struct dt_backend_row){ .offset = 0, .length = 64 };
    return 0;
}

static const struct dt_backend backend = { .abi = DT_BACKEND_ABI, .families = &family, .n_families = 1,
                                           .plan = plan, .alloc = alloc, .free = release, .set = set,
                                           .fill = fill, .run = run, .read = read_out, .rows = rows };

static int whole_way (struct dt_err *err)
{
    const int64_t fact = 4096, tokens = 5;
    const uint64_t seed = 1;
    const struct dt_backend_value param = { .one = 2 };
    const struct dt_backend_call call = { .family = &family, .fact = &fact, .n_requests = 1, .request = &tokens,
                                          .seed = &seed, .param = &param };
    struct dt_lane lane;
    int r;

    dt_lane_init (&lane, &backend, NULL);
    if ((r = dt_lane_fill (&lane, &call, 0, 0xff, err)) == 0
        && (r = dt_lane_run (&lane, &call, 0xff, err)) == 0)
        r = dt_lane_read (&lane, &call, err);
    dt_lane_done (&lane);
    return r;
}

static const struct {
    const char *entry;
    int with, want;
    const char *named; /* where the lane names the call; the backend does elsewhere */
} cases[] = {
    { NULL, 0, 0, NULL },
    { "alloc", -ENOMEM, -DT_EDEVICE, "product requests=1 n=4096 tokens=5 splits=2: alloc: " },
    { "alloc", -DT_BACKEND_ELOST, -DT_ELOST, "product requests=1 n=4096 tokens=5 splits=2: alloc: " },
    { "set", -DT_BACKEND_ELOST, -DT_ELOST, "product requests=1 n=4096 tokens=5 splits=2: set: " },
    { "read", -DT_BACKEND_ELOST, -DT_ELOST, "product requests=1 n=4096 tokens=5 splits=2: read: " },
    { "fill", -DT_BACKEND_ELOST, -DT_ELOST, "fill: " },
    { "run", -DT_BACKEND_ELOST, -DT_ELOST, "run: " },
};

START_TEST (failure)
{
    struct dt_err err = { "" };

    fails = cases[_i].entry;
    with = cases[_i].with;
    ck_assert_int_eq (whole_way (&err), cases[_i].want);
    if (!cases[_i].named)
        return;
    ck_assert_msg (strncmp (err.text, cases[_i].named, strlen (cases[_i].named)) == 0
                   && strstr (err.text, "cudaErrorLaunchFailure (719)"), "%s", err.text);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("profiler/lane");
    TCase *tc = tcase_create ("lane");

    tcase_add_loop_test (tc, failure, 0, DT_ARRAY_SIZE (cases));
    suite_add_tcase (s, tc);
    return suite_run (s);
}
