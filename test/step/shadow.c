/*
 * The stack of executed calls, what both machines share: see shadow.h. Follows the kernel's way of entering a handler
 * (what it returns to is the restorer; all registers kept).
 */
#include "shadow.h"

/* The kernel's frame for a handler: nothing larger is put between a handler and what it interrupted (AVX-512, AMX). */
enum { SIGNAL_FRAME_MOST = 16384 };

void shadow_push(struct shadow *shadow, const struct shadow_entry *entry)
{
    if (shadow->count == SHADOW_DEPTH) {
        shadow->overflow = true;
        return;
    }
    shadow->entries[shadow->count++] = *entry;
}

/* Whether sp has left the handler whose kernel frame begins at `slot`, for a frame further out. */
static bool left_handler(const struct shadow *shadow, const struct shadow_entry *entry, uint64_t sp)
{
    const bool same_stack = entry->regs.sp > entry->slot && entry->regs.sp - entry->slot <= SIGNAL_FRAME_MOST;
    if (same_stack)
        return sp > entry->regs.sp - shadow->machine->gap;
    return sp - entry->slot > SIGNAL_FRAME_MOST && sp >= entry->regs.sp;
}

size_t shadow_drop(struct shadow *shadow, uint64_t sp, uint64_t room)
{
    size_t dropped = 0;
    while (shadow->count > 0) {
        const struct shadow_entry *top = &shadow->entries[shadow->count - 1];
        if (top->unknown)
            break;
        if (top->interrupted ? !left_handler(shadow, top, sp) : top->slot + room > sp)
            break;
        shadow->count--;
        dropped++;
    }
    return dropped;
}

enum shadow_event shadow_strange_return(struct shadow *shadow, const struct shadow_regs *after)
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
    return top && top->interrupted && (after->sp != top->slot + shadow->machine->pushed || after->pc == top->regs.pc);
}

enum shadow_kind shadow_kind_of(const struct shadow_machine *machine, const uint8_t *bytes, size_t size)
{
    return machine->kind_of(bytes, size);
}

bool shadow_wants_top(const struct shadow *shadow, enum shadow_kind kind)
{
    return shadow->machine->pushed && (kind == SHADOW_CALL || (kind == SHADOW_PLAIN && shadow->count &&
                                                               shadow->entries[shadow->count - 1].popped));
}

enum shadow_event shadow_step(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *before,
                              const struct shadow_regs *after, uint64_t top)
{
    if (kind != SHADOW_SYSCALL)
        return shadow->machine->step(shadow, kind, before, after, top);
    if (!is_resumed(shadow, after))
        return SHADOW_NOTHING;
    shadow->count--;
    (void)shadow_drop(shadow, after->sp, 1);
    return SHADOW_RESUMED;
}

void shadow_signal(struct shadow *shadow, const struct shadow_regs *before, const struct shadow_regs *handler,
                   uint64_t restorer)
{
    const struct shadow_entry interrupted = { .regs = *before, .slot = handler->sp, .interrupted = true };
    struct shadow_entry called = { .regs = *handler, .slot = handler->sp };
    called.regs.pc = restorer;
    called.regs.sp = handler->sp + shadow->machine->pushed;
    shadow_push(shadow, &interrupted);
    shadow_push(shadow, &called);
}

void shadow_switch(struct shadow *shadow, uint64_t begin, uint64_t end)
{
    const struct shadow_entry beyond = { .slot = end, .unknown = true };
    for (size_t left = shadow->count; left > 0; left--)
        if (shadow->entries[left - 1].slot > begin && shadow->entries[left - 1].slot <= end) {
            shadow->count = left;
            return;
        }
    shadow_push(shadow, &beyond);
}

void shadow_forget(struct shadow *shadow)
{
    const struct shadow_entry all = { .slot = UINT64_MAX, .unknown = true };
    shadow->count = 0;
    shadow_push(shadow, &all);
}

bool shadow_between(const struct shadow *shadow, const struct shadow_regs *now)
{
    const struct shadow_entry *top = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
    return top && !top->interrupted && !top->unknown && shadow->machine->between(shadow, now);
}
