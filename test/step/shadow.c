/*
 * The stack of executed calls: see shadow.h. A call is told by its opcode and the word that it pushed; a return, a jump
 * back and a jump out of many frames by which return addresses the stack pointer has risen past. Follows the Intel SDM
 * vol. 2 for opcodes, and the kernel's way of entering a handler (the restorer's address on top, all registers kept).
 */
#include "shadow.h"

#include <string.h>

/* The kernel's frame for a handler: nothing larger is put between a handler and what it interrupted (AVX-512, AMX). */
enum { SIGNAL_FRAME_MOST = 16384, RED_ZONE = 128 };

static size_t prefixes(const uint8_t *bytes, size_t size)
{
    size_t n = 0;
    while (n < size && n < 14 &&
           (bytes[n] == 0x66 || bytes[n] == 0x67 || bytes[n] == 0x3e || bytes[n] == 0x2e || bytes[n] == 0xf2 || bytes[n] == 0xf3 ||
            (bytes[n] & 0xf0) == 0x40))
        n++;
    return n;
}

enum shadow_kind shadow_kind_of(const uint8_t *bytes, size_t size)
{
    const size_t n = prefixes(bytes, size);
    if (n + 1 > size)
        return SHADOW_PLAIN;
    const uint8_t opcode = bytes[n], next = n + 1 < size ? bytes[n + 1] : 0;
    if (opcode == 0xe8 || (opcode == 0xff && (next >> 3 & 6) == 2))
        return SHADOW_CALL;
    if (opcode == 0xc3 || opcode == 0xc2)
        return SHADOW_RETURN;
    if (opcode == 0xeb || opcode == 0xe9 || (opcode == 0xff && (next >> 3 & 6) == 4))
        return SHADOW_JUMP;
    return opcode == 0x0f && next == 0x05 ? SHADOW_SYSCALL : SHADOW_PLAIN;
}

static void push(struct shadow *shadow, const struct shadow_entry *entry)
{
    if (shadow->count == SHADOW_DEPTH) {
        shadow->overflow = true;
        return;
    }
    shadow->entries[shadow->count++] = *entry;
}

/* Whether sp has left the handler whose kernel frame begins at `slot`, for a frame further out. */
static bool left_handler(const struct shadow_entry *entry, uint64_t sp)
{
    const bool same_stack = entry->regs.sp > entry->slot && entry->regs.sp - entry->slot <= SIGNAL_FRAME_MOST;
    if (same_stack)
        return sp > entry->regs.sp - RED_ZONE;
    return sp - entry->slot > SIGNAL_FRAME_MOST && sp >= entry->regs.sp;
}

/* Drops the calls whose return address sp has risen past. */
static size_t drop(struct shadow *shadow, uint64_t sp)
{
    size_t dropped = 0;
    while (shadow->count > 0) {
        const struct shadow_entry *top = &shadow->entries[shadow->count - 1];
        if (top->unknown)
            break;
        if (top->interrupted ? !left_handler(top, sp) : top->slot >= sp)
            break;
        shadow->count--;
        dropped++;
    }
    return dropped;
}

/* What a return did that passed no return address: into the unknown, by a moved one, or it was a jump. */
static enum shadow_event strange_return(struct shadow *shadow, const struct shadow_regs *after)
{
    const struct shadow_entry *top = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
    if (!top || top->unknown)
        return SHADOW_NOTHING;
    if (top->interrupted || after->pc != top->regs.pc)
        return SHADOW_PUSHED;
    shadow->count--;
    return SHADOW_MOVED;
}

static bool is_resumed(const struct shadow *shadow, const struct shadow_regs *after)
{
    const struct shadow_entry *top = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
    return top && top->interrupted && (after->sp != top->slot + 8 || after->pc == top->regs.pc);
}

bool shadow_wants_top(const struct shadow *shadow, enum shadow_kind kind)
{
    return kind == SHADOW_CALL || (kind == SHADOW_PLAIN && shadow->count && shadow->entries[shadow->count - 1].popped);
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

enum shadow_event shadow_step(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *before,
                              const struct shadow_regs *after, uint64_t top)
{
    struct shadow_entry entry = { .regs = *before, .slot = after->sp };
    switch (kind) {
    case SHADOW_CALL:
        if (after->sp != before->sp - 8 || after->pc == top)
            return SHADOW_NOTHING; /* call to the next instruction: it only reads pc */
        entry.regs.pc = top;
        push(shadow, &entry);
        return SHADOW_CALLED;
    case SHADOW_SYSCALL:
        if (!is_resumed(shadow, after))
            return SHADOW_NOTHING;
        shadow->count--;
        (void)drop(shadow, after->sp);
        return SHADOW_RESUMED;
    case SHADOW_RETURN:
    case SHADOW_JUMP: {
        const struct shadow_entry *caller = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
        const bool expected = caller && !caller->interrupted && after->pc == caller->regs.pc;
        const size_t dropped = drop(shadow, after->sp);
        if (dropped == 0)
            return kind == SHADOW_RETURN ? strange_return(shadow, after) : SHADOW_NOTHING;
        return dropped == 1 && expected ? SHADOW_RETURNED : SHADOW_LEFT;
    }
    default:
        return follow_popped(shadow, before, after, top);
    }
}

void shadow_signal(struct shadow *shadow, const struct shadow_regs *before, const struct shadow_regs *handler,
                   uint64_t restorer)
{
    const struct shadow_entry interrupted = { .regs = *before, .slot = handler->sp, .interrupted = true };
    struct shadow_entry called = { .regs = *handler, .slot = handler->sp };
    called.regs.pc = restorer;
    called.regs.sp = handler->sp + 8;
    push(shadow, &interrupted);
    push(shadow, &called);
}

void shadow_switch(struct shadow *shadow, uint64_t begin, uint64_t end)
{
    const struct shadow_entry beyond = { .slot = end, .unknown = true };
    for (size_t left = shadow->count; left > 0; left--)
        if (shadow->entries[left - 1].slot > begin && shadow->entries[left - 1].slot <= end) {
            shadow->count = left;
            return;
        }
    push(shadow, &beyond);
}

void shadow_forget(struct shadow *shadow)
{
    const struct shadow_entry all = { .slot = UINT64_MAX, .unknown = true };
    shadow->count = 0;
    push(shadow, &all);
}

bool shadow_between(const struct shadow *shadow, const struct shadow_regs *now)
{
    const struct shadow_entry *top = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
    return top && !top->interrupted && !top->unknown && now->sp > top->slot;
}
