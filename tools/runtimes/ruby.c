/*
 * Knows the structures of CRuby 3.1 that lead from a frame of its interpreter to methods and blocks, their names and
 * lines. Other releases have others and are left alone.
 *
 * rb_vm_exec calls the interpreter's loop, which has in registers the execution context (vm_stack, its size in words,
 * the innermost control frame) and the control frame that it runs. Control frames are an array that grows down from the
 * end of the VM's stack; the loop runs those up to one with the flag FINISH. Those of functions of C have no code.
 *
 * Source: ruby 3.1, vm_core.h (rb_execution_context_struct, rb_control_frame_struct, rb_iseq_constant_body, flags),
 * iseq.h (iseq_insn_info_entry), iseq.c (succ_index_table, get_insn_info_succinct), vm_backtrace.c (calc_lineno),
 * include/ruby/internal/core/rstring.h; ruby-frames.md sections 2 to 4.
 */
#include "ruby.h"

#include "peek.h"

#include <snapwalk/names.h>

#include <stdlib.h>
#include <string.h>

/* In bytes. */
enum {
    CONTEXT_CONTROL = 16,
    CONTROL_BYTES = 64,
    CONTROL_PC = 0,
    CONTROL_CODE = 16,
    CONTROL_ENVIRONMENT = 32,
    CODE_BODY = 16,
    BODY_BEGIN = 8,
    BODY_PATH = 64,
    BODY_LABEL = 80,
    BODY_LINES = 120,
    BODY_LINE_COUNT = 136,
    BODY_INDEX = 144,
    LINE_BYTES = 12,
    STRING_LENGTH = 16,
    STRING_POINTER = 24,
    STRING_EMBEDDED = 16,
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
enum { STACK_WORDS_MOST = 1 << 26, LINES_MOST = 1 << 24, EXECUTE_MOST = 1 << 16 };

struct ruby {
    struct sw_memory memory;
    struct sw_images *images;
    uint64_t execute;
};

static bool get(const struct ruby *r, uint64_t address, uint64_t offset, uint64_t *word)
{
    return address && address % 8 == 0 && peek(&r->memory, address + offset, word, sizeof *word);
}

enum sw_status ruby_open(struct sw_images *images, const struct sw_memory *memory, struct ruby **ruby)
{
    static const char release[] = "3.1.";
    char version[sizeof release - 1];
    uint64_t address;
    struct ruby *r = calloc(1, sizeof *r);
    if (!r)
        return SW_E_NO_MEMORY;
    r->memory = *memory;
    r->images = images;
    if (sw_images_symbol(images, "ruby_version", &address) != SW_OK ||
        !peek(memory, address, version, sizeof version) || memcmp(version, release, sizeof version) != 0 ||
        sw_images_symbol(images, "rb_vm_exec", &r->execute) != SW_OK) {
        free(r);
        return SW_E_NOT_FOUND;
    }
    *ruby = r;
    return SW_OK;
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

static void find_control(const struct ruby *r, const struct sw_frame *frame, struct ruby_walk *walk)
{
    const struct sw_regs *regs = &frame->regs;
    const uint64_t kept =
        regs->known & (UINT64_C(1) << SW_X64_RBX | UINT64_C(1) << SW_X64_RBP | UINT64_C(0xf) << SW_X64_R12);
    uint64_t first;
    walk->control = 0;
    for (uint64_t contexts = kept; contexts; contexts &= contexts - 1) {
        if (!find_controls(r, regs->r[__builtin_ctzll(contexts)], &first, &walk->end))
            continue;
        for (uint64_t words = kept; words && !walk->control; words &= words - 1) {
            const uint64_t word = regs->r[__builtin_ctzll(words)];
            if (word >= first && word < walk->end && (walk->end - word) % CONTROL_BYTES == 0)
                walk->control = word;
        }
        return;
    }
}

/* A number for the calls from here to the one that the loop began with, which is the last. */
static uint64_t hash_calls(const struct ruby *r, uint64_t control, uint64_t end, uint64_t *last)
{
    uint64_t code, pc, hash = 1;
    bool finishes = false;
    for (unsigned i = 0; i < CALLS_MOST && control < end && !finishes; i++, control += CONTROL_BYTES) {
        *last = control;
        if (!is_call(r, control, &finishes) || !get(r, control, CONTROL_CODE, &code) ||
            !get(r, control, CONTROL_PC, &pc))
            return 0;
        hash = call_hash(call_hash(hash, code), pc);
    }
    return finishes ? hash | 1 : 0;
}

uint64_t ruby_identify(const struct ruby *r, const struct sw_frame *frame, struct ruby_walk *walk, uint64_t *calls)
{
    uint64_t last = 0, hash = 0;
    if (frame->regs.machine != SW_MACHINE_X64)
        return 0;
    if (call_executes(r->images, r->execute, EXECUTE_MOST, frame->lookup) && walk->control > walk->last) {
        *calls = walk->control;
        hash = hash_calls(r, walk->control, walk->end, &last);
        walk->last = hash ? last : walk->last;
    }
    find_control(r, frame, walk);
    return hash;
}

/* ---- names ---- */

static bool get_text(const struct ruby *r, uint64_t string, char text[CALL_TEXT_BYTES])
{
    uint64_t flags, length, at = string + STRING_EMBEDDED;
    if (!get(r, string, 0, &flags) || (flags & TYPE_MASK) != TYPE_STRING)
        return false;
    length = flags >> 14 & 0x1f;
    if (flags & EMBEDDED && (!get(r, string, STRING_LENGTH, &length) || !get(r, string, STRING_POINTER, &at)))
        return false;
    length = length < CALL_TEXT_BYTES - 1 ? length : CALL_TEXT_BYTES - 1;
    if (!length || !peek(&r->memory, at, text, length))
        return false;
    text[length] = 0;
    return true;
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
    uint64_t begin, lines, count, index;
    int32_t line = 0;
    if (!get(r, body, BODY_BEGIN, &begin) || !get(r, body, BODY_LINES, &lines) ||
        !get(r, body, BODY_LINE_COUNT, &count) || !get(r, body, BODY_INDEX, &index) || pc < begin ||
        (pc - begin) / 8 > LINES_MOST)
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
    *calls += CONTROL_BYTES;
    return !finishes;
}
