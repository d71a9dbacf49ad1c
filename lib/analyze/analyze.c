/*
 * Control flow: from a start, along every path, with the state of each. Paths meet at blocks; where they disagree, a
 * path that came past a call gives way (the call may never return, and what lies behind it may belong to something
 * else), otherwise what differs is unknown. A call that is shown not to return by that, or by a return at which sp is
 * not what it was, is remembered and everything done again. All is bounded: instructions, blocks, states, visits.
 */
#include "analyze/analyze.h"
#include "base/bytes.h"

#include <string.h>

enum { BEHIND_CALL = 1, AT_INDIRECT = 2, USED = 4, NO_STATE = 0xffff };
enum { MOST_VISITS = 8, MOST_GAPS = 64, MOST_CASES = 1024, MOST_UNBOUNDED = 256, MOST_AGAIN = 6 };

/* ---- what was seen: one bit a byte behind begin ---- */

static void mark_seen(struct sw_analysis *w, uint64_t pc, unsigned length)
{
    for (uint64_t at = pc - w->begin, end = at + length; at < end && at < SW_ANALYZE_SEEN; at++)
        w->seen[at / 8] |= (uint8_t)(1u << at % 8);
}

static bool was_seen(const struct sw_analysis *w, uint64_t at)
{
    return w->seen[at / 8] >> at % 8 & 1;
}

/* ---- states and blocks ---- */

/* The index of a trimmed state, kept once. */
static uint16_t intern(struct sw_analysis *w, const struct sw_state *state)
{
    for (uint16_t i = w->state_count; i-- > 0;)
        if (sw_state_same(&w->states[i], state))
            return i;
    if (w->state_count == SW_ANALYZE_STATES) {
        w->doubtful = true;
        return NO_STATE;
    }
    w->states[w->state_count] = *state;
    return w->state_count++;
}

static uint16_t hash_slot(const struct sw_analysis *w, uint64_t address)
{
    unsigned i = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (2 * SW_ANALYZE_BLOCKS);
    while ((w->blocks[i].flags & USED) && w->blocks[i].address != address)
        i = (i + 1) % (2 * SW_ANALYZE_BLOCKS);
    return (uint16_t)i;
}

static bool has_block(const struct sw_analysis *w, uint64_t address)
{
    return w->blocks[hash_slot(w, address)].flags & USED;
}

static void queue(struct sw_analysis *w, uint16_t block)
{
    if (w->blocks[block].flags & BEHIND_CALL) {
        if (w->later_count < SW_ANALYZE_BLOCKS)
            w->later[w->later_count++] = block;
    } else if (w->now_count < SW_ANALYZE_BLOCKS) {
        w->now[w->now_count++] = block;
    }
}

static void add_block(struct sw_analysis *w, uint16_t at, uint64_t address, uint8_t flags)
{
    const uint16_t state = intern(w, &w->other);
    if (state == NO_STATE || w->block_count == SW_ANALYZE_BLOCKS) {
        w->doubtful = true;
        return;
    }
    w->blocks[at] = (struct sw_block){ address, w->behind, state, (uint8_t)(flags | USED), 1 };
    w->block_count++;
    if (!(flags & AT_INDIRECT))
        queue(w, at);
}

/* ---- calls that do not return ---- */

static bool is_dead(const struct sw_analysis *w, uint64_t address)
{
    for (unsigned i = 0; i < w->dead_count; i++)
        if (w->dead[i] == (uint32_t)(address - w->begin))
            return true;
    return false;
}

static void blame(struct sw_analysis *w, uint32_t behind)
{
    if (behind == 0 || w->forward || w->dead_count == SW_ANALYZE_DEAD || is_dead(w, w->begin + behind))
        return;
    w->dead[w->dead_count++] = behind;
    w->again = true;
}

/* A function returns with the sp that it was called with; a path that does otherwise went where no call returned to. */
static void check_return(struct sw_analysis *w)
{
    const unsigned sp = sw_regs_sp_number(w->code->machine);
    const struct sw_val v = w->current.reg[sp];
    const bool x64 = w->code->machine == SW_MACHINE_X64;
    if (v.base == sp + 1 && !v.deref && (x64 ? v.off < 8 : v.off != 0))
        blame(w, w->behind);
}

static bool differs_in_sp(const struct sw_analysis *w, const struct sw_block *block)
{
    const unsigned sp = sw_regs_sp_number(w->code->machine);
    return !sw_val_same(w->states[block->state].reg[sp], w->other.reg[sp]);
}

/* A second path comes to a block with another state (in w->other). */
static void meet_block(struct sw_analysis *w, uint16_t at, uint8_t flags)
{
    struct sw_block *block = &w->blocks[at];
    const bool was_behind = block->flags & BEHIND_CALL, is_behind = flags & BEHIND_CALL;
    if (was_behind != is_behind && differs_in_sp(w, block))
        blame(w, (uint32_t)(block->address - w->begin));
    if ((is_behind && !was_behind) || block->visits >= MOST_VISITS)
        return;
    if (was_behind == is_behind)
        sw_state_meet(&w->other, &w->states[block->state], w->code->machine, (uint32_t)(block->address - w->begin));
    const uint16_t state = intern(w, &w->other);
    block->flags = (uint8_t)((block->flags & ~BEHIND_CALL) | (is_behind ? BEHIND_CALL : 0));
    if (state == NO_STATE || state == block->state)
        return;
    block->state = state;
    block->behind = w->behind;
    block->visits++;
    queue(w, at);
}

/* A path in the state w->current comes to an address. */
static void arrive(struct sw_analysis *w, uint64_t address, uint8_t flags)
{
    if (w->end != 0 && (address < w->begin || address >= w->end))
        return; /* a tail call */
    w->other = w->current;
    sw_state_trim(&w->other, w->code->machine, w->forward);
    const uint16_t at = hash_slot(w, address);
    if (!(w->blocks[at].flags & USED))
        add_block(w, at, address, flags);
    else if (flags & AT_INDIRECT)
        w->blocks[at].flags |= AT_INDIRECT;
    else if (!sw_state_same(&w->states[w->blocks[at].state], &w->other))
        meet_block(w, at, flags);
    else if (!(flags & BEHIND_CALL))
        w->blocks[at].flags &= (uint8_t)~BEHIND_CALL;
}

static bool next_block(struct sw_analysis *w, uint16_t *block)
{
    if (w->now_count)
        *block = w->now[--w->now_count];
    else if (w->later_count)
        *block = w->later[--w->later_count];
    else
        return false;
    return true;
}

/* ---- running code ---- */

static bool next_insn(struct sw_analysis *w, uint64_t pc, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes;
    if (w->budget == 0) {
        w->doubtful = true;
        return false;
    }
    w->budget--;
    bytes = w->code->fetch(w->code->arg, pc, &size);
    return bytes && w->code->decode(bytes, size, pc, insn) == SW_OK;
}

/* Both ways of a branch: the taken one becomes a block, the other stays in w->current. */
static void branch(struct sw_analysis *w, const struct sw_insn *insn)
{
    const enum sw_machine machine = w->code->machine;
    if (insn->when == SW_WHEN_EQUAL) {
        struct sw_val sp = w->current.reg[sw_regs_sp_number(machine)];
        sw_state_equal(&w->current, machine);
        arrive(w, insn->target, 0);
        w->current.reg[sw_regs_sp_number(machine)] = sp;
        return;
    }
    arrive(w, insn->target, 0);
    if (insn->when == SW_WHEN_DIFFERENT)
        sw_state_equal(&w->current, machine);
    if (insn->when == SW_WHEN_ABOVE && w->current.limit >= 0)
        w->current.bound = (uint32_t)w->current.limit + 1;
    if (insn->when == SW_WHEN_NOT_BELOW && w->current.limit >= 0)
        w->current.bound = (uint32_t)w->current.limit;
}

/* Where element i of a jump table leads. */
static bool table_target(const struct sw_analysis *w, struct sw_val table, uint32_t i, uint64_t *target)
{
    const unsigned width = table.point & 0xff;
    const uint64_t at = w->begin + (uint64_t)(int64_t)table.off + (uint64_t)i * width;
    size_t size;
    const uint8_t *bytes = w->code->fetch(w->code->arg, at, &size);
    if (!bytes || size < width)
        return false;
    *target = sw_load_le(bytes, width);
    if (!(table.point & SW_ELEMENT_UNSIGNED))
        *target = (uint64_t)sw_sign_extend(*target, 8 * width);
    if (table.deref)
        *target += w->begin + (uint64_t)(int64_t)table.add;
    const uint64_t near = w->end ? w->end - w->begin : SW_ANALYZE_SEEN;
    return *target - w->begin < near;
}

/*
 * The cases of a switch. Without a bound the table is read as long as it leads into the function; it may run into the
 * next one.
 */
static void follow_table(struct sw_analysis *w)
{
    const struct sw_val table = w->current.reg[sw_regs_pc_number(w->code->machine)];
    const bool bounded = w->current.bound != 0 && w->current.bound <= MOST_CASES;
    const uint32_t count = bounded ? w->current.bound : MOST_UNBOUNDED;
    if (table.base != SW_VAL_TABLE || ((table.point & 0xff) != 8 && !table.deref))
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t target;
        if (table_target(w, table, i, &target))
            arrive(w, target, 0);
        else if (!bounded)
            break;
    }
}

/* Effects and control flow of one instruction. False: the path does not go on behind it. */
static bool follow(struct sw_analysis *w, const struct sw_insn *insn, uint64_t pc)
{
    const uint64_t next = pc + insn->length;
    sw_state_run(&w->current, w->code->machine, insn, (uint32_t)(pc - w->begin));
    w->fresh = w->fresh && insn->count == 0 && insn->flow == SW_FLOW_NEXT;
    switch (insn->flow) {
    case SW_FLOW_CALL:
        if (!is_dead(w, next))
            arrive(w, next, BEHIND_CALL);
        return false;
    case SW_FLOW_RETURN:
        check_return(w);
        return false;
    case SW_FLOW_BRANCH:
        branch(w, insn);
        break;
    case SW_FLOW_JUMP:
        arrive(w, insn->target, 0);
        return false;
    case SW_FLOW_INDIRECT:
        follow_table(w);
        arrive(w, pc, AT_INDIRECT);
        return false;
    case SW_FLOW_NEXT:
        break;
    default:
        return false;
    }
    if (!has_block(w, next))
        return true;
    arrive(w, next, w->fresh ? BEHIND_CALL : 0);
    return false;
}

/* The state of a block, and where its path went. */
static void enter_block(struct sw_analysis *w, uint16_t at)
{
    const struct sw_block *block = &w->blocks[at];
    w->current = w->states[block->state];
    w->fresh = block->flags & BEHIND_CALL;
    w->behind = w->fresh ? (uint32_t)(block->address - w->begin) : block->behind;
}

static void start(struct sw_analysis *w, const struct sw_code *code, uint64_t begin, uint64_t end, bool forward,
                  const int32_t *fp_above_sp)
{
    w->code = code;
    w->begin = begin;
    w->end = end;
    w->target = 0;
    w->forward = forward;
    w->budget = end ? SW_ANALYZE_INSNS : SW_ANALYZE_INSNS / 4; /* without bounds much is looked at in vain */
    w->doubtful = w->reached = w->again = false;
    w->behind = 0;
    w->reached_from = NO_STATE;
    w->state_count = w->block_count = w->now_count = w->later_count = 0;
    memset(w->blocks, 0, sizeof w->blocks);
    memset(w->seen, 0, sizeof w->seen);
    sw_state_start(&w->current);
    w->current.has_distance = fp_above_sp != NULL;
    w->current.fp_above_sp = fp_above_sp ? *fp_above_sp : 0;
    arrive(w, begin, 0);
}

/* ---- the rule inside a function ---- */

/* The state in front of the instruction that holds the target; the last word has the block that said it last. */
static void reach(struct sw_analysis *w, uint16_t block)
{
    const bool behind = w->blocks[block].flags & BEHIND_CALL;
    if (w->reached && w->reached_from != block) {
        const bool was_behind = w->blocks[w->reached_from].flags & BEHIND_CALL;
        if (behind && !was_behind)
            return;
        if (behind == was_behind) {
            sw_state_meet(&w->at_target, &w->current, w->code->machine, (uint32_t)(w->target - w->begin));
            return;
        }
    }
    w->at_target = w->current;
    w->reached = true;
    w->reached_from = block;
}

static void run_block(struct sw_analysis *w, uint16_t block)
{
    uint64_t pc = w->blocks[block].address;
    struct sw_insn insn;
    enter_block(w, block);
    while ((w->end == 0 || pc < w->end) && next_insn(w, pc, &insn)) {
        mark_seen(w, pc, insn.length);
        if (insn.flow == SW_FLOW_CALL) /* pc inside of it is a return address: the callee has been */
            sw_state_give_below(&w->current, w->code->machine);
        if (w->target - pc < insn.length)
            reach(w, block);
        if (!follow(w, &insn, pc))
            return;
        pc += insn.length;
    }
}

static void run_blocks(struct sw_analysis *w)
{
    uint16_t block;
    while (next_block(w, &block))
        run_block(w, block);
}

/*
 * Code up to the target that no path led to: the cases of a switch, or landing pads. The state of the nearest indirect
 * jump in front of it is taken, else that of one behind it, else that of the nearest call in front; that of a jump with
 * the sp of the entry, which may be a tail call, last of all.
 */
static unsigned likelihood(const struct sw_analysis *w, const struct sw_block *block, uint64_t gap)
{
    const bool before = block->address <= gap;
    const unsigned sp = sw_regs_sp_number(w->code->machine);
    if ((block->flags & AT_INDIRECT) && sw_val_is_start(w->states[block->state].reg[sp], sp))
        return before ? 1 : 0;
    if (block->flags & AT_INDIRECT)
        return before ? 4 : 3;
    return (block->flags & BEHIND_CALL) && before ? 2 : 0;
}

static const struct sw_block *likely_origin(const struct sw_analysis *w, uint64_t gap)
{
    const struct sw_block *best = NULL;
    unsigned most = 0;
    for (unsigned i = 0; i < 2 * SW_ANALYZE_BLOCKS; i++) {
        const struct sw_block *b = &w->blocks[i];
        const unsigned here = likelihood(w, b, gap);
        const bool nearer = best && (here == 3 ? b->address < best->address : b->address > best->address);
        if (here == 0 || here < most || (here == most && !nearer))
            continue;
        best = b;
        most = here;
    }
    return best;
}

/* Nothing but instructions without effect up to code that was seen, or a trap: filling. */
static bool is_padding(struct sw_analysis *w, uint64_t at)
{
    struct sw_insn insn;
    while (at < SW_ANALYZE_SEEN && !was_seen(w, at)) {
        if (!next_insn(w, w->begin + at, &insn) || insn.flow == SW_FLOW_TRAP) {
            mark_seen(w, w->begin + at, 1);
            return true;
        }
        if (insn.count != 0 || insn.flow != SW_FLOW_NEXT)
            return false;
        mark_seen(w, w->begin + at, insn.length);
        at += insn.length;
    }
    return true;
}

/* The next byte behind seen ones that is not seen and no filling, below `stop`; else stop. */
static uint64_t next_gap(struct sw_analysis *w, uint64_t stop)
{
    for (uint64_t at = 1; at < stop; at++) {
        if (at % 8 == 0 && w->seen[at / 8] == 0 && !was_seen(w, at - 1)) {
            at += 7;
            continue;
        }
        if (!was_seen(w, at) && was_seen(w, at - 1) && !is_padding(w, at))
            return at;
    }
    return stop;
}

static bool enter_gap(struct sw_analysis *w)
{
    const uint64_t wanted = w->target - w->begin + 1;
    const uint64_t stop = wanted < SW_ANALYZE_SEEN ? wanted : SW_ANALYZE_SEEN;
    const uint64_t at = next_gap(w, stop);
    if (at == stop)
        return false;
    w->doubtful = true;
    const struct sw_block *origin = likely_origin(w, w->begin + at);
    if (!origin || (w->end == 0 && !(origin->flags & AT_INDIRECT)))
        return false; /* behind an end that is not known only a switch may go on */
    w->seen[at / 8] |= (uint8_t)(1u << at % 8);
    w->current = w->states[origin->state];
    arrive(w, w->begin + at, 0);
    return true;
}

/* Every path there is; then the code up to the target that none led to. */
static void run_all(struct sw_analysis *w)
{
    run_blocks(w);
    for (unsigned more = 0; w->again && more < MOST_AGAIN; more++) {
        const uint64_t target = w->target;
        start(w, w->code, w->begin, w->end, false, NULL);
        w->target = target;
        run_blocks(w);
    }
    for (unsigned gaps = 0; !w->reached && gaps < MOST_GAPS && enter_gap(w); gaps++)
        run_blocks(w);
}

enum sw_status sw_analyze_function(const struct sw_code *code, uint64_t begin, uint64_t end, uint64_t pc,
                                   struct sw_analysis *work, struct sw_rule *rule)
{
    work->dead_count = 0;
    start(work, code, begin, end, false, NULL);
    work->target = pc;
    run_all(work);
    if (!work->reached || !sw_extract_inside(&work->at_target, code->machine, rule))
        return SW_E_NO_RULE;
    if (work->doubtful)
        rule->trust = SW_TRUST_GUESS;
    return SW_OK;
}

/* ---- forward to a return ---- */

struct showing {
    struct sw_rule rule;
    bool (*accept)(void *arg, const struct sw_rule *rule);
    void *arg;
};

static bool show(struct sw_analysis *w, struct showing *to)
{
    return sw_extract_return(&w->current, w->code->machine, &to->rule) && to->accept(to->arg, &to->rule);
}

/* As if a return stood here: the state of a tail call. */
static bool show_return(struct sw_analysis *w, struct showing *to)
{
    const enum sw_machine machine = w->code->machine;
    const unsigned sp = sw_regs_sp_number(machine), pc = sw_regs_pc_number(machine);
    const struct sw_insn x64_ret = { .count = 2,
                                     .flow = SW_FLOW_RETURN,
                                     .effects = { { SW_EFFECT_LOAD, (uint8_t)pc, (uint8_t)sp, 8, 0 },
                                                  { SW_EFFECT_SET, (uint8_t)sp, (uint8_t)sp, 8, 8 } } };
    const struct sw_insn arm64_ret = { .count = 1,
                                       .flow = SW_FLOW_RETURN,
                                       .effects = { { SW_EFFECT_SET, (uint8_t)pc, SW_ARM64_LR, 8, 0 } } };
    sw_state_run(&w->current, machine, machine == SW_MACHINE_X64 ? &x64_ret : &arm64_ret, 0);
    return show(w, to);
}

/*
 * A jump through a word that the instruction names: a tail call into another image, or a PLT entry that is not bound
 * yet and leads on to the resolver. If it is not the first, it is followed.
 */
static bool jump_through(struct sw_analysis *w, uint64_t slot, struct showing *to)
{
    size_t size;
    w->other = w->current;
    if (show_return(w, to))
        return true;
    w->current = w->other;
    const uint8_t *bytes = w->code->fetch(w->code->arg, slot, &size);
    if (bytes && size >= sizeof(uint64_t))
        arrive(w, sw_load64(bytes), 0);
    return false;
}

static bool run_forward(struct sw_analysis *w, uint16_t block, struct showing *to)
{
    uint64_t pc = w->blocks[block].address;
    struct sw_insn insn;
    enter_block(w, block);
    while (next_insn(w, pc, &insn)) {
        const bool on = follow(w, &insn, pc);
        if (insn.flow == SW_FLOW_RETURN)
            return show(w, to);
        if (insn.flow == SW_FLOW_INDIRECT && insn.slot)
            return jump_through(w, insn.slot, to);
        if (!on)
            return false;
        pc += insn.length;
    }
    return false;
}

/* A jump through a register or memory may be a tail call: then the return address is where a return would find it. */
static bool show_tail_calls(struct sw_analysis *w, struct showing *to)
{
    for (unsigned i = 0; i < 2 * SW_ANALYZE_BLOCKS; i++) {
        if (!(w->blocks[i].flags & AT_INDIRECT))
            continue;
        w->current = w->states[w->blocks[i].state];
        if (show_return(w, to))
            return true;
    }
    return false;
}

enum sw_status sw_analyze_forward(const struct sw_code *code, uint64_t pc, const int32_t *fp_above_sp,
                                  struct sw_analysis *work, bool (*accept)(void *arg, const struct sw_rule *rule),
                                  void *arg)
{
    struct showing to = { .accept = accept, .arg = arg };
    uint16_t block;
    work->dead_count = 0;
    start(work, code, pc, 0, true, fp_above_sp);
    while (next_block(work, &block))
        if (run_forward(work, block, &to))
            return SW_OK;
    return show_tail_calls(work, &to) ? SW_OK : SW_E_NO_RULE;
}
