/* selir/vm_int.h - a loaded selector, as the vm's own files see it.
 * Uses: base/, selir/vm.h.  Used by: vm*.c, solver/export.c. */
#ifndef DT_SELIR_VM_INT_H
#define DT_SELIR_VM_INT_H

#include "base/arena.h"
#include "selir/op.h"
#include "selir/vm.h"

#define DT_VM_END 129 /* closes each part of loaded code; never in a blob */

struct dt_vm_cond {
    const char *message, *where;
    uint8_t is_assume;
};

struct dt_vm {
    struct dt_arena arena; /* owns all that is below */
    const char *family, *site, *variant;
    const char **enum_text; /* [n_enums] */
    size_t n_enums;
    struct dt_vm_input *input; /* [n_inputs], register i */
    size_t n_inputs, n_own;
    const int64_t *constant; /* [n_constants], registers from n_inputs on */
    size_t n_constants;
    struct dt_insn *part[2]; /* call, request: [n_part] and one END */
    size_t n_part[2];
    struct dt_vm_output *output; /* [n_outputs] */
    uint16_t *output_reg;
    size_t n_outputs;
    struct dt_vm_cond *cond;
    size_t n_conds;
    const char **where;
    size_t n_where;
    struct dt_vm_table *table;
    size_t n_tables;
    size_t registers;
    struct dt_digest digest;
};

#endif
