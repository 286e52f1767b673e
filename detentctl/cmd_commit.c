/* detentctl/cmd_commit.c - make a tuple what engines fetch. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "detentctl/commands.h"
#include "detentctl/commit_view.h"
#include "detentctl/connect.h"
#include "detentctl/print.h"

static const struct dt_ctl_option options[] = {
    { "deployment", 0, "NAME", "the deployment to commit for" },
    { "workload", 0, "NAME", "the workload to commit for" },
    { "message", 'm', "TEXT", "what the commit is for" },
    { "tuple", 0, "DIGEST", "commit this tuple (default: of the newest finished tune)" },
    { "author", 0, "NAME", "who commits (default: $DETENT_AUTHOR, else user@host)" },
    { "accept-sampled", 0, NULL, "commit although legality is sampled and not proved" },
    { "parent", 0, "DIGEST", "refuse if the newest commit is another" },
    { 0 },
};

static const char *author (const struct dt_ctl *c, char *text, size_t size)
{
    const char *s = dt_ctl_value (c, "author");
    const struct passwd *user;
    char host[65] = "";

    if (s || ((s = getenv ("DETENT_AUTHOR")) && *s))
        return s;
    user = getpwuid (getuid ());
    if (gethostname (host, sizeof host - 1) < 0)
        strcpy (host, "localhost");
    if (user)
        snprintf (text, size, "%s@%s", user->pw_name, host);
    else
        snprintf (text, size, "%u@%s", (unsigned)getuid (), host);
    return text;
}

static int check_message (const char *m, struct dt_err *reterr)
{
    if (!*m)
        return dt_err_set (reterr, -DT_EUSAGE, "--message is empty");
    if (strlen (m) > DT_WIRE_MAX_MESSAGE)
        return dt_err_set (reterr, -DT_EUSAGE, "--message has %zu bytes; at most %d", strlen (m),
                           DT_WIRE_MAX_MESSAGE);
    return 0;
}

static int fill (const struct dt_ctl *c, Detent__CommitRequest *body, struct dt_digest digest[2],
                 struct dt_err *reterr)
{
    const char *deployment, *workload;
    int r, has_tuple, has_parent;

    if ((r = dt_ctl_name (c, "deployment", &deployment, reterr)) < 0
        || (r = dt_ctl_name (c, "workload", &workload, reterr)) < 0
        || (r = check_message (dt_ctl_value (c, "message"), reterr)) < 0
        || (r = dt_ctl_digest (c, "tuple", &digest[0], &has_tuple, &body->tuple, reterr)) < 0
        || (r = dt_ctl_digest (c, "parent", &digest[1], &has_parent, &body->expected_parent,
                               reterr))
               < 0)
        return r;
    body->has_tuple = has_tuple;
    body->has_expected_parent = has_parent;
    body->deployment = (char *)deployment;
    body->workload = (char *)workload;
    body->message = (char *)dt_ctl_value (c, "message");
    body->has_accept_sampled = body->accept_sampled = dt_ctl_flag (c, "accept-sampled");
    return 0;
}

static void print (const struct dt_ctl *c, const Detent__CommitInfo *m)
{
    json_t *o;

    if (!c->json) {
        dt_commit_lines (m);
        return;
    }
    o = dt_json_object ();
    dt_json_set (o, "commit", dt_commit_json (m));
    dt_json_print (o);
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const needed[] = { "deployment", "workload", "message", NULL };
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__CommitRequest body = DETENT__COMMIT_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    struct dt_digest digest[2];
    char who[160];
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0 || (r = fill (c, &body, digest, reterr)) < 0)
        return r;
    body.author = (char *)author (c, who, sizeof who);
    rq.body_case = DETENT__REQUEST__BODY_COMMIT;
    rq.commit = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_COMMIT, 30, &reply, reterr)) < 0)
        return r;
    print (c, reply->commit->commit);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_commit = {
    "commit", "", 0, 0, "Commit a tuple: engines fetch it from then on.", options, run,
};
