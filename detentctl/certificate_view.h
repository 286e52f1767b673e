/* detentctl/certificate_view.h - certificates, for people and as JSON.
 * Uses: print.h, proto/.  Used by: cmd_certify.c, job_view.c. */
#ifndef DT_CTL_CERTIFICATE_VIEW_H
#define DT_CTL_CERTIFICATE_VIEW_H

#include <jansson.h>

#include "detentctl/options.h"
#include "proto/detent.pb-c.h"

/* A table of all, or one of them whole.
 *   -DT_ECORRUPT, -DT_EVERSION  one cannot be read: says which */
int dt_certificates_print (const struct dt_ctl *c, const Detent__CertificateListReply *list,
                           int whole, struct dt_err *reterr);

/* What a job that certifies found. */
void dt_certified_print (const Detent__JobReply *j);
json_t *dt_certified_json (const Detent__JobReply *j);
/* 1: every assignment has a certificate now. */
int dt_certified_all (const Detent__JobReply *j);

#endif
