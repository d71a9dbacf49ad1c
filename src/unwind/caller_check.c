/*
 * See caller_check.h. Knows what may stand at the end of a step by a table; refuses to know which source is right where
 * nothing of that stands there (unwind.c).
 */
#include "unwind/caller_check.h"

#include "unwind/infer/code_patterns.h"
#include "unwind/infer/instructions.h"
#include "unwind/trampoline.h"

/* CoreCLR's fault handler makes a faulting pc look like a return address, see sw_unwind_was_interrupted. */
static bool is_managed(const struct sw_unwind_request *req, uint64_t pc)
{
    struct sw_range code;
    sw_find_code(req->walker, sw_request_image(req, pc), pc, &code);
    return code.kind == SW_KIND_JIT || code.kind == SW_KIND_NGEN;
}

/* What threads and coroutines return to was put on their stacks by hand; it may be a function's very first byte. */
static bool is_end(const struct sw_unwind_request *req, uint64_t pc)
{
    const struct sw_image_entry *entry = sw_request_image(req, pc);
    struct sw_rule *rule = &req->work->spare[0].rule;
    struct sw_code code;
    if (sw_code_of(req, &code) && sw_is_made_up(req, &code, pc))
        return true;
    if (!entry || !entry->has_cfi || (req->walker->flags & SW_WALK_NO_TABLES))
        return false;
    return sw_cfi_rule(&entry->cfi, pc, &req->work->cfi, rule, NULL) == SW_OK && rule->flags != 0;
}

bool sw_candidate_is_called(const struct sw_unwind_request *req, const struct sw_candidate *candidate)
{
    const uint64_t pc = sw_regs_pc(&candidate->caller);
    uint64_t target, slot;
    if (candidate->rule.trust != SW_TRUST_EXACT || (candidate->rule.flags & SW_RULE_SIGNAL))
        return true;
    if (req->is_return && req->is_return(req->known, pc))
        return true;
    return sw_call_before(req, pc, &target, &slot) || sw_is_behind_system_call(req, pc) || sw_is_trampoline(req, pc) ||
           is_managed(req, pc) || is_end(req, pc);
}
