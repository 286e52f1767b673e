#include "tests/detent_rig.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/canon.h"
#include "base/digest.h"
#include "base/mem.h"
#include "detent/backend.h"
#include "detent/tuple.h"
#include "selir/emit.h"

/* The rig also serves programs that are not of libcheck. */
#define MUST(x) \
    do { \
        if (!(x)) { \
            fprintf (stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
            abort (); \
        } \
    } while (0)

/* --- the program ---------------------------------------------------------------- */

static uint32_t node (struct dt_graph *g, uint8_t op, uint8_t type, uint32_t a, uint32_t b,
                      uint32_t c)
{
    struct dt_node n = { .op = op, .type = type, .a = a, .b = b, .c = c,
                         .guard = DT_NODE_NONE, .seq = g->next_seq++ };
    uint32_t id = 0;

    MUST (dt_graph_add (g, n, &id, NULL) == 0);
    return id;
}

static uint32_t number (struct dt_graph *g, int64_t v)
{
    uint32_t id = 0;

    MUST (dt_graph_const (g, DT_TYPE_INT, v, &id, NULL) == 0);
    return id;
}

static uint32_t input (struct dt_graph *g, const char *name, uint8_t klass, int64_t hi)
{
    struct dt_input in = { .name = name, .klass = klass, .type = DT_TYPE_INT,
                           .domain = { .lo = 1, .hi = hi, .step = 1 }, .node = DT_NODE_NONE };
    int64_t i = dt_graph_add_input (g, &in);
    struct dt_node n = { .op = DT_OP_INPUT, .type = DT_TYPE_INT, .a = DT_NODE_NONE,
                         .b = DT_NODE_NONE, .c = DT_NODE_NONE, .guard = DT_NODE_NONE, .imm = i,
                         .seq = g->next_seq++ };
    uint32_t id = 0;

    MUST (dt_graph_add (g, n, &id, NULL) == 0);
    g->input[i].node = id;
    return id;
}

static void point (struct dt_graph *g, const char *field, uint32_t value, uint8_t is_free)
{
    struct dt_point p = { .field = field, .type = DT_TYPE_INT, .is_free = is_free, .node = value };

    MUST (dt_graph_add_point (g, &p) >= 0);
}

static void require (struct dt_graph *g, uint32_t value, const char *why)
{
    struct dt_cond c = { .kind = DT_COND_REQUIRE, .value = value, .guard = DT_NODE_NONE,
                         .message = why, .seq = g->next_seq++ };

    MUST (dt_graph_add_cond (g, &c) >= 0);
}

static struct dt_graph *program (int pinned, const char *kv)
{
    const uint32_t none = DT_NODE_NONE;
    struct dt_graph *g = dt_graph_new ();
    uint32_t requests, longest, own, split, tile, share, long_kv, long_own;

    g->family = "attention";
    dt_graph_add_file (g, "t.py");
    dt_graph_add_span (g, (struct dt_span){ 0, 7, 5 });
    requests = input (g, "requests", DT_INPUT_RUNTIME, 32);
    longest = input (g, kv, DT_INPUT_RUNTIME, 4096);
    own = input (g, "kv_length", DT_INPUT_OWN, 4096);
    long_kv = node (g, DT_OP_LT, DT_TYPE_BOOL, number (g, 1024), longest, none);
    split = pinned ? number (g, 256)
                   : node (g, DT_OP_SELECT, DT_TYPE_INT, long_kv, number (g, 512), number (g, 256));
    share = node (g, DT_OP_FLOORDIV, DT_TYPE_INT, number (g, 1000),
                  node (g, DT_OP_SUB, DT_TYPE_INT, longest, number (g, 777), none), none);
    long_own = node (g, DT_OP_LT, DT_TYPE_BOOL, number (g, 100), own, none);
    tile = node (g, DT_OP_SELECT, DT_TYPE_INT, long_own, number (g, 32), number (g, 4));
    require (g, node (g, DT_OP_LE, DT_TYPE_BOOL, requests, number (g, 24), none),
             "too many at once");
    require (g, node (g, DT_OP_NE, DT_TYPE_BOOL, own, number (g, 99), none), "not this length");
    point (g, "split", split, 0);
    point (g, "share", share, 1);
    point (g, "tile", tile, 1);
    dt_graph_check (g);
    return g;
}

static void selector (struct dt_buf *b, int pinned, int table, int claim, const char *site,
                      const char *kv)
{
    static const struct dt_vm_range when = { "total_kv", 1, 200 };
    static const struct dt_vm_cell cell = { .value = 16, .when = &when, .n = 1 };
    static const struct dt_vm_table tables = { .field = "tile", .cell = &cell, .n = 1 };
    const struct dt_emit_field field[] = {
        { .binding = 1, .unit = "tokens" }, { .by_claim = (uint8_t)claim, .unit = "" },
        { .by_claim = (uint8_t)claim, .unit = "rows" } };
    struct dt_emit_options o = { .site = site, .variant = pinned ? "pinned" : "stock",
                                 .field = field, .table = &tables, .n_tables = table ? 1 : 0 };
    struct dt_graph *g = program (pinned, kv);
    struct dt_err err = { "" };

    MUST (dt_emit (g, &o, b, &err) == 0);
    dt_graph_free (g);
}

/* Attention:  block_n = 64 if longest_query == 1 else 32 (pinned: 32)
 *             split_stride = 256 if requests <= 4 else 0 (pinned: 256)
 *             tile_m = 4 if query_length == 1 else 32;  workers_per_request = 2 */
static void attention_selector (struct dt_buf *b, int pinned)
{
    static const struct dt_emit_field field[] = {
        { .binding = 1, .unit = "" }, { .binding = 1, .unit = "" },
        { .by_claim = 1, .unit = "" }, { .by_claim = 1, .unit = "" } };
    struct dt_emit_options o = { .site = "decoder", .variant = pinned ? "pinned" : "stock",
                                 .field = field };
    const uint32_t none = DT_NODE_NONE;
    struct dt_graph *g = dt_graph_new ();
    uint32_t requests, longest, own, decode, few, one;

    g->family = "attention";
    dt_graph_add_file (g, "t.py");
    dt_graph_add_span (g, (struct dt_span){ 0, 7, 5 });
    requests = input (g, "requests", DT_INPUT_RUNTIME, 32);
    longest = input (g, "longest_query", DT_INPUT_RUNTIME, 512);
    own = input (g, "query_length", DT_INPUT_OWN, 512);
    decode = node (g, DT_OP_EQ, DT_TYPE_BOOL, longest, number (g, 1), none);
    few = node (g, DT_OP_LE, DT_TYPE_BOOL, requests, number (g, 4), none);
    one = node (g, DT_OP_EQ, DT_TYPE_BOOL, own, number (g, 1), none);
    point (g, "block_n", pinned ? number (g, 32)
           : node (g, DT_OP_SELECT, DT_TYPE_INT, decode, number (g, 64), number (g, 32)), 0);
    point (g, "split_stride", pinned ? number (g, 256)
           : node (g, DT_OP_SELECT, DT_TYPE_INT, few, number (g, 256), number (g, 0)), 0);
    point (g, "tile_m", node (g, DT_OP_SELECT, DT_TYPE_INT, one, number (g, 4), number (g, 32)), 1);
    point (g, "workers_per_request", number (g, 2), 1);
    dt_graph_check (g);
    MUST (dt_emit (g, &o, b, NULL) == 0);
    dt_graph_free (g);
}

/* --- the tuple and its commit ------------------------------------------------------ */

static const struct dt_backend_identity nobody = {
    .name = "host", .build = "b1", .libraries = "libm 2", .driver = "", .device = "cpu x",
    .units = RIG_UNITS };

struct parts {
    enum rig_fault fault;
    const struct dt_backend_identity *backend;
    struct dt_buf pinned, stock;
    struct dt_canon tuple, commit;
    struct dt_digest bits;
};

static void site_entry (const struct parts *p)
{
    struct dt_canon *c = (struct dt_canon *)&p->tuple;
    struct dt_digest none = { { 0 } };

    dt_canon_map (c);
    if (p->fault != RIG_NO_FACTS) {
        dt_canon_key (c, "facts");
        dt_canon_map (c);
        dt_canon_kint (c, "bf16", 0);
        dt_canon_kint (c, "head_dim", 64);
        dt_canon_kstr (c, "kind", "gqa");
        dt_canon_kint (c, "kv_heads", 2);
        dt_canon_kint (c, "max_batch", 32);
        dt_canon_kint (c, "max_context", 32768);
        dt_canon_kint (c, "max_query", 512);
        dt_canon_kint (c, "output_bf16", 0);
        dt_canon_kint (c, "page_size", 16);
        dt_canon_kint (c, "q_heads", 8);
        dt_canon_end (c);
    }
    dt_canon_kstr (c, "family", "attention");
    dt_canon_key (c, "knobs");
    dt_canon_map (c);
    dt_canon_end (c);
    dt_canon_key (c, "pins");
    dt_canon_map (c);
    dt_canon_kint (c, "choose.split", 256);
    dt_canon_end (c);
    dt_canon_kbytes (c, "program", none.bytes, sizeof none);
    dt_canon_kstr (c, "site", "decoder");
    dt_canon_end (c);
}

static void bits_of (struct parts *p)
{
    struct dt_canon *c = &p->tuple;

    dt_canon_map (c);
    dt_canon_key (c, "backend");
    dt_canon_map (c);
    dt_canon_kstr (c, "build", p->backend->build);
    dt_canon_kstr (c, "device", p->backend->device);
    dt_canon_kstr (c, "driver", p->backend->driver);
    dt_canon_kstr (c, "libraries", p->backend->libraries);
    if (p->fault != RIG_NO_BACKEND)
        dt_canon_kstr (c, "name", p->backend->name);
    dt_canon_kint (c, "units", p->backend->units);
    dt_canon_end (c);
    dt_canon_kstr (c, "deployment", p->fault == RIG_TUPLE_DEPLOYMENT ? "other" : "host-small");
    dt_canon_key (c, "engine");
    dt_canon_map (c);
    dt_canon_kstr (c, "build", "1");
    dt_canon_kstr (c, "name", "ref");
    dt_canon_end (c);
    dt_canon_kstr (c, "model", "small");
    dt_canon_key (c, "parallelism");
    dt_canon_map (c);
    dt_canon_end (c);
    dt_canon_key (c, "sites");
    dt_canon_list (c);
    for (int i = p->fault == RIG_NO_SITES; i < 1 + (p->fault == RIG_TWO_SITES); i++)
        site_entry (p);
    dt_canon_end (c);
    dt_canon_end (c);
}

static void selector_entry (struct parts *p)
{
    struct dt_canon *c = &p->tuple;
    const struct dt_buf *first = &p->pinned, *second = &p->stock;
    struct dt_digest a, b;

    if (p->fault == RIG_SELECTOR_SWAPPED) {
        first = &p->stock;
        second = &p->pinned;
    }
    a = dt_digest_of (DETENT_DIGEST_SELECTOR, first->data, first->len);
    b = dt_digest_of (DETENT_DIGEST_SELECTOR, second->data, second->len);
    dt_canon_map (c);
    dt_canon_kstr (c, "family", "attention");
    dt_canon_kbytes (c, "pinned", a.bytes, sizeof a);
    dt_canon_kstr (c, "site", "decoder");
    dt_canon_kbytes (c, "stock", b.bytes, sizeof b);
    dt_canon_end (c);
}

static void tuple_of (struct parts *p)
{
    struct dt_canon *c = &p->tuple;
    struct dt_canon_value v;

    dt_canon_init (c);
    dt_canon_map (c);
    dt_canon_key (c, "bits");
    bits_of (p);
    dt_canon_key (c, "selectors");
    dt_canon_list (c);
    for (int i = 0; i < 1 + (p->fault == RIG_SELECTOR_TWICE); i++)
        selector_entry (p);
    dt_canon_end (c);
    dt_canon_key (c, "tables");
    dt_canon_list (c);
    dt_canon_end (c);
    dt_canon_kint (c, "version", p->fault == RIG_TUPLE_VERSION ? 2 : DETENT_TUPLE_VERSION);
    dt_canon_end (c);
    MUST (dt_canon_finish (c) == 0);
    MUST (dt_canon_check (c->buf.data, c->buf.len, &v, NULL) == 0);
    v = dt_canon_get (v, "bits");
    p->bits = dt_digest_of (DETENT_DIGEST_BITS, v.at, v.len);
}

static void key_pair (int which, uint8_t pub[32], uint8_t secret[64])
{
    uint8_t seed[crypto_sign_SEEDBYTES] = { (uint8_t)(7 + which) };

    MUST (sodium_init () >= 0);
    crypto_sign_seed_keypair (pub, secret, seed);
}

const uint8_t *rig_signer (void)
{
    static uint8_t pub[32];
    uint8_t secret[64];

    key_pair (0, pub, secret);
    return pub;
}

static void commit_of (struct parts *p)
{
    struct dt_canon *c = &p->commit;
    struct dt_digest tuple = dt_digest_of (DETENT_DIGEST_TUPLE, p->tuple.buf.data,
                                           p->tuple.buf.len);

    tuple.bytes[0] ^= p->fault == RIG_TUPLE_DIGEST;
    p->bits.bytes[0] ^= p->fault == RIG_BITS_DIGEST;
    dt_canon_init (c);
    dt_canon_map (c);
    dt_canon_kstr (c, "author", "a");
    dt_canon_kbytes (c, "bits", p->bits.bytes, 32);
    dt_canon_kstr (c, "deployment", p->fault == RIG_DEPLOYMENT ? "other" : "host-small");
    dt_canon_kstr (c, "message", "m");
    dt_canon_kint (c, "sampled", 0);
    dt_canon_kint (c, "sequence", 1);
    dt_canon_kbytes (c, "signer", rig_signer (), 32);
    dt_canon_kint (c, "time", 1);
    dt_canon_kbytes (c, "tuple", tuple.bytes, 32);
    dt_canon_kint (c, "version", p->fault == RIG_COMMIT_VERSION ? 2 : DETENT_COMMIT_VERSION);
    dt_canon_kstr (c, "workload", p->fault == RIG_WORKLOAD ? "other" : "chat");
    dt_canon_end (c);
    MUST (dt_canon_finish (c) == 0);
}

/* --- the bundle ------------------------------------------------------------------------ */

static ProtobufCBinaryData bytes (const void *data, size_t n)
{
    ProtobufCBinaryData b = { .len = n, .data = dt_memdup (data, n) };

    MUST (b.data);
    return b;
}

static void flip (ProtobufCBinaryData *b)
{
    b->data[b->len / 2] ^= 1;
}

static Detent__Selector *selector_message (const struct parts *p)
{
    Detent__Selector *s = dt_calloc (1, sizeof *s);

    detent__selector__init (s);
    s->family = dt_strdup ("attention");
    s->site = dt_strdup ("decoder");
    s->pinned = bytes (p->pinned.data, p->pinned.len);
    s->stock = bytes (p->stock.data, p->stock.len);
    if (p->fault == RIG_SELECTOR_SWAPPED) {
        ProtobufCBinaryData x = s->pinned;

        s->pinned = s->stock;
        s->stock = x;
    }
    return s;
}

static void damage (Detent__FetchReply *b, enum rig_fault fault, const struct parts *p)
{
    uint8_t pub[32], secret[64];

    key_pair (1, pub, secret);
    switch (fault) {
    case RIG_BYTE_COMMIT: flip (&b->commit); break;
    case RIG_BYTE_SIGNATURE: flip (&b->signature); break;
    case RIG_BYTE_SIGNER: flip (&b->signer); break;
    case RIG_BYTE_TUPLE: flip (&b->tuple); break;
    case RIG_BYTE_PINNED: flip (&b->selector[0]->pinned); break;
    case RIG_BYTE_STOCK: flip (&b->selector[0]->stock); break;
    case RIG_BYTE_SNAPSHOT: flip (&b->snapshot); break;
    case RIG_OTHER_SIGNER: /* all fits, but for the key that the commit names */
        memcpy (b->signer.data, pub, 32);
        crypto_sign_detached (b->signature.data, NULL, b->snapshot.data, 32, secret);
        break;
    case RIG_SHORT_SIGNATURE: b->signature.len--; break;
    case RIG_SHORT_SIGNER: b->signer.len--; break;
    case RIG_MISSING_SELECTOR:
        detent__selector__free_unpacked (b->selector[--b->n_selector], NULL);
        break;
    case RIG_EXTRA_SELECTOR:
        b->selector[b->n_selector++] = selector_message (p);
        b->selector[1]->site[0] = 'x';
        break;
    case RIG_TRAILING_TUPLE: b->tuple.len--; break;
    default: break;
    }
}

/* Sign what the parts hold; their selectors are released. */
static Detent__FetchReply *finish (struct parts *p)
{
    Detent__FetchReply *b = dt_calloc (1, sizeof *b);
    uint8_t pub[32], secret[64], signature[crypto_sign_BYTES];
    struct dt_digest commit;

    tuple_of (p);
    commit_of (p);
    commit = dt_digest_of (DETENT_DIGEST_COMMIT, p->commit.buf.data, p->commit.buf.len);
    key_pair (0, pub, secret);
    crypto_sign_detached (signature, NULL, commit.bytes, 32, secret);

    detent__fetch_reply__init (b);
    b->commit = bytes (p->commit.buf.data, p->commit.buf.len);
    b->signature = bytes (signature, sizeof signature);
    b->signer = bytes (pub, sizeof pub);
    b->tuple = bytes (p->tuple.buf.data, p->tuple.buf.len);
    b->snapshot = bytes (commit.bytes, 32);
    b->selector = dt_calloc (2, sizeof *b->selector);
    b->selector[b->n_selector++] = selector_message (p);
    damage (b, p->fault, p);
    dt_canon_done (&p->tuple);
    dt_canon_done (&p->commit);
    dt_buf_done (&p->pinned);
    dt_buf_done (&p->stock);
    return b;
}

Detent__FetchReply *rig_bundle (enum rig_fault fault, int table)
{
    struct parts p = { .fault = fault, .backend = &nobody };

    selector (&p.pinned, 1, table, fault != RIG_UNCLAIMED, fault == RIG_SELECTOR_OTHER_SITE ? "encoder" : "decoder",
              fault == RIG_SELECTOR_QUANTITY ? "phase_of_the_moon" : "longest_kv");
    selector (&p.stock, 0, 0, fault != RIG_UNCLAIMED, "decoder", "longest_kv");
    if (fault == RIG_SELECTOR_GARBAGE)
        p.pinned.len /= 2;
    return finish (&p);
}

Detent__FetchReply *rig_attention (const struct dt_backend_identity *id)
{
    struct parts p = { .fault = RIG_NONE, .backend = id };

    attention_selector (&p.pinned, 1);
    attention_selector (&p.stock, 0);
    return finish (&p);
}

Detent__FetchReply *rig_blobs (const struct dt_buf *pinned, const struct dt_buf *stock)
{
    struct parts p = { .fault = RIG_NONE, .backend = &nobody };

    dt_buf_put (&p.pinned, pinned->data, pinned->len);
    dt_buf_put (&p.stock, stock->data, stock->len);
    return finish (&p);
}

/* --- the daemon --------------------------------------------------------------------------- */

static void answer (struct rig_daemon *s, uint64_t id)
{
    Detent__Reply reply = DETENT__REPLY__INIT;
    Detent__Error error = DETENT__ERROR__INIT;
    uint8_t *data;
    size_t n;

    reply.id = id;
    reply.final = 1;
    reply.body_case = s->bundle ? DETENT__REPLY__BODY_FETCH : DETENT__REPLY__BODY_ERROR;
    if (s->bundle)
        reply.fetch = (Detent__FetchReply *)s->bundle;
    else
        reply.error = &error;
    error.code = s->code ? s->code : DT_ENOTFOUND;
    error.text = (char *)"no workload chat";
    n = detent__reply__get_packed_size (&reply);
    data = dt_calloc (n, 1);
    detent__reply__pack (&reply, data);
    zmq_send (s->router, data, n, 0);
    dt_free (data);
}

static void *serve (void *arg)
{
    struct rig_daemon *s = arg;
    zmq_pollitem_t p[2] = { { .socket = s->router, .events = ZMQ_POLLIN },
                            { .socket = s->stop, .events = ZMQ_POLLIN } };
    void *stop = zmq_socket (s->ctx, ZMQ_PAIR);

    zmq_connect (stop, "inproc://stop");
    p[1].socket = stop;
    while (zmq_poll (p, 2, -1) >= 0 && !p[1].revents) {
        Detent__Request *rq;
        zmq_msg_t who, body;

        zmq_msg_init (&who);
        zmq_msg_init (&body);
        zmq_msg_recv (&who, s->router, 0);
        zmq_msg_recv (&body, s->router, 0);
        rq = detent__request__unpack (NULL, zmq_msg_size (&body), zmq_msg_data (&body));
        zmq_msg_send (&who, s->router, ZMQ_SNDMORE);
        answer (s, rq ? rq->id : 0);
        if (rq)
            detent__request__free_unpacked (rq, NULL);
        zmq_msg_close (&who);
        zmq_msg_close (&body);
    }
    zmq_close (stop);
    zmq_close (s->router);
    return NULL;
}

void rig_daemon_start (struct rig_daemon *s, const char *endpoint,
                       const Detent__FetchReply *bundle)
{
    s->bundle = bundle;
    s->ctx = zmq_ctx_new ();
    s->router = zmq_socket (s->ctx, ZMQ_ROUTER);
    s->stop = zmq_socket (s->ctx, ZMQ_PAIR);
    MUST (zmq_bind (s->stop, "inproc://stop") == 0);
    MUST (zmq_bind (s->router, endpoint) == 0);
    MUST (pthread_create (&s->thread, NULL, serve, s) == 0);
}

void rig_daemon_stop (struct rig_daemon *s)
{
    zmq_send (s->stop, "", 0, 0);
    pthread_join (s->thread, NULL);
    zmq_close (s->stop);
    zmq_ctx_term (s->ctx);
}

void rig_folder_make (struct rig_folder *f)
{
    strcpy (f->path, "/tmp/detent-test-XXXXXX");
    MUST (mkdtemp (f->path));
    snprintf (f->endpoint, sizeof f->endpoint, "ipc://%s/s", f->path);
    snprintf (f->bundle, sizeof f->bundle, "%s/bundle", f->path);
}

void rig_folder_remove (struct rig_folder *f)
{
    unlink (f->endpoint + 6);
    unlink (f->bundle);
    rmdir (f->path);
}

struct detent *rig_open (const Detent__FetchReply *bundle, enum detent_variant variant)
{
    struct detent_error err = { "" };
    struct detent *d = NULL;
    struct rig_folder f;
    struct rig_daemon s = { .code = 0 };
    struct detent_options o = { .deployment = "host-small", .workload = "chat",
                                .without_tuple = DETENT_REFUSE, .variant = variant };

    rig_folder_make (&f);
    rig_daemon_start (&s, f.endpoint, bundle);
    o.endpoint = f.endpoint;
    MUST (detent_open (&o, &d, &err) == 0);
    MUST (detent_check_backend (d, RIG_BACKEND, RIG_UNITS, NULL) == 0);
    rig_daemon_stop (&s);
    rig_folder_remove (&f);
    return d;
}
