/*
 * The stack of executed calls, what both machines share: see shadow.h. Follows the kernel's way of entering a handler
 * (what it returns to is the restorer; all registers kept).
 */
#include "shadow.h"

#include <string.h>

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

static void push_unknown(struct shadow *shadow, uint64_t slot)
{
    const struct shadow_entry unknown = { .slot = slot, .unknown = true };
    if (shadow->count == 0 || !shadow->entries[shadow->count - 1].unknown)
        shadow_push(shadow, &unknown);
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
    if (kind == SHADOW_CALL && shadow->switching)
        push_unknown(shadow, before->sp); /* its frame is of two stacks */
    if (kind == SHADOW_CALL || kind == SHADOW_RETURN || kind == SHADOW_JUMP)
        shadow->switching = false;
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

/* ---- other stacks ---- */

/* The end of what is known of the innermost calls' stack: behind the outermost return address. */
static uint64_t known_end(const struct shadow *shadow, uint64_t sp)
{
    uint64_t end = sp;
    for (size_t left = shadow->count; left > 0 && !shadow->entries[left - 1].interrupted; left--) {
        const struct shadow_entry *entry = &shadow->entries[left - 1];
        if (!entry->unknown && entry->slot > end)
            end = entry->slot;
    }
    return end + 8;
}

bool shadow_owns(const struct shadow *shadow, uint64_t before, uint64_t after)
{
    return after >= before && after < known_end(shadow, before);
}

static struct shadow_parked *find_parked(struct shadow *shadow, uint64_t sp)
{
    for (size_t i = 0; i < SHADOW_PARKED; i++) {
        struct shadow_parked *p = &shadow->parked[(shadow->parked_next + SHADOW_PARKED - 1 - i) % SHADOW_PARKED];
        if (p->count && sp >= p->sp && sp < p->end)
            return p;
    }
    return NULL;
}

bool shadow_has_parked(const struct shadow *shadow, uint64_t sp)
{
    return find_parked((struct shadow *)shadow, sp) != NULL;
}

/* What lay where this one lies is gone: its memory has been used anew. */
static void park(struct shadow *shadow, uint64_t sp)
{
    const uint64_t end = known_end(shadow, sp);
    for (size_t i = 0; i < SHADOW_PARKED; i++)
        if (shadow->parked[i].sp < end && sp < shadow->parked[i].end)
            shadow->parked[i].count = 0;
    struct shadow_parked *p = &shadow->parked[shadow->parked_next++ % SHADOW_PARKED];
    const bool is_deep = shadow->count > SHADOW_PARKED_DEPTH;
    p->sp = sp;
    p->end = end;
    p->count = is_deep ? SHADOW_PARKED_DEPTH : shadow->count;
    memcpy(p->entries, &shadow->entries[shadow->count - p->count], p->count * sizeof *p->entries);
    if (is_deep)
        p->entries[0] = (struct shadow_entry){ .slot = UINT64_MAX, .unknown = true };
}

/*
 * The calls of a parked stack, but those that sp has risen past. One of them may just have returned: the code that
 * switches goes on by returning to it.
 */
static void unpark(struct shadow *shadow, struct shadow_parked *p, uint64_t sp)
{
    memcpy(shadow->entries, p->entries, p->count * sizeof *p->entries);
    shadow->count = p->count;
    p->count = 0;
    while (shadow->count > 0) {
        const struct shadow_entry *top = &shadow->entries[shadow->count - 1];
        const bool is_last = top->unknown && shadow->count == 1;
        if (is_last || top->slot + shadow->machine->pushed >= sp)
            return;
        shadow->count--;
    }
}

void shadow_switch(struct shadow *shadow, uint64_t before, uint64_t after, uint64_t begin, uint64_t end)
{
    struct shadow_parked *parked = find_parked(shadow, after);
    static struct shadow_parked there;
    shadow->switching = true;
    for (size_t left = shadow->count; left > 0 && !parked; left--)
        if (shadow->entries[left - 1].slot > begin && shadow->entries[left - 1].slot <= end) {
            shadow->count = left;
            return;
        }
    if (parked)
        there = *parked;
    park(shadow, before);
    shadow->count = 0;
    if (parked)
        unpark(shadow, &there, after);
    else
        push_unknown(shadow, after);
}

void shadow_forget(struct shadow *shadow)
{
    shadow->count = 0;
    push_unknown(shadow, UINT64_MAX);
}

void shadow_forget_all(struct shadow *shadow)
{
    shadow_forget(shadow);
    shadow->switching = false;
    for (size_t i = 0; i < SHADOW_PARKED; i++)
        shadow->parked[i].count = 0;
}

bool shadow_between(const struct shadow *shadow, const struct shadow_regs *now)
{
    const struct shadow_entry *top = shadow->count ? &shadow->entries[shadow->count - 1] : NULL;
    return shadow->switching || (top && !top->interrupted && !top->unknown && shadow->machine->between(shadow, now));
}
