/*
 * Pieces of functions that a compiler has put elsewhere, to be shared: a call leads there, and they save and restore
 * the caller's registers in the caller's frame, move its stack pointer, and return; or they end in a jump. Where a call
 * leads to one, what it does is done here. Knows a piece by its shape: it is short, each instruction follows from the
 * one before, and it changes what a function must leave as it was. That it comes back to the call is looked at when it
 * is run; code that is a function after all does then what it does, and no more. prologue-shapes.md section 4.
 */
#include "analyze/control_flow.h"

enum { MOST_INSNS = 128, MOST_JUMPS = 3, MOST_CALLS = 2, LONGEST_INSN = 16, LOOKED_AT_A_UNIT = 4 };

/* ---- shapes ---- */

/*
 * What is seen of code from a place on.
 *
 * left        How many instructions more are looked at.
 * above       sp, in terms of sp at the place. is_moved: sp is no more told by that.
 * saves_link  The return address is stored below the place's sp. saves_more: another register is.
 * touches     What a function leaves as it was is changed, or stored.
 */
struct shape {
    struct sw_analysis *w;
    unsigned left, jumps, calls;
    int64_t above;
    bool is_moved, saves_link, saves_more, touches;
};

static bool decode(const struct sw_analysis *w, uint64_t at, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes = w->code->fetch(w->code->arg, at, &size);
    return bytes && w->code->arch->decode(bytes, size, at, insn) == SW_OK;
}

static bool is_kept(const struct sw_arch *arch, unsigned reg)
{
    return reg < SW_REGS_MAX && (arch->roles->nonvolatile >> reg & 1);
}

static void look_at_store(struct shape *s, const struct sw_effect *e)
{
    const struct sw_regs_roles *roles = s->w->code->arch->roles;
    const bool is_link = e->src == roles->link;
    if (e->dst != roles->sp || !(is_link || is_kept(s->w->code->arch, e->src)))
        return;
    const bool is_own = s->is_moved || s->above + e->imm < 0;
    s->touches = true;
    s->saves_link = s->saves_link || (is_link && is_own);
    s->saves_more = s->saves_more || (!is_link && is_own);
}

static void look_at_effect(struct shape *s, const struct sw_effect *e)
{
    const struct sw_arch *arch = s->w->code->arch;
    const unsigned sp = arch->roles->sp;
    if (e->kind == SW_EFFECT_STORE) {
        look_at_store(s, e);
    } else if (e->kind != SW_EFFECT_COMPARE && e->kind != SW_EFFECT_CLOBBER) {
        s->touches = s->touches || e->dst == sp || is_kept(arch, e->dst);
        if (e->dst == sp && e->kind == SW_EFFECT_SET && e->src == sp)
            s->above += e->imm;
        else if (e->dst == sp)
            s->is_moved = true;
    } else if (e->kind == SW_EFFECT_CLOBBER) {
        s->touches = s->touches || ((uint64_t)e->imm & arch->roles->nonvolatile) != 0;
    }
}

static bool has_shape(struct shape *s, uint64_t at);

/* A piece may call another one; what else it calls tells nothing of it. */
static void look_at_call(struct shape *s, uint64_t target)
{
    struct shape called = { .w = s->w, .left = s->left, .jumps = MOST_JUMPS, .calls = s->calls - 1 };
    if (target == 0 || s->calls == 0)
        return;
    s->touches = has_shape(&called, target) || s->touches;
    s->left = called.left;
}

static bool has_frame(const struct shape *s)
{
    return s->is_moved || s->above < 0;
}

/* Whether code makes a frame first of all, or is a stub that leads on. */
static bool begins_function(const struct sw_analysis *w, uint64_t at)
{
    uint64_t slot;
    size_t size;
    const uint8_t *bytes = w->code->fetch(w->code->arg, at, &size);
    return bytes && size >= SW_START_BYTES &&
           (w->code->arch->patterns->opens_frame(bytes) || w->code->arch->patterns->goes_through(w->code, at, &slot));
}

/*
 * Whether the code at `at` goes straight on to a return, or a jump, and touches something. A function that saves its
 * return address and other registers as well has a frame of its own. Behind a jump may be a function: if sp was lowered
 * it has to look like one, since functions that are not optimised jump about.
 */
static bool has_shape(struct shape *s, uint64_t at)
{
    struct sw_insn insn;
    bool touched = false;
    for (; s->left > 0 && decode(s->w, at, &insn); s->left--, at += insn.length) {
        for (unsigned i = 0; i < insn.count && i < SW_EFFECTS_MAX && insn.flow != SW_FLOW_CALL; i++)
            look_at_effect(s, &insn.effects[i]);
        if ((s->saves_link && s->saves_more) || insn.flow == SW_FLOW_BRANCH || insn.flow == SW_FLOW_TRAP)
            return touched;
        if (insn.flow == SW_FLOW_RETURN)
            return s->touches;
        if (insn.flow == SW_FLOW_INDIRECT)
            return s->touches && !has_frame(s);
        if (insn.flow == SW_FLOW_CALL)
            look_at_call(s, insn.target);
        if (insn.flow != SW_FLOW_JUMP)
            continue;
        touched = s->touches && (!has_frame(s) || begins_function(s->w, insn.target));
        if (s->jumps-- == 0)
            return touched;
        at = insn.target - insn.length;
    }
    return touched;
}

static bool pay(struct sw_analysis *w, uint32_t units)
{
    const bool is_paid = units <= w->budget && sw_meter_pay(w->code->meter, units);
    w->budget -= is_paid ? units : w->budget;
    w->hit_bound = w->hit_bound || !is_paid;
    return is_paid;
}

static bool is_piece_or(struct sw_analysis *w, uint64_t at, unsigned calls, bool touches)
{
    struct shape shape = { .w = w, .left = MOST_INSNS, .jumps = MOST_JUMPS, .calls = calls, .touches = touches };
    const bool has = at != 0 && has_shape(&shape, at);
    return pay(w, (MOST_INSNS - shape.left) / LOOKED_AT_A_UNIT) && has;
}

static bool is_piece(struct sw_analysis *w, uint64_t at, unsigned calls)
{
    return is_piece_or(w, at, calls, false);
}

/* ---- what they do ---- */

/*
 * A piece that is run.
 *
 * call    The call that led to it: what any call does.
 * behind  Where the calls of pieces lead back to, the innermost last: offsets from begin.
 * ends    As sw_flow_run_outlined returns it.
 */
struct piece {
    struct sw_analysis *w;
    struct sw_state *state;
    const struct sw_insn *call;
    int32_t behind[MOST_CALLS + 1];
    unsigned depth;
    enum sw_flow_outlined ends;
};

static bool enter(struct piece *p, uint64_t behind)
{
    const int64_t off = (int64_t)(behind - p->w->begin);
    if (p->depth > MOST_CALLS || off > INT32_MAX || off < INT32_MIN)
        return false;
    p->behind[p->depth++] = (int32_t)off;
    p->state->reg[p->w->code->arch->roles->link] = (struct sw_val){ .base = SW_VAL_NEAR, .off = (int32_t)off };
    return true;
}

static bool is_behind(const struct piece *p, struct sw_val v)
{
    return v.base == SW_VAL_NEAR && !v.deref && v.off == p->behind[p->depth - 1];
}

/* Goes back to the call. False: the code does not, so that it is something else. */
static bool leave(struct piece *p, struct sw_val to, uint64_t *at)
{
    if (!is_behind(p, to))
        return false;
    for (unsigned n = 0; n < p->w->code->arch->roles->count; n++)
        if (is_behind(p, p->state->reg[n]))
            p->state->reg[n] = (struct sw_val){ 0 };
    sw_state_forget_below_sp(p->state, p->w->code->arch);
    *at = p->w->begin + (uint64_t)(int64_t)p->behind[--p->depth];
    return true;
}

/* A function is called, or jumped to, which returns to the call. */
static void run_call(struct piece *p, uint64_t at)
{
    sw_state_run(p->state, p->w->code->arch, p->call, (uint32_t)(at - p->w->begin));
}

static bool follow_jump(struct piece *p, const struct sw_insn *insn, uint64_t *at)
{
    const struct sw_val link = p->state->reg[p->w->code->arch->roles->link];
    if (insn->flow == SW_FLOW_JUMP && is_piece(p->w, insn->target, p->depth <= MOST_CALLS)) {
        *at = insn->target;
        return true;
    }
    p->ends = p->depth == 1 ? SW_OUTLINED_JUMPS : SW_OUTLINED_CALLS;
    run_call(p, *at);
    return leave(p, link, at);
}

static bool follow_call(struct piece *p, const struct sw_insn *insn, uint64_t *at)
{
    const uint64_t next = *at + insn->length;
    if (p->depth <= MOST_CALLS && is_piece(p->w, insn->target, 0)) {
        *at = insn->target;
        return enter(p, next);
    }
    run_call(p, *at);
    p->ends = SW_OUTLINED_CALLS;
    *at = next;
    return true;
}

static bool follow(struct piece *p, const struct sw_insn *insn, uint64_t *at)
{
    const struct sw_arch *arch = p->w->code->arch;
    if (insn->flow == SW_FLOW_CALL)
        return follow_call(p, insn, at);
    sw_state_run(p->state, arch, insn, (uint32_t)(*at - p->w->begin));
    sw_meter_note(p->w->code->meter, *at, insn->length);
    switch (insn->flow) {
    case SW_FLOW_NEXT:
        *at += insn->length;
        return true;
    case SW_FLOW_JUMP:
    case SW_FLOW_INDIRECT:
        return follow_jump(p, insn, at);
    case SW_FLOW_RETURN:
        return leave(p, p->state->reg[arch->roles->pc], at);
    default:
        return false;
    }
}

static bool has_slot(const struct sw_state *state, const struct sw_slot *slot)
{
    for (unsigned i = 0; i < state->slot_count; i++)
        if (sw_val_same(state->slots[i].at, slot->at) && sw_val_same(state->slots[i].holds, slot->holds))
            return true;
    return false;
}

/* The registers, of those that functions need not preserve, that hold the return address: a piece leaves them alone. */
static uint64_t kept_link(const struct sw_state *state, const struct sw_arch *arch)
{
    uint64_t mask = 0;
    for (unsigned n = 0; n < arch->roles->link && sw_arch_has_link(arch); n++)
        if (!is_kept(arch, n) && sw_val_is_start(state->reg[n], arch->roles->link))
            mask |= UINT64_C(1) << n;
    return mask;
}

/* Whether more has happened than behind any call. */
static bool has_touched(const struct sw_state *before, const struct sw_state *after, const struct sw_arch *arch)
{
    const unsigned link = arch->roles->link;
    const uint64_t kept = arch->roles->nonvolatile | UINT64_C(1) << arch->roles->sp;
    for (unsigned n = 0; n < arch->roles->count; n++)
        if (((kept >> n & 1) || (n == link && after->reg[n].base != SW_VAL_UNKNOWN)) &&
            !sw_val_same(before->reg[n], after->reg[n]))
            return true;
    for (unsigned i = 0; i < after->slot_count; i++)
        if (!has_slot(before, &after->slots[i]))
            return true;
    return (kept_link(before, arch) & kept_link(after, arch)) != 0;
}

/*
 * What the piece leaves in registers that functions need not preserve is forgotten, as behind any call: states would
 * only differ. But for the frame's address, the return address, and what is there since the start.
 */
static void forget_results(struct sw_state *state, const struct sw_arch *arch)
{
    const struct sw_regs_roles *roles = arch->roles;
    const uint64_t others = roles->nonvolatile | UINT64_C(1) << roles->sp | UINT64_C(1) << roles->link;
    for (unsigned n = 0; n < roles->count; n++) {
        const struct sw_val v = state->reg[n];
        if (!(others >> n & 1) && !(v.base == roles->sp + 1 && !v.weak) && !sw_val_is_start(v, roles->link) &&
            !sw_val_is_start(v, n))
            state->reg[n] = (struct sw_val){ 0 };
    }
}

enum sw_flow_outlined sw_flow_run_outlined(struct sw_analysis *w, const struct sw_insn *call, uint64_t next,
                                           const struct sw_state *before, struct sw_state *after)
{
    struct piece p = { .w = w, .state = after, .call = call, .ends = SW_OUTLINED_RETURNS };
    uint64_t at = call->target;
    struct sw_insn insn;
    /* Who has its return address in such a register knows what is called. */
    if (!sw_arch_has_link(w->code->arch) || !is_piece_or(w, at, 1, kept_link(before, w->code->arch) != 0))
        return SW_NOT_OUTLINED;
    sw_state_copy(after, before);
    bool on = enter(&p, next);
    for (unsigned n = 0; on && p.depth > 0; n++)
        on = n < MOST_INSNS && pay(w, 1) && decode(w, at, &insn) && follow(&p, &insn, &at);
    if (!on || !has_touched(before, after, w->code->arch))
        return SW_NOT_OUTLINED;
    forget_results(after, w->code->arch);
    return p.ends;
}

/* The registers that an instruction writes. */
static uint64_t written_by(const struct sw_insn *insn)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < insn->count && i < SW_EFFECTS_MAX; i++) {
        const struct sw_effect *e = &insn->effects[i];
        if (e->kind == SW_EFFECT_CLOBBER)
            mask |= (uint64_t)e->imm;
        else if (e->kind != SW_EFFECT_STORE && e->kind != SW_EFFECT_COMPARE && e->dst < SW_REGS_MAX)
            mask |= UINT64_C(1) << e->dst;
    }
    return mask;
}

void sw_flow_keep_of_caller(struct sw_analysis *w, uint64_t pc, struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = w->code->arch->roles;
    uint64_t written = roles->nonvolatile, at = w->begin;
    struct sw_insn insn;
    if (!sw_arch_has_link(w->code->arch) || rule->r[roles->pc].kind != SW_LOC_REG ||
        pc - at >= MOST_INSNS * LONGEST_INSN || !is_piece(w, at, 1))
        return;
    for (unsigned n = 0; n < MOST_INSNS && decode(w, at, &insn) && pc - at >= insn.length; n++) {
        if (insn.flow != SW_FLOW_NEXT)
            return;
        written |= written_by(&insn);
        at += insn.length;
    }
    for (unsigned n = 0; n < roles->link && pc - at < LONGEST_INSN; n++)
        if (!(written >> n & 1)) {
            rule->r[n] = (struct sw_loc){ SW_LOC_SAME, 0, 0, 0 };
            rule->initial &= ~(UINT64_C(1) << n);
        }
}

/* ---- from outside ---- */

static void start(struct sw_analysis *w, const struct sw_code *code, uint64_t begin)
{
    w->code = code;
    w->begin = begin;
    w->budget = SW_ANALYZE_INSNS;
    sw_state_start(&w->current);
}

/* Whether a value that a function must leave as it was is gone, or comes from the frame that was there at the start. */
static bool is_foreign(struct sw_val v, unsigned n, const struct sw_arch *arch)
{
    return !sw_val_is_start(v, n) && (!v.deref || v.base == arch->roles->sp + 1 || v.base == arch->roles->fp + 1);
}

/* Behind its last instruction: what it has changed is the frame of what jumped to it. */
static bool is_end_of_piece(const struct sw_state *state, const struct sw_arch *arch)
{
    const struct sw_val sp = state->reg[arch->roles->sp];
    bool is_changed = !sw_val_is_start(state->reg[arch->roles->link], arch->roles->link);
    if (sp.base != arch->roles->sp + 1 || sp.deref)
        return false;
    for (unsigned n = 0; n < arch->roles->count; n++) {
        const struct sw_val v = state->reg[n];
        if (!is_kept(arch, n) || sw_val_is_start(v, n))
            continue;
        if (!is_foreign(v, n, arch))
            return false;
        is_changed = true;
    }
    return is_changed || sp.off != 0;
}

bool sw_analyze_is_piece(const struct sw_code *code, uint64_t begin, struct sw_analysis *w)
{
    uint64_t at = begin;
    struct sw_insn insn;
    if (!sw_arch_has_link(code->arch))
        return false;
    start(w, code, begin);
    if (!is_piece(w, begin, 1))
        return false;
    for (unsigned n = 0; n < MOST_INSNS && decode(w, at, &insn); n++) {
        if (insn.flow == SW_FLOW_RETURN || insn.flow == SW_FLOW_INDIRECT ||
            (insn.flow == SW_FLOW_JUMP && !is_piece(w, insn.target, 1)))
            return is_end_of_piece(&w->current, code->arch);
        sw_state_run(&w->current, code->arch, &insn, (uint32_t)(at - begin));
        at = insn.flow == SW_FLOW_JUMP ? insn.target : at + insn.length;
    }
    return false;
}

uint64_t sw_analyze_from_call(const struct sw_code *code, uint64_t after, struct sw_analysis *w)
{
    const uint64_t call = after - code->arch->insn_bytes;
    struct sw_insn insn;
    if (!sw_arch_has_link(code->arch))
        return after;
    start(w, code, call);
    if (!decode(w, call, &insn) || insn.flow != SW_FLOW_CALL)
        return after;
    const enum sw_flow_outlined is = sw_flow_run_outlined(w, &insn, after, &w->current, &w->other);
    return is == SW_OUTLINED_RETURNS || is == SW_OUTLINED_CALLS ? call : after;
}
