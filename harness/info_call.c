/*
 * The gateway of ICorProfilerInfo: every call of the profiler is counted, recorded, held against the rules of where it
 * may be made, and answered by the test where the test wants to. Knows no slot's meaning.
 *
 * Where the gateway itself answers it clears the outputs: known profilers read them after a failure, and follow nulls
 * (metadata-abi.md row 10.6.4).
 *
 * Source: clr-contract.md section 8; dotnet/runtime src/coreclr/vm/proftoeeinterfaceimpl.cpp, the entry macros.
 */
#include "info.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void sw_call_lenient(struct sw_tube_info *info)
{
    pthread_mutex_lock(&info->lock);
    pid_t *thread = sw_list_add(&info->lenient, sizeof *thread);
    if (thread) {
        *thread = gettid();
        sw_list_publish(&info->lenient);
    }
    pthread_mutex_unlock(&info->lock);
}

static bool is_lenient(const struct sw_tube_info *info)
{
    for (size_t i = 0; i < sw_list_count(&info->lenient); i++)
        if (*(const pid_t *)sw_list_at(&info->lenient, sizeof(pid_t), i) == gettid())
            return true;
    return false;
}

/* ---- outputs ---- */

static bool is_output(const struct sw_argument *argument)
{
    return argument->kind >= SW_ARG_OUT && argument->pointer;
}

/* Of many, the first: how many there are room for is the caller's word. */
static void clear_outputs(const struct sw_call *call)
{
    for (const struct sw_argument *argument = call->arguments; argument->name; argument++)
        if (is_output(argument) && argument->capacity)
            memset((void *)(uintptr_t)argument->pointer, 0, argument->size);
}

/* ---- rules ---- */

static const char *name_of(const struct sw_call *call)
{
    return sw_tube_slot_name(call->slot);
}

static bool is_there(const struct sw_tube *tube, const struct sw_argument *argument)
{
    const UINT_PTR id = (UINT_PTR)argument->value;
    switch (argument->id) {
    case SW_ID_DOMAIN:
        return id == sw_tube_id(SW_ID_DOMAIN, 0);
    case SW_ID_ASSEMBLY:
        return sw_tube_module_of(tube, sw_tube_id(SW_ID_MODULE, sw_tube_index(SW_ID_ASSEMBLY, id))) != NULL;
    case SW_ID_MODULE:
        return sw_tube_module_of(tube, id) != NULL;
    case SW_ID_CLASS:
        return sw_tube_type_of(tube, id) != NULL;
    case SW_ID_FUNCTION:
        return sw_tube_function_of(tube, id) != NULL;
    case SW_ID_THREAD:
        return sw_tube_thread_of(tube, id) != NULL;
    case SW_ID_OBJECT:
        return sw_tube_object_type(tube, id) != NULL;
    }
    return true;
}

/* In the CLR an id is an address: one that is none makes it read anything. 0 is refused there, or means the caller. */
static void look_at_ids(const struct sw_call *call)
{
    for (const struct sw_argument *argument = call->arguments; argument->name; argument++)
        if (argument->kind == SW_ARG_ID && argument->value != 0 && !is_there(call->tube, argument))
            sw_tube_broke(call->tube, SW_TUBE_UNKNOWN_ID, name_of(call), "%s 0x%llx was never given, or has ended",
                          argument->name, (unsigned long long)argument->value);
}

/* After Shutdown, and from RequestProfilerDetach on: there the CLR refuses all, and a racing call is no mistake. */
static bool is_late(const struct sw_call *call)
{
    struct sw_tube *tube = call->tube;
    const bool detached = atomic_load(&tube->raised[SW_CB(ProfilerDetachSucceeded)]) > 0;
    if (!atomic_load(&tube->shut_down) && !atomic_load(&tube->detaching))
        return false;
    if (atomic_load(&tube->shut_down) || detached)
        sw_tube_broke(tube, SW_TUBE_LATE_CALL, name_of(call), "it was called after %s",
                      detached ? "ProfilerDetachSucceeded" : "Shutdown");
    return true;
}

/* True: refused. */
static bool is_forbidden(const struct sw_call *call)
{
    const size_t callback = sw_tube_in_callback();
    if (!(call->rules & SW_RULE_GC) || callback == 0 || !sw_tube_forbids_gc(callback))
        return false;
    sw_tube_broke(call->tube, SW_TUBE_FORBIDDEN_CALL, name_of(call), "it may trigger a GC, which %s forbids",
                  sw_tube_callback_name(callback));
    return (call->rules & (SW_RULE_SYNC | SW_RULE_REFUSED)) != 0;
}

static void look_at_locks(const struct sw_call *call)
{
    const char *lock = call->rules & SW_RULE_GC ? sw_tube_lock_held() : NULL;
    if (lock)
        sw_tube_broke(call->tube, SW_TUBE_LOCK_HELD, name_of(call), "lock %s is held, and it may trigger a GC", lock);
}

static bool is_asynchronous(const struct sw_call *call)
{
    return sw_tube_in_callback() == 0 && !sw_tube_in_hook() && sw_tube_current(call->tube) != NULL &&
           !is_lenient(call->tube->info);
}

/* In the CLR's order. S_OK: the call may go on. */
static HRESULT check(const struct sw_call *call)
{
    const struct sw_tube *tube = call->tube;
    if (is_late(call))
        return CORPROF_E_PROFILER_DETACHING;
    if ((call->rules & SW_RULE_START) && atomic_load(&tube->attached))
        return CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER;
    if ((call->rules & SW_RULE_INIT) && !atomic_load(&tube->initializing))
        return CORPROF_E_CALL_ONLY_FROM_INIT;
    if ((call->rules & SW_RULE_SYNC) && is_asynchronous(call))
        return CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
    if (is_forbidden(call))
        return CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
    return (call->rules & SW_RULE_MAIN) && atomic_load(&tube->notification_only) ? E_INVALIDARG : S_OK;
}

bool sw_call_begin(struct sw_call *call, HRESULT *hr)
{
    struct sw_tube_slot *slot = &call->tube->slots[call->slot];
    atomic_fetch_add(&slot->calls, 1);
    sw_tube_entered(call->tube, "call", name_of(call));
    look_at_ids(call);
    look_at_locks(call);
    *hr = check(call);
    if (*hr == S_OK && !atomic_load(&slot->overridden))
        return true;
    if (*hr == S_OK)
        *hr = atomic_load(&slot->answer);
    clear_outputs(call);
    return false;
}

HRESULT sw_call_unserved(struct sw_call *call)
{
    clear_outputs(call);
    if (!(call->rules & SW_RULE_NOWHERE) && atomic_load(&call->tube->slots[call->slot].calls) == 1)
        sw_tube_broke(call->tube, SW_TUBE_UNKNOWN_METHOD, name_of(call),
                      "neither the tube nor the test serves it: E_NOTIMPL (sw_tube_answer sets an answer)");
    return E_NOTIMPL;
}

/* ---- the recording ---- */

static void record_guid(struct sw_tube *tube, const struct sw_argument *argument)
{
    char text[40];
    const GUID *guid = argument->pointer;
    if (!guid)
        return;
    snprintf(text, sizeof text, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", guid->Data1, guid->Data2,
             guid->Data3, guid->Data4[0], guid->Data4[1], guid->Data4[2], guid->Data4[3], guid->Data4[4],
             guid->Data4[5], guid->Data4[6], guid->Data4[7]);
    sw_tube_record_text(tube, argument->name, text);
}

static void record_wide(struct sw_tube *tube, const struct sw_argument *argument)
{
    char text[512];
    if (!argument->pointer)
        return;
    sw_text_from_wide(argument->pointer, text, sizeof text);
    sw_tube_record_text(tube, argument->name, text);
}

static void record_input(struct sw_tube *tube, const struct sw_argument *argument)
{
    switch (argument->kind) {
    case SW_ARG_ID:
        sw_tube_record_id(tube, argument->name, (UINT_PTR)argument->value);
        break;
    case SW_ARG_NUMBER:
        sw_tube_record_number(tube, argument->name, argument->value);
        break;
    case SW_ARG_TEXT:
        record_wide(tube, argument);
        break;
    case SW_ARG_GUID:
        record_guid(tube, argument);
        break;
    default:
        break;
    }
}

/* Addresses differ from run to run: of them only that they are there. */
static void record_output(struct sw_tube *tube, const struct sw_argument *argument)
{
    uint64_t value = 0;
    if (!is_output(argument) || !argument->capacity || argument->size > sizeof value)
        return;
    memcpy(&value, argument->pointer, argument->size);
    if (argument->kind == SW_ARG_OUT)
        sw_tube_record_number(tube, argument->name, value);
    else if (argument->kind == SW_ARG_OUT_ID)
        sw_tube_record_id(tube, argument->name, (UINT_PTR)value);
    else if (argument->kind == SW_ARG_OUT_POINTER)
        sw_tube_record_text(tube, argument->name, value ? "set" : "null");
    else if (argument->kind == SW_ARG_BUFFER)
        record_wide(tube, argument);
}

/* Calls nest, and a recording's lines do not: a line is written when its call ends. */
HRESULT sw_call_end(const struct sw_call *call, HRESULT hr)
{
    struct sw_tube *tube = call->tube;
    if (!tube->options.record)
        return hr;
    sw_tube_record_begin(tube, "call", name_of(call));
    for (const struct sw_argument *argument = call->arguments; argument->name; argument++)
        record_input(tube, argument);
    for (const struct sw_argument *argument = call->arguments; SUCCEEDED(hr) && argument->name; argument++)
        record_output(tube, argument);
    sw_tube_record_hr(tube, hr);
    sw_tube_record_end(tube);
    return hr;
}
