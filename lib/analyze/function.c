/*
 * The rules of a function whose first instruction is known: every path is followed once, then the state at a pc is
 * derived from the block that contains it.
 */
#include "analyze/control_flow.h"

enum { LONGEST_INSN = 16, LONGEST_PROLOGUE = 40, MOST_UNREACHED = 64, MOST_AGAIN = 24, MOST_OVERLAPPING = 4 };

static void run_blocks(struct sw_analysis *w)
{
    struct sw_insn insn;
    uint64_t pc;
    while (sw_flow_next(w, &pc)) {
        bool on = true;
        while (on && !w->restart && (w->end == 0 || pc < w->end) && sw_flow_insn(w, pc, &insn)) {
            on = sw_flow_follow(w, &insn, pc);
            pc += insn.length;
        }
    }
}

void sw_analyze_run(const struct sw_code *code, uint64_t begin, uint64_t end, struct sw_analysis *w)
{
    sw_flow_forget_runs(w);
    sw_flow_start(w, code, begin, end, false, NULL);
    run_blocks(w);
    for (unsigned more = 0; w->restart && more < MOST_AGAIN; more++) {
        sw_flow_start(w, code, begin, end, false, NULL);
        run_blocks(w);
    }
}

/* ---- the state at a pc ---- */

/* Advances the cursor by one instruction of the block. False: the block ends here. */
static bool pass(struct sw_analysis *w, const struct sw_insn *insn)
{
    sw_state_run(&w->cursor, w->code->arch, insn, (uint32_t)(w->cursor_pc - w->begin));
    if (insn->flow == SW_FLOW_BRANCH && insn->when == SW_WHEN_DIFFERENT)
        sw_state_assume_equal(&w->cursor, w->code->arch);
    w->cursor_pc += insn->length;
    return insn->flow == SW_FLOW_NEXT || insn->flow == SW_FLOW_BRANCH;
}

/*
 * The cursor is at a call that is going on. A piece of the function's own code returns to it, or what that has jumped
 * to meanwhile: then only what holds in both cases is known.
 */
static void be_within_call(struct sw_analysis *w, const struct sw_insn *insn)
{
    const uint64_t next = w->cursor_pc + insn->length;
    if (sw_flow_run_outlined(w, insn, next, &w->cursor, &w->other) == SW_OUTLINED_JUMPS)
        sw_state_meet(&w->cursor, &w->other, w->code->arch, (uint32_t)(next - w->begin));
    sw_state_forget_below_sp(&w->cursor, w->code->arch);
}

/* Advances the cursor to the instruction that contains pc. */
static bool go_to(struct sw_analysis *w, uint64_t pc)
{
    struct sw_insn insn;
    w->budget = SW_ANALYZE_INSNS;
    while (w->cursor_pc <= pc && (w->end == 0 || w->cursor_pc < w->end) && sw_flow_insn(w, w->cursor_pc, &insn)) {
        if (pc - w->cursor_pc < insn.length) {
            if (insn.flow == SW_FLOW_CALL && pc != w->cursor_pc) /* it is a return address - 1 */
                be_within_call(w, &insn);
            else if (insn.flow == SW_FLOW_CALL)
                sw_state_forget_below_sp(&w->cursor, w->code->arch);
            return true;
        }
        if (!pass(w, &insn))
            break;
    }
    w->cursor_block = SW_NO_BLOCK;
    return false;
}

/*
 * Searches the blocks. Usually a block ends where the next begins, but code may be entered inside an instruction too.
 */
static bool find_state(struct sw_analysis *w, uint64_t pc)
{
    uint64_t under = UINT64_MAX;
    for (unsigned i = 0; i < MOST_OVERLAPPING; i++) {
        const uint16_t block = sw_flow_block_before(w, pc, under);
        if (block == SW_NO_BLOCK)
            return false;
        under = w->blocks[block].address;
        if (block != w->cursor_block || w->cursor_pc > pc) { /* else continue from the previous pc */
            sw_state_copy(&w->cursor, sw_flow_state(w, &w->blocks[block]));
            w->cursor_block = block;
            w->cursor_pc = under;
        }
        if (go_to(w, pc))
            return true;
    }
    return false;
}

/* Follows code that no path reached, until the cursor gets to pc. */
static bool find_unreached(struct sw_analysis *w, uint64_t pc)
{
    bool found = false;
    for (unsigned tries = 0; !found && tries < MOST_UNREACHED; tries++) {
        w->budget = SW_ANALYZE_INSNS;
        if (!sw_flow_enter_unreached(w, pc))
            return false;
        run_blocks(w);
        w->cursor_block = SW_NO_BLOCK;
        found = find_state(w, pc);
    }
    return found;
}

const struct sw_state *sw_analyze_state(struct sw_analysis *w, uint64_t pc, bool *assumed)
{
    const bool found = find_state(w, pc);
    *assumed = !found && sw_flow_may_be_unreached(w, pc);
    if (!found && (!*assumed || w->is_packed || !find_unreached(w, pc)))
        return NULL;
    *assumed = *assumed || w->hit_bound || (w->blocks[w->cursor_block].flags & SW_BLOCK_ASSUMED);
    return &w->cursor;
}

const struct sw_state *sw_analyze_frame(struct sw_analysis *w, unsigned *at)
{
    while (*at < w->block_count) {
        const struct sw_block *block = &w->blocks[(*at)++];
        if (block->flags & SW_BLOCK_AFTER_CALL)
            return sw_flow_state(w, block);
    }
    return NULL;
}

/* Whether the instruction at an address goes on to the next one, and nowhere else. */
static bool goes_on(const struct sw_code *code, uint64_t at)
{
    struct sw_insn insn;
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, at, &size);
    return bytes && code->arch->decode(bytes, size, at, &insn) == SW_OK && insn.flow == SW_FLOW_NEXT;
}

bool sw_analyze_stub(const struct sw_code *code, uint64_t pc, uint64_t *slot)
{
    enum { STUB_INSNS = 4 };
    for (unsigned n = 0; sw_arch_has_link(code->arch) && n < STUB_INSNS; n++, pc -= code->arch->insn_bytes)
        if (code->arch->patterns->goes_through(code, pc, slot))
            return true;
        else if (!goes_on(code, pc - code->arch->insn_bytes))
            return false; /* what is in front is another stub, or another function */
    return false;
}

/*
 * Whether a block is an indirect jump. slot: the word that it goes through, where one is named: by itself or, where
 * that takes several instructions, as in a PLT's entry, by those in front; 0: none.
 */
static bool is_jump(struct sw_analysis *w, const struct sw_block *block, uint64_t *slot)
{
    struct sw_insn insn;
    if (!(block->flags & SW_BLOCK_AT_INDIRECT) || !sw_flow_insn(w, block->address, &insn))
        return false;
    *slot = insn.slot;
    if (*slot == 0 && !sw_analyze_stub(w->code, block->address, slot))
        *slot = 0;
    return true;
}

const struct sw_state *sw_analyze_jump(struct sw_analysis *w, unsigned *at)
{
    uint64_t slot;
    w->budget = SW_ANALYZE_INSNS;
    while (*at < w->block_count) {
        const struct sw_block *block = &w->blocks[(*at)++];
        if (is_jump(w, block, &slot) && slot == 0)
            return sw_flow_state(w, block);
    }
    return NULL;
}

bool sw_analyze_tail(struct sw_analysis *w, unsigned *at, uint64_t *slot)
{
    const unsigned sp = w->code->arch->roles->sp;
    w->budget = SW_ANALYZE_INSNS;
    while (*at < w->block_count) {
        const struct sw_block *block = &w->blocks[(*at)++];
        if (is_jump(w, block, slot) && *slot != 0 && sw_val_is_start(sw_flow_state(w, block)->reg[sp], sp))
            return true;
    }
    return false;
}

enum sw_status sw_analyze_rule(struct sw_analysis *w, uint64_t pc, struct sw_rule *rule)
{
    bool assumed;
    const struct sw_state *state = sw_analyze_state(w, pc, &assumed);
    if (!state && assumed && w->is_packed)
        return SW_E_BUSY;
    if (!state || !sw_extract_inside(state, w->code->arch, rule))
        return SW_E_NO_RULE;
    sw_flow_keep_of_caller(w, pc, rule);
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

/* ---- without following paths ---- */

void sw_analyze_prologue(const struct sw_code *code, uint64_t begin, uint64_t pc, struct sw_state *state)
{
    struct sw_insn insn;
    size_t size;
    uint64_t at = begin;
    sw_state_start(state);
    for (unsigned count = 0; at != pc && count < LONGEST_PROLOGUE && sw_meter_pay(code->meter, 1); count++) {
        const uint8_t *bytes = code->fetch(code->arg, at, &size);
        if (!bytes || code->arch->decode(bytes, size, at, &insn) != SW_OK || insn.flow != SW_FLOW_NEXT)
            break;
        sw_state_run(state, code->arch, &insn, (uint32_t)(at - begin));
        at += insn.length;
    }
    sw_meter_note(code->meter, begin, (uint32_t)(at - begin) + LONGEST_INSN);
}
