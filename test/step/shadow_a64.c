/*
 * ARM64: a call leaves its return address in lr and takes no stack, so that caller and callee may have the same sp. A
 * return is told by pc and sp both being the caller's; a jump out of frames by sp having risen past that of a call, or
 * up to it while lr is not what the callee has to return by. Follows the Arm ARM, C4.1 and C6.2, for opcodes; Linux
 * arch/arm64 kernel/signal.c, uapi asm/ucontext.h for a handler's frame: siginfo, ucontext, in it x0 to x30, sp, pc.
 */
#include "shadow.h"

static enum shadow_kind a64_kind_of(const uint8_t *bytes, size_t size)
{
    /* Branches to a register, with and without authentication, by bits 23:21. */
    static const enum shadow_kind by_register[8] = { SHADOW_JUMP, SHADOW_CALL, SHADOW_RETURN };
    if (size < 4)
        return SHADOW_PLAIN;
    const uint32_t word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    if ((word & 0xfc000000) == 0x94000000)
        return SHADOW_CALL;
    if ((word & 0xfe1f0000) == 0xd61f0000)
        return by_register[word >> 21 & 7];
    return (word & 0xffe0001f) == 0xd4000001 ? SHADOW_SYSCALL : SHADOW_PLAIN;
}

/* Without a signature: user addresses have 48 bits. */
static uint64_t plain(uint64_t address)
{
    return address & UINT64_C(0x0000ffffffffffff);
}

static struct shadow_entry *caller_of(struct shadow *shadow)
{
    struct shadow_entry *top = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
    return top && !top->interrupted && !top->unknown ? top : NULL;
}

/* sp is where it was at the call, and lr not what it was: the frame is gone, and not in order to return. */
static bool is_leaving(const struct shadow_entry *caller, const struct shadow_regs *now)
{
    return now->sp == caller->regs.sp && caller->framed && plain(now->lr) != caller->regs.pc;
}

static enum shadow_event a64_call(struct shadow *shadow, const struct shadow_regs *before,
                                  const struct shadow_regs *after)
{
    struct shadow_entry entry = { .regs = *before, .slot = before->sp };
    entry.regs.pc = before->pc + 4;
    if (after->pc == entry.regs.pc)
        return SHADOW_NOTHING; /* a call to the next instruction: it only reads pc */
    shadow_push(shadow, &entry);
    return SHADOW_CALLED;
}

/* How many calls are over when pc and sp are what they are: 0 when they are those of none. Calls may have the same sp.
 */
static size_t returned(const struct shadow *shadow, const struct shadow_regs *after)
{
    for (size_t left = shadow->count; left > 0; left--) {
        const struct shadow_entry *entry = &shadow->entries[left - 1];
        if (entry->interrupted || entry->unknown || entry->regs.sp != after->sp)
            return 0;
        if (entry->regs.pc == after->pc)
            return shadow->count - left + 1;
    }
    return 0;
}

static enum shadow_event a64_jump(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *after)
{
    const struct shadow_entry *caller = caller_of(shadow);
    const bool leaving = caller && is_leaving(caller, after);
    size_t dropped = returned(shadow, after);
    if (dropped) {
        shadow->count -= dropped;
        return dropped == 1 ? SHADOW_RETURNED : SHADOW_LEFT;
    }
    dropped = shadow_drop(shadow, after->sp, 1);
    if (dropped == 0 && !leaving)
        return kind == SHADOW_RETURN ? shadow_strange_return(shadow, after) : SHADOW_NOTHING;
    (void)shadow_drop(shadow, after->sp, 0); /* whoever is landed in had called with this sp */
    return SHADOW_LEFT;
}

/*
 * A jump by code that has no frame and is to return to the caller: a piece of the caller's code, shared by a compiler's
 * outliner, may have changed registers, which what it jumps to preserves. A function has not, or it would have a frame.
 */
static void note_jump(struct shadow_entry *caller, const struct shadow_regs *before, const struct shadow_regs *after)
{
    if (!caller || caller->assumed || after->pc == before->pc + 4 || before->sp != caller->regs.sp ||
        plain(before->lr) != caller->regs.pc)
        return;
    for (unsigned n = 0; n < SHADOW_NONVOLATILE; n++)
        caller->regs.nv[n] = before->nv[n];
}

static enum shadow_event a64_step(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *before,
                                  const struct shadow_regs *after, uint64_t top)
{
    struct shadow_entry *caller = caller_of(shadow);
    (void)top;
    if (caller && (before->sp < caller->regs.sp || after->sp < caller->regs.sp))
        caller->framed = true;
    if (kind == SHADOW_CALL)
        return a64_call(shadow, before, after);
    if (kind == SHADOW_PLAIN || kind == SHADOW_JUMP)
        note_jump(caller, before, after);
    if (kind == SHADOW_RETURN || kind == SHADOW_JUMP)
        return a64_jump(shadow, kind, after);
    return SHADOW_NOTHING;
}

static bool a64_between(const struct shadow *shadow, const struct shadow_regs *now)
{
    const struct shadow_entry *caller = &shadow->entries[shadow->count - 1];
    return now->sp > caller->regs.sp || is_leaving(caller, now);
}

const struct shadow_machine shadow_a64 = {
    .nonvolatile = 11,
    .number = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 },
    .name = { "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29" },
    .gap = 16,
    .context = 312, /* siginfo; then the ucontext, x0 at 184 */
    .context_pc = 32,
    .context_sp = 31,
    .context_nv = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 },
    .kind_of = a64_kind_of,
    .step = a64_step,
    .between = a64_between,
};
