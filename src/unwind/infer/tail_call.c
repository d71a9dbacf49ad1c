/*
 * Tail calls through a word in memory. The call in front of the return address is one of a function that pc is not in:
 * it has jumped on. So .NET's code that stores a reference in an array ends in the write barrier, which is copied to
 * where no table tells of it. Refuses to know what a call looks like, and what the words are.
 */
#include "unwind/infer/tail_call.h"

#include "unwind/find_once.h"
#include "unwind/findings.h"
#include "unwind/infer/call_confirmation.h"

#include <string.h>

enum { SLOTS_MOST = 8, FARTHEST = 4096 };

/* The addresses of the words, behind their number. */
static size_t find_slots(const struct sw_unwind_request *req, const struct sw_code *code,
                         const struct sw_finding *finding, uint64_t *words, size_t room)
{
    struct sw_analysis *w = &req->work->analysis;
    unsigned at = 0;
    (void)room;
    words[0] = 0;
    sw_analyze_run(code, finding->a, 0, w);
    while (words[0] < SLOTS_MOST && sw_analyze_tail(w, &at, &words[1 + words[0]]))
        words[0]++;
    return 1 + (size_t)words[0];
}

static size_t slots_of(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function)
{
    const struct sw_finding finding = { SW_FINDING_TAILS, function, 0, 0 };
    return sw_find_once(req, code, &finding, find_slots, req->work->words, SW_FINDING_WORDS);
}

bool sw_tail_finish(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *finding)
{
    return finding->kind == SW_FINDING_TAILS && slots_of(req, code, finding->a) != 0;
}

/* What a word leads to; 0: pc is not behind its start, or too far. */
static uint64_t start_by(const struct sw_unwind_request *req, uint64_t slot)
{
    uint64_t start = 0;
    if (!sw_meter_pay(&req->work->meter, 1) || !sw_memory_word(&req->walker->memory, slot, &start))
        return 0;
    start = sw_final_target(req, sw_code_address(req->walker, start));
    return req->frame->lookup - start < FARTHEST ? start : 0;
}

bool sw_tail_caller(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                    sw_tail_accept_fn *accept, struct sw_candidate *c)
{
    uint64_t slots[1 + SLOTS_MOST];
    const size_t count = slots_of(req, code, function);
    if (count > sizeof slots / sizeof *slots)
        return false;
    memcpy(slots, req->work->words, count * sizeof *slots);
    for (size_t i = 1; i < count; i++) {
        const uint64_t start = start_by(req, slots[i]);
        if (start == 0 || sw_function_rule(req, code, start, 0, &c->rule) != SW_OK ||
            sw_candidate_try(req, c) != SW_STOP_NONE || !accept(req, sw_regs_pc(&c->caller), function))
            continue;
        c->rule.source = SW_SOURCE_FORWARD;
        c->rule.trust = c->rule.trust == SW_TRUST_GUESS ? SW_TRUST_GUESS : SW_TRUST_CONFIRMED;
        return true;
    }
    return false;
}
