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
 * initial   Where the CIE says that registers are, but for initial_ra: the return address column. Null while it runs.
 * changed   The registers whose location was said since the CIE, or all while that runs.
 * depth     How many states are remembered, the last at work->kept[depth - 1].
 * ra        The register of the return address column.  pushes: see struct sw_cfi_cover.
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
    const struct sw_loc *initial;
    struct sw_loc initial_ra;
    uint64_t changed;
    unsigned depth;
    unsigned ra;
    unsigned pushes;
    bool has_block;
    bool is_done;
};

/*
 * Runs instructions up to the row that holds at pc, or to their end.
 *
 * Returns  SW_OK; SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED, SW_E_LIMIT.
 */
SW_NODISCARD enum sw_status sw_cfi_run(struct sw_cfi_machine *m, const struct sw_cursor *program);

/*
 * Does an FDE's instructions from `at` on up to one that is not among the usual, and answers where that is, or `end`.
 * Sets is_done where the row's end is passed.
 */
const uint8_t *sw_cfi_run_usual(struct sw_cfi_machine *m, const uint8_t *at, const uint8_t *end);

#endif
