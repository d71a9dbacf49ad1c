/*
 * A rule in twenty bytes: what the rule cache stores. A machine packs its rules and unpacks them (struct sw_arch). What
 * has no such form is not stored.
 */
#ifndef SW_BASE_PACKED_RULE_H
#define SW_BASE_PACKED_RULE_H

#include "base/rule.h"

/*
 * step   How the caller of a frame is reached:
 *
 *     63               48 47                 24 23    16 15     8 7       0
 *     | CFA offset, words | SW_STEP_*, CFA reg. | trust | source | place   |
 *
 *        place: x64: how many bytes below the CFA the frame pointer is saved; 0: it is unchanged. ARM64: where the
 *        frame record is, that is x29 and behind it the return address: 1 + words above the CFA's register; 0: there is
 *        none, and the return address is in x30. The bits of SW_STEP_OF_ENTRY say more than a rule does; they are
 *        src/fast's.
 * slots  x64: six bytes, for rbp, rbx, r12 to r15: 0 not saved, otherwise saved 8 * that below the CFA; above them, by
 *        register number, those that are saved. ARM64: five bits each for x19 to x28: 0 unchanged, SW_PLACE_LOST,
 *        otherwise saved, at 1 + words above a start; above them, how many words below the CFA the start is.
 * same   x64: by register number, those that are unchanged, and sp and pc. ARM64: by register number, those that are
 *        saved.
 */
struct sw_packed_rule {
    uint64_t step;
    uint64_t slots;
    uint32_t same;
};

#define SW_STEP_PLAIN    (UINT64_C(1) << 24) /* CFA = sp + offset, and nothing else needs to be looked at */
#define SW_STEP_FRAMED   (UINT64_C(1) << 25) /* fp points at fp and return address; x64: CFA = rbp + 16; nothing else */
#define SW_STEP_SINGLE   (UINT64_C(1) << 26) /* other CFA offsets from fp; one by one */
#define SW_STEP_KEEPS    (UINT64_C(1) << 27) /* no nonvolatile register is lost */
#define SW_STEP_OTHERS   (UINT64_C(1) << 28) /* registers beside fp are saved */
#define SW_STEP_OF_ENTRY (UINT64_C(0x7ff) << 29 | UINT64_C(1) << 45)

/* ARM64 */
#define SW_STEP_LONE (UINT64_C(1) << 46) /* there is the return address alone; x29 is unchanged */
#define SW_STEP_HIGH (UINT64_C(1) << 47) /* the place is words below the CFA; not for the lane */

/* The caller is found from sp and fp alone. */
#define SW_STEP_DIRECT (SW_STEP_PLAIN | SW_STEP_FRAMED)

enum {
    SW_STEP_SOURCE_SHIFT = 8,
    SW_STEP_TRUST_SHIFT = 16,
    SW_STEP_CFA_SHIFT = 40,
    SW_STEP_OFFSET_SHIFT = 48,
    SW_WORD = 8
};

static inline uint64_t sw_step_place(uint64_t step)
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

/* What every machine's step says: source, trust, and the CFA, which must be a register and some words. */
static inline uint64_t sw_pack_cfa(const struct sw_rule *rule)
{
    return (uint64_t)rule->source << SW_STEP_SOURCE_SHIFT | (uint64_t)rule->trust << SW_STEP_TRUST_SHIFT |
           (uint64_t)rule->cfa.reg << SW_STEP_CFA_SHIFT |
           (uint64_t)(uint16_t)(rule->cfa.off / SW_WORD) << SW_STEP_OFFSET_SHIFT;
}

/* The same back. */
static inline void sw_unpack_cfa(uint64_t step, enum sw_machine machine, struct sw_rule *rule)
{
    sw_rule_init(rule, machine, (enum sw_source)sw_step_source(step), (enum sw_trust)sw_step_trust(step));
    rule->cfa = (struct sw_loc){ SW_LOC_REG, (uint8_t)sw_step_cfa_register(step), 0, (int32_t)sw_step_offset(step) };
}

/* Whether an offset is some words, from least to most. */
static inline bool sw_is_words(int32_t off, int32_t least, int32_t most)
{
    return off % SW_WORD == 0 && off / SW_WORD >= least && off / SW_WORD <= most;
}

/*
 * What a step loads to reach the caller.
 *
 * pc, fp  How many bytes below the CFA; fp 0: it is unchanged.
 */
struct sw_step_words {
    uint64_t pc, fp;
};

/* Of a step that the lane goes by. */
static inline struct sw_step_words sw_step_words(enum sw_machine machine, uint64_t step)
{
    if (machine != SW_MACHINE_ARM64)
        return (struct sw_step_words){ SW_WORD, sw_step_place(step) };
    const uint64_t record = sw_step_offset(step) + SW_WORD - SW_WORD * sw_step_place(step);
    return step & SW_STEP_LONE ? (struct sw_step_words){ record, 0 }
                               : (struct sw_step_words){ record - SW_WORD, record };
}

/* The registers that an x64 rule may have saved, in the order of their bytes in `slots`. */
enum { SW_SLOTS = 6, SW_SLOT_FARTHEST = 255, SW_SLOT_NEAR = 31, SW_SLOTS_SAVED_SHIFT = 48 };
static const uint8_t sw_slot_registers[SW_SLOTS] = { SW_X64_RBP, SW_X64_RBX, SW_X64_R12,
                                                     SW_X64_R13, SW_X64_R14, SW_X64_R15 };

/* The registers that an ARM64 rule may have saved beside the frame record: from x19 on. */
enum { SW_PLACES = 10, SW_PLACE_BITS = 5, SW_PLACE_LOST = 31, SW_PLACE_FARTHEST = 30, SW_PLACES_START_SHIFT = 50 };

/* The registers that are saved, as bits, of a rule that loses none; ARM64: but x29. */
static inline uint64_t sw_slots_saved(enum sw_machine machine, uint64_t slots)
{
    uint64_t saved = 0;
    if (machine != SW_MACHINE_ARM64)
        return slots >> SW_SLOTS_SAVED_SHIFT;
    for (unsigned i = 0; i < SW_PLACES; i++)
        saved |= (uint64_t)((slots >> (SW_PLACE_BITS * i) & SW_PLACE_LOST) != 0) << (SW_ARM64_X19 + i);
    return saved;
}

/* Which registers of the caller are known, if these are of the frame; of a step that the lane goes by. */
static inline uint64_t sw_packed_known(enum sw_machine machine, uint64_t known, uint64_t slots, uint64_t same)
{
    const uint64_t kept = SW_ARM64_NONVOLATILE | UINT64_C(1) << SW_ARM64_SP | UINT64_C(1) << SW_ARM64_PC;
    return machine == SW_MACHINE_ARM64 ? (known & kept) | same : (known & same) | slots >> SW_SLOTS_SAVED_SHIFT;
}

#endif
