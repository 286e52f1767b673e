/* selir/vm.h - the selector blob and the machine that runs it.
 * Uses: base/ only: engines link this and nothing else of selir.
 * Used by: libdetent/, solver/, detentctl.
 *
 * A blob is one value of base/canon.h, a map:
 *
 *   code        s  instructions of 16 bytes (struct dt_insn, little-endian)
 *   conditions  l  of {kind: "require"|"assume", message, where: "file:line:col"}
 *   constants   s  int64 each
 *   enums       l  of s, the text of enum member i
 *   family      s
 *   inputs      l  of {class: "runtime"|"unpinnable"|"own"|"pin"|"knob",
 *                  domain: {hi,lo,step} or {values: s (int64 each)}, name, type}
 *   outputs     l  of {binding: 0|1, claim: 0|1, field, own: 0|1, register, type, unit}
 *   registers   i
 *   request     i  index of the first instruction that runs once a request
 *   site        s
 *   tables      l  free tables, of {cells: l of {value: i, when: l of
 *                  {hi: i, lo: i, quantity: s}}, field: s}; the first cell whose
 *                  ranges all hold gives the field's value, else the program's does
 *   variant     s
 *   vm          i  DT_VM_VERSION
 *   where       l  of s, the places that faults name ("file:line:col")
 *
 * type: 1 int, 2 bool, 3 float, 4 enum.  Registers hold int64: of a float, the bits
 * of its double.  A float input but a pin is one of a set of finite values, ascending
 * by their bits.  Inputs are loaded into the first registers, in order; constants follow
 * them; then results.
 *
 * Loading checks everything that running relies on (registers in range and
 * written before they are read, indices in range), so no blob can make the
 * machine read or write outside its memory. */
#ifndef DT_SELIR_VM_H
#define DT_SELIR_VM_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

#define DT_VM_VERSION 1
#define DT_VM_MAX_REGISTERS 65534
#define DT_VM_MAX_INPUTS 64
#define DT_VM_MAX_OUTPUTS 64
#define DT_VM_MAX_BYTES (16u << 20)

/* One instruction: dst = op (a, b, c), each register written once.  The vm's ops
 * are the graph's (selir/op.h) from ADD on, and CHECK.  A partial op faults if it
 * must and the register `guard` is not 0, naming place `aux`; FAIL's fault is `a`.
 * CHECK: condition `aux` fails if register a is 0 and register `guard` is not.
 * Fields that an op does not use are 0, or DT_VM_ALWAYS for guard. */
#define DT_VM_ALWAYS 0xffff /* a guard: always on the path */
#define DT_VM_NEVER 0xfffe  /* a guard: proven never to fault */
#define DT_VM_CHECK 128
struct dt_insn {
    uint16_t op, dst, a, b, c, guard;
    uint32_t aux;
};

struct dt_vm; /* immutable after loading; shared by threads */

/* Check and load.  The blob is copied.
 *   -DT_ECORRUPT  malformed      -DT_EVERSION  another vm version */
int dt_vm_load (const void *blob, size_t len, struct dt_vm **ret, struct dt_err *reterr);
struct dt_vm *dt_vm_free (struct dt_vm *vm);

/* Look for what makes runs short: a memo for the code that few values decide, and
 * conditions that need only the largest of the requests.  Gives the same results and
 * the same stops; costs about 0.5 us an instruction.  Before any dt_vm_prepare.
 * -ENOMEM */
int dt_vm_plan (struct dt_vm *vm, struct dt_err *reterr);

enum dt_vm_class {
    DT_VM_RUNTIME = 1, DT_VM_UNPINNABLE = 2, DT_VM_OWN = 3, DT_VM_PIN = 4, DT_VM_KNOB = 5
};

enum { DT_VM_TYPE_FLOAT = 3, DT_VM_TYPE_ENUM = 4 }; /* `type` of an input or output: as enum dt_type */

/* Borrowed from the vm, as all that its accessors return. */
struct dt_vm_input {
    const char *name;
    uint8_t klass;  /* enum dt_vm_class */
    uint8_t type;
    int64_t lo, hi, step;  /* step 0: value[n] instead */
    const int64_t *value;
    size_t n;
};
struct dt_vm_output {
    const char *field, *unit;
    uint8_t type, binding, claim, own;
};

/* A free table: the first cell whose ranges all hold gives the field's value, else
 * the program's does.  Loaded and shown here; libdetent applies them, since the
 * quantities are the call's and not only the program's inputs. */
struct dt_vm_range {
    const char *quantity;
    int64_t lo, hi; /* inclusive */
};
struct dt_vm_cell {
    int64_t value;
    const struct dt_vm_range *when; /* [n]; n == 0: always */
    size_t n;
};
struct dt_vm_table {
    const char *field;
    uint32_t output; /* its index; never a binding output */
    const struct dt_vm_cell *cell; /* [n] */
    size_t n;
};

size_t dt_vm_inputs (const struct dt_vm *vm);
const struct dt_vm_input *dt_vm_input (const struct dt_vm *vm, size_t i);
size_t dt_vm_outputs (const struct dt_vm *vm);
const struct dt_vm_output *dt_vm_output (const struct dt_vm *vm, size_t i);
const char *dt_vm_family (const struct dt_vm *vm);
const char *dt_vm_site (const struct dt_vm *vm);
const char *dt_vm_variant (const struct dt_vm *vm);
const char *dt_vm_enum (const struct dt_vm *vm, int64_t member); /* NULL if none */
struct dt_digest dt_vm_digest (const struct dt_vm *vm); /* domain "selector" */
/* Words of memory that runs of the vm need, its registers first. */
size_t dt_vm_registers (const struct dt_vm *vm);

/* Instructions of the call's part and of the request's part. */
size_t dt_vm_code (const struct dt_vm *vm, size_t *ret_request);
/* 1: no output is a request's, and what holds for the largest of a request's inputs
 * holds for all (dt_vm_plan), so that a run costs little more for many requests. */
int dt_vm_by_largest (const struct dt_vm *vm);
size_t dt_vm_tables (const struct dt_vm *vm);
const struct dt_vm_table *dt_vm_table (const struct dt_vm *vm, size_t i);

/* Why a run stopped. */
struct dt_vm_stop {
    enum { DT_VM_DOMAIN = 1, DT_VM_CONDITION = 2, DT_VM_FAULT = 3 } what;
    uint32_t index;     /* of the input, condition or place               */
    uint8_t fault;      /* enum dt_fault                                  */
    uint8_t of_request; /* 1: in a request's part, or an Own input        */
    int64_t value;      /* DOMAIN: the input's value                      */
    size_t request;     /* which request, if of_request                   */
};

/* Make memory ready for runs of this vm.  Once is enough: runs keep in it what the
 * next one need not compute again. */
void dt_vm_prepare (const struct dt_vm *vm, int64_t *regs);

/* Run.  Allocates nothing and takes no lock.
 *   regs      [dt_vm_registers (vm)] prepared, of the calling thread
 *   in        [inputs that are not own], in the blob's order
 *   own       [n_requests * own inputs], row-major, in the blob's order
 *   out       [outputs]: out[i] of each output that is not own; others untouched
 *   own_out   [n_requests * outputs]: own outputs at [request * outputs + i]; may
 *             be NULL if there is none
 * Checks domains first, then runs the call's part, then each request's.
 *   0, or -DT_EREFUSED (domain, condition) or -DT_EEVAL (fault) with *stop set */
int dt_vm_run (const struct dt_vm *vm, int64_t *regs, const int64_t *in, const int64_t *own,
               size_t n_requests, int64_t *out, int64_t *own_out, struct dt_vm_stop *stop);

/* One line about a stop: the input, its value and domain; or the condition's
 * message and place; or Python's class of error and place.  Returns code. */
int dt_vm_describe (const struct dt_vm *vm, const struct dt_vm_stop *stop, struct dt_err *ret);

/* Readable code, one instruction a line, appended. */
struct dt_buf;
void dt_vm_disassemble (const struct dt_vm *vm, struct dt_buf *out);

#endif
