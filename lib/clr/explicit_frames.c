/*
 * Explicit frames of CoreCLR → transition records; and a thread's mode, hijacked return address and exceptions. An
 * explicit frame is a record that the runtime leaves on a thread's stack where managed code calls out of it; the
 * thread's object points to the innermost. Knows how each kind restores the registers of the managed frame behind it;
 * refuses to know what managed code is: the caller looks at the pc.
 *
 * Source: dotnet/runtime docs/design/datacontracts/StackWalk.md; clr-contract.md section 3.
 */
#include "base/hot.h"
#include "clr/runtime.h"

#include "base/bytes.h"

#include <snapwalk/context.h>

/* In a CONTEXT: where its flags are. */
enum { X64_FLAGS_AT = 0x30, ARM64_FLAGS_AT = 0 };

struct source {
    const struct sw_clr_layout *layout;
    const struct sw_memory *memory;
    uint64_t frame;  /* address of the explicit frame */
    uint32_t native; /* frames that are left to be unwound */
};

static bool word_at(const struct source *s, uint64_t base, enum sw_clr_field field, uint64_t *value)
{
    return sw_memory_word(s->memory, base + s->layout->at[field], value);
}

/* Restores what a stub pushed. */
static bool read_saved(const struct source *s, const struct sw_clr_saved *saved, uint64_t from, struct sw_regs *regs)
{
    for (unsigned i = 0; i < saved->count && i < SW_CLR_SAVED_MAX; i++) {
        uint64_t value;
        if (!sw_memory_word(s->memory, from + saved->at[i].offset, &value))
            return false;
        sw_regs_set(regs, saved->at[i].number, value);
    }
    return true;
}

static void set_place(struct sw_regs *regs, uint64_t pc, uint64_t sp)
{
    sw_regs_set(regs, sw_regs_pc_number(regs->machine), pc);
    sw_regs_set(regs, sw_regs_sp_number(regs->machine), sp);
}

/* A platform invoke: the registers at the call, while it is in progress. */
static bool from_inlined(struct source *s, struct sw_transition *record)
{
    uint64_t pc, sp, fp;
    if (!word_at(s, s->frame, SW_CLR_INLINED_RETURN, &pc) || !word_at(s, s->frame, SW_CLR_INLINED_SP, &sp) ||
        !word_at(s, s->frame, SW_CLR_INLINED_FP, &fp))
        return false;
    if (pc == 0)
        return true; /* not inside the call */
    set_place(&record->regs, pc, sp);
    sw_regs_set(&record->regs, sw_regs_fp_number(record->regs.machine), fp);
    return true;
}

/* A call of a method that had to be prepared first: a stub has pushed all registers. */
static bool from_block(struct source *s, struct sw_transition *record)
{
    uint64_t block, pc, method;
    if (!word_at(s, s->frame, SW_CLR_METHOD_BLOCK, &block) || !word_at(s, block, SW_CLR_BLOCK_RETURN, &pc) ||
        !sw_memory_word(s->memory, s->frame + s->layout->at[SW_CLR_METHOD_BLOCK] + 8, &method))
        return false;
    set_place(&record->regs, pc, block + s->layout->at[SW_CLR_BLOCK_SIZE]);
    record->has_method = method != 0;
    return read_saved(s, &s->layout->block, block, &record->regs);
}

static uint32_t flags_of(const struct sw_clr_layout *layout, const uint8_t *context)
{
    return sw_load32(context + (layout->machine == SW_MACHINE_ARM64 ? ARM64_FLAGS_AT : X64_FLAGS_AT)) &
           ~layout->context_hidden;
}

static bool read_context(const struct source *s, uint64_t context, struct sw_transition *record)
{
    uint8_t bytes[SW_CONTEXT_X64_BYTES];
    const enum sw_machine machine = s->layout->machine;
    const size_t needed = sw_context_needed(SW_CONTEXT_WIN32, machine);
    if (needed > sizeof bytes || sw_memory_read(s->memory, context, bytes, needed) != needed)
        return false;
    if (record->exact)
        record->context_flags = flags_of(s->layout, bytes);
    return sw_context_load(SW_CONTEXT_WIN32, machine, bytes, needed, &record->regs) == SW_OK;
}

/* Stopped at an instruction by the runtime. */
static bool from_redirected(struct source *s, struct sw_transition *record)
{
    uint64_t context;
    record->exact = record->resumable = true;
    return word_at(s, s->frame, SW_CLR_RESUMABLE_CONTEXT, &context) && read_context(s, context, record);
}

/* Faulted at an instruction. */
static bool from_fault(struct source *s, struct sw_transition *record)
{
    record->exact = true;
    return read_context(s, s->frame + s->layout->at[SW_CLR_FAULT_CONTEXT], record);
}

/* A collection changes a register where it was saved: in the frame or further out. place: of a pointer to that. */
static void follow_place(const struct source *s, uint64_t place, unsigned number, struct sw_regs *regs)
{
    uint64_t saved, value;
    if (sw_memory_word(s->memory, place, &saved) && saved >= s->frame && sw_memory_word(s->memory, saved, &value))
        sw_regs_set(regs, number, value);
}

/* The pointers are in the order of the registers' numbers. Where they are is not known of each runtime. */
static void follow_thrower(const struct source *s, struct sw_regs *regs)
{
    const uint16_t places = s->layout->at[SW_CLR_SOFTWARE_PLACES];
    uint64_t rest = places == SW_CLR_NONE ? 0 : sw_regs_nonvolatile(s->layout->machine);
    const unsigned first = rest ? (unsigned)__builtin_ctzll(rest) : 0;
    for (; rest; rest &= rest - 1) {
        const unsigned n = (unsigned)__builtin_ctzll(rest);
        follow_place(s, s->frame + places + 8 * (n - first), n, regs);
    }
}

/*
 * Threw. The CONTEXT is of that moment, a collection may have come since. The runtime, too, takes pc and sp from it and
 * the other registers from where they were saved; those that were saved nowhere, in the CONTEXT.
 */
static bool from_software(struct source *s, struct sw_transition *record)
{
    if (!read_context(s, s->frame + s->layout->at[SW_CLR_SOFTWARE_CONTEXT], record))
        return false;
    follow_thrower(s, &record->regs);
    return true;
}

/* The frame's return address had been replaced, and it has returned to the stub. */
static bool from_hijack(struct source *s, struct sw_transition *record)
{
    uint64_t pc, args, sp;
    record->resumable = true;
    if (!word_at(s, s->frame, SW_CLR_HIJACK_RETURN, &pc) || !word_at(s, s->frame, SW_CLR_HIJACK_ARGS, &args))
        return false;
    sp = args + s->layout->at[SW_CLR_HIJACK_SIZE];
    if (s->layout->at[SW_CLR_HIJACK_SP] != SW_CLR_NONE && !word_at(s, args, SW_CLR_HIJACK_SP, &sp))
        return false;
    set_place(&record->regs, pc, sp);
    return read_saved(s, &s->layout->hijack, args, &record->regs);
}

/*
 * Registers of native code that managed code calls directly. At first it has only noted its own; who comes to the frame
 * unwinds to the managed caller, and leaves that here: the registers, for each where it was saved, and as the sign that
 * they are there where the return address was.
 *
 * Source: clr-frames-by-version.md 1.4; asmconstants.h (MachState, LazyMachState).
 */
enum {
    HELPER_PC = 0,
    HELPER_SP = 8,
    HELPER_CAPTURED = 16,
    HELPER_BYTES = 184,       /* the larger one */
    HELPER_TWO_FRAMES = 0x10, /* flags */
    HELPER_ONE_FRAME = 0x20
};

/*
 * Behind the captured registers, which are as many as the system has nonvolatile ones: where each was saved, and the
 * sign. Unix has room for their values, too; on Windows each has a place, be it that of the captured value.
 */
struct helper {
    size_t places, done, unwound, pc, sp, size;
};

static struct helper helper_of(const struct sw_clr_layout *layout)
{
    const size_t registers = 8 * (size_t)layout->helper.count;
    const bool values = layout->system != SW_CLR_WINDOWS;
    struct helper h = { .places = HELPER_CAPTURED + registers };
    h.done = h.places + registers;
    h.unwound = values ? h.done + 8 : HELPER_CAPTURED;
    h.pc = h.done + 8 + (values ? registers : 0);
    h.sp = h.pc + 8;
    h.size = h.sp + 8;
    return h;
}

static void set_helper(const struct source *s, const uint8_t *state, size_t pc, size_t sp, size_t saved,
                       struct sw_regs *regs)
{
    set_place(regs, sw_load64(state + pc), sw_load64(state + sp));
    for (unsigned i = 0; i < s->layout->helper.count; i++) {
        const struct sw_clr_saved_register *one = &s->layout->helper.at[i];
        sw_regs_set(regs, one->number, sw_load64(state + saved + one->offset));
    }
}

static void follow_places(const struct source *s, const struct helper *h, struct sw_regs *regs)
{
    const uint64_t places = s->frame + s->layout->at[SW_CLR_HELPER_STATE] + h->places;
    for (unsigned i = 0; i < s->layout->helper.count; i++) {
        const struct sw_clr_saved_register *one = &s->layout->helper.at[i];
        follow_place(s, places + one->offset, one->number, regs);
    }
}

static uint32_t frames_of_helper(uint64_t entry, uint32_t flags)
{
    if (flags & HELPER_TWO_FRAMES)
        return 2;
    return entry == 0 && (flags & HELPER_ONE_FRAME) == 0 ? SW_CLR_ALL_NATIVE : 1;
}

static bool from_helper(struct source *s, struct sw_transition *record)
{
    const struct helper h = helper_of(s->layout);
    uint8_t state[HELPER_BYTES], flags[4];
    uint64_t entry;
    if (!word_at(s, s->frame, SW_CLR_HELPER_ENTRY, &entry) ||
        sw_memory_read(s->memory, s->frame + s->layout->at[SW_CLR_HELPER_FLAGS], flags, sizeof flags) != sizeof flags ||
        h.size > sizeof state ||
        sw_memory_read(s->memory, s->frame + s->layout->at[SW_CLR_HELPER_STATE], state, h.size) != h.size)
        return false;
    record->has_method = entry != 0;
    if (sw_load64(state + h.done) != 0) {
        set_helper(s, state, HELPER_PC, HELPER_SP, h.unwound, &record->regs);
        follow_places(s, &h, &record->regs);
        return true;
    }
    set_helper(s, state, h.pc, h.sp, HELPER_CAPTURED, &record->regs);
    sw_regs_set(&record->regs, SW_X64_RSP, sw_regs_sp(&record->regs) + 8);
    s->native = frames_of_helper(entry, sw_load32(flags));
    return true;
}

static bool from_nowhere(struct source *s, struct sw_transition *record)
{
    (void)s;
    (void)record;
    return true;
}

/* ORDER sw_clr_frame. */
static bool (*const readers[SW_CLR_FRAMES])(struct source *s, struct sw_transition *record) = {
    from_nowhere, from_inlined, from_redirected, from_fault, from_software, from_hijack, from_block, from_helper,
};

/* Without its registers, of which none is known: they are most of it. */
static void begin_record(const struct source *s, struct sw_transition *record)
{
    struct sw_regs *regs = &record->regs;
    record->address = s->frame;
    record->has_method = record->exact = record->resumable = false;
    record->context_flags = 0;
    regs->machine = s->layout->machine;
    regs->known = 0;
    regs->r[sw_regs_pc_number(regs->machine)] = regs->r[sw_regs_sp_number(regs->machine)] = 0;
}

static bool read_record(struct source *s, uint64_t word, struct sw_transition *record)
{
    const struct sw_clr_layout *layout = s->layout;
    begin_record(s, record);
    for (unsigned i = 0; i < layout->frame_count && i < SW_CLR_FRAME_WORDS; i++)
        if (layout->frames[i].word == word)
            return readers[layout->frames[i].kind](s, record);
    return !layout->closed;
}

/* ---- a thread ---- */

bool sw_clr_thread_mode(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t thread,
                        enum sw_mode *mode)
{
    uint8_t word[4];
    if (sw_memory_read(memory, thread + layout->at[SW_CLR_THREAD_MODE], word, sizeof word) != sizeof word)
        return false;
    *mode = sw_load32(word) ? SW_MODE_COOPERATIVE : SW_MODE_PREEMPTIVE;
    return true;
}

bool sw_clr_thread_forbids(const struct sw_clr_layout *layout, const struct sw_memory *object, uint64_t thread,
                           bool *forbids)
{
    enum { REGIONS_MAX = 255 }; /* nested; anything else is no such count */
    const uint16_t at = layout->at[SW_CLR_THREAD_FORBID];
    uint8_t word[4];
    if (at == SW_CLR_NONE || sw_memory_read(object, thread + at, word, sizeof word) != sizeof word ||
        sw_load32(word) > REGIONS_MAX)
        return false;
    *forbids = sw_load32(word) != 0;
    return true;
}

bool sw_clr_thread_record(const struct sw_clr_layout *layout, const struct sw_memory *object,
                          const struct sw_memory *stack, uint64_t thread, uint64_t *cursor,
                          struct sw_transition *record, uint32_t *native)
{
    struct source s = { layout, stack, 0, 0 };
    uint64_t id;
    const bool found = *cursor ? sw_memory_word(stack, *cursor + layout->at[SW_CLR_FRAME_NEXT], &s.frame)
                               : sw_memory_word(object, thread + layout->at[SW_CLR_THREAD_FRAME], &s.frame);
    if (!found || s.frame <= *cursor || s.frame % 8 != 0 || s.frame >= UINT64_MAX - UINT16_MAX ||
        !sw_memory_word(stack, s.frame, &id))
        return false; /* the outermost frame's next is -1 */
    *cursor = s.frame;
    const bool is_read = read_record(&s, id, record);
    *native = s.native;
    return is_read;
}

/* ---- replaced return addresses ---- */

/* The two words at `noted` in the thread's object, if they are a place on the stack and an address of managed code. */
static bool is_hijack(const uint8_t *noted, uint64_t low, uint64_t high, bool (*is_code)(void *arg, uint64_t address),
                      void *arg, uint64_t *at, uint64_t *by)
{
    *by = sw_load64(noted);
    *at = sw_load64(noted + 8);
    return *at >= low && *at < high && *at % 8 == 0 && is_code(arg, *by);
}

SW_HOT bool sw_clr_thread_hijack(const struct sw_clr_layout *layout, const struct sw_memory *object, uint64_t thread,
                                 uint64_t low, uint64_t high, bool (*is_code)(void *arg, uint64_t address), void *arg,
                                 uint64_t *at, uint64_t *by)
{
    enum { HIJACKED = 0x80, OBJECT_BYTES = 1536, PART = 128 };
    uint8_t bytes[PART + 8];
    const uint16_t state = layout->at[SW_CLR_THREAD_STATE], known = layout->at[SW_CLR_THREAD_HIJACK];
    if (sw_memory_read(object, thread + state, bytes, 4) != 4 || (sw_load32(bytes) & HIJACKED) == 0)
        return false;
    if (known != SW_CLR_NONE)
        return sw_memory_read(object, thread + known, bytes, 16) == 16 &&
               is_hijack(bytes, low, high, is_code, arg, at, by);
    for (size_t from = 0; from < OBJECT_BYTES; from += PART) {
        const size_t size = sw_memory_read(object, thread + from, bytes, sizeof bytes);
        for (size_t i = 0; i + 16 <= size; i += 8)
            if (is_hijack(bytes + i, low, high, is_code, arg, at, by))
                return true;
    }
    return false;
}

/* ---- exceptions in flight ---- */

enum {
    EXCEPTION_BYTES = 384,
    UNWIND_HAS_STARTED = 4,
    NOT_A_KIND = 3,
    FIRST_PASS = 1,
    SECOND_PASS = 2,
    CLAUSE_LAST = 3
};

static uint32_t load32(const struct sw_clr_layout *layout, const uint8_t *bytes, enum sw_clr_field field)
{
    return sw_load32(bytes + layout->at[field]);
}

/* The part of a record that holds all fields that are read; 0: not enough is known of it. */
static size_t exception_size(const struct sw_clr_layout *layout)
{
    size_t size = 0;
    for (unsigned i = SW_CLR_EXCEPTION_PREVIOUS; i <= SW_CLR_EXCEPTION_PASS; i++) {
        const uint16_t at = layout->at[i];
        if (at != SW_CLR_NONE && size < at + 8u)
            size = at + 8u;
    }
    return layout->at[SW_CLR_EXCEPTION_LOW] != SW_CLR_NONE && size <= EXCEPTION_BYTES ? size : 0;
}

/* Whether the fields that say what state the record is in have a value that they may have. */
static bool fits(const struct sw_clr_layout *layout, const uint8_t *bytes, uint64_t thread)
{
    const uint16_t owner = layout->at[SW_CLR_EXCEPTION_THREAD];
    if (load32(layout, bytes, SW_CLR_EXCEPTION_ENTERED) > 1 ||
        load32(layout, bytes, SW_CLR_EXCEPTION_CLAUSE) > CLAUSE_LAST)
        return false;
    if (owner != SW_CLR_NONE)
        return sw_load64(bytes + owner) == thread;
    const unsigned kind = bytes[layout->at[SW_CLR_EXCEPTION_KIND]] & 3u;
    const unsigned pass = bytes[layout->at[SW_CLR_EXCEPTION_PASS]];
    return kind != 0 && kind != NOT_A_KIND && (pass == FIRST_PASS || pass == SECOND_PASS);
}

static void read_exception(const struct sw_clr_layout *layout, const uint8_t *bytes, struct sw_clr_exception *exception)
{
    *exception = (struct sw_clr_exception){
        .second_pass = (load32(layout, bytes, SW_CLR_EXCEPTION_FLAGS) & UNWIND_HAS_STARTED) != 0,
        .entered = load32(layout, bytes, SW_CLR_EXCEPTION_ENTERED) == 1,
        .low = sw_load64(bytes + layout->at[SW_CLR_EXCEPTION_LOW]),
        .high = sw_load64(bytes + layout->at[SW_CLR_EXCEPTION_HIGH]),
    };
    if (exception->low > exception->high)
        exception->low = exception->high = 0; /* nothing unwound yet */
}

/*
 * A cursor is the address of the last record. Records on the stack rise; those that lie elsewhere are counted in the
 * bits that no address has.
 */
#define ADDRESS (UINT64_MAX >> 16)
enum { COUNT_SHIFT = 48, RECORDS_MAX = 64 };

static bool go_on(const struct sw_clr_layout *layout, uint64_t at, uint64_t *cursor)
{
    const uint64_t count = (*cursor >> COUNT_SHIFT) + 1;
    const bool goes_on = layout->native_dispatch ? count <= RECORDS_MAX : at > *cursor;
    *cursor = layout->native_dispatch ? at | count << COUNT_SHIFT : at;
    return goes_on;
}

bool sw_clr_thread_exception(const struct sw_clr_layout *layout, const struct sw_memory *object,
                             const struct sw_memory *stack, uint64_t thread, uint64_t *cursor,
                             struct sw_clr_exception *exception)
{
    uint8_t bytes[EXCEPTION_BYTES];
    uint64_t at;
    const uint64_t before = *cursor & ADDRESS;
    const bool found = before ? sw_memory_word(stack, before + layout->at[SW_CLR_EXCEPTION_PREVIOUS], &at)
                              : sw_memory_word(object, thread + layout->at[SW_CLR_THREAD_EXCEPTION], &at);
    if (!found || at == 0 || at % 8 != 0 || at > ADDRESS - UINT16_MAX)
        return false;
    const size_t size = exception_size(layout);
    if (size == 0 || !go_on(layout, at, cursor) || sw_memory_read(stack, at, bytes, size) != size)
        return false;
    if (!fits(layout, bytes, thread))
        return false;
    read_exception(layout, bytes, exception);
    return true;
}
