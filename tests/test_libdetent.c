/* tests/test_libdetent.c - fetch, verify, select and record, as an engine does. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "proto/certificate.h"
#include "tests/detent_rig.h"
#include "tests/suite.h"
#include "trace/dtrace.h"

static struct rig_folder folder;
static struct rig_daemon server;
static struct detent_options options;
static struct detent_error err;

static void setup (void)
{
    rig_folder_make (&folder);
    options = (struct detent_options){ .endpoint = folder.endpoint, .deployment = "host-small",
                                       .workload = "chat", .without_tuple = DETENT_REFUSE };
    err.text[0] = '\0';
}

static void teardown (void)
{
    rig_folder_remove (&folder);
}

/* Open while a daemon serves `bundle`; the bundle is released. */
static int open_with (Detent__FetchReply *bundle, struct detent **ret)
{
    int r;

    rig_daemon_start (&server, folder.endpoint, bundle);
    r = detent_open (&options, ret, &err);
    rig_daemon_stop (&server);
    unlink (folder.endpoint + 6);
    if (bundle)
        detent__fetch_reply__free_unpacked (bundle, NULL);
    return r;
}

/* --- opening ------------------------------------------------------------------------ */

START_TEST (open_says_what_it_is)
{
    struct detent *d = NULL;
    const char *family, *site;
    int64_t v;

    options.signer = rig_signer ();
    ck_assert_msg (open_with (rig_bundle (RIG_NONE, 0), &d) == 0, "%s", err.text);
    ck_assert (!detent_is_stock (d) && !detent_why_stock (d));
    ck_assert_str_eq (detent_backend_field (d, "name"), "host");
    ck_assert_str_eq (detent_backend_field (d, "driver"), "");
    ck_assert_ptr_null (detent_backend_field (d, "colour"));
    ck_assert_uint_eq (detent_backend_units (d), RIG_UNITS);
    ck_assert (detent_site (d, 0, &family, &site) && !detent_site (d, 1, &family, &site));
    ck_assert_str_eq (site, "decoder");
    ck_assert_int_eq (detent_site_fact (d, family, site, "head_dim", &v, &err), 0);
    ck_assert_int_eq (v, 64);
    ck_assert_int_eq (detent_site_fact (d, family, site, "kind", &v, &err), -DETENT_ENOTFOUND);
    ck_assert_int_eq (detent_site_fact (d, family, "x", "kind", &v, &err), -DETENT_ENOTFOUND);
    detent_close (d);
}
END_TEST

/* Every way to be wrong is refused, with a text that says what. */
static const struct { int code; const char *text; } faults[RIG_FAULTS] = {
    [RIG_COMMIT_VERSION] = { -DETENT_EVERSION, "commit: version 2" },
    [RIG_TUPLE_VERSION] = { -DETENT_EVERSION, "tuple: version 2" },
    [RIG_DEPLOYMENT] = { -DETENT_ECORRUPT, "for deployment other" },
    [RIG_WORKLOAD] = { -DETENT_ECORRUPT, "for workload other" },
    [RIG_TUPLE_DEPLOYMENT] = { -DETENT_ECORRUPT, "for deployment other" },
    [RIG_TUPLE_DIGEST] = { -DETENT_ECORRUPT, "its digest is not the commit's" },
    [RIG_BITS_DIGEST] = { -DETENT_ECORRUPT, "its bits digest is not the commit's" },
    [RIG_NO_FACTS] = { -DETENT_ECORRUPT, "no facts" },
    [RIG_NO_SITES] = { -DETENT_ECORRUPT, "sites" },
    [RIG_TWO_SITES] = { -DETENT_ECORRUPT, "attention/decoder: twice" },
    [RIG_NO_BACKEND] = { -DETENT_ECORRUPT, "backend: name" },
    [RIG_SELECTOR_TWICE] = { -DETENT_ECORRUPT, "twice" },
    [RIG_SELECTOR_OTHER_SITE] = { -DETENT_ECORRUPT, "attention/encoder" },
    [RIG_SELECTOR_GARBAGE] = { -DETENT_ECORRUPT, "pinned selector of attention/decoder" },
    [RIG_SELECTOR_QUANTITY] = { -DETENT_ECORRUPT, "phase_of_the_moon" },
    [RIG_SELECTOR_SWAPPED] = { -DETENT_ECORRUPT, "it is the stock selector" },
    [RIG_BYTE_COMMIT] = { -DETENT_ECORRUPT, "commit" },
    [RIG_BYTE_SIGNATURE] = { -DETENT_ECORRUPT, "signature" },
    [RIG_BYTE_SIGNER] = { -DETENT_ECORRUPT, "another key" },
    [RIG_BYTE_TUPLE] = { -DETENT_ECORRUPT, "tuple" },
    [RIG_BYTE_PINNED] = { -DETENT_ECORRUPT, "pinned selector of attention/decoder" },
    [RIG_BYTE_STOCK] = { -DETENT_ECORRUPT, "stock selector of attention/decoder" },
    [RIG_BYTE_SNAPSHOT] = { -DETENT_ECORRUPT, "snapshot" },
    [RIG_OTHER_SIGNER] = { -DETENT_ECORRUPT, "another key" },
    [RIG_SHORT_SIGNATURE] = { -DETENT_ECORRUPT, "signature" },
    [RIG_SHORT_SIGNER] = { -DETENT_ECORRUPT, "another key" },
    [RIG_MISSING_SELECTOR] = { -DETENT_ECORRUPT, "not in the bundle" },
    [RIG_EXTRA_SELECTOR] = { -DETENT_ECORRUPT, "2 in the bundle" },
    [RIG_TRAILING_TUPLE] = { -DETENT_ECORRUPT, "tuple" },
};

START_TEST (bad_bundle)
{
    struct detent *d = NULL;
    int r = open_with (rig_bundle ((enum rig_fault)_i, 0), &d);

    ck_assert_msg (r == faults[_i].code, "%d: %d %s", _i, r, err.text);
    ck_assert_msg (strstr (err.text, faults[_i].text), "%d: %s", _i, err.text);
    ck_assert_ptr_null (d);
}
END_TEST

/* Any one byte of what is signed or digested. */
START_TEST (any_byte)
{
    Detent__FetchReply *b = rig_bundle (RIG_NONE, 1);
    ProtobufCBinaryData *part[] = { &b->commit, &b->tuple, &b->signature, &b->signer,
                                    &b->selector[0]->pinned, &b->selector[0]->stock };
    struct detent *d = NULL;

    rig_daemon_start (&server, folder.endpoint, b);
    for (size_t k = 0; k < DT_ARRAY_SIZE (part); k++)
        for (size_t i = 0; i < part[k]->len; i += 1 + part[k]->len / 40) {
            part[k]->data[i] ^= 0x20;
            ck_assert_int_eq (detent_open (&options, &d, &err), -DETENT_ECORRUPT);
            part[k]->data[i] ^= 0x20;
        }
    ck_assert_int_eq (detent_open (&options, &d, &err), 0);
    detent_close (d);
    rig_daemon_stop (&server);
    detent__fetch_reply__free_unpacked (b, NULL);
}
END_TEST

START_TEST (other_key_or_snapshot)
{
    static const uint8_t other[32] = { 1 };
    struct detent *d = NULL;

    options.signer = other;
    ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), -DETENT_ECORRUPT);
    ck_assert_ptr_nonnull (strstr (err.text, "configured"));
    options.signer = NULL;
    options.snapshot = other;
    ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), -DETENT_ECORRUPT);
    ck_assert_ptr_nonnull (strstr (err.text, "snapshot"));
}
END_TEST

static void keep_bundle (uint8_t bits[32])
{
    struct detent *d = NULL;
    struct stat st;

    options.bundle_path = folder.bundle;
    ck_assert_msg (open_with (rig_bundle (RIG_NONE, 0), &d) == 0, "%s", err.text);
    memcpy (bits, detent_bits_digest (d), 32);
    detent_close (d);
    ck_assert_int_eq (stat (folder.bundle, &st), 0);
    ck_assert_uint_eq (st.st_mode & 0777, 0600);
}

START_TEST (bad_options)
{
    struct detent_options bad[6];
    uint8_t bits[32];
    struct detent *d = NULL;

    keep_bundle (bits); /* and required: no reason to start from it */
    options.required_bits = bits;
    for (int i = 0; i < 6; i++)
        bad[i] = options;
    bad[0].deployment = NULL;
    bad[1].workload = "a b";
    bad[2].without_tuple = 0;
    bad[3].variant = 7;
    bad[4].endpoint = "tcp://127.0.0.1:1";
    bad[5].timeout_ms = -1;
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq (detent_open (&bad[i], &d, NULL), -DETENT_EINPUT);
}
END_TEST

static void nothing (int signal)
{
    (void)signal;
}

/* Somebody listens and says nothing; the engine has a timer of its own. */
START_TEST (silent_among_signals)
{
    struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction to = { .sa_handler = nothing };
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket (AF_UNIX, SOCK_STREAM, 0);
    struct detent *d = NULL;

    ck_assert_uint_lt (strlen (folder.endpoint + 6), sizeof a.sun_path);
    strcpy (a.sun_path, folder.endpoint + 6);
    ck_assert_int_eq (bind (fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq (listen (fd, 8), 0);
    options.timeout_ms = 100;
    ck_assert_int_eq (sigaction (SIGALRM, &to, NULL), 0);
    ck_assert_int_eq (setitimer (ITIMER_REAL, &often, NULL), 0);
    ck_assert_int_eq (detent_open (&options, &d, &err), -DETENT_EUNREACH);
    ck_assert_int_eq (setitimer (ITIMER_REAL, &never, NULL), 0);
    ck_assert_ptr_nonnull (strstr (err.text, "no answer in time"));
    close (fd);
    unlink (a.sun_path);
}
END_TEST

START_TEST (no_daemon_or_no_tuple)
{
    struct detent *d = NULL;

    options.without_tuple = _i ? DETENT_STOCK : DETENT_REFUSE; /* no bundle: all the same */
    ck_assert_int_eq (detent_open (&options, &d, &err), -DETENT_EUNREACH);
    ck_assert_ptr_nonnull (strstr (err.text, "is it running?"));
    ck_assert_int_eq (open_with (NULL, &d), -DETENT_ENOTFOUND);
    ck_assert_str_eq (err.text, "no workload chat");
}
END_TEST

/* --- the bundle on disk --------------------------------------------------------------- */

START_TEST (daemon_down)
{
    struct detent *d = NULL;
    uint8_t bits[32];

    keep_bundle (bits);
    ck_assert_int_eq (detent_open (&options, &d, &err), -DETENT_EUNREACH); /* none required */
    ck_assert_ptr_nonnull (strstr (err.text, "(required_bits)"));
    options.required_bits = bits;
    ck_assert_msg (detent_open (&options, &d, &err) == 0, "%s", err.text);
    ck_assert (!detent_is_stock (d));
    detent_close (d);
    d = NULL;
    bits[0] ^= 1;
    ck_assert_int_eq (detent_open (&options, &d, &err), -DETENT_EUNREACH);
    ck_assert_ptr_nonnull (strstr (err.text, "required is"));
    ck_assert_ptr_null (d);
    options.without_tuple = DETENT_STOCK; /* both reasons are told */
    ck_assert_int_eq (detent_open (&options, &d, &err), 0);
    ck_assert_ptr_nonnull (strstr (detent_why_stock (d), "is it running?"));
    ck_assert_ptr_nonnull (strstr (detent_why_stock (d), "required is"));
    detent_close (d);
}
END_TEST

START_TEST (damaged_on_disk)
{
    struct detent *d = NULL;
    struct dt_buf b;
    uint8_t bits[32];

    keep_bundle (bits);
    options.required_bits = bits;
    dt_buf_init (&b);
    ck_assert_int_eq (dt_file_read (folder.bundle, 1 << 20, &b, NULL), 0);
    for (size_t i = 0; i < b.len; i += 11) {
        b.data[i] ^= 4;
        ck_assert_int_eq (dt_file_replace (folder.bundle, b.data, b.len, 0600, NULL), 0);
        b.data[i] ^= 4;
        ck_assert_msg (detent_open (&options, &d, &err) == -DETENT_EUNREACH, "byte %zu", i);
        ck_assert_ptr_nonnull (strstr (err.text, "nor is there a bundle to start from"));
    }
    for (size_t n = 0; n < b.len; n += 37) {
        ck_assert_int_eq (dt_file_replace (folder.bundle, b.data, n, 0600, NULL), 0);
        ck_assert_int_eq (detent_open (&options, &d, &err), -DETENT_EUNREACH);
    }
    dt_buf_done (&b);
}
END_TEST

START_TEST (stock_by_setting)
{
    struct detent *d = NULL;
    uint8_t bits[32], other[32] = { 1 };

    keep_bundle (bits);
    options.without_tuple = DETENT_STOCK;
    ck_assert_int_eq (detent_open (&options, &d, &err), 0); /* down: stock of the last one */
    ck_assert_int_eq (detent_is_stock (d), 1);
    ck_assert_ptr_nonnull (strstr (detent_why_stock (d), "is it running?"));
    detent_close (d);
    ck_assert_int_eq (open_with (rig_bundle (RIG_BYTE_TUPLE, 0), &d), 0);
    ck_assert_ptr_nonnull (strstr (detent_why_stock (d), "tuple"));
    detent_close (d);
    server.code = DT_ESTORE; /* up, and cannot read its store */
    ck_assert_int_eq (open_with (NULL, &d), 0);
    ck_assert_int_eq (detent_is_stock (d), 1);
    detent_close (d);
    server.code = 0;
    options.required_bits = other;
    ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), 0); /* another tuple */
    ck_assert_ptr_nonnull (strstr (detent_why_stock (d), "required is"));
    detent_close (d);
    options.without_tuple = DETENT_REFUSE;
    d = NULL;
    ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), -DETENT_EREFUSED);
    ck_assert_ptr_null (d);
}
END_TEST

START_TEST (kept_once) /* an engine that starts again needs no room for it */
{
    struct detent *d = NULL;
    struct stat first, again;
    uint8_t bits[32];

    keep_bundle (bits);
    ck_assert_int_eq (stat (folder.bundle, &first), 0);
    ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), 0);
    detent_close (d);
    ck_assert_int_eq (stat (folder.bundle, &again), 0);
    ck_assert_uint_eq (first.st_ino, again.st_ino);
    ck_assert_int_eq (chmod (folder.bundle, 0644), 0); /* not as it is kept */
    ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), 0);
    detent_close (d);
    ck_assert_int_eq (stat (folder.bundle, &again), 0);
    ck_assert_uint_eq (again.st_mode & 0777, 0600);
}
END_TEST

START_TEST (kept_nowhere) /* what was asked for is not done in silence */
{
    struct detent *d = NULL;

    options.bundle_path = "/nonexistent/bundle";
    ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), -ENOENT);
    ck_assert_ptr_nonnull (strstr (err.text, "bundle_path"));
}
END_TEST

/* --- certificates ------------------------------------------------------------------- */

/* What is wrong with the certificate of a bundle whose free fields have no claim. */
static const struct {
    const char *what;
    int want;
    const char *says;
    const char *build, *site, *field;
    int64_t split, max_batch;
} certified[] = {
    { "nothing", 0, "", "b1", "decoder", "tile", 256, 32 },
    { "another build", -DETENT_EENVIRONMENT, "its build differs", "b2", "decoder", "tile", 256, 32 },
    { "a field is not covered", -DETENT_EREFUSED, "free field tile has neither", "b1", "decoder",
      "other", 256, 32 },
    { "another site", -DETENT_ECORRUPT, "attention/encoder", "b1", "encoder", "tile", 256, 32 },
    { "another pin", -DETENT_ECORRUPT, "facts or pins", "b1", "decoder", "tile", 512, 32 },
    { "another fact", -DETENT_ECORRUPT, "facts or pins", "b1", "decoder", "tile", 256, 16 },
};

static void add_certificate (Detent__FetchReply *b, int i)
{
    int64_t value[] = { 4, 32 };
    struct dt_named fact[] = { { "max_batch", certified[i].max_batch } };
    struct dt_named binding[] = { { "split", certified[i].split } };
    struct dt_named_list free[] = { { "share", value, 2 }, { certified[i].field, value, 2 } };
    struct dt_certificate c = {
        .family = "attention", .site = certified[i].site,
        .backend = { "host", certified[i].build, "libm 2", "", "cpu x", 2 },
        .fact = fact, .n_facts = 1, .binding = binding, .n_binding = 1, .free = free, .n_free = 2,
    };
    struct dt_buf bytes = { 0 };

    dt_certificate_sort (&c);
    ck_assert_int_eq (dt_certificate_encode (&c, &bytes, NULL), 0);
    b->certificate = dt_calloc (1, sizeof *b->certificate);
    b->certificate[0] = (ProtobufCBinaryData){ bytes.len, bytes.data }; /* moved */
    b->n_certificate = 1;
}

START_TEST (certificates)
{
    Detent__FetchReply *b = rig_bundle (RIG_UNCLAIMED, 0);
    struct detent *d = NULL;
    int r;

    add_certificate (b, _i);
    r = open_with (b, &d);
    ck_assert_msg (r == certified[_i].want && (r == 0 || strstr (err.text, certified[_i].says)),
                   "%s: %d %s", certified[_i].what, r, err.text);
    detent_close (d);
}
END_TEST

START_TEST (no_certificate)
{
    struct detent *d = NULL;

    ck_assert_int_eq (open_with (rig_bundle (RIG_UNCLAIMED, 0), &d), -DETENT_EREFUSED);
    ck_assert_ptr_nonnull (strstr (err.text, "has neither certificate nor claim"));
}
END_TEST

/* --- the backend ---------------------------------------------------------------------- */

START_TEST (backend)
{
    static const struct { const char *v[5]; uint32_t units; const char *field; } other[] = {
        { { "cuda", "b1", "libm 2", "", "cpu x" }, 2, "name 'host'" },
        { { "host", "b2", "libm 2", "", "cpu x" }, 2, "build 'b1'" },
        { { "host", "b1", "libm 3", "", "cpu x" }, 2, "libraries 'libm 2'" },
        { { "host", "b1", "libm 2", "9", "cpu x" }, 2, "driver '' -> '9'" },
        { { "host", "b1", "libm 2", "", "cpu y" }, 2, "device 'cpu x'" },
        { { "host", "b1", "libm 2", "", "cpu x" }, 3, "2 units -> 3" },
    };
    struct detent *d = NULL;
    struct detent_selector *s = NULL;

    options.without_tuple = _i ? DETENT_STOCK : DETENT_REFUSE;
    for (size_t i = 0; i < DT_ARRAY_SIZE (other); i++) {
        const char *const *v = other[i].v;
        int r;

        ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), 0);
        ck_assert_int_eq (detent_selector_new (d, "attention", "decoder", 8, &s, &err),
                          -DETENT_EENVIRONMENT); /* not checked yet */
        r = detent_check_backend (d, v[0], v[1], v[2], v[3], v[4], other[i].units, &err);
        ck_assert_int_eq (r, _i ? 0 : -DETENT_EENVIRONMENT);
        ck_assert_ptr_nonnull (strstr (_i ? detent_why_stock (d) : err.text, other[i].field));
        ck_assert_int_eq (detent_is_stock (d), _i);
        if (_i) {
            ck_assert_int_eq (detent_selector_new (d, "attention", "decoder", 8, &s, &err), 0);
            detent_selector_free (s);
        }
        detent_close (d);
    }
}
END_TEST

/* --- selecting ------------------------------------------------------------------------- */

static struct detent *opened (int table, enum detent_variant variant, struct detent_selector **s)
{
    Detent__FetchReply *b = rig_bundle (RIG_NONE, table);
    struct detent *d = rig_open (b, variant);

    detent__fetch_reply__free_unpacked (b, NULL);
    ck_assert_int_eq (detent_selector_new (d, "attention", "decoder", 32, s, &err), 0);
    return d;
}

static int64_t floor_div (int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* One call against what the program says; no longest length is 777. */
static void check_call (struct detent_selector *s, const struct detent_call *call, int stock,
                        int table)
{
    int64_t longest = 0, total = 0;
    struct detent_choice c;

    for (size_t i = 0; i < call->n_requests; i++) {
        total += call->request[2 * i + 1];
        longest = call->request[2 * i + 1] > longest ? call->request[2 * i + 1] : longest;
    }
    if (longest == 777)
        return;
    ck_assert_msg (detent_select (s, call, &c, &err) == 0, "%s", err.text);
    ck_assert_int_eq (c.value[0], stock && longest > 1024 ? 512 : 256);
    ck_assert_int_eq (c.value[1], floor_div (1000, longest - 777));
    ck_assert (!c.each[0] && c.each[2]);
    for (size_t i = 0; i < call->n_requests; i++)
        ck_assert_int_eq (c.each[2][i], table && !stock && total <= 200  ? 16
                                        : call->request[2 * i + 1] > 100 ? 32
                                                                         : 4);
}

/* Many calls, some seen again, some but for one request in the middle. */
START_TEST (select_many)
{
    int stock = _i & 1, table = _i >> 1;
    struct detent_selector *s = NULL;
    struct detent *d = opened (table, stock ? DETENT_UNPINNED : DETENT_PINNED, &s);
    uint64_t x = 1;

    ck_assert_uint_eq (detent_selector_fields (s), 3);
    ck_assert_str_eq (detent_selector_field (s, 0), "split");
    ck_assert (detent_selector_binding (s, 0) && !detent_selector_binding (s, 2));
    for (int k = 0; k < 20000; k++) {
        int64_t request[2 * 24];
        struct detent_call call = { .request = request };

        x = x * 6364136223846793005u + 1442695040888963407u;
        call.n_requests = 1 + (x >> 33) % (k % 3 ? 24 : 3);
        for (size_t i = 0; i < call.n_requests; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            request[2 * i] = 1;
            /* few lengths, so that requests are seen again in other calls */
            request[2 * i + 1] = 100 + (int64_t)((x >> 33) % (k % 2 ? 20 : 3000));
        }
        check_call (s, &call, stock, table);
        check_call (s, &call, stock, table);
        request[call.n_requests / 2 * 2 + 1] = 100 + k % 3000;
        check_call (s, &call, stock, table);
    }
    detent_selector_free (s);
    detent_close (d);
}
END_TEST

static const struct {
    size_t n;
    int64_t request[8];
    int code;
    const char *text;
} refused[] = {
    { 0, { 0 }, -DETENT_EINPUT, "without requests" },
    { 33, { 0 }, -DETENT_EINPUT, "made for 32" },
    { 1, { 1, -5 }, -DETENT_EINPUT, "negative" },
    { 1, { 1, 0 }, -DETENT_EREFUSED, "longest_kv" },
    { 2, { 1, 5000, 1, 1 }, -DETENT_EREFUSED, "4096" },
    { 2, { 1, 9, 1, 0 }, -DETENT_EREFUSED, "request 1" },
    { 3, { 1, 9, 1, 8, 1, 99 }, -DETENT_EREFUSED, "not this length" },
    { 1, { 1, 777 }, -DETENT_EEVAL, "ZeroDivisionError" },
};

START_TEST (select_refused) /* and what follows is as good as before */
{
    static const int64_t good[] = { 1, 9, 1, 8, 1, 7 };
    struct detent_selector *s = NULL;
    struct detent *d = opened (0, DETENT_PINNED, &s);
    struct detent_call call = { refused[_i].n, refused[_i].request }, ok = { 3, good };
    struct detent_choice c;

    for (int k = 0; k < 3; k++) {
        int r = detent_select (s, &call, &c, &err);

        ck_assert_msg (r == refused[_i].code, "%d: %d %s", _i, r, err.text);
        ck_assert_msg (strstr (err.text, refused[_i].text), "%s", err.text);
        ck_assert_int_eq (detent_select (s, &ok, &c, &err), 0);
        ck_assert_int_eq (c.each[2][2], 4);
    }
    detent_selector_free (s);
    detent_close (d);
}
END_TEST

START_TEST (request_named_is_the_calls) /* though the ones before it were seen */
{
    static const int64_t seen[] = { 1, 9, 1, 8, 1, 7 }, next[] = { 1, 9, 1, 8, 1, 99 };
    struct detent_selector *s = NULL;
    struct detent *d = opened (0, DETENT_PINNED, &s);
    struct detent_call a = { 3, seen }, b = { 3, next };
    struct detent_choice c;

    ck_assert_int_eq (detent_select (s, &a, &c, &err), 0);
    ck_assert_int_eq (detent_select (s, &b, &c, &err), -DETENT_EREFUSED);
    ck_assert_msg (strstr (err.text, "request 2"), "%s", err.text);
    detent_selector_free (s);
    detent_close (d);
}
END_TEST

static const struct {
    struct detent_limit limit[4];
    size_t n;
    int code;
    const char *text;
} limits[] = {
    { { { "requests", 1, 32 }, { "longest_kv", 1, 4096 }, { "kv_length", 1, 100 } }, 3, 0, "" },
    { { { "requests", 1, 33 }, { "longest_kv", 1, 4096 }, { "kv_length", 1, 100 } }, 3,
      -DETENT_EREFUSED, "requests may be 33" },
    { { { "requests", 1, 32 }, { "longest_kv", 0, 4096 }, { "kv_length", 1, 100 } }, 3,
      -DETENT_EREFUSED, "longest_kv may be 0" },
    { { { "requests", 1, 32 }, { "longest_kv", 1, 4096 } }, 2, -DETENT_EINPUT, "kv_length" },
    { { { "requests", 1, 32, .step = 4 }, { "longest_kv", 7, 4096, .step = 3 },
        { "kv_length", 1, 100 } }, 3, 0, "" },
    { { { "requests", 1, 33, .step = 4 }, { "longest_kv", 1, 4096 }, { "kv_length", 1, 100 } }, 3,
      -DETENT_EREFUSED, "requests may be 33" },
    { { { "requests", 9, 8 } }, 1, -DETENT_EINPUT, "empty" },
    { { { "colour", 1, 2 } }, 1, -DETENT_EINPUT, "colour" },
    { { { "requests", 1, 32 }, { "requests", 1, 64 } }, 2, -DETENT_EINPUT, "two limits" },
    { { { "requests", 1, 32, .step = -1 } }, 1, -DETENT_EINPUT, "step -1" },
};

START_TEST (check_limits)
{
    struct detent_selector *s = NULL;
    struct detent *d = opened (0, DETENT_PINNED, &s);
    int r = detent_selector_check_limits (s, limits[_i].limit, limits[_i].n, &err);

    ck_assert_msg (r == limits[_i].code, "%d: %d %s", _i, r, err.text);
    ck_assert_msg (strstr (err.text, limits[_i].text), "%s", err.text);
    detent_selector_free (s);
    detent_close (d);
}
END_TEST

START_TEST (bad_selector)
{
    struct detent_selector *s = NULL;
    struct detent *d = opened (0, DETENT_PINNED, &s);

    detent_selector_free (s);
    s = NULL;
    ck_assert_int_eq (detent_selector_new (d, "gemm", "decoder", 8, &s, &err), -DETENT_ENOTFOUND);
    ck_assert_int_eq (detent_selector_new (d, "attention", "x", 8, &s, &err), -DETENT_ENOTFOUND);
    ck_assert_int_eq (detent_selector_new (d, "attention", "decoder", 0, &s, &err), -DETENT_EINPUT);
    ck_assert_int_eq (detent_selector_new (d, "attention", "decoder", 70000, &s, &err),
                      -DETENT_EINPUT);
    ck_assert_ptr_null (s);
    detent_selector_free (NULL);
    detent_close (d);
    detent_close (NULL);
}
END_TEST

/* --- attesting -------------------------------------------------------------------------- */

/* An engine of one site: it asks when it is traced and never again. */
struct stub {
    int64_t used[2 + 2]; /* split, share, and tile of two requests */
};

static void resolve (struct detent_selector *s, const struct detent_call *call, struct stub *e)
{
    struct detent_choice c;

    ck_assert_int_eq (detent_select (s, call, &c, &err), 0);
    e->used[0] = c.value[0];
    e->used[1] = c.value[1];
    e->used[2] = c.each[2][0];
    e->used[3] = c.each[2][1];
}

/* Resolved once at a dummy call, run at another.  Unpinned, the other call gets
 * another split: caught.  Pinned, both get the same: accepted, though a free field
 * follows the batch. */
START_TEST (b22_resolved_once)
{
    static const int64_t dummy[] = { 1, 2048, 1, 2048 }, real[] = { 1, 8, 1, 8 };
    struct detent_call at_start = { 2, dummy }, step = { 2, real };
    struct detent_selector *s = NULL;
    struct detent *d = opened (0, _i ? DETENT_PINNED : DETENT_UNPINNED, &s);
    struct detent_attested n;
    struct stub engine;

    resolve (s, &at_start, &engine);
    ck_assert_int_eq (detent_attest (s, &at_start, engine.used, &err), 0);
    ck_assert_str_eq (err.text, "");
    ck_assert_int_eq (detent_attest (s, &step, engine.used, &err), _i ? 0 : -DETENT_EREFUSED);
    ck_assert_str_eq (err.text, _i ? "attention/decoder: requests=2, longest_kv=8, request 0: "
                                     "expected tile 4, the engine used 32 (free: no bit depends "
                                     "on it)"
                                   : "attention/decoder: requests=2, longest_kv=8: expected "
                                     "split 256, the engine used 512");
    n = detent_attested (s);
    ck_assert_uint_eq (n.calls, 2);
    ck_assert_uint_eq (n.refused, !_i);
    ck_assert_uint_eq (n.free_differs, _i ? 2 : 0);
    /* what no program would take is told as such, and counts as no comparison */
    at_start.n_requests = 0;
    ck_assert_int_eq (detent_attest (s, &at_start, engine.used, &err), -DETENT_EINPUT);
    ck_assert_uint_eq (detent_attested (s).calls, 2);
    detent_selector_free (s);
    detent_close (d);
}
END_TEST

/* --- free tables ------------------------------------------------------------------------------- */

/* A cell holds at both its ends; beyond them the program's value stands.  The tuner
 * measures no tables so far, and verify and engines select through this one function:
 * there is no second mapping that could differ. */
START_TEST (b19_table_edges)
{
    static const struct { int64_t kv; int64_t tile; } edges[] = {
        { 1, 16 }, { 199, 16 }, { 200, 16 }, { 201, 32 }, { 4096, 32 },
    };
    struct detent_selector *s = NULL;
    struct detent *d = opened (1, DETENT_PINNED, &s);

    for (size_t i = 0; i < DT_ARRAY_SIZE (edges); i++) {
        int64_t request[] = { 1, edges[i].kv };
        struct detent_call call = { 1, request };
        struct detent_choice c;

        ck_assert_int_eq (detent_select (s, &call, &c, &err), 0);
        ck_assert_int_eq (c.each[2][0], edges[i].tile);
    }
    detent_selector_free (s);
    detent_close (d);
}
END_TEST

/* --- recording ------------------------------------------------------------------------- */

static struct dt_trace *written (struct detent_recorder *rec)
{
    struct dt_trace *t = NULL;
    struct dt_buf file;

    ck_assert_int_eq (detent_recorder_write (rec, folder.bundle, &err), 0);
    detent_recorder_free (rec);
    dt_buf_init (&file);
    ck_assert_int_eq (dt_file_read (folder.bundle, 1 << 20, &file, NULL), 0);
    ck_assert_int_eq (dt_trace_decode (file.data, file.len, &t, NULL), 0);
    dt_buf_done (&file);
    return t;
}

/* What turns out to be another backend's runs stock: no trace says that the tuple ran. */
START_TEST (recorded_before_the_check)
{
    static const int64_t one[] = { 1, 9 };
    struct detent_call a = { 1, one };
    struct detent_recorder *rec = NULL;
    struct detent *d = NULL;
    struct dt_trace *t;

    options.without_tuple = DETENT_STOCK;
    ck_assert_int_eq (open_with (rig_bundle (RIG_NONE, 0), &d), 0);
    ck_assert_int_eq (detent_recorder_new (d, &rec, &err), 0);
    ck_assert_int_eq (detent_check_backend (d, "other", "", "", "", "", 0, &err), 0);
    ck_assert_int_eq (detent_is_stock (d), 1);
    ck_assert_int_eq (detent_record (rec, "attention", "decoder", &a, &err), 0);
    t = written (rec);
    ck_assert (!t->has_tuple);
    dt_trace_free (t);
    detent_close (d);
}
END_TEST

START_TEST (recorded)
{
    static const int64_t one[] = { 1, 9, 2, 8 }, two[] = { 1, 5 };
    struct detent_call a = { 2, one }, b = { 1, two }, none = { 0, one };
    struct detent_selector *s = NULL;
    struct detent *d = opened (0, DETENT_PINNED, &s);
    struct detent_recorder *rec = NULL;
    struct dt_trace *t;

    ck_assert_int_eq (detent_recorder_new (d, &rec, &err), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq (detent_record (rec, "attention", "decoder", &a, &err), 0);
    ck_assert_int_eq (detent_record (rec, "attention", "decoder", &b, &err), 0);
    ck_assert_int_eq (detent_record (rec, "attention", "x", &b, &err), -DETENT_ENOTFOUND);
    ck_assert_int_eq (detent_record (rec, "attention", "decoder", &none, &err), -DETENT_EINPUT);
    t = written (rec);
    ck_assert_uint_eq (t->site[0].n_calls, 2);
    ck_assert_uint_eq (t->site[0].call[0].count, 3);
    ck_assert_str_eq (t->deployment, "host-small");
    ck_assert (t->has_tuple);
    ck_assert_mem_eq (t->tuple.bytes, detent_tuple_digest (d), 32);
    dt_trace_free (t);
    detent_selector_free (s);
    detent_close (d);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("libdetent");
    TCase *tc = tcase_create ("libdetent");

    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_set_timeout (tc, 60);
    tcase_add_test (tc, open_says_what_it_is);
    tcase_add_loop_test (tc, bad_bundle, RIG_NONE + 1, RIG_FAULTS);
    tcase_add_test (tc, any_byte);
    tcase_add_test (tc, other_key_or_snapshot);
    tcase_add_test (tc, bad_options);
    tcase_add_test (tc, silent_among_signals);
    tcase_add_loop_test (tc, no_daemon_or_no_tuple, 0, 2);
    tcase_add_test (tc, daemon_down);
    tcase_add_test (tc, damaged_on_disk);
    tcase_add_test (tc, stock_by_setting);
    tcase_add_test (tc, kept_once);
    tcase_add_test (tc, kept_nowhere);
    tcase_add_loop_test (tc, certificates, 0, (int)DT_ARRAY_SIZE (certified));
    tcase_add_test (tc, no_certificate);
    tcase_add_loop_test (tc, backend, 0, 2);
    tcase_add_loop_test (tc, select_many, 0, 4);
    tcase_add_loop_test (tc, select_refused, 0, (int)DT_ARRAY_SIZE (refused));
    tcase_add_test (tc, request_named_is_the_calls);
    tcase_add_loop_test (tc, check_limits, 0, (int)DT_ARRAY_SIZE (limits));
    tcase_add_test (tc, bad_selector);
    tcase_add_loop_test (tc, b22_resolved_once, 0, 2);
    tcase_add_test (tc, b19_table_edges);
    tcase_add_test (tc, recorded);
    tcase_add_test (tc, recorded_before_the_check);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
