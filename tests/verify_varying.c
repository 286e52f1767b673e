/* tests/verify_varying.c - detent-verify with a fault: a binding parameter, which is
 * pinned, is varied from run to run.  Its rows must fail. */
#include "verify/verify.h"

/* Every family's first binding parameter has two values that go with any others. */
static void vary (const struct dt_backend_family *family, uint64_t run,
                  struct dt_backend_value *param)
{
    for (size_t i = 0; i < family->n_params; i++)
        if (family->params[i].binding) {
            param[i].one = family->params[i].values[run % 2];
            return;
        }
}

int main (int argc, char **argv)
{
    return dt_verify_main (argc, argv, vary);
}
