/*
 * x64 instructions → effects. The only room that includes Zydis. Read by tables (quick.c), else by Zydis (zydis.c).
 */
#ifndef SW_X64_X64_H
#define SW_X64_X64_H

#include "base/effect.h"

/*
 * The instruction at pc; see sw_decode_fn. Allocates nothing, keeps nothing, signal safe.
 *
 * Source   Intel SDM vol. 2 (operand semantics, through Zydis); SysV AMD64 psABI (registers a call does not preserve).
 */
SW_NODISCARD enum sw_status sw_x64_decode(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn);

/*
 * Whether a call instruction ends right at the end of the bytes (a return address points behind a call).
 *
 * bytes    The `size` bytes in front of the return address `after`; 7 are enough.
 * target   Receives the direct target, or 0; slot the address of the word that holds it (call [rip + x]), or 0.
 */
bool sw_x64_call_before(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *target, uint64_t *slot);

#endif
