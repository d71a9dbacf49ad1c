/*
 * What the parts of a call ask and note: what code is at an address, the target's transition records, why the answer is
 * no. Knows the engine's parts. Refuses to know which check or frame wants to know.
 *
 * Source: clr-contract.md sections 2.6 and 3.5.
 */
#include "snapshot/call.h"

#include "unwind/request.h"

struct sw_range sw_code_at(const struct sw_walker *walker, uint64_t pc)
{
    struct sw_range code;
    struct sw_reading reading;
    sw_reading_enter(walker, &reading);
    sw_find_code(walker, sw_images_entry(walker->images, pc), pc, &code);
    sw_reading_leave(walker, &reading);
    return code;
}

FunctionID sw_function_of(const struct sw_engine *engine, const struct sw_range *code, uint64_t ip)
{
    const struct sw_inspector *inspector = engine->inspector;
    const uint64_t named =
        inspector && (code->flags & SW_RANGE_ADDRESS_ID) != 0 ? inspector->function(inspector->arg, ip) : 0;
    return (FunctionID)(named ? named : code->id);
}

static bool next_record(const struct sw_call *call, uint64_t *cursor, struct sw_transition *record)
{
    const struct sw_inspector *inspector = call->engine->inspector;
    if (inspector)
        return inspector->record(inspector->arg, &call->target, cursor, record);
    if (!call->target.transitions || *cursor >= call->target.transition_count)
        return false;
    *record = call->target.transitions[(*cursor)++];
    return true;
}

bool sw_call_record(const struct sw_call *call, uint64_t *cursor, struct sw_transition *record)
{
    if (!next_record(call, cursor, record))
        return false;
    sw_code_pc(call->engine->walker, &record->regs);
    return true;
}

void sw_call_report(const struct sw_call *call, enum sw_conduct rule)
{
    if (call->engine->on_conduct)
        call->engine->on_conduct(call->engine->conduct_arg, rule, call->thread);
}
