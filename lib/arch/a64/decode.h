/*
 * A64 instructions → effects, by our own tables: one row an instruction form (decode_rows.c). Knows nothing of
 * functions.
 */
#ifndef SW_A64_DECODE_H
#define SW_A64_DECODE_H

#include "base/effect.h"

/*
 * The instruction at pc; see sw_decode_fn. Allocates nothing, keeps nothing. Signals  Safe.
 *
 * A signature on lr changes nothing: code addresses are stripped where they are used. Of flags only COMPARE is
 * followed.
 *
 * Returns  SW_OK; SW_E_TRUNCATED (fewer than 4 bytes); SW_E_MALFORMED (not allocated, or newer than the tables).
 * Source   Arm ARM (DDI 0487), C4 "A64 Instruction Set Encoding", C6; AAPCS64 (the registers that a call does not
 *          preserve).
 */
SW_NODISCARD enum sw_status sw_a64_decode(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn);

/*
 * Whether the code at pc jumps through a word whose address it names, as PLT entries and import stubs do:
 * adrp x16, page; ldr x17, [x16, #at]; add x16, x16, #at; br x17.
 *
 * bytes    The code from pc on; 20 are enough.
 * slot     Receives the address of that word.
 */
bool sw_a64_goes_through(const uint8_t *bytes, size_t size, uint64_t pc, uint64_t *slot);

#endif
