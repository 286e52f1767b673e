/* tests/test_keys.c - what is in a key and what is not, and a store of another version. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "base/file.h"
#include "base/mem.h"
#include "detent/tuple.h"
#include "selir/program.h"
#include "solver/site.h"
#include "tests/daemon_rig.h"
#include "tests/suite.h"
#include "tuner/tuple.h"

#define DETENTD "detentd/detentd"

static struct dt_err err;

/* --- keys ---------------------------------------------------------------------------- */

/* One tuple of deployments/host-small.yaml, with one change in it or in its program. */
struct made {
    struct dt_digest key, bits;
    struct dt_buf tuple;
};

static char *read_top (const char *name)
{
    const char *top = getenv ("top_srcdir");
    char *path = dt_strf ("%s/%s", top ? top : ".", name);
    struct dt_buf b = { 0 };

    ck_assert_msg (dt_file_read (path, 1 << 20, &b, &err) == 0, "%s", err.text);
    dt_free (path);
    dt_buf_put (&b, "", 1);
    return (char *)b.data; /* the buffer's memory is dt_free's */
}

static char *changed (char *text, const char *from, const char *to)
{
    char *at = from ? strstr (text, from) : NULL, *ret;

    if (!from)
        return text;
    ck_assert_ptr_nonnull (at);
    ret = dt_strf ("%.*s%s%s", (int)(at - text), text, to, at + strlen (from));
    dt_free (text);
    return ret;
}

/* block_n 64, stride 1024, and 2 waves, wherever the solve lists them. */
static size_t assignment (const struct dt_solution *s)
{
    int64_t pin[2], knob[1] = { 2 };
    size_t i;

    ck_assert (s->n_pins == 2 && s->n_knobs == 1);
    for (size_t k = 0; k < 2; k++)
        pin[k] = strstr (s->pin[k].name, "block_n") ? 64 : 1024;
    ck_assert_msg (dt_solution_find (s, pin, knob, &i, &err) == 0, "%s", err.text);
    return i;
}

static void make (const char *from, const char *to, const char *program_from,
                  const char *program_to, struct made *ret)
{
    char *yaml = changed (read_top ("deployments/host-small.yaml"), from, to);
    char *text = changed (read_top ("programs/detent/attention.py"), program_from, program_to);
    struct dt_source source = { "attention.py", text, strlen (text) };
    struct dt_tuple_backend backend = { "host", "b1", "libm 2", "d1", "a processor", 2 };
    struct dt_site_options options = { 0 };
    struct dt_tuple_site site = { 0 };
    struct dt_deployment *d;
    struct dt_solution *s;
    struct dt_program *p;
    struct dt_digest full;

    memset (ret, 0, sizeof *ret);
    ck_assert_msg (dt_deployment_parse ("d.yaml", yaml, strlen (yaml), &d, &err) == 0, "%s",
                   err.text);
    ck_assert_msg (dt_site_solve (d, 0, &source, 1, &options, &s, &ret->key, &err) == 0, "%s",
                   err.text);
    ck_assert_int_eq (dt_program_parse (&source, 1, &p, &err), 0);
    ck_assert_int_eq (dt_program_digest (p, &site.program, &err), 0);
    backend.name = d->backend;
    site.solution = s;
    site.assignment = assignment (s);
    ck_assert_int_eq (dt_tuple_encode (d, &backend, &site, 1, &ret->tuple, &ret->bits, &full,
                                       &err), 0);
    dt_program_free (p);
    dt_solution_free (s);
    dt_deployment_free (d);
    dt_free (text);
    dt_free (yaml);
}

static const struct {
    const char *what, *from, *to;
    int key; /* is it in the solve's key too?  Of a backend only the schema is, where it is known. */
} different[] = {
    { "a flag", "      bf16: false", "      bf16: true", 1 },
    { "the backend", "backend: host", "backend: cuda", 0 },
    { "a token count", "token_budget: 128", "token_budget: 129", 1 },
    { "a fact beside the limits", "page_size: 16", "page_size: 32", 1 },
};

START_TEST (b16_distinct)
{
    struct made a, b;

    make (NULL, NULL, NULL, NULL, &a);
    make (different[_i].from, different[_i].to, NULL, NULL, &b);
    ck_assert_msg (!dt_digest_equal (&a.bits, &b.bits), "%s", different[_i].what);
    ck_assert_int_eq (!dt_digest_equal (&a.key, &b.key), different[_i].key);
    dt_buf_done (&a.tuple);
    dt_buf_done (&b.tuple);
}
END_TEST

static const char *const surroundings[] = { "HOME", "HOSTNAME", "container", "USER", "TMPDIR",
                                            "XDG_RUNTIME_DIR", "TZ", "LC_ALL" };

START_TEST (b16_surroundings_play_no_part)
{
    struct made a, b;

    make (NULL, NULL, NULL, NULL, &a);
    for (size_t i = 0; i < DT_ARRAY_SIZE (surroundings); i++)
        setenv (surroundings[i], "/somewhere/else", 1);
    make (NULL, NULL, NULL, NULL, &b);
    ck_assert (dt_digest_equal (&a.key, &b.key) && dt_digest_equal (&a.bits, &b.bits));
    ck_assert (a.tuple.len == b.tuple.len && !memcmp (a.tuple.data, b.tuple.data, a.tuple.len));
    dt_buf_done (&a.tuple);
    dt_buf_done (&b.tuple);
}
END_TEST

static struct dt_canon_value site_of (const struct made *m)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value v, site;

    ck_assert_int_eq (dt_canon_check (m->tuple.data, m->tuple.len, &v, &err), 0);
    ck_assert (dt_canon_next (dt_canon_get (dt_canon_get (v, "bits"), "sites"), &it, NULL, NULL,
                              &site));
    return site;
}

/* A permuted list moves every index; the tuple says values. */
START_TEST (b16_order_of_candidates)
{
    static const char *const maps[] = { "pins", "knobs", "facts" };
    struct made a, b;
    int64_t waves;

    make (NULL, NULL, NULL, NULL, &a);
    make (NULL, NULL, "(1, 2, 4), default=2", "(4, 1, 2), default=2", &b);
    for (size_t i = 0; i < DT_ARRAY_SIZE (maps); i++) {
        struct dt_canon_value x = dt_canon_get (site_of (&a), maps[i]);
        struct dt_canon_value y = dt_canon_get (site_of (&b), maps[i]);

        ck_assert (x.len > 0 && x.len == y.len && memcmp (x.at, y.at, x.len) == 0);
    }
    ck_assert_int_eq (dt_canon_as_int (dt_canon_get (dt_canon_get (site_of (&b), "knobs"),
                                                     "waves"), &waves), 0);
    ck_assert_int_eq (waves, 2);
    dt_buf_done (&a.tuple);
    dt_buf_done (&b.tuple);
}
END_TEST

/* --- a real daemon ------------------------------------------------------------------------ */

static struct rig rig;

static void setup (void)
{
    rig_init (&rig);
}

static void teardown (void)
{
    rig_done (&rig);
}

static int show (const char *deployment, const char *workload, Detent__Reply **ret)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__ShowRequest body = DETENT__SHOW_REQUEST__INIT;

    body.deployment = (char *)deployment;
    body.workload = (char *)workload;
    rq.body_case = DETENT__REQUEST__BODY_SHOW;
    rq.show = &body;
    return rig_call (&rig, &rq, ret, &err);
}

/* --- what a solve is stored under ------------------------------------------------------- */

#define TEXTS 4 /* the deployment, the program, its import, its data */
static const char *const text_names[TEXTS] = { "d.yaml", "main.py", "helper.py", "data.json" };
static const char *const plain[TEXTS] = {
    "version: 1\nname: flips\nmodel: m\nengine: {name: e, build: \"1\"}\nbackend: none\n"
    "limits: {max_batch: 8}\nsites:\n  - family: attention\n    site: one\n    program: main.py\n"
    "    calls_per_step: 1\n    facts: {data: data.json, bound: 9}\n"
    "claims:\n  - {family: attention, field: tile_m, reason: r, source: s}\n",
    "from __future__ import annotations\n"
    "from selir import Batch, Facts, Free, Record, Runtime, require, selection, table\n"
    "from helper import share\n\n"
    "class Model(Facts):\n    max_batch: int\n    data: str\n    bound: int\n\n"
    "class Call(Batch):\n    requests: Runtime[range(1, facts.max_batch + 1)]\n\n"
    "class Choice(Record):\n    block_n: int\n    tile_m: Free[int]\n    split: int\n\n"
    "@selection(family=\"attention\")\ndef choose(facts: Model, call: Call) -> Choice:\n"
    "    rows = table(facts.data)\n"
    "    n = 16 if call.requests > rows[\"few\"] else share()\n"
    "    require(call.requests < facts.bound, \"bounded\")\n"
    "    return Choice(block_n=n, tile_m=call.requests, split=1)\n",
    "from __future__ import annotations\n\ndef share() -> int:\n    return 32\n",
    "{\"few\": 4}\n",
};

/* Solve with one change; whether it came from the cache. */
static int solve_flip (size_t in, const char *from, const char *to, int strict, int no_free)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__SolveRequest solve = DETENT__SOLVE_REQUEST__INIT;
    Detent__Deployment d = DETENT__DEPLOYMENT__INIT;
    Detent__File file[TEXTS], *programs[TEXTS - 1];
    Detent__Reply *reply;
    char *text[TEXTS];
    int r;

    for (size_t i = 0; i < TEXTS; i++) {
        text[i] = changed (dt_strdup (plain[i]), i == in ? from : NULL, to);
        detent__file__init (&file[i]);
        file[i].name = (char *)text_names[i];
        file[i].data = (ProtobufCBinaryData){ strlen (text[i]), (uint8_t *)text[i] };
        if (i > 0)
            programs[i - 1] = &file[i];
    }
    d.file = &file[0];
    d.program = programs;
    d.n_program = TEXTS - 1;
    solve.deployment = &d;
    solve.has_strict = solve.has_no_free = 1;
    solve.strict = strict;
    solve.no_free = no_free;
    rq.body_case = DETENT__REQUEST__BODY_SOLVE;
    rq.solve = &solve;
    r = rig_call (&rig, &rq, &reply, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    r = reply->solve->site[0]->cached;
    rig_reply_free (reply);
    for (size_t i = 0; i < TEXTS; i++)
        dt_free (text[i]);
    return r;
}

static const struct {
    const char *what;
    size_t in;
    const char *from, *to;
    int strict, no_free;
    int hit; /* it changes no answer */
} flips[] = {
    { "a byte of the program", 1, "split=1", "split=2", 0, 0, 0 },
    { "a byte of its layout", 1, "split=1", "split =1", 0, 0, 0 },
    { "a byte of an import", 2, "return 32", "return 64", 0, 0, 0 },
    { "a byte of a data file", 3, "4", "5", 0, 0, 0 },
    { "a fact", 0, "bound: 9", "bound: 10", 0, 0, 0 },
    { "a limit", 0, "max_batch: 8", "max_batch: 7", 0, 0, 0 },
    { "the site's name", 0, "site: one", "site: two", 0, 0, 0 },
    { "what is claimed", 0, "field: tile_m", "field: split", 0, 0, 0 },
    { "strict", 0, NULL, NULL, 1, 0, 0 },
    { "no free fields", 0, NULL, NULL, 0, 1, 0 },
    { "a claim's reason", 0, "reason: r", "reason: q", 0, 0, 1 },
    { "the engine's build", 0, "build: \"1\"", "build: \"2\"", 0, 0, 1 },
};

/* Each is a miss, once; and none takes the others' place.  The backend's schema is
 * flipped in test_daemon, the solver's version in test_solve. */
START_TEST (every_component_is_in_the_key)
{
    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (solve_flip (0, NULL, NULL, 0, 0), 0);
    for (size_t i = 0; i < DT_ARRAY_SIZE (flips); i++)
        for (int again = 0; again < 2; again++)
            ck_assert_msg (solve_flip (flips[i].in, flips[i].from, flips[i].to, flips[i].strict,
                                       flips[i].no_free) == (again || flips[i].hit),
                           "%s, %d", flips[i].what, again);
    ck_assert_int_eq (solve_flip (0, NULL, NULL, 0, 0), 1);
}
END_TEST

static int ask_log (size_t *ret_n)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__LogRequest body = DETENT__LOG_REQUEST__INIT;
    Detent__Reply *reply;
    int r;

    rq.body_case = DETENT__REQUEST__BODY_LOG;
    rq.log = &body;
    if ((r = rig_call (&rig, &rq, &reply, &err)) < 0)
        return r;
    *ret_n = reply->log->n_commit;
    rig_reply_free (reply);
    return 0;
}

static void commit (const struct dt_digest *tuple, int code)
{
    Detent__Reply *reply;

    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", tuple, 0, NULL, &reply, &err), code);
    if (code == 0)
        rig_reply_free (reply);
}

static void fetch (int64_t sequence)
{
    Detent__Reply *reply;
    int r = rig_fetch (&rig, "dep", "chat", NULL, &reply, &err);

    ck_assert_msg (r == 0, "%s", err.text);
    ck_assert_int_eq (rig_check_bundle (reply->fetch), sequence);
    rig_reply_free (reply);
}

/* Every field under the bits digest is shown. */
START_TEST (b16_shown)
{
    struct dt_digest tuple = rig_seed (&rig, "dep", "chat", 1, 0, "", 100);
    static const char *const names[] = { "backend.build", "backend.device", "backend.driver",
                                         "backend.libraries", "backend.name", "backend.units",
                                         "deployment", "engine.build", "engine.name", "model" };
    Detent__Reply *reply;

    rig_start (&rig, DETENTD, NULL);
    commit (&tuple, 0);
    setenv ("HOME", "/somewhere/else", 1);
    fetch (1);
    ck_assert_int_eq (show ("dep", "chat", &reply), 0);
    for (size_t i = 0, k; i < DT_ARRAY_SIZE (names); i++) {
        for (k = 0; k < reply->show->n_environment
                    && strcmp (reply->show->environment[k]->name, names[i]) != 0; k++)
            ;
        ck_assert_msg (k < reply->show->n_environment, "%s is not shown", names[i]);
    }
    ck_assert_uint_gt (reply->show->site[0]->n_fact, 0);
    ck_assert_uint_eq (reply->show->site[0]->program.len, DT_DIGEST_BYTES);
    ck_assert_uint_eq (reply->show->site[0]->n_pin, 1);
    rig_reply_free (reply);
}
END_TEST

static void refused_by_version (int r)
{
    ck_assert_int_eq (r, -DT_EVERSION);
    ck_assert_msg (strstr (err.text, "newer detentd") && !strchr (err.text, '\n'), "%s", err.text);
}

static int submit (void)
{
    struct dt_buf trace = { 0 };
    Detent__Reply *reply;
    int r;

    rig_trace (1, &trace);
    r = rig_submit (&rig, "chat", &trace, &reply, &err);
    if (r == 0)
        rig_reply_free (reply);
    dt_buf_done (&trace);
    return r;
}

static int list_jobs (void)
{
    Detent__Reply *reply;
    int r;

    if ((r = rig_list_jobs (&rig, &reply, &err)) == 0)
        rig_reply_free (reply);
    return r;
}

/* A store that a newer detentd wrote: it starts, reads, and writes nothing; a table
 * that is no longer there costs only the requests that ask for it.  The older version
 * again: all of the history is there. */
START_TEST (b17_newer_store)
{
    struct dt_digest tuple = rig_seed (&rig, "dep", "chat", 1, 0, "", 100);
    int64_t version = rig_sql (&rig, "PRAGMA user_version");
    Detent__Reply *reply;
    char back[64];
    size_t n;

    rig_start (&rig, DETENTD, NULL);
    commit (&tuple, 0);
    ck_assert_int_eq (rig_stop (&rig), 0);
    rig_sql (&rig, "PRAGMA user_version = 99");
    rig_sql (&rig, "ALTER TABLE measurement RENAME TO measurement_v99");

    rig_start (&rig, DETENTD, NULL);
    fetch (1);
    ck_assert_int_eq (ask_log (&n), 0);
    ck_assert_uint_eq (n, 1);
    ck_assert_int_eq (show ("dep", "chat", &reply), 0);
    rig_reply_free (reply);
    commit (&tuple, -DT_EVERSION);
    refused_by_version (-DT_EVERSION);
    refused_by_version (submit ());
    refused_by_version (list_jobs ());
    fetch (1);
    ck_assert_int_eq (rig_stop (&rig), 0);
    ck_assert_int_eq (rig_sql (&rig, "PRAGMA user_version"), 99);

    rig_sql (&rig, "ALTER TABLE measurement_v99 RENAME TO measurement");
    snprintf (back, sizeof back, "PRAGMA user_version = %" PRId64, version);
    rig_sql (&rig, back);
    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (ask_log (&n), 0);
    ck_assert_uint_eq (n, 1);
    ck_assert_int_eq (submit (), 0);
    commit (&tuple, 0);
    fetch (2);
}
END_TEST

/* Scripts tell "another environment" from "not found". */
START_TEST (b17_exit_codes)
{
    ck_assert_int_eq (dt_err_exit (-DT_EENVIRONMENT), 9);
    ck_assert_int_eq (dt_err_exit (-DT_ENOTFOUND), 4);
    ck_assert_int_eq (dt_err_exit (-DT_EVERSION), 2);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("keys");
    TCase *tc = tcase_create ("keys"), *daemon = tcase_create ("daemon");

    tcase_add_loop_test (tc, b16_distinct, 0, (int)DT_ARRAY_SIZE (different));
    tcase_add_test (tc, b16_surroundings_play_no_part);
    tcase_add_test (tc, b16_order_of_candidates);
    tcase_add_test (tc, b17_exit_codes);
    tcase_set_timeout (tc, 60);
    tcase_add_checked_fixture (daemon, setup, teardown);
    tcase_set_timeout (daemon, 60);
    tcase_add_test (daemon, b16_shown);
    tcase_add_test (daemon, b17_newer_store);
    tcase_add_test (daemon, every_component_is_in_the_key);
    suite_add_tcase (s, tc);
    suite_add_tcase (s, daemon);
    return suite_run (s);
}
