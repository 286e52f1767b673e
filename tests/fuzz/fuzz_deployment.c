/* tests/fuzz/fuzz_deployment.c - any bytes as a deployment: what is read is whole. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "solver/deployment.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

static void must (int ok)
{
    if (!ok)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    struct dt_deployment *d = NULL;
    struct dt_err err = { "" };
    size_t i, k;

    if (dt_deployment_parse ("fuzz.yaml", data, n, &d, &err) < 0) {
        must (!d && strncmp (err.text, "fuzz.yaml:", 10) == 0);
        return 0;
    }
    must (*d->name && *d->model && *d->engine && *d->engine_build && *d->backend
          && d->n_sites > 0);
    for (i = 0; i < d->n_sites; i++) {
        const struct dt_site *s = &d->site[i];

        must (*s->family && *s->site && *s->program && s->calls_per_step >= 1);
        must (dt_deployment_find (d, s->family, s->site) == (int64_t)i);
        for (k = 0; k < s->n_facts; k++)
            must (dt_site_fact (s, s->fact[k].name) == &s->fact[k]);
    }
    for (i = 0; i < d->n_claims; i++)
        must (*d->claim[i].family && *d->claim[i].field && *d->claim[i].reason
              && *d->claim[i].source);
    dt_deployment_free (d);
    return 0;
}
