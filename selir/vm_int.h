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

/* Results of the part of the call's code that `key` decides, kept from run to run in
 * the caller's registers: DT_VM_MEMO_SLOTS slots of {1, key.., result..}, 0 first if
 * empty.  What ended in a fault is not kept. */
#define DT_VM_MEMO_KEYS 3
#define DT_VM_MEMO_RESULTS 8
#define DT_VM_MEMO_BITS 10 /* at most 96 KiB */
#define DT_VM_MEMO_SLOTS (1u << DT_VM_MEMO_BITS)
struct dt_vm_memo {
    uint16_t key[DT_VM_MEMO_KEYS], result[DT_VM_MEMO_RESULTS];
    size_t n_keys, n_results; /* n_keys 0: there is none */
    size_t width;             /* of a slot, in words     */
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
    struct dt_insn *part[2]; /* call, request: [n_part] and one END; as in the blob */
    size_t n_part[2];
    /* The call's code as it is run, each with an END: what comes before the memo, what is
     * in it, what comes after.  Without a memo (dt_vm_plan), the first is all. */
    struct dt_insn *step[3];
    struct dt_vm_memo memo;
    uint8_t by_largest; /* no output is a request's, and conditions that hold for the
                           largest of an input that is hold for all */
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
