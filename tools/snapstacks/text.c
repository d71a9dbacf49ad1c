/*
 * Stacks for people: one frame a line, leaf first, a line where managed code and native code meet, threads with one
 * stack in one block, and colours where they are wanted.
 */
#include "output.h"
#include "why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { TIDS_SHOWN = 8, NAMES_SHOWN = 4 };

enum ink { INK_PLAIN, INK_HEAD, INK_DIM, INK_MANAGED, INK_STUB, INK_WARN };

/* SGR sequences of ECMA-48. ORDER ink. */
static const char *const inks[] = { "", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[31m" };

static void begin_ink(const struct report *r, FILE *file, enum ink ink)
{
    if (r->has_colours)
        fputs_unlocked(inks[ink], file);
}

static void end_ink(const struct report *r, FILE *file, enum ink ink)
{
    if (r->has_colours && ink != INK_PLAIN)
        fputs_unlocked("\033[0m", file);
}

__attribute__((format(printf, 4, 5))) static void paint(const struct report *r, FILE *file, enum ink ink,
                                                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    begin_ink(r, file, ink);
    vfprintf(file, format, arguments);
    end_ink(r, file, ink);
    va_end(arguments);
}

static void paint_text(const struct report *r, FILE *file, enum ink ink, const char *text)
{
    begin_ink(r, file, ink);
    fputs_unlocked(text, file);
    end_ink(r, file, ink);
}

static bool is_managed(const struct frame *frame)
{
    return frame->kind == SW_KIND_JIT || frame->kind == SW_KIND_NGEN;
}

static enum ink ink_of(const struct frame *frame)
{
    if (is_managed(frame))
        return INK_MANAGED;
    return frame->kind == SW_KIND_STUB ? INK_STUB : INK_PLAIN;
}

static void write_line(const struct report *r, FILE *file, const struct line *line)
{
    if (*line->file)
        paint(r, file, INK_DIM, "  %s:%d", line->file, line->line);
}

/* Functions that were inlined where the frame is: called from it, so they stand in front of it. */
static void write_inlined(const struct report *r, FILE *file, const struct frame *frame)
{
    for (size_t i = 0; i + 1 < frame->place->line_count; i++) {
        const struct line *line = &frame->place->lines[i];
        paint(r, file, INK_DIM, "       [inlined]         %-6s", frame_kind(frame));
        fprintf(file, "  %s%s%s", frame->place->module, *frame->place->module ? "!" : "", line->function);
        write_line(r, file, line);
        putc_unlocked('\n', file);
    }
}

static size_t pad(char *to, size_t used, size_t width)
{
    while (used < width)
        to[used++] = ' ';
    return used;
}

/* "  #%-3u %016x  %-6s": most of the output is such lines, and printf takes ten times as long for them. */
static void write_head(const struct report *r, FILE *file, uint32_t number, const struct frame *frame)
{
    enum { NUMBER_ENDS = 6, PC_DIGITS = 16, KIND_WIDTH = 6, MOST = 64 };
    char text[MOST] = "  #", digits[10];
    size_t used = 3, count = 0;
    const size_t kind = strlen(frame_kind(frame));
    for (uint32_t rest = number; count == 0 || rest; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count)
        text[used++] = digits[--count];
    used = pad(text, used, NUMBER_ENDS);
    text[used++] = ' ';
    for (unsigned at = PC_DIGITS; at > 0; at--)
        text[used++] = "0123456789abcdef"[frame->pc >> 4 * (at - 1) & 15];
    used = pad(text, used, used + 2);
    memcpy(text + used, frame_kind(frame), kind);
    used = pad(text, used + kind, used + KIND_WIDTH);
    text[used] = 0;
    paint_text(r, file, INK_DIM, text);
}

/* Frames that are not sure are marked; --verbose says of all how they were found. */
static void write_frame(const struct report *r, FILE *file, uint32_t number, const struct frame *frame)
{
    write_inlined(r, file, frame);
    write_head(r, file, number, frame);
    if (r->is_verbose)
        paint(r, file, INK_DIM, "  %13s/%-9s", frame_source(frame), sw_trust_name(frame->trust));
    fputs_unlocked("  ", file);
    paint_text(r, file, ink_of(frame), frame->place->label);
    if (frame->place->line_count)
        write_line(r, file, &frame->place->lines[frame->place->line_count - 1]);
    if (!r->is_verbose && frame->trust == SW_TRUST_GUESS)
        paint(r, file, INK_WARN, " (guess)");
    putc_unlocked('\n', file);
}

/* Stubs belong to the side that they lead to, so that a transition is marked once. */
static void write_transition(const struct report *r, FILE *file, const struct frame *callee, const struct frame *caller)
{
    if (caller->found_by == BY_SEARCH)
        paint_text(r, file, INK_WARN,
                   "       ---- found by a search: frames may be missing, or be of an earlier call ----\n");
    if (caller->place->is_exact) {
        paint_text(r, file, INK_DIM, "       ---- interrupted by a signal ----\n");
        return;
    }
    if (is_managed(callee) == is_managed(caller) || caller->kind == SW_KIND_STUB)
        return;
    paint_text(r, file, INK_DIM,
               is_managed(caller) ? "       ---- called by managed code ----\n"
                                  : "       ---- called by native code ----\n");
}

/* How many frames from `from` on are at the same pc: a recursion. */
static uint32_t run_of(const struct stack *stack, uint32_t from)
{
    uint32_t end = from + 1;
    while (end < stack->count && stack->frames[end].pc == stack->frames[from].pc &&
           stack->frames[end].place == stack->frames[from].place)
        end++;
    return end - from;
}

static void write_frames(const struct report *r, FILE *file, const struct stack *stack)
{
    const struct frame *last = NULL;
    for (uint32_t i = 0; i < stack->count;) {
        const uint32_t run = run_of(stack, i);
        if (last)
            write_transition(r, file, last, &stack->frames[i]);
        write_frame(r, file, i, &stack->frames[i]);
        if (run > 1)
            paint(r, file, INK_DIM, "       and %" PRIu32 " more at the same pc\n", run - 1);
        if (stack->frames[i].kind != SW_KIND_STUB || !last)
            last = &stack->frames[i];
        i += run;
    }
}

/* `12 threads "a", "b": 101 102 103 ...`; the threads of a block mostly have one name. */
static void write_threads(const struct report *r, FILE *file, const struct stack *first)
{
    const struct stack *all = r->stacks->at, *named[NAMES_SHOWN];
    unsigned names = 0, tids = 0;
    paint(r, file, INK_HEAD, "%" PRIu32 " threads", first->alike);
    for (const struct stack *s = first; s; s = s->next == NO_STACK ? NULL : &all[s->next]) {
        bool is_new = names < NAMES_SHOWN;
        for (unsigned i = 0; i < names; i++)
            is_new = is_new && named[i]->name != s->name;
        if (!is_new)
            continue;
        paint(r, file, INK_HEAD, "%s\"%s\"", names ? ", " : " ", s->name);
        named[names++] = s;
    }
    putc_unlocked(':', file);
    for (const struct stack *s = first; s && tids < TIDS_SHOWN; s = s->next == NO_STACK ? NULL : &all[s->next], tids++)
        fprintf(file, " %" PRIu64, s->tid);
    if (first->alike > tids)
        fprintf(file, " and %" PRIu32 " more", first->alike - tids);
    putc_unlocked('\n', file);
}

static void write_block(const struct report *r, FILE *file, const struct stack *stack)
{
    char why[WHY_BYTES];
    if (stack->alike > 1)
        write_threads(r, file, stack);
    else
        paint(r, file, INK_HEAD, "thread %" PRIu64 " \"%s\"\n", stack->tid, stack->name);
    write_frames(r, file, stack);
    if (!stack_is_whole(stack))
        paint(r, file, INK_WARN, "  cut: %s: %s\n", sw_stop_name(stack->stop), why_cut(stack, why));
    else if (r->is_verbose)
        paint(r, file, INK_DIM, "  end: %s\n", sw_stop_name(stack->stop));
    putc_unlocked('\n', file);
}

void write_text(const struct report *r, FILE *file)
{
    const struct stacks *s = r->stacks;
    paint(r, file, INK_HEAD, "%s %" PRIu64 " \"%s\"", r->is_core ? "core of process" : "process", r->pid, r->name);
    fprintf(file, "%s%s, %zu threads", *r->runtime ? ", " : "", r->runtime, s->count + s->absent_count);
    if (!r->is_core)
        fprintf(file, ", stopped for %" PRIu64 " us", r->stopped_ns / 1000);
    fputs_unlocked("\n\n", file);
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].alike)
            write_block(r, file, &s->at[i]);
    for (size_t i = 0; i < s->absent_count; i++) {
        paint(r, file, INK_HEAD, "thread %" PRIu64 " \"%s\"\n", s->absent[i].tid, s->absent[i].name);
        paint(r, file, INK_WARN, "  left out: %s\n\n", s->absent[i].why);
    }
}
