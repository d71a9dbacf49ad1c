/*
 * Knows the structures of CPython that lead from a thread to its functions and their names: those of 3.7 to 3.12 by
 * heart, of 3.13 and later what the runtime itself says of them. Other releases have others and are left alone. Tables
 * of lines: python_lines.c.
 *
 * Source: CPython 3.7 to 3.12, Include/internal/pycore_runtime.h, pycore_interp.h, pycore_frame.h (3.7: pystate.h),
 * Include/cpython/pystate.h, frameobject.h, code.h, unicodeobject.h; 3.13 to 3.15, pycore_debug_offsets.h (3.13:
 * pycore_runtime.h), pycore_interpframe_structs.h. docs/facts/python-frames.md has how they differ.
 */
#include "python.h"

#include "characters.h"
#include "peek.h"
#include "python_lines.h"

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
 * What releases differ in.
 *
 * TOLD     The runtime says its offsets (_Py_DebugOffsets).
 * RECORDS  Each frame of the interpreter has a record, a _PyCFrame, that leads to its innermost call.
 * ENTRIES  Behind the calls of one frame of the interpreter is a call of its own.
 * OBJECTS  Each call is an object, and is run by a frame of the interpreter of its own.
 */
enum { TOLD = 1, RECORDS = 2, ENTRIES = 4, OBJECTS = 8 };

/*
 * sign: what it exports and those before it do not; null: it has Py_Version. at: offsets or, where the runtime says
 * them (TOLD), the number of the word that holds one. current: in a record. wide: how much further the text of an
 * object begins that is not of ASCII alone.
 */
struct release {
    uint32_t version;
    const char *sign;
    uint8_t has, current, wide, lines;
    uint16_t at[PLACES];
};

/* ORDER: of those that are known by a sign the latest first. */
static const struct release releases[] = {
    { 0x030f, NULL, TOLD | ENTRIES, 0, 16, PYTHON_LINES_LOCATIONS, { 5,  8,  9,  24, 31, 26, 40, 41, 40, 42, 44,
                                                                     52, 48, 50, 51, 56, 91, 90, 92, 87, 88 } },
    { 0x030e, NULL, TOLD | ENTRIES, 0, 16, PYTHON_LINES_LOCATIONS, { 5,  8,  9,  24, 28, 26, 32, 33, 32, 34, 36,
                                                                     44, 40, 42, 43, 48, 79, 78, 80, 75, 76 } },
    { 0x030d, NULL, TOLD | ENTRIES, 0, 16, PYTHON_LINES_LOCATIONS, { 5,  8,  9,  21, 25, 23, 29, 30, 29, 31, 33,
                                                                     39, 35, 37, 38, 43, 69, 68, 70, 65, 66 } },
    { 0x030c, NULL, RECORDS | ENTRIES, 0, 16, PYTHON_LINES_LOCATIONS, { 40, 0,   72,  8,   144, 56, 8,  0,  8,  56, 70,
                                                                        68, 112, 128, 136, 192, 16, 32, 40, 16, 32 } },
    { 0x030b, NULL, RECORDS, 8, 24, PYTHON_LINES_LOCATIONS, { 40, 0,   16,  8,   160, 56, 16, 32, 48, 56, 68,
                                                              72, 112, 128, 136, 184, 16, 32, 48, 16, 32 } },
    { 0x030a, "PyIter_Send", OBJECTS, 0, 24, PYTHON_LINES_RANGES, { 32, 0,   8,   8,   176, 24, 0,  32, 24, 96, 0,
                                                                    40, 104, 112, 120, 0,   16, 32, 48, 16, 32 } },
    { 0x0308, "PyCode_NewWithPosOnlyArgs", OBJECTS, 0, 24, PYTHON_LINES_STEPS, { 32,  0,  8,   8,  176, 24,  0,
                                                                                 32,  24, 104, 0,  40,  104, 112,
                                                                                 120, 0,  16,  32, 48,  16,  32 } },
    { 0x0307, "_PyRuntime", OBJECTS, 0, 24, PYTHON_LINES_STEPS, { 24, 0,  8,   8,   176, 24, 0,  32, 24, 104, 0,
                                                                  36, 96, 104, 112, 0,   16, 32, 48, 16, 32 } },
};

enum { COOKIE, VERSION, FREE_THREADED, OFFSET_MOST = 1 << 20 };
enum { OWNED_BY_INTERPRETER = 3, CODE_TAGS = 7 };
enum { INTERPRETERS_MOST = 256, THREADS_MOST = 100000, CHAIN_MOST = 1 << 20, LINE_TABLE_MOST = 1 << 16 };
enum { EVALUATE_MOST = 1 << 18, HELD_MOST = 4096, LOST_MOST = 64, SAVED_BYTES = 56 };

struct python {
    struct sw_memory memory;
    struct sw_images *images;
    uint64_t runtime, evaluate;
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
    const bool is_told = p->release->has & TOLD;
    if (is_told && !are_offsets(p))
        return false;
    for (size_t i = 0; i < PLACES; i++) {
        p->at[i] = p->release->at[i];
        if (is_told && (!get_at(p, p->runtime, 8 * p->at[i], &p->at[i]) || p->at[i] > OFFSET_MOST))
            return false;
    }
    return true;
}

static bool is_release(const struct python *p, const struct release *release, bool has_version, uint64_t version)
{
    uint64_t at;
    if (has_version)
        return !release->sign && version >> 16 == release->version;
    return release->sign && sw_images_symbol(p->images, release->sign, &at) == SW_OK;
}

static bool open_release(struct python *p)
{
    uint64_t at, version = 0;
    if (sw_images_symbol(p->images, "_PyRuntime", &p->runtime) != SW_OK)
        return false;
    const bool has_version = sw_images_symbol(p->images, "Py_Version", &at) == SW_OK;
    if (has_version && !peek(&p->memory, at, &version, sizeof version))
        return false;
    for (size_t i = 0; i < sizeof releases / sizeof releases[0] && !p->release; i++)
        if (is_release(p, &releases[i], has_version, version))
            p->release = &releases[i];
    if (!p->release || !read_places(p))
        return false;
    return !(p->release->has & OBJECTS) ||
           sw_images_symbol(p->images, "_PyEval_EvalFrameDefault", &p->evaluate) == SW_OK;
}

enum sw_status python_open(struct sw_images *images, const struct sw_memory *memory, struct python **python)
{
    struct python *p = calloc(1, sizeof *p);
    if (!p)
        return SW_E_NO_MEMORY;
    p->memory = *memory;
    p->images = images;
    if (!open_release(p)) {
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

/*
 * Before 3.11 a thread is known by the address of what the C library has of it. Its number is in there, of glibc on x64
 * and ARM64, and of musl. Source: glibc, nptl/descr.h, struct pthread, tid; musl, src/internal/pthread_impl.h.
 */
static bool is_thread_at(const struct python *p, uint64_t descriptor, uint64_t tid)
{
    static const uint16_t places[] = { 720, 208, 48, 32 };
    int32_t id;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (peek(&p->memory, descriptor + places[i], &id, sizeof id) && id > 0 && (uint64_t)id == tid)
            return true;
    return false;
}

static bool is_thread(const struct python *p, uint64_t id, uint64_t tid)
{
    return p->release->has & OBJECTS ? is_thread_at(p, id, tid) : id == tid;
}

static bool find_in(const struct python *p, uint64_t interpreter, uint64_t tid, uint64_t *thread)
{
    uint64_t id;
    if (!get(p, interpreter, INTERPRETER_THREADS, thread))
        return false;
    for (unsigned i = 0; i < THREADS_MOST && *thread; i++) {
        if (get(p, *thread, THREAD_NATIVE_ID, &id) && is_thread(p, id, tid))
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
    if (p->release->has & OBJECTS)
        return false;
    if (p->release->has & ENTRIES)
        return get(p, *call, FRAME_PREVIOUS, call) && get_owner(p, *call, &owner) && owner < OWNED_BY_INTERPRETER;
    return get_owner(p, *call, &owner) && !owner && get(p, *call, FRAME_PREVIOUS, call); /* whether it is the last */
}

/* The calls of a record; none, where its frame has left the last one already. */
static bool take_calls(const struct python *p, struct python_walk *walk)
{
    uint8_t owner;
    if (!get_at(p, walk->record, p->release->current, &walk->calls))
        return false;
    if (p->release->has & ENTRIES && get_owner(p, walk->calls, &owner) && owner >= OWNED_BY_INTERPRETER)
        walk->calls = 0;
    return true;
}

/* A record is on the C stack, in the frame of the interpreter that runs the calls: each is above the last one. */
static bool take_record(const struct python *p, uint64_t current, struct python_walk *walk)
{
    const uint64_t last = walk->record;
    uint8_t owner;
    walk->calls = walk->record = current;
    if (p->release->has & RECORDS)
        return take_calls(p, walk) && walk->record > last;
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

/* A number for these calls at these instructions. */
static uint64_t hash_calls(const struct python *p, uint64_t call)
{
    uint64_t code, instruction, hash = 1;
    unsigned i = 0;
    do {
        if (!get(p, call, FRAME_CODE, &code) || !get(p, call, FRAME_INSTRUCTION, &instruction))
            return 0;
        hash = call_hash(call_hash(hash, code), instruction);
    } while (++i < CALLS_MOST && go_up(p, &call));
    return hash | 1;
}

static uint64_t identify_record(const struct python *p, const struct sw_frame *frame, uint64_t caller_sp,
                                struct python_walk *walk, uint64_t *calls)
{
    while (!walk->is_over && walk->record < sw_regs_sp(&frame->regs))
        walk->is_over = !next_record(p, walk);
    if (walk->is_over || walk->record >= caller_sp)
        return 0;
    *calls = walk->calls;
    const uint64_t hash = walk->calls == walk->record ? 0 : hash_calls(p, walk->calls);
    walk->is_over = !next_record(p, walk);
    return hash;
}

/* ---- calls that are objects ---- */

/* What a frame has in its registers and on its stack, without what it saved of its caller's registers. */
struct held {
    uint64_t words[HELD_MOST / 8];
    size_t count;
};

static void hold(const struct python *p, const struct sw_frame *frame, uint64_t caller_sp, struct held *held)
{
    const uint64_t sp = sw_regs_sp(&frame->regs), size = caller_sp > sp ? caller_sp - sp : 0;
    const uint64_t most = HELD_MOST - sizeof frame->regs.r;
    const uint64_t taken = size < SAVED_BYTES ? 0 : size - SAVED_BYTES < most ? size - SAVED_BYTES : most;
    held->count = 0;
    for (unsigned i = 0; i < SW_REGS_MAX; i++)
        if (sw_regs_has(&frame->regs, i))
            held->words[held->count++] = frame->regs.r[i];
    if (peek(&p->memory, sp, held->words + held->count, taken & ~(uint64_t)7))
        held->count += taken / 8;
}

static bool is_held(const struct held *held, uint64_t word)
{
    for (size_t i = 0; i < held->count; i++)
        if (held->words[i] == word)
            return true;
    return false;
}

/* The next call that the frame holds: those before it are of frames whose code has another name. */
static uint64_t identify_object(const struct python *p, const struct sw_frame *frame, uint64_t caller_sp,
                                struct python_walk *walk, uint64_t *calls)
{
    struct held held;
    uint64_t call = walk->calls;
    if (walk->is_over || !call_executes(p->images, p->evaluate, EVALUATE_MOST, frame->lookup))
        return 0;
    hold(p, frame, caller_sp, &held);
    for (unsigned i = 0; i < LOST_MOST && call; i++) {
        const bool is_here = is_held(&held, call);
        *calls = call;
        if (!get(p, call, FRAME_PREVIOUS, &call))
            return 0;
        if (!is_here)
            continue;
        walk->calls = call;
        return hash_calls(p, *calls);
    }
    return 0;
}

uint64_t python_identify(const struct python *p, uint64_t tid, const struct sw_frame *frame, uint64_t caller_sp,
                         struct python_walk *walk, uint64_t *calls)
{
    const bool has_objects = p->release->has & OBJECTS;
    uint64_t current;
    if (!walk->has_begun) {
        walk->is_over = !find_current(p, tid, &current) || (!has_objects && !take_record(p, current, walk));
        walk->calls = has_objects && !walk->is_over ? current : walk->calls;
    }
    walk->has_begun = true;
    return has_objects ? identify_object(p, frame, caller_sp, walk, calls)
                       : identify_record(p, frame, caller_sp, walk, calls);
}

/* ---- names ---- */

static bool get_text(const struct python *p, uint64_t object, char text[CALL_TEXT_BYTES])
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
        more = put_character(text + used, CALL_TEXT_BYTES - 1 - used, c ? c : '?');
        used += more;
    }
    text[used] = 0;
    return used > 0;
}

/* Of an instruction: its place in the function, in bytes. */
static bool find_place(const struct python *p, uint64_t code, uint64_t instruction, uint64_t *place)
{
    const uint64_t begin = code + p->at[CODE_BEGIN];
    const int32_t last = (int32_t)instruction;
    *place = p->release->has & OBJECTS ? (uint64_t)(last < 0 ? 0 : last) : instruction - begin;
    if (p->release->lines == PYTHON_LINES_RANGES)
        *place *= 2;
    return p->release->has & OBJECTS || instruction >= begin;
}

static int find_line(const struct python *p, uint64_t code, uint64_t instruction)
{
    static uint8_t table[LINE_TABLE_MOST];
    uint64_t lines, size, place;
    int32_t first;
    if (!get(p, code, CODE_LINES, &lines) || !get(p, lines, BYTES_SIZE, &size) || size > LINE_TABLE_MOST ||
        !peek(&p->memory, lines + p->at[BYTES_BEGIN], table, size) ||
        !peek(&p->memory, code + p->at[CODE_FIRST_LINE], &first, sizeof first) || first < 0 || first > 1 << 30 ||
        !find_place(p, code, instruction, &place))
        return 0;
    return python_line((enum python_lines)p->release->lines, table, size, place, first);
}

bool python_name(const struct python *p, uint64_t *calls, struct runtime_call *call)
{
    uint64_t code, text, instruction;
    *call = (struct runtime_call){ "?", "", 0 };
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
