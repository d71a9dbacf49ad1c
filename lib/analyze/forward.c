/*
 * Rules for a pc in code whose start is not known: every path is followed forward to a return. The state there says
 * where everything is, in terms of what it is at pc.
 */
#include "analyze/control_flow.h"

#include "base/bytes.h"

struct offer {
    bool (*accept)(void *arg, const struct sw_rule *rule);
    void *arg;
};

static bool offer_rule(struct sw_analysis *w, struct offer *to, enum sw_trust trust)
{
    if (!sw_meter_pay(w->code->meter, 1) || !sw_extract_return(&w->current, w->code->arch, &w->offered))
        return false;
    w->offered.trust = (uint8_t)trust;
    return to->accept(to->arg, &w->offered);
}

/* Offers the rule as if a return stood here, which is the state at a tail call; with that trust. */
static bool offer_as_return(struct sw_analysis *w, struct offer *to, enum sw_trust trust)
{
    const struct sw_arch *arch = w->code->arch;
    const uint8_t sp = arch->roles->sp, pc = arch->roles->pc;
    const struct sw_insn by_stack = { .count = 2,
                                      .flow = SW_FLOW_RETURN,
                                      .effects = { { SW_EFFECT_LOAD, pc, sp, 8, 0 },
                                                   { SW_EFFECT_SET, sp, sp, 8, 8 } } };
    const struct sw_insn by_link = { .count = 1,
                                     .flow = SW_FLOW_RETURN,
                                     .effects = { { SW_EFFECT_SET, pc, arch->roles->link, 8, 0 } } };
    sw_state_run(&w->current, arch, sw_arch_has_link(arch) ? &by_link : &by_stack, 0);
    return offer_rule(w, to, trust);
}

/*
 * A jump through a word that the instruction names: a tail call into another image, or a PLT entry that is not bound
 * yet and leads to the resolver. First it is offered as a tail call; if that is refused, it is followed. Where the
 * return address is in a register a jump of a switch may come to the same state. This is none, so it is trusted.
 */
static bool jump_through(struct sw_analysis *w, uint64_t slot, struct offer *to)
{
    size_t size;
    w->other = w->current;
    if (offer_as_return(w, to, sw_arch_has_link(w->code->arch) ? SW_TRUST_GUESS : SW_TRUST_NONE))
        return true;
    w->current = w->other;
    const uint8_t *bytes = w->code->fetch(w->code->arg, slot, &size);
    if (bytes && size >= sizeof(uint64_t))
        sw_flow_arrive(w, sw_load64(bytes), 0);
    return false;
}

/*
 * What straight code has loaded last from a word that it names: by one instruction an address near to it, by another
 * the word there. Register numbers; SW_NOREG: none.
 */
struct named {
    uint8_t near_reg, slot_reg;
    uint64_t near, slot;
};

static bool is_written(const struct sw_effect *e, uint8_t reg)
{
    if (e->kind == SW_EFFECT_CLOBBER)
        return reg < SW_REGS_MAX && (uint64_t)e->imm >> reg & 1;
    return (e->kind != SW_EFFECT_STORE && e->kind != SW_EFFECT_COMPARE && e->dst == reg) ||
           (e->kind == SW_EFFECT_SWAP && e->src == reg);
}

/* Returns the word's address, where the instruction jumps to what was loaded from there; 0: it does not. */
static uint64_t note_named(struct named *named, const struct sw_insn *insn, uint64_t pc, uint8_t pc_reg)
{
    for (unsigned n = 0; n < insn->count; n++) {
        const struct sw_effect *e = &insn->effects[n];
        const struct named before = *named;
        if (insn->flow == SW_FLOW_INDIRECT && e->kind == SW_EFFECT_SET && e->dst == pc_reg && e->imm == 0 &&
            e->src != SW_NOREG && e->src == named->slot_reg)
            return named->slot;
        if (is_written(e, named->near_reg))
            named->near_reg = SW_NOREG;
        if (is_written(e, named->slot_reg))
            named->slot_reg = SW_NOREG;
        if (e->kind == SW_EFFECT_NEAR) {
            named->near_reg = e->dst;
            named->near = pc + (uint64_t)e->imm;
        } else if (e->kind == SW_EFFECT_LOAD && e->src != SW_NOREG && e->src == before.near_reg) {
            named->slot_reg = e->dst;
            named->slot = before.near + (uint64_t)e->imm;
        }
    }
    return 0;
}

/* Follows one block. True: a return was accepted. */
static bool run_forward(struct sw_analysis *w, uint64_t pc, struct offer *to)
{
    struct named named = { SW_NOREG, SW_NOREG, 0, 0 };
    struct sw_insn insn;
    w->returned = false;
    while (sw_flow_insn(w, pc, &insn)) {
        const bool on = sw_flow_follow(w, &insn, pc);
        const uint64_t slot = note_named(&named, &insn, pc, w->code->arch->roles->pc);
        if (w->returned)
            return offer_rule(w, to, SW_TRUST_GUESS);
        if (insn.flow == SW_FLOW_INDIRECT && (insn.slot || slot))
            return jump_through(w, insn.slot ? insn.slot : slot, to);
        if (sw_flow_drops(w, &insn))
            return offer_as_return(w, to, SW_TRUST_NONE);
        if (!on)
            return false;
        pc += insn.length;
    }
    return false;
}

/* Indirect jumps may be tail calls: then the return address is where a return would find it. */
static bool offer_tail_calls(struct sw_analysis *w, struct offer *to)
{
    for (unsigned i = 0; i < w->block_count; i++) {
        if (!(w->blocks[i].flags & SW_BLOCK_AT_INDIRECT))
            continue;
        sw_state_copy(&w->current, &w->states[w->blocks[i].state]);
        if (offer_as_return(w, to, SW_TRUST_NONE))
            return true;
    }
    return false;
}

/*
 * Behind the call of a piece (outlined.c) the return address may come from any register, where the function has kept
 * it. Blocks keep few of them: the first instruction tells which one matters.
 */
static void keep_link_source(struct sw_analysis *w, uint64_t pc)
{
    const struct sw_effect *e;
    struct sw_insn insn;
    if (!sw_arch_has_link(w->code->arch) || !sw_flow_insn(w, pc, &insn) || insn.count != 1)
        return;
    e = &insn.effects[0];
    if (e->kind == SW_EFFECT_SET && e->dst == w->code->arch->roles->link && e->src < SW_REGS_MAX)
        w->current.reg[e->src] = (struct sw_val){ .base = (uint8_t)(e->src + 1) };
}

static bool goes_forward(const struct sw_code *code, uint64_t pc, struct sw_fp_distance *fp, struct sw_analysis *work,
                         struct offer *to)
{
    uint64_t from;
    sw_flow_start(work, code, pc, 0, true, fp);
    for (bool is_first = true; sw_flow_next(work, &from); is_first = false) {
        if (is_first)
            keep_link_source(work, from);
        if (run_forward(work, from, to))
            return true;
    }
    return offer_tail_calls(work, to);
}

enum sw_status sw_analyze_forward(const struct sw_code *code, uint64_t pc, struct sw_fp_distance *fp,
                                  struct sw_analysis *work, bool (*accept)(void *arg, const struct sw_rule *rule),
                                  void *arg)
{
    struct offer to = { .accept = accept, .arg = arg };
    const uint64_t joined = code->arch->patterns->joined ? code->arch->patterns->joined(code, pc) : pc;
    sw_flow_forget_runs(work);
    if (joined != pc && goes_forward(code, joined, fp, work, &to))
        return SW_OK;
    return goes_forward(code, pc, fp, work, &to) ? SW_OK : SW_E_NO_RULE;
}
