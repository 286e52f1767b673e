/* tests/tuner_rig.h - a solved deployment and a trace, for tests of the tuner. */
#ifndef DT_TESTS_TUNER_RIG_H
#define DT_TESTS_TUNER_RIG_H

#include "base/buf.h"
#include "solver/site.h"
#include "trace/dtrace.h"

struct tuner_rig {
    struct dt_deployment *deployment; /* deployments/host-small.yaml             */
    struct dt_solution *solution;     /* of its one site                         */
    struct dt_buf program;            /* attention.py                            */
    struct dt_trace *trace;           /* the first requests of the Azure sample  */
};
void tuner_rig_init (struct tuner_rig *rig); /* fails the test */
void tuner_rig_done (struct tuner_rig *rig);

#endif
