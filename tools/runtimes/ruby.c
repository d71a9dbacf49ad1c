/*
 * Knows the structures of CRuby 3.1, 3.3 and 3.4 that lead from a frame of its interpreter to methods and blocks, their
 * names and lines. Other releases have others and are left alone.
 *
 * rb_vm_exec calls the interpreter's loop, which has in registers the execution context (vm_stack, its size in words,
 * the innermost control frame) and the control frame that it runs. Control frames are an array that grows down from the
 * end of the VM's stack; the loop runs those up to one with the flag FINISH. Those of functions of C have no code.
 * The loop is known by the code of methods, of which each word for an instruction is an address in the loop.
 *
 * Source: ruby 3.1 and 3.3, vm_core.h (rb_execution_context_struct, rb_control_frame_struct, rb_iseq_constant_body,
 * flags), vm_exec.c (vm_exec_core), iseq.h (iseq_insn_info_entry), iseq.c (succ_index_table, get_insn_info_succinct),
 * vm_backtrace.c (calc_lineno), include/ruby/internal/core/rstring.h; ruby-frames.md.
 */
#include "ruby.h"

#include "functions.h"
#include "peek.h"

#include <snapwalk/names.h>

#include <stdlib.h>
#include <string.h>

/* In bytes. */
enum {
    CONTEXT_CONTROL = 16,
    CONTROL_PC = 0,
    CONTROL_CODE = 16,
    CONTROL_ENVIRONMENT = 32,
    CODE_BODY = 16,
    BODY_BEGIN = 8,
    BODY_PATH = 64,
    BODY_LABEL = 80,
    LINES_COUNT = 16, /* behind the pointer to lines */
    LINES_INDEX = 24,
    LINE_BYTES = 12,
    STRING_LENGTH = 16,
    STRING_POINTER = 24,
    ARRAY_EMBEDDED = 16,
    ARRAY_POINTER = 32
};

enum {
    TYPE_MASK = 0x1f,
    TYPE_STRING = 5,
    TYPE_ARRAY = 7,
    TYPE_INTERNAL = 0x1a,
    INTERNAL_CODE = 7,
    EMBEDDED = 1 << 13 /* of an array; of a string that it is not */
};
enum { FLAG_FINISH = 0x20, FLAG_OF_C = 0x80 };
enum { STACK_WORDS_MOST = 1 << 26, LINES_MOST = 1 << 24 };

/*
 * What releases differ in. control: the size of a control frame. lines: of a body. text: where a string has bytes that
 * are its own; at 16 their number is in its flags.
 */
static const struct release {
    char version[5];
    uint8_t control, lines, text;
} releases[] = {
    { "3.1.", 64, 120, 16 },
    { "3.3.", 56, 112, 24 },
    { "3.4.", 56, 112, 24 },
};

struct ruby {
    struct sw_memory memory;
    struct sw_images *images;
    const struct release *release;
};

static bool get(const struct ruby *r, uint64_t address, uint64_t offset, uint64_t *word)
{
    return address && address % 8 == 0 && peek(&r->memory, address + offset, word, sizeof *word);
}

static const struct release *find_release(const struct ruby *r, uint64_t address)
{
    char version[sizeof releases[0].version - 1];
    if (!peek(&r->memory, address, version, sizeof version))
        return NULL;
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
        if (memcmp(version, releases[i].version, sizeof version) == 0)
            return &releases[i];
    return NULL;
}

enum sw_status ruby_open_at(struct sw_images *images, const struct sw_memory *memory, uint64_t version,
                            struct ruby **ruby)
{
    struct ruby *r = calloc(1, sizeof *r);
    if (!r)
        return SW_E_NO_MEMORY;
    *r = (struct ruby){ *memory, images, NULL };
    r->release = find_release(r, version);
    if (!r->release) {
        free(r);
        return SW_E_NOT_FOUND;
    }
    *ruby = r;
    return SW_OK;
}

enum sw_status ruby_open(struct sw_images *images, const struct sw_memory *memory, struct ruby **ruby)
{
    uint64_t version;
    if (sw_images_symbol(images, "ruby_version", &version) != SW_OK)
        return SW_E_NOT_FOUND;
    return ruby_open_at(images, memory, version, ruby);
}

void ruby_close(struct ruby *ruby)
{
    free(ruby);
}

/* ---- control frames ---- */

/* Method, block and the like; not a function of C, of which its own frame tells. finishes: the loop began with it. */
static bool is_call(const struct ruby *r, uint64_t control, bool *finishes)
{
    uint64_t environment, flags, code, kind;
    *finishes = true;
    if (!get(r, control, CONTROL_ENVIRONMENT, &environment) || !get(r, environment, 0, &flags) || !(flags & 1))
        return false;
    *finishes = flags & FLAG_FINISH;
    return !(flags & FLAG_OF_C) && get(r, control, CONTROL_CODE, &code) && get(r, code, 0, &kind) &&
           (kind & TYPE_MASK) == TYPE_INTERNAL && (kind >> 12 & 15) == INTERNAL_CODE;
}

/* Where the control frames of an execution context begin and end. False: a register has none. */
static bool find_controls(const struct ruby *r, uint64_t context, uint64_t *first, uint64_t *end)
{
    uint64_t stack, words;
    if (!get(r, context, 0, &stack) || !get(r, context, 8, &words) || !get(r, context, CONTEXT_CONTROL, first) ||
        stack % 8 || words > STACK_WORDS_MOST)
        return false;
    *end = stack + 8 * words;
    return *first > stack && *first < *end;
}

/*
 * The loop keeps the control frame in r15, and the context in any register that calls preserve; compiled code has them
 * in r13 and r12.
 */
static void find_control(const struct ruby *r, const struct sw_frame *frame, bool is_compiled, struct ruby_walk *walk)
{
    const uint64_t places = is_compiled
                                ? UINT64_C(1) << SW_X64_R12
                                : UINT64_C(1) << SW_X64_RBX | UINT64_C(1) << SW_X64_RBP | UINT64_C(7) << SW_X64_R12;
    const unsigned place = is_compiled ? SW_X64_R13 : SW_X64_R15;
    const uint64_t control = frame->regs.r[place];
    uint64_t first;
    walk->control = 0;
    if (!sw_regs_has(&frame->regs, place))
        return;
    for (uint64_t contexts = frame->regs.known & places; contexts; contexts &= contexts - 1) {
        if (!find_controls(r, frame->regs.r[__builtin_ctzll(contexts)], &first, &walk->end))
            continue;
        if (control >= first && control < walk->end && (walk->end - control) % r->release->control == 0)
            walk->control = control;
        return;
    }
}

/* Where the interpreter's loop begins: around what the first instruction of a call leads to. 0: it is not known. */
static uint64_t find_loop(const struct ruby *r, uint64_t control)
{
    uint64_t code, body, words, instruction, begin;
    bool finishes;
    return is_call(r, control, &finishes) && get(r, control, CONTROL_CODE, &code) && get(r, code, CODE_BODY, &body) &&
                   get(r, body, BODY_BEGIN, &words) && get(r, words, 0, &instruction) &&
                   function_begin(r->images, &r->memory, instruction, &begin)
               ? begin
               : 0;
}

static bool is_in_loop(const struct ruby *r, const struct sw_frame *frame, uint64_t loop)
{
    uint64_t begin;
    return loop && function_begin(r->images, &r->memory, frame->lookup, &begin) && begin == loop;
}

/* A number for the calls from here to the one that the loop began with, which is the last. */
static uint64_t hash_calls(const struct ruby *r, uint64_t control, uint64_t end, uint64_t *last)
{
    uint64_t code, pc, hash = 1;
    bool finishes = false;
    for (unsigned i = 0; i < CALLS_MOST && control < end && !finishes; i++, control += r->release->control) {
        *last = control;
        if (!is_call(r, control, &finishes) || !get(r, control, CONTROL_CODE, &code) ||
            !get(r, control, CONTROL_PC, &pc))
            return 0;
        hash = call_hash(call_hash(hash, code), pc);
    }
    return finishes ? hash | 1 : 0;
}

/*
 * Whether a frame is the one that has the calls run: it calls the loop, or compiled code. The loop itself calls
 * compiled code as well, whose calls are in front of its own.
 */
static bool has_run(const struct ruby *r, const struct sw_frame *frame, const struct ruby_walk *walk)
{
    const uint64_t called = frame->exact ? 0 : function_called(&r->memory, sw_regs_pc(&frame->regs));
    if (!called && !walk->is_compiled)
        return false;
    const uint64_t loop = find_loop(r, walk->control);
    return loop && (called == loop || (walk->is_compiled && !is_in_loop(r, frame, loop)));
}

uint64_t ruby_identify(const struct ruby *r, const struct sw_frame *frame, struct ruby_walk *walk, uint64_t *calls)
{
    struct sw_image image;
    uint64_t last = 0, hash = 0;
    if (frame->regs.machine != SW_MACHINE_X64)
        return 0;
    const bool is_compiled = sw_images_find(r->images, frame->lookup, &image) != SW_OK;
    if (walk->control > walk->last) {
        if (walk->is_compiled && (is_compiled || is_in_loop(r, frame, find_loop(r, walk->control))))
            return 0; /* it goes on: the innermost call is known */
        if (has_run(r, frame, walk)) {
            *calls = walk->control;
            hash = hash_calls(r, walk->control, walk->end, &last);
            walk->last = hash ? last : walk->last;
        }
    }
    find_control(r, frame, is_compiled, walk);
    walk->is_compiled = is_compiled && walk->control;
    return hash;
}

/* ---- names ---- */

static bool get_text(const struct ruby *r, uint64_t string, char text[CALL_TEXT_BYTES])
{
    const uint64_t embedded = r->release->text;
    uint64_t flags, length, at = string + embedded;
    if (!get(r, string, 0, &flags) || (flags & TYPE_MASK) != TYPE_STRING)
        return false;
    const bool is_apart = flags & EMBEDDED;
    length = flags >> 14 & 0x1f;
    if ((is_apart || embedded > STRING_LENGTH) && !get(r, string, STRING_LENGTH, &length))
        return false;
    if (is_apart && !get(r, string, STRING_POINTER, &at))
        return false;
    length = length < CALL_TEXT_BYTES - 1 ? length : CALL_TEXT_BYTES - 1;
    if (!length || !peek(&r->memory, at, text, length))
        return false;
    text[length] = 0;
    return *text;
}

/* A path as it was given, or an array of that and the real one. */
static bool get_path(const struct ruby *r, uint64_t object, char text[CALL_TEXT_BYTES])
{
    uint64_t flags, items = object + ARRAY_EMBEDDED;
    if (!get(r, object, 0, &flags) || (flags & TYPE_MASK) != TYPE_ARRAY)
        return get_text(r, object, text);
    return (flags & EMBEDDED || get(r, object, ARRAY_POINTER, &items)) && get(r, items, 0, &object) &&
           get_text(r, object, text);
}

/*
 * Which entry holds an instruction: their number up to there, by bits and sums of them. The first 54 instructions:
 * seven bits each, nine a word; then blocks of 512: a sum, seven sums of nine bits, and the bits.
 */
static uint64_t entry_of(const struct ruby *r, uint64_t index, uint64_t at)
{
    enum { FIRST = 54, IN_WORD = 9, FIRST_BYTES = 48, BLOCK = 512, BLOCK_BYTES = 80, SUMS = 8, BITS = 16 };
    uint64_t word = 0, sum, sums, bits;
    if (at < FIRST)
        return get(r, index, 8 * (at / IN_WORD), &word) ? word >> at % IN_WORD * 7 & 0x7f : 0;
    at -= FIRST;
    const uint64_t block = index + FIRST_BYTES + at / BLOCK * BLOCK_BYTES, part = at % BLOCK / 64;
    if (!get(r, block, 0, &sum) || !get(r, block, SUMS, &sums) || !get(r, block, BITS + 8 * part, &bits))
        return 0;
    const uint64_t of_parts = part ? sums >> (part - 1) * 9 & 0x1ff : 0;
    return (sum & UINT32_MAX) + of_parts + (uint64_t)__builtin_popcountll(bits << (63 - at % 64));
}

/* pc is behind the instruction that calls. */
static int find_line(const struct ruby *r, uint64_t body, uint64_t pc)
{
    const uint64_t at = r->release->lines;
    uint64_t begin, lines, count, index;
    int32_t line = 0;
    if (!get(r, body, BODY_BEGIN, &begin) || !get(r, body, at, &lines) || !get(r, body, at + LINES_COUNT, &count) ||
        !get(r, body, at + LINES_INDEX, &index) || pc < begin || (pc - begin) / 8 > LINES_MOST)
        return 0;
    const uint64_t place = (pc - begin) / 8, entry = entry_of(r, index, place ? place - 1 : 0);
    if (!entry || entry > (count & UINT32_MAX) ||
        !peek(&r->memory, lines + (entry - 1) * LINE_BYTES, &line, sizeof line) || line < 0)
        return 0;
    return line;
}

bool ruby_name(const struct ruby *r, uint64_t *calls, struct runtime_call *call)
{
    uint64_t code, body, object, pc;
    bool finishes;
    *call = (struct runtime_call){ "?", "", 0 };
    if (!is_call(r, *calls, &finishes) || !get(r, *calls, CONTROL_CODE, &code) || !get(r, code, CODE_BODY, &body))
        return false;
    if (!get(r, body, BODY_LABEL, &object) || !get_text(r, object, call->function))
        memcpy(call->function, "?", 2);
    if (!get(r, body, BODY_PATH, &object) || !get_path(r, object, call->file))
        call->file[0] = 0;
    if (get(r, *calls, CONTROL_PC, &pc))
        call->line = find_line(r, body, pc);
    *calls += r->release->control;
    return !finishes;
}
