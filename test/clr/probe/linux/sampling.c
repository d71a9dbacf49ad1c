/*
 * Any instant: a timer signal for each thread, the walk made by the interrupted thread in its handler. A walk is usable
 * when it reached the outermost frame of the thread. Beside it the chain of frame pointers is walked, and at the next
 * platform invoke of the thread the CLR's own walk is held against the last sample: the frames further out than both.
 */
#include "../machine.h"
#include "../probe.h"
#include "../../../../tools/profiler/callbacks.h"

#include <snapwalk/context.h>
#include <snapwalk/self.h>

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { FRAMES_MAX = 12000, STOPS = SW_STOP_COUNT, SHOWN = 20, FRAMES_SHOWN = 40, BELOW_BASE = 65536 };

struct seen {
    FunctionID function;
    uint64_t pc, sp;
};

/* One thread: its timer, and the managed frames of its last sample. */
struct sampled {
    timer_t timer;
    uint64_t stack_end;
    volatile bool fresh;
    uint32_t count;
    uint32_t managed;
    uint32_t guessed;
    struct sw_frame last;
    struct seen frames[FRAMES_MAX];
};

static __thread struct sampled *mine;
static __thread struct seen *truth;
static unsigned rate;
static _Atomic uint64_t samples, usable, stops[STOPS], with_managed, with_guess, chain_lost, chain_walks, armed, timers,
    compared, agreed, shown;

/* One signal a time: however long a walk takes, the thread goes on for as long as that between two. */
static void arm(const struct sampled *s)
{
    const long apart = 1000000000L / (long)rate;
    const struct itimerspec times = { { 0, 0 }, { apart / 1000000000L, apart % 1000000000L } };
    timer_settime(s->timer, 0, &times, NULL);
    atomic_fetch_add(&armed, 1);
}

/* ---- in the handler ---- */

static bool keep(void *arg, const struct sw_frame *frame)
{
    struct sampled *s = arg;
    s->last = *frame;
    s->count++;
    s->guessed += frame->trust == SW_TRUST_GUESS;
    if ((frame->code.kind == SW_KIND_JIT || frame->code.kind == SW_KIND_NGEN) && s->managed < FRAMES_MAX)
        s->frames[s->managed++] = (struct seen){ frame->code.id, sw_regs_pc(&frame->regs), sw_regs_sp(&frame->regs) };
    return true;
}

/* How many of the managed frames the chain of frame pointers meets, by their return addresses in their order. */
static void follow_chain(const struct sampled *s, const struct sw_regs *interrupted)
{
    uint64_t fp = sw_regs_fp(interrupted);
    const uint64_t sp = sw_regs_sp(interrupted);
    uint32_t at = 0;
    if (s->managed && s->frames[0].pc == sw_regs_pc(interrupted))
        at = 1;
    while (fp >= sp && fp + 16 <= s->stack_end && fp % 8 == 0 && at < s->managed) {
        const uint64_t *record = (const uint64_t *)(uintptr_t)fp;
        if (record[1] == s->frames[at].pc)
            at++;
        if (record[0] <= fp)
            break;
        fp = record[0];
    }
    atomic_fetch_add(&chain_walks, 1);
    atomic_fetch_add(&chain_lost, at < s->managed);
}

/* A handler may have little stack: what was cut is printed at the end. */
static struct cut {
    struct sw_frame last;
    enum sw_stop stop;
    uint32_t count, managed;
    uint64_t at;
} cuts[SHOWN];

static void note_cut(const struct sampled *s, enum sw_stop stop, const struct sw_regs *interrupted)
{
    const uint64_t n = atomic_fetch_add(&shown, 1);
    if (n >= SHOWN)
        return;
    cuts[n].last = s->last;
    cuts[n].stop = stop;
    cuts[n].count = s->count;
    cuts[n].managed = s->managed;
    cuts[n].at = sw_regs_pc(interrupted);
}

static void print_cuts(void)
{
    for (uint64_t i = 0; i < SHOWN && i < atomic_load(&shown); i++) {
        const uint64_t pc = sw_regs_pc(&cuts[i].last.regs);
        Dl_info image = { 0 };
        const bool is_there = dladdr((const void *)(uintptr_t)pc, &image) != 0;
        fprintf(
            report,
            "  cut: %s after %u frames (%u managed) at pc %#llx (%s+%#llx) sp %#llx kind %s, interrupted at %#llx\n",
            sw_stop_name(cuts[i].stop), cuts[i].count, cuts[i].managed, (unsigned long long)pc,
            is_there ? image.dli_fname : "no image",
            (unsigned long long)(is_there ? pc - (uint64_t)(uintptr_t)image.dli_fbase : 0),
            (unsigned long long)sw_regs_sp(&cuts[i].last.regs), sw_kind_name((enum sw_kind)cuts[i].last.code.kind),
            (unsigned long long)cuts[i].at);
    }
}

static void on_tick(int signal, siginfo_t *about, void *context)
{
    const int before = errno;
    struct sampled *s = mine;
    struct sw_regs interrupted;
    (void)signal, (void)about;
    if (!s || !fed || sw_context_load(SW_CONTEXT_UCONTEXT, machine, context, sizeof(ucontext_t), &interrupted) != SW_OK)
        return;
    s->fresh = false;
    s->count = s->managed = s->guessed = 0;
    const enum sw_stop stop = sw_clr_walk(fed, context, keep, s);
    const bool complete = stop == SW_STOP_ROOT && s->stack_end - sw_regs_sp(&s->last.regs) < BELOW_BASE;
    atomic_fetch_add(&samples, 1);
    atomic_fetch_add(&stops[stop], 1);
    atomic_fetch_add(&usable, complete);
    atomic_fetch_add(&with_managed, s->managed != 0);
    atomic_fetch_add(&with_guess, s->guessed != 0);
    if (!complete)
        note_cut(s, stop, &interrupted);
    if (s->managed)
        follow_chain(s, &interrupted);
    s->fresh = complete && s->managed < FRAMES_MAX;
    arm(s);
    errno = before;
}

/* ---- the CLR's truth ---- */

struct collected {
    struct seen *frames;
    uint32_t count;
};

static HRESULT STDMETHODCALLTYPE collect(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                         BYTE context[], void *arg)
{
    struct collected *c = arg;
    struct sw_regs regs;
    (void)frame;
    if (function == 0 || c->count == FRAMES_MAX ||
        sw_context_load(SW_CONTEXT_WIN32, machine, context, size, &regs) != SW_OK)
        return S_OK;
    c->frames[c->count++] = (struct seen){ function, ip, sw_regs_sp(&regs) };
    return S_OK;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return a->function == b->function && a->sp == b->sp;
}

/*
 * Both lists from the base on. The thread may have returned and called again meanwhile: then some frame has gone on to
 * another pc, or another function stands in its place, and what is further in says nothing. Until there, a frame of the
 * CLR's that the sample passes over and goes on behind is wrong. What the CLR hides is passed over.
 */
static bool agree(const struct seen *sample, uint32_t n, const struct seen *clr, uint32_t m)
{
    for (; m > 0; m--) {
        uint32_t k = n;
        while (k > 0 && !is_same(&sample[k - 1], &clr[m - 1]))
            k--;
        if (k == 0)
            break;
        if (sample[k - 1].pc != clr[m - 1].pc)
            return true;
        n = k - 1;
    }
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t k = 0; k < n; k++)
            if (is_same(&sample[k], &clr[i]))
                return false;
    return true;
}

/*
 * A precompiled method that no event has told of has its address for an id in the handler; here its table may be read.
 * The CLR is not asked: GetFunctionFromIP of .NET 8 waits for a stop of the runtime with a lock in its hands for which
 * the thread that unloads code waits while it has stopped the runtime.
 */
static void name_all(struct sampled *s)
{
    FunctionID function;
    for (uint32_t i = 0; i < s->managed; i++)
        if (sw_clr_function_from_ip(fed, SW_FLAVOUR_DOCUMENTED, s->frames[i].pc - 1, &function) == S_OK)
            s->frames[i].function = function;
}

static void show(const struct sampled *s, const struct collected *c)
{
    struct text *to = malloc(sizeof *to);
    if (!to)
        return;
    to->used = 0;
    add_text(to, "difference: a sample of %u managed frames and the CLR's %u\n", s->managed, c->count);
    for (uint32_t i = 0; i < s->managed && i < FRAMES_SHOWN; i++)
        add_text(to, "    sample %3u id %#llx pc %#llx sp %#llx\n", i, (unsigned long long)s->frames[i].function,
                 (unsigned long long)s->frames[i].pc, (unsigned long long)s->frames[i].sp);
    for (uint32_t i = 0; i < c->count && i < FRAMES_SHOWN; i++)
        add_text(to, "    CLR    %3u id %#llx pc %#llx sp %#llx\n", i, (unsigned long long)c->frames[i].function,
                 (unsigned long long)c->frames[i].pc, (unsigned long long)c->frames[i].sp);
    print_text(to);
    free(to);
}

void check_last_sample(void)
{
    struct sampled *s = mine;
    if (!s || !s->fresh)
        return;
    if (!truth)
        truth = malloc(2 * FRAMES_MAX * sizeof *truth);
    if (!truth)
        return;
    sigset_t tick, old;
    sigemptyset(&tick);
    sigaddset(&tick, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &tick, &old);
    struct collected c = { truth, 0 };
    name_all(s);
    const HRESULT hr = info->lpVtbl->DoStackSnapshot(info, 0, collect, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, &c, NULL, 0);
    if (hr == S_OK && s->fresh) {
        const bool fits = agree(s->frames, s->managed, c.frames, c.count);
        atomic_fetch_add(&compared, 1);
        atomic_fetch_add(&agreed, fits);
        if (!fits && may_report_difference(AT_PINVOKE))
            show(s, &c);
    }
    s->fresh = false;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- timers ---- */

bool prepare_system(void)
{
    return true;
}

void print_system(void)
{
}

void *stop_thread(ThreadID thread)
{
    (void)thread;
    return NULL;
}

void let_go(void *held)
{
    (void)held;
}

void sample_this_thread(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
    uint64_t begin;
    struct sampled *s = mine ? NULL : malloc(sizeof *s);
    if (!s)
        return;
    (void)sw_clr_widen_signal_stack(NULL);
    memset(s, 0, offsetof(struct sampled, frames));
    if (sw_self_stack(&begin, &s->stack_end) != SW_OK)
        s->stack_end = 0;
    event.sigev_notify_thread_id = (int)sw_self_thread();
    if (timer_create(CLOCK_MONOTONIC, &event, &s->timer) != 0) {
        free(s);
        return;
    }
    mine = s;
    atomic_fetch_add(&timers, 1);
    arm(s);
}

/* The memory stays: a signal may be on its way. */
void forget_this_thread(void)
{
    struct sampled *s = mine;
    if (!s)
        return;
    timer_delete(s->timer);
    mine = NULL;
}

void start_sampling(unsigned hertz)
{
    const struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
    rate = hertz ? hertz : 1;
    if (sigaction(SIGPROF, &action, NULL) != 0)
        fprintf(report, "sampling: no signal handler: %s\n", strerror(errno));
}

void print_samples(void)
{
    /* Threads may still be sampled, and count a sample before they count it as usable. */
    const uint64_t good = atomic_load(&usable), n = atomic_load(&samples);
    print_cuts();
    for (unsigned i = 0; i < STOPS; i++)
        if (atomic_load(&stops[i]))
            fprintf(report, "  %-16s %9llu\n", sw_stop_name((enum sw_stop)i),
                    (unsigned long long)atomic_load(&stops[i]));
    fprintf(report, "  with managed frames %llu, with a guessed frame %llu\n",
            (unsigned long long)atomic_load(&with_managed), (unsigned long long)atomic_load(&with_guess));
    fprintf(report, "  signals asked for %llu, come %llu; the others wait still or went with one of %llu threads\n",
            (unsigned long long)atomic_load(&armed), (unsigned long long)n, (unsigned long long)atomic_load(&timers));
    fprintf(report, "  chain of frame pointers: loses managed frames in %llu of %llu\n",
            (unsigned long long)atomic_load(&chain_lost), (unsigned long long)atomic_load(&chain_walks));
    fprintf(report, "  beside the CLR's next walk: %llu of %llu agree\n", (unsigned long long)atomic_load(&agreed),
            (unsigned long long)atomic_load(&compared));
    fprintf(report, "samples: %llu of %llu usable\n", (unsigned long long)good, (unsigned long long)n);
}
