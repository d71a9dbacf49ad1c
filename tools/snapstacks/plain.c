/*
 * Stacks for programs, one word after the other: "thread TID NAME", "frame PC SP KIND SOURCE TRUST NAME" leaf first,
 * with "inlined NAME" in front of it for what was inlined there, "stop REASON". Every thread, every frame.
 */
#include "output.h"

#include <inttypes.h>

static void write_inlined(const struct place *place, FILE *file)
{
    for (size_t i = 0; i + 1 < place->line_count; i++)
        fprintf(file, "inlined %s%s%s\n", place->module, *place->module ? "!" : "", place->lines[i].function);
}

static void write_stack(const struct stack *stack, FILE *file)
{
    fprintf(file, "thread %" PRIu64 " %s\n", stack->tid, stack->name);
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct frame *f = &stack->frames[i];
        write_inlined(f->place, file);
        fprintf(file, "frame %" PRIx64 " %" PRIx64 " %s %s %s %s\n", f->pc, f->sp, frame_kind(f), frame_source(f),
                sw_trust_name(f->trust), f->place->label);
    }
    fprintf(file, "stop %s", sw_stop_name(stack->stop));
    if (!stack_is_whole(stack))
        fprintf(file, " (%s, pc %" PRIx64 ", address %" PRIx64 ")", sw_status_name(stack->fault.status),
                stack->fault.pc, stack->fault.address);
    putc('\n', file);
}

void write_plain(const struct report *r, FILE *file)
{
    for (size_t i = 0; i < r->stacks->count; i++)
        write_stack(&r->stacks->at[i], file);
    for (size_t i = 0; i < r->stacks->absent_count; i++) {
        const struct absent *a = &r->stacks->absent[i];
        fprintf(file, "thread %" PRIu64 " %s\nstop left-out (%s)\n", a->tid, a->name, a->why);
    }
}
