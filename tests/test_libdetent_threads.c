/* tests/test_libdetent_threads.c - eight threads share one handle and one recorder,
 * each with a selector of its own; made to run under --enable-sanitizers=thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/detent_rig.h"

/* Of the thread sanitizer: it does not see how the queues of libzmq, which is not built with
 * it, hand memory from thread to thread. */
__attribute__ ((visibility ("default"))) const char *__tsan_default_suppressions (void);
const char *__tsan_default_suppressions (void)
{
    return "race:libzmq.so\n";
}

#define THREADS 8
#define CALLS 5000

struct worker {
    pthread_t thread;
    const struct detent *d;
    struct detent_recorder *rec;
    uint64_t x;
    int wrong;
};

static void *work (void *arg)
{
    struct worker *w = arg;
    struct detent_selector *s = NULL;
    struct detent_error err = { "" };

    if (detent_selector_new (w->d, "attention", "decoder", 8, &s, &err) < 0) {
        w->wrong = 1;
        return NULL;
    }
    for (int k = 0; k < CALLS; k++) {
        int64_t request[2] = { 1, 0 };
        struct detent_call call = { 1, request };
        struct detent_choice c;

        w->x = w->x * 6364136223846793005u + 1442695040888963407u;
        request[1] = 1000 + (int64_t)((w->x >> 33) % 64);
        w->wrong += detent_select (s, &call, &c, &err) < 0 || c.value[0] != 256
                    || c.each[2][0] != 32
                    || (k % 50 == 0 && detent_record (w->rec, "attention", "decoder", &call, &err));
    }
    detent_selector_free (s);
    return NULL;
}

int main (void)
{
    Detent__FetchReply *b = rig_bundle (RIG_NONE, 0);
    struct detent *d = rig_open (b, DETENT_PINNED);
    struct worker w[THREADS];
    struct detent_recorder *rec = NULL;
    int wrong = detent_recorder_new (d, &rec, NULL) != 0;

    for (int i = 0; i < THREADS && !wrong; i++) {
        w[i] = (struct worker){ .d = d, .rec = rec, .x = (uint64_t)i };
        if (pthread_create (&w[i].thread, NULL, work, &w[i]))
            abort ();
    }
    for (int i = 0; i < THREADS && !wrong; i++)
        pthread_join (w[i].thread, NULL);
    for (int i = 0; i < THREADS && !wrong; i++)
        wrong |= w[i].wrong;
    detent_recorder_free (rec);
    detent_close (d);
    detent__fetch_reply__free_unpacked (b, NULL);
    printf ("%d threads, %d calls each: %s\n", THREADS, CALLS, wrong ? "wrong" : "right");
    return wrong;
}
