/*
 * What running an FDE's instructions works on, and the part of it that does the usual ones. Inside cfi/ only.
 */
#ifndef SW_CFI_MACHINE_H
#define SW_CFI_MACHINE_H

#include "cfi/record.h"

enum { SW_CFI_WORD = 8 }; /* of both machines */

/*
 * rule      The row so far; expressions are not reduced in it.
 * at        The address the row begins at.  pc  Where to stop.
 * changed   The registers whose location was said since the CIE, or all while that runs; work->initial has the CIE's.
 * depth     How many states are remembered, the last at work->kept[depth - 1].
 * ra        The register of the return address column.  pushes, places: see struct sw_cfi_cover.
 * has_block The row had an expression, so it may have one still.
 */
struct sw_cfi_machine {
    const struct sw_cfi *cfi;
    const struct sw_cfi_fde *fde;
    struct sw_cfi_work *work;
    struct sw_rule *rule;
    uint64_t at;
    uint64_t pc;
    uint64_t code_align;
    int64_t data_align;
    uint64_t changed;
    unsigned depth;
    unsigned ra;
    unsigned pushes, places;
    bool has_initial;
    bool has_block;
    bool is_done;
};

/* Says where a register is. The first time since the CIE, what it said is kept: to copy whole rows would take longer.
 */
static inline void sw_cfi_place(struct sw_cfi_machine *m, unsigned number, struct sw_loc loc)
{
    const uint64_t bit = UINT64_C(1) << number;
    if (!(m->changed & bit))
        m->work->initial[number] = m->rule->r[number];
    m->changed |= bit;
    m->rule->r[number] = loc;
}

/*
 * Does the instructions from `at` on up to one that is not among the usual, and answers where that is, or `end`. Sets
 * is_done where the row's end is passed.
 */
const uint8_t *sw_cfi_run_usual(struct sw_cfi_machine *m, const uint8_t *at, const uint8_t *end);

#endif
