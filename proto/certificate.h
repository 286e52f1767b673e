/* proto/certificate.h - a certificate and its bytes (include/detent/tuple.h).
 * Uses: base/, include/detent/.  Used by: detentd, detentctl, libdetent. */
#ifndef DT_PROTO_CERTIFICATE_H
#define DT_PROTO_CERTIFICATE_H

#include "base/arena.h"
#include "base/canon.h"
#include "base/digest.h"

#define DT_CERTIFICATE_KINDS 3 /* of data: enum dt_backend_data */
extern const char *const dt_certificate_kind[DT_CERTIFICATE_KINDS];

/* As dt_backend_identity of include/detent/backend.h, borrowed. */
struct dt_certificate_backend {
    const char *name, *build, *libraries, *driver, *device;
    uint32_t units;
};
struct dt_named {
    const char *name;
    int64_t value;
};
struct dt_named_list {
    const char *name;
    int64_t *value; /* [n] */
    size_t n;
};

/* Zero-initialise; dt_certificate_done.  All that it points to is in the arena or
 * borrowed.  Lists ascend by name. */
struct dt_certificate {
    struct dt_arena arena;
    const char *family, *site;
    struct dt_certificate_backend backend;
    struct dt_named *fact, *binding;
    size_t n_facts, n_binding;
    struct dt_named_list *free, *threshold;
    size_t n_free, n_thresholds;
    uint64_t batches, rows, runs, repeats, rivals, requests;
    uint64_t tried, refused, of, seed;
    struct {
        uint64_t exchange, changed, rows;
    } power[DT_CERTIFICATE_KINDS];
};
void dt_certificate_done (struct dt_certificate *c);

/* Sort lists by name, as the encoding wants them. */
void dt_certificate_sort (struct dt_certificate *c);
/* What it is about: backend, family, site, facts and binding values.  A certificate
 * holds for what has the same key.  -ENOMEM */
int dt_certificate_key (const struct dt_certificate *c, struct dt_digest *ret,
                        struct dt_err *reterr);
/* Its bytes, appended; the lists are sorted.  -ENOMEM */
int dt_certificate_encode (const struct dt_certificate *c, struct dt_buf *ret,
                           struct dt_err *reterr);
/* `data` is borrowed by nothing afterwards.  -DT_ECORRUPT, -DT_EVERSION, -ENOMEM */
int dt_certificate_decode (const void *data, size_t n, struct dt_certificate *ret,
                           struct dt_err *reterr);

#endif
