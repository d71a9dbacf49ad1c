/*
 * A simulated target for tests of the store of analyses: numbered functions whose frames all have another size, so that
 * each answer can be told from every other, below a caller that calls the first of them; every stack word is a return
 * address.
 */
#ifndef TEST_UNIT_KEPT_SIM_H
#define TEST_UNIT_KEPT_SIM_H

#include <snapwalk/sim.h>

#include <stdbool.h>
#include <string.h>

enum {
    FIRST_CODE = 0x401000,
    CODE_APART = 0x100,
    NUMBERED_BYTES = 20,
    IN_NUMBERED = 11,
    KEPT_CALLER = 0x400500,
    BEHIND_CALLER = KEPT_CALLER + 5,
    KEPT_STACK = 0x700000,
    KEPT_WORDS = 2048,
    MOST_SEEN = 2 /* the function and its caller */
};

static inline uint64_t begin_of(unsigned n)
{
    return FIRST_CODE + (uint64_t)n * CODE_APART;
}

static inline uint32_t frame_of(unsigned n)
{
    return 16 * (n + 1);
}

/* sub rsp, frame; test edi, edi; je L; nop; L: add rsp, frame; ret */
static inline void numbered_code(unsigned n, uint8_t code[NUMBERED_BYTES])
{
    static const uint8_t shape[NUMBERED_BYTES] = { 0x48, 0x81, 0xec, 0,    0,    0, 0, 0x85, 0xff, 0x74,
                                                   0x01, 0x90, 0x48, 0x81, 0xc4, 0, 0, 0,    0,    0xc3 };
    const uint32_t frame = frame_of(n);
    memcpy(code, shape, sizeof shape);
    memcpy(code + 3, &frame, sizeof frame);
    memcpy(code + 15, &frame, sizeof frame);
}

static inline bool put_numbered(struct sw_sim *sim, unsigned n)
{
    uint8_t code[NUMBERED_BYTES];
    numbered_code(n, code);
    return sw_sim_bytes(sim, begin_of(n), code, sizeof code) == SW_OK &&
           sw_sim_range(sim, SW_KIND_JIT, begin_of(n), begin_of(n) + sizeof code, n + 1) == SW_OK;
}

/* The caller and the stack. */
static inline bool put_surroundings(struct sw_sim *sim)
{
    static uint64_t words[KEPT_WORDS];
    uint8_t caller[] = { 0xe8, 0, 0, 0, 0, 0xc3 };
    const uint32_t distance = FIRST_CODE - BEHIND_CALLER;
    memcpy(caller + 1, &distance, sizeof distance);
    for (unsigned i = 0; i < KEPT_WORDS; i++)
        words[i] = BEHIND_CALLER;
    return sw_sim_bytes(sim, KEPT_CALLER, caller, sizeof caller) == SW_OK &&
           sw_sim_words(sim, KEPT_STACK, words, KEPT_WORDS) == SW_OK;
}

/* Registers at a pc; what must not be used is garbage, rbp a frame's. */
static inline struct sw_regs regs_at(uint64_t pc)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, UINT64_C(0xbad0000000) + n * 0x111);
    sw_regs_set(&regs, SW_X64_RIP, pc);
    sw_regs_set(&regs, SW_X64_RSP, KEPT_STACK + 128);
    sw_regs_set(&regs, SW_X64_RBP, KEPT_STACK + 512);
    return regs;
}

/* What a walk reported. */
struct kept_seen {
    struct sw_frame frames[MOST_SEEN];
    unsigned count;
    enum sw_stop stop;
};

static inline bool kept_note_frame(void *arg, const struct sw_frame *frame)
{
    struct kept_seen *seen = arg;
    if (seen->count < MOST_SEEN)
        seen->frames[seen->count++] = *frame;
    return true;
}

static inline struct kept_seen walk_regs(const struct sw_walker *walker, struct sw_analysis_cache *kept,
                                         struct sw_scratch *scratch, const struct sw_regs *regs)
{
    struct sw_walker with = *walker;
    struct kept_seen seen = { .count = 0 };
    with.analysis_cache = kept;
    with.max_frames = MOST_SEEN;
    seen.stop = sw_walk_all(&with, scratch, regs, kept_note_frame, &seen);
    return seen;
}

static inline struct kept_seen walk_from(const struct sw_walker *walker, struct sw_analysis_cache *kept,
                                         struct sw_scratch *scratch, uint64_t pc)
{
    const struct sw_regs regs = regs_at(pc);
    return walk_regs(walker, kept, scratch, &regs);
}

static inline bool is_same_frame(const struct sw_frame *a, const struct sw_frame *b)
{
    if (a->regs.known != b->regs.known)
        return false;
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        if (sw_regs_has(&a->regs, n) && a->regs.r[n] != b->regs.r[n])
            return false;
    return a->code.begin == b->code.begin && a->code.end == b->code.end && a->code.id == b->code.id &&
           a->lookup == b->lookup && a->source == b->source && a->trust == b->trust && a->exact == b->exact;
}

static inline bool is_same_walk(const struct kept_seen *a, const struct kept_seen *b)
{
    for (unsigned i = 0; i < a->count && i < b->count; i++)
        if (!is_same_frame(&a->frames[i], &b->frames[i]))
            return false;
    return a->count == b->count && a->stop == b->stop;
}

/* Whether the caller of a numbered function, stopped inside its frame, is right. */
static inline bool is_right_caller(const struct kept_seen *seen, unsigned n)
{
    return seen->count >= 2 && sw_regs_pc(&seen->frames[1].regs) == BEHIND_CALLER &&
           sw_regs_sp(&seen->frames[1].regs) == KEPT_STACK + 128 + frame_of(n) + 8 &&
           seen->frames[1].source == SW_SOURCE_ANALYSIS;
}

#endif
