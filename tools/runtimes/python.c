/*
 * Knows the structures of CPython that lead from a thread to its functions, their names and lines: those of 3.11 by
 * heart, of 3.13 and later what the runtime itself says of them. Other releases have others and are left alone.
 *
 * Source: CPython 3.11, Include/internal/pycore_runtime.h, pycore_interp.h, pycore_frame.h, Include/cpython/pystate.h,
 * code.h, unicodeobject.h; 3.13 to 3.15, pycore_debug_offsets.h (3.13: pycore_runtime.h), pycore_interpframe_structs.h;
 * Objects/locations.md (the table of lines).
 */
#include "python.h"

#include "characters.h"
#include "peek.h"

#include <snapwalk/names.h>

#include <stdlib.h>
#include <string.h>

enum place {
    RUNTIME_INTERPRETERS,
    INTERPRETER_NEXT,
    INTERPRETER_THREADS,
    THREAD_NEXT,
    THREAD_NATIVE_ID,
    THREAD_CURRENT,
    RECORD_PREVIOUS,
    FRAME_CODE,
    FRAME_PREVIOUS,
    FRAME_INSTRUCTION,
    FRAME_OWNER,
    CODE_FIRST_LINE,
    CODE_FILE,
    CODE_QUALIFIED_NAME,
    CODE_LINES,
    CODE_BEGIN,
    TEXT_LENGTH,
    TEXT_STATE,
    TEXT_ASCII,
    BYTES_SIZE,
    BYTES_BEGIN,
    PLACES
};

/*
 * at: offsets or, where the runtime says them (offsets of _Py_DebugOffsets), the number of the word that holds one.
 * wide: how much further the text of an object begins that is not of ASCII alone.
 */
struct release {
    uint32_t version;
    bool is_told;
    uint8_t wide;
    uint16_t at[PLACES];
};
static const struct release releases[] = {
    /* The innermost call and the record of the C frame that runs it are members of a _PyCFrame here. */
    { 0x030b, false, 24, { 40, 0, 16, 8, 160, 56, 16, 32, 48, 56, 68, 72, 112, 128, 136, 184, 16, 32, 48, 16, 32 } },
    { 0x030d, true, 16, { 5, 8, 9, 21, 25, 23, 29, 30, 29, 31, 33, 39, 35, 37, 38, 43, 69, 68, 70, 65, 66 } },
    { 0x030e, true, 16, { 5, 8, 9, 24, 28, 26, 32, 33, 32, 34, 36, 44, 40, 42, 43, 48, 79, 78, 80, 75, 76 } },
    { 0x030f, true, 16, { 5, 8, 9, 24, 31, 26, 40, 41, 40, 42, 44, 52, 48, 50, 51, 56, 91, 90, 92, 87, 88 } },
};

enum { COOKIE, VERSION, FREE_THREADED, OFFSET_MOST = 1 << 20 };
enum { CFRAME_CURRENT = 8, OWNED_BY_INTERPRETER = 3, CODE_TAGS = 7 };
enum { INTERPRETERS_MOST = 256, THREADS_MOST = 100000, CHAIN_MOST = 1 << 20, LINE_TABLE_MOST = 1 << 16 };

struct python {
    struct sw_memory memory;
    uint64_t runtime;
    const struct release *release;
    uint64_t at[PLACES];
};

static bool get_at(const struct python *p, uint64_t address, uint64_t offset, uint64_t *word)
{
    return address && peek(&p->memory, address + offset, word, sizeof *word);
}

static bool get(const struct python *p, uint64_t address, enum place place, uint64_t *word)
{
    return get_at(p, address, p->at[place], word);
}

/* A runtime without a global lock has other structures. */
static bool are_offsets(const struct python *p)
{
    uint64_t cookie, version, free_threaded;
    return get_at(p, p->runtime, 8 * COOKIE, &cookie) && memcmp(&cookie, "xdebugpy", 8) == 0 &&
           get_at(p, p->runtime, 8 * VERSION, &version) && version >> 16 == p->release->version &&
           get_at(p, p->runtime, 8 * FREE_THREADED, &free_threaded) && !free_threaded;
}

static bool read_places(struct python *p)
{
    if (p->release->is_told && !are_offsets(p))
        return false;
    for (size_t i = 0; i < PLACES; i++) {
        p->at[i] = p->release->at[i];
        if (p->release->is_told && (!get_at(p, p->runtime, 8 * p->at[i], &p->at[i]) || p->at[i] > OFFSET_MOST))
            return false;
    }
    return true;
}

static bool open_release(struct python *p, struct sw_images *images)
{
    uint64_t at, version;
    if (sw_images_symbol(images, "_PyRuntime", &p->runtime) != SW_OK ||
        sw_images_symbol(images, "Py_Version", &at) != SW_OK || !peek(&p->memory, at, &version, sizeof version))
        return false;
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
        if (version >> 16 == releases[i].version)
            p->release = &releases[i];
    return p->release && read_places(p);
}

enum sw_status python_open(struct sw_images *images, const struct sw_memory *memory, struct python **python)
{
    struct python *p = calloc(1, sizeof *p);
    if (!p)
        return SW_E_NO_MEMORY;
    p->memory = *memory;
    if (!open_release(p, images)) {
        free(p);
        return SW_E_NOT_FOUND;
    }
    *python = p;
    return SW_OK;
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

/* The innermost call of a thread; in 3.11 the innermost record. */
static bool find_current(const struct python *p, uint64_t tid, uint64_t *current)
{
    uint64_t interpreter, thread;
    if (!get(p, p->runtime, RUNTIME_INTERPRETERS, &interpreter))
        return false;
    for (unsigned i = 0; i < INTERPRETERS_MOST && interpreter; i++) {
        if (find_in(p, interpreter, tid, &thread))
            return get(p, thread, THREAD_CURRENT, current) && *current;
        if (!get(p, interpreter, INTERPRETER_NEXT, &interpreter))
            return false;
    }
    return false;
}

/* ---- frames ---- */

static bool get_owner(const struct python *p, uint64_t frame, uint8_t *owner)
{
    return frame && peek(&p->memory, frame + p->at[FRAME_OWNER], owner, sizeof *owner);
}

/* From a call to its caller in the same frame of the interpreter. False: that was the last one. */
static bool go_up(const struct python *p, uint64_t *call)
{
    uint8_t owner;
    if (p->release->is_told)
        return get(p, *call, FRAME_PREVIOUS, call) && get_owner(p, *call, &owner) && owner < OWNED_BY_INTERPRETER;
    return get_owner(p, *call, &owner) && !owner && get(p, *call, FRAME_PREVIOUS, call); /* whether it is the last */
}

/* A record is on the C stack, in the frame of the interpreter that runs the calls: each is above the last one. */
static bool take_record(const struct python *p, uint64_t current, struct python_walk *walk)
{
    const uint64_t last = walk->record;
    uint8_t owner;
    walk->calls = walk->record = current;
    if (!p->release->is_told)
        return get_at(p, current, CFRAME_CURRENT, &walk->calls) && walk->record > last;
    for (unsigned i = 0; i < CHAIN_MOST && get_owner(p, walk->record, &owner); i++) {
        if (owner >= OWNED_BY_INTERPRETER)
            return walk->record > last;
        if (!get(p, walk->record, FRAME_PREVIOUS, &walk->record))
            break;
    }
    return false;
}

static bool next_record(const struct python *p, struct python_walk *walk)
{
    uint64_t current;
    return get(p, walk->record, RECORD_PREVIOUS, &current) && take_record(p, current, walk);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* A number for these calls at these instructions. */
static uint64_t hash_calls(const struct python *p, uint64_t call)
{
    uint64_t code, instruction, hash = 1;
    unsigned i = 0;
    do {
        if (!get(p, call, FRAME_CODE, &code) || !get(p, call, FRAME_INSTRUCTION, &instruction))
            return 0;
        hash = mix(mix(hash, code), instruction);
    } while (++i < PYTHON_CALLS_MOST && go_up(p, &call));
    return hash | 1;
}

uint64_t python_identify(const struct python *p, uint64_t tid, const struct sw_frame *frame, uint64_t caller_sp,
                         struct python_walk *walk, uint64_t *calls)
{
    uint64_t current;
    if (!walk->has_begun)
        walk->is_over = !find_current(p, tid, &current) || !take_record(p, current, walk);
    walk->has_begun = true;
    while (!walk->is_over && walk->record < sw_regs_sp(&frame->regs))
        walk->is_over = !next_record(p, walk);
    if (walk->is_over || walk->record >= caller_sp)
        return 0;
    *calls = walk->calls;
    const uint64_t hash = walk->calls == walk->record ? 0 : hash_calls(p, walk->calls);
    walk->is_over = !next_record(p, walk);
    return hash;
}

/* ---- names ---- */

static bool get_text(const struct python *p, uint64_t object, char text[PYTHON_TEXT_BYTES])
{
    uint64_t length;
    uint32_t state;
    size_t used = 0, more = 1;
    if (!get(p, object, TEXT_LENGTH, &length) || !peek(&p->memory, object + p->at[TEXT_STATE], &state, sizeof state))
        return false;
    const bool is_ascii = state >> 6 & 1;
    const uint32_t width = is_ascii ? 1 : state >> 2 & 7;
    const uint64_t begin = object + p->at[TEXT_ASCII] + (is_ascii ? 0 : p->release->wide);
    if (width != 1 && width != 2 && width != 4)
        return false;
    for (uint64_t i = 0; i < length && more; i++) {
        uint32_t c = 0;
        if (!peek(&p->memory, begin + i * width, &c, width))
            return false;
        more = put_character(text + used, PYTHON_TEXT_BYTES - 1 - used, c ? c : '?');
        used += more;
    }
    text[used] = 0;
    return used > 0;
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
    const uint64_t begin = code + p->at[CODE_BEGIN];
    if (!get(p, code, CODE_LINES, &lines) || !get(p, lines, BYTES_SIZE, &size) || size > LINE_TABLE_MOST ||
        !peek(&p->memory, lines + p->at[BYTES_BEGIN], table, size) ||
        !peek(&p->memory, code + p->at[CODE_FIRST_LINE], &first, sizeof first) || first < 0 || first > 1 << 30 ||
        instruction < begin)
        return 0;
    return line_at(table, size, (instruction - begin) / 2, first);
}

bool python_name(const struct python *p, uint64_t *calls, struct python_call *call)
{
    uint64_t code, text, instruction;
    *call = (struct python_call){ "?", "", 0 };
    if (!get(p, *calls, FRAME_CODE, &code))
        return false;
    code &= ~(uint64_t)CODE_TAGS;
    if (!get(p, code, CODE_QUALIFIED_NAME, &text) || !get_text(p, text, call->function))
        memcpy(call->function, "?", 2);
    if (!get(p, code, CODE_FILE, &text) || !get_text(p, text, call->file))
        call->file[0] = 0;
    if (get(p, *calls, FRAME_INSTRUCTION, &instruction))
        call->line = find_line(p, code, instruction);
    return go_up(p, calls);
}
