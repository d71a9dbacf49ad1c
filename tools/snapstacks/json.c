/*
 * Stacks as one JSON object. Addresses are texts of hexadecimal digits, because numbers of JSON need not hold 64 bits.
 *
 *     { "pid", "name", "runtime", "stopped_ns", "stacks": [ { "threads": [ { "tid", "name" } ], "stop", "whole",
 *       "frames": [ { "pc", "sp", "kind", "source", "trust", "module", "function", "offset", "lines" } ] } ],
 *       "left_out": [ { "tid", "name", "why" } ] }
 *
 * sp is that of the first thread. lines, where debug information has them, are [ { "function", "file", "line" } ], of
 * which all but the last were inlined.
 */
#include "output.h"

#include "profile/json.h"

#include <inttypes.h>

static void write_member(FILE *file, const char *name, const char *text)
{
    sw_profile_json_key(file, name);
    sw_profile_json_string(file, text);
}

static void write_address(FILE *file, const char *name, uint64_t address)
{
    sw_profile_json_key(file, name);
    fprintf(file, "\"%" PRIx64 "\",", address);
}

static void write_thread(FILE *file, uint64_t tid, const char *name)
{
    fprintf(file, "{\"tid\":%" PRIu64 ",", tid);
    write_member(file, "name", name);
}

static void write_lines(FILE *file, const struct place *place)
{
    fputs(",\"lines\":[", file);
    for (size_t i = 0; i < place->line_count; i++) {
        fputs(i ? ",{" : "{", file);
        write_member(file, "function", place->lines[i].function);
        putc(',', file);
        write_member(file, "file", place->lines[i].file);
        fprintf(file, ",\"line\":%d}", place->lines[i].line);
    }
    putc(']', file);
}

static void write_frame(FILE *file, const struct frame *frame)
{
    putc('{', file);
    write_address(file, "pc", frame->pc);
    write_address(file, "sp", frame->sp);
    write_member(file, "kind", frame_kind(frame));
    putc(',', file);
    write_member(file, "source", frame_source(frame));
    putc(',', file);
    write_member(file, "trust", sw_trust_name(frame->trust));
    putc(',', file);
    write_member(file, "module", frame->place->module);
    putc(',', file);
    write_member(file, "function", frame->place->function);
    fprintf(file, ",\"offset\":\"%" PRIx64 "\"", frame->place->offset);
    if (frame->place->line_count)
        write_lines(file, frame->place);
    putc('}', file);
}

static void write_stack(const struct report *r, FILE *file, const struct stack *stack)
{
    const struct stack *all = r->stacks->at;
    fputs("{\"threads\":[", file);
    for (const struct stack *s = stack; s; s = s->next == NO_STACK ? NULL : &all[s->next]) {
        fputs(s == stack ? "" : ",", file);
        write_thread(file, s->tid, s->name);
        putc('}', file);
    }
    fputs("],", file);
    write_member(file, "stop", sw_stop_name(stack->stop));
    fprintf(file, ",\"whole\":%s,\"frames\":[", stack_is_whole(stack) ? "true" : "false");
    for (uint32_t i = 0; i < stack->count; i++) {
        fputs(i ? ",\n" : "\n", file);
        write_frame(file, &stack->frames[i]);
    }
    fputs("]}", file);
}

void write_json(const struct report *r, FILE *file)
{
    bool first = true;
    fprintf(file, "{\"pid\":%" PRIu64 ",", r->pid);
    write_member(file, "name", r->name);
    putc(',', file);
    write_member(file, "runtime", r->runtime);
    fprintf(file, ",\"stopped_ns\":%" PRIu64 ",\"stacks\":[", r->stopped_ns);
    for (size_t i = 0; i < r->stacks->count; i++) {
        if (!r->stacks->at[i].alike)
            continue;
        fputs(first ? "\n" : ",\n", file);
        write_stack(r, file, &r->stacks->at[i]);
        first = false;
    }
    fputs("],\"left_out\":[", file);
    for (size_t i = 0; i < r->stacks->absent_count; i++) {
        fputs(i ? "," : "", file);
        write_thread(file, r->stacks->absent[i].tid, r->stacks->absent[i].name);
        putc(',', file);
        write_member(file, "why", r->stacks->absent[i].why);
        putc('}', file);
    }
    fputs("]}\n", file);
}
