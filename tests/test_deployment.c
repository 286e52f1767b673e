/* tests/test_deployment.c - solver/deployment, yaml, base/suggest: what is read, and
 * every refusal with its text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "solver/deployment.h"
#include "tests/suite.h"

#define HEAD "version: 1\nname: d\nmodel: m\nengine: {name: e, build: \"1\"}\nbackend: host\n"
#define LIMITS "limits: {max_batch: 4}\n"
#define SITE(more) "sites:\n- {family: f, site: s, program: f.py, calls_per_step: 1, facts: {" more "}}\n"
#define GOOD HEAD LIMITS SITE ("n: 1")
#define CLAIM "{family: f, field: tile, reason: r, source: s}"

static const struct {
    const char *text, *want; /* want "": accepted */
} cases[] = {
    { GOOD, "" },
    { GOOD "claims: [" CLAIM "]\n", "" },
    { "---\n" GOOD "...\n", "" },
    { "%YAML 1.1\n---\n" GOOD, "" },
    { HEAD LIMITS SITE ("a: 1.10, b: 0x1F, c: 1e3, d: no, e: 'true', g: true, h: -0, i: 007"), "" },
    { HEAD LIMITS SITE ("a: -9223372036854775808, b: 9223372036854775807"), "" },
    { HEAD LIMITS SITE (""), "" },
    /* YAML */
    { "", "d.yaml:1:1: the file is empty" },
    { "# nothing\n", "d.yaml:1:1: the file is empty" },
    { "x: &a 1\n", "d.yaml:1:4: anchors (&name) are not read" },
    { "x: &a [1]\n", "d.yaml:1:4: anchors (&name) are not read" },
    { "x: *a\n", "d.yaml:1:4: aliases (*name) are not read" },
    { "x: !!int 1\n", "d.yaml:1:4: tags (!name) are not read" },
    { "x: !t {}\n", "d.yaml:1:4: tags (!name) are not read" },
    { "[a]: 1\n", "d.yaml:1:1: a key must be text" },
    { GOOD "---\n" GOOD, "d.yaml:9:1: a second document; one is read" },
    { "name: a\nmodel: b\nname: a\n", "d.yaml:3:1: key \"name\" is here twice: lines 1 and 3" },
    { "a:\n\tb: 1\n", "d.yaml:2:1: found character that cannot start any token" },
    { "a: [1\n", "d.yaml:2:1: did not find expected ',' or ']'" },
    { "a: \"x\\0y\"\n", "d.yaml:1:4: a zero byte in text" },
    { "a: \xff\n", "d.yaml: byte 3: invalid leading UTF-8 octet" },
    { "[[[[[[[[[", "d.yaml:1:9: more than 8 lists and maps inside one another" },
    /* the deployment */
    { "[]", "d.yaml:1:1: an entry must be a map, not a list" },
    { "just text", "d.yaml:1:1: an entry must be a map, not the text \"just text\"" },
    { "nmae: d\n", "d.yaml:1:1: a deployment has no key \"nmae\"; did you mean \"name\"?" },
    { "colour: d\n", "d.yaml:1:1: a deployment has no key \"colour\"" },
    { "name: d\n", "d.yaml:1:1: a deployment needs the key \"version\"" },
    { "version: 2\n", "d.yaml:1:10: version must be 1 (the one version that is read), not the "
                      "integer 2" },
    { "version: 1.10\n", "d.yaml:1:10: version must be 1 (the one version that is read), not the "
                         "text \"1.10\"" },
    { "version: '1'\n", "d.yaml:1:10: version must be 1 (the one version that is read), not the "
                        "text \"1\"" },
    { "name: Big\n", "d.yaml:1:7: name \"Big\": a name is 1 to 63 of a-z 0-9 . _ - and starts "
                     "with a letter or digit" },
    { "name: -a\n", "d.yaml:1:7: name \"-a\": a name is 1 to 63 of a-z 0-9 . _ - and starts with "
                    "a letter or digit" },
    { "name: 7\n", "d.yaml:1:7: name must be text in quotes, not the integer 7" },
    { "name:\n", "d.yaml:1:6: name must be text, not nothing" },
    { "name: [a]\n", "d.yaml:1:7: name must be text, not a list" },
    { "model: true\n", "d.yaml:1:8: model must be text in quotes, not the bool true" },
    { "model: \"a\\nb\"\n", "d.yaml:1:8: model: a control character" },
    { "engine: {name: e, bulid: x}\n", "d.yaml:1:19: engine has no key \"bulid\"; did you mean "
                                       "\"build\"?" },
    { "engine: {name: e}\n", "d.yaml:1:9: engine needs the key \"build\"" },
    { "engine: {name: e, build: 1}\n", "d.yaml:1:26: build must be text in quotes, not the "
                                       "integer 1" },
    { "engine: e\n", "d.yaml:1:9: engine must be a map, not the text \"e\"" },
    { "parallelism: {tp: 0}\n", "d.yaml:1:19: tp must be an integer of at least 1, not the "
                                "integer 0" },
    { "limits: {max_batch: 1e3}\n", "d.yaml:1:21: max_batch must be an integer of at least 1, "
                                    "not the text \"1e3\"" },
    { "limits: {max_batch: 0x1F}\n", "d.yaml:1:21: max_batch must be an integer of at least 1, "
                                     "not the text \"0x1F\"" },
    { "limits: {max_batch: 99999999999999999999}\n",
      "d.yaml:1:21: max_batch must be an integer of at least 1, not the text "
      "\"99999999999999999999\"" },
    { "limits: {Max: 1}\n", "d.yaml:1:10: \"Max\": a fact's name is 1 to 63 of a-z 0-9 _ and "
                            "starts with a letter" },
    { "limits: {\"\": 1}\n", "d.yaml:1:10: \"\": a fact's name is 1 to 63 of a-z 0-9 _ and starts "
                             "with a letter" },
    { GOOD "graph_buckets: [1, 2, 8]\n", "" },
    { "graph_buckets: 3\n", "d.yaml:1:16: graph_buckets must be a list, not the integer 3" },
    { "graph_buckets: [1, x]\n", "d.yaml:1:20: graph_buckets: an entry must be an integer of at "
                                 "least 1" },
    { "graph_buckets: [2, 2]\n", "d.yaml:1:20: graph_buckets must ascend" },
    { "limits: 3\n", "d.yaml:1:9: limits must be a map, not the integer 3" },
    { "sites: {}\n", "d.yaml:1:8: sites must be a list, not a map" },
    { HEAD LIMITS "sites: []\n", "d.yaml:7:8: sites: at least one is needed" },
    { HEAD LIMITS "sites: [{}]\n", "d.yaml:7:9: a site needs the key \"family\"" },
    { HEAD LIMITS "sites: [3]\n", "d.yaml:7:9: an entry must be a map, not the integer 3" },
    { HEAD LIMITS "sites: [{famly: f}]\n", "d.yaml:7:10: a site has no key \"famly\"; did you "
                                           "mean \"family\"?" },
    { HEAD LIMITS "sites: [{program: ../f.py}]\n",
      "d.yaml:7:19: program \"../f.py\": must be the name of a .py file without a folder" },
    { HEAD LIMITS "sites: [{program: f.c}]\n",
      "d.yaml:7:19: program \"f.c\": must be the name of a .py file without a folder" },
    { HEAD LIMITS "sites: [{calls_per_step: 0}]\n",
      "d.yaml:7:26: calls_per_step must be an integer of at least 1, not the integer 0" },
    { HEAD LIMITS SITE ("n: [1]"), "d.yaml:8:69: n must be an integer, true, false or text, not "
                                   "a list" },
    { HEAD LIMITS SITE ("n: ''"), "d.yaml:8:69: n must be text, not nothing" },
    { HEAD LIMITS SITE ("max_batch: 4"), "d.yaml:8:66: \"max_batch\" is a fact of this site and "
                                         "one of the limits" },
    { GOOD "- {family: f, site: s, program: g.py, calls_per_step: 1, facts: {}}\n",
      "d.yaml:9:3: site \"s\" of family \"f\" is here twice" },
    { GOOD "claims: {}\n", "d.yaml:9:9: claims must be a list, not a map" },
    { GOOD "claims: [{family: f, field: x, reason: r}]\n",
      "d.yaml:9:10: a claim needs the key \"source\"" },
    { GOOD "claims: [{family: f, field: x, reason: '', source: s}]\n",
      "d.yaml:9:40: reason must be text, not nothing" },
    { GOOD "claims: [" CLAIM ", " CLAIM "]\n",
      "d.yaml:9:58: field \"tile\" of family \"f\" is claimed twice" },
    { GOOD "claims: [{family: g, field: x, reason: r, source: s}]\n",
      "d.yaml:9:10: a claim about family \"g\", which no site has" },
};

START_TEST (deployment_case)
{
    struct dt_deployment *d = NULL;
    struct dt_err err = { "" };
    const char *text = cases[_i].text;
    int r = dt_deployment_parse ("d.yaml", text, strlen (text), &d, &err);

    ck_assert_str_eq (err.text, cases[_i].want);
    if (*cases[_i].want) {
        ck_assert (r == -DT_EINPUT || r == -DT_ELIMIT);
        ck_assert_ptr_null (d);
    } else
        ck_assert_int_eq (r, 0);
    dt_deployment_free (d);
}
END_TEST

static struct dt_deployment *parse (const char *text)
{
    struct dt_deployment *d = NULL;
    struct dt_err err = { "" };

    ck_assert_msg (dt_deployment_parse ("d.yaml", text, strlen (text), &d, &err) == 0, "%s",
                   err.text);
    return d;
}

START_TEST (deployment_types)
{
    static const struct {
        const char *name;
        int kind;
        int64_t i;
        const char *s;
    } want[] = {
        { "max_batch", DT_FACT_INT, 4, NULL }, { "a", DT_FACT_STR, 0, "1.10" },
        { "b", DT_FACT_STR, 0, "0x1F" },       { "c", DT_FACT_STR, 0, "no" },
        { "g", DT_FACT_BOOL, 1, NULL },        { "h", DT_FACT_INT, -5, NULL },
        { "i", DT_FACT_STR, 0, "true" },       { "j", DT_FACT_STR, 0, "007" },
    };
    struct dt_deployment *d = parse (
        HEAD LIMITS SITE ("a: 1.10, b: 0x1F, c: no, g: true, h: -5, i: 'true', j: 007"));
    size_t i;

    ck_assert_uint_eq (d->site[0].n_facts, DT_ARRAY_SIZE (want));
    ck_assert_uint_eq (d->site[0].n_limits, 1);
    for (i = 0; i < DT_ARRAY_SIZE (want); i++) {
        const struct dt_fact *f = &d->site[0].fact[i];

        ck_assert_str_eq (f->name, want[i].name);
        ck_assert_int_eq (f->kind, want[i].kind);
        if (want[i].s)
            ck_assert_str_eq (f->s, want[i].s);
        else
            ck_assert_int_eq (f->i, want[i].i);
    }
    ck_assert_ptr_null (dt_site_fact (&d->site[0], "z"));
    ck_assert_int_eq (dt_deployment_find (d, "f", "s"), 0);
    ck_assert_int_eq (dt_deployment_find (d, "f", "t"), -1);
    ck_assert_str_eq (d->engine_build, "1");
    ck_assert_uint_eq (d->n_claims, 0);
    dt_deployment_free (d);
}
END_TEST

/* Ten thousand brackets, more than a MiB, 2,000 keys: refused at once. */
START_TEST (deployment_bombs)
{
    struct dt_buf b = { 0 };
    struct dt_deployment *d = NULL;
    struct dt_err err;
    int i;

    for (i = 0; i < 10000; i++)
        dt_buf_u8 (&b, '[');
    ck_assert_int_eq (dt_deployment_parse ("d.yaml", b.data, b.len, &d, &err), -DT_ELIMIT);
    b.len = 0;
    for (i = 0; i < 2000; i++)
        dt_buf_printf (&b, "k%d: 1\n", i);
    ck_assert_int_eq (dt_deployment_parse ("d.yaml", b.data, b.len, &d, &err), -DT_ELIMIT);
    ck_assert_str_eq (err.text, "d.yaml:1025:8: more than 1024 entries in one list or map");
    b.len = 0;
    dt_buf_printf (&b, "model: ");
    for (i = 0; i < (2 << 20); i++)
        dt_buf_u8 (&b, 'x');
    ck_assert_int_eq (dt_deployment_parse ("d.yaml", b.data, b.len, &d, &err), -DT_ELIMIT);
    ck_assert_str_eq (err.text, "d.yaml: 2097159 bytes; at most 1048576 are read");
    b.len = 0;
    dt_buf_printf (&b, "model: ");
    for (i = 0; i < 2000; i++)
        dt_buf_u8 (&b, 'x');
    ck_assert_int_eq (dt_deployment_parse ("d.yaml", b.data, b.len, &d, &err), -DT_EINPUT);
    ck_assert_str_eq (err.text, "d.yaml:1:8: model: text of more than 1024 bytes");
    ck_assert_ptr_null (d);
    dt_buf_done (&b);
}
END_TEST

/* The shipped example, and every proper prefix of it: refused or read, no crash. */
START_TEST (deployment_example)
{
    struct dt_buf b = { 0 };
    char path[512];
    const char *top = getenv ("top_srcdir");
    struct dt_deployment *d = NULL;
    struct dt_err err = { "" };
    size_t n;

    snprintf (path, sizeof path, "%s/deployments/host-small.yaml", top ? top : ".");
    ck_assert_msg (dt_file_read (path, 1 << 20, &b, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_deployment_parse ("host-small.yaml", b.data, b.len, &d, &err) == 0, "%s",
                   err.text);
    ck_assert_str_eq (d->name, "host-small");
    ck_assert_uint_eq (d->n_claims, 2);
    ck_assert_int_eq (dt_site_fact (&d->site[0], "max_context")->i, 32768);
    for (n = 0; n < b.len; n++) {
        struct dt_deployment *part = NULL;

        dt_deployment_parse ("host-small.yaml", b.data, n, &part, NULL);
        dt_deployment_free (part);
    }
    dt_deployment_free (d);
    dt_buf_done (&b);
}
END_TEST

START_TEST (deployment_nomem)
{
    struct dt_deployment *d = NULL;
    int r = -ENOMEM;
    size_t n;

    for (n = 0; r == -ENOMEM; n++) {
        dt_mem_fail_after (n);
        r = dt_deployment_parse ("d.yaml", GOOD, strlen (GOOD), &d, NULL);
        dt_mem_fail_after (SIZE_MAX);
    }
    ck_assert_int_eq (r, 0);
    ck_assert_uint_gt (n, 1);
    dt_deployment_free (d);
}
END_TEST

START_TEST (suggest)
{
    static const char *const name[] = { "tile_m", "tile_n", "splits" };

    ck_assert_str_eq (dt_suggest ("tile_k", name, 3), "tile_m");
    ck_assert_str_eq (dt_suggest ("tlie_n", name, 3), "tile_n");
    ck_assert_str_eq (dt_suggest ("splts", name, 3), "splits");
    ck_assert_ptr_null (dt_suggest ("block", name, 3));
    ck_assert_ptr_null (dt_suggest ("", name, 3));
    ck_assert_ptr_null (dt_suggest ("tile_m", name, 0));
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("solver/deployment");
    TCase *tc = tcase_create ("deployment");

    tcase_set_timeout (tc, 60);
    tcase_add_loop_test (tc, deployment_case, 0, DT_ARRAY_SIZE (cases));
    tcase_add_test (tc, deployment_types);
    tcase_add_test (tc, deployment_bombs);
    tcase_add_test (tc, deployment_example);
    tcase_add_test (tc, deployment_nomem);
    tcase_add_test (tc, suggest);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
