/*
 * Follows the control flow from a start, along every path, with the state of each. Paths meet at blocks. Where their
 * states disagree, a path that came past a call loses (the call may never return, and the code behind it may belong to
 * something else); otherwise what differs becomes unknown. If the disagreement, or a return with a wrong sp, shows that
 * a call does not return, the call is noted and the run starts again. Everything is bounded: instructions, blocks,
 * states, visits.
 */
#include "analyze/control_flow.h"

#include <string.h>

enum {
    MOST_VISITS = 8,
    MOST_CASES = 1024,
    MOST_UNBOUNDED = 256,
    LONGEST_INSN = 16,
    WORD = 8,
    START_UNITS = 16, /* what a run costs before its first instruction */
    PATH = SW_BLOCK_AFTER_CALL | SW_BLOCK_ASSUMED | SW_BLOCK_PADDED
};

/* ---- where paths meet ---- */

enum right_path { NEITHER, THE_NEW_PATH, THE_BLOCK };

/*
 * At an address, sp has one value whichever way the code is reached. Where two paths disagree, one of them went on
 * behind a call that does not return. The path that passed no call is right; else the one with less on the stack, since
 * arguments were pushed for the call. NEITHER: cannot be decided.
 */
static enum right_path right_path(const struct sw_analysis *w, const struct sw_block *block)
{
    const struct sw_val old = sw_flow_sp(w, &w->states[block->state]), now = sw_flow_sp(w, &w->other);
    if (old.base != now.base || old.point != now.point || old.base == SW_VAL_POINT || old.deref || now.deref ||
        old.off == now.off)
        return NEITHER;
    if (block->flags & SW_BLOCK_ASSUMED)
        return THE_BLOCK; /* the first elements of a table are cases, the last ones may not be */
    if (block->return_point == 0 && w->return_point == 0)
        return NEITHER;
    if (block->return_point == 0 || w->return_point == 0)
        return block->return_point == 0 ? THE_BLOCK : THE_NEW_PATH;
    return old.off > now.off ? THE_BLOCK : THE_NEW_PATH;
}

/*
 * Merges the block's state into the path's, w->other, where sp has one value. old_doubt, new_doubt: of the block and of
 * the path. False: the path is dropped.
 */
static bool merge_by_sp(struct sw_analysis *w, const struct sw_block *block, unsigned old_doubt, unsigned new_doubt)
{
    const struct sw_val old_sp = sw_flow_sp(w, &w->states[block->state]), new_sp = sw_flow_sp(w, &w->other);
    enum right_path right = new_doubt < old_doubt ? THE_NEW_PATH : THE_BLOCK;
    if (old_doubt == new_doubt)
        right = right_path(w, block);
    if (old_doubt == 1 && new_doubt == 0 && !sw_val_same(old_sp, new_sp))
        sw_flow_mark_noreturn(w, sw_flow_return_point(w, block));
    if (old_doubt == new_doubt && right == THE_NEW_PATH)
        sw_flow_mark_noreturn(w, sw_flow_find_noreturn(w, block->return_point, old_sp, new_sp));
    if (old_doubt == new_doubt && right == THE_BLOCK)
        sw_flow_mark_noreturn(w, sw_flow_find_noreturn(w, w->return_point, new_sp, old_sp));
    if (right == NEITHER)
        sw_state_meet(&w->other, &w->states[block->state], w->code->arch, (uint32_t)(block->address - w->begin));
    return right != THE_BLOCK;
}

/* The same where sp may be anywhere below fp. */
static bool merge_by_fp(struct sw_analysis *w, const struct sw_block *block, unsigned old_doubt, unsigned new_doubt)
{
    if (old_doubt == new_doubt)
        sw_state_meet(&w->other, &w->states[block->state], w->code->arch, (uint32_t)(block->address - w->begin));
    else if (old_doubt < new_doubt)
        sw_state_copy(&w->other, &w->states[block->state]);
    sw_state_lose_sp(&w->other, w->code->arch);
    return true;
}

static bool merge(struct sw_analysis *w, const struct sw_block *block, unsigned old_doubt, unsigned new_doubt)
{
    const struct sw_state *there = &w->states[block->state];
    const bool by_fp = !sw_val_same(sw_flow_sp(w, there), sw_flow_sp(w, &w->other)) &&
                       sw_state_share_frame(there, &w->other, w->code->arch);
    return by_fp ? merge_by_fp(w, block, old_doubt, new_doubt) : merge_by_sp(w, block, old_doubt, new_doubt);
}

/* A second path reaches a block with another state (in w->other). */
static void merge_into_block(struct sw_analysis *w, uint16_t at, uint8_t flags)
{
    struct sw_block *block = &w->blocks[at];
    if (!merge(w, block, sw_flow_doubt(block->flags), sw_flow_doubt(flags)) || block->visits >= MOST_VISITS)
        return;
    const uint16_t state = sw_flow_intern(w, &w->other);
    if (sw_flow_doubt(flags) <= sw_flow_doubt(block->flags))
        block->flags = (uint8_t)((block->flags & ~PATH) | (flags & PATH));
    if (state == SW_NO_STATE || state == block->state)
        return;
    block->state = state;
    block->return_point = w->return_point;
    block->visits++;
    sw_flow_queue(w, at);
}

/* The same state, on a path in less doubt. Then what follows it is in less doubt as well. */
static void make_certain(struct sw_analysis *w, uint16_t at, uint8_t flags)
{
    struct sw_block *block = &w->blocks[at];
    const bool was_assumed = block->flags & SW_BLOCK_ASSUMED;
    block->flags = (uint8_t)((block->flags & ~PATH) | (flags & PATH));
    if (was_assumed)
        sw_flow_queue(w, at);
}

/* ---- paths ---- */

void sw_flow_arrive(struct sw_analysis *w, uint64_t address, uint8_t flags)
{
    if (w->end != 0 && (address < w->begin || address >= w->end))
        return; /* leaves the function: a tail call */
    sw_state_copy(&w->other, &w->current);
    sw_state_trim(&w->other, w->code->arch, w->forward);
    sw_flow_settle_data(w, &w->other);
    const uint16_t at = sw_flow_block(w, address);
    if (at == SW_NO_BLOCK) {
        sw_flow_add_block(w, address, flags);
        return;
    }
    struct sw_block *block = &w->blocks[at];
    if (flags & SW_BLOCK_AT_INDIRECT)
        block->flags |= SW_BLOCK_AT_INDIRECT;
    else if (!sw_state_same(&w->states[block->state], &w->other))
        merge_into_block(w, at, flags);
    else if (sw_flow_doubt(flags) < sw_flow_doubt(block->flags))
        make_certain(w, at, flags);
}

/* ---- switch tables ---- */

static bool enter_cases(struct sw_analysis *w)
{
    const struct sw_val table = w->current.reg[w->code->arch->roles->pc];
    const uint32_t bound = w->current.bound;
    uint64_t target;
    if (table.base != SW_VAL_TABLE || ((table.point & 0xff) != 8 && !table.deref))
        return false;
    if (bound == 0 || bound > MOST_CASES) {
        sw_flow_keep_table(w, table);
        return false;
    }
    for (uint32_t i = 0; i < bound && sw_meter_pay(w->code->meter, 1); i++)
        if (sw_flow_element(w, table, i, &target))
            sw_flow_arrive(w, target, w->flags);
    return true;
}

/*
 * Follows the next element. False: the table ends here, because the element leads nowhere near, or into an instruction.
 */
static bool enter_element(struct sw_analysis *w, struct sw_open_table *open)
{
    uint64_t target;
    w->pc = open->jump;
    if (open->next == MOST_UNBOUNDED || !sw_meter_pay(w->code->meter, 1) ||
        !sw_flow_element(w, open->table, open->next, &target) ||
        (sw_flow_was_seen(w, target) && !sw_flow_is_insn_start(w, target)))
        return false;
    open->next++;
    sw_state_copy(&w->current, &w->states[open->state]);
    w->return_point = open->return_point;
    w->flags = SW_BLOCK_ASSUMED;
    sw_flow_arrive(w, target, w->flags);
    return true;
}

static bool enter_next_case(struct sw_analysis *w)
{
    for (unsigned i = 0; i < w->table_count; i++)
        while (enter_element(w, &w->tables[i]))
            if (w->queue_count + w->deferred_count != 0)
                return true;
    return false;
}

/* ---- the run ---- */

static struct sw_index_bound *bound_slot(struct sw_analysis *w, uint64_t address)
{
    return &w->bounds[(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SW_ANALYZE_BOUNDS];
}

/* Enters a block: its state, and the calls and doubts of the path to it. */
static void enter_block(struct sw_analysis *w, const struct sw_block *block)
{
    sw_state_copy(&w->current, &w->states[block->state]);
    w->only_padding = block->flags & SW_BLOCK_AFTER_CALL;
    w->return_point = w->only_padding ? sw_flow_return_point(w, block) : block->return_point;
    w->flags = block->flags & SW_BLOCK_ASSUMED;
    w->element_base = SW_NOREG;
    w->has_data = false;
    const struct sw_index_bound *index = bound_slot(w, block->address);
    if (index->block == block->address)
        w->current.bound = index->bound;
}

static uint64_t distance(const struct sw_analysis *w, uint16_t block)
{
    const uint64_t address = w->blocks[block].address;
    return address < w->begin ? w->begin - address : address - w->begin;
}

/*
 * A block in doubt: forward from a pc the nearest, since behind a call that does not return the code of other functions
 * begins, and there is room for so many states only; else the last one that was met.
 */
static uint16_t take_deferred(struct sw_analysis *w)
{
    const unsigned last = --w->deferred_count;
    unsigned best = last;
    for (unsigned i = last; w->forward && i-- > 0;)
        if (distance(w, w->deferred[i]) < distance(w, w->deferred[best]))
            best = i;
    const uint16_t block = w->deferred[best];
    w->deferred[best] = w->deferred[last];
    return block;
}

bool sw_flow_next(struct sw_analysis *w, uint64_t *pc)
{
    uint16_t block;
    if (w->queue_count)
        block = w->queue[--w->queue_count];
    else if (w->deferred_count)
        block = take_deferred(w);
    else
        return enter_next_case(w) && sw_flow_next(w, pc);
    enter_block(w, &w->blocks[block]);
    *pc = w->blocks[block].address;
    return true;
}

bool sw_flow_insn(struct sw_analysis *w, uint64_t pc, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes;
    if (w->budget == 0 || !sw_meter_pay(w->code->meter, 1)) {
        w->hit_bound = true;
        return false;
    }
    w->budget--;
    bytes = w->code->fetch(w->code->arg, pc, &size);
    const bool is_insn = bytes && w->code->arch->decode(bytes, size, pc, insn) == SW_OK;
    sw_meter_note(w->code->meter, pc, is_insn ? insn->length : LONGEST_INSN);
    return is_insn;
}

/* What a comparison with a limit says of an index, on the way where it is smaller. */
static void bound_index(struct sw_analysis *w, const struct sw_insn *insn, uint32_t limit)
{
    const bool is_taken = insn->when == SW_WHEN_NOT_ABOVE || insn->when == SW_WHEN_BELOW;
    const uint32_t bound = limit + (insn->when == SW_WHEN_ABOVE || insn->when == SW_WHEN_NOT_ABOVE);
    if (is_taken)
        *bound_slot(w, insn->target) = (struct sw_index_bound){ insn->target, bound };
    else if (insn->when == SW_WHEN_ABOVE || insn->when == SW_WHEN_NOT_BELOW)
        w->current.bound = bound;
}

/* Both ways of a branch. The taken one becomes a block, the other stays in w->current. */
static void branch(struct sw_analysis *w, const struct sw_insn *insn)
{
    const struct sw_arch *arch = w->code->arch;
    if (insn->when == SW_WHEN_EQUAL) {
        const struct sw_val sp = w->current.reg[arch->roles->sp];
        sw_state_assume_equal(&w->current, arch);
        sw_flow_arrive(w, insn->target, w->flags);
        w->current.reg[arch->roles->sp] = sp;
        return;
    }
    sw_flow_arrive(w, insn->target, w->flags);
    if (insn->when == SW_WHEN_DIFFERENT)
        sw_state_assume_equal(&w->current, arch);
    if (w->current.limit >= 0)
        bound_index(w, insn, (uint32_t)w->current.limit);
}

/* Of calls of functions it is noted what they call, so that each is looked at once. */
static enum sw_flow_outlined run_outlined(struct sw_analysis *w, const struct sw_insn *insn, uint64_t next)
{
    uint64_t *function = &w->functions[insn->target / w->code->arch->insn_bytes % SW_ANALYZE_FUNCTIONS];
    if (insn->target == 0 || !sw_arch_has_link(w->code->arch) || *function == insn->target)
        return SW_NOT_OUTLINED;
    const enum sw_flow_outlined is = sw_flow_run_outlined(w, insn, next, &w->current, &w->other);
    if (is == SW_NOT_OUTLINED)
        *function = insn->target;
    else
        sw_state_copy(&w->current, &w->other);
    return is;
}

/* The code behind a call goes on, unless that never returns; a piece of the function's own code always does. */
static void follow_call(struct sw_analysis *w, const struct sw_insn *insn, uint64_t pc)
{
    const uint64_t next = pc + insn->length;
    if (sw_flow_is_noreturn(w, insn, next))
        return;
    const enum sw_flow_outlined is = run_outlined(w, insn, next);
    if (is == SW_NOT_OUTLINED)
        sw_state_run(&w->current, w->code->arch, insn, (uint32_t)(pc - w->begin));
    sw_flow_arrive(w, next, (uint8_t)(w->flags | (is == SW_OUTLINED_RETURNS ? 0 : SW_BLOCK_AFTER_CALL)));
}

bool sw_flow_drops(const struct sw_analysis *w, const struct sw_insn *insn)
{
    return insn->flow == SW_FLOW_INDIRECT && insn->count != 0 && insn->effects[0].kind == SW_EFFECT_SET &&
           insn->effects[0].dst == w->code->arch->roles->sp;
}

/* Whether the code at an address is a thunk that stands for a jump through a register. */
static bool is_thunk(const struct sw_analysis *w, uint64_t address)
{
    const struct sw_code_patterns *patterns = w->code->arch->patterns;
    return patterns->is_thunk && patterns->is_thunk(w->code, address);
}

/*
 * A jump to such a thunk is an indirect jump, which cases of a switch may follow. So is one that stands in the function
 * itself; its first instruction is a jump that pushes.
 */
static void jump(struct sw_analysis *w, const struct sw_insn *insn, uint64_t pc)
{
    struct sw_val *sp = &w->current.reg[w->code->arch->roles->sp];
    const bool pushes = insn->count != 0, is_indirect = is_thunk(w, pushes ? pc : insn->target);
    if (pushes || !is_indirect)
        sw_flow_arrive(w, insn->target, w->flags);
    if (pushes) /* as in front of it */
        *sp = sw_val_plus(*sp, WORD);
    if (is_indirect)
        sw_flow_arrive(w, pc, (uint8_t)(w->flags | SW_BLOCK_AT_INDIRECT));
}

static bool ends_at_return(struct sw_analysis *w)
{
    w->returned = true;
    sw_flow_check_return(w);
    return false;
}

bool sw_flow_follow(struct sw_analysis *w, const struct sw_insn *insn, uint64_t pc)
{
    const uint64_t next = pc + insn->length;
    w->pc = pc;
    if (sw_flow_runs_into_function(w, insn)) {
        sw_flow_mark_noreturn(w, w->return_point);
        return false;
    }
    sw_flow_mark_seen(w, pc, insn->length);
    sw_flow_note_data(w, insn);
    if (insn->flow == SW_FLOW_CALL) {
        follow_call(w, insn, pc);
        return false;
    }
    sw_state_run(&w->current, w->code->arch, insn, (uint32_t)(pc - w->begin));
    w->only_padding = w->only_padding && insn->count == 0 && insn->flow == SW_FLOW_NEXT;
    switch (insn->flow) {
    case SW_FLOW_RETURN:
        return ends_at_return(w);
    case SW_FLOW_BRANCH:
        branch(w, insn);
        break;
    case SW_FLOW_JUMP:
        jump(w, insn, pc);
        return false;
    case SW_FLOW_INDIRECT:
        if (sw_flow_drops(w, insn))
            return false;
        if (sw_state_returns(&w->current, w->code->arch))
            return ends_at_return(w);
        if (sw_flow_wants_table(w))
            return false;
        if (!enter_cases(w) || w->end != 0) /* with known bounds, all code must be reached from somewhere */
            sw_flow_arrive(w, pc, (uint8_t)(w->flags | SW_BLOCK_AT_INDIRECT));
        return false;
    case SW_FLOW_NEXT:
        break;
    default:
        return false;
    }
    if (sw_flow_block(w, next) == SW_NO_BLOCK)
        return true;
    sw_flow_arrive(w, next, (uint8_t)(w->flags | (w->only_padding ? SW_BLOCK_AFTER_CALL | SW_BLOCK_PADDED : 0)));
    return false;
}

static uint64_t window_of(uint64_t begin, uint64_t end)
{
    const uint64_t wanted = end > begin ? end - begin + 16 : SW_ANALYZE_NEAR;
    return wanted < SW_ANALYZE_SEEN ? wanted : SW_ANALYZE_SEEN;
}

void sw_flow_forget_runs(struct sw_analysis *w)
{
    w->noreturn_count = w->noreturn_target_count = 0;
    w->data_kept = 0;
    memset(w->functions, 0, sizeof w->functions);
}

void sw_flow_start(struct sw_analysis *w, const struct sw_code *code, uint64_t begin, uint64_t end, bool forward,
                   struct sw_fp_distance *fp)
{
    (void)sw_meter_pay(code->meter, START_UNITS);
    w->code = code;
    w->begin = begin;
    w->end = end;
    w->forward = forward;
    w->budget = forward ? SW_ANALYZE_INSNS / 16 : SW_ANALYZE_INSNS; /* most forward runs find nothing */
    w->only_padding = w->restart = w->hit_bound = w->is_packed = false;
    w->flags = 0;
    w->return_point = 0;
    w->table_count = 0;
    w->cursor_block = SW_NO_BLOCK;
    w->unpacked = UINT64_MAX;
    w->data_dropped = 0;
    w->element_base = SW_NOREG;
    w->has_data = false;
    memset(w->bounds, 0, sizeof w->bounds);
    w->covered = window_of(begin, end);
    sw_flow_forget_blocks(w);
    sw_state_start(&w->current);
    w->current.fp = fp;
    sw_flow_arrive(w, begin, 0);
}
