/*
 * What x64 code looks like from outside. Knows the encodings that matter before anything is decoded in order.
 * Source: Intel SDM vol. 2; prologue-shapes.md sections 1, 3 and 5, F.
 */
#include "arch/arch.h"
#include "arch/x64/decode.h"
#include "base/bytes.h"

#include <string.h>

enum { LONGEST_CALL = 8, LEA = 7, ALIGNMENT = 16 };

static bool decode_at(const struct sw_code *code, uint64_t at, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, at, &size);
    return bytes && sw_x64_decode(bytes, size, at, insn) == SW_OK;
}

/* Whether what looks like a call is one of a thunk's, over a loop that nothing returns to. */
static bool only_pushes(const struct sw_code *code, uint64_t after, uint64_t target)
{
    enum { FARTHEST = 64, CALL = 5 };
    struct sw_insn insn;
    return target - after < FARTHEST && decode_at(code, after - CALL, &insn) && insn.flow == SW_FLOW_JUMP;
}

static bool call_before(const struct sw_code *code, uint64_t after, uint64_t *target, uint64_t *slot)
{
    /* The page in front may be missing: then only the shorter forms are looked for. */
    static const uint8_t sizes[] = { LONGEST_CALL, 5, 2 };
    if (after < LONGEST_CALL)
        return false;
    for (unsigned i = 0; i < sizeof sizes; i++) {
        size_t size;
        const uint8_t *bytes = code->fetch(code->arg, after - sizes[i], &size);
        if (bytes && size >= sizes[i])
            return sw_x64_call_before(bytes, sizes[i], after, target, slot) && !only_pushes(code, after, *target);
    }
    return false;
}

/* jmp [rip + x], perhaps behind endbr64. */
static bool goes_through(const struct sw_code *code, uint64_t at, uint64_t *slot)
{
    struct sw_insn insn;
    if (!decode_at(code, at, &insn))
        return false;
    if (insn.flow == SW_FLOW_NEXT && insn.count == 0 && !decode_at(code, at + insn.length, &insn))
        return false;
    *slot = insn.slot;
    return insn.flow == SW_FLOW_INDIRECT && insn.slot;
}

/* call L; a loop; L: mov [rsp],reg; ret. */
static bool is_thunk(const struct sw_code *code, uint64_t at)
{
    enum { CALL = 0xe8 };
    struct sw_insn insn;
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, at, &size);
    if (!bytes || bytes[0] != CALL || !decode_at(code, at, &insn) || insn.flow != SW_FLOW_JUMP)
        return false;
    return decode_at(code, insn.target, &insn) && insn.flow == SW_FLOW_INDIRECT && insn.count != 0 &&
           insn.effects[0].dst == SW_X64_RSP;
}

/* mov [rsp],reg; ret. */
static uint64_t joined(const struct sw_code *code, uint64_t pc)
{
    enum { MOV = 4, RET = 0xc3 };
    struct sw_insn insn;
    size_t size;
    const uint8_t *bytes = pc < MOV ? NULL : code->fetch(code->arg, pc - MOV, &size);
    const bool is_one = bytes && size > MOV && bytes[MOV] == RET && decode_at(code, pc - MOV, &insn) &&
                        insn.length > MOV && insn.flow == SW_FLOW_INDIRECT;
    return is_one ? pc - MOV : pc;
}

/* lea reg, [rip + x], anywhere. */
static size_t loaded(const struct sw_memory *memory, const uint8_t *bytes, uint64_t begin,
                     uint64_t addresses[SW_LOADED_MOST])
{
    size_t count = 0;
    (void)memory;
    for (unsigned i = 0; i + LEA <= SW_LOADED_BYTES && count < SW_LOADED_MOST; i++) {
        const bool is_lea = (bytes[i] & 0xfb) == 0x48 && bytes[i + 1] == 0x8d && (bytes[i + 2] & 0xc7) == 0x05;
        if (is_lea)
            addresses[count++] = begin + i + LEA + (uint64_t)sw_sign_extend(sw_load32(bytes + i + 3), 32);
    }
    return count;
}

/* Behind a return or a trap, at an aligned address, or at endbr64. */
static bool may_start(const uint8_t *front, uint64_t address)
{
    static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    return address % ALIGNMENT == 0 || front[-1] == 0xc3 || front[-1] == 0xcc ||
           memcmp(front, endbr64, sizeof endbr64) == 0;
}

/* Behind ret, ret x, int3, ud2, hlt; jmp in its forms; a call. */
static bool may_end(const uint8_t *front, uint64_t address)
{
    uint64_t target, slot;
    const uint8_t last = front[-1];
    if (last == 0xc3 || last == 0xcc || last == 0xf4 || front[-3] == 0xc2 || front[-2] == 0xeb || front[-5] == 0xe9)
        return true;
    if ((front[-2] == 0x0f && last == 0x0b) || (front[-2] == 0xff && (last & 0xf8) == 0xe0))
        return true;
    return sw_x64_call_before(front - SW_ENDING_BYTES, SW_ENDING_BYTES, address, &target, &slot);
}

/* push; endbr64; sub rsp, x. */
static bool opens_frame(const uint8_t *front)
{
    static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    const bool is_wide_push = front[0] == 0x41 && (front[1] & 0xf8) == 0x50;
    const bool is_sub = front[0] == 0x48 && (front[1] == 0x83 || front[1] == 0x81) && front[2] == 0xec;
    return (front[0] & 0xf8) == 0x50 || is_wide_push || is_sub || memcmp(front, endbr64, sizeof endbr64) == 0;
}

/* Most bytes are none of those that such instructions begin with: 41, 48, 50 to 57, f3. */
static size_t next_opening(const uint8_t *bytes, size_t at, size_t end)
{
    static const uint64_t first[] = { 0, UINT64_C(0xff0102), 0, UINT64_C(1) << 51 }; /* a bit for each byte */
    for (; at < end; at++)
        if ((first[bytes[at] / 64] >> bytes[at] % 64 & 1) && opens_frame(bytes + at))
            return at;
    return end;
}

/* jmp rel32, jcc rel32. */
static bool jump_at(const uint8_t *bytes, size_t at, uint64_t address, uint64_t *from, uint64_t *to)
{
    const bool is_branch = at > 0 && (bytes[at] & 0xf0) == 0x80 && bytes[at - 1] == 0x0f;
    if (bytes[at] != 0xe9 && !is_branch)
        return false;
    *from = address - is_branch;
    *to = address + 5 + (uint64_t)sw_sign_extend(sw_load32(bytes + at + 1), 32);
    return true;
}

/*
 * mov eax, NUMBER or mov al, NUMBER; syscall. exit is 60, exit_group 231. In front stands where the status comes from.
 */
static bool exits(const struct sw_code *code, uint64_t pc)
{
    static const uint8_t calls[][7] = { { 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05 },
                                        { 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05 },
                                        { 0xb0, 0x3c, 0x0f, 0x05 } };
    static const uint8_t sizes[] = { 7, 7, 4 };
    enum { IN_FRONT = 8 };
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, pc, &size);
    for (size_t at = 0; bytes && at <= IN_FRONT; at++)
        for (unsigned i = 0; i < sizeof sizes; i++)
            if (at + sizes[i] <= size && memcmp(bytes + at, calls[i], sizes[i]) == 0)
                return true;
    return false;
}

static bool syscall_ahead(const struct sw_code *code, uint64_t pc)
{
    size_t size;
    const uint8_t *at = code->fetch(code->arg, pc, &size);
    const uint8_t *end = at ? at + (size < SW_SYSCALL_BYTES ? size : SW_SYSCALL_BYTES) : NULL;
    for (; at && end - at >= 2 && (at = memchr(at, 0x0f, (size_t)(end - at - 1))) != NULL; at++)
        if (at[1] == 0x05)
            return true;
    return false;
}

/* nop in all its lengths, xchg ax, ax, int3. */
static bool is_filler(const uint8_t *bytes, size_t size)
{
    for (; size > 1 && (*bytes == 0x66 || *bytes == 0x2e); bytes++, size--)
        ;
    return *bytes == 0x90 || *bytes == 0xcc || (size > 1 && bytes[0] == 0x0f && bytes[1] == 0x1f);
}

static bool behind_system_call(const struct sw_code *code, uint64_t after)
{
    static const uint8_t syscall[] = { 0x0f, 0x05 };
    size_t size;
    const uint8_t *bytes = after < sizeof syscall ? NULL : code->fetch(code->arg, after - sizeof syscall, &size);
    return bytes && size >= sizeof syscall && memcmp(bytes, syscall, sizeof syscall) == 0;
}

const struct sw_code_patterns sw_x64_code_patterns = {
    .call_before = call_before,
    .goes_through = goes_through,
    .loaded = loaded,
    .may_start = may_start,
    .may_end = may_end,
    .opens_frame = opens_frame,
    .next_opening = next_opening,
    .jump_at = jump_at,
    .exits = exits,
    .syscall_ahead = syscall_ahead,
    .new_stack = SW_X64_RSI,
    .is_filler = is_filler,
    .is_thunk = is_thunk,
    .joined = joined,
    .behind_system_call = behind_system_call,
};
