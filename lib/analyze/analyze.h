/*
 * Stack effects of code → rule at a pc. One abstract interpreter for all machines: it follows control flow, runs
 * effects on symbolic registers (state.h), and reads off where the caller's registers are. Knows nothing of
 * instructions or of where code comes from; never looks at the stack.
 */
#ifndef SW_ANALYZE_ANALYZE_H
#define SW_ANALYZE_ANALYZE_H

#include "analyze/state.h"
#include "base/rule.h"

enum {
    SW_ANALYZE_STATES = 48,
    SW_ANALYZE_BLOCKS = 8192,
    SW_ANALYZE_INSNS = 65536,
    SW_ANALYZE_SEEN = 131072,
    SW_ANALYZE_NEAR = 65536, /* of a function whose end is not known */
    SW_ANALYZE_DEAD = 64,
    SW_ANALYZE_TABLES = 16,
    SW_ANALYZE_PACKED = SW_ANALYZE_BLOCKS
};

/*
 * A place where a path starts: a branch target, or the instruction behind a call.
 *
 * behind   The last place behind a call that the path to it went through, from begin.
 */
struct sw_block {
    uint64_t address;
    uint32_t behind;
    uint16_t state;
    uint8_t flags;
    uint8_t visits;
};

/*
 * A switch table without a known bound: its elements are gone to one by one, when everything else has been.
 *
 * next     The element to go to next.  state  In front of the jump, behind as of its path.
 */
struct sw_open_table {
    struct sw_val table;
    uint64_t jump;
    uint32_t behind;
    uint16_t state;
    uint16_t next;
};

/* Working memory; uninitialised is fine. */
struct sw_analysis {
    const struct sw_code *code;
    uint64_t begin, end; /* known bounds, or begin and 0 */
    bool forward;        /* begin is any pc, not a function's first instruction */
    bool fresh;          /* since the last call there was nothing but padding */
    bool again;          /* a call that does not return was found: what was learnt behind it is wrong */
    bool doubtful;       /* a bound was hit */
    bool is_packed;      /* it was packed or unpacked: no path can be gone on with */
    uint8_t flags;       /* of the path that is followed now, see flow.h */
    uint32_t behind;     /* of that path, see struct sw_block */
    uint32_t budget;     /* instructions left */
    uint32_t spent;      /* instructions looked at, counted on from what the user set */
    uint16_t dead_count, dead_target_count, state_count, block_count, now_count, later_count, table_count;
    uint16_t at_block; /* the block that `at` was taken from last; at_pc: where it holds */
    uint64_t at_pc;
    uint64_t pc;                            /* of the instruction that is followed now */
    uint64_t window;                        /* how much behind begin `seen` and `starts` tell of */
    uint32_t dead[SW_ANALYZE_DEAD];         /* places behind calls that do not return, from begin: not gone to */
    uint64_t dead_targets[SW_ANALYZE_DEAD]; /* what they call */
    union {                                 /* what only a run needs, and room for a packed analysis */
        struct {
            uint16_t hash[2 * SW_ANALYZE_BLOCKS]; /* of addresses: 1 + a block's number */
            uint16_t now[SW_ANALYZE_BLOCKS], later[SW_ANALYZE_BLOCKS];
        };
        uint64_t packed[SW_ANALYZE_PACKED];
    };
    uint64_t unpacked;                    /* which states are, a bit each */
    uint16_t state_at[SW_ANALYZE_STATES]; /* where the others lie in `packed` */
    struct sw_block blocks[SW_ANALYZE_BLOCKS];
    struct sw_open_table tables[SW_ANALYZE_TABLES];
    struct sw_state states[SW_ANALYZE_STATES];
    struct sw_state current, other, at;
    uint8_t seen[SW_ANALYZE_SEEN / 8];   /* a bit a byte behind begin: of an instruction that was met */
    uint8_t starts[SW_ANALYZE_SEEN / 8]; /* the first byte of one */
};

/*
 * The rule at pc of the function [begin, end); pc may lie inside an instruction (a return address - 1). end 0: the
 * function's end is not known, and jumps are followed wherever they lead.
 *
 * Returns  SW_OK; SW_E_NO_RULE (pc is not reached from begin, or the CFA is lost there).
 *          rule->source ANALYSIS, trust LIKELY, or GUESS where a path was assumed rather than seen.
 */
SW_NODISCARD enum sw_status sw_analyze_function(const struct sw_code *code, uint64_t begin, uint64_t end, uint64_t pc,
                                                struct sw_analysis *work, struct sw_rule *rule);

/*
 * The same in pieces: all paths of a function, kept in `work`; then the state in front of the instruction that pc lies
 * in, for pc after pc (ascending ones go on from one another). Null: pc is not reached from begin. assumed: a path was
 * assumed rather than seen, or (null, and work is_packed) would have to be. The state is valid until the next question.
 * The rule is SW_E_BUSY in that last case.
 */
void sw_analyze_run(const struct sw_code *code, uint64_t begin, uint64_t end, struct sw_analysis *work);
const struct sw_state *sw_analyze_state(struct sw_analysis *work, uint64_t pc, bool *assumed);
/* The states behind the function's calls, one after the other: *at 0 at first. Null: no more. */
const struct sw_state *sw_analyze_frame(struct sw_analysis *work, unsigned *at);
SW_NODISCARD enum sw_status sw_analyze_rule(struct sw_analysis *work, uint64_t pc, struct sw_rule *rule);

/*
 * pack.c: an analysis as words, to be kept.
 *
 * measure  Notes how much code each block stands for. False: it cannot be told. After the run, before pack.
 * pack     Returns how many words, 0 when there is no room for them.
 * unpack   What sw_analyze_state needs but for code that no path led to; `words` lie in work->packed and stay there.
 *          False: these are no such words.
 * hash     Of all code that the analysis was made of, as it is now; after measure or unpack. 0: it cannot be read.
 */
SW_NODISCARD bool sw_analysis_measure(struct sw_analysis *work);
SW_NODISCARD size_t sw_analysis_pack(const struct sw_analysis *work, uint64_t *words, size_t count);
SW_NODISCARD bool sw_analysis_unpack(struct sw_analysis *work, const struct sw_code *code, uint64_t *words,
                                     size_t count);
uint64_t sw_analysis_hash(const struct sw_analysis *work);

/*
 * Rules at pc by going forward to returns, the start of the function unknown. `accept` is shown the rule of each return
 * that is come to, until it answers true; code behind calls is tried last, a tail call through a register last of all.
 *
 * fp_above_sp  How far fp is above sp at pc, or null: then words stored through one are not seen through the other.
 *
 * Returns  SW_OK (accepted); SW_E_NO_RULE. rule->source FORWARD, trust GUESS, or NONE where a jump was taken for one that
 *          leaves the function.
 */
SW_NODISCARD enum sw_status sw_analyze_forward(const struct sw_code *code, uint64_t pc, const int32_t *fp_above_sp,
                                               struct sw_analysis *work,
                                               bool (*accept)(void *arg, const struct sw_rule *rule), void *arg);

/* extract.c: the rule in a state reached from a function's first instruction; the rule that a return's state gives. */
SW_NODISCARD bool sw_extract_inside(const struct sw_state *state, const struct sw_arch *arch, struct sw_rule *rule);
SW_NODISCARD bool sw_extract_return(const struct sw_state *state, const struct sw_arch *arch, struct sw_rule *rule);

#endif
