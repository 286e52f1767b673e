/* tests/test_schedule.c - the scheduler model: what is conserved, and its limits. */
#include "trace/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/suite.h"

#define MAX_LOG 400
#define MAX_BLOCK_ID 4096 /* of the sample of Mooncake's log */

static int64_t min (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_random (uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

static struct dt_trace *run (const struct dt_requests *log, const struct dt_scheduler *s)
{
    struct dt_trace *t = dt_trace_new ();
    struct dt_err err = { "" };
    int site = dt_trace_add_site (t, "attention", "decoder", 1, &err);

    ck_assert_int_ge (site, 0);
    ck_assert_msg (dt_schedule (log, s, t, NULL, &err) == 0, "%s", err.text);
    return t;
}

/* What the engine may run of a request. */
static int64_t output_of (const struct dt_log_request *q, const struct dt_scheduler *s)
{
    return min (q->output, s->max_context - 1);
}
static int64_t prompt_of (const struct dt_log_request *q, const struct dt_scheduler *s)
{
    return min (q->prompt, s->max_context - output_of (q, s));
}

/* No call is over a limit; returns the sum of all query tokens. */
static int64_t check_limits (const struct dt_trace *t, const struct dt_scheduler *s)
{
    const struct dt_trace_site *site = &t->site[0];
    int64_t all = 0;

    for (size_t i = 0; i < site->n_calls; i++) {
        struct dt_call c = dt_trace_call_get (site, i);
        int64_t tokens = 0;

        ck_assert_int_le ((int64_t)c.n_requests, s->max_batch);
        for (size_t k = 0; k < c.n_requests; k++) {
            int64_t query = c.request[2 * k], kv = c.request[2 * k + 1];

            ck_assert (query >= 1 && query <= s->max_query);
            ck_assert (kv >= query && kv <= s->max_context);
            tokens += query;
        }
        ck_assert_int_le (tokens, s->token_budget);
        all += tokens * (int64_t)site->call[i].count;
    }
    return all;
}

/* Follow each request through the calls, if none were merged: its tokens come in
 * order, each once, and the last but one output token is the last fed.  cached[i]:
 * prompt tokens that were not computed. */
static int follow (const struct dt_trace *t, const struct dt_requests *log,
                   const struct dt_scheduler *s, int64_t *cached)
{
    const struct dt_trace_site *site = &t->site[0];
    int64_t seen[MAX_LOG] = { 0 };

    for (size_t i = 0; i < site->n_calls; i++)
        if (site->call[i].count != 1)
            return 0;
    for (size_t i = 0; i < site->n_calls; i++) {
        struct dt_call c = dt_trace_call_get (site, i);

        for (size_t k = 0; k < c.n_requests; k++) {
            uint64_t id = site->id[site->call[i].at + k];
            int64_t query = c.request[2 * k], kv = c.request[2 * k + 1], prompt;

            ck_assert_uint_lt (id, log->n);
            prompt = prompt_of (&log->request[id], s);
            if (seen[id] == 0)
                seen[id] = cached[id] = kv - query;
            ck_assert_int_eq (kv, seen[id] + query);
            ck_assert (seen[id] < prompt ? kv <= prompt : query == 1);
            seen[id] = kv;
        }
    }
    for (size_t i = 0; i < log->n; i++)
        ck_assert_int_eq (seen[i], prompt_of (&log->request[i], s) +
                                       output_of (&log->request[i], s) - 1);
    return 1;
}

/* Random logs and schedulers. */
START_TEST (conservation)
{
    struct dt_log_request request[60];
    struct dt_requests log = { .request = request, .n = DT_ARRAY_SIZE (request) };
    int followed = 0;

    for (uint64_t seed = 0; seed < 60; seed++) {
        uint64_t x = seed;
        struct dt_scheduler s = dt_scheduler_default ();
        int64_t cached[MAX_LOG] = { 0 }, want = 0;
        double now = 0;
        struct dt_trace *t;

        s.max_batch = 1 + (int64_t)(next_random (&x) % 16);
        s.max_context = 200 + (int64_t)(next_random (&x) % 2000);
        s.max_query = 1 + (int64_t)(next_random (&x) % 300);
        s.token_budget = s.max_batch + (int64_t)(next_random (&x) % 300);
        for (size_t i = 0; i < log.n; i++) {
            now += (double)(next_random (&x) % 100) / (seed % 2 ? 1000 : 10);
            request[i] = (struct dt_log_request){ now, 1 + (int64_t)(next_random (&x) % 1500),
                                                  1 + (int64_t)(next_random (&x) % 200), NULL, 0 };
            want += prompt_of (&request[i], &s) + output_of (&request[i], &s) - 1;
        }
        t = run (&log, &s);
        ck_assert_int_eq (check_limits (t, &s), want);
        if (follow (t, &log, &s, cached)) {
            followed++;
            for (size_t i = 0; i < log.n; i++)
                ck_assert_int_eq (cached[i], 0);
        }
        dt_trace_free (t);
    }
    ck_assert_int_ge (followed, 10);
}
END_TEST

static void read_log (const char *format, const char *file, struct dt_requests *ret)
{
    const char *top = getenv ("top_srcdir");
    char *path = dt_strf ("%s/trace/samples/%s", top ? top : ".", file);
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };

    ck_assert_msg (dt_file_read (path, 1 << 20, &b, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_requests_parse (format, b.data, b.len, 0, ret, &err) == 0, "%s", err.text);
    dt_buf_done (&b);
    dt_free (path);
}

/* With the defaults, batches form on the sample of Azure's log. */
START_TEST (azure)
{
    struct dt_requests log;
    struct dt_scheduler s = dt_scheduler_default ();
    struct dt_trace *t;
    uint64_t calls = 0, requests = 0;
    int64_t want = 0;

    read_log ("azure-csv", "azure_conv_sample.csv", &log);
    t = run (&log, &s);
    for (size_t i = 0; i < log.n; i++)
        want += log.request[i].prompt + log.request[i].output - 1;
    ck_assert_int_eq (check_limits (t, &s), want);
    for (size_t i = 0; i < t->site[0].n_calls; i++) {
        calls += t->site[0].call[i].count;
        requests += t->site[0].call[i].count * t->site[0].call[i].n_requests;
    }
    ck_assert_msg (requests >= 8 * calls, "%llu requests in %llu calls",
                   (unsigned long long)requests, (unsigned long long)calls);
    ck_assert_ptr_nonnull (strstr (t->options, "step_base_s=0.02"));
    ck_assert_uint_eq (t->n_limits, 4);
    dt_trace_free (t);
    dt_requests_done (&log);
}
END_TEST

/* A cache as a plain list of when each block was used last, 0: not held. */
struct plain_cache {
    uint64_t used[MAX_BLOCK_ID], now;
    int64_t held, capacity;
};

/* The last block is the oldest of a prompt's, so that its tail goes first. */
static void plain_use (struct plain_cache *p, const uint64_t *block, int64_t n)
{
    while (n-- > 0) {
        p->held += !p->used[block[n]];
        p->used[block[n]] = ++p->now;
    }
    for (; p->held > p->capacity; p->held--) {
        size_t oldest = MAX_BLOCK_ID;

        for (size_t b = 0; b < MAX_BLOCK_ID; b++)
            if (p->used[b] && (oldest == MAX_BLOCK_ID || p->used[b] < p->used[oldest]))
                oldest = b;
        p->used[oldest] = 0;
    }
}

/* What a prefix cache must hit, counted from the calls and the plain cache. */
static void expect_cached (const struct dt_trace *t, const struct dt_requests *log,
                           const struct dt_scheduler *s, int64_t *want)
{
    static struct plain_cache cache;
    const struct dt_trace_site *site = &t->site[0];
    char known[MAX_LOG] = { 0 }, done[MAX_LOG] = { 0 };

    memset (&cache, 0, sizeof cache);
    cache.capacity = s->prefix_cache_blocks;
    for (size_t i = 0; i < site->n_calls; i++) {
        struct dt_call c = dt_trace_call_get (site, i);
        const uint64_t *id = site->id + site->call[i].at;

        for (size_t k = 0; k < c.n_requests; k++) {
            const struct dt_log_request *q = &log->request[id[k]];
            int64_t prompt = prompt_of (q, s), n = 0;

            if (known[id[k]])
                continue;
            known[id[k]] = 1;
            while (n < (int64_t)q->n_blocks && (n + 1) * 512 <= prompt && cache.used[q->block[n]])
                n++;
            plain_use (&cache, q->block, n);
            want[id[k]] = min (512 * n, prompt - 1);
        }
        for (size_t k = 0; k < c.n_requests; k++) {
            const struct dt_log_request *q = &log->request[id[k]];
            int64_t whole = min ((int64_t)q->n_blocks, prompt_of (q, s) / 512);

            if (c.request[2 * k + 1] < prompt_of (q, s) || done[id[k]])
                continue;
            done[id[k]] = 1;
            plain_use (&cache, q->block, whole);
        }
    }
}

/* Room for all, and for few: then some are lost again. */
START_TEST (mooncake_prefix)
{
    static const int64_t capacity[] = { 1 << 20, 300 };
    struct dt_requests log;
    struct dt_scheduler s = dt_scheduler_default ();
    int64_t cached[MAX_LOG] = { 0 }, want[MAX_LOG] = { 0 }, hits = 0;
    struct dt_trace *t;

    read_log ("mooncake-jsonl", "mooncake_conversation_sample.jsonl", &log);
    s.prefix_cache_blocks = capacity[_i];
    for (size_t i = 0; i < log.n; i++)
        for (size_t k = 0; k < log.request[i].n_blocks; k++)
            ck_assert_uint_lt (log.request[i].block[k], MAX_BLOCK_ID);
    t = run (&log, &s);
    check_limits (t, &s);
    ck_assert (follow (t, &log, &s, cached));
    expect_cached (t, &log, &s, want);
    for (size_t i = 0; i < log.n; i++) {
        ck_assert_int_eq (cached[i], want[i]);
        hits += cached[i] > 0;
    }
    ck_assert_int_gt (hits, 20);
    dt_trace_free (t);
    dt_requests_done (&log);
}
END_TEST

/* Time passes by the model: a request that comes while a step runs waits for its end. */
START_TEST (step_time)
{
    struct dt_log_request request[] = { { 0, 100, 3, NULL, 0 }, { 0, 10, 1, NULL, 0 } };
    struct dt_requests log = { request, 2, 0, NULL };
    struct dt_scheduler s = dt_scheduler_default ();
    /* the first step takes 0.5 + 100 * 0.01 + 100 * 0.001 s, the second 0.5 + 0.01 + 0.101 */
    static const double arrival[] = { 1.599, 1.601, 2.210, 2.212 };
    static const size_t joins[] = { 1, 2, 2, 3 };
    struct dt_trace *t;
    size_t at = 0;

    s.step_base_s = 0.5, s.step_token_s = 0.01, s.step_kv_s = 0.001;
    request[1].arrival_s = arrival[_i];
    t = run (&log, &s);
    while (t->site[0].id[t->site[0].call[at].at + t->site[0].call[at].n_requests - 1] != 1)
        at++;
    ck_assert_uint_eq (at, joins[_i]);
    dt_trace_free (t);
}
END_TEST

/* Four requests, one after another; capacity, and what the last three hit. */
static const struct {
    const char *what;
    int64_t capacity, cached[4];
} prefixes[] = {
    { "no cache", 0, { 0, 0, 0, 0 } },
    { "room for all", 100, { 0, 1024, 1023, 512 } },
    { "the tail goes first", 1, { 0, 512, 512, 512 } },
};

START_TEST (prefix)
{
    uint64_t blocks[] = { 1, 2, 3, 1, 2, 4, 1, 2, 1, 5 };
    struct dt_log_request request[] = {
        { 0, 1500, 2, blocks, 3 },       /* two whole blocks                     */
        { 10, 1536, 2, blocks + 3, 3 },
        { 20, 1024, 2, blocks + 6, 2 },  /* all held: the last token is computed */
        { 30, 1024, 2, blocks + 8, 2 },
    };
    struct dt_requests log = { request, DT_ARRAY_SIZE (request), 512, blocks };
    struct dt_scheduler s = dt_scheduler_default ();
    int64_t cached[MAX_LOG] = { 0 }, sum = 0, want = 1501 + 1537 + 1025 + 1025;
    struct dt_trace *t;

    s.prefix_cache_blocks = prefixes[_i].capacity;
    t = run (&log, &s);
    for (size_t i = 0; i < log.n; i++)
        want -= prefixes[_i].cached[i];
    sum = check_limits (t, &s);
    ck_assert_msg (sum == want, "%s: %lld, not %lld", prefixes[_i].what, (long long)sum,
                   (long long)want);
    if (follow (t, &log, &s, cached))
        for (size_t i = 0; i < log.n; i++)
            ck_assert_int_eq (cached[i], prefixes[_i].cached[i]);
    dt_trace_free (t);
}
END_TEST

START_TEST (max_steps)
{
    struct dt_log_request request[] = { { 0, 700, 20, NULL, 0 }, { 100, 5, 5, NULL, 0 } };
    struct dt_requests log = { request, 2, 0, NULL };
    struct dt_scheduler s = dt_scheduler_default ();
    struct dt_trace *t;

    s.max_steps = 4;
    t = run (&log, &s);
    ck_assert_uint_eq (t->site[0].n_calls, 4);
    ck_assert_int_eq (t->site[0].field[0], 512);
    ck_assert_int_eq (t->site[0].field[2], 188);
    ck_assert_int_eq (t->site[0].field[4], 1);
    ck_assert_int_eq (t->site[0].field[7], 702);
    dt_trace_free (t);
}
END_TEST

START_TEST (refused)
{
    struct dt_log_request request[] = { { 0, 7, 2, NULL, 0 } };
    struct dt_requests log = { request, 1, 0, NULL }, none = { 0 };
    struct dt_scheduler good = dt_scheduler_default (), s;
    struct dt_trace *t = dt_trace_new (), *bare = dt_trace_new ();

    ck_assert_int_eq (dt_trace_add_site (t, "attention", "d", 1, NULL), 0);
    ck_assert_int_eq (dt_schedule (&none, &good, t, NULL, NULL), -DT_EINPUT);
    ck_assert_int_eq (dt_schedule (&log, &good, bare, NULL, NULL), -DT_EINPUT);
    s = good, s.max_batch = 0;
    ck_assert_int_eq (dt_schedule (&log, &s, t, NULL, NULL), -DT_EINPUT);
    s = good, s.max_context = 1;
    ck_assert_int_eq (dt_schedule (&log, &s, t, NULL, NULL), -DT_EINPUT);
    s = good, s.token_budget = 31;
    ck_assert_int_eq (dt_schedule (&log, &s, t, NULL, NULL), -DT_EINPUT);
    s = good, s.step_base_s = -1;
    ck_assert_int_eq (dt_schedule (&log, &s, t, NULL, NULL), -DT_EINPUT);
    s = good, s.prefix_cache_blocks = 1;
    ck_assert_int_eq (dt_schedule (&log, &s, t, NULL, NULL), -DT_EINPUT);
    dt_trace_free (t);
    dt_trace_free (bare);
}
END_TEST

/* A family whose site needs a fact that is not stated. */
START_TEST (fact_needed)
{
    struct dt_log_request request[] = { { 0, 7, 2, NULL, 0 } };
    struct dt_requests log = { request, 1, 0, NULL };
    struct dt_scheduler s = dt_scheduler_default ();
    struct dt_step_facts facts[] = { { 0 }, { .experts = 4, .top_k = 5 } };
    const char *family = _i ? "moe" : "allreduce";
    struct dt_err err = { "" };
    struct dt_trace *t = dt_trace_new ();

    ck_assert_int_eq (dt_trace_add_site (t, family, "the site", 1, NULL), 0);
    ck_assert_int_eq (dt_schedule (&log, &s, t, NULL, &err), -DT_EINPUT);
    ck_assert_ptr_nonnull (strstr (err.text, "the site"));
    ck_assert_int_eq (dt_schedule (&log, &s, t, &facts[_i], &err), -DT_EINPUT);
    dt_trace_free (t);
}
END_TEST

static int64_t column (const struct dt_trace_site *s, size_t i, size_t field, int64_t *ret_most)
{
    struct dt_call c = dt_trace_call_get (s, i);
    int64_t sum = 0;

    *ret_most = 0;
    for (size_t k = 0; k < c.n_requests; k++) {
        int64_t v = c.request[k * s->schema->n_fields + field];

        sum += v;
        *ret_most = v > *ret_most ? v : *ret_most;
    }
    return sum;
}

/* Each step makes one call at each site, of the step's tokens. */
START_TEST (families)
{
    enum { ATTENTION, GEMM, ROWWISE, ALLREDUCE, MOE, SITES };
    static const char *const family[SITES] = { "attention", "gemm", "rowwise", "allreduce", "moe" };
    struct dt_step_facts facts[SITES] = { [ALLREDUCE] = { .row_bytes = 96, .graph_max_batch = 8 },
                                          [MOE] = { .experts = 16, .top_k = 3 } };
    struct dt_scheduler s = dt_scheduler_default ();
    struct dt_trace *t = dt_trace_new ();
    uint64_t calls[SITES] = { 0 };
    int64_t tokens[SITES] = { 0 }, most, captured = 0;
    struct dt_requests log;

    read_log ("azure-csv", "azure_conv_sample.csv", &log);
    for (int i = 0; i < SITES; i++)
        ck_assert_int_eq (dt_trace_add_site (t, family[i], "s", 1, NULL), i);
    s.max_steps = 2000;
    ck_assert_int_eq (dt_schedule (&log, &s, t, facts, NULL), 0);
    for (int i = 0; i < SITES; i++)
        for (size_t k = 0; k < t->site[i].n_calls; k++) {
            const struct dt_trace_call *c = &t->site[i].call[k];

            calls[i] += c->count;
            tokens[i] += (int64_t)c->count * column (&t->site[i], k, 0, &most);
            ck_assert_int_eq (c->synthetic, i == MOE);
            if (i == ALLREDUCE && t->site[i].field[2 * c->at + 1]) {
                ck_assert (most == 96 && c->n_requests <= 8);
                captured += (int64_t)c->count;
            }
            if (i == MOE) {
                int64_t sum = column (&t->site[i], k, 0, &most);

                ck_assert_uint_gt (c->n_requests, 16);
                ck_assert_int_eq (column (&t->site[i], k, 1, &most), 3 * sum);
                ck_assert_int_le (most, sum); /* an expert has a token once */
            }
        }
    for (int i = 0; i < SITES; i++) {
        ck_assert_uint_eq (calls[i], s.max_steps);
        ck_assert_int_eq (tokens[i], tokens[GEMM] * (i == ALLREDUCE ? 96 : 1));
    }
    ck_assert (captured > 0 && captured < 2000);
    ck_assert_uint_le (t->site[GEMM].n_calls, 6 * (size_t)s.token_budget); /* 1, 2, 4, ... 32 rows */
    ck_assert_uint_eq (t->site[GEMM].n_calls, t->site[MOE].n_calls);
    ck_assert_uint_ge (t->site[ALLREDUCE].n_calls, t->site[GEMM].n_calls);
    dt_trace_free (t);
    dt_requests_done (&log);
}
END_TEST

START_TEST (no_memory)
{
    uint64_t blocks[] = { 1, 1 };
    struct dt_log_request request[] = { { 0, 600, 2, blocks, 1 }, { 0, 700, 3, blocks + 1, 1 } };
    struct dt_requests log = { request, 2, 512, blocks };
    struct dt_scheduler s = dt_scheduler_default ();

    s.prefix_cache_blocks = 4;
    for (size_t n = 0;; n++) {
        struct dt_trace *t = dt_trace_new ();
        struct dt_step_facts facts[] = { { 0 }, { .experts = 3, .top_k = 3 }, { 0 } };
        int r;

        ck_assert_int_eq (dt_trace_add_site (t, "attention", "d", 1, NULL), 0);
        ck_assert_int_eq (dt_trace_add_site (t, "moe", "e", 1, NULL), 1);
        ck_assert_int_eq (dt_trace_add_site (t, "gemm", "g", 1, NULL), 2);
        dt_mem_fail_after (n);
        r = dt_schedule (&log, &s, t, facts, NULL);
        dt_trace_free (t);
        if (suite_had_memory (r))
            break;
    }
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("trace/schedule");
    TCase *tc = tcase_create ("schedule");

    tcase_set_timeout (tc, 60);
    tcase_add_test (tc, conservation);
    tcase_add_test (tc, azure);
    tcase_add_loop_test (tc, mooncake_prefix, 0, 2);
    tcase_add_loop_test (tc, step_time, 0, 4);
    tcase_add_loop_test (tc, prefix, 0, DT_ARRAY_SIZE (prefixes));
    tcase_add_test (tc, max_steps);
    tcase_add_test (tc, refused);
    tcase_add_loop_test (tc, fact_needed, 0, 2);
    tcase_add_test (tc, families);
    tcase_add_test (tc, no_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
