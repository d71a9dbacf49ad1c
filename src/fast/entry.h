/*
 * An entry of the rule cache: what a walk found out about one pc. The hot part is what it takes to go on from there;
 * the cold part is what a whole frame consists of. Knows what the bits say; how entries are shared is cache.h's, what
 * is done with them lane.h's.
 */
#ifndef SW_FAST_ENTRY_H
#define SW_FAST_ENTRY_H

#include <snapwalk/regs.h>

#include <stdatomic.h>
#include <stdbool.h>

/*
 * A step: how the caller of a frame is reached.
 *
 *     63               48 47                 24 23    16 15     8 7       0
 *     | CFA offset, words | SW_STEP_*, CFA reg. | trust | source | fp slot |
 *
 * fp slot  How many bytes below the CFA the frame pointer is saved; 0: it is unchanged.
 */
#define SW_STEP_PLAIN  (UINT64_C(1) << 24) /* CFA = sp + offset, and nothing else needs to be looked at */
#define SW_STEP_FRAMED (UINT64_C(1) << 25) /* CFA = rbp + 16, rbp saved at CFA - 16; nothing else */
#define SW_STEP_SINGLE (UINT64_C(1) << 26) /* other CFA offsets from fp, and rules that need the call to confirm them */
#define SW_STEP_KEEPS  (UINT64_C(1) << 27) /* no nonvolatile register is lost */
#define SW_STEP_OTHERS (UINT64_C(1) << 28) /* registers beside fp are saved */
#define SW_STEP_BY_CALL                                                                                                \
    (UINT64_C(1) << 29) /* trust is CONFIRMED where the caller's pc is behind a call of `function` */
#define SW_STEP_ONLY_SO  (UINT64_C(1) << 30) /* and otherwise the rule does not hold */
#define SW_STEP_BEHIND   (UINT64_C(1) << 31) /* the pc is behind a call */
#define SW_STEP_END      (UINT64_C(1) << 32) /* the outermost frame: there is no rule */
#define SW_STEP_CALLS    (UINT64_C(1) << 33) /* behind a direct call, of pc + calls; 0: through memory */
#define SW_STEP_UNRANGED (UINT64_C(1) << 34) /* the code map has no range here: a new one would change the answer */
#define SW_STEP_ENTRY    (UINT64_C(1) << 35) /* set in every step: 0 is no entry */
#define SW_STEP_POINTER  (UINT64_C(1) << 36) /* with ONLY_SO: the rule holds, too, behind a call that names nothing */

/* The caller is found from sp and fp alone. */
#define SW_STEP_DIRECT (SW_STEP_PLAIN | SW_STEP_FRAMED)
#define SW_STEP_EASY   (SW_STEP_DIRECT | SW_STEP_SINGLE)

enum {
    SW_STEP_SOURCE_SHIFT = 8,
    SW_STEP_TRUST_SHIFT = 16,
    SW_STEP_CFA_SHIFT = 40,
    SW_STEP_OFFSET_SHIFT = 48,
    SW_WORD = 8
};

static inline uint64_t sw_step_fp_slot(uint64_t step)
{
    return step & 0xff;
}

static inline uint8_t sw_step_source(uint64_t step)
{
    return (uint8_t)(step >> SW_STEP_SOURCE_SHIFT);
}

static inline uint8_t sw_step_trust(uint64_t step)
{
    return (uint8_t)(step >> SW_STEP_TRUST_SHIFT);
}

static inline unsigned sw_step_cfa_register(uint64_t step)
{
    return step >> SW_STEP_CFA_SHIFT & 31;
}

/* In bytes. */
static inline uint64_t sw_step_offset(uint64_t step)
{
    return (uint64_t)((int64_t)step >> SW_STEP_OFFSET_SHIFT) * SW_WORD;
}

static inline uint64_t sw_step_with_trust(uint64_t step, uint8_t trust)
{
    return (step & ~(UINT64_C(0xff) << SW_STEP_TRUST_SHIFT)) | (uint64_t)trust << SW_STEP_TRUST_SHIFT;
}

/*
 * An entry as a value.
 *
 * key         The pc; above it whether it is exact, and in what the walker's SW_WALK_NO_* flags, which choose among
 *             rules, differ from the cache's.
 * slots       x64: six bytes, for rbp, rbx, r12 to r15: 0 not saved, otherwise saved 8 * that below the CFA; above
 *             them, by register number, those that are saved. ARM64: see codec_arm64.c.
 * same        By register number, those that are unchanged, and sp and pc. ARM64: see codec_arm64.c.
 * function    What SW_STEP_BY_CALL wants the caller to have called.
 * found       When: generation of the images << SW_FOUND_SHIFT | generation of the code map.
 * begin, end  Of the code range; 0, 0: of code without bounds.
 * id          Of the code range.
 * attributes  Of the code range: image | kind << 32 | unwind << 40 | flags << 48.
 * calls       See SW_STEP_CALLS.
 */
struct sw_entry {
    uint64_t key;
    uint64_t step;
    uint64_t slots;
    uint64_t function;
    uint64_t found;
    uint64_t begin;
    uint64_t end;
    uint64_t id;
    uint64_t attributes;
    uint32_t calls;
    uint32_t same;
};

#define SW_KEY_PC_END   (UINT64_C(1) << 48)
#define SW_KEY_EXACT    (UINT64_C(1) << 48)
#define SW_KEY_FLAGS(f) ((uint64_t)(f) << 49)
#define SW_KEY_NONE     UINT64_MAX

enum { SW_FOUND_SHIFT = 40, SW_SLOTS_SAVED_SHIFT = 48 };
#define SW_FOUND_CODEMAP ((UINT64_C(1) << SW_FOUND_SHIFT) - 1)
#define SW_FOUND_NEVER   (UINT64_MAX >> 1) /* above all others, which is what an entry must not be */

/* The registers that an x64 rule may have saved, in the order of their bytes in `slots`. */
enum { SW_SLOTS = 6, SW_SLOT_FARTHEST = 255, SW_SLOT_NEAR = 31 };
static const uint8_t sw_slot_registers[SW_SLOTS] = { SW_X64_RBP, SW_X64_RBX, SW_X64_R12,
                                                     SW_X64_R13, SW_X64_R14, SW_X64_R15 };

/*
 * The hot part.
 *
 * step  0 unless a walk may reach the entry by a return address without looking at anything else: not for exact pcs,
 *       not for walkers with other flags, not for an entry that does not hold.
 * found As in struct sw_entry.
 * next  Predicted: where the caller's hot part is that was met last, in bytes from the first. Anybody may write it at
 *       any time; whatever stands there leads to some entry, whose key tells whether it is the right one.
 */
struct sw_hot {
    _Atomic uint64_t key;
    _Atomic uint64_t step;
    _Atomic uint64_t next;
    _Atomic uint64_t found;
};

/* The cold part: what struct sw_entry has beside; the step as it is. */
struct sw_cold {
    _Atomic uint64_t step;
    _Atomic uint64_t slots;
    _Atomic uint64_t function;
    _Atomic uint64_t begin;
    _Atomic uint64_t end;
    _Atomic uint64_t id;
    _Atomic uint64_t attributes;
    _Atomic uint32_t calls;
    _Atomic uint32_t same;
};

/* So the place of one part is easily that of the other; and neither lies across two of the processor's lines. */
_Static_assert(sizeof(struct sw_hot) == 32 && sizeof(struct sw_cold) == 2 * sizeof(struct sw_hot), "entries");

static inline uint64_t sw_load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

#endif
