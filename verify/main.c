/* verify/main.c - detent-verify. */
#include "verify/verify.h"

int main (int argc, char **argv)
{
    return dt_verify_main (argc, argv, NULL);
}
