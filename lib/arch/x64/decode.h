/*
 * x64 instructions → effects. Reads the frequent encodings by tables (decode_quick.c), others by Zydis
 * (decode_zydis.c). Zydis is included in this room only.
 */
#ifndef SW_X64_DECODE_H
#define SW_X64_DECODE_H

#include "base/effect.h"

/*
 * The instruction at pc; see sw_decode_fn. Allocates nothing, keeps nothing. Signals  Safe.
 *
 * Source   Intel SDM vol. 2 (operand semantics, through Zydis); SysV AMD64 psABI (the registers that a call does not
 *          preserve).
 */
SW_NODISCARD enum sw_status sw_x64_decode(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn);

/*
 * Whether a call instruction ends at the end of the bytes, as it does in front of a return address.
 *
 * bytes    The `size` bytes in front of the return address `after`; 7 are enough.
 * target   Receives the direct target, or 0.
 * slot     Receives the address of the word that holds the target (call [rip + x]), or 0.
 */
bool sw_x64_call_before(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *target, uint64_t *slot);

#endif
