/* tests/verify_varying.c - detent-verify with a fault: block_n, a pinned value, is
 * varied from run to run.  Its rows must fail. */
#include <string.h>

#include "verify/verify.h"

static void vary (const struct dt_backend_family *family, uint64_t run,
                  struct dt_backend_value *param)
{
    for (size_t i = 0; i < family->n_params; i++)
        if (!strcmp (family->params[i].name, "block_n"))
            param[i].one = run % 2 ? 32 : 64; /* both divide every split stride */
}

int main (int argc, char **argv)
{
    return dt_verify_main (argc, argv, vary);
}
