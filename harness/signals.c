/*
 * What a profiler leaves of the state of signals: the mask of a thread of the runtime after each callback, and at the
 * end the handlers of the signals that the runtime needs itself. Knows no callback and no runtime.
 *
 * Source: dotnet/runtime src/coreclr/pal/src/exception/signal.cpp (which signals CoreCLR handles).
 */
#include "tube.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int number;
    const char *name;
} owned[] = {
    { SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" }, { SIGFPE, "SIGFPE" }, { SIGILL, "SIGILL" }, { SIGTRAP, "SIGTRAP" },
};
enum { OWNED = sizeof owned / sizeof owned[0], SIGNALS = 64 };

/* What the handlers were before the profiler was initialised. */
struct sw_tube_signals {
    struct sigaction handlers[OWNED];
};

uint64_t sw_tube_signal_mask(void)
{
    sigset_t now;
    uint64_t mask = 0;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &now);
    memcpy(&mask, &now, sizeof mask); /* on Linux a set begins with 64 bits, that of signal 1 first */
    return mask;
}

void sw_tube_check_mask(struct sw_tube *tube, const char *call, uint64_t before)
{
    const uint64_t changed = sw_tube_signal_mask() ^ before;
    for (int number = 1; number <= SIGNALS && changed; number++)
        if (changed >> (number - 1) & 1) {
            sw_tube_broke(tube, SW_TUBE_BAD_SIGNAL_STATE, call, "it left signal %d %s", number,
                          before >> (number - 1) & 1 ? "unblocked" : "blocked");
            return;
        }
}

void sw_tube_signals_note(struct sw_tube *tube)
{
    if (!tube->signals)
        tube->signals = calloc(1, sizeof *tube->signals);
    for (unsigned i = 0; tube->signals && i < OWNED; i++)
        (void)sigaction(owned[i].number, NULL, &tube->signals->handlers[i]);
}

static const void *object_of(const void *code)
{
    Dl_info about;
    return dladdr(code, &about) ? about.dli_fbase : NULL;
}

/* A test's own framework may have put a handler there, too: only one of the profiler's code is the profiler's doing. */
static bool is_of_profiler(const struct sw_tube *tube, const struct sigaction *action)
{
    union {
        void (*function)(int);
        const void *code;
    } handler = { .function = action->sa_handler };
    union {
        HRESULT(STDMETHODCALLTYPE *function)(ICorProfilerCallback11 *, IUnknown *);
        const void *code;
    } method;
    if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)
        return tube->library != NULL;
    if (!tube->profiler)
        return false;
    method.function = tube->profiler->lpVtbl->Initialize;
    return object_of(handler.code) == object_of(method.code);
}

void sw_tube_signals_check(struct sw_tube *tube)
{
    for (unsigned i = 0; tube->signals && i < OWNED; i++) {
        struct sigaction now;
        const struct sigaction *before = &tube->signals->handlers[i];
        if (sigaction(owned[i].number, NULL, &now) == 0 && now.sa_sigaction != before->sa_sigaction &&
            is_of_profiler(tube, &now))
            sw_tube_broke(tube, SW_TUBE_BAD_SIGNAL_STATE, "Shutdown", "the handler of %s is another than before",
                          owned[i].name);
    }
    free(tube->signals);
    tube->signals = NULL;
}
