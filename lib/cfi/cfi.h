/*
 * DWARF call frame information: .eh_frame (with or without .eh_frame_hdr) and .debug_frame → rule.
 * Knows bytes and addresses; where the sections come from is elf/'s and the engine's business.
 */
#ifndef SW_CFI_CFI_H
#define SW_CFI_CFI_H

#include "base/bytes.h"
#include "base/rule.h"
#include "base/store.h"

/*
 * The tables of one image. Addresses are those of the target.
 *
 * frame    .eh_frame or .debug_frame. In process its size may reach to the end of its segment: a zero terminator ends
 *          it.
 * header   .eh_frame_hdr; empty when there is none. One without a table that can be searched counts as none; one that
 *          leads elsewhere than it says, too, where that is met.
 * store    Where records of `frame` come from before they are looked at; null: they are all there.
 * bias     Added to absolute addresses read from the tables: 0 for tables relocated in memory, the image's bias
 *          for tables read from a file.
 * index    Made by sw_cfi_index where there is no header: ascending, borrowed; null when not made.
 * index_distance  From where the index was made to where these tables are: of another mapping of the same file.
 * no_reading  A search that neither header nor index leads to an FDE ends there; else it reads record by record where
 *          there is no index, which takes long.
 * pieces   Made by sw_cfi_pieces of the header: how many entries start in front of each of piece_count pieces of the
 *          code, and how many there are; borrowed, null: a search begins with all entries.
 * beside   Another table of the same code, asked where this one has no rule (.debug_frame beside .eh_frame); borrowed,
 *          null: none. Its own `beside` is not looked at.
 */
struct sw_cfi {
    enum sw_machine machine;
    bool is_debug_frame;
    bool no_reading;
    struct sw_bytes frame;
    struct sw_bytes header;
    const struct sw_store *store;
    uint64_t bias;
    const struct sw_cfi_entry {
        uint64_t begin;
        uint64_t end;
        uint64_t reach; /* base/interval.h */
        uint64_t fde;   /* offset in frame */
    } * index;
    size_t index_count;
    uint64_t index_distance;
    const uint32_t *pieces;
    size_t piece_count;
    unsigned piece_shift;
    const struct sw_cfi *beside;
};

/* Working memory of sw_cfi_rule: the states that remember_state keeps, and where the CIE says that registers are. */
struct sw_cfi_work {
    struct sw_cfi_kept {
        struct sw_loc cfa;
        uint64_t changed; /* of r, the registers that are in it: the others are as in initial */
        struct sw_loc r[SW_REGS_MAX];
    } kept[8];
    struct sw_loc initial[SW_REGS_MAX];
};

/*
 * What covers a pc: the FDE's code [begin, end).
 *
 * pushes   How often, in front of pc, the FDE lets the CFA move away from its register by one word, as a push does.
 * places   Whether it says there where a register is, other than the return address's.
 * bytes    The size of its instructions.
 */
struct sw_cfi_cover {
    uint64_t begin;
    uint64_t end;
    unsigned pushes;
    bool places;
    uint64_t bytes;
};

/*
 * The rule at pc (the lookup pc: exact, or return address - 1). Source SW_SOURCE_CFI, trust SW_TRUST_EXACT.
 * Expressions that are a register, the CFA or a word at either, plus a number, come out as plain locations (the pc in
 * them is the one asked for, so the PLT's does too); for the others rule->expr is the section's first byte.
 * ARM64: the caller's x30 is unknown, but in signal frames. Signatures are not stripped.
 * Of FDEs that overlap, the one that begins last; by header at most the 4 that begin in front of pc are looked at.
 *
 * work     Uninitialised is fine; holds nothing afterwards.
 * cover    Receives the FDE's range as soon as there is one, even when its instructions are bad; may be null.
 *
 * Returns  SW_OK; SW_E_NO_RULE (no FDE covers pc); SW_E_TRUNCATED, SW_E_MALFORMED (among others: no CFA, no return
 *          address, x64: a CFA below the stack pointer), SW_E_UNSUPPORTED (augmentation, version, unknown
 *          instruction); SW_E_LIMIT (nesting, an offset over 31 bits, an expression of 64 KiB, instructions of 1 MiB).
 *          rule->flags has SW_RULE_END where the return address is undefined, SW_RULE_SIGNAL for 'S'.
 *          Reading record by record leaves out FDEs that cannot be read: a pc that only they cover has SW_E_NO_RULE.
 *          With `beside`, what this table says of a pc that the other has nothing for either.
 * Memory   Allocates nothing; below 1.5 KiB of stack. Signals  Safe: reads `frame`, `header` and `index` only.
 * Source   DWARF 5 section 6.4; dwarf-cfi.md.
 */
SW_NODISCARD enum sw_status sw_cfi_rule(const struct sw_cfi *cfi, uint64_t pc, struct sw_cfi_work *work,
                                        struct sw_rule *rule, struct sw_cfi_cover *cover);

/*
 * The FDE ranges of a table without header, ascending; of equal starts the widest last, which is the one searched.
 *
 * entries  Receives up to capacity, and is sorted; null with 0 to count.
 *
 * Returns  How many FDEs there are. Those that cannot be read or are empty are left out; a record that leaves the
 *          section ends the count.
 */
size_t sw_cfi_index(const struct sw_cfi *cfi, struct sw_cfi_entry *entries, size_t capacity);

/*
 * The most bytes in a row of [begin, end) that no FDE covers, by a sound header or an index; all of them where there is
 * neither. Reads every FDE.
 */
uint64_t sw_cfi_widest_gap(const struct sw_cfi *cfi, uint64_t begin, uint64_t end);

/*
 * Whether the header's table can be searched: it is there, ascending, and every entry leads into `frame`. Reads all of
 * it. Where it cannot, leave the header out and make an index: reading record by record takes long.
 */
bool sw_cfi_header_is_sound(const struct sw_cfi *cfi);

/*
 * Where in a sound header's table a search begins: the code from the first start on in pieces of 1 << *shift bytes.
 *
 * pieces    Receives a number for each piece and one more, if capacity is greater than their count; null with 0 to
 *           count.
 *
 * Returns  How many pieces there are, at most half as many as entries and one; 0: the header is none that linkers
 *          write, and is searched without.
 */
size_t sw_cfi_pieces(const struct sw_cfi *cfi, uint32_t *pieces, size_t capacity, unsigned *shift);

/*
 * The section .eh_frame that an .eh_frame_hdr points to, cut out of the segment bytes around it.
 *
 * Returns  SW_OK; SW_E_MALFORMED; SW_E_UNSUPPORTED; SW_E_NOT_FOUND (it lies outside `around`).
 */
SW_NODISCARD enum sw_status sw_cfi_frame_of_header(struct sw_bytes header, struct sw_bytes around,
                                                   struct sw_bytes *frame);

#endif
