/* tests/fuzz/fuzz_vm.c - any bytes as a selector blob; what loads must run within
 * its own memory. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "selir/vm.h"

#define REQUESTS 2

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

/* The least and the greatest member of each domain, by turns. */
static void run (const struct dt_vm *vm, int64_t *regs, int turn)
{
    int64_t in[DT_VM_MAX_INPUTS], own[REQUESTS * DT_VM_MAX_INPUTS];
    int64_t out[DT_VM_MAX_OUTPUTS], own_out[REQUESTS * DT_VM_MAX_OUTPUTS];
    size_t i, n_in = 0, n_own = 0;
    struct dt_vm_stop stop;
    struct dt_err err;

    for (i = 0; i < dt_vm_inputs (vm); i++) {
        const struct dt_vm_input *input = dt_vm_input (vm, i);
        int64_t v = ((turn >> i % 8) & 1) != 0 ? input->hi : input->lo;

        if (input->klass == DT_VM_OWN)
            own[n_own++] = v;
        else
            in[n_in++] = v;
    }
    memcpy (own + n_own, own, n_own * sizeof *own);
    if (dt_vm_run (vm, regs, in, own, REQUESTS, out, own_out, &stop) < 0
        && dt_vm_describe (vm, &stop, &err) >= 0)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    struct dt_vm *vm = NULL;
    struct dt_buf text = { 0 };
    int64_t *regs;
    int turn;

    if (dt_vm_load (data, n, &vm, NULL) < 0)
        return 0;
    if (dt_vm_plan (vm, NULL) < 0)
        abort ();
    regs = calloc (dt_vm_registers (vm) + 1, sizeof *regs);
    if (!regs)
        abort ();
    dt_vm_prepare (vm, regs);
    for (turn = 0; turn < 16; turn++)
        run (vm, regs, turn);
    dt_vm_disassemble (vm, &text);
    dt_buf_done (&text);
    free (regs);
    dt_vm_free (vm);
    return 0;
}
