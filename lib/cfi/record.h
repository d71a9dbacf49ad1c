/*
 * Records of a frame section: CIE and FDE, and the search for the FDE of a pc. Inside cfi/ only.
 */
#ifndef SW_CFI_RECORD_H
#define SW_CFI_RECORD_H

#include "base/pointer.h"
#include "cfi/cfi.h"

enum sw_cfi_kind { SW_CFI_OTHER, SW_CFI_CIE, SW_CFI_FDE };

/*
 * A record's frame.
 *
 * is_wide  Its length has 64 bits.
 * next     Offset of the record behind it.
 * cie      FDE: offset of its CIE.
 * body     What follows the id; in a wide record of .eh_frame, its first 4 bytes.
 */
struct sw_cfi_record {
    enum sw_cfi_kind kind;
    bool is_wide;
    uint64_t next;
    uint64_t cie;
    struct sw_cursor body;
};

struct sw_cfi_cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra; /* DWARF's number of the return address column */
    uint8_t encoding;
    bool has_sizes; /* 'z': FDEs have augmentation data with a length before it */
    bool is_signal;
    bool is_wide;     /* as in its record */
    bool has_wide_id; /* .eh_frame: ids have 8 bytes too */
    struct sw_cursor program;
};

struct sw_cfi_fde {
    struct sw_cfi_cie cie;
    uint64_t begin;
    uint64_t end;
    struct sw_cursor program;
};

/*
 * Returns  SW_OK; SW_E_NOT_FOUND (the section ends at offset, or a terminator does); SW_E_TRUNCATED; SW_E_MALFORMED.
 */
SW_NODISCARD enum sw_status sw_cfi_record_at(const struct sw_cfi *cfi, uint64_t offset, struct sw_cfi_record *record);

/*
 * The FDE in a record of that kind, with its CIE.
 *
 * Returns  SW_OK; SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED; SW_E_NOT_FOUND (of a discarded function).
 */
SW_NODISCARD enum sw_status sw_cfi_fde_read(const struct sw_cfi *cfi, const struct sw_cfi_record *record,
                                            struct sw_cfi_fde *fde);

/*
 * The FDE at an offset that a table gives.
 *
 * Returns  As sw_cfi_fde_read; SW_E_MALFORMED (there is none, or of a discarded function).
 */
SW_NODISCARD enum sw_status sw_cfi_fde_at(const struct sw_cfi *cfi, uint64_t offset, struct sw_cfi_fde *fde);

/*
 * The FDE that covers pc: by header, by index, or from the first record to the last.
 *
 * Returns  SW_OK; SW_E_NO_RULE; SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED.
 */
SW_NODISCARD enum sw_status sw_cfi_find(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_fde *fde);

/*
 * Turns the locations of a finished rule that are simple expressions into plain ones: they need no evaluator when the
 * rule is applied. The others stay. pc stands for the pc register in them.
 */
void sw_cfi_reduce(enum sw_machine machine, struct sw_rule *rule, uint64_t pc);

#endif
