/*
 * x64: a call is told by its opcode and the word that it pushed; a return, a jump back and a jump out of many frames by
 * which return addresses the stack pointer has risen past. Follows the Intel SDM vol. 2 for opcodes; Linux arch/x86
 * asm/sigcontext.h, uapi asm/ucontext.h for what lies behind the restorer's address.
 */
#include "shadow.h"

static size_t prefixes(const uint8_t *bytes, size_t size)
{
    size_t n = 0;
    while (n < size && n < 14 &&
           (bytes[n] == 0x66 || bytes[n] == 0x67 || bytes[n] == 0x3e || bytes[n] == 0x2e || bytes[n] == 0xf2 ||
            bytes[n] == 0xf3 || (bytes[n] & 0xf0) == 0x40))
        n++;
    return n;
}

/* mov, xchg and pop with rsp as what is written; not leave, lea, add: they stay on their stack. */
static bool loads_sp(const uint8_t *bytes, size_t at, size_t size)
{
    const uint8_t rex = at > 0 && (bytes[at - 1] & 0xf0) == 0x40 ? bytes[at - 1] : 0;
    const uint8_t opcode = bytes[at], modrm = at + 1 < size ? bytes[at + 1] : 0;
    const bool to_sp = (modrm >> 3 & 7) == 4 && !(rex & 4), of_sp = modrm >= 0xc0 && (modrm & 7) == 4 && !(rex & 1);
    return (opcode == 0x8b && to_sp) || (opcode == 0x89 && of_sp) || (opcode == 0x87 && (to_sp || of_sp)) ||
           ((opcode == 0x94 || opcode == 0x5c) && !(rex & 1));
}

/* call rel32 a few bytes ahead, over a loop that begins with pause or lfence: what it pushes is never returned to. */
static bool is_over_a_loop(const uint8_t *bytes, size_t at, size_t size)
{
    const uint8_t *behind = bytes + at + 5;
    return at + 8 <= size && bytes[at] == 0xe8 && bytes[at + 1] < 64 &&
           !(bytes[at + 2] | bytes[at + 3] | bytes[at + 4]) &&
           ((behind[0] == 0xf3 && behind[1] == 0x90) || (behind[0] == 0x0f && behind[1] == 0xae && behind[2] == 0xe8));
}

static enum shadow_kind x64_kind_of(const uint8_t *bytes, size_t size)
{
    const size_t n = prefixes(bytes, size);
    if (n + 1 > size)
        return SHADOW_PLAIN;
    const uint8_t opcode = bytes[n], next = n + 1 < size ? bytes[n + 1] : 0;
    if (is_over_a_loop(bytes, n, size))
        return SHADOW_PLAIN;
    if (opcode == 0xe8 || (opcode == 0xff && (next >> 3 & 6) == 2))
        return SHADOW_CALL;
    if (opcode == 0xc3 || opcode == 0xc2)
        return SHADOW_RETURN;
    if (opcode == 0xeb || opcode == 0xe9 || (opcode == 0xff && (next >> 3 & 6) == 4))
        return SHADOW_JUMP;
    if (opcode == 0x0f && next == 0x05)
        return SHADOW_SYSCALL;
    return loads_sp(bytes, n, size) ? SHADOW_LOAD : SHADOW_PLAIN;
}

/* A return address that is popped into a register, and pushed again when arguments have been added or taken away. */
static enum shadow_event follow_popped(struct shadow *shadow, const struct shadow_regs *before,
                                       const struct shadow_regs *after, uint64_t top)
{
    struct shadow_entry *entry = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
    if (!entry || entry->interrupted || entry->unknown)
        return SHADOW_NOTHING;
    if (!entry->popped) {
        entry->popped = after->sp > entry->slot;
        return SHADOW_NOTHING;
    }
    if (after->sp != before->sp - 8 || top != entry->regs.pc)
        return SHADOW_NOTHING;
    const bool moved = entry->slot != after->sp;
    entry->popped = false;
    entry->loose = entry->loose || moved;
    entry->slot = after->sp;
    entry->regs.sp = after->sp + 8;
    return moved ? SHADOW_MOVED : SHADOW_NOTHING;
}

static enum shadow_event x64_call(struct shadow *shadow, const struct shadow_regs *before,
                                  const struct shadow_regs *after, uint64_t top)
{
    struct shadow_entry entry = { .regs = *before, .slot = after->sp };
    if (after->sp != before->sp - 8 || after->pc == top)
        return SHADOW_NOTHING; /* call to the next instruction: it only reads pc */
    entry.regs.pc = top;
    shadow_push(shadow, &entry);
    return SHADOW_CALLED;
}

static enum shadow_event x64_jump(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *after)
{
    const struct shadow_entry *caller = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
    const bool expected = caller && !caller->interrupted && after->pc == caller->regs.pc;
    const size_t dropped = shadow_drop(shadow, after->sp, 1);
    if (dropped == 0)
        return kind == SHADOW_RETURN ? shadow_strange_return(shadow, after) : SHADOW_NOTHING;
    return dropped == 1 && expected ? SHADOW_RETURNED : SHADOW_LEFT;
}

static enum shadow_event x64_step(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *before,
                                  const struct shadow_regs *after, uint64_t top)
{
    switch (kind) {
    case SHADOW_CALL:
        return x64_call(shadow, before, after, top);
    case SHADOW_RETURN:
    case SHADOW_JUMP:
        return x64_jump(shadow, kind, after);
    default:
        return follow_popped(shadow, before, after, top);
    }
}

static bool x64_between(const struct shadow *shadow, const struct shadow_regs *now)
{
    return now->sp > shadow->entries[shadow->count - 1].slot;
}

const struct shadow_machine shadow_x64 = {
    .nonvolatile = 6,
    .number = { 3, 5, 12, 13, 14, 15 },
    .name = { "rbx", "rbp", "r12", "r13", "r14", "r15" },
    .pushed = 8,
    .gap = 128,    /* the red zone */
    .context = 48, /* the restorer's address; then the ucontext, its registers at 40 */
    .context_pc = 16,
    .context_sp = 15,
    .context_nv = { 11, 10, 4, 5, 6, 7 }, /* from r8 on */
    .kind_of = x64_kind_of,
    .step = x64_step,
    .between = x64_between,
};
