/*
 * One callback of the fold: what is told of a frame, in a record and in a CONTEXT. Refuses to know which frames are
 * told of (fold_frame.c).
 *
 * Source: clr-contract.md section 4; contract-documented.md C1-C9.
 */
#include "snapshot/fold.h"

#include <string.h>

/* What may be relied on: pc, sp and the nonvolatile integer registers, fp among them (C9). */
static uint64_t dependable(const struct sw_engine *engine)
{
    const enum sw_machine machine = engine->walker->machine;
    const bool windows =
        (engine->options & SW_ENGINE_WINDOWS_CODE) != 0 || engine->flavour == SW_FLAVOUR_CORECLR_WINDOWS;
    const uint64_t more = windows && machine == SW_MACHINE_X64 ? 1u << SW_X64_RSI | 1u << SW_X64_RDI : 0;
    return more | sw_regs_nonvolatile(machine) | UINT64_C(1) << sw_regs_pc_number(machine) |
           UINT64_C(1) << sw_regs_sp_number(machine) | UINT64_C(1) << sw_regs_fp_number(machine);
}

/* What a callback reports of a frame beside its registers. */
struct report {
    FunctionID function;
    uint8_t source;
    uint8_t trust;
    bool exact;
    uint16_t flags;
};

/* Whether this callback is one of those in the middle that are not made. */
static bool is_left_out(struct sw_fold *fold, FunctionID function)
{
    const uint32_t n = fold->seen++;
    if (n < fold->left_from || n >= fold->left_to)
        return false;
    fold->call->left_out++;
    fold->hidden += function != 0;
    return true;
}

static SW_APART void note(const struct sw_call *call, const struct sw_frame_info *record, const BYTE *context,
                          ULONG32 size)
{
    const struct sw_frame *at = &call->work->walk.frame;
    sw_memo_note_callback(
        call->noting, record,
        &(struct sw_memo_callback){ sw_regs_pc(&at->regs), (enum sw_kind)at->code.kind, context, size });
}

/* One callback. False: it wants no more. */
static SW_INLINE bool report(struct sw_fold *fold, struct report what, const struct sw_regs *regs)
{
    struct sw_call *call = fold->call;
    if (SW_UNLIKELY(fold->left_to != 0) && is_left_out(fold, what.function))
        return true;
    struct sw_frame_info *record = sw_fold_next_record(fold);
    BYTE *context = fold->context_size ? call->work->context : NULL;
    record->function = what.function;
    record->ip = (UINT_PTR)regs->r[fold->pc];
    record->known = regs->known & fold->claimed;
    record->source = what.source;
    record->trust = what.trust;
    record->exact = what.exact;
    record->flags = what.flags;
    record->hidden = fold->hidden;
    fold->hidden = 0;
    /* Zeroed once; from then on each frame's registers are written over the last one's. */
    if (context && sw_context_update(SW_CONTEXT_WIN32, regs, fold->claimed, context, fold->context_size) != SW_OK)
        return false;
    if (SW_UNLIKELY(call->noting != NULL))
        note(call, record, context, fold->context_size);
    call->reported++;
    sw_call_set_live(call, record);
    const HRESULT hr = call->callback(what.function, record->ip, (COR_PRF_FRAME_INFO)(uintptr_t)record,
                                      fold->context_size, context, call->client_data);
    sw_call_set_live(call, NULL);
    return hr == S_OK;
}

SW_APART bool sw_fold_call_back(struct sw_fold *fold, FunctionID function, const struct sw_frame *frame,
                                const struct sw_regs *regs)
{
    return report(fold, (struct report){ function, frame->source, frame->trust, frame->exact, frame->code.flags },
                  regs);
}

/* The CLR on Linux has the vector state behind the CONTEXT of Windows. */
static ULONG32 size_of_context(const struct sw_engine *engine)
{
    enum { UNIX_X64 = 3232, UNIX_ARM64 = 992 };
    const enum sw_machine machine = engine->walker->machine;
    if (engine->context_size)
        return engine->context_size;
    if (engine->flavour == SW_FLAVOUR_CORECLR_UNIX)
        return machine == SW_MACHINE_ARM64 ? UNIX_ARM64 : UNIX_X64;
    return (ULONG32)sw_context_size(SW_CONTEXT_WIN32, machine);
}

/*
 * The CLR's walk changes one CONTEXT from frame to frame: the seed's, with everything that is in it, or one of zeros.
 * Only a size that a CONTEXT has is believed; of another one the registers are there (row "own" of the ladder).
 */
static void copy_seed_context(const struct sw_call *call, ULONG32 size)
{
    const enum sw_machine machine = call->engine->walker->machine;
    const size_t given = sw_call_is_context_size(machine, call->context_size)
                             ? call->context_size
                             : sw_context_needed(SW_CONTEXT_WIN32, machine);
    memset(call->work->context, 0, size);
    if (call->context)
        memcpy(call->work->context, call->context, given < size ? given : size);
}

/*
 * The CLR walks from the CONTEXT that it has asked for itself: CONTEXT_FULL, and of the exception bits the request and
 * the report. Source: clr-windows-observed.md W11, W66; winnt.h.
 */
static const uint32_t own_context_flags[] = { [SW_MACHINE_X64] = 0xc010000b, [SW_MACHINE_ARM64] = 0xc0400007 };

static uint8_t *context_flags_of(const struct sw_fold *fold)
{
    enum { X64_FLAGS_AT = 0x30, ARM64_FLAGS_AT = 0 };
    return fold->call->work->context +
           (fold->call->engine->walker->machine == SW_MACHINE_X64 ? X64_FLAGS_AT : ARM64_FLAGS_AT);
}

void sw_fold_set_context_flags(const struct sw_fold *fold, uint32_t flags)
{
    uint8_t *at = context_flags_of(fold);
    for (unsigned i = 0; flags != 0 && !fold->documented && i < 4; i++)
        at[i] = (uint8_t)(flags >> 8 * i);
}

void sw_fold_note_unwound(const struct sw_fold *fold)
{
    enum { UNWOUND_TO_CALL = 0x20 }; /* 0x20000000 */
    context_flags_of(fold)[3] |= UNWOUND_TO_CALL;
}

/* What every callback's CONTEXT has beside its frame's registers. */
static bool begin_context(const struct sw_fold *fold, ULONG32 size)
{
    const struct sw_call *call = fold->call;
    const struct sw_regs none = { .machine = call->engine->walker->machine };
    const bool from_own_registers = call->seed && !call->context;
    if (fold->documented || from_own_registers) {
        const bool stored = sw_context_store(SW_CONTEXT_WIN32, &none, call->work->context, size) == SW_OK;
        sw_fold_set_context_flags(fold, own_context_flags[none.machine]);
        return stored;
    }
    copy_seed_context(call, size);
    return true;
}

void sw_fold_prepare_callbacks(struct sw_fold *fold)
{
    struct sw_call *call = fold->call;
    const enum sw_machine machine = call->engine->walker->machine;
    const ULONG32 size = size_of_context(call->engine);
    fold->pc = sw_regs_pc_number(machine);
    fold->claimed = dependable(call->engine);
    for (unsigned i = 0; i < (fold->documented ? SW_FRAME_RECORDS : 1); i++)
        call->work->records[i] =
            (struct sw_frame_info){ .size = (USHORT)offsetof(struct sw_frame_info, known), .version = 1 };
    if ((call->info_flags & COR_PRF_SNAPSHOT_REGISTER_CONTEXT) != 0 && begin_context(fold, size))
        fold->context_size = size;
}
