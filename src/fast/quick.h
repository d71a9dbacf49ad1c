/*
 * What the two fast ways through the cache share: loads, and what a line of it says. A step of theirs takes some 20
 * cycles, so that a call in it would be felt.
 */
#ifndef SW_SRC_WALK_QUICK_H
#define SW_SRC_WALK_QUICK_H

#include "fast/warm.h"

#include <string.h>

/* Words of other functions' frames are read, which AddressSanitizer would take for a mistake. */
#if defined(__GNUC__)
#define SW_OTHERS_FRAMES __attribute__((no_sanitize_address))
#define SW_LIKELY(x)     __builtin_expect(!!(x), 1)
#define SW_UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define SW_INLINE        inline __attribute__((always_inline))
#define SW_APART         __attribute__((noinline))
#else
#define SW_OTHERS_FRAMES
#define SW_LIKELY(x)   (x)
#define SW_UNLIKELY(x) (x)
#define SW_INLINE      inline
#define SW_APART
#endif

enum { SW_WORD = 8 };

SW_OTHERS_FRAMES static SW_INLINE uint64_t sw_quick_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The word at an address of the target that is in the window; stack as in struct sw_warm. */
SW_OTHERS_FRAMES static SW_INLINE uint64_t sw_quick_at(uintptr_t stack, uint64_t address)
{
    return sw_quick_word((const uint8_t *)(stack + (uintptr_t)address));
}

static SW_INLINE uint64_t sw_quick_load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* How many words the CFA is above its register. */
static SW_INLINE uint64_t sw_quick_words(uint64_t form)
{
    return (uint64_t)((int64_t)form >> SW_FORM_OFFSET_SHIFT);
}

/*
 * Not 0 unless a line is that of a pc and nothing has happened anywhere since it was written. One number in place of
 * three branches: of these a processor takes few in a cycle. Stamps have bit 63 clear.
 */
static SW_INLINE uint64_t sw_quick_differs(const struct sw_warm *warm, const struct sw_line *line, uint64_t pc)
{
    const uint64_t quiet = warm->quiet[sw_quick_load(&line->form) >> SW_FORM_UNRANGED_BIT & 1];
    return (sw_quick_load(&line->key) ^ (pc | warm->flags)) | pc >> 48 | (sw_quick_load(&line->stamp) - quiet) >> 63;
}

/* The same with all that can be found out. */
static SW_INLINE bool sw_quick_holds(const struct sw_warm *warm, const struct sw_line *line, uint64_t pc)
{
    const struct sw_cached cached = { .form = sw_quick_load(&line->form), .stamp = sw_quick_load(&line->stamp) };
    return sw_quick_load(&line->key) == (pc | warm->flags) && pc < SW_CACHE_PC_END &&
           sw_cached_holds(&cached, pc, &warm->clocks);
}

/* Not 0 unless a caller's sp is above the callee's; both are in the window. */
static SW_INLINE uint64_t sw_quick_falls(uint64_t sp, uint64_t caller_sp)
{
    return (caller_sp - sp - 1) >> 63;
}

static SW_INLINE bool sw_quick_is_of(const struct sw_warm *warm, const struct sw_line *line, uint64_t pc)
{
    return sw_quick_load(&line->key) == (pc | warm->flags);
}

/* The line of a pc that line `from` led to: where the guess says, or where it should be, which then is the next guess.
 */
static SW_INLINE struct sw_line *sw_quick_guess(const struct sw_warm *warm, size_t from, uint64_t pc)
{
    _Atomic uint32_t *guess = &warm->next[from];
    struct sw_line *line = &warm->lines[atomic_load_explicit(guess, memory_order_relaxed)];
    if (SW_LIKELY(sw_quick_is_of(warm, line, pc)))
        return line;
    line = sw_line_of(warm->lines, warm->mask, pc);
    if (sw_quick_is_of(warm, line, pc))
        atomic_store_explicit(guess, (uint32_t)(line - warm->lines), memory_order_relaxed);
    return line;
}

/* Register i from its place below the CFA, if it has one. */
SW_OTHERS_FRAMES static SW_INLINE void sw_quick_restore(struct sw_regs *regs, const uint8_t *cfa, uint64_t where,
                                                        unsigned i)
{
    const uint64_t below = where >> (8 * i) & 0xff;
    if (below)
        regs->r[sw_warm_registers[i]] = sw_quick_word(cfa - SW_WORD * below);
}

SW_OTHERS_FRAMES static SW_INLINE void sw_quick_restore_others(struct sw_regs *regs, const uint8_t *cfa, uint64_t where)
{
    sw_quick_restore(regs, cfa, where, 1);
    sw_quick_restore(regs, cfa, where, 2);
    sw_quick_restore(regs, cfa, where, 3);
    sw_quick_restore(regs, cfa, where, 4);
    sw_quick_restore(regs, cfa, where, 5);
}

#endif
