/*
 * Stack effects of code → rule at a pc. One abstract interpreter for all machines: it follows control flow, runs
 * effects on symbolic registers (state.h), and reads off where the caller's registers are. Refuses to know instructions
 * and where code comes from; never looks at the stack.
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
    SW_ANALYZE_NEAR = 65536, /* assumed size of a function whose end is not known */
    SW_ANALYZE_NORETURN = 64,
    SW_ANALYZE_TABLES = 16,
    SW_ANALYZE_BOUNDS = 32,
    SW_ANALYZE_FUNCTIONS = 64,
    SW_ANALYZE_PACKED = SW_ANALYZE_BLOCKS
};

/*
 * A block: code that a path enters at its first instruction, which is a branch target or follows a call.
 *
 * return_point  Of the last call that the path to the block went through: an offset from begin; 0: none.
 */
struct sw_block {
    uint64_t address;
    uint32_t return_point;
    uint16_t state;
    uint8_t flags;
    uint8_t visits;
};

/*
 * A switch table without a known bound. Its elements are followed one by one, when nothing else is left to follow.
 *
 * return_point  Of the path to the jump, see struct sw_block.
 * state         In front of the jump.
 * next          The element to follow next.
 */
struct sw_open_table {
    struct sw_val table;
    uint64_t jump;
    uint32_t return_point;
    uint16_t state;
    uint16_t next;
};

/* A block whose index is below a bound, as a branch to it has found. */
struct sw_index_bound {
    uint64_t block;
    uint32_t bound;
};

/* Working memory of an analysis. It may be uninitialised. */
struct sw_analysis {
    const struct sw_code *code;
    uint64_t begin, end;   /* known bounds, or begin and 0 */
    bool forward;          /* begin is any pc, not a function's first instruction */
    bool only_padding;     /* since the last call there was nothing but padding */
    bool restart;          /* a call was found not to return: what was learnt behind it is wrong */
    bool hit_bound;        /* some limit was reached: the result may be incomplete */
    bool has_far;          /* `starts` has bits of instructions far from begin */
    bool returned;         /* the path ended at a return */
    bool has_data;         /* the path has made addresses of data in this block */
    bool is_packed;        /* packed or unpacked: no path can be continued */
    uint8_t flags;         /* of the current path, see control_flow.h */
    uint8_t element_base;  /* the register, of unknown value, of the last table read in this block; SW_NOREG: none */
    uint32_t return_point; /* of the current path, see struct sw_block */
    uint32_t budget;       /* instructions left */
    uint16_t noreturn_count, noreturn_target_count, state_count, block_count, queue_count, deferred_count, table_count;
    uint16_t cursor_block; /* the block from which `cursor` was derived last; cursor_pc: where it holds */
    uint64_t cursor_pc;
    uint64_t data_dropped;                          /* registers in which addresses of data were forgotten */
    uint64_t data_kept;                             /* those in which they are not, since a switch goes through one */
    uint64_t pc;                                    /* of the current instruction */
    uint64_t covered;                               /* bytes behind begin for which `seen` and `starts` may have bits */
    uint64_t noted;                                 /* those for which they have: none further on was seen */
    uint32_t hash_size;                             /* how many places of `hash` are in use, a power of two */
    uint32_t noreturn_points[SW_ANALYZE_NORETURN];  /* return points of calls that do not return */
    uint64_t noreturn_targets[SW_ANALYZE_NORETURN]; /* what these calls call */
    uint64_t functions[SW_ANALYZE_FUNCTIONS];       /* called, and found to be no part of the caller: outlined.c */
    union {                                         /* either what only a run needs, or a packed analysis */
        struct {
            uint16_t hash[2 * SW_ANALYZE_BLOCKS]; /* by address: 1 + a block's number */
            uint16_t queue[SW_ANALYZE_BLOCKS];    /* blocks to follow */
            uint16_t deferred[SW_ANALYZE_BLOCKS]; /* blocks to follow when the queue is empty: they are in doubt */
        };
        uint64_t packed[SW_ANALYZE_PACKED];
    };
    uint64_t unpacked;                    /* a bit for each state that has been unpacked */
    uint16_t state_at[SW_ANALYZE_STATES]; /* where the other states are in `packed` */
    struct sw_block blocks[SW_ANALYZE_BLOCKS];
    struct sw_open_table tables[SW_ANALYZE_TABLES];
    struct sw_index_bound bounds[SW_ANALYZE_BOUNDS]; /* by address: where two meet, the last one */
    struct sw_state states[SW_ANALYZE_STATES];
    struct sw_state current, other, cursor;
    struct sw_rule offered;              /* forward.c: what the user is asked about; findings.c */
    uint8_t seen[SW_ANALYZE_SEEN / 8];   /* a bit per byte behind begin: part of an instruction that was followed */
    uint8_t starts[SW_ANALYZE_SEEN / 8]; /* the first byte of one */
};

/*
 * The rule at pc of the function [begin, end). pc may be inside an instruction (a return address - 1). end 0: the
 * function's end is not known, and jumps are followed wherever they lead.
 *
 * Returns  SW_OK; SW_E_NO_RULE (no path reaches pc from begin, or the CFA is lost there).
 *          rule->source ANALYSIS; trust LIKELY, or GUESS where a path was assumed and not seen.
 */
SW_NODISCARD enum sw_status sw_analyze_function(const struct sw_code *code, uint64_t begin, uint64_t end, uint64_t pc,
                                                struct sw_analysis *work, struct sw_rule *rule);

/*
 * The same in steps. run follows all paths of a function and keeps them in `work`. state gives the state in front of
 * the instruction that contains pc; pcs that ascend continue from one another.
 *
 * assumed  A path was assumed and not seen; or, where the result is null and work is_packed, one would have to be.
 *
 * Returns  state: null when no path reaches pc from begin; valid until the next call.
 *          rule: as sw_analyze_function; SW_E_BUSY where work is_packed and a path would have to be assumed.
 */
void sw_analyze_run(const struct sw_code *code, uint64_t begin, uint64_t end, struct sw_analysis *work);
const struct sw_state *sw_analyze_state(struct sw_analysis *work, uint64_t pc, bool *assumed);
/* The states behind the function's calls, one per call. *at starts at 0. Null: no more. */
const struct sw_state *sw_analyze_frame(struct sw_analysis *work, unsigned *at);
/* The same for the states at indirect jumps, whose cases are not known, other than through a word that they name. */
const struct sw_state *sw_analyze_jump(struct sw_analysis *work, unsigned *at);
/* The addresses of the words through which the function jumps with the stack as it was at its start. False: no more. */
bool sw_analyze_tail(struct sw_analysis *work, unsigned *at, uint64_t *slot);
SW_NODISCARD enum sw_status sw_analyze_rule(struct sw_analysis *work, uint64_t pc, struct sw_rule *rule);

/*
 * Whether pc is in a PLT's entry or another stub that only goes on through a word, on machines where the return address
 * is in a register meanwhile. On others such a stub is a function like any other. slot: the word's address.
 */
bool sw_analyze_stub(const struct sw_code *code, uint64_t pc, uint64_t *slot);

/*
 * outlined.c: code that compilers take out of functions, to be shared, on machines where the return address is in a
 * register meanwhile.
 *
 * is_piece   Whether the code at `begin` is a part of other functions, which has the frame of what calls it or jumps
 *            there: what it does, and where it returns to, is not what a function does.
 * from_call  Where the function that has the return address `after` goes on from: there; or from the call in front, if
 *            that leads to a piece of the function, which has not done all that it does.
 */
bool sw_analyze_is_piece(const struct sw_code *code, uint64_t begin, struct sw_analysis *work);
uint64_t sw_analyze_from_call(const struct sw_code *code, uint64_t after, struct sw_analysis *work);

/*
 * The state at pc, or where straight code from `begin` ends before it: at a branch, a jump, a call, or after so many
 * instructions as prologues have. For starts that are only supposed: how large a frame they make.
 */
void sw_analyze_prologue(const struct sw_code *code, uint64_t begin, uint64_t pc, struct sw_state *state);

/*
 * pack.c: an analysis as words that can be stored.
 *
 * pack     Returns how many words it wrote; 0: no room. `words` may be in work->packed; then work->is_packed must be
 *          set before.
 * unpack   Restores what sw_analyze_state needs, except code that no path reached. `words` are in work->packed and stay
 *          there. False: these are not words of pack.
 */
SW_NODISCARD size_t sw_analysis_pack(const struct sw_analysis *work, uint64_t *words, size_t count);
SW_NODISCARD bool sw_analysis_unpack(struct sw_analysis *work, const struct sw_code *code, uint64_t *words,
                                     size_t count);

/* A hash of code as it is now. Two pieces of code with the same hash are the same for all purposes here. */
uint64_t sw_code_hash(const struct sw_code *code, const struct sw_extent *extents, size_t count);

/*
 * Rules at pc, found by following the code forward to a return; the start of the function is not known. `accept`
 * receives the rule of each return that is reached, until it returns true. Code behind calls is tried last, and after
 * that tail calls through a register.
 *
 * fp  How far fp is above sp at pc; null: not known, and then words stored through one are not found through the other.
 *     is_used is set where it matters.
 *
 * Returns  SW_OK (accepted); SW_E_NO_RULE. rule->source FORWARD; trust GUESS, or NONE if a jump was taken to leave the
 *          function.
 */
SW_NODISCARD enum sw_status sw_analyze_forward(const struct sw_code *code, uint64_t pc, struct sw_fp_distance *fp,
                                               struct sw_analysis *work,
                                               bool (*accept)(void *arg, const struct sw_rule *rule), void *arg);

/*
 * state_to_rule.c: inside: the rule at a point reached from the function's first instruction. return: the rule at pc,
 * from the state at a return that was reached from pc.
 */
SW_NODISCARD bool sw_extract_inside(const struct sw_state *state, const struct sw_arch *arch, struct sw_rule *rule);
SW_NODISCARD bool sw_extract_return(const struct sw_state *state, const struct sw_arch *arch, struct sw_rule *rule);

#endif
