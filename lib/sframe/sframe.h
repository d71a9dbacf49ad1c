/*
 * SFrame: a small unwind table that says of each instruction where the CFA, the return address and the caller's frame
 * pointer are, and nothing else. Knows versions 2 and 3, for x64 and little-endian ARM64, and that every byte is
 * hostile; refuses version 1, whose assembler wrote wrong rows (sframe.md section 10). Source: binutils 2.46, "The
 * SFrame Format"; sframe.md.
 */
#ifndef SW_SFRAME_SFRAME_H
#define SW_SFRAME_SFRAME_H

#include "base/bytes.h"
#include "base/rule.h"

/*
 * A section that was opened.
 *
 * functions  Their entries, at their address in the target. rows: the part that entries lead into.
 * start      What starts of functions count from; is_own: each from its own field instead.
 * fixed_fp, fixed_ra  Offsets from the CFA that no row repeats; 0: rows have them.
 */
struct sw_sframe {
    enum sw_machine machine;
    uint8_t version;
    bool is_own;
    int8_t fixed_fp, fixed_ra;
    uint32_t count;
    uint64_t start;
    struct sw_bytes functions, rows;
};

/*
 * section  At its address in the target. It may be longer than the table in it.
 *
 * Returns  SW_OK; SW_E_TRUNCATED; SW_E_MALFORMED (no SFrame); SW_E_UNSUPPORTED (version 1 or above 3, flags or a
 *          machine that are not known, entries that are not sorted).
 */
SW_NODISCARD enum sw_status sw_sframe_open(struct sw_bytes section, struct sw_sframe *sframe);

/*
 * The rule at a pc. Nonvolatile registers but the frame pointer are unknown: the table does not say whether they were
 * changed.
 *
 * Returns  SW_OK; SW_E_NO_RULE (no function there, or one that only its code tells of: a signal's); SW_E_TRUNCATED,
 *          SW_E_MALFORMED, SW_E_UNSUPPORTED (the function's entry).
 * Signals  Safe; at most 65,536 rows are read.
 */
SW_NODISCARD enum sw_status sw_sframe_rule(const struct sw_sframe *sframe, uint64_t pc, struct sw_rule *rule);

#endif
