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

/* Offers the rule as if a return stood here, which is the state at a tail call. */
static bool offer_as_return(struct sw_analysis *w, struct offer *to)
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
    return offer_rule(w, to, SW_TRUST_NONE);
}

/*
 * A jump through a word that the instruction names: a tail call into another image, or a PLT entry that is not bound
 * yet and leads to the resolver. First it is offered as a tail call; if that is refused, it is followed.
 */
static bool jump_through(struct sw_analysis *w, uint64_t slot, struct offer *to)
{
    size_t size;
    w->other = w->current;
    if (offer_as_return(w, to))
        return true;
    w->current = w->other;
    const uint8_t *bytes = w->code->fetch(w->code->arg, slot, &size);
    if (bytes && size >= sizeof(uint64_t))
        sw_flow_arrive(w, sw_load64(bytes), 0);
    return false;
}

/* Follows one block. True: a return was accepted. */
static bool run_forward(struct sw_analysis *w, uint64_t pc, struct offer *to)
{
    struct sw_insn insn;
    while (sw_flow_insn(w, pc, &insn)) {
        const bool on = sw_flow_follow(w, &insn, pc);
        if (insn.flow == SW_FLOW_RETURN)
            return offer_rule(w, to, SW_TRUST_GUESS);
        if (insn.flow == SW_FLOW_INDIRECT && insn.slot)
            return jump_through(w, insn.slot, to);
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
        if (offer_as_return(w, to))
            return true;
    }
    return false;
}

enum sw_status sw_analyze_forward(const struct sw_code *code, uint64_t pc, struct sw_fp_distance *fp,
                                  struct sw_analysis *work, bool (*accept)(void *arg, const struct sw_rule *rule),
                                  void *arg)
{
    struct offer to = { .accept = accept, .arg = arg };
    uint64_t from;
    work->noreturn_count = work->noreturn_target_count = 0;
    sw_flow_start(work, code, pc, 0, true, fp);
    while (sw_flow_next(work, &from))
        if (run_forward(work, from, &to))
            return SW_OK;
    return offer_tail_calls(work, &to) ? SW_OK : SW_E_NO_RULE;
}
