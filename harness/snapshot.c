/*
 * DoStackSnapshot as a profiler of the tube gets it: the engine's answer, with faults on request, and with frames that
 * are guarded: what a callback receives lies on a page of its own, which cannot be read once the callback is over.
 *
 * Signals  As sw_snapshot, for thread 0: mprotect is a system call.
 */
#include "tube.h"

#include <snapwalk/context.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Pages are used in turn, so that one that was kept is told from the next callback's. */
enum { PAGE_BYTES = 4096, PAGES = 512, CONTEXT_MAX = 3584, AFTER_FRAMES = 2 };

/* One page: a CONTEXT in front, and the record that a frameInfo refers to. */
struct page {
    BYTE context[CONTEXT_MAX];
    struct sw_frame_info info;
};
_Static_assert(sizeof(struct page) <= PAGE_BYTES, "a page holds a frame");

struct sw_tube_guard {
    BYTE *pages;
    _Atomic size_t next;
};

/* One call of DoStackSnapshot, on its caller's stack. */
struct call {
    struct sw_tube *tube;
    StackSnapshotCallback *callback;
    void *client_data;
    struct page *page; /* the last callback's */
    struct page *live; /* in whose callback this is; null: between two */
    FunctionID function;
    struct call *outer;
    unsigned frames;
    bool fails_midway, refused;
};

static _Thread_local struct call *innermost;

/* The tubes of this process whose guards a fault may be in. One handler serves them all. */
enum { GUARDS_MAX = 16 };
static struct sw_tube *_Atomic guarded[GUARDS_MAX];
static struct sigaction before;

static struct sw_tube *owner_of(uintptr_t address)
{
    for (unsigned i = 0; i < GUARDS_MAX; i++) {
        struct sw_tube *tube = atomic_load(&guarded[i]);
        const uintptr_t begin = tube ? (uintptr_t)tube->guard->pages : 0;
        if (tube && address >= begin && address < begin + (size_t)PAGES * PAGE_BYTES)
            return tube;
    }
    return NULL;
}

/*
 * A touch of a page whose callback is over: noted, and then allowed, so that the profiler goes on as it would in the
 * CLR.
 */
static void on_fault(int number, siginfo_t *about, void *context)
{
    const uintptr_t address = (uintptr_t)about->si_addr;
    struct sw_tube *tube = owner_of(address);
    const int saved = errno;
    if (tube) {
        const size_t offset = (address - (uintptr_t)tube->guard->pages) % PAGE_BYTES;
        const bool is_info = offset >= offsetof(struct page, info);
        (void)mprotect((void *)(address - address % PAGE_BYTES), PAGE_BYTES, PROT_READ | PROT_WRITE);
        sw_tube_broke(tube, is_info ? SW_TUBE_STALE_FRAME : SW_TUBE_STALE_CONTEXT, "StackSnapshotCallback",
                      "byte %zu of a %s was used after its callback",
                      is_info ? offset - offsetof(struct page, info) : offset, is_info ? "frameInfo" : "CONTEXT");
        errno = saved;
        return;
    }
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, about, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        (void)sigaction(number, &before, NULL); /* the instruction runs again, and ends the process */
}

static enum sw_status watch_faults(struct sw_tube *tube)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    struct sigaction now;
    if (sigaction(SIGSEGV, NULL, &now) != 0)
        return SW_E_OS;
    if (now.sa_sigaction != on_fault && sigaction(SIGSEGV, &action, &before) != 0)
        return SW_E_OS;
    for (unsigned i = 0; i < GUARDS_MAX; i++) {
        struct sw_tube *none = NULL;
        if (atomic_compare_exchange_strong(&guarded[i], &none, tube))
            return SW_OK;
    }
    return SW_E_LIMIT;
}

enum sw_status sw_tube_guard_create(struct sw_tube *tube)
{
    tube->guard = calloc(1, sizeof *tube->guard);
    if (!tube->guard)
        return SW_E_NO_MEMORY;
    tube->guard->pages =
        mmap(NULL, (size_t)PAGES * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tube->guard->pages == MAP_FAILED) {
        free(tube->guard);
        tube->guard = NULL;
        return SW_E_NO_MEMORY;
    }
    return watch_faults(tube);
}

void sw_tube_guard_destroy(struct sw_tube *tube)
{
    bool any = false;
    for (unsigned i = 0; i < GUARDS_MAX; i++) {
        struct sw_tube *self = tube;
        if (!atomic_compare_exchange_strong(&guarded[i], &self, NULL) && self)
            any = true;
    }
    if (!tube->guard)
        return;
    if (!any)
        (void)sigaction(SIGSEGV, &before, NULL);
    (void)munmap(tube->guard->pages, (size_t)PAGES * PAGE_BYTES);
    free(tube->guard);
    tube->guard = NULL;
}

/* ---- a walk ---- */

/*
 * A page for each callback, so that what was kept of one is told in the next. In the CLR a whole walk has one record
 * (W63), so there it has one page.
 */
static struct page *open_page(struct call *call)
{
    struct sw_tube_guard *guard = call->tube->guard;
    if (!call->page || call->tube->options.flavour == SW_FLAVOUR_DOCUMENTED)
        call->page = (struct page *)(void *)(guard->pages + atomic_fetch_add(&guard->next, 1) % PAGES * PAGE_BYTES);
    return mprotect(call->page, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0 ? call->page : NULL;
}

/* Between the engine and the profiler's callback. */
static HRESULT STDMETHODCALLTYPE hand_on(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame_info,
                                         ULONG32 context_size, BYTE context[], void *client_data)
{
    struct call *call = client_data;
    struct page *page = open_page(call);
    if (!page || context_size > CONTEXT_MAX)
        return E_FAIL;
    if (call->fails_midway && call->frames == AFTER_FRAMES)
        return E_FAIL;
    memcpy(&page->info, (const void *)frame_info, sizeof page->info);
    if (context_size != 0)
        memcpy(page->context, context, context_size);
    call->frames++;
    call->live = page;
    call->function = function;
    const HRESULT hr = call->callback(function, ip, (COR_PRF_FRAME_INFO)(uintptr_t)&page->info, context_size,
                                      context_size ? page->context : NULL, call->client_data);
    call->live = NULL;
    call->refused = hr != S_OK;
    (void)mprotect(page, PAGE_BYTES, PROT_NONE);
    return hr;
}

FunctionID sw_tube_frame_function(struct sw_tube *tube, COR_PRF_FRAME_INFO frame_info, bool *live)
{
    for (const struct call *call = innermost; call; call = call->outer) {
        *live = call->live && frame_info == (COR_PRF_FRAME_INFO)(uintptr_t)&call->live->info;
        if (*live)
            return call->function;
    }
    *live = false;
    sw_tube_broke(tube, SW_TUBE_STALE_FRAME, "GetFunctionInfo2", "a frameInfo was used that is not of this callback");
    return 0;
}

/* What is wrong with asking for this walk at all, whatever the answer. */
static void lint(struct sw_tube *tube, ThreadID target)
{
    const struct sw_tube_thread *thread = sw_tube_thread_of(tube, target), *self = sw_tube_current(tube);
    if ((atomic_load(&tube->mask_low) & COR_PRF_ENABLE_STACK_SNAPSHOT) == 0)
        sw_tube_broke(tube, SW_TUBE_NO_EVENT_MASK, "DoStackSnapshot",
                      "COR_PRF_ENABLE_STACK_SNAPSHOT is not in the event mask");
    if (!thread || thread == self)
        return;
    if (tube->options.flavour == SW_FLAVOUR_CORECLR_UNIX && atomic_load(&tube->suspended) == 0)
        sw_tube_broke(tube, SW_TUBE_RUNNING_TARGET, "DoStackSnapshot",
                      "thread %s was not stopped: SuspendRuntime first", thread->name);
}

/* The seed that was refused last, to this OS thread. */
static _Thread_local struct {
    const struct sw_tube *tube;
    ThreadID thread;
    uint64_t pc;
} refused;

/* The pc of a seed; 0: none that can be read. */
static uint64_t pc_of(const struct sw_tube *tube, const BYTE *context, ULONG32 size)
{
    struct sw_regs regs;
    if (!context || sw_context_load(SW_CONTEXT_WIN32, tube->machine, context, size, &regs) != SW_OK)
        return 0;
    return sw_regs_pc(&regs);
}

/* A seed that was refused is refused again: it has to be another one. */
static void lint_seed(struct sw_tube *tube, ThreadID thread, uint64_t pc)
{
    if (pc != 0 && refused.tube == tube && refused.thread == thread && refused.pc == pc)
        sw_tube_broke(tube, SW_TUBE_SAME_SEED, "DoStackSnapshot", "the seed at %#llx had just been refused",
                      (unsigned long long)pc);
    refused.tube = NULL;
}

static HRESULT note_seed(const struct sw_tube *tube, ThreadID thread, uint64_t pc, HRESULT hr)
{
    if (hr == CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX && pc != 0) {
        refused.tube = tube;
        refused.thread = thread;
        refused.pc = pc;
    }
    return hr;
}

static bool fault_refuses(struct sw_tube *tube, const BYTE *context, HRESULT *hr)
{
    if (sw_tube_fault_takes(tube, SW_TUBE_FAULT_UNSAFE))
        *hr = CORPROF_E_STACKSNAPSHOT_UNSAFE;
    else if (context && sw_tube_fault_takes(tube, SW_TUBE_FAULT_SEED))
        *hr = CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
    else if (sw_tube_fault_takes(tube, SW_TUBE_FAULT_DIES))
        *hr = tube->options.flavour == SW_FLAVOUR_CORECLR_UNIX ? E_FAIL : CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD;
    else
        return false;
    return true;
}

static HRESULT walk(struct sw_tube *tube, ThreadID thread, StackSnapshotCallback *callback, ULONG32 info_flags,
                    void *client_data, BYTE context[], ULONG32 context_size)
{
    struct call call = { .tube = tube, .callback = callback, .client_data = client_data, .outer = innermost };
    call.fails_midway = sw_tube_fault_takes(tube, SW_TUBE_FAULT_MIDWAY);
    innermost = &call;
    const HRESULT hr = tube->inner->lpVtbl->DoStackSnapshot(tube->inner, thread, callback ? hand_on : NULL, info_flags,
                                                            &call, context, context_size);
    innermost = call.outer;
    return call.fails_midway && hr == CORPROF_E_STACKSNAPSHOT_ABORTED && !call.refused ? E_FAIL : hr;
}

HRESULT sw_tube_snapshot(struct sw_tube *tube, ThreadID thread, StackSnapshotCallback *callback, ULONG32 info_flags,
                         void *client_data, BYTE context[], ULONG32 context_size)
{
    const uint64_t pc = pc_of(tube, context, context_size);
    HRESULT hr;
    lint(tube, thread);
    lint_seed(tube, thread, pc);
    tube->engine.event_mask = atomic_load(&tube->mask_low);
    if (!fault_refuses(tube, context, &hr))
        hr = walk(tube, thread, callback, info_flags, client_data, context, context_size);
    return note_seed(tube, thread, pc, hr);
}

/* ---- looking ---- */

struct text {
    struct sw_tube *tube;
    char *at;
    size_t size, used;
};

static void append(struct text *text, const char *what)
{
    const char *const pieces[] = { text->used ? " < " : "", what };
    for (unsigned i = 0; i < 2; i++)
        for (const char *c = pieces[i]; *c; c++)
            if (text->used + 1 < text->size)
                text->at[text->used++] = *c;
    text->at[text->used] = '\0';
}

static HRESULT STDMETHODCALLTYPE write_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame_info,
                                             ULONG32 context_size, BYTE context[], void *client_data)
{
    struct text *text = client_data;
    const struct sw_tube_function *of = sw_tube_function_of(text->tube, function);
    char name[256] = "[native]";
    (void)ip, (void)frame_info, (void)context_size, (void)context;
    if (function != 0 && !of)
        memcpy(name, "[unknown]", sizeof "[unknown]");
    else if (of)
        sw_tube_function_name(of, name, sizeof name);
    append(text, name);
    return S_OK;
}

HRESULT sw_tube_stack(struct sw_tube_thread *thread, char *text, size_t size)
{
    if (!thread || !text || size == 0)
        return E_INVALIDARG;
    struct sw_tube *tube = thread->tube;
    struct text into = { tube, text, size, 0 };
    text[0] = '\0';
    tube->looking = true;
    tube->engine.event_mask = atomic_load(&tube->mask_low) | COR_PRF_ENABLE_STACK_SNAPSHOT;
    const HRESULT hr = tube->inner->lpVtbl->DoStackSnapshot(tube->inner, sw_tube_thread_id(thread), write_frame,
                                                            COR_PRF_SNAPSHOT_DEFAULT, &into, NULL, 0);
    tube->looking = false;
    if (hr != S_OK)
        append(&into, sw_hresult_name(hr));
    return hr;
}
