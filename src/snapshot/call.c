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

/* The first code in front of an address, up to the longest padding between two methods of the JIT. */
static bool find_in_front(const struct sw_codemap *map, uint64_t pc, struct sw_range *code)
{
    enum { PADDING_MAX = 39 }; /* up to the next multiple of 32 behind the next method's header, which is a word */
    for (uint64_t back = 1; back <= PADDING_MAX && back <= pc; back++)
        if (sw_codemap_find(map, pc - back, code) == SW_OK)
            return true;
    return false;
}

struct sw_range sw_code_given(const struct sw_engine *engine, uint64_t pc)
{
    const struct sw_walker *walker = engine->walker;
    const struct sw_range code = sw_code_at(walker, pc);
    struct sw_range in_front;
    struct sw_image image;
    if (engine->flavour == SW_FLAVOUR_DOCUMENTED || code.kind != SW_KIND_NATIVE || code.end != 0 || !walker->codemap ||
        (walker->images && sw_images_find(walker->images, pc, &image) == SW_OK))
        return code;
    return find_in_front(walker->codemap, pc, &in_front) && in_front.kind == SW_KIND_JIT ? in_front : code;
}

bool sw_call_is_context_size(enum sw_machine machine, ULONG32 size)
{
    static const struct {
        enum sw_machine machine;
        ULONG32 size;
    } sizes[] = { { SW_MACHINE_X64, 1232 }, { SW_MACHINE_X64, 1504 },  { SW_MACHINE_X64, 3104 },
                  { SW_MACHINE_X64, 3232 }, { SW_MACHINE_ARM64, 912 }, { SW_MACHINE_ARM64, 992 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].machine == machine && sizes[i].size == size)
            return true;
    return false;
}

FunctionID sw_function_of(const struct sw_engine *engine, const struct sw_range *code, uint64_t ip)
{
    const struct sw_inspector *inspector = engine->inspector;
    const uint64_t named =
        inspector && (code->flags & SW_RANGE_ADDRESS_ID) != 0 ? inspector->function(inspector->arg, ip) : 0;
    return (FunctionID)(named ? named : code->id);
}

void sw_call_ask(struct sw_call *call)
{
    const struct sw_inspector *inspector = call->engine->inspector;
    if (inspector)
        inspector->update(inspector->arg, &call->target);
}

void sw_call_update(struct sw_call *call)
{
    sw_call_ask(call);
    call->work->walker.replaced = call->engine->walker->replaced;
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

struct sw_refusal *sw_call_explain(struct sw_call *call)
{
    call->work->refusal = (struct sw_refusal){ 0 };
    call->refused = &call->work->refusal;
    return call->refused;
}
