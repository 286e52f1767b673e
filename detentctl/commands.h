/* detentctl/commands.h - one command a file: cmd_NAME.c.
 * Uses: options.h.  Used by: commands.c. */
#ifndef DT_CTL_COMMANDS_H
#define DT_CTL_COMMANDS_H

#include "detentctl/options.h"

extern const struct dt_ctl_command dt_cmd_deployment_check, dt_cmd_deployment_new,
    dt_cmd_solve, dt_cmd_pins, dt_cmd_trace_import, dt_cmd_trace_submit, dt_cmd_trace_list, dt_cmd_trace_show, dt_cmd_tune,
    dt_cmd_jobs, dt_cmd_jobs_release, dt_cmd_attach, dt_cmd_cancel, dt_cmd_commit, dt_cmd_log, dt_cmd_show,
    dt_cmd_explain, dt_cmd_certify, dt_cmd_coverage, dt_cmd_export, dt_cmd_fetch, dt_cmd_selir_check, dt_cmd_selir_run, dt_cmd_status, dt_cmd_completion;

#endif
