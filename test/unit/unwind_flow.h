/*
 * Checks unwind rules against the instructions they are about: goes through a function one instruction at a time and
 * compares what the instruction does to sp and to saved registers with the difference between the rules before and
 * after it. For tests of unwind codes (pe, clr); knows only the effects that a decoder gives.
 */
#ifndef TEST_UNWIND_FLOW_H
#define TEST_UNWIND_FLOW_H

#include "arch/a64/decode.h"
#include "base/effect.h"
#include "base/rule.h"
#include "arch/x64/decode.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct flow {
    enum sw_machine machine; /* NONE: x64 */
    const uint8_t *code;     /* of the function */
    uint64_t size;
    uint64_t address;
    enum sw_status (*rule)(void *arg, uint64_t address, bool exact, struct sw_rule *rule);
    bool (*same_function)(void *arg, uint64_t address); /* a jump there stays in the function; may be null */
    void *arg;
    /* results */
    uint64_t instructions; /* with a rule */
    uint64_t compared;     /* steps whose two rules had to agree */
    uint64_t ends;         /* returns and tail jumps, where the return address must be on top */
    uint64_t calls;        /* whose return address - 1 must have the rule of the call itself */
    uint64_t wrong;
    uint64_t undecoded;
    char first_wrong[160];
};

static inline void flow_wrong(struct flow *flow, uint64_t address, const char *what)
{
    if (flow->wrong++ == 0)
        snprintf(flow->first_wrong, sizeof flow->first_wrong, "%s at %llx", what, (unsigned long long)address);
}

static inline bool flow_is_arm64(const struct flow *flow)
{
    return flow->machine == SW_MACHINE_ARM64;
}

static inline unsigned flow_sp(const struct flow *flow)
{
    return sw_regs_sp_number(flow->machine);
}

static inline unsigned flow_pc(const struct flow *flow)
{
    return sw_regs_pc_number(flow->machine);
}

/* How far an instruction moves sp, and from which register; false when that is not said. */
static inline bool flow_moves(const struct flow *flow, const struct sw_insn *insn, uint8_t *from, int64_t *by)
{
    const uint8_t sp = (uint8_t)flow_sp(flow);
    *from = sp;
    *by = 0;
    for (unsigned i = 0; i < insn->count; i++) {
        const struct sw_effect *e = &insn->effects[i];
        if (e->kind == SW_EFFECT_STORE || e->dst != sp)
            continue;
        if (e->kind != SW_EFFECT_SET)
            return false;
        if (e->src == sp) {
            *by += e->imm;
        } else {
            *from = e->src;
            *by = e->imm;
        }
    }
    return true;
}

/*
 * A push (ARM64: a store by sp) saves a register where the next rule must find it, if it says that it is saved at all;
 * a pop gives it back.
 */
static inline void flow_registers(struct flow *flow, const struct sw_insn *insn, uint64_t at,
                                  const struct sw_rule *before, const struct sw_rule *after)
{
    const unsigned sp = flow_sp(flow), pc = flow_pc(flow);
    if (before->cfa.reg != sp)
        return;
    for (unsigned i = 0; i < insn->count; i++) {
        const struct sw_effect *e = &insn->effects[i];
        const bool is_push = e->kind == SW_EFFECT_STORE && e->dst == sp && (flow_is_arm64(flow) || e->imm == -8);
        if (is_push && e->src < pc) {
            const struct sw_loc loc = after->r[e->src];
            if (loc.kind == SW_LOC_AT_CFA && before->r[e->src].kind == SW_LOC_SAME &&
                loc.off != e->imm - before->cfa.off)
                flow_wrong(flow, at, "a pushed register is elsewhere");
        }
        if (e->kind == SW_EFFECT_LOAD && e->src == sp && e->dst < pc) {
            const struct sw_loc loc = before->r[e->dst];
            if (loc.kind == SW_LOC_AT_CFA && loc.off == e->imm - before->cfa.off &&
                after->r[e->dst].kind != SW_LOC_SAME)
                flow_wrong(flow, at, "a popped register is not back");
        }
    }
}

static inline void flow_step(struct flow *flow, const struct sw_insn *insn, uint64_t at, const struct sw_rule *before,
                             const struct sw_rule *after)
{
    uint8_t from;
    int64_t by;
    if (!flow_moves(flow, insn, &from, &by) || after->cfa.reg != flow_sp(flow))
        return;
    if (before->cfa.reg != from)
        return; /* the frame register takes over, or gives back */
    flow->compared++;
    if (after->cfa.off != before->cfa.off - by)
        flow_wrong(flow, at, "the CFA jumps");
    flow_registers(flow, insn, at, before, after);
}

static inline bool flow_leaves(const struct flow *flow, const struct sw_insn *insn)
{
    if (insn->flow == SW_FLOW_RETURN)
        return true;
    return insn->flow == SW_FLOW_JUMP && (insn->target < flow->address || insn->target >= flow->address + flow->size) &&
           !(flow->same_function && flow->same_function(flow->arg, insn->target));
}

static inline bool flow_return_is_fit(const struct flow *flow, const struct sw_rule *rule)
{
    const struct sw_loc pc = rule->r[flow_pc(flow)];
    if (flow_is_arm64(flow))
        return pc.kind == SW_LOC_AT_CFA || (pc.kind == SW_LOC_REG && pc.reg == SW_ARM64_LR && pc.off == 0);
    return pc.kind == SW_LOC_AT_CFA && pc.off == -8;
}

/* The frame is gone, and the return address where a call put it. */
static inline bool flow_is_over(const struct flow *flow, const struct sw_rule *rule)
{
    const bool in_lr = !flow_is_arm64(flow) || rule->r[SW_ARM64_PC].kind == SW_LOC_REG;
    return rule->cfa.reg == flow_sp(flow) && rule->cfa.off == (flow_is_arm64(flow) ? 0 : 8) && in_lr;
}

static inline void flow_run(struct flow *flow)
{
    sw_decode_fn *const decode = flow_is_arm64(flow) ? sw_a64_decode : sw_x64_decode;
    struct sw_rule before = { 0 };
    bool has_before = false;
    struct sw_insn last;
    uint64_t last_at = 0;
    memset(&last, 0, sizeof last);
    for (uint64_t at = 0; at < flow->size; at += last.length) {
        struct sw_rule now;
        struct sw_rule inside;
        const uint64_t address = flow->address + at;
        if (flow->rule(flow->arg, address, true, &now)) {
            flow_wrong(flow, address, "no rule");
            return;
        }
        flow->instructions++;
        if (!flow_return_is_fit(flow, &now))
            flow_wrong(flow, address, "the return address is not where a call puts it");
        if (has_before)
            flow_step(flow, &last, last_at, &before, &now);
        last_at = address;
        if (decode(flow->code + at, (size_t)(flow->size - at), address, &last)) {
            flow->undecoded++;
            return;
        }
        if (last.flow == SW_FLOW_CALL) {
            flow->calls++;
            if (flow->rule(flow->arg, address + last.length - 1, false, &inside) ||
                memcmp(&inside.cfa, &now.cfa, sizeof now.cfa) != 0)
                flow_wrong(flow, address, "the return address - 1 has another rule");
        }
        if (flow_leaves(flow, &last)) {
            flow->ends++;
            if (!flow_is_over(flow, &now))
                flow_wrong(flow, address, "the function ends with a frame");
        }
        before = now;
        has_before = last.flow == SW_FLOW_NEXT || last.flow == SW_FLOW_CALL || last.flow == SW_FLOW_BRANCH;
    }
}

#endif
