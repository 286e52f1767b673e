/* tests/detent_rig.h - a signed bundle with real selectors, and a small daemon that
 * hands it out over a real socket.
 * Used by: tests/test_libdetent*.c, tests/test_noalloc.c, bench/solver.c. */
#ifndef TESTS_DETENT_RIG_H
#define TESTS_DETENT_RIG_H

#include <pthread.h>
#include <stddef.h>

#include "detent/detent.h"
#include "proto/detent.pb-c.h"

/* The site's program:
 *
 *   requests: Runtime[1..32]   longest_kv: Runtime[1..4096]   kv_length: Own[1..4096]
 *   split    binding        stock: 512 if longest_kv > 1024 else 256; pinned: 256
 *   share    free           1000 // (longest_kv - 777)
 *   tile     free, own      32 if kv_length > 100 else 4; a free table may replace it
 *   require (requests <= 24, "too many at once")
 *   require (kv_length != 99, "not this length") */

struct dt_backend_identity; /* detent/backend.h */

/* What is wrong with a bundle. */
enum rig_fault {
    RIG_NONE,
    /* before it is signed */
    RIG_COMMIT_VERSION, RIG_TUPLE_VERSION, RIG_DEPLOYMENT, RIG_WORKLOAD, RIG_TUPLE_DEPLOYMENT,
    RIG_TUPLE_DIGEST, RIG_BITS_DIGEST, RIG_NO_FACTS, RIG_NO_SITES, RIG_TWO_SITES,
    RIG_NO_BACKEND, RIG_SELECTOR_TWICE, RIG_SELECTOR_OTHER_SITE, RIG_SELECTOR_GARBAGE,
    RIG_SELECTOR_QUANTITY, RIG_SELECTOR_SWAPPED,
    /* afterwards */
    RIG_BYTE_COMMIT, RIG_BYTE_SIGNATURE, RIG_BYTE_SIGNER, RIG_BYTE_TUPLE, RIG_BYTE_PINNED,
    RIG_BYTE_STOCK, RIG_BYTE_SNAPSHOT, RIG_OTHER_SIGNER, RIG_SHORT_SIGNATURE, RIG_SHORT_SIGNER,
    RIG_MISSING_SELECTOR, RIG_EXTRA_SELECTOR, RIG_TRAILING_TUPLE,
    RIG_FAULTS,
    RIG_UNCLAIMED /* no fault, if it has a certificate: free fields without a claim */
};

/* Owned by the caller: detent__fetch_reply__free_unpacked (b, NULL).  With `table`,
 * the pinned selector has a table for tile: 16 where total_kv is 1..200. */
Detent__FetchReply *rig_bundle (enum rig_fault fault, int table);
/* Selectors of attention for a backend: what a batch of few or short requests gets
 * differs from what a large one gets.  block_n and split_stride are pinned. */
Detent__FetchReply *rig_attention (const struct dt_backend_identity *id);
/* Selectors that were made elsewhere, of attention/decoder. */
struct dt_buf;
Detent__FetchReply *rig_blobs (const struct dt_buf *pinned, const struct dt_buf *stock);
const uint8_t *rig_signer (void); /* 32 bytes */

/* A daemon at `endpoint` that answers every request with the bundle (NULL: "not
 * found") until it is stopped. */
struct rig_daemon {
    void *ctx, *router, *stop;
    const Detent__FetchReply *bundle;
    int code; /* of the error that it answers without one; 0: -DT_ENOTFOUND */
    pthread_t thread;
};
void rig_daemon_start (struct rig_daemon *s, const char *endpoint,
                       const Detent__FetchReply *bundle);
void rig_daemon_stop (struct rig_daemon *s);

/* A folder of its own, with an endpoint and a bundle's path in it. */
struct rig_folder {
    char path[64], endpoint[96], bundle[96];
};
void rig_folder_make (struct rig_folder *f);
void rig_folder_remove (struct rig_folder *f);

/* Open against a daemon that serves `bundle`; ends the test if it fails.  The
 * backend is checked. */
struct detent *rig_open (const Detent__FetchReply *bundle, enum detent_variant variant);

/* The backend of the tuple. */
#define RIG_BACKEND "host", "b1", "libm 2", "", "cpu x"
#define RIG_UNITS 2u

#endif
