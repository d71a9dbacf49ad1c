/*
 * What a profiler leaves of the state of signals: the mask of a thread of the runtime after each callback, and at the
 * end the handlers of the signals that the runtime needs itself. Knows no callback and no runtime.
 *
 * Source: dotnet/runtime src/coreclr/pal/src/exception/signal.cpp (which signals CoreCLR handles).
 */
#include "tube.h"

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

void sw_tube_signals_check(struct sw_tube *tube)
{
    for (unsigned i = 0; tube->signals && i < OWNED; i++) {
        struct sigaction now;
        const struct sigaction *before = &tube->signals->handlers[i];
        if (sigaction(owned[i].number, NULL, &now) == 0 && now.sa_sigaction != before->sa_sigaction)
            sw_tube_broke(tube, SW_TUBE_BAD_SIGNAL_STATE, "Shutdown", "the handler of %s is another than before",
                          owned[i].name);
    }
    free(tube->signals);
    tube->signals = NULL;
}
