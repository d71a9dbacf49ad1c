/*
 * x64 instructions → effects: the frequent encodings by the tables of decode_quick.c, all others by Zydis. Knows
 * neither encodings nor meanings, but for the encodings of calls.
 */
#include "arch/x64/decode.h"

#include "arch/x64/decode_insn.h"
#include "base/bytes.h"

enum { LONGEST_CALL = 8 };

enum sw_status sw_x64_decode(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn)
{
    struct sw_x64_decoded d;
    if (!sw_x64_quick(bytes, size, pc, &d)) {
        const enum sw_status status = sw_x64_zydis(bytes, size, pc, &d);
        if (status != SW_OK)
            return status;
    }
    sw_x64_effects(&d, insn);
    return SW_OK;
}

/* What a call may begin with: prefixes, REX, E8, FF. */
enum { PREFIX = 1, OPCODE = 2 };
#define REX_8 PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX, PREFIX
static const uint8_t is_first_of_call[256] = {
    [0x26] = PREFIX, [0x2e] = PREFIX, [0x36] = PREFIX, [0x3e] = PREFIX, [0x40] = REX_8,
    REX_8,           [0x64] = PREFIX, [0x65] = PREFIX, [0x66] = PREFIX, [0x67] = PREFIX,
    [0xe8] = OPCODE, [0xf0] = PREFIX, [0xf2] = PREFIX, [0xf3] = PREFIX, [0xff] = OPCODE,
};

static bool is_prefix(uint8_t byte)
{
    return is_first_of_call[byte] == PREFIX;
}

/* Whether the bytes may be one call: prefixes, then E8 and an offset, or FF and a ModRM byte with 2 or 3 in reg. */
static bool may_be_call(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && is_prefix(bytes[at]))
        at++;
    if (size - at < 2)
        return false;
    return bytes[at] == 0xe8 || (bytes[at] == 0xff && (bytes[at + 1] >> 4 & 3) == 1);
}

/*
 * The frequent calls, as their ends look: E8 and an offset, FF and a ModRM byte without SIB, each perhaps behind REX.
 * The others are decoded.
 */
enum answer { NO_CALL, CALL, TO_BE_DECODED };

/* The address that the last four bytes of an instruction count up from its end. */
static uint64_t at_offset(const uint8_t *bytes, size_t size, uint64_t after)
{
    return after + (uint64_t)sw_sign_extend(sw_load32(bytes + size - 4), 32);
}

static enum answer is_usual_call(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *target, uint64_t *slot)
{
    static const uint8_t displacement[] = { 0, 1, 4, 0 };
    const size_t rex = (bytes[0] & 0xf0) == 0x40, length = size - rex;
    if (length < 2)
        return TO_BE_DECODED;
    const uint8_t opcode = bytes[rex], modrm = bytes[rex + 1], mod = modrm >> 6, rm = modrm & 7;
    if (opcode == 0xe8 && length == 5)
        *target = at_offset(bytes, size, after);
    if (opcode == 0xe8)
        return length == 5 ? CALL : NO_CALL;
    if (opcode != 0xff || (modrm & 0x38) != 0x10 || (mod != 3 && rm == 4))
        return TO_BE_DECODED;
    const bool by_pc = mod == 0 && rm == 5;
    if (length != (by_pc ? 6u : 2u + displacement[mod]))
        return NO_CALL;
    if (by_pc)
        *slot = at_offset(bytes, size, after);
    return CALL;
}

static bool is_call(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *target, uint64_t *slot)
{
    struct sw_insn insn;
    *target = *slot = 0;
    const enum answer answer = is_usual_call(bytes, size, after, target, slot);
    if (answer != TO_BE_DECODED)
        return answer == CALL;
    if (!may_be_call(bytes, size) || sw_x64_decode(bytes, size, after - size, &insn) != SW_OK ||
        insn.flow != SW_FLOW_CALL || insn.length != size)
        return false;
    *target = insn.target;
    *slot = insn.slot;
    return true;
}

bool sw_x64_call_before(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *target, uint64_t *slot)
{
    /* Longest first: the end of a long call often looks like a short one; the opposite is rare. */
    for (size_t length = size < LONGEST_CALL ? size : LONGEST_CALL; length >= 2; length--) {
        const uint8_t *begin = bytes + size - length;
        if (is_first_of_call[*begin] && is_call(begin, length, after, target, slot))
            return true;
    }
    return false;
}
