/*
 * Enter and leave hooks with naked functions: what the code generator's registers hold is saved, and the frame's
 * information is asked for. At the end it writes how often each function was entered and left, to the file that HOOKS_OUT
 * names.
 *
 * Source: metadata-abi.md section 10.5.1 (mask, WithInfo hooks, naked stubs); dotnet/runtime jit/targetamd64.h (r14 and
 * r15 when a function is entered, rdi and rsi when it is left).
 */
#include "com.h"
#include "names.h"
#include "tally.h"

static ICorProfilerInfo8 *info;

static void count(const char *what, FunctionID function, COR_PRF_FRAME_INFO frame)
{
    char name[2 * NAME_UNITS] = "?", text[TALLY_TEXT];
    ModuleID module = 0;
    mdMethodDef token = 0;
    if (info->lpVtbl->GetFunctionInfo2(info, function, frame, NULL, &module, &token, 0, NULL, NULL) == S_OK)
        (void)method_name((ICorProfilerInfo *)info, module, token, name, sizeof name);
    snprintf(text, sizeof text, "%s %s", what, name);
    tally_add(text);
}

/* Called by the naked functions. */
void hook_entered(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt);
void hook_left(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt);

void hook_entered(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt)
{
    COR_PRF_FRAME_INFO frame = 0;
    COR_PRF_FUNCTION_ARGUMENT_INFO arguments;
    ULONG size = sizeof arguments;
    const HRESULT hr = info->lpVtbl->GetFunctionEnter3Info(info, function.functionID, elt, &frame, &size, &arguments);
    count(hr == S_OK ? "entered" : "entered without information", function.functionID, 0);
}

void hook_left(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt)
{
    COR_PRF_FRAME_INFO frame = 0;
    COR_PRF_FUNCTION_ARGUMENT_RANGE value;
    const HRESULT hr = info->lpVtbl->GetFunctionLeave3Info(info, function.functionID, elt, &frame, &value);
    count(hr == S_OK ? "left" : "left without information", function.functionID, 0);
}

#if defined(__x86_64__)
/* Nothing but the stack below is changed: arguments and the returned value pass through these registers. */
void naked_enter(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt);
void naked_leave(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt);
#define SAVE                                                                                                           \
    "push %rax\n push %rcx\n push %rdx\n push %rsi\n push %rdi\n push %r8\n push %r9\n push %r10\n push %r11\n"        \
    "sub $128, %rsp\n"                                                                                                 \
    "movdqu %xmm0, 0(%rsp)\n movdqu %xmm1, 16(%rsp)\n movdqu %xmm2, 32(%rsp)\n movdqu %xmm3, 48(%rsp)\n"               \
    "movdqu %xmm4, 64(%rsp)\n movdqu %xmm5, 80(%rsp)\n movdqu %xmm6, 96(%rsp)\n movdqu %xmm7, 112(%rsp)\n"
#define RESTORE                                                                                                        \
    "movdqu 0(%rsp), %xmm0\n movdqu 16(%rsp), %xmm1\n movdqu 32(%rsp), %xmm2\n movdqu 48(%rsp), %xmm3\n"               \
    "movdqu 64(%rsp), %xmm4\n movdqu 80(%rsp), %xmm5\n movdqu 96(%rsp), %xmm6\n movdqu 112(%rsp), %xmm7\n"             \
    "add $128, %rsp\n"                                                                                                 \
    "pop %r11\n pop %r10\n pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rdx\n pop %rcx\n pop %rax\n ret\n"
__asm__(".text\n"
        ".hidden naked_enter\n .globl naked_enter\n .type naked_enter, @function\n"
        "naked_enter:\n" SAVE "call hook_entered@PLT\n" RESTORE
        ".hidden naked_leave\n .globl naked_leave\n .type naked_leave, @function\n"
        "naked_leave:\n" SAVE "call hook_left@PLT\n" RESTORE);
#else
#define naked_enter hook_entered
#define naked_leave hook_left
#endif

/* Nobody is told of tail calls. */
static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    const DWORD events = COR_PRF_MONITOR_ENTERLEAVE | COR_PRF_ENABLE_FUNCTION_ARGS | COR_PRF_ENABLE_FUNCTION_RETVAL |
                         COR_PRF_ENABLE_FRAME_INFO;
    void *found = NULL;
    (void)self;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo8, &found) != S_OK)
        return E_FAIL;
    info = found;
    if (info->lpVtbl->SetEventMask(info, events) != S_OK)
        return E_FAIL;
    return info->lpVtbl->SetEnterLeaveFunctionHooks3WithInfo(info, naked_enter, naked_leave, NULL);
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *self)
{
    (void)self;
    tally_write("HOOKS_OUT");
    info->lpVtbl->Release(info);
    return S_OK;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS, .Initialize = initialize, .Shutdown = shut_down };
static ICorProfilerCallback11 profiler = { &table };
