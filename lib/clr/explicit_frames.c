/*
 * Explicit frames of CoreCLR → transition records; and a thread's mode, hijacked return address and exceptions. An
 * explicit frame is a record that the runtime leaves on a thread's stack where managed code calls out of it; the
 * thread's object points to the innermost. Knows how each kind restores the registers of the managed frame behind it;
 * refuses to know what managed code is: the caller looks at the pc.
 *
 * Source: dotnet/runtime docs/design/datacontracts/StackWalk.md; clr-contract.md section 3.
 */
#include "clr/runtime.h"

#include "base/bytes.h"

#include <snapwalk/context.h>

/* XSTATE: a part of ContextFlags that the runtime's walks do not hand on. */
enum { X64_CONTEXT = 1232, X64_CONTEXT_FLAGS = 0x30, CONTEXT_XSTATE = 0x40 };

struct source {
    const struct sw_clr_layout *layout;
    const struct sw_memory *memory;
    uint64_t frame; /* address of the explicit frame */
};

static bool word_at(const struct source *s, uint64_t base, enum sw_clr_field field, uint64_t *value)
{
    return sw_memory_word(s->memory, base + s->layout->at[field], value);
}

/* Restores what a stub pushed. */
static bool read_saved(const struct source *s, uint64_t saved, struct sw_regs *regs)
{
    static const struct {
        enum sw_clr_field field;
        unsigned number;
    } rows[] = {
        { SW_CLR_SAVED_RBX, SW_X64_RBX }, { SW_CLR_SAVED_RBP, SW_X64_RBP }, { SW_CLR_SAVED_R12, SW_X64_R12 },
        { SW_CLR_SAVED_R13, SW_X64_R13 }, { SW_CLR_SAVED_R14, SW_X64_R14 }, { SW_CLR_SAVED_R15, SW_X64_R15 },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t value;
        if (!word_at(s, saved, rows[i].field, &value))
            return false;
        sw_regs_set(regs, rows[i].number, value);
    }
    return true;
}

/* A platform invoke: the registers at the call, while it is in progress. */
static bool from_inlined(const struct source *s, struct sw_transition *record)
{
    uint64_t pc, sp, fp;
    if (!word_at(s, s->frame, SW_CLR_INLINED_RETURN, &pc) || !word_at(s, s->frame, SW_CLR_INLINED_SP, &sp) ||
        !word_at(s, s->frame, SW_CLR_INLINED_FP, &fp))
        return false;
    if (pc == 0)
        return true; /* not inside the call */
    sw_regs_set(&record->regs, SW_X64_RIP, pc);
    sw_regs_set(&record->regs, SW_X64_RSP, sp);
    sw_regs_set(&record->regs, SW_X64_RBP, fp);
    return true;
}

/* A call of a method that had to be prepared first: a stub has pushed all registers. */
static bool from_block(const struct source *s, struct sw_transition *record)
{
    uint64_t block, pc, method;
    if (!word_at(s, s->frame, SW_CLR_METHOD_BLOCK, &block) || !word_at(s, block, SW_CLR_BLOCK_RETURN, &pc) ||
        !sw_memory_word(s->memory, s->frame + s->layout->at[SW_CLR_METHOD_BLOCK] + 8, &method))
        return false;
    sw_regs_set(&record->regs, SW_X64_RIP, pc);
    sw_regs_set(&record->regs, SW_X64_RSP, block + s->layout->at[SW_CLR_BLOCK_SIZE]);
    record->has_method = method != 0;
    return read_saved(s, block + s->layout->at[SW_CLR_BLOCK_SAVED], &record->regs);
}

static bool read_context(const struct source *s, uint64_t context, struct sw_transition *record)
{
    uint8_t bytes[X64_CONTEXT];
    const size_t needed = sw_context_needed(SW_CONTEXT_WIN32, SW_MACHINE_X64);
    if (sw_memory_read(s->memory, context, bytes, needed) != needed)
        return false;
    if (record->exact)
        record->context_flags = sw_load32(bytes + X64_CONTEXT_FLAGS) & ~(uint32_t)CONTEXT_XSTATE;
    return sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, bytes, needed, &record->regs) == SW_OK;
}

/* Stopped at an instruction by the runtime. */
static bool from_redirected(const struct source *s, struct sw_transition *record)
{
    uint64_t context;
    record->exact = true;
    return word_at(s, s->frame, SW_CLR_RESUMABLE_CONTEXT, &context) && read_context(s, context, record);
}

/* Faulted at an instruction. */
static bool from_fault(const struct source *s, struct sw_transition *record)
{
    record->exact = true;
    return read_context(s, s->frame + s->layout->at[SW_CLR_FAULT_CONTEXT], record);
}

static bool from_software(const struct source *s, struct sw_transition *record)
{
    return read_context(s, s->frame + s->layout->at[SW_CLR_SOFTWARE_CONTEXT], record);
}

/* The frame's return address had been replaced, and it has returned to the stub. */
static bool from_hijack(const struct source *s, struct sw_transition *record)
{
    uint64_t pc, args;
    if (!word_at(s, s->frame, SW_CLR_HIJACK_RETURN, &pc) || !word_at(s, s->frame, SW_CLR_HIJACK_ARGS, &args))
        return false;
    sw_regs_set(&record->regs, SW_X64_RIP, pc);
    sw_regs_set(&record->regs, SW_X64_RSP, args + s->layout->at[SW_CLR_HIJACK_SIZE]);
    return read_saved(s, args + s->layout->at[SW_CLR_HIJACK_SAVED], &record->regs);
}

/* ORDER sw_clr_frame. */
static bool (*const readers[SW_CLR_FRAMES])(const struct source *s, struct sw_transition *record) = {
    from_inlined, from_redirected, from_redirected, from_fault, from_software, from_hijack,
    from_block,   from_block,      from_block,      from_block, from_block,    from_block,
};

static bool read_record(const struct source *s, uint64_t id, struct sw_transition *record)
{
    *record = (struct sw_transition){ .address = s->frame, .regs = { .machine = SW_MACHINE_X64 } };
    for (unsigned i = 0; i < SW_CLR_FRAMES; i++)
        if (s->layout->id[i] == id)
            return readers[i](s, record);
    return true; /* a kind that leads to no caller */
}

bool sw_clr_thread_mode(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t thread,
                        enum sw_mode *mode)
{
    uint8_t word[4];
    if (sw_memory_read(memory, thread + layout->at[SW_CLR_THREAD_MODE], word, sizeof word) != sizeof word)
        return false;
    *mode = sw_load32(word) ? SW_MODE_COOPERATIVE : SW_MODE_PREEMPTIVE;
    return true;
}

bool sw_clr_thread_record(const struct sw_clr_layout *layout, const struct sw_memory *object,
                          const struct sw_memory *stack, uint64_t thread, uint64_t *cursor,
                          struct sw_transition *record)
{
    struct source s = { layout, stack, 0 };
    uint64_t id;
    const bool found = *cursor ? sw_memory_word(stack, *cursor + layout->at[SW_CLR_FRAME_NEXT], &s.frame)
                               : sw_memory_word(object, thread + layout->at[SW_CLR_THREAD_FRAME], &s.frame);
    if (!found || s.frame <= *cursor || s.frame % 8 != 0 || s.frame >= UINT64_MAX - UINT16_MAX ||
        !sw_memory_word(stack, s.frame, &id))
        return false; /* the outermost frame's next is -1 */
    *cursor = s.frame;
    return read_record(&s, id, record);
}

/* ---- replaced return addresses ---- */

bool sw_clr_thread_hijack(const struct sw_clr_layout *layout, const struct sw_memory *object, uint64_t thread,
                          uint64_t low, uint64_t high, bool (*is_code)(void *arg, uint64_t address), void *arg,
                          uint64_t *at, uint64_t *by)
{
    enum { HIJACKED = 0x80, OBJECT_BYTES = 1536, PART = 128 };
    uint8_t bytes[PART + 8];
    const uint16_t state = layout->at[SW_CLR_THREAD_STATE];
    if (sw_memory_read(object, thread + state, bytes, 4) != 4 || (sw_load32(bytes) & HIJACKED) == 0)
        return false;
    for (size_t from = 0; from < OBJECT_BYTES; from += PART) {
        const size_t size = sw_memory_read(object, thread + from, bytes, sizeof bytes);
        for (size_t i = 8; i + 8 <= size; i += 8) {
            *at = sw_load64(bytes + i);
            *by = sw_load64(bytes + i - 8);
            if (*at >= low && *at < high && *at % 8 == 0 && is_code(arg, *by))
                return true;
        }
    }
    return false;
}

/* ---- exceptions in flight ---- */

/* In the runtime's record of an exception, .NET 10 x64. */
enum {
    EXCEPTION_ENTERED = 60,
    EXCEPTION_FLAGS = 64,
    EXCEPTION_LOW = 128,
    EXCEPTION_HIGH = 136,
    EXCEPTION_KIND = 184, /* 1 thrown, 2 fault; bits above for rethrown ones */
    EXCEPTION_PASS = 185,
    EXCEPTION_BYTES = 192,
    UNWIND_HAS_STARTED = 4
};

static bool read_exception(const uint8_t *bytes, struct sw_clr_exception *exception)
{
    const unsigned kind = bytes[EXCEPTION_KIND] & 3u, pass = bytes[EXCEPTION_PASS];
    *exception =
        (struct sw_clr_exception){ .second_pass = (sw_load32(bytes + EXCEPTION_FLAGS) & UNWIND_HAS_STARTED) != 0,
                                   .entered = bytes[EXCEPTION_ENTERED] == 1,
                                   .low = sw_load64(bytes + EXCEPTION_LOW),
                                   .high = sw_load64(bytes + EXCEPTION_HIGH) };
    if (exception->low > exception->high)
        exception->low = exception->high = 0; /* nothing unwound yet */
    return kind != 0 && kind != 3 && (pass == 1 || pass == 2) && bytes[EXCEPTION_ENTERED] <= 1;
}

bool sw_clr_thread_exception(const struct sw_clr_layout *layout, const struct sw_memory *object,
                             const struct sw_memory *stack, uint64_t thread, uint64_t *cursor,
                             struct sw_clr_exception *exception)
{
    uint8_t bytes[EXCEPTION_BYTES];
    uint64_t at;
    const bool found = *cursor ? sw_memory_word(stack, *cursor + layout->at[SW_CLR_EXCEPTION_PREVIOUS], &at)
                               : sw_memory_word(object, thread + layout->at[SW_CLR_THREAD_EXCEPTION], &at);
    if (!found || at == 0 || at <= *cursor || at % 8 != 0 || at > UINT64_MAX - UINT16_MAX ||
        sw_memory_read(stack, at, bytes, sizeof bytes) != sizeof bytes)
        return false;
    *cursor = at;
    return read_exception(bytes, exception);
}
