/* tests/test_tuple.c - the commitment tuple's bytes and its two digests. */
#include "tuner/tuple.h"

#include <errno.h>
#include <string.h>

#include "base/canon.h"
#include "base/mem.h"
#include "detent/tuple.h"
#include "tests/suite.h"
#include "tests/tuner_rig.h"

/* Of the setting below: another digest here means that committed tuples no longer
 * compare with new ones, and needs another DETENT_TUPLE_VERSION (or that the
 * deployment or the program of the setting changed its facts, pins or knobs). */
#define GOLDEN_BITS "c95088e46b3f2e9f6c48fb3b146fc38611384fcd1c9598b2a7a5e1741c900bad"
#define GOLDEN_FULL "c941d1dae4fff70b21b37271e31b91e4b012bffe715b1e5d4d374dcad02785aa"

/* Two sites of one solved program; the second is the first under another name. */
struct setting {
    struct dt_deployment d;
    struct dt_site site[2];
    struct dt_fact fact[16], parallelism[1];
    struct dt_tuple_backend backend;
    struct dt_solution solution[2];
    struct dt_tuple_site tuple[2];
};

static struct tuner_rig rig;

static void setup (void)
{
    tuner_rig_init (&rig);
}
static void teardown (void)
{
    tuner_rig_done (&rig);
}

static void fill (struct setting *s)
{
    memset (s, 0, sizeof *s);
    s->d = *rig.deployment;
    s->site[0] = s->site[1] = rig.deployment->site[0];
    s->site[0].site = "encoder";
    ck_assert_uint_le (s->site[1].n_facts, DT_ARRAY_SIZE (s->fact));
    memcpy (s->fact, s->site[1].fact, s->site[1].n_facts * sizeof *s->fact);
    s->site[1].fact = s->fact;
    s->d.site = s->site;
    s->d.n_sites = 2;
    s->parallelism[0] = rig.deployment->parallelism[0];
    s->d.parallelism = s->parallelism;
    s->backend = (struct dt_tuple_backend){ "host", "b1", "libm 2.36", "", "a processor", 2 };
    s->solution[0] = s->solution[1] = *rig.solution; /* shallow: only names differ */
    s->solution[1].site = "encoder";
    for (size_t i = 0; i < 2; i++)
        s->tuple[i] = (struct dt_tuple_site){ &s->solution[i], 0, dt_digest_of ("program", "p", 1),
                                              dt_digest_of ("selector", "a", 1),
                                              dt_digest_of ("selector", "b", 1) };
}

static void encode (const struct setting *s, struct dt_buf *b, struct dt_digest *bits,
                    struct dt_digest *full)
{
    struct dt_err err = { "" };

    ck_assert_msg (dt_tuple_encode (&s->d, &s->backend, s->tuple, 2, b, bits, full, &err) == 0, "%s",
                   err.text);
}

/* The digests are those of the bytes, and the bytes are those of the description. */
START_TEST (golden)
{
    static struct setting s;
    struct dt_buf b = { 0 };
    struct dt_digest bits, full, again;
    struct dt_canon_value v, part, site;
    struct dt_canon_iter it = { 0 };
    char hex[DT_DIGEST_HEX], text[64];
    int64_t n;

    fill (&s);
    encode (&s, &b, &bits, &full);
    ck_assert_str_eq (dt_digest_hex (&bits, hex), GOLDEN_BITS);
    ck_assert_str_eq (dt_digest_hex (&full, hex), GOLDEN_FULL);
    again = dt_digest_of (DETENT_DIGEST_TUPLE, b.data, b.len);
    ck_assert (dt_digest_equal (&again, &full));
    ck_assert_int_eq (dt_canon_check (b.data, b.len, &v, NULL), 0);
    ck_assert_uint_eq (dt_canon_count (v), 4);
    part = dt_canon_get (v, "bits");
    again = dt_digest_of (DETENT_DIGEST_BITS, part.at, part.len);
    ck_assert (dt_digest_equal (&again, &bits));
    ck_assert (dt_canon_next (dt_canon_get (part, "sites"), &it, NULL, NULL, &site));
    ck_assert_int_eq (dt_canon_as_str (dt_canon_get (site, "site"), text, sizeof text), 0);
    ck_assert_str_eq (text, "decoder");
    ck_assert_int_eq (dt_canon_as_int (dt_canon_get (dt_canon_get (site, "facts"), "max_query"), &n), 0);
    ck_assert_int_eq (n, 512);
    ck_assert_uint_eq (dt_canon_count (dt_canon_get (site, "pins")), s.solution[0].n_pins);
    ck_assert_uint_eq (dt_canon_count (dt_canon_get (site, "knobs")), s.solution[0].n_knobs);
    dt_buf_done (&b);
}
END_TEST

/* A float is its shortest text, which no other float has. */
START_TEST (float_knob)
{
    static struct setting s;
    struct dt_solution_knob *knob;
    struct dt_buf b = { 0 };
    struct dt_digest bits, full;
    struct dt_canon_value v, site;
    struct dt_canon_iter it = { 0 };
    char text[64];
    int64_t value = dt_op_bits (0.85);

    fill (&s);
    ck_assert_uint_gt (s.solution[0].n_knobs, 0);
    ck_assert_ptr_nonnull (knob = dt_memdup (s.solution[0].knob, s.solution[0].n_knobs * sizeof *knob));
    knob[0] = (struct dt_solution_knob){ .name = knob[0].name, .type = DT_TYPE_FLOAT, .value = &value, .n_values = 1 };
    s.solution[0].knob = s.solution[1].knob = knob;
    encode (&s, &b, &bits, &full);
    ck_assert_int_eq (dt_canon_check (b.data, b.len, &v, NULL), 0);
    ck_assert (dt_canon_next (dt_canon_get (dt_canon_get (v, "bits"), "sites"), &it, NULL, NULL, &site));
    v = dt_canon_get (dt_canon_get (site, "knobs"), knob[0].name);
    ck_assert_int_eq (dt_canon_as_str (v, text, sizeof text), 0);
    ck_assert_str_eq (text, "0.85");
    dt_buf_done (&b);
    dt_free (knob);
}
END_TEST

START_TEST (order)
{
    static struct setting s;
    struct dt_buf a = { 0 }, b = { 0 };
    struct dt_digest bits, full;
    struct dt_tuple_site t;
    struct dt_site d;

    fill (&s);
    s.tuple[1].assignment = 1;
    encode (&s, &a, &bits, &full);
    t = s.tuple[0], s.tuple[0] = s.tuple[1], s.tuple[1] = t;
    d = s.site[0], s.site[0] = s.site[1], s.site[1] = d;
    encode (&s, &b, &bits, &full);
    ck_assert (a.len == b.len && memcmp (a.data, b.data, a.len) == 0);
    dt_buf_done (&a);
    dt_buf_done (&b);
}
END_TEST

/* One change each, and whether output bits may depend on it. */
static void c_name (struct setting *s) { s->backend.name = "cuda"; }
static void c_build (struct setting *s) { s->backend.build = "b2"; }
static void c_libraries (struct setting *s) { s->backend.libraries = ""; }
static void c_driver (struct setting *s) { s->backend.driver = "1"; }
static void c_device (struct setting *s) { s->backend.device = "another"; }
static void c_units (struct setting *s) { s->backend.units = 3; }
static void c_deployment (struct setting *s) { s->d.name = "other"; }
static void c_model (struct setting *s) { s->d.model = "other"; }
static void c_engine (struct setting *s) { s->d.engine = "other"; }
static void c_engine_build (struct setting *s) { s->d.engine_build = "2"; }
static void c_parallelism (struct setting *s) { s->parallelism[0].i = 2; }
static void c_fact (struct setting *s) { s->fact[s->site[1].n_facts - 1].i++; }
static void c_fact_name (struct setting *s) { s->fact[0].name = "zz"; }
static void c_assignment (struct setting *s) { s->tuple[0].assignment++; }
static void c_knob (struct setting *s) { s->tuple[0].assignment = s->solution[0].n_assignments - 1; }
static void c_program (struct setting *s) { s->tuple[1].program.bytes[31] ^= 1; }
static void c_site (struct setting *s) { s->site[0].site = s->solution[1].site = "x"; }
static void c_pinned (struct setting *s) { s->tuple[0].pinned.bytes[0] ^= 1; }
static void c_stock (struct setting *s) { s->tuple[1].stock.bytes[0] ^= 1; }

static const struct {
    void (*change) (struct setting *s);
    int bits;
} changes[] = {
    { c_name, 1 }, { c_build, 1 }, { c_libraries, 1 }, { c_driver, 1 }, { c_device, 1 },
    { c_units, 1 }, { c_deployment, 1 }, { c_model, 1 }, { c_engine, 1 }, { c_engine_build, 1 },
    { c_parallelism, 1 }, { c_fact, 1 }, { c_fact_name, 1 }, { c_assignment, 1 }, { c_knob, 1 },
    { c_program, 1 }, { c_site, 1 }, { c_pinned, 0 }, { c_stock, 0 },
};

START_TEST (change)
{
    static struct setting s;
    struct dt_buf b = { 0 };
    struct dt_digest bits, full, bits2, full2;

    fill (&s);
    encode (&s, &b, &bits, &full);
    changes[_i].change (&s);
    encode (&s, &b, &bits2, &full2);
    ck_assert_int_eq (!dt_digest_equal (&bits, &bits2), changes[_i].bits);
    ck_assert (!dt_digest_equal (&full, &full2));
    dt_buf_done (&b);
}
END_TEST

/* The tuple's assignment is found again by its values, if it is still legal. */
START_TEST (assignments)
{
    static struct setting s;
    struct dt_digest bits, full;
    struct dt_err err = { "" };

    fill (&s);
    for (int i = 0; i < 2; i++)
        for (size_t a = 0; a < s.solution[i].n_assignments; a++) {
            struct dt_buf b = { 0 };
            size_t found = SIZE_MAX;
            int r;

            s.tuple[i].assignment = a;
            encode (&s, &b, &bits, &full);
            r = dt_tuple_assignment (&b, &s.solution[i], &found, &err);
            if (s.solution[i].verdict[a] == DT_ILLEGAL)
                ck_assert (r == -DT_ENOTFOUND && found == SIZE_MAX);
            else
                ck_assert_msg (r == 0 && found == a, "%zu: %d %s", a, r, err.text);
            s.solution[i].site = "elsewhere";
            ck_assert_int_eq (dt_tuple_assignment (&b, &s.solution[i], &found, &err),
                              -DT_ENOTFOUND);
            fill (&s);
            dt_buf_done (&b);
        }
}
END_TEST

START_TEST (refused)
{
    static struct setting s;
    struct dt_buf b = { 0 };
    struct dt_digest bits, full;
    struct dt_err err = { "" };

    fill (&s);
    s.solution[1].site = "decoder";
    ck_assert_int_eq (dt_tuple_encode (&s.d, &s.backend, s.tuple, 2, &b, &bits, &full, &err), -DT_EINPUT);
    ck_assert_ptr_nonnull (strstr (err.text, "twice"));
    fill (&s);
    s.solution[1].site = "nowhere";
    ck_assert_int_eq (dt_tuple_encode (&s.d, &s.backend, s.tuple, 2, &b, &bits, &full, &err), -DT_EINPUT);
    fill (&s);
    s.tuple[0].assignment = s.solution[0].n_assignments;
    ck_assert_int_eq (dt_tuple_encode (&s.d, &s.backend, s.tuple, 2, &b, &bits, &full, &err), -DT_EINPUT);
    fill (&s);
    s.fact[1].name = s.fact[0].name;
    ck_assert_int_eq (dt_tuple_encode (&s.d, &s.backend, s.tuple, 2, &b, &bits, &full, &err), -DT_EINPUT);
    ck_assert_uint_eq (b.len, 0);
}
END_TEST

START_TEST (no_memory)
{
    static struct setting s;

    fill (&s);
    for (size_t n = 0;; n++) {
        struct dt_buf b = { 0 };
        struct dt_digest bits, full;
        int r;

        dt_mem_fail_after (n);
        r = dt_tuple_encode (&s.d, &s.backend, s.tuple, 2, &b, &bits, &full, NULL);
        dt_buf_done (&b);
        if (suite_had_memory (r))
            break;
    }
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("tuner/tuple");
    TCase *tc = tcase_create ("tuple");

    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_add_test (tc, golden);
    tcase_add_test (tc, float_knob);
    tcase_add_test (tc, order);
    tcase_add_loop_test (tc, change, 0, DT_ARRAY_SIZE (changes));
    tcase_add_test (tc, assignments);
    tcase_add_test (tc, refused);
    tcase_add_test (tc, no_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
