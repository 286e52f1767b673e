/* detentctl/commands.c - the list of commands. */
#include "detentctl/commands.h"

#include <stddef.h>

const struct dt_ctl_command *const dt_ctl_commands[] = {
    &dt_cmd_deployment_check,
    &dt_cmd_deployment_new,
    &dt_cmd_solve,
    &dt_cmd_pins,
    &dt_cmd_explain,
    &dt_cmd_certify,
    &dt_cmd_coverage,
    &dt_cmd_trace_import,
    &dt_cmd_trace_submit,
    &dt_cmd_trace_list,
    &dt_cmd_trace_show,
    &dt_cmd_tune,
    &dt_cmd_jobs_release, /* before the one word that it starts with */
    &dt_cmd_jobs,
    &dt_cmd_attach,
    &dt_cmd_cancel,
    &dt_cmd_commit,
    &dt_cmd_log,
    &dt_cmd_show,
    &dt_cmd_fetch,
    &dt_cmd_export,
    &dt_cmd_selir_check,
    &dt_cmd_selir_run,
    &dt_cmd_status,
    &dt_cmd_completion,
    NULL,
};
