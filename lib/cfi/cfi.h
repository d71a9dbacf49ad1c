/*
 * DWARF call frame information: .eh_frame (with or without .eh_frame_hdr) and .debug_frame → rule.
 * Knows bytes and addresses; where the sections come from is elf/'s and the engine's business.
 */
#ifndef SW_CFI_CFI_H
#define SW_CFI_CFI_H

#include "base/bytes.h"
#include "base/rule.h"

/*
 * The tables of one image. Addresses are those of the target.
 *
 * frame    .eh_frame or .debug_frame. In process its size may reach to the end of its segment: a zero terminator ends it.
 * header   .eh_frame_hdr; empty when there is none.
 * bias     Added to absolute addresses read from the tables: 0 for tables relocated in memory, the image's bias
 *          for tables read from a file.
 * index    Made by sw_cfi_index where there is no header: ascending, borrowed; null when not made.
 */
struct sw_cfi {
    enum sw_machine machine;
    bool is_debug_frame;
    struct sw_bytes frame;
    struct sw_bytes header;
    uint64_t bias;
    const struct sw_cfi_entry {
        uint64_t begin;
        uint64_t end;
        uint64_t fde; /* offset in frame */
    } *index;
    size_t index_count;
};

/* Working memory of sw_cfi_rule: the states that remember_state keeps. */
struct sw_cfi_work {
    struct sw_rule kept[8];
    struct sw_rule initial;
};

/* What covers a pc: the FDE's code [begin, end). */
struct sw_cfi_cover {
    uint64_t begin;
    uint64_t end;
};

/*
 * The rule at pc (the lookup pc: exact, or return address - 1).
 *
 * cover    Receives the FDE's range; may be null.
 *
 * Returns  SW_OK; SW_E_NO_RULE (no FDE covers pc); SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED (augmentation,
 *          version, unknown instruction); SW_E_LIMIT (nesting).
 *          rule->flags has SW_RULE_END where the return address is undefined, SW_RULE_SIGNAL for 'S'.
 */
SW_NODISCARD enum sw_status sw_cfi_rule(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_work *work,
                                        struct sw_rule *rule, struct sw_cfi_cover *cover);

/*
 * The FDE ranges of a table without header, ascending.
 *
 * entries  Receives up to capacity, and is sorted; null with 0 to count.
 *
 * Returns  How many FDEs there are (bad records end the count).
 */
size_t sw_cfi_index(const struct sw_cfi *cfi, struct sw_cfi_entry *entries, size_t capacity);

/*
 * The section .eh_frame that an .eh_frame_hdr points to, cut out of the segment bytes around it.
 *
 * Returns  SW_OK; SW_E_MALFORMED; SW_E_UNSUPPORTED; SW_E_NOT_FOUND (it lies outside `around`).
 */
SW_NODISCARD enum sw_status sw_cfi_frame_of_header(struct sw_bytes header, struct sw_bytes around,
                                                   struct sw_bytes *frame);

#endif
