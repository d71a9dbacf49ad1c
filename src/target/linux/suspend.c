/*
 * Suspends threads of this process with a real-time signal, whose handler stores the thread's registers and waits. The
 * signal's value points at the slot of the request, so the handler needs no global. Everything except create and
 * destroy is safe in a signal handler: no lock, no allocation. A slot changes its phase by compare-and-swap on one
 * word.
 *
 *     FREE ──► CLAIMED ──► SENT ──► PARKED ──► LEAVING ──► FREE
 *      by the suspender      │  by the thread  by resume   by the thread
 *                            └──► FREE, by the suspender, when the thread does not answer
 *
 * A signal that arrives late finds a slot that is not SENT to its own thread, and does nothing. If the slot has been
 * SENT to the same thread again meanwhile, serving that request is right. So only the slots' memory has to outlive the
 * signal. A system call of the suspended thread may end with EINTR where SA_RESTART does not apply (signal(7)).
 *
 * Source: rt_tgsigqueueinfo(2), futex(2), signal-safety(7).
 */
#include "common/alloc.h"
#include "target/linux/os.h"
#include "target/linux/self_capture.h"

#include <snapwalk/context.h>
#include <snapwalk/self.h>
#include <snapwalk/suspend.h>

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum phase { FREE = 0, CLAIMED, SENT, PARKED, LEAVING };

enum { TIMEOUT_MS = 1000, SLICE_MS = 5, UNANSWERED_MAX = 4, TRIES = 1000, CAPACITY_MAX = 1 << 16 };

/*
 * word         phase, count of suspends (in PARKED), thread.
 * futex        Incremented and woken when word changes.
 * unanswered   Thread and number of signals that it has not answered; survives while the slot is free.
 */
struct slot {
    _Atomic uint64_t word;
    _Atomic uint64_t unanswered;
    _Atomic uint32_t futex;
    struct slots *owner;
    struct sw_regs regs;
};

/* On pages of its own, which stay mapped if a signal may still be pending when the rest is freed. */
struct slots {
    _Atomic uint64_t pending;
    size_t count;
    size_t bytes;
    struct slot slot[];
};

struct sw_self_suspender {
    struct sw_alloc alloc;
    struct slots *slots;
    struct sigaction before;
    int signal;
};

static uint64_t word_of(enum phase phase, uint32_t count, uint32_t thread)
{
    return (uint64_t)phase << 60 | (uint64_t)(count & 0xfffffffu) << 32 | thread;
}

static enum phase phase_of(uint64_t word)
{
    return (enum phase)(word >> 60);
}

static uint32_t count_of(uint64_t word)
{
    return (uint32_t)(word >> 32) & 0xfffffffu;
}

static uint32_t thread_of(uint64_t word)
{
    return (uint32_t)word;
}

static bool change(struct slot *slot, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong(&slot->word, &from, to);
}

static void wake(struct slot *slot)
{
    atomic_fetch_add(&slot->futex, 1);
    syscall(SYS_futex, &slot->futex, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Waits until the futex differs from `seen`: for milliseconds, or (0) without limit. May return early. */
static void wait_for_wake(struct slot *slot, uint32_t seen, long milliseconds)
{
    const struct timespec time = { 0, milliseconds * 1000000 };
    syscall(SYS_futex, &slot->futex, FUTEX_WAIT_PRIVATE, seen, milliseconds ? &time : NULL, NULL, 0);
}

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* The suspended thread's side, until it may continue. */
static void park(struct slot *slot, const void *ucontext)
{
    const enum sw_machine machine = sw_os_machine();
    const uint64_t sent = word_of(SENT, 1, own_tid());
    if (atomic_load(&slot->word) != sent)
        return;
    if (sw_context_load(SW_CONTEXT_UCONTEXT, machine, ucontext, sw_context_needed(SW_CONTEXT_UCONTEXT, machine),
                        &slot->regs) != SW_OK)
        return;
    if (!change(slot, sent, word_of(PARKED, 1, own_tid())))
        return;
    wake(slot);
    for (;;) {
        const uint32_t seen = atomic_load(&slot->futex);
        if (phase_of(atomic_load(&slot->word)) != PARKED)
            break;
        wait_for_wake(slot, seen, 0);
    }
    atomic_store(&slot->word, word_of(FREE, 0, 0));
}

/* Counts down the thread's unanswered signals. */
static void note_answered(struct slot *slot, uint32_t thread)
{
    uint64_t now = atomic_load(&slot->unanswered);
    while (thread_of(now) == thread && count_of(now) != 0)
        if (atomic_compare_exchange_weak(&slot->unanswered, &now, word_of(FREE, count_of(now) - 1, thread)))
            return;
}

/* Any process may send this signal; only a queued one from this process carries a slot. */
static void handle_signal(int number, siginfo_t *info, void *ucontext)
{
    const int before = errno;
    struct slot *slot = info->si_value.sival_ptr;
    (void)number;
    if (info->si_code == SI_QUEUE && info->si_pid == getpid() && slot) {
        struct slots *slots = slot->owner;
        note_answered(slot, own_tid());
        park(slot, ucontext);
        atomic_fetch_sub(&slots->pending, 1);
    }
    errno = before;
}

static struct slot *find(struct slots *slots, uint32_t thread, enum phase phase)
{
    for (size_t i = 0; i < slots->count; i++) {
        const uint64_t word = atomic_load(&slots->slot[i].word);
        if (thread_of(word) == thread && phase_of(word) == phase)
            return &slots->slot[i];
    }
    return NULL;
}

/* Adds or removes one suspend of a parked thread. False: the thread is no longer parked in this slot. */
static bool count_up(struct slot *slot, uint32_t thread)
{
    uint64_t now = atomic_load(&slot->word);
    while (thread_of(now) == thread && phase_of(now) == PARKED)
        if (atomic_compare_exchange_weak(&slot->word, &now, word_of(PARKED, count_of(now) + 1, thread)))
            return true;
    return false;
}

static bool count_down(struct slot *slot, uint32_t thread)
{
    uint64_t now = atomic_load(&slot->word);
    while (thread_of(now) == thread && phase_of(now) == PARKED) {
        const bool last = count_of(now) == 1;
        if (!atomic_compare_exchange_weak(&slot->word, &now,
                                          word_of(last ? LEAVING : PARKED, count_of(now) - 1, thread)))
            continue;
        if (last)
            wake(slot);
        return true;
    }
    return false;
}

/* Whether another caller is about to suspend the thread. */
static bool contended(struct slots *slots, const struct slot *mine, uint32_t thread)
{
    for (size_t i = 0; i < slots->count; i++) {
        const uint64_t word = atomic_load(&slots->slot[i].word);
        const enum phase phase = phase_of(word);
        if (&slots->slot[i] != mine && thread_of(word) == thread && phase != FREE && phase != LEAVING)
            return true;
    }
    return false;
}

/* Claims a free slot for the thread, preferably with its own unanswered signals. Null: all are in use. */
static struct slot *claim(struct slots *slots, uint32_t thread)
{
    for (unsigned round = 0; round < 3; round++)
        for (size_t i = 0; i < slots->count; i++) {
            struct slot *slot = &slots->slot[i];
            const uint64_t old = atomic_load(&slot->unanswered);
            const bool fits[3] = { thread_of(old) == thread, count_of(old) == 0, true };
            if (fits[round] && change(slot, 0, word_of(CLAIMED, 1, thread)))
                return slot;
        }
    return NULL;
}

/* Whether every slot is in long-term use: none is about to become free. */
static bool all_taken(const struct slots *slots)
{
    for (size_t i = 0; i < slots->count; i++) {
        const enum phase phase = phase_of(atomic_load(&slots->slot[i].word));
        if (phase != SENT && phase != PARKED)
            return false;
    }
    return true;
}

/* Counts one more signal sent to the thread in its slot. False: enough unanswered ones are pending already. */
static bool note_sent(struct slot *slot, uint32_t thread)
{
    uint64_t now = atomic_load(&slot->unanswered);
    for (;;) {
        const uint32_t waiting = thread_of(now) == thread ? count_of(now) : 0;
        if (waiting >= UNANSWERED_MAX)
            return false;
        if (atomic_compare_exchange_weak(&slot->unanswered, &now, word_of(FREE, waiting + 1, thread)))
            return true;
    }
}

static enum sw_status send(const struct sw_self_suspender *suspender, struct slot *slot, uint32_t thread)
{
    siginfo_t info;
    if (!note_sent(slot, thread))
        return SW_OK;
    memset(&info, 0, sizeof info);
    info.si_signo = suspender->signal;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = slot;
    atomic_fetch_add(&suspender->slots->pending, 1);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, suspender->signal, &info) == 0)
        return SW_OK;
    const enum sw_status status = sw_os_status(errno);
    note_answered(slot, thread);
    atomic_fetch_sub(&suspender->slots->pending, 1);
    return status;
}

static bool ended(uint32_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
}

/* Waits for the thread to park. Withdraws the request if it ends or does not answer. */
static enum sw_status wait_until_parked(struct slot *slot, uint32_t thread)
{
    const uint64_t sent = word_of(SENT, 1, thread);
    const uint64_t deadline = sw_os_now() + TIMEOUT_MS * UINT64_C(1000000);
    enum sw_status status = SW_OK;
    while (status == SW_OK) {
        const uint32_t seen = atomic_load(&slot->futex);
        if (atomic_load(&slot->word) != sent)
            return SW_OK;
        wait_for_wake(slot, seen, SLICE_MS);
        if (ended(thread))
            status = SW_E_GONE;
        else if (sw_os_now() > deadline)
            status = SW_E_BUSY;
    }
    /* It may have parked at this very moment: then the request succeeded. */
    return change(slot, sent, 0) ? status : SW_OK;
}

/* A thread's pending signals end with it. */
static void forget_signals(struct slots *slots, struct slot *slot)
{
    const uint64_t old = atomic_exchange(&slot->unanswered, 0);
    atomic_fetch_sub(&slots->pending, count_of(old));
}

static enum sw_status request(const struct sw_self_suspender *suspender, struct slot *slot, uint32_t thread)
{
    if (!change(slot, word_of(CLAIMED, 1, thread), word_of(SENT, 1, thread)))
        return SW_E_BUSY;
    enum sw_status status = send(suspender, slot, thread);
    if (status == SW_OK)
        status = wait_until_parked(slot, thread);
    else
        atomic_store(&slot->word, 0);
    if (status == SW_E_GONE)
        forget_signals(suspender->slots, slot);
    return status;
}

static enum sw_status suspend_thread(const struct sw_self_suspender *suspender, uint32_t thread, struct sw_regs *regs)
{
    struct slots *slots = suspender->slots;
    for (unsigned i = 0; i < TRIES; i++) {
        struct slot *slot = find(slots, thread, PARKED);
        if (slot && count_up(slot, thread)) {
            *regs = slot->regs;
            return SW_OK;
        }
        slot = claim(slots, thread);
        if (!slot && all_taken(slots))
            return SW_E_BUSY;
        if (slot && !contended(slots, slot, thread)) {
            const enum sw_status status = request(suspender, slot, thread);
            if (status == SW_OK)
                *regs = slot->regs;
            return status;
        }
        /* Of two concurrent claims at least one sees the other, and withdraws. */
        if (slot)
            atomic_store(&slot->word, 0);
        sw_os_wait(NULL, i);
    }
    return SW_E_BUSY;
}

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    const int before = errno;
    if (!arg || !regs || os_id == 0 || os_id > INT32_MAX || os_id == own_tid())
        return SW_E_ARGUMENT;
    const enum sw_status status = suspend_thread(arg, (uint32_t)os_id, regs);
    errno = before;
    return status;
}

static enum sw_status resume(void *arg, uint64_t os_id)
{
    const int before = errno;
    const struct sw_self_suspender *suspender = arg;
    if (!arg || os_id == 0 || os_id > INT32_MAX)
        return SW_E_ARGUMENT;
    struct slot *slot = find(suspender->slots, (uint32_t)os_id, PARKED);
    const bool done = slot && count_down(slot, (uint32_t)os_id);
    errno = before;
    return done ? SW_OK : SW_E_NOT_FOUND;
}

static uint64_t current(void *arg)
{
    (void)arg;
    return sw_self_thread();
}

struct sw_suspender sw_self_get_suspender(struct sw_self_suspender *suspender)
{
    return (struct sw_suspender){ suspend, resume, current, sw_self_capture_with, sw_os_wait, suspender, NULL };
}

/* Takes a signal without a handler. SW_E_BUSY: it has one. */
static enum sw_status take_signal(struct sw_self_suspender *suspender, int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    /* A parked thread runs nothing, not even other handlers. */
    sigfillset(&action.sa_mask);
    if (sigaction(number, &action, &suspender->before) != 0)
        return SW_E_ARGUMENT;
    suspender->signal = number;
    if (suspender->before.sa_handler == SIG_DFL || suspender->before.sa_handler == SIG_IGN)
        return SW_OK;
    return sigaction(number, &suspender->before, NULL) == 0 ? SW_E_BUSY : SW_E_OS;
}

static enum sw_status take_any_signal(struct sw_self_suspender *suspender)
{
    enum sw_status status = SW_E_BUSY;
    for (int number = SIGRTMIN + 6; number <= SIGRTMAX && status == SW_E_BUSY; number++)
        status = take_signal(suspender, number);
    return status;
}

static struct slots *make_slots(size_t capacity)
{
    const size_t bytes = sizeof(struct slots) + capacity * sizeof(struct slot);
    struct slots *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slots == MAP_FAILED)
        return NULL;
    slots->count = capacity;
    slots->bytes = bytes;
    for (size_t i = 0; i < capacity; i++)
        slots->slot[i].owner = slots;
    return slots;
}

enum sw_status sw_self_suspender_create(const struct sw_alloc *alloc, int signal, size_t capacity,
                                        struct sw_self_suspender **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    const bool named = signal != 0;
    if (!out || !sw_alloc_usable(alloc) || capacity == 0 || capacity > CAPACITY_MAX ||
        (named && (signal < SIGRTMIN || signal > SIGRTMAX)))
        return SW_E_ARGUMENT;
    struct sw_self_suspender *suspender = from.get(from.arg, sizeof *suspender);
    if (!suspender)
        return SW_E_NO_MEMORY;
    *suspender = (struct sw_self_suspender){ .alloc = from, .slots = make_slots(capacity) };
    enum sw_status status = suspender->slots ? SW_OK : SW_E_NO_MEMORY;
    if (status == SW_OK)
        status = named ? take_signal(suspender, signal) : take_any_signal(suspender);
    if (status == SW_OK) {
        *out = suspender;
        return SW_OK;
    }
    if (suspender->slots)
        munmap(suspender->slots, suspender->slots->bytes);
    from.put(from.arg, suspender, sizeof *suspender);
    return status;
}

void sw_self_suspender_destroy(struct sw_self_suspender *suspender)
{
    if (!suspender)
        return;
    const struct sw_alloc to = suspender->alloc;
    struct slots *slots = suspender->slots;
    struct sigaction ignore;
    /* Ignoring a signal removes it from every queue; only then may its old disposition be restored. */
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(suspender->signal, &ignore, NULL);
    for (size_t i = 0; i < slots->count; i++) {
        const uint64_t word = atomic_load(&slots->slot[i].word);
        if (phase_of(word) == PARKED)
            count_down(&slots->slot[i], thread_of(word));
    }
    for (unsigned round = 0; round < 100 && atomic_load(&slots->pending) != 0; round++)
        sw_os_wait(NULL, round);
    (void)sigaction(suspender->signal, &suspender->before, NULL);
    /*
     * An unanswered signal was discarded above, or a handler still runs: that cannot be known, so the slots stay
     * mapped.
     */
    if (atomic_load(&slots->pending) == 0)
        munmap(slots, slots->bytes);
    to.put(to.arg, suspender, sizeof *suspender);
}
