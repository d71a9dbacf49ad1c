/*
 * The system's own walk, by RtlLookupFunctionEntry and RtlVirtualUnwind: what walks are compared with.
 */
#ifndef TEST_WINDOWS_SYSTEM_WALK_H
#define TEST_WINDOWS_SYSTEM_WALK_H

#include <windows.h>

#include <snapwalk/snapwalk.h>

#include <stdlib.h>
#include <string.h>

enum { FRAMES = 640 };

struct chain {
    uint64_t pc[FRAMES], sp[FRAMES];
    size_t count;
    enum sw_stop stop;
    bool clean;
};

static inline bool is_clean(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

/* A leaf is where no entry is: as the system's own dispatch does. end: of the stack, beyond which nothing is loaded. */
static inline void walk_by_system(CONTEXT *context, uint64_t stack_begin, uint64_t stack_end, struct chain *chain)
{
    chain->count = 0;
    chain->clean = true;
    while (context->Rip != 0 && chain->count < FRAMES) {
        DWORD64 base, frame;
        void *data;
        chain->pc[chain->count] = context->Rip;
        chain->sp[chain->count++] = context->Rsp;
        if (context->Rsp < stack_begin || context->Rsp + 8 > stack_end) {
            chain->clean = false;
            return;
        }
        RUNTIME_FUNCTION *function = RtlLookupFunctionEntry(context->Rip, &base, NULL);
        if (function) {
            RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context->Rip, function, context, &data, &frame, NULL);
        } else {
            context->Rip = *(const DWORD64 *)(uintptr_t)context->Rsp;
            context->Rsp += 8;
        }
    }
}

static inline void context_of(const struct sw_regs *regs, CONTEXT *context)
{
    memset(context, 0, sizeof *context);
    if (sw_context_store(SW_CONTEXT_WIN32, regs, context, sizeof *context) != SW_OK)
        abort();
}

static inline bool note_frame(void *arg, const struct sw_frame *frame)
{
    struct chain *chain = arg;
    if (chain->count == FRAMES)
        return false;
    chain->pc[chain->count] = sw_regs_pc(&frame->regs);
    chain->sp[chain->count++] = sw_regs_sp(&frame->regs);
    return true;
}

/* From equal registers, the system's walk and ours are frame by frame the same, and come to the root. */
static inline bool same_as_system(const struct sw_walker *walker, struct sw_scratch *scratch,
                                  const struct sw_regs *regs, struct chain *ours)
{
    static struct chain theirs;
    CONTEXT context;
    context_of(regs, &context);
    walk_by_system(&context, walker->stack_begin, walker->stack_end, &theirs);
    ours->count = 0;
    ours->stop = sw_walk_all(walker, scratch, regs, note_frame, ours);
    return is_clean(ours->stop) && ours->count == theirs.count &&
           memcmp(ours->pc, theirs.pc, theirs.count * sizeof theirs.pc[0]) == 0 &&
           memcmp(ours->sp, theirs.sp, theirs.count * sizeof theirs.sp[0]) == 0;
}

static inline LONGLONG now(void)
{
    LARGE_INTEGER ticks;
    QueryPerformanceCounter(&ticks);
    return ticks.QuadPart;
}

static inline double us(LONGLONG ticks)
{
    LARGE_INTEGER per_second;
    QueryPerformanceFrequency(&per_second);
    return (double)ticks * 1e6 / (double)per_second.QuadPart;
}

#endif
