/* bench/solver_hit.c - times of a solve that detentd's cache answers. */
#include "bench/solver_hit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "detentd/dispatch.h"
#include "detentd/loop.h"

#define ASK_TIMEOUT_MS 60000

struct server {
    char dir[64];
    struct dt_options options;
    struct dt_daemon *d;
    uint8_t *frame; /* the request, packed */
    size_t n_frame;
};

static char *inside (const char *dir, const char *name)
{
    char *path = dt_strf ("%s/%s", dir, name);

    if (!path)
        bench_die ("out of memory");
    return path;
}

static void server_open (struct server *s)
{
    struct dt_err err = { "" };
    char *endpoint, *build = realpath (".libs", NULL);

    snprintf (s->dir, sizeof s->dir, "/tmp/detent-bench-XXXXXX");
    if (!mkdtemp (s->dir))
        bench_die ("no folder in /tmp");
    s->options.state_dir = inside (s->dir, "state");
    s->options.runtime_dir = inside (s->dir, "run");
    s->options.lock_dir = inside (s->dir, "locks");
    endpoint = dt_strf ("ipc://%s/run/detentd.sock", s->dir);
    s->options.endpoint = endpoint;
    s->options.backend_dir = dt_strdup (build ? build : ".libs");
    free (build);
    s->options.profiler = dt_strdup ("./detent-profiler");
    s->options.log_level = DT_LOG_WARNING;
    if (!endpoint || !s->options.backend_dir || !s->options.profiler)
        bench_die ("out of memory");
    if (dt_daemon_open (&s->options, &s->d, &err) < 0)
        bench_die (err.text);
}

/* Leave the first site and the claims of its family, as shipped deployments write them. */
static void keep_first_site (struct dt_buf *text, const char *family)
{
    int in_sites = 0, in_claims = 0, seen = 0, keep = 1;
    struct dt_buf b = { 0 };
    char *save = NULL, *mark = dt_strf ("family: %s", family);

    if (!mark || !dt_buf_str (text))
        bench_die ("out of memory");
    for (char *line = strtok_r ((char *)text->data, "\n", &save); line;
         line = strtok_r (NULL, "\n", &save)) {
        if (line[0] != ' ' && line[0] != '#') {
            in_sites = strncmp (line, "sites:", 6) == 0;
            in_claims = strncmp (line, "claims:", 7) == 0;
            keep = 1;
        } else if (strncmp (line, "  - ", 4) == 0)
            keep = in_sites ? seen++ == 0 : !in_claims || strstr (line, mark);
        if (keep)
            dt_buf_printf (&b, "%s\n", line);
    }
    dt_free (mark);
    dt_buf_done (text);
    *text = b;
}

/* What detentctl would send, but that all programs of the folder go along. */
static void pack (struct server *s, const struct bench_sources *files, const char *path, int whole)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__SolveRequest solve = DETENT__SOLVE_REQUEST__INIT;
    Detent__Deployment deployment = DETENT__DEPLOYMENT__INIT;
    Detent__File head = DETENT__FILE__INIT, file[DT_SOURCE_MAX_FILES];
    Detent__File *list[DT_SOURCE_MAX_FILES];
    struct dt_err err = { "" };
    struct dt_buf text = { 0 };

    if (dt_file_read (path, DT_SOURCE_MAX_BYTES, &text, &err) < 0)
        bench_die (err.text);
    if (!whole)
        keep_first_site (&text, files->d->site[0].family);
    head.name = (char *)"bench.yaml";
    head.data = (ProtobufCBinaryData){ text.len, text.data };
    for (size_t i = 0; i < files->n_sources; i++) {
        detent__file__init (list[i] = &file[i]);
        file[i].name = (char *)files->source[i].name;
        file[i].data = (ProtobufCBinaryData){ files->source[i].len,
                                              (uint8_t *)(uintptr_t)files->source[i].text };
    }
    deployment.file = &head;
    deployment.n_program = files->n_sources;
    deployment.program = list;
    solve.deployment = &deployment;
    rq.id = 1;
    rq.body_case = DETENT__REQUEST__BODY_SOLVE;
    rq.solve = &solve;
    s->n_frame = detent__request__get_packed_size (&rq);
    if (!(s->frame = dt_calloc (s->n_frame, 1)))
        bench_die ("out of memory");
    detent__request__pack (&rq, s->frame);
    dt_buf_done (&text);
}

/* ns from the decoded request to the packed reply, which nobody is there to take. */
static uint64_t ask (struct server *s)
{
    zmq_pollitem_t item = { .socket = s->d->finished, .events = ZMQ_POLLIN };
    struct dt_ask *a = dt_ask_new (s->d);
    struct dt_err err = { "" };
    uint64_t start_ns;

    if (!a || !(a->rq = detent__request__unpack (NULL, s->n_frame, s->frame)))
        bench_die ("the request");
    start_ns = dt_time_raw_ns ();
    if (dt_req_solve (a, &err) != DT_LATER || zmq_poll (&item, 1, ASK_TIMEOUT_MS) != 1)
        bench_die (err.text[0] ? err.text : "the daemon does not answer");
    if (a->r < 0)
        bench_die (a->err.text);
    dt_loop_finish_work (s->d);
    return dt_time_raw_ns () - start_ns;
}

static int by_time (const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void server_close (struct server *s)
{
    char *command = dt_strf ("rm -r '%s'", s->dir);

    dt_daemon_close (s->d);
    if (!command || system (command) != 0)
        fprintf (stderr, "bench: %s stays\n", s->dir);
    dt_free (command);
    dt_free (s->frame);
    dt_options_done (&s->options);
}

static void measure (const struct bench_sources *files, const char *path, size_t rounds, int whole)
{
    uint64_t *ns = dt_calloc (rounds, sizeof *ns);
    size_t sites = whole ? files->d->n_sites : 1;
    struct server s = { .frame = NULL };

    if (!ns)
        bench_die ("out of memory");
    server_open (&s);
    pack (&s, files, path, whole);
    ask (&s);
    for (size_t i = 0; i < rounds; i++)
        ns[i] = ask (&s);
    if (s.d->cache_hits != rounds * sites)
        bench_die ("a solve that should have been a hit was none");
    qsort (ns, rounds, sizeof *ns, by_time);
    printf ("hit      median %9.1f us, best %9.1f us, worst %9.1f us: decoded request to packed "
            "reply, %zu site%s\n", (double)ns[rounds / 2] / 1e3, (double)ns[0] / 1e3,
            (double)ns[rounds - 1] / 1e3, sites, sites == 1 ? "" : "s");
    server_close (&s);
    dt_free (ns);
}

void bench_hit (const struct bench_sources *files, const char *path, size_t rounds)
{
    measure (files, path, rounds, 0);
    if (files->d->n_sites > 1)
        measure (files, path, rounds, 1);
}
