/* selir/refuse.c - what Python has and SelIR has not. */
#include "selir/refuse.h"

static const struct {
    const char *what, *advice;
} refusals[] = {
#define X(name, what, advice) { what, advice },
    DT_REFUSALS (X)
#undef X
};

int dt_refuse (struct dt_err *reterr, const struct dt_source *src, struct dt_span at,
               enum dt_refusal what)
{
    return dt_diag (reterr, -DT_ESYNTAX, src, at, refusals[what].advice,
                    "%s is not in the language here", refusals[what].what);
}
