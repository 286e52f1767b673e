/* detentctl/cmd_certify.c - find out which values are free; list, show and revoke what
 * says so. */
#include "detentctl/certificate_view.h"
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/forced.h"
#include "detentctl/job.h"

static const struct dt_ctl_option options[] = {
    { "family", 0, "NAME", "only sites of this family" },
    { "site", 0, "NAME", "only this site" },
    { "assignment", 0, "LIST", "only assignments with these pins and knobs, as "
                               "SITE:NAME=VALUE,..." },
    { "repeats", 0, "N", "run each combination so often in each batch (default: 2)" },
    { "rivals", 0, "N", "contexts that run beside, to contend (default: 1)" },
    { "seed", 0, "N", "of batches and free values (default: 1)" },
    { "anew", 0, NULL, "certify also what has certificates that hold" },
    { "device", 0, "N", "on this device of the backend (default: 0)" },
    { "shared", 0, NULL, "also beside other processes on the device" },
    { "detach", 0, NULL, "print the job's number and do not wait for its end" },
    { "list", 0, NULL, "list certificates, of the deployment or of all" },
    { "show", 0, "DIGEST", "show one certificate, by at least 6 digits" },
    { "revoke", 0, "DIGEST", "revoke one; engines that need it refuse to start" },
    { "why", 0, "TEXT", "why it is revoked" },
    { 0 },
};

static int print_reply (const struct dt_ctl *c, Detent__Request *rq, int whole,
                        struct dt_err *reterr)
{
    Detent__Reply *reply = NULL;
    int r = dt_ctl_call (c, rq, DETENT__REPLY__BODY_CERTIFICATE_LIST, 30, &reply, reterr);

    if (r < 0)
        return r;
    r = dt_certificates_print (c, reply->certificate_list, whole, reterr);
    detent__reply__free_unpacked (reply, NULL);
    return r;
}

static int list (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__CertificateListRequest body = DETENT__CERTIFICATE_LIST_REQUEST__INIT;

    body.deployment = c->n_args ? c->arg[0] : NULL;
    body.prefix = (char *)dt_ctl_value (c, "show");
    rq.body_case = DETENT__REQUEST__BODY_CERTIFICATE_LIST;
    rq.certificate_list = &body;
    return print_reply (c, &rq, body.prefix != NULL, reterr);
}

static int revoke (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__CertificateRevokeRequest body = DETENT__CERTIFICATE_REVOKE_REQUEST__INIT;

    if (!dt_ctl_value (c, "why"))
        return dt_err_set (reterr, -DT_EUSAGE, "certify --revoke needs --why TEXT");
    body.prefix = (char *)dt_ctl_value (c, "revoke");
    body.why = (char *)dt_ctl_value (c, "why");
    rq.body_case = DETENT__REQUEST__BODY_CERTIFICATE_REVOKE;
    rq.certificate_revoke = &body;
    return print_reply (c, &rq, 1, reterr);
}

static int fill (const struct dt_ctl *c, Detent__CertifyRequest *body, struct dt_err *reterr)
{
    int r;

    if ((r = dt_ctl_u32 (c, "repeats", UINT32_MAX, &body->repeats, &body->has_repeats,
                         reterr)) < 0
        || (r = dt_ctl_u32 (c, "rivals", UINT32_MAX, &body->rivals, &body->has_rivals,
                         reterr)) < 0
        || (r = dt_ctl_u32 (c, "device", DT_WIRE_MAX_DEVICE, &body->device, &body->has_device,
                            reterr)) < 0
        || (r = dt_ctl_u64 (c, "seed", INT64_MAX, &body->seed, reterr)) < 0)
        return r;
    body->has_seed = dt_ctl_flag (c, "seed");
    body->has_anew = body->anew = dt_ctl_flag (c, "anew");
    body->has_shared = body->shared = dt_ctl_flag (c, "shared");
    body->has_detach = body->detach = dt_ctl_flag (c, "detach");
    body->deployment = c->arg[0];
    body->family = (char *)dt_ctl_value (c, "family");
    body->site = (char *)dt_ctl_value (c, "site");
    return 0;
}

static int certify (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__CertifyRequest body = DETENT__CERTIFY_REQUEST__INIT;
    struct dt_forced forced;
    int r;

    if (c->n_args == 0)
        return dt_err_set (reterr, -DT_EUSAGE, "certify: argument missing: DEPLOYMENT (detentctl "
                           "certify --help)");
    if ((r = fill (c, &body, reterr)) < 0
        || (r = dt_forced_parse (c, "assignment", &forced, reterr)) < 0)
        return r;
    body.assignment = forced.list;
    body.n_assignment = forced.n;
    rq.body_case = DETENT__REQUEST__BODY_CERTIFY;
    rq.certify = &body;
    r = dt_job_follow (c, &rq, reterr);
    dt_forced_done (&forced);
    return r;
}

/* What would be left out of account is refused: a revocation is for good. */
static int check_modes (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const of_rounds[] = { "family", "site", "assignment", "repeats", "rivals",
                                             "seed", "anew", "device", "shared", "detach", NULL };
    int modes = dt_ctl_flag (c, "list") + dt_ctl_flag (c, "show") + dt_ctl_flag (c, "revoke");

    if (modes > 1)
        return dt_err_set (reterr, -DT_EUSAGE, "certify: one of --list, --show and --revoke");
    if (dt_ctl_flag (c, "revoke") && c->n_args)
        return dt_err_set (reterr, -DT_EUSAGE, "certify --revoke: unexpected argument '%s'",
                           c->arg[0]);
    for (size_t i = 0; modes && of_rounds[i]; i++)
        if (dt_ctl_flag (c, of_rounds[i]))
            return dt_err_set (reterr, -DT_EUSAGE, "certify: --%s does not go with --list, --show "
                               "and --revoke", of_rounds[i]);
    return 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    int r = check_modes (c, reterr);

    if (r < 0)
        return r;
    if (dt_ctl_value (c, "revoke"))
        return revoke (c, reterr);
    if (dt_ctl_value (c, "why"))
        return dt_err_set (reterr, -DT_EUSAGE, "certify: --why goes with --revoke");
    if (dt_ctl_flag (c, "list") || dt_ctl_value (c, "show"))
        return list (c, reterr);
    return certify (c, reterr);
}

const struct dt_ctl_command dt_cmd_certify = {
    "certify", "[DEPLOYMENT]", 0, 1,
    "Run each site's kernels for every free value and compare all bits.", options, run,
};
