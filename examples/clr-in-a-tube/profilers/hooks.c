/*
 * Enter and leave hooks with naked functions, which keep all registers that the code generator may hold something in.
 * Hooks with information (HOOKS=info) are called by the runtime as any function is; those without it (HOOKS=fast) by
 * the method's own code, with the id in a register of its own. At the end it writes how often each function was entered
 * and left, to the file that HOOKS_OUT names.
 *
 * Source: metadata-abi.md section 10.5 (mask, hooks with information, naked stubs); dotnet/runtime jit/targetamd64.h
 * (r14 where a function is entered, rdi where it is left). Both seen with .NET 10.
 */
#include "com.h"
#include "names.h"
#include "tally.h"

static ICorProfilerInfo8 *info;

/* In a fast hook the runtime refuses to tell the name: it is not in a callback. */
static void count(const char *what, FunctionID function)
{
    char name[2 * NAME_UNITS] = "?", text[TALLY_TEXT];
    ModuleID module = 0;
    mdMethodDef token = 0;
    HRESULT hr = info->lpVtbl->GetFunctionInfo2(info, function, 0, NULL, &module, &token, 0, NULL, NULL);
    if (hr == S_OK)
        hr = method_name((ICorProfilerInfo *)info, module, token, name, sizeof name);
    if (hr != S_OK)
        snprintf(name, sizeof name, "%08x", (unsigned)hr);
    snprintf(text, sizeof text, "%s %s", what, name);
    tally_add(text);
}

/* Called by the naked functions. */
void hook_entered(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt);
void hook_left(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt);
void fast_entered(FunctionIDOrClientID function);
void fast_left(FunctionIDOrClientID function);

void hook_entered(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt)
{
    COR_PRF_FRAME_INFO frame = 0;
    struct {
        COR_PRF_FUNCTION_ARGUMENT_INFO first;
        COR_PRF_FUNCTION_ARGUMENT_RANGE others[64];
    } arguments;
    ULONG size = sizeof arguments;
    const HRESULT hr =
        info->lpVtbl->GetFunctionEnter3Info(info, function.functionID, elt, &frame, &size, &arguments.first);
    count(hr == S_OK && frame ? "entered" : "entered without information", function.functionID);
}

void hook_left(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt)
{
    COR_PRF_FRAME_INFO frame = 0;
    COR_PRF_FUNCTION_ARGUMENT_RANGE value;
    const HRESULT hr = info->lpVtbl->GetFunctionLeave3Info(info, function.functionID, elt, &frame, &value);
    count(hr == S_OK && frame ? "left" : "left without information", function.functionID);
}

void fast_entered(FunctionIDOrClientID function)
{
    count("entered", function.functionID);
}

void fast_left(FunctionIDOrClientID function)
{
    count("left", function.functionID);
}

#if defined(__x86_64__)
/* Nothing but the stack below is changed: arguments and the returned value pass through these registers. */
void naked_enter(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt);
void naked_leave(FunctionIDOrClientID function, COR_PRF_ELT_INFO elt);
void naked_fast_enter(FunctionIDOrClientID function);
void naked_fast_leave(FunctionIDOrClientID function);
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
#define NAKED(name, body)                                                                                              \
    __asm__(".text\n .hidden " name "\n .globl " name "\n .type " name ", @function\n" name ":\n" SAVE body RESTORE)
NAKED("naked_enter", "call hook_entered@PLT\n");
NAKED("naked_leave", "call hook_left@PLT\n");
NAKED("naked_fast_enter", "mov %r14, %rdi\n call fast_entered@PLT\n");
NAKED("naked_fast_leave", "call fast_left@PLT\n");
#else
#define naked_enter      hook_entered
#define naked_leave      hook_left
#define naked_fast_enter fast_entered
#define naked_fast_leave fast_left
#endif

/* Nobody is told of tail calls. */
static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    const DWORD slow = COR_PRF_ENABLE_FUNCTION_ARGS | COR_PRF_ENABLE_FUNCTION_RETVAL | COR_PRF_ENABLE_FRAME_INFO;
    const char *kind = getenv("HOOKS");
    const bool is_fast = kind && strcmp(kind, "fast") == 0;
    void *found = NULL;
    (void)self;
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo8, &found) != S_OK)
        return E_FAIL;
    info = found;
    if (info->lpVtbl->SetEventMask(info, COR_PRF_MONITOR_ENTERLEAVE | (is_fast ? 0 : slow)) != S_OK)
        return E_FAIL;
    return is_fast ? info->lpVtbl->SetEnterLeaveFunctionHooks3(info, naked_fast_enter, naked_fast_leave, NULL)
                   : info->lpVtbl->SetEnterLeaveFunctionHooks3WithInfo(info, naked_enter, naked_leave, NULL);
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
