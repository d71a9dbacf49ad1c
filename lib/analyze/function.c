/*
 * The rules of a function whose first instruction is known: every path once, then the state at any pc of it from the
 * block that pc lies in.
 */
#include "analyze/flow.h"

enum { MOST_GAPS = 64, MOST_AGAIN = 24, MOST_OVERLAPPING = 4 };

static void run_blocks(struct sw_analysis *w)
{
    struct sw_insn insn;
    uint64_t pc;
    while (sw_flow_next(w, &pc)) {
        bool on = true;
        while (on && !w->again && (w->end == 0 || pc < w->end) && sw_flow_insn(w, pc, &insn)) {
            on = sw_flow_follow(w, &insn, pc);
            pc += insn.length;
        }
    }
}

void sw_analyze_run(const struct sw_code *code, uint64_t begin, uint64_t end, struct sw_analysis *w)
{
    w->dead_count = w->dead_target_count = 0;
    sw_flow_start(w, code, begin, end, false, NULL);
    run_blocks(w);
    for (unsigned more = 0; w->again && more < MOST_AGAIN; more++) {
        sw_flow_start(w, code, begin, end, false, NULL);
        run_blocks(w);
    }
}

/* ---- the state at a pc ---- */

/* One instruction on, along the straight line of the block. False: the line ends here. */
static bool pass(struct sw_analysis *w, const struct sw_insn *insn)
{
    sw_state_run(&w->at, w->code->arch, insn, (uint32_t)(w->at_pc - w->begin));
    if (insn->flow == SW_FLOW_BRANCH && insn->when == SW_WHEN_DIFFERENT)
        sw_state_equal(&w->at, w->code->arch);
    w->at_pc += insn->length;
    return insn->flow == SW_FLOW_NEXT || insn->flow == SW_FLOW_BRANCH;
}

/* From work->at on to the instruction that pc lies in. */
static bool go_to(struct sw_analysis *w, uint64_t pc)
{
    struct sw_insn insn;
    w->budget = SW_ANALYZE_INSNS;
    while (w->at_pc <= pc && (w->end == 0 || w->at_pc < w->end) && sw_flow_insn(w, w->at_pc, &insn)) {
        if (pc - w->at_pc < insn.length) {
            if (insn.flow == SW_FLOW_CALL) /* pc inside of it is a return address: the callee has been */
                sw_state_give_below(&w->at, w->code->arch);
            return true;
        }
        if (!pass(w, &insn))
            break;
    }
    w->at_block = SW_NO_BLOCK;
    return false;
}

/* By the blocks there are. Blocks end where others begin, but code that is entered in the middle of an instruction. */
static bool find_state(struct sw_analysis *w, uint64_t pc)
{
    uint64_t under = UINT64_MAX;
    for (unsigned i = 0; i < MOST_OVERLAPPING; i++) {
        const uint16_t block = sw_flow_block_before(w, pc, under);
        if (block == SW_NO_BLOCK)
            return false;
        under = w->blocks[block].address;
        if (block != w->at_block || w->at_pc > pc) { /* else on from the pc that was asked for before */
            sw_state_copy(&w->at, sw_flow_state(w, &w->blocks[block]));
            w->at_block = block;
            w->at_pc = under;
        }
        if (go_to(w, pc))
            return true;
    }
    return false;
}

/* By going where no path led. */
static bool find_in_gaps(struct sw_analysis *w, uint64_t pc)
{
    bool found = false;
    for (unsigned gaps = 0; !found && gaps < MOST_GAPS; gaps++) {
        w->budget = SW_ANALYZE_INSNS;
        if (!sw_flow_enter_gap(w, pc))
            return false;
        run_blocks(w);
        w->at_block = SW_NO_BLOCK;
        found = find_state(w, pc);
    }
    return found;
}

const struct sw_state *sw_analyze_state(struct sw_analysis *w, uint64_t pc, bool *assumed)
{
    const bool found = find_state(w, pc);
    *assumed = !found && sw_flow_may_have_gap(w, pc);
    if (!found && (!*assumed || w->is_packed || !find_in_gaps(w, pc)))
        return NULL;
    *assumed = *assumed || w->doubtful || (w->blocks[w->at_block].flags & SW_BLOCK_ASSUMED);
    return &w->at;
}

const struct sw_state *sw_analyze_frame(struct sw_analysis *w, unsigned *at)
{
    while (*at < w->block_count) {
        const struct sw_block *block = &w->blocks[(*at)++];
        if (block->flags & SW_BLOCK_BEHIND_CALL)
            return sw_flow_state(w, block);
    }
    return NULL;
}

enum sw_status sw_analyze_rule(struct sw_analysis *w, uint64_t pc, struct sw_rule *rule)
{
    bool assumed;
    const struct sw_state *state = sw_analyze_state(w, pc, &assumed);
    if (!state && assumed && w->is_packed)
        return SW_E_BUSY;
    if (!state || !sw_extract_inside(state, w->code->arch, rule))
        return SW_E_NO_RULE;
    if (assumed)
        rule->trust = SW_TRUST_GUESS;
    return SW_OK;
}

enum sw_status sw_analyze_function(const struct sw_code *code, uint64_t begin, uint64_t end, uint64_t pc,
                                   struct sw_analysis *work, struct sw_rule *rule)
{
    sw_analyze_run(code, begin, end, work);
    return sw_analyze_rule(work, pc, rule);
}
