/* detentd/dispatch.h - from a frame to its handler.
 * Uses: detentd/ask.h.  Used by: loop.c, tests. */
#ifndef DT_DETENTD_DISPATCH_H
#define DT_DETENTD_DISPATCH_H

#include "detentd/ask.h"

enum dt_role { DT_ROLE_READ = 1, DT_ROLE_SUBMIT = 2, DT_ROLE_ADMIN = 3 };

/* Runs on the loop.  0: the reply is set; DT_LATER; or a negative code. */
typedef int (*dt_handler_f) (struct dt_ask *a, struct dt_err *reterr);
struct dt_method {
    const char *name;
    dt_handler_f handler; /* NULL: number never or no longer in use */
    enum dt_role role;    /* least role allowed to call */
};
/* The row of a oneof number, NULL if there is none. */
const struct dt_method *dt_method_get (size_t number);

/* Serve one frame of a peer: an error reply if an id can be had, else it is
 * dropped. */
void dt_dispatch (struct dt_daemon *d, const struct dt_peer *peer, const uint8_t *frame,
                  size_t n, enum dt_role role);

/* Reply with what is known of a job that has not ended. */
int dt_job_reply (struct dt_ask *a, struct dt_job *j, int final, struct dt_err *reterr);

/* A job's start: in a transaction its row, so that its number survives a crash; and,
 * as `after`, into the queue and an answer with its number. */
int dt_job_insert (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr);
/* Before all that: a place in the table, until the ask ends.  -EBUSY: none is left */
int dt_job_place (struct dt_ask *a, struct dt_err *reterr);
void dt_job_started (struct dt_ask *a, int detach,
                     void (*run) (struct dt_work *w, struct dt_store *s));

/* The job that a request asks for, checked; the caller's.  `rq` is kept in it, with what
 * it left open (the newest trace) as it was found. */
int dt_job_of_tune (struct dt_daemon *d, Detent__Request *rq, struct dt_job **ret,
                    struct dt_err *reterr);
int dt_job_of_certify (struct dt_daemon *d, Detent__Request *rq, struct dt_job **ret,
                       struct dt_err *reterr);

/* What is held, or of it one device; of the ask's arena. */
int dt_hold_list (struct dt_ask *a, const char *device, Detent__Hold ***ret, size_t *ret_n,
                  struct dt_err *reterr);

int dt_req_status (struct dt_ask *a, struct dt_err *reterr);
int dt_req_trace_submit (struct dt_ask *a, struct dt_err *reterr);
int dt_req_trace_list (struct dt_ask *a, struct dt_err *reterr);
int dt_req_solve (struct dt_ask *a, struct dt_err *reterr);
int dt_req_pins (struct dt_ask *a, struct dt_err *reterr);
int dt_req_tune (struct dt_ask *a, struct dt_err *reterr);
int dt_req_certify (struct dt_ask *a, struct dt_err *reterr);
int dt_req_certificate_list (struct dt_ask *a, struct dt_err *reterr);
int dt_req_certificate_revoke (struct dt_ask *a, struct dt_err *reterr);
int dt_req_coverage (struct dt_ask *a, struct dt_err *reterr);
int dt_req_hold_release (struct dt_ask *a, struct dt_err *reterr);
int dt_req_job_list (struct dt_ask *a, struct dt_err *reterr);
int dt_req_job_attach (struct dt_ask *a, struct dt_err *reterr);
int dt_req_job_cancel (struct dt_ask *a, struct dt_err *reterr);
int dt_req_commit (struct dt_ask *a, struct dt_err *reterr);
int dt_req_log (struct dt_ask *a, struct dt_err *reterr);
int dt_req_show (struct dt_ask *a, struct dt_err *reterr);
int dt_req_fetch (struct dt_ask *a, struct dt_err *reterr);

#endif
