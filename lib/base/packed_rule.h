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
 *        place: x64: the slot of the frame pointer, in bytes; 0: it is unchanged. ARM64: where the frame record is,
 *        that is x29 and behind it the return address: 1 + words above the CFA's register; 0: there is none, and the
 *        return address is in x30. The bits of SW_STEP_OF_ENTRY say more than a rule does; they are src/fast's.
 * slots  x64: eight bytes, for sw_slot_registers: 0 not saved, otherwise saved 8 * that below the highest slot, which
 *        sw_slot_address knows. ARM64: five bits each for x19 to x28: 0 unchanged, SW_PLACE_LOST, otherwise saved, at
 *        1 + words above a start; above them, how many words below the CFA the start is.
 * same   x64: by register number, those that are unchanged, and sp; above SW_SAVED_SHIFT those that are saved. ARM64:
 *        by register number, those that are saved.
 */
struct sw_packed_rule {
    uint64_t step;
    uint64_t slots;
    uint32_t same;
};

#define SW_STEP_PLAIN    (UINT64_C(1) << 24) /* CFA = sp + offset, and nothing else needs to be looked at */
#define SW_STEP_FRAMED   (UINT64_C(1) << 25) /* fp points at fp and return address; x64: CFA = rbp + 16; nothing else */
#define SW_STEP_SINGLE   (UINT64_C(1) << 26) /* other CFA offsets from fp; one by one */
#define SW_STEP_LOSES    (UINT64_C(1) << 27) /* one of SW_X64_NONVOLATILE is lost */
#define SW_STEP_OTHERS   (UINT64_C(1) << 28) /* registers beside fp are saved */
#define SW_STEP_OF_ENTRY (UINT64_C(0x7ff) << 29 | UINT64_C(1) << 45)

/* x64 */
#define SW_STEP_LOSES_SI (UINT64_C(1) << 46) /* rsi or rdi is lost, which Windows' functions preserve */

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
 * The registers that an x64 rule may have saved, in the order of their bytes in `slots`. Windows' functions save some
 * above the return address, in the four words that their caller leaves there for them.
 */
enum { SW_SLOTS = 8, SW_SLOT_MOST = 255, SW_SLOT_NEAR_MOST = 31, SW_SLOTS_ABOVE = 4, SW_SAVED_SHIFT = 16 };
enum { SW_SLOT_NEAR = SW_SLOT_NEAR_MOST - SW_SLOTS_ABOVE }; /* how many words below the CFA a near slot may be */
static const uint8_t sw_slot_registers[SW_SLOTS] = { SW_X64_RBP, SW_X64_RBX, SW_X64_R12, SW_X64_R13,
                                                     SW_X64_R14, SW_X64_R15, SW_X64_RSI, SW_X64_RDI };
#define SW_SLOT_REGISTERS (SW_X64_NONVOLATILE | UINT64_C(1) << SW_X64_RSI | UINT64_C(1) << SW_X64_RDI)

/*
 * Those of an x64 step by which a register that is known would be lost. rsi and rdi are unknown in all walks but those
 * of Windows' functions.
 */
static inline uint64_t sw_step_losing(uint64_t known)
{
    return SW_STEP_LOSES | (known & (SW_SLOT_REGISTERS & ~SW_X64_NONVOLATILE) ? SW_STEP_LOSES_SI : 0);
}

/* The address of a slot, which is given in bytes. */
static inline uint64_t sw_slot_address(uint64_t cfa, uint64_t slot)
{
    return cfa + (uint64_t)SW_SLOTS_ABOVE * SW_WORD - slot;
}

/* The slot of so many bytes below the CFA. */
#define SW_SLOT_BELOW(bytes) ((uint64_t)SW_SLOTS_ABOVE * SW_WORD + (bytes))

/*
 * What a step loads to reach the caller.
 *
 * pc  How many bytes below the CFA.
 * fp  As a slot; 0: it is unchanged.
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
                               : (struct sw_step_words){ record - SW_WORD, SW_SLOT_BELOW(record) };
}

/* The registers that an ARM64 rule may have saved beside the frame record: from x19 on. */
enum { SW_PLACES = 10, SW_PLACE_BITS = 5, SW_PLACE_LOST = 31, SW_PLACE_FARTHEST = 30, SW_PLACES_START_SHIFT = 50 };

/*
 * Which registers of the caller are known, if these are of the frame; of a step that the lane goes by. x64: pc always
 * is, and nothing is saved as rax.
 */
static inline uint64_t sw_known_behind(enum sw_machine machine, uint64_t known, uint64_t same)
{
    const uint64_t kept = SW_ARM64_NONVOLATILE | UINT64_C(1) << SW_ARM64_SP | UINT64_C(1) << SW_ARM64_PC;
    return machine == SW_MACHINE_ARM64 ? (known & kept) | same
                                       : (known & same) + (same >> SW_SAVED_SHIFT) + (UINT64_C(1) << SW_X64_RIP);
}
_Static_assert((int)SW_X64_RIP == SW_SAVED_SHIFT && SW_X64_RAX == 0,
               "pc's bit of `same` is rax's among the saved: clear");

#endif
