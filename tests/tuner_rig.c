/* tests/tuner_rig.c - a solved deployment and a trace, for tests of the tuner. */
#include "tests/tuner_rig.h"

#include <check.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "trace/import.h"

static void read_top (const char *name, struct dt_buf *ret)
{
    const char *top = getenv ("top_srcdir");
    char *path = dt_strf ("%s/%s", top ? top : ".", name);
    struct dt_err err = { "" };

    ck_assert_msg (dt_file_read (path, 1 << 20, ret, &err) == 0, "%s", err.text);
    dt_free (path);
}

static void make_trace (struct tuner_rig *rig)
{
    struct dt_scheduler s = dt_scheduler_default ();
    struct dt_requests log;
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };

    read_top ("trace/samples/azure_conv_sample.csv", &b);
    ck_assert_int_eq (dt_requests_parse ("azure-csv", b.data, b.len, 60, &log, &err), 0);
    rig->trace = dt_trace_new ();
    ck_assert_int_eq (dt_trace_add_site (rig->trace, "attention", "decoder", 4, &err), 0);
    ck_assert_msg (dt_schedule (&log, &s, rig->trace, NULL, &err) == 0, "%s", err.text);
    dt_requests_done (&log);
    dt_buf_done (&b);
}

void tuner_rig_init (struct tuner_rig *rig)
{
    struct dt_buf yaml = { 0 };
    struct dt_source source = { .name = "attention.py" };
    struct dt_site_options options = { 0 };
    struct dt_err err = { "" };

    *rig = (struct tuner_rig){ 0 };
    read_top ("tests/tuner-deployment.yaml", &yaml);
    read_top ("programs/detent/attention.py", &rig->program);
    source.text = (const char *)rig->program.data;
    source.len = rig->program.len;
    ck_assert_msg (dt_deployment_parse ("tuner-deployment.yaml", yaml.data, yaml.len, &rig->deployment,
                                        &err) == 0, "%s", err.text);
    ck_assert_msg (dt_site_solve (rig->deployment, 0, &source, 1, &options, &rig->solution, NULL,
                                  &err) == 0, "%s", err.text);
    dt_buf_done (&yaml);
    make_trace (rig);
}

void tuner_rig_done (struct tuner_rig *rig)
{
    dt_trace_free (rig->trace);
    dt_solution_free (rig->solution);
    dt_deployment_free (rig->deployment);
    dt_buf_done (&rig->program);
}
