/*
 * What ARM64 code looks like from outside. Knows the encodings that matter before anything is decoded in order.
 * Source: Arm ARM C4.1; prologue-shapes.md sections 1, 3 and 5, F.
 */
#include "arch/a64/decode.h"
#include "arch/arch.h"
#include "base/bytes.h"

enum { WORD = 4, ALIGNMENT = 16 };
static const uint32_t NOP = 0xd503201f, BTI_C = 0xd503245f, PUSH = 0xa9bf7bf0, SVC = 0xd4000001;

/* The word at an address; false: it cannot be read. */
static bool word_at(const struct sw_code *code, uint64_t at, uint32_t *word)
{
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, at, &size);
    if (!bytes || size < WORD)
        return false;
    *word = sw_load32(bytes);
    return true;
}

static bool call_before(const struct sw_code *code, uint64_t after, uint64_t *target, uint64_t *slot)
{
    size_t size;
    struct sw_insn insn;
    (void)slot;
    if (after < 2 * WORD)
        return false;
    const uint8_t *bytes = code->fetch(code->arg, after - WORD, &size);
    if (!bytes || after % WORD != 0 || sw_a64_decode(bytes, size, after - WORD, &insn) != SW_OK)
        return false;
    *target = insn.target;
    return insn.flow == SW_FLOW_CALL;
}

static bool goes_through(const struct sw_code *code, uint64_t at, uint64_t *slot)
{
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, at, &size);
    return bytes && sw_a64_goes_through(bytes, size, at, slot);
}

/* adr; adrp and add; adrp and ldr: then the word there. */
static size_t loaded(const struct sw_memory *memory, const uint8_t *bytes, uint64_t begin,
                     uint64_t addresses[SW_LOADED_MOST])
{
    uint64_t made[SW_REGS_MAX] = { 0 };
    struct sw_insn insn;
    size_t count = 0;
    for (unsigned i = 0; i < SW_LOADED_BYTES && count < SW_LOADED_MOST; i += WORD) {
        if (sw_a64_decode(bytes + i, WORD, begin + i, &insn) != SW_OK || insn.count != 1)
            continue;
        const struct sw_effect *e = &insn.effects[0];
        const uint64_t from = e->src < SW_REGS_MAX ? made[e->src] : 0;
        if (e->kind == SW_EFFECT_NEAR && e->dst < SW_REGS_MAX)
            addresses[count++] = made[e->dst] = begin + i + (uint64_t)e->imm;
        else if (e->kind == SW_EFFECT_SET && from)
            addresses[count++] = from + (uint64_t)e->imm;
        else if (e->kind == SW_EFFECT_LOAD && from &&
                 sw_memory_word(memory, from + (uint64_t)e->imm, &addresses[count]))
            count++;
    }
    return count;
}

/* paciasp, pacibsp; bti c; stp x29, x30, [sp, #x]! */
static bool is_first(uint32_t word)
{
    return (word & 0xffffffbf) == 0xd503233f || word == BTI_C || (word & 0xffc07fff) == 0xa9807bfd;
}

/* Behind an instruction that does not go on, or filler. calls: a call goes on. */
static bool is_behind_end(const uint8_t *front, uint64_t address, bool calls)
{
    struct sw_insn insn;
    if (sw_a64_decode(front - WORD, WORD, address - WORD, &insn) != SW_OK)
        return true;
    return sw_load32(front - WORD) == NOP || insn.flow == SW_FLOW_RETURN || insn.flow == SW_FLOW_TRAP ||
           insn.flow == SW_FLOW_JUMP || insn.flow == SW_FLOW_INDIRECT || (insn.flow == SW_FLOW_CALL && !calls);
}

/* At an instruction that only functions begin with, or where code ends. */
static bool may_start(const uint8_t *front, uint64_t address)
{
    return address % WORD == 0 &&
           (is_first(sw_load32(front)) || is_behind_end(front, address, address % ALIGNMENT != 0));
}

static bool may_end(const uint8_t *front, uint64_t address)
{
    return address % WORD == 0 && is_behind_end(front, address, false);
}

/* Those; sub sp, sp, #x; stp and str with sp going down. */
static bool opens_frame(const uint8_t *front)
{
    const uint32_t word = sw_load32(front);
    return is_first(word) || (word & 0xff8003ff) == 0xd10003ff || (word & 0xffe003e0) == 0xa9a003e0 ||
           (word & 0xfff00fe0) == 0xf8100fe0;
}

static size_t next_opening(const uint8_t *bytes, size_t at, size_t end)
{
    while (at < end && !opens_frame(bytes + at))
        at += WORD;
    return at < end ? at : end;
}

/* b; b.cond; cbz, cbnz, tbz, tbnz. */
static bool jump_at(const uint8_t *bytes, size_t at, uint64_t address, uint64_t *from, uint64_t *to)
{
    struct sw_insn insn;
    const uint32_t word = sw_load32(bytes + at);
    const bool may_be =
        (word & 0xfc000000) == 0x14000000 || (word & 0xfe000000) == 0x54000000 || (word & 0x7c000000) == 0x34000000;
    if (address % WORD != 0 || !may_be || sw_a64_decode(bytes + at, WORD, address, &insn) != SW_OK || insn.target == 0)
        return false;
    *from = address;
    *to = insn.target;
    return true;
}

/* stp x16, x30, [sp, #-16]!, perhaps behind bti c; then, as in every entry, a jump through a word of the GOT. */
static bool plt_header(const struct sw_code *code, uint64_t pc, unsigned *pushed)
{
    enum { LONGEST = 6 * WORD, PUSHED = 16 };
    uint32_t word;
    uint64_t slot;
    if (pc % WORD != 0 || pc < LONGEST)
        return false;
    for (uint64_t at = pc + WORD; at > pc - LONGEST; at -= WORD) {
        if (!word_at(code, at, &word) || word != PUSH)
            continue;
        if (at > pc && (!word_at(code, pc, &word) || word != BTI_C))
            continue;
        *pushed = at < pc ? PUSHED : 0;
        return goes_through(code, at + WORD, &slot);
    }
    return false;
}

/* mov x8, NUMBER or mov w8, NUMBER; svc #0. exit is 93, exit_group 94. In front stands where the status comes from. */
static bool exits(const struct sw_code *code, uint64_t pc)
{
    enum { MOV = 0x52800008u, WIDE = 0x80000000u, IN_FRONT = 3 };
    uint32_t word, next;
    for (unsigned i = 0; i < IN_FRONT && word_at(code, pc + i * WORD, &word); i++) {
        const uint32_t number = ((word & ~WIDE) - MOV) >> 5;
        if (((word & ~WIDE) & 0xffe0001fu) == MOV && (number == 93 || number == 94))
            return word_at(code, pc + (i + 1) * WORD, &next) && next == SVC;
    }
    return false;
}

static bool syscall_ahead(const struct sw_code *code, uint64_t pc)
{
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, pc, &size);
    for (size_t at = 0; bytes && at < SW_SYSCALL_BYTES && at + WORD <= size; at += WORD)
        if (sw_load32(bytes + at) == SVC)
            return true;
    return false;
}

/* nop, and zeros. */
static bool is_filler(const uint8_t *bytes, size_t size)
{
    return size >= WORD && (sw_load32(bytes) == NOP || sw_load32(bytes) == 0);
}

const struct sw_code_patterns sw_a64_code_patterns = {
    .call_before = call_before,
    .goes_through = goes_through,
    .loaded = loaded,
    .may_start = may_start,
    .may_end = may_end,
    .opens_frame = opens_frame,
    .next_opening = next_opening,
    .jump_at = jump_at,
    .plt_header = plt_header,
    .exits = exits,
    .syscall_ahead = syscall_ahead,
    .new_stack = 1,
    .is_filler = is_filler,
};
