/* libdetent/handle.h - what is behind struct detent.
 * Uses: base/, proto/, selir/vm.h, include/detent/.  Used by: libdetent. */
#ifndef DT_LIBDETENT_HANDLE_H
#define DT_LIBDETENT_HANDLE_H

#include "base/canon.h"
#include "base/digest.h"
#include "detent/detent.h"
#include "proto/detent.pb-c.h"
#include "selir/vm.h"

#define DT_HANDLE_MAX_SITES 4096
#define DT_HANDLE_MAX_TEXT 256 /* bytes of a name or a backend's field */

struct dt_handle_site {
    char family[DT_HANDLE_MAX_TEXT], site[DT_HANDLE_MAX_TEXT];
    struct dt_vm *vm[2];          /* by enum detent_variant */
    struct dt_canon_value facts;  /* a map, in the tuple's bytes */
    struct dt_canon_value pins;   /* likewise */
};

struct dt_handle_backend {
    char name[DT_HANDLE_MAX_TEXT], build[DT_HANDLE_MAX_TEXT], libraries[DT_HANDLE_MAX_TEXT],
        driver[DT_HANDLE_MAX_TEXT], device[DT_HANDLE_MAX_TEXT];
    int64_t units;
};

struct detent {
    Detent__FetchReply *bundle; /* owns the bytes that the rest points into */
    struct dt_digest commit, tuple, bits;
    char deployment[DT_HANDLE_MAX_TEXT], workload[DT_HANDLE_MAX_TEXT];
    char model[DT_HANDLE_MAX_TEXT], engine[DT_HANDLE_MAX_TEXT];
    struct dt_handle_backend backend;
    struct dt_handle_site *site;
    size_t n_sites;
    enum detent_without without;
    int stock;         /* selectors are the stock ones */
    int backend_ok;    /* detent_check_backend was passed */
    struct dt_err why; /* stock in place of the tuple: why; "" otherwise */
};

/* The public error and ours are one line of the same size. */
_Static_assert (sizeof (struct detent_error) == sizeof (struct dt_err), "one error type");
static inline struct dt_err *dt_handle_err (struct detent_error *err)
{
    return (struct dt_err *)err;
}

/* From a bundle to a handle: every digest, the signature, each selector; the
 * bundle must be for the deployment, workload, signer and snapshot that the options
 * name.  Takes `bundle` on success only.
 *   -DT_ECORRUPT, -DT_EVERSION, -ENOMEM */
int dt_handle_verify (const struct detent_options *o, Detent__FetchReply *bundle,
                      struct detent **ret, struct dt_err *reterr);

/* The bundle's certificates: each is of a site of the tuple, with its facts and pins and
 * the backend of the tuple (which detent_check_backend holds against the loaded one);
 * and each free field without a claim has one.
 *   -DT_EREFUSED      a field has none
 *   -DT_EENVIRONMENT  one is of another backend
 *   -DT_ECORRUPT, -DT_EVERSION, -ENOMEM */
int dt_handle_certified (const struct detent *d, const Detent__FetchReply *bundle,
                         struct dt_err *reterr);

/* Ask detentd. */
int dt_handle_fetch (const struct detent_options *o, Detent__FetchReply **ret,
                     struct dt_err *reterr);

/* The last good bundle on disk: 10 bytes "DTBUNDLE1\n" and a FetchReply.  What is
 * read is as little trusted as what is fetched.
 *   -errno of reading, -DT_ECORRUPT, -DT_EVERSION */
int dt_handle_keep (const char *path, const Detent__FetchReply *bundle, struct dt_err *reterr);
int dt_handle_kept (const char *path, Detent__FetchReply **ret, struct dt_err *reterr);

/* NULL if the tuple has no such site. */
const struct dt_handle_site *dt_handle_site_find (const struct detent *d, const char *family,
                                                  const char *site);

#endif
