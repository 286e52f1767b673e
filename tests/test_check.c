/* tests/test_check.c - solver/check, and what solves promise: proofs that hold and no
 * others, single bad points, the same bytes. */
#include "tests/graph_random.h"

#include <unistd.h>

#include "base/canon.h"
#include "base/digest.h"
#include "solver/check.h"
#include "solver/proof.h"
#include "tests/solver_rig.h"

/* A knob, a pin, an own input; some assignments illegal, some proved by boxes. */
#define BODY \
    "    stride = knob(\"stride\", (8, 4), default=4)\n" \
    "    splits = -(-call.m // stride)\n" \
    "    require(splits * stride >= call.m, \"covers\")\n" \
    "    require(call.own * splits < 100000, \"fits\")\n" \
    "    require(call.t // (splits + 1) + call.own >= 0, \"no less\")\n" \
    "    return Choice(x=splits, y=call.own // splits)\n"

static struct dt_solution *solved (const char *body, int64_t n, unsigned n_threads)
{
    struct dt_solve_options o = { .site = "s", .n_threads = n_threads };
    struct dt_solution *s = NULL;
    struct dt_err err = { "" };

    ck_assert_msg (solve (body, n, &o, &s, &err) == 0, "%s", err.text);
    return s;
}

/* --- proofs that do not hold -------------------------------------------------------- */

static void swap_bytes (struct dt_solution *s, size_t i, size_t k)
{
    uint8_t b = s->proof.data[i];

    s->proof.data[i] = s->proof.data[k];
    s->proof.data[k] = b;
}

/* The first byte of `mark` that begins a tree or follows one: found by walking. */
static size_t find_mark (const struct dt_solution *s, uint8_t mark)
{
    struct dt_reader in;
    uint64_t n, left;

    dt_reader_init (&in, s->proof.data, s->proof.len);
    for (n = dt_reader_varint (&in); n > 0; n--) {
        dt_reader_varint (&in);
        for (left = 1; left > 0;) {
            size_t at = in.at;
            uint8_t b = dt_reader_u8 (&in);

            if (b == mark)
                return at;
            left += b == DT_PROOF_SPLIT ? 1 : (uint64_t)-1;
            if (b == DT_PROOF_SPLIT) {
                dt_reader_varint (&in);
                dt_reader_varint (&in);
            }
        }
    }
    ck_abort_msg ("no mark %d", mark);
    return 0;
}

static uint32_t find_op (const struct dt_graph *g, uint8_t op)
{
    uint32_t i;

    for (i = 0; i < g->n_nodes && g->node[i].op != op; i++)
        ;
    MUST (i < g->n_nodes, "no op %d", op);
    return i;
}

static size_t first_with (const struct dt_solution *s, uint8_t verdict)
{
    size_t i;

    for (i = 0; i < s->n_assignments && s->verdict[i] != verdict; i++)
        ;
    MUST (i < s->n_assignments, "no verdict %d", verdict);
    return i;
}

static void remove_at (struct dt_solution *s, size_t at)
{
    memmove (s->proof.data + at, s->proof.data + at + 1, --s->proof.len - at);
}

static void insert_at (struct dt_solution *s, size_t at, uint8_t b)
{
    dt_buf_u8 (&s->proof, 0);
    memmove (s->proof.data + at + 1, s->proof.data + at, s->proof.len - 1 - at);
    s->proof.data[at] = b;
}

/* Kinds of corruption, each on a fresh solution. */
static void corrupt (struct dt_solution *s, int kind)
{
    struct dt_graph *g = s->residual;
    uint8_t *p = s->proof.data;
    size_t at, i;

    switch (kind) {
    case 0: s->proof.len = 0; break;                                 /* nothing */
    case 1: s->proof.len--; break;                                   /* its end is lost */
    case 2: s->proof.len /= 2; break;
    case 3: dt_buf_u8 (&s->proof, 0); break;                         /* a byte more */
    case 4: p[0]++; break;                                           /* one duty more */
    case 5: p[0]--; break;                                           /* one less */
    case 6: p[0] = 0; s->proof.len = 1; break;                       /* none */
    case 7: p[1] = 0x7f; break;                                      /* another duty */
    case 8: p[1] ^= 1; break;                                        /* of another kind */
    case 9: p[find_mark (s, DT_PROOF_OPEN)] = DT_PROOF_HOLDS; break; /* claims too much */
    case 10: p[find_mark (s, DT_PROOF_HOLDS)] = DT_PROOF_OPEN; break; /* too little */
    case 11: p[find_mark (s, DT_PROOF_HOLDS)] = 3; break;            /* no mark */
    case 12: p[find_mark (s, DT_PROOF_SPLIT) + 1] = 0x7f; break;     /* no axis */
    case 13: p[find_mark (s, DT_PROOF_SPLIT) + 2] = 0x7f; break;     /* an empty part */
    case 14: remove_at (s, find_mark (s, DT_PROOF_SPLIT)); break;
    case 15: remove_at (s, find_mark (s, DT_PROOF_HOLDS)); break;    /* a box is missing */
    case 16: insert_at (s, find_mark (s, DT_PROOF_HOLDS), DT_PROOF_HOLDS); break;
    case 17: s->verdict[first_with (s, DT_ILLEGAL)] = DT_PROVED; break;
    case 18: s->verdict[first_with (s, DT_PROVED)] = DT_SAMPLED; break;
    case 19: s->verdict[first_with (s, DT_PROVED)] = DT_ILLEGAL; break;
    case 20: ((int64_t *)s->pin[0].candidate)[s->pin[0].n_candidates - 1] = 1; break;
    case 21: ((int64_t *)s->knob[0].value)[0] = 1; break;
    case 22: g->input[0].domain.hi *= 4; break;                      /* a wider domain */
    case 23: g->n_conds--; break;                                    /* a duty of nothing */
    case 24: g->node[find_op (g, DT_OP_MUL)].op = DT_OP_SUB; break;  /* another program */
    case 25: g->point[0].node = g->input[0].node; break;             /* follows the batch */
    case 26: /* a split in the middle, one member further */
        at = find_mark (s, DT_PROOF_SPLIT);
        p[at + 2]++;
        break;
    case 27: /* two subtrees change places */
        at = find_mark (s, DT_PROOF_OPEN);
        i = find_mark (s, DT_PROOF_HOLDS);
        swap_bytes (s, at, i);
        break;
    default: ck_abort_msg ("no kind %d", kind);
    }
}
#define KINDS 28

START_TEST (check_refuses)
{
    struct dt_solution *s = solved (BODY, 64, 1);
    struct dt_err err = { "" };

    ck_assert_msg (dt_check_proof (s, &err) == 0, "%s", err.text);
    corrupt (s, _i);
    ck_assert_msg (dt_check_proof (s, &err) == -DT_ECORRUPT, "kind %d is accepted", _i);
    ck_assert_msg (strncmp (err.text, "proof: ", 7) == 0, "%s", err.text);
    dt_solution_free (s);
}
END_TEST

/* Any byte of a proof may be wrong: refused, or no assignment gains by it. */
/* A proof by floats, of a domain that nobody tries out; and of another program. */
START_TEST (check_floats)
{
    struct dt_solution *s = solved ("    k = 1 if call.m > 2 else 2\n"
                                    "    require(call.t * 0.85 * k < 1.5e12, \"bounded\")\n"
                                    "    return Choice(x=k, y=0)\n", 4, 1);
    struct dt_graph *g = s->residual;
    struct dt_err err = { "" };
    uint32_t i;

    ck_assert_uint_eq (s->n_assignments, 2);
    ck_assert (s->verdict[0] == DT_PROVED && s->verdict[1] == DT_ILLEGAL);
    ck_assert_msg (dt_check_proof (s, &err) == 0, "%s", err.text);
    for (i = 0; i < g->n_nodes && g->node[i].imm != dt_op_bits (0.85); i++)
        ;
    ck_assert_uint_lt (i, g->n_nodes);
    g->node[i].imm = dt_op_bits (1.4);
    ck_assert_int_eq (dt_check_proof (s, &err), -DT_ECORRUPT);
    g->node[i].imm = dt_op_bits (0.85);
    ck_assert_int_eq (dt_check_proof (s, &err), 0);
    g->node[find_op (g, DT_OP_FMUL)].op = DT_OP_FDIV;
    ck_assert_int_eq (dt_check_proof (s, &err), -DT_ECORRUPT);
    dt_solution_free (s);
}
END_TEST

START_TEST (check_mutations)
{
    struct dt_solution *s = solved (BODY, 64, 1);
    size_t i, refused = 0;
    int bit;

    for (i = 0; i < s->proof.len; i++)
        for (bit = 0; bit < 8; bit++) {
            s->proof.data[i] ^= (uint8_t)(1 << bit);
            refused += dt_check_proof (s, NULL) == -DT_ECORRUPT;
            s->proof.data[i] ^= (uint8_t)(1 << bit);
        }
    /* What is accepted cuts a box elsewhere, and is a proof too. */
    ck_assert_uint_ge (10 * refused, 9 * 8 * s->proof.len);
    dt_solution_free (s);
}
END_TEST

START_TEST (check_nomem)
{
    struct dt_solution *s = solved (BODY, 64, 1);
    size_t n;
    int r = -12;

    for (n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        r = dt_check_proof (s, NULL);
        dt_mem_fail_after (SIZE_MAX);
        MUST (r == 0 || r == -12, "%d", r);
    }
    ck_assert_uint_gt (n, 8);
    dt_solution_free (s);
}
END_TEST

/* The solve, each allocation failing in turn. */
START_TEST (check_solve_nomem)
{
    static const struct dt_solve_options o = { .site = "s" };
    struct dt_graph *g = graph_of (BODY, 8);
    struct dt_solution *s = NULL;
    size_t n;
    int r = -12;

    for (n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        r = dt_solve (g, &o, &s, NULL);
        dt_mem_fail_after (SIZE_MAX);
        MUST (r == 0 || r == -12, "%d", r);
    }
    ck_assert_uint_gt (n, 500);
    dt_solution_free (s);
    dt_graph_free (g);
}
END_TEST

/* Cuts that are none: too few, too many, of what may not be pinned. */
START_TEST (check_cuts)
{
    /* 0 -> 1 -> 2 -> 4, 0 -> 3 -> 4 -> 5 */
    static const uint32_t row[] = { 0, 2, 3, 4, 5, 6, 6 }, head[] = { 1, 3, 2, 4, 4, 5 };
    static const uint8_t infinite[] = { 0, 0, 0, 0, 1, 0 }, source[] = { 1 }, sink[6] = { 0, 0, 0, 0, 0, 1 };
    static const uint8_t cut[][6] = { { 0, 0, 0, 0, 0, 1 }, { 1 }, { 0, 1, 0, 1 }, { 0, 0, 1, 1 },
                                      { 0 }, { 0, 1 }, { 1, 0, 0, 0, 0, 1 }, { 0, 1, 1, 1 },
                                      { 0, 0, 0, 0, 1 } };
    uint8_t from[6] = { 0 };
    struct dt_cut_graph g = { 6, row, head, infinite, from, sink };

    memcpy (from, source, sizeof source);
    ck_assert_int_eq (dt_check_cut (&g, cut[_i], NULL), _i < 4 ? 0 : -DT_ECORRUPT);
}
END_TEST

/* --- what is proved ----------------------------------------------------------------- */

/* One bad point of 2^40 (t has that many): never proved, whatever shape it hides in. */
static const char *const shapes[] = {
    "call.t != %lld", "abs(call.t - %lld) > 0", "call.t < %lld or call.t > %lld",
    "call.t * 2 != 2 * %lld", "call.t // 3 != %lld // 3 or call.t %% 3 != %lld %% 3",
};

START_TEST (check_single_bad_point)
{
    long long bad = 1 + (long long)((unsigned long long)(_i + 1) * 7364967667ULL % ((1ULL << 40) - 1));
    struct dt_solution *s = NULL;
    struct dt_err err = { "" };
    char cond[200], body[400];
    int r;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf (cond, sizeof cond, shapes[(size_t)_i % DT_ARRAY_SIZE (shapes)], bad, bad);
#pragma GCC diagnostic pop
    snprintf (body, sizeof body,
              "    k = 1 if call.m > 2 else 2\n"
              "    require(%s, \"one point\")\n    return Choice(x=k, y=0)\n", cond);
    r = solve (body, 4, NULL, &s, &err);
    if (r == 0) {
        for (r = 0; r < (int)s->n_assignments; r++)
            ck_assert_msg (s->verdict[r] == DT_SAMPLED, "%s: %s", cond,
                           dt_verdict_name (s->verdict[r]));
        ck_assert_int_eq (dt_check_proof (s, &err), 0);
        dt_solution_free (s);
        return;
    }
    ck_assert_msg (r == -DT_EILLEGAL && strstr (err.text, "one point"), "%d %s", r, err.text);
}
END_TEST

/* 7,168 assignments of conditions over all pins and knobs at once. */
START_TEST (check_many)
{
    static const char body[] =
        "    a = knob(\"a\", range(1, 33), default=1)\n    b = knob(\"b\", range(1, 8), default=1)\n"
        "    p = call.m % 32\n"
        "    require(a * b * (p + 1) + call.own >= a + b, \"grows\")\n"
        "    require(p + a + b + call.t > 0, \"positive\")\n"
        "    require(p + a < 62 or call.own > 1, \"few\")\n"
        "    return Choice(x=call.own + p + a + b, y=0)\n";
    struct dt_solution *s = solved (body, 64, 2);
    struct dt_err err = { "" };
    size_t i, n[4] = { 0 };

    ck_assert_uint_eq (s->n_assignments, 7168);
    for (i = 0; i < s->n_assignments; i++)
        n[s->verdict[i]]++;
    ck_assert_uint_eq (n[DT_PROVED], 7168 - 7 * 3);
    ck_assert_uint_eq (n[DT_ILLEGAL], 7 * 3); /* p + a of 62, twice, and of 63 */
    ck_assert_msg (dt_check_proof (s, &err) == 0, "%s", err.text);
    dt_solution_free (s);
}
END_TEST

/* --- the same bytes ----------------------------------------------------------------- */

static struct dt_digest digest_of (const struct dt_solution *s)
{
    struct dt_canon c;
    struct dt_digest d;

    dt_canon_init (&c);
    dt_solution_encode (s, &c);
    MUST (dt_canon_finish (&c) == 0, "no bytes");
    d = dt_digest_of ("test", c.buf.data, c.buf.len);
    dt_canon_done (&c);
    return d;
}

/* 100 solves, by one thread and by two, with other allocations in between. */
START_TEST (check_same_bytes)
{
    struct dt_solution *s = solved (BODY, 64, 1);
    struct dt_digest first = digest_of (s), d;
    void *hole[100];
    int run;

    dt_solution_free (s);
    for (run = 0; run < 100; run++) {
        hole[run] = dt_calloc (1, 1 + (size_t)run * 97 % 5000);
        s = solved (BODY, 64, (unsigned)(1 + run % 3));
        d = digest_of (s);
        ck_assert (dt_digest_equal (&d, &first));
        dt_solution_free (s);
    }
    for (run = 0; run < 100; run++)
        dt_free (hole[run]);
}
END_TEST

/* Processes whose addresses differ: each prints its digest. */
START_TEST (check_same_bytes_everywhere)
{
    char command[60], line[80], first[80] = "";
    FILE *f;
    int run;

    snprintf (command, sizeof command, "/proc/%ld/exe --digest", (long)getpid ());
    for (run = 0; run < 8; run++) {
        ck_assert_ptr_nonnull (f = popen (command, "r"));
        ck_assert_ptr_nonnull (fgets (line, sizeof line, f));
        ck_assert_int_eq (pclose (f), 0);
        if (run == 0)
            strcpy (first, line);
        ck_assert_str_eq (line, first);
    }
}
END_TEST

/* Locals by other names: all is the same but for names and columns. */
START_TEST (check_renamed)
{
    static const char a[] = "    k = call.m % 3\n    q = k + 1\n    require(q < 4, \"few\")\n"
                            "    return Choice(x=q, y=k)\n";
    static const char b[] = "    z = call.m % 3\n    w = z + 1\n    require(w < 4, \"few\")\n"
                            "    return Choice(x=w, y=z)\n";
    struct dt_solution *s[2] = { solved (a, 64, 1), solved (b, 64, 1) };
    size_t i;

    ck_assert_str_eq (s[0]->pin[0].name, "choose.q");
    ck_assert_str_eq (s[1]->pin[0].name, "choose.w");
    s[1]->pin[0].name = s[0]->pin[0].name;
    s[1]->pin[0].expression = s[0]->pin[0].expression;
    s[1]->pin[0].path = s[0]->pin[0].path;
    for (i = 0; i < 2; i++) {
        struct dt_graph *g = s[i]->residual;
        uint32_t k;

        g->pin[0].name = "q";
        for (k = 0; k < g->n_nodes; k++)
            g->node[k].name = NULL;
        s[i]->pins.len = 0; /* its output's name is the pin's */
    }
    {
        struct dt_digest x = digest_of (s[0]), y = digest_of (s[1]);

        ck_assert (dt_digest_equal (&x, &y));
    }
    dt_solution_free (s[0]);
    dt_solution_free (s[1]);
}
END_TEST

/* Any byte of a stored solution: another digest, so a miss. */
START_TEST (check_stored_bytes)
{
    struct dt_solution *s = solved (BODY, 64, 1);
    struct dt_canon c;
    struct dt_digest want, is;
    size_t i;

    dt_canon_init (&c);
    dt_solution_encode (s, &c);
    ck_assert_int_eq (dt_canon_finish (&c), 0);
    want = dt_digest_of ("solution", c.buf.data, c.buf.len);
    for (i = 0; i < c.buf.len; i++) {
        struct dt_canon_value v;
        struct dt_solution *again = NULL;

        c.buf.data[i] ^= 0x20;
        is = dt_digest_of ("solution", c.buf.data, c.buf.len);
        MUST (!dt_digest_equal (&is, &want), "byte %zu", i);
        /* And if it is read all the same: refused, or a solution that can be used. */
        if (dt_canon_check (c.buf.data, c.buf.len, &v, NULL) == 0
            && dt_solution_decode (v, &again, NULL) == 0)
            dt_check_proof (again, NULL);
        dt_solution_free (again);
        c.buf.data[i] ^= 0x20;
    }
    dt_canon_done (&c);
    dt_solution_free (s);
}
END_TEST

START_TEST (print_digest)
{
    struct dt_solution *s = solved (BODY, 64, 2);
    struct dt_digest d = digest_of (s);
    char hex[DT_DIGEST_HEX];

    dt_solution_free (s);
    printf ("%s\n", dt_digest_hex (&d, hex));
    fflush (stdout);
}
END_TEST

int main (int argc, char **argv)
{
    Suite *s = suite_create ("solver/check");
    TCase *tc = tcase_create ("check");
    SRunner *sr;
    int failed, digest = argc > 1 && strcmp (argv[1], "--digest") == 0;

    tcase_set_timeout (tc, 120);
    if (digest) {
        tcase_add_test (tc, print_digest);
        goto run;
    }
    tcase_add_loop_test (tc, check_refuses, 0, KINDS);
    tcase_add_test (tc, check_floats);
    tcase_add_test (tc, check_mutations);
    tcase_add_test (tc, check_nomem);
    tcase_add_test (tc, check_solve_nomem);
    tcase_add_loop_test (tc, check_cuts, 0, 9);
    tcase_add_loop_test (tc, check_single_bad_point, 0, 20);
    tcase_add_test (tc, check_many);
    tcase_add_test (tc, check_same_bytes);
    tcase_add_test (tc, check_same_bytes_everywhere);
    tcase_add_test (tc, check_renamed);
    tcase_add_test (tc, check_stored_bytes);
run:
    suite_add_tcase (s, tc);
    sr = srunner_create (s);
    srunner_run_all (sr, digest ? CK_SILENT : CK_ENV);
    failed = srunner_ntests_failed (sr);
    srunner_free (sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
