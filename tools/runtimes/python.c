/*
 * Knows the structures of CPython 3.11 that lead from a thread to its functions, their names and lines. Another release
 * has others and is left alone.
 *
 * Source: CPython 3.11, Include/internal/pycore_runtime.h, pycore_interp.h, pycore_frame.h, Include/cpython/pystate.h,
 * code.h, unicodeobject.h; Objects/locations.md (the table of lines).
 */
#include "python.h"

#include "peek.h"

#include <snapwalk/names.h>

#include <stdlib.h>
#include <string.h>

enum {
    RUNTIME_INTERPRETERS = 40,
    INTERPRETER_NEXT = 0,
    INTERPRETER_THREADS = 16,
    THREAD_NEXT = 8,
    THREAD_CFRAME = 56,
    THREAD_NATIVE_ID = 160,
    CFRAME_CURRENT = 8,
    FRAME_CODE = 32,
    FRAME_PREVIOUS = 48,
    FRAME_INSTRUCTION = 56,
    FRAME_IS_ENTRY = 68,
    CODE_FIRST_LINE = 72,
    CODE_FILE = 112,
    CODE_QUALIFIED_NAME = 128,
    CODE_LINES = 136,
    CODE_BEGIN = 184,
    TEXT_LENGTH = 16,
    TEXT_STATE = 32,
    TEXT_ASCII = 48,
    TEXT_WIDE = 72,
    BYTES_SIZE = 16,
    BYTES_BEGIN = 32,
};

enum { INTERPRETERS_MOST = 256, THREADS_MOST = 100000, LINE_TABLE_MOST = 1 << 16, LOOP_BYTES_MOST = 1 << 17 };

struct python {
    struct sw_memory memory;
    const struct sw_images *images;
    uint64_t runtime, loop;
};

static bool get(const struct python *p, uint64_t address, int offset, uint64_t *word)
{
    return address && peek(&p->memory, address + (uint64_t)offset, word, sizeof *word);
}

enum sw_status python_open(struct sw_images *images, const struct sw_memory *memory, struct python **python)
{
    struct python *p = calloc(1, sizeof *p);
    uint64_t version_at, version = 0;
    if (!p)
        return SW_E_NO_MEMORY;
    *p = (struct python){ .memory = *memory, .images = images };
    if (sw_images_symbol(images, "_PyRuntime", &p->runtime) == SW_OK &&
        sw_images_symbol(images, "_PyEval_EvalFrameDefault", &p->loop) == SW_OK &&
        sw_images_symbol(images, "Py_Version", &version_at) == SW_OK &&
        peek(memory, version_at, &version, sizeof version) && version >> 16 == 0x030b) {
        *python = p;
        return SW_OK;
    }
    free(p);
    return SW_E_NOT_FOUND;
}

void python_close(struct python *python)
{
    free(python);
}

/* ---- threads ---- */

static bool find_in(const struct python *p, uint64_t interpreter, uint64_t tid, uint64_t *thread)
{
    uint64_t id;
    if (!get(p, interpreter, INTERPRETER_THREADS, thread))
        return false;
    for (unsigned i = 0; i < THREADS_MOST && *thread; i++) {
        if (get(p, *thread, THREAD_NATIVE_ID, &id) && id == tid)
            return true;
        if (!get(p, *thread, THREAD_NEXT, thread))
            return false;
    }
    return false;
}

/* The innermost call of a thread. */
static bool find_current(const struct python *p, uint64_t tid, uint64_t *frame)
{
    uint64_t interpreter, thread, cframe;
    if (!get(p, p->runtime, RUNTIME_INTERPRETERS, &interpreter))
        return false;
    for (unsigned i = 0; i < INTERPRETERS_MOST && interpreter; i++) {
        if (find_in(p, interpreter, tid, &thread))
            return get(p, thread, THREAD_CFRAME, &cframe) && get(p, cframe, CFRAME_CURRENT, frame) && *frame;
        if (!get(p, interpreter, INTERPRETER_NEXT, &interpreter))
            return false;
    }
    return false;
}

/* ---- frames ---- */

static bool is_loop(const struct python *p, const struct sw_frame *frame)
{
    char name[64];
    uint64_t start;
    return frame->lookup >= p->loop && frame->lookup - p->loop < LOOP_BYTES_MOST &&
           sw_images_name(p->images, frame->lookup, name, sizeof name, &start) == SW_OK && start == p->loop;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

uint64_t python_identify(const struct python *p, uint64_t tid, const struct sw_frame *frame, uint64_t *next,
                         uint64_t *calls)
{
    uint64_t code, instruction, hash = 1;
    uint8_t is_entry;
    if (!is_loop(p, frame) || (!*next && !find_current(p, tid, next)))
        return 0;
    *calls = *next;
    for (unsigned i = 0; i < PYTHON_CALLS_MOST; i++) {
        if (!get(p, *next, FRAME_CODE, &code) || !get(p, *next, FRAME_INSTRUCTION, &instruction) ||
            !peek(&p->memory, *next + FRAME_IS_ENTRY, &is_entry, 1) || !get(p, *next, FRAME_PREVIOUS, next))
            return 0;
        hash = mix(mix(hash, code), instruction);
        if (is_entry)
            return hash | 1;
    }
    return 0;
}

/* ---- names ---- */

/* Texts of one byte a character; others are shown up to their first such character. */
static bool get_text(const struct python *p, uint64_t object, char text[PYTHON_TEXT_BYTES])
{
    uint64_t length;
    uint32_t state;
    if (!get(p, object, TEXT_LENGTH, &length) || !peek(&p->memory, object + TEXT_STATE, &state, sizeof state))
        return false;
    const bool is_ascii = state >> 6 & 1;
    const uint32_t width = is_ascii ? 1 : state >> 2 & 7;
    const size_t kept = length < PYTHON_TEXT_BYTES - 1 ? (size_t)length : PYTHON_TEXT_BYTES - 1;
    if (width != 1 && width != 2 && width != 4)
        return false;
    for (size_t i = 0; i < kept; i++) {
        uint32_t c = 0;
        if (!peek(&p->memory, object + (is_ascii ? TEXT_ASCII : TEXT_WIDE) + i * width, &c, width))
            return false;
        text[i] = c && c < 128 ? (char)c : '?';
    }
    text[kept] = 0;
    return kept > 0;
}

static uint32_t take_varint(const uint8_t *table, size_t size, size_t *at)
{
    uint32_t value = 0;
    for (unsigned shift = 0; *at < size && shift < 30; shift += 6) {
        const uint8_t byte = table[(*at)++];
        value |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return value;
}

static int take_signed(const uint8_t *table, size_t size, size_t *at)
{
    const uint32_t value = take_varint(table, size, at);
    return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* The line of the instruction at `unit`, of two bytes each. Source: Objects/locations.md. */
static int line_at(const uint8_t *table, size_t size, uint64_t unit, int line)
{
    uint64_t end = 0;
    for (size_t at = 0; at < size;) {
        const uint8_t first = table[at++];
        const unsigned kind = first >> 3 & 15;
        if (!(first & 128))
            return 0;
        if (kind >= 13 && kind <= 14)
            line += take_signed(table, size, &at);
        else if (kind >= 10 && kind <= 12)
            line += (int)kind - 10;
        for (unsigned i = 0; kind == 14 && i < 3; i++)
            (void)take_varint(table, size, &at);
        at += kind < 10 ? 1 : kind < 13 ? 2 : 0;
        end += (first & 7u) + 1;
        if (unit < end)
            return kind == 15 ? 0 : line;
    }
    return 0;
}

static int find_line(const struct python *p, uint64_t code, uint64_t instruction)
{
    static uint8_t table[LINE_TABLE_MOST];
    uint64_t lines, size;
    int32_t first;
    const uint64_t begin = code + CODE_BEGIN;
    if (!get(p, code, CODE_LINES, &lines) || !get(p, lines, BYTES_SIZE, &size) || size > LINE_TABLE_MOST ||
        !peek(&p->memory, lines + BYTES_BEGIN, table, size) ||
        !peek(&p->memory, code + CODE_FIRST_LINE, &first, sizeof first) || first < 0 || first > 1 << 30 ||
        instruction < begin)
        return 0;
    return line_at(table, size, (instruction - begin) / 2, first);
}

bool python_name(const struct python *p, uint64_t *calls, struct python_call *call)
{
    uint64_t code, text, instruction;
    uint8_t is_entry = 1;
    *call = (struct python_call){ "?", "", 0 };
    if (!get(p, *calls, FRAME_CODE, &code))
        return false;
    if (!get(p, code, CODE_QUALIFIED_NAME, &text) || !get_text(p, text, call->function))
        memcpy(call->function, "?", 2);
    if (!get(p, code, CODE_FILE, &text) || !get_text(p, text, call->file))
        call->file[0] = 0;
    if (get(p, *calls, FRAME_INSTRUCTION, &instruction))
        call->line = find_line(p, code, instruction);
    return peek(&p->memory, *calls + FRAME_IS_ENTRY, &is_entry, 1) && !is_entry &&
           get(p, *calls, FRAME_PREVIOUS, calls);
}
