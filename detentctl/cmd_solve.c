/* detentctl/cmd_solve.c - find the pins of a deployment. */
#include "base/mem.h"
#include "detentctl/collect.h"
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/dump.h"
#include "detentctl/site.h"
#include "trace/schema.h"

static const struct dt_ctl_option options[] = {
    { "strict", 0, NULL, "treat fields that are free by claim as binding" },
    { "no-free", 0, NULL, "treat all free fields as binding" },
    { "offline", 0, NULL, "solve in this process; needs no daemon and stores nothing" },
    { "why-illegal", 0, NULL, "print a counterexample for each illegal assignment" },
    { "dump", 0, "WHAT", "print graph, simplified, residual or code instead; solves offline" },
    { "dot", 0, NULL, "print the graph with its cut for dot(1) instead; solves offline" },
    { "programs", 0, "FOLDER", "where programs are that are not beside FILE" },
    { 0 },
};

static int ask (const struct dt_ctl *c, struct dt_collected *k, struct dt_solved *ret,
                struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__SolveRequest body = DETENT__SOLVE_REQUEST__INIT;
    Detent__File head, file[DT_SOURCE_MAX_FILES], *list[DT_SOURCE_MAX_FILES];
    Detent__Deployment deployment;
    Detent__Reply *reply = NULL;
    int r;

    dt_collected_message (k, &head, file, list, &deployment);
    body.deployment = &deployment;
    body.has_strict = body.strict = dt_ctl_flag (c, "strict");
    body.has_no_free = body.no_free = dt_ctl_flag (c, "no-free");
    rq.body_case = DETENT__REQUEST__BODY_SOLVE;
    rq.solve = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_SOLVE, 300, &reply, reterr)) < 0)
        return r;
    r = dt_solved_take (reply->solve->deployment, reply->solve->site, reply->solve->n_site, ret,
                        reterr);
    detent__reply__free_unpacked (reply, NULL);
    return r;
}

static int solve (const struct dt_ctl *c, struct dt_collected *k, struct dt_err *reterr)
{
    struct dt_solved v;
    int r = dt_ctl_flag (c, "offline")
                ? dt_solved_here (k, dt_ctl_flag (c, "strict"), dt_ctl_flag (c, "no-free"), &v,
                                  reterr)
                : ask (c, k, &v, reterr);

    if (r < 0)
        return r;
    dt_site_print (c, &v, dt_ctl_flag (c, "why-illegal") ? DT_SITE_ILLEGAL : DT_SITE_ALL);
    dt_solved_done (&v);
    return 0;
}

/* Graphs need the sources, and stay out of the store: they are made here. */
static int dump (const struct dt_ctl *c, const struct dt_collected *k, struct dt_err *reterr)
{
    struct dt_site_options how = { .strict = dt_ctl_flag (c, "strict"),
                                   .no_free = dt_ctl_flag (c, "no-free"),
                                   .input = dt_schema_check_input };
    const char *word = dt_ctl_value (c, "dump");
    enum dt_dump_what what = DT_DUMP_DOT;
    int r = 0;

    if (c->json || (word && dt_ctl_flag (c, "dot")))
        return dt_err_set (reterr, -DT_EUSAGE, "--dump, --dot and --json exclude each other");
    if (word && (r = dt_dump_parse (word, &what, reterr)) < 0)
        return r;
    return dt_dump (k, what, &how, reterr);
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    struct dt_collected k;
    int r;

    if ((r = dt_collect (c, c->arg[0], &k, reterr)) < 0)
        return r;
    r = dt_ctl_flag (c, "dump") || dt_ctl_flag (c, "dot") ? dump (c, &k, reterr)
                                                          : solve (c, &k, reterr);
    dt_collected_done (&k);
    return r;
}

const struct dt_ctl_command dt_cmd_solve = {
    "solve", "FILE", 1, 1, "Find the pins of a deployment and the values that they may take.",
    options, run,
};
