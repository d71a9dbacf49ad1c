/*
 * Control flow: from a start, along every path, with the state of each. Paths meet at blocks; where they disagree, a
 * path that came past a call gives way (the call may never return, and what lies behind it may belong to something
 * else), otherwise what differs is unknown. A call that is shown not to return by that, or by a return at which sp is
 * not what it was, is remembered, and everything is to be done again. All is bounded: instructions, blocks, states,
 * visits.
 */
#include "analyze/flow.h"

#include <string.h>

enum {
    MOST_VISITS = 8,
    HASH = 2 * SW_ANALYZE_BLOCKS,
    PATH = SW_BLOCK_BEHIND_CALL | SW_BLOCK_ASSUMED | SW_BLOCK_PADDED
};

/* ---- what was seen ---- */

static void mark_seen(struct sw_analysis *w, uint64_t pc, unsigned length)
{
    const uint64_t from = pc - w->begin;
    if (from < w->window)
        w->starts[from / 8] |= (uint8_t)(1u << from % 8);
    for (uint64_t at = from, end = from + length; at < end && at < w->window; at++)
        w->seen[at / 8] |= (uint8_t)(1u << at % 8);
}

bool sw_flow_was_seen(const struct sw_analysis *w, uint64_t address)
{
    const uint64_t at = address - w->begin;
    return at < w->window && (w->seen[at / 8] >> at % 8 & 1);
}

bool sw_flow_is_start(const struct sw_analysis *w, uint64_t address)
{
    const uint64_t at = address - w->begin;
    return at < w->window && (w->starts[at / 8] >> at % 8 & 1);
}

/* ---- states and blocks ---- */

/* The index of a trimmed state, kept once. */
uint16_t sw_flow_intern(struct sw_analysis *w, const struct sw_state *state)
{
    for (uint16_t i = w->state_count; i-- > 0;)
        if (sw_state_same(&w->states[i], state))
            return i;
    if (w->state_count == SW_ANALYZE_STATES) {
        w->doubtful = true;
        return SW_NO_STATE;
    }
    sw_state_copy(&w->states[w->state_count], state);
    return w->state_count++;
}

static uint16_t *hash_slot(const struct sw_analysis *w, uint64_t address)
{
    unsigned i = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % HASH;
    while (w->hash[i] != 0 && w->blocks[w->hash[i] - 1].address != address)
        i = (i + 1) % HASH;
    return (uint16_t *)(uintptr_t)&w->hash[i];
}

uint16_t sw_flow_block(const struct sw_analysis *w, uint64_t address)
{
    const uint16_t number = *hash_slot(w, address);
    return number == 0 ? SW_NO_BLOCK : (uint16_t)(number - 1);
}

uint16_t sw_flow_block_before(const struct sw_analysis *w, uint64_t address, uint64_t under)
{
    uint16_t best = SW_NO_BLOCK;
    for (uint16_t i = 0; i < w->block_count; i++) {
        const uint64_t at = w->blocks[i].address;
        if (at <= address && at < under && (best == SW_NO_BLOCK || at > w->blocks[best].address))
            best = i;
    }
    return best;
}

/* How far a path's or block's state is from having been seen: 0, behind a call, assumed. */
static unsigned doubt(unsigned flags)
{
    return flags & SW_BLOCK_ASSUMED ? 2 : flags & SW_BLOCK_BEHIND_CALL ? 1 : 0;
}

static void queue(struct sw_analysis *w, uint16_t block)
{
    if (doubt(w->blocks[block].flags) != 0) {
        if (w->later_count < SW_ANALYZE_BLOCKS)
            w->later[w->later_count++] = block;
    } else if (w->now_count < SW_ANALYZE_BLOCKS) {
        w->now[w->now_count++] = block;
    }
}

/* A path went on through an address that is a block from now on: it comes there again, to meet it. */
static void split(struct sw_analysis *w, uint64_t address)
{
    const uint16_t through = sw_flow_block_before(w, address - 1, UINT64_MAX);
    if (through != SW_NO_BLOCK)
        queue(w, through);
}

static void add_block(struct sw_analysis *w, uint64_t address, uint8_t flags)
{
    const uint16_t state = sw_flow_intern(w, &w->other);
    if (state == SW_NO_STATE || w->block_count == SW_ANALYZE_BLOCKS) {
        w->doubtful = true;
        return;
    }
    w->blocks[w->block_count] = (struct sw_block){ address, w->behind, state, flags, 1 };
    *hash_slot(w, address) = (uint16_t)(w->block_count + 1);
    if (!(flags & SW_BLOCK_AT_INDIRECT)) {
        queue(w, w->block_count);
        if (sw_flow_is_start(w, address))
            split(w, address);
    }
    w->block_count++;
}

/* ---- where paths meet ---- */

/*
 * sp is at one place, whichever way code is come to: of two paths with different ones, one went on behind a call that
 * does not return. The one that passed no call is right; else the one that has less on the stack, since arguments were
 * pushed for the call. -1: it cannot be told; 0: the path in w->other is right; 1: the block's.
 */
static int right_one(const struct sw_analysis *w, const struct sw_block *block)
{
    const struct sw_val was = sw_flow_sp(w, &w->states[block->state]), is = sw_flow_sp(w, &w->other);
    if (was.base != is.base || was.point != is.point || was.base == SW_VAL_POINT || was.deref || is.deref || was.off == is.off)
        return -1;
    if (block->flags & SW_BLOCK_ASSUMED)
        return 1; /* the first elements of a table are cases, the last ones may be none */
    if (block->behind == 0 || w->behind == 0)
        return block->behind == w->behind ? -1 : block->behind == 0;
    return was.off > is.off;
}

/* What block and path make of each other, in w->other, where sp has one place. False: the path gives way. */
static bool merge_by_sp(struct sw_analysis *w, const struct sw_block *block, unsigned was, unsigned is)
{
    const struct sw_val sp_was = sw_flow_sp(w, &w->states[block->state]), sp_is = sw_flow_sp(w, &w->other);
    const int right = was == is ? right_one(w, block) : is < was ? 0 : 1;
    if (was == 1 && is == 0 && !sw_val_same(sp_was, sp_is))
        sw_flow_blame(w, sw_flow_place_behind(w, block));
    if (was == is && right >= 0)
        sw_flow_blame(w, right == 0 ? sw_flow_culprit(w, block->behind, sp_was, sp_is)
                                    : sw_flow_culprit(w, w->behind, sp_is, sp_was));
    if (right < 0)
        sw_state_meet(&w->other, &w->states[block->state], w->code->arch, (uint32_t)(block->address - w->begin));
    return right != 1;
}

/* The same where sp may be anywhere below fp. */
static bool merge_by_fp(struct sw_analysis *w, const struct sw_block *block, unsigned was, unsigned is)
{
    if (was == is)
        sw_state_meet(&w->other, &w->states[block->state], w->code->arch, (uint32_t)(block->address - w->begin));
    else if (was < is)
        sw_state_copy(&w->other, &w->states[block->state]);
    sw_state_lose_sp(&w->other, w->code->arch);
    return true;
}

static bool merge(struct sw_analysis *w, const struct sw_block *block, unsigned was, unsigned is)
{
    const struct sw_state *there = &w->states[block->state];
    const bool by_fp = !sw_val_same(sw_flow_sp(w, there), sw_flow_sp(w, &w->other)) &&
                       sw_state_share_frame(there, &w->other, w->code->arch);
    return by_fp ? merge_by_fp(w, block, was, is) : merge_by_sp(w, block, was, is);
}

/* A second path comes to a block with another state (in w->other). */
static void meet_block(struct sw_analysis *w, uint16_t at, uint8_t flags)
{
    struct sw_block *block = &w->blocks[at];
    if (!merge(w, block, doubt(block->flags), doubt(flags)) || block->visits >= MOST_VISITS)
        return;
    const uint16_t state = sw_flow_intern(w, &w->other);
    if (doubt(flags) <= doubt(block->flags))
        block->flags = (uint8_t)((block->flags & ~PATH) | (flags & PATH));
    if (state == SW_NO_STATE || state == block->state)
        return;
    block->state = state;
    block->behind = w->behind;
    block->visits++;
    queue(w, at);
}

/* The same state, on a surer path. What was assumed behind it is surer now, too. */
static void make_surer(struct sw_analysis *w, uint16_t at, uint8_t flags)
{
    struct sw_block *block = &w->blocks[at];
    const bool was_assumed = block->flags & SW_BLOCK_ASSUMED;
    block->flags = (uint8_t)((block->flags & ~PATH) | (flags & PATH));
    if (was_assumed)
        queue(w, at);
}

/* ---- paths ---- */

void sw_flow_arrive(struct sw_analysis *w, uint64_t address, uint8_t flags)
{
    if (w->end != 0 && (address < w->begin || address >= w->end))
        return; /* a tail call */
    sw_state_copy(&w->other, &w->current);
    sw_state_trim(&w->other, w->code->arch, w->forward);
    const uint16_t at = sw_flow_block(w, address);
    if (at == SW_NO_BLOCK) {
        add_block(w, address, flags);
        return;
    }
    struct sw_block *block = &w->blocks[at];
    if (flags & SW_BLOCK_AT_INDIRECT)
        block->flags |= SW_BLOCK_AT_INDIRECT;
    else if (!sw_state_same(&w->states[block->state], &w->other))
        meet_block(w, at, flags);
    else if (doubt(flags) < doubt(block->flags))
        make_surer(w, at, flags);
}

/* The state of a block, and where its path went. */
static void enter_block(struct sw_analysis *w, const struct sw_block *block)
{
    sw_state_copy(&w->current, &w->states[block->state]);
    w->fresh = block->flags & SW_BLOCK_BEHIND_CALL;
    w->behind = w->fresh ? sw_flow_place_behind(w, block) : block->behind;
    w->flags = block->flags & SW_BLOCK_ASSUMED;
}

bool sw_flow_next(struct sw_analysis *w, uint64_t *pc)
{
    uint16_t block;
    if (w->now_count)
        block = w->now[--w->now_count];
    else if (w->later_count)
        block = w->later[--w->later_count];
    else
        return sw_flow_next_case(w) && sw_flow_next(w, pc);
    enter_block(w, &w->blocks[block]);
    *pc = w->blocks[block].address;
    return true;
}

bool sw_flow_insn(struct sw_analysis *w, uint64_t pc, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes;
    if (w->budget == 0) {
        w->doubtful = true;
        return false;
    }
    w->budget--;
    w->spent++;
    bytes = w->code->fetch(w->code->arg, pc, &size);
    return bytes && w->code->arch->decode(bytes, size, pc, insn) == SW_OK;
}

/* Both ways of a branch: the taken one becomes a block, the other stays in w->current. */
static void branch(struct sw_analysis *w, const struct sw_insn *insn)
{
    const struct sw_arch *arch = w->code->arch;
    if (insn->when == SW_WHEN_EQUAL) {
        const struct sw_val sp = w->current.reg[arch->roles->sp];
        sw_state_equal(&w->current, arch);
        sw_flow_arrive(w, insn->target, w->flags);
        w->current.reg[arch->roles->sp] = sp;
        return;
    }
    sw_flow_arrive(w, insn->target, w->flags);
    if (insn->when == SW_WHEN_DIFFERENT)
        sw_state_equal(&w->current, arch);
    if (insn->when == SW_WHEN_ABOVE && w->current.limit >= 0)
        w->current.bound = (uint32_t)w->current.limit + 1;
    if (insn->when == SW_WHEN_NOT_BELOW && w->current.limit >= 0)
        w->current.bound = (uint32_t)w->current.limit;
}

/* The address of data that is no table is of no use: a string's would only make states differ. */
static void forget_data(struct sw_analysis *w, const struct sw_insn *insn, uint64_t pc)
{
    for (unsigned i = 0; i < insn->count && i < SW_EFFECTS_MAX; i++) {
        const struct sw_effect *e = &insn->effects[i];
        if (e->kind == SW_EFFECT_NEAR && e->dst < SW_REGS_MAX && !sw_flow_may_be_table(w, pc + (uint64_t)e->imm))
            w->current.reg[e->dst] = (struct sw_val){ 0 };
    }
}

bool sw_flow_follow(struct sw_analysis *w, const struct sw_insn *insn, uint64_t pc)
{
    const uint64_t next = pc + insn->length;
    w->pc = pc;
    mark_seen(w, pc, insn->length);
    sw_state_run(&w->current, w->code->arch, insn, (uint32_t)(pc - w->begin));
    forget_data(w, insn, pc);
    w->fresh = w->fresh && insn->count == 0 && insn->flow == SW_FLOW_NEXT;
    switch (insn->flow) {
    case SW_FLOW_CALL:
        if (sw_flow_is_dead_call(w, insn, next))
            return false;
        sw_flow_arrive(w, next, (uint8_t)(w->flags | SW_BLOCK_BEHIND_CALL));
        return false;
    case SW_FLOW_RETURN:
        sw_flow_check_return(w);
        return false;
    case SW_FLOW_BRANCH:
        branch(w, insn);
        break;
    case SW_FLOW_JUMP:
        sw_flow_arrive(w, insn->target, w->flags);
        return false;
    case SW_FLOW_INDIRECT:
        if (!sw_flow_table(w) || w->end != 0) /* with known bounds all code must come from somewhere */
            sw_flow_arrive(w, pc, (uint8_t)(w->flags | SW_BLOCK_AT_INDIRECT));
        return false;
    case SW_FLOW_NEXT:
        break;
    default:
        return false;
    }
    if (sw_flow_block(w, next) == SW_NO_BLOCK)
        return true;
    sw_flow_arrive(w, next, (uint8_t)(w->flags | (w->fresh ? SW_BLOCK_BEHIND_CALL | SW_BLOCK_PADDED : 0)));
    return false;
}

static uint64_t window_of(uint64_t begin, uint64_t end)
{
    const uint64_t wanted = end > begin ? end - begin + 16 : SW_ANALYZE_NEAR;
    return wanted < SW_ANALYZE_SEEN ? wanted : SW_ANALYZE_SEEN;
}

void sw_flow_start(struct sw_analysis *w, const struct sw_code *code, uint64_t begin, uint64_t end, bool forward,
                   const int32_t *fp_above_sp)
{
    w->code = code;
    w->begin = begin;
    w->end = end;
    w->forward = forward;
    w->budget = forward ? SW_ANALYZE_INSNS / 16 : SW_ANALYZE_INSNS; /* forward, much is looked at in vain */
    w->fresh = w->again = w->doubtful = w->is_packed = false;
    w->flags = 0;
    w->behind = 0;
    w->state_count = w->block_count = w->now_count = w->later_count = w->table_count = 0;
    w->at_block = SW_NO_BLOCK;
    w->unpacked = UINT64_MAX;
    memset(w->hash, 0, sizeof w->hash);
    w->window = window_of(begin, end);
    memset(w->seen, 0, (size_t)(w->window + 7) / 8);
    memset(w->starts, 0, (size_t)(w->window + 7) / 8);
    sw_state_start(&w->current);
    w->current.has_distance = fp_above_sp != NULL;
    w->current.fp_above_sp = fp_above_sp ? *fp_above_sp : 0;
    sw_flow_arrive(w, begin, 0);
}
