/*
 * Knows where each form of register record keeps each register, and copies them.
 * Refuses to know where records come from, the host's own headers (all machines are served on every host), and
 * registers that struct sw_regs does not hold: flags, segments, vectors. Follows contexts.md sections 1-6 and 9. In
 * five of the eight records the registers lie in the order of struct sw_regs.
 */
#include "base/hot.h"
#include "regs/offset.h"

#include <string.h>

#include "base/bytes.h"

/* The slot of each register in the kernel's order: rax rcx rdx rbx rsp rbp rsi rdi r8..r15 rip. */
static const uint8_t gregs_slot[SW_X64_COUNT] = { 13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7, 16 };
static const uint8_t user_slot[SW_X64_COUNT] = { 10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0, 16 };

enum { PRSTATUS_PID = 32, NO_FLAGS = 0xffff };

/*
 * size       The size of the smallest complete record: without XSTATE and SVE tails, with the kernel's 8-byte signal
 *            mask (x64).
 * first      The offset of slot 0; slots are 8 bytes.
 * needed     Where the last of the registers ends.
 * slot       The slot by register number; null where the two are equal.
 * flags_at   The offset of ContextFlags. flags: what is stored there, CONTROL | INTEGER.
 */
/* clang-format off: the table below is aligned by hand. */
static const struct layout {
    uint16_t size;
    uint16_t first;
    uint16_t needed;
    const uint8_t *slot;
    uint16_t flags_at;
    uint32_t flags;
} layouts[][SW_CONTEXT_COUNT] = { /* ORDER sw_machine, ORDER sw_context_form */
    [SW_MACHINE_X64] = {
        [SW_CONTEXT_WIN32]     = { 1232, 120, 256, NULL,       0x30,     0x00100003 },
        [SW_CONTEXT_UCONTEXT]  = {  304,  40, 176, gregs_slot, NO_FLAGS, 0          },
        [SW_CONTEXT_USER_REGS] = {  216,   0, 160, user_slot,  NO_FLAGS, 0          },
        [SW_CONTEXT_PRSTATUS]  = {  336, 112, 272, user_slot,  NO_FLAGS, 0          },
    },
    [SW_MACHINE_ARM64] = {
        [SW_CONTEXT_WIN32]     = {  912,   8, 272, NULL,       0,        0x00400003 },
        [SW_CONTEXT_UCONTEXT]  = { 4560, 184, 448, NULL,       NO_FLAGS, 0          },
        [SW_CONTEXT_USER_REGS] = {  272,   0, 264, NULL,       NO_FLAGS, 0          },
        [SW_CONTEXT_PRSTATUS]  = {  392, 112, 376, NULL,       NO_FLAGS, 0          },
    },
};
/* clang-format on */

static const struct layout *layout_of(enum sw_context_form form, enum sw_machine machine)
{
    if ((unsigned)machine >= sizeof layouts / sizeof layouts[0] || (unsigned)form >= SW_CONTEXT_COUNT)
        return NULL;
    const struct layout *layout = &layouts[machine][form];
    return layout->size ? layout : NULL;
}

static size_t offset_of(const struct layout *layout, unsigned number)
{
    const unsigned slot = layout->slot ? layout->slot[number] : number;
    return layout->first + 8u * slot;
}

static void put_le(uint8_t *to, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

size_t sw_context_offset(enum sw_context_form form, enum sw_machine machine, unsigned number)
{
    return offset_of(layout_of(form, machine), number);
}

size_t sw_context_size(enum sw_context_form form, enum sw_machine machine)
{
    const struct layout *layout = layout_of(form, machine);
    return layout ? layout->size : 0;
}

size_t sw_context_needed(enum sw_context_form form, enum sw_machine machine)
{
    const struct layout *layout = layout_of(form, machine);
    return layout ? layout->needed : 0;
}

/* Inlined, so that where the layout is a constant there is neither a table nor a loop. */
static inline enum sw_status load_by(const struct layout *layout, enum sw_machine machine, const void *record,
                                     size_t size, struct sw_regs *regs)
{
    if (size < layout->needed)
        return SW_E_TRUNCATED;
    const uint8_t *first = (const uint8_t *)record + layout->first;
    const unsigned count = sw_regs_count(machine);
    *regs = (struct sw_regs){ .known = (UINT64_C(1) << count) - 1, .machine = machine };
#pragma GCC unroll 17
    for (unsigned n = 0; n < count; n++)
        regs->r[n] = sw_load64(first + 8u * (layout->slot ? layout->slot[n] : n));
    return SW_OK;
}

/* In each sample of a profiler. */
SW_HOT enum sw_status sw_context_load(enum sw_context_form form, enum sw_machine machine, const void *record,
                                      size_t size, struct sw_regs *regs)
{
    if (!record || !regs)
        return SW_E_ARGUMENT;
    if (machine == SW_MACHINE_X64 && form == SW_CONTEXT_UCONTEXT)
        return load_by(&layouts[SW_MACHINE_X64][SW_CONTEXT_UCONTEXT], SW_MACHINE_X64, record, size, regs);
    const struct layout *layout = layout_of(form, machine);
    return layout ? load_by(layout, machine, record, size, regs) : SW_E_ARGUMENT;
}

enum sw_status sw_context_store(enum sw_context_form form, const struct sw_regs *regs, void *record, size_t size)
{
    const struct layout *layout = regs ? layout_of(form, regs->machine) : NULL;
    if (!layout || !record)
        return SW_E_ARGUMENT;
    if (size < layout->size)
        return SW_E_TRUNCATED;
    uint8_t *bytes = record;
    memset(bytes, 0, size);
    if (layout->flags_at != NO_FLAGS)
        put_le(bytes + layout->flags_at, layout->flags, 4);
    for (unsigned n = 0; n < sw_regs_count(regs->machine); n++) {
        if (sw_regs_has(regs, n))
            put_le(bytes + offset_of(layout, n), regs->r[n], 8);
    }
    return SW_OK;
}

/* Compilers make one store of these. */
static void put_word(uint8_t *to, uint64_t v)
{
    to[0] = (uint8_t)v, to[1] = (uint8_t)(v >> 8), to[2] = (uint8_t)(v >> 16), to[3] = (uint8_t)(v >> 24);
    to[4] = (uint8_t)(v >> 32), to[5] = (uint8_t)(v >> 40), to[6] = (uint8_t)(v >> 48), to[7] = (uint8_t)(v >> 56);
}

#define X64_KEPT         (SW_X64_NONVOLATILE | 1u << SW_X64_RSP | 1u << SW_X64_RIP)
#define X64_KEPT_WINDOWS (X64_KEPT | 1u << SW_X64_RSI | 1u << SW_X64_RDI)

/* The registers of nearly every frame of a walk, into a record whose slots are in order: once a frame, so no loop. */
static void put_kept(uint8_t *first, const uint64_t *r)
{
    put_word(first + 8 * SW_X64_RBX, r[SW_X64_RBX]);
    put_word(first + 8 * SW_X64_RSP, r[SW_X64_RSP]);
    put_word(first + 8 * SW_X64_RBP, r[SW_X64_RBP]);
    put_word(first + 8 * SW_X64_R12, r[SW_X64_R12]);
    put_word(first + 8 * SW_X64_R13, r[SW_X64_R13]);
    put_word(first + 8 * SW_X64_R14, r[SW_X64_R14]);
    put_word(first + 8 * SW_X64_R15, r[SW_X64_R15]);
    put_word(first + 8 * SW_X64_RIP, r[SW_X64_RIP]);
}

/* Unknown: 0. */
static void put_register(uint8_t *first, const struct sw_regs *regs, unsigned n)
{
    put_word(first + 8 * n, regs->r[n] & -(regs->known >> n & 1));
}

enum sw_status sw_context_update(enum sw_context_form form, const struct sw_regs *regs, uint64_t numbers, void *record,
                                 size_t size)
{
    const struct layout *layout = regs ? layout_of(form, regs->machine) : NULL;
    uint8_t *bytes = record;
    if (!layout || !record || numbers >> sw_regs_count(regs->machine) != 0)
        return SW_E_ARGUMENT;
    if (size < layout->size)
        return SW_E_TRUNCATED;
    if (layout == &layouts[SW_MACHINE_X64][SW_CONTEXT_WIN32] && (regs->known & X64_KEPT) == X64_KEPT &&
        (numbers == X64_KEPT || numbers == X64_KEPT_WINDOWS)) {
        put_kept(bytes + layout->first, regs->r);
        if (numbers == X64_KEPT)
            return SW_OK;
        put_register(bytes + layout->first, regs, SW_X64_RSI);
        put_register(bytes + layout->first, regs, SW_X64_RDI);
        return SW_OK;
    }
    for (; numbers != 0; numbers &= numbers - 1) {
        const unsigned n = (unsigned)__builtin_ctzll(numbers);
        put_word(bytes + offset_of(layout, n), regs->r[n] & -(regs->known >> n & 1));
    }
    return SW_OK;
}

enum sw_status sw_prstatus_thread(const void *record, size_t size, uint32_t *thread)
{
    if (!record || !thread)
        return SW_E_ARGUMENT;
    if (size < PRSTATUS_PID + 4u)
        return SW_E_TRUNCATED;
    *thread = sw_load32((const uint8_t *)record + PRSTATUS_PID);
    return SW_OK;
}
