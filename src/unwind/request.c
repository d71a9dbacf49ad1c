/*
 * What every source of rules stands on: what code is at an address, and what a rule leads to when it is applied and
 * looked at. Decides nothing about order.
 */
#include "unwind/request.h"

#include "code/map/codemap.h"

/* What the runtime itself knows of an address. */
static bool ask_finder(const struct sw_walker *walker, uint64_t address, struct sw_range *code)
{
    const struct sw_code_finder *finder = walker->finder;
    if (!finder || !finder->find(finder->arg, address, code) || address < code->begin || address >= code->end)
        return false;
    code->flags |= SW_RANGE_FROM_FINDER;
    return true;
}

void sw_find_code(const struct sw_walker *walker, const struct sw_image_entry *entry, uint64_t lookup,
                  struct sw_range *code)
{
    struct sw_range part, method;
    const bool in_map = walker->codemap && sw_codemap_find_inside(walker->codemap, lookup, code);
    if (in_map && code->kind != SW_KIND_NGEN)
        return;
    if (entry && entry->has_clr && sw_clr_image_method(&entry->clr, lookup, &part) == SW_OK) {
        if (in_map)
            code->flags |= part.flags; /* the map knows the whole method, the image what it consists of */
        else
            *code = part;
        if (in_map)
            return;
        if (walker->codemap && sw_codemap_find_inside(walker->codemap, part.id, &method))
            code->id = method.id; /* a part of its own */
        else
            code->flags |= SW_RANGE_ADDRESS_ID;
        return;
    }
    if (!in_map && (entry || !ask_finder(walker, lookup, code)))
        *code = (struct sw_range){ .kind = SW_KIND_NATIVE };
}

bool sw_code_of(const struct sw_unwind_request *req, struct sw_code *code)
{
    *code = (struct sw_code){ sw_arch_of(req->walker->machine), sw_fetch_code, &req->work->fetch, &req->work->meter };
    return code->arch != NULL;
}

/* ---- apply, and what a caller must look like ---- */

/*
 * The caller may be on another stack: it was interrupted, or unwind data says that its sp was stored (Wine's system
 * calls do so).
 */
static bool is_switch(const struct sw_rule *rule, enum sw_machine machine)
{
    const struct sw_loc sp = rule->r[sw_regs_sp_number(machine)];
    return (rule->flags & SW_RULE_SIGNAL) ||
           (rule->source == SW_SOURCE_CFI &&
            (sp.kind == SW_LOC_AT_CFA || sp.kind == SW_LOC_AT_REG || sp.kind == SW_LOC_AT_EXPR));
}

/*
 * x64: a function that was interrupted may have taken its return address off the stack, as glibc's vfork does, which
 * shares the stack with its child: then its caller's sp is its own. Only tables can say so.
 */
static bool is_off_stack(const struct sw_frame *frame, const struct sw_rule *rule)
{
    return frame->exact && rule->source == SW_SOURCE_CFI &&
           rule->r[sw_regs_pc_number(frame->regs.machine)].kind == SW_LOC_REG;
}

static enum sw_stop check_stack(const struct sw_walker *walker, uint64_t sp, uint64_t caller_sp, bool may_stay)
{
    const bool bounded = walker->stack_end != 0;
    const bool inside = bounded && sp >= walker->stack_begin && sp <= walker->stack_end;
    const bool caller_inside = caller_sp >= walker->stack_begin && caller_sp <= walker->stack_end;
    if (inside && !caller_inside)
        return SW_STOP_OUTSIDE_STACK;
    if (bounded && !inside && caller_inside)
        return SW_STOP_NONE; /* back from an alternate stack */
    if (caller_sp < sp || (caller_sp == sp && !may_stay && sw_regs_link_number(walker->machine) == SW_REGS_MAX))
        return SW_STOP_SP_NOT_RISING;
    return SW_STOP_NONE;
}

static enum sw_stop stop_of(enum sw_status status)
{
    switch (status) {
    case SW_E_UNREADABLE:
        return SW_STOP_UNREADABLE;
    case SW_E_NO_RULE:
        return SW_STOP_LOST_REGISTER;
    default:
        return SW_STOP_BAD_TABLE;
    }
}

static bool is_readable(const struct sw_unwind_request *req, uint64_t address)
{
    size_t size;
    return sw_fetch_code(&req->work->fetch, address, &size) != NULL;
}

/* Where there is no map of the target's memory all that can be read may be code. */
static enum sw_place place_in_memory(const struct sw_unwind_request *req, uint64_t address)
{
    bool is_mapped;
    const enum sw_span_kind kind = sw_images_span(req->walker->images, address, &is_mapped);
    if (kind == SW_SPAN_DATA || !is_readable(req, address))
        return SW_PLACE_DATA;
    return kind == SW_SPAN_CODE || !is_mapped ? SW_PLACE_CODE : SW_PLACE_UNKNOWN;
}

enum sw_place sw_place_of(const struct sw_unwind_request *req, uint64_t address)
{
    const struct sw_image_entry *entry = sw_request_image(req, address);
    struct sw_range unwanted;
    if (entry && sw_image_is_code(entry, address))
        return SW_PLACE_CODE;
    if (req->walker->codemap && sw_codemap_find_inside(req->walker->codemap, address, &unwanted))
        return SW_PLACE_CODE;
    return entry ? SW_PLACE_DATA : place_in_memory(req, address);
}

static bool is_behind_any_call(const struct sw_unwind_request *req, uint64_t pc)
{
    uint64_t target = 0, slot = 0;
    struct sw_code code;
    return sw_code_of(req, &code) && code.arch->patterns->call_before(&code, pc, &target, &slot);
}

/*
 * Whether a return address leads to code. Memory of which nothing is known is that of a runtime whose code came later
 * than the map, or data: then a call stands in front, or does not; the runtime itself knows more. The last instruction
 * of a function may be a call; the first may be one that faulted.
 */
static bool leads_to_code(const struct sw_unwind_request *req, uint64_t pc)
{
    enum sw_place place = sw_place_of(req, pc - 1);
    if (place == SW_PLACE_DATA)
        place = sw_place_of(req, pc);
    if (place != SW_PLACE_UNKNOWN)
        return place == SW_PLACE_CODE;
    struct sw_range unwanted;
    return is_behind_any_call(req, pc) || ask_finder(req->walker, pc, &unwanted);
}

/*
 * Whether what a rule took for the return address is what the runtime has put in its place. Where calls leave it in a
 * register, a function that has loaded it again for its return has it there, and its place lies below sp.
 */
static bool is_replaced(const struct sw_walker *walker, const struct sw_rule *rule, const struct sw_regs *regs,
                        const struct sw_regs *caller, uint64_t cfa)
{
    const unsigned link = sw_regs_link_number(regs->machine);
    const struct sw_loc pc = rule->r[sw_regs_pc_number(regs->machine)];
    const uint64_t at = walker->replaced.at;
    if (at == 0)
        return false;
    if (link == SW_REGS_MAX)
        return sw_regs_sp(caller) - 8 == at;
    return pc.kind == SW_LOC_AT_CFA ? cfa + (uint64_t)(int64_t)pc.off == at
                                    : pc.kind == SW_LOC_REG && pc.reg == link && at < sw_regs_sp(regs);
}

static enum sw_stop try(const struct sw_unwind_request *req, const struct sw_rule *rule, struct sw_regs *caller,
                        uint64_t *unreadable)
{
    const struct sw_regs *regs = &req->frame->regs;
    const bool is_signal = rule->flags & SW_RULE_SIGNAL;
    const unsigned pc = sw_regs_pc_number(regs->machine);
    uint64_t cfa = 0;
    const enum sw_status status = sw_rule_apply(rule, regs, &req->walker->memory, caller, &cfa, unreadable);
    if (status)
        return stop_of(status);
    caller->r[pc] = sw_code_address(req->walker, caller->r[pc]);
    if (is_replaced(req->walker, rule, regs, caller, cfa))
        caller->r[pc] = req->walker->replaced.original;
    const bool any_pc = req->walker->flags & SW_WALK_ANY_PC;
    if (caller->r[pc] == 0 && !is_signal && !any_pc)
        return SW_STOP_ROOT_ZERO;
    const enum sw_stop stop =
        check_stack(req->walker, sw_regs_sp(regs), sw_regs_sp(caller), is_off_stack(req->frame, rule));
    if (stop != SW_STOP_NONE && !is_switch(rule, regs->machine))
        return stop; /* else the declared stack may be an alternate one, too */
    if (sw_regs_link_number(caller->machine) != SW_REGS_MAX && sw_regs_sp(caller) == sw_regs_sp(regs) &&
        caller->r[pc] == sw_regs_pc(regs) && !is_signal)
        return SW_STOP_SP_NOT_RISING;
    return is_signal || any_pc || leads_to_code(req, caller->r[pc]) ? SW_STOP_NONE : SW_STOP_BAD_PC;
}

enum sw_stop sw_candidate_try(const struct sw_unwind_request *req, struct sw_candidate *candidate)
{
    candidate->unreadable = 0;
    candidate->depends = SW_DEPENDS_STACK;
    candidate->stop = try(req, &candidate->rule, &candidate->caller, &candidate->unreadable);
    return candidate->stop;
}
