/*
 * x64 instructions → effects: the frequent encodings by the tables of decode_quick.c, all others by Zydis. Knows
 * neither encodings nor meanings, but for the encodings of calls, and of the thunks that stand for returns and jumps
 * where branches are not to be predicted: each a call over a loop that holds speculation, which is never returned to.
 * Source: prologue-shapes.md section 6.
 */
#include "arch/x64/decode.h"

#include "arch/x64/decode_insn.h"
#include "base/bytes.h"

#include <string.h>

enum { LONGEST_CALL = 8, LONGEST = 15 };

/* Bytes of pause, lfence, int3 at the beginning; 0: none of them is there. */
static size_t waits(const uint8_t *bytes, size_t size)
{
    static const uint8_t pause[] = { 0xf3, 0x90 }, lfence[] = { 0x0f, 0xae, 0xe8 };
    if (size >= sizeof pause && memcmp(bytes, pause, sizeof pause) == 0)
        return sizeof pause;
    if (size >= sizeof lfence && memcmp(bytes, lfence, sizeof lfence) == 0)
        return sizeof lfence;
    return size != 0 && bytes[0] == 0xcc;
}

/* The size of a loop that only waits; 0: there is none. */
static size_t loop(const uint8_t *bytes, size_t size)
{
    size_t at = 0, more;
    while ((more = waits(bytes + at, size - at)) != 0)
        at += more;
    return at != 0 && size - at >= 2 && bytes[at] == 0xeb && bytes[at + 1] == (uint8_t)(0 - (at + 2)) ? at + 2 : 0;
}

/* A call over a loop pushes an address that nothing returns to, and jumps. In one: nothing else leads to the loop. */
static bool is_call_over_loop(const uint8_t *bytes, size_t size, const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    enum { FARTHEST = 64 };
    const size_t looked = size < LONGEST ? size : LONGEST;
    if (d->to.kind != SW_X64_IMM || d->imm <= 0 || d->imm > FARTHEST || looked < d->length)
        return false;
    const size_t more = loop(bytes + d->length, looked - d->length);
    *insn = (struct sw_insn){ .length = (uint8_t)(d->length + more),
                              .flow = SW_FLOW_JUMP,
                              .count = 2,
                              .target = d->pc + d->length + (uint64_t)d->imm,
                              .effects = { { SW_EFFECT_STORE, SW_X64_RSP, SW_NOREG, 8, -8 },
                                           { SW_EFFECT_SET, SW_X64_RSP, SW_X64_RSP, 8, -8 } } };
    return more != 0;
}

/* mov [rsp],reg; ret: a jump that drops a word. In one, since behind the first no register tells what it stored. */
static bool is_jump_by_return(const uint8_t *bytes, size_t size, const struct sw_x64_decoded *d, struct sw_insn *insn)
{
    enum { RET = 0xc3 };
    const struct sw_x64_memory *m = &d->memory;
    if (size <= d->length || bytes[d->length] != RET || m->disp != 0 || m->index != SW_NOREG || m->segment ||
        m->narrow || d->from.kind != SW_X64_REG || d->from.size != 8)
        return false;
    *insn = (struct sw_insn){ .length = (uint8_t)(d->length + 1),
                              .flow = SW_FLOW_INDIRECT,
                              .count = 2,
                              .effects = { { SW_EFFECT_SET, SW_X64_RSP, SW_X64_RSP, 8, 8 },
                                           { SW_EFFECT_SET, SW_X64_RIP, d->from.reg, 8, 0 } } };
    return true;
}

/* What two instructions say together. Apart, so that all others need no room for it. */
static __attribute__((noinline)) bool is_joined(const uint8_t *bytes, size_t size, const struct sw_x64_decoded *d,
                                                struct sw_insn *insn)
{
    return d->op == SW_X64_CALL ? is_call_over_loop(bytes, size, d, insn) : is_jump_by_return(bytes, size, d, insn);
}

enum sw_status sw_x64_decode(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn)
{
    struct sw_x64_decoded d;
    if (!sw_x64_quick(bytes, size, pc, &d)) {
        const enum sw_status status = sw_x64_zydis(bytes, size, pc, &d);
        if (status != SW_OK)
            return status;
    }
    const bool stores_at_sp = d.op == SW_X64_MOV && d.stores && d.memory.base == SW_X64_RSP;
    if ((d.op != SW_X64_CALL && !stores_at_sp) || !is_joined(bytes, size, &d, insn))
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
