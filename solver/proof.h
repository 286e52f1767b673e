/* solver/proof.h - the certificate that a solution carries for what is proved.
 * Uses: nothing of ours.  Used by: solver/vra_prove.c, solver/check.c.
 *
 * Bytes; numbers are varints of base/buf.h:
 *
 *   n_duties, then for each duty: what it is, a tree
 *
 *   duty   2 * i      condition i of the residual graph
 *          2 * i + 1  the fault of value i
 *          Assumes of inputs alone are no duties: they say what the domain is; but not
 *          for a fault of what they compute.
 *   tree   DT_PROOF_OPEN            nothing is claimed of this box
 *          DT_PROOF_HOLDS           the duty holds everywhere in it, by ranges
 *          DT_PROOF_SPLIT axis at   then two trees, of the members first..first+at
 *                                   of the axis and of the rest
 *   axis   pin i: i;  live knob i: n_pins + i;  input i: n_pins + n_knobs + i
 *
 * The first box is everything: all candidates, all values of live knobs in the
 * program's order, all members of inputs' domains.  An assignment is proved if no
 * box that holds it is open, in any duty's tree. */
#ifndef DT_SOLVER_PROOF_H
#define DT_SOLVER_PROOF_H

enum dt_proof_mark { DT_PROOF_OPEN = 0, DT_PROOF_HOLDS = 1, DT_PROOF_SPLIT = 2 };

#endif
