/*
 * x64 instructions → effects: the frequent encodings by the tables of decode_quick.c, all others by Zydis. Knows
 * neither encodings nor meanings, but for the encodings of calls.
 */
#include "arch/x64/decode.h"

#include "arch/x64/decode_insn.h"

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

static bool is_prefix(uint8_t byte)
{
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
        return true;
    default:
        return (byte & 0xf0) == 0x40;
    }
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

bool sw_x64_call_before(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *target, uint64_t *slot)
{
    /* Longest first: the end of a long call often looks like a short one; the opposite is rare. */
    for (size_t length = size < 8 ? size : 8; length >= 2; length--) {
        const uint8_t *begin = bytes + size - length;
        struct sw_insn insn;
        if (!may_be_call(begin, length) || sw_x64_decode(begin, length, after - length, &insn) != SW_OK)
            continue;
        if (insn.flow != SW_FLOW_CALL || insn.length != length)
            continue;
        *target = insn.target;
        *slot = insn.slot;
        return true;
    }
    return false;
}
