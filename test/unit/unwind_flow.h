/*
 * Checks unwind rules against the instructions they are about: goes through a function one instruction at a time and
 * compares what the instruction does to rsp and to pushed registers with the difference between the rules before and
 * after it. For tests of unwind codes (pe, clr); knows only the effects that a decoder gives.
 */
#ifndef TEST_UNWIND_FLOW_H
#define TEST_UNWIND_FLOW_H

#include "base/effect.h"
#include "base/rule.h"
#include "x64/x64.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct flow {
    const uint8_t *code; /* of the function */
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

/* How far an instruction moves rsp, and from which register; false when that is not said. */
static inline bool flow_rsp(const struct sw_insn *insn, uint8_t *from, int64_t *by)
{
    *from = SW_X64_RSP;
    *by = 0;
    for (unsigned i = 0; i < insn->count; i++) {
        const struct sw_effect *e = &insn->effects[i];
        if (e->kind == SW_EFFECT_STORE || e->dst != SW_X64_RSP)
            continue;
        if (e->kind != SW_EFFECT_SET)
            return false;
        if (e->src == SW_X64_RSP) {
            *by += e->imm;
        } else {
            *from = e->src;
            *by = e->imm;
        }
    }
    return true;
}

/* A push saves a register where the next rule must find it, if it says that it is saved at all; a pop gives it back. */
static inline void flow_registers(struct flow *flow, const struct sw_insn *insn, uint64_t at,
                                  const struct sw_rule *before, const struct sw_rule *after)
{
    if (before->cfa.reg != SW_X64_RSP)
        return;
    for (unsigned i = 0; i < insn->count; i++) {
        const struct sw_effect *e = &insn->effects[i];
        if (e->kind == SW_EFFECT_STORE && e->dst == SW_X64_RSP && e->imm == -8 && e->src < SW_X64_RIP) {
            const struct sw_loc loc = after->r[e->src];
            if (loc.kind == SW_LOC_AT_CFA && before->r[e->src].kind == SW_LOC_SAME && loc.off != -before->cfa.off - 8)
                flow_wrong(flow, at, "a pushed register is elsewhere");
        }
        if (e->kind == SW_EFFECT_LOAD && e->src == SW_X64_RSP && e->dst < SW_X64_RIP) {
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
    if (!flow_rsp(insn, &from, &by) || after->cfa.reg != SW_X64_RSP)
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

static inline void flow_run(struct flow *flow)
{
    struct sw_rule before;
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
        if (now.r[SW_X64_RIP].kind != SW_LOC_AT_CFA || now.r[SW_X64_RIP].off != -8)
            flow_wrong(flow, address, "the return address is not below the CFA");
        if (has_before)
            flow_step(flow, &last, last_at, &before, &now);
        last_at = address;
        if (sw_x64_decode(flow->code + at, (size_t)(flow->size - at), address, &last)) {
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
            if (now.cfa.reg != SW_X64_RSP || now.cfa.off != 8)
                flow_wrong(flow, address, "the function ends with a frame");
        }
        before = now;
        has_before = last.flow == SW_FLOW_NEXT || last.flow == SW_FLOW_CALL || last.flow == SW_FLOW_BRANCH;
    }
}

#endif
