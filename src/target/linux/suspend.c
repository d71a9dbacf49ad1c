/*
 * Suspends threads of this process: a real-time signal whose handler stores the thread's registers and waits.
 * The signal's value points at the slot of the request, so the handler needs no global. Everything but create and
 * destroy is safe in a signal handler: no lock, no allocation; a slot changes hands by compare-and-swap on one word.
 *
 *     FREE ──► CLAIMED ──► SENT ──► PARKED ──► LEAVING ──► FREE
 *      by the suspender      │  by the thread  by resume   by the thread
 *                            └──► FREE, by the suspender, when the thread does not answer
 *
 * A signal that arrives late finds a slot that is not SENT to its own thread, and does nothing; if the slot has been
 * SENT to the same thread once more, serving that request is right. So only the slots' memory has to outlive it.
 * A system call of the suspended thread may end with EINTR where SA_RESTART does not apply (signal(7)).
 *
 * Source: rt_tgsigqueueinfo(2), futex(2), signal-safety(7).
 */
#include "common/alloc.h"
#include "target/linux/os.h"
#include "target/linux/self_capture.h"

#include <snapwalk/context.h>
#include <snapwalk/self.h>

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

enum { PATIENCE_MS = 1000, SLICE_MS = 5, UNANSWERED_MAX = 4, TRIES = 1000, CAPACITY_MAX = 1 << 16 };

/*
 * word         phase, count of suspends (in PARKED), thread.
 * bell         Rung (and futex-waited on) when word changes.
 * unanswered   Thread and number of signals that it has not answered, kept while the slot is free.
 */
struct slot {
    _Atomic uint64_t word;
    _Atomic uint64_t unanswered;
    _Atomic uint32_t bell;
    struct slots *all;
    struct sw_regs regs;
};

/* On pages of its own: they stay where they are if a signal may still be under way when the rest is given back. */
struct slots {
    _Atomic uint64_t under_way;
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

static void ring(struct slot *slot)
{
    atomic_fetch_add(&slot->bell, 1);
    syscall(SYS_futex, &slot->bell, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Waits until the bell is not `heard` any more, for milliseconds or (0) without end. May return early. */
static void listen_for(struct slot *slot, uint32_t heard, long milliseconds)
{
    const struct timespec time = { 0, milliseconds * 1000000 };
    syscall(SYS_futex, &slot->bell, FUTEX_WAIT_PRIVATE, heard, milliseconds ? &time : NULL, NULL, 0);
}

static uint32_t self(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* The suspended thread's side, up to the moment at which it may go on. */
static void stay(struct slot *slot, const void *ucontext)
{
    const enum sw_machine machine = sw_os_machine();
    const uint64_t sent = word_of(SENT, 1, self());
    if (atomic_load(&slot->word) != sent)
        return;
    if (sw_context_load(SW_CONTEXT_UCONTEXT, machine, ucontext, sw_context_needed(SW_CONTEXT_UCONTEXT, machine),
                        &slot->regs) != SW_OK)
        return;
    if (!change(slot, sent, word_of(PARKED, 1, self())))
        return;
    ring(slot);
    for (;;) {
        const uint32_t heard = atomic_load(&slot->bell);
        if (phase_of(atomic_load(&slot->word)) != PARKED)
            break;
        listen_for(slot, heard, 0);
    }
    atomic_store(&slot->word, word_of(FREE, 0, 0));
}

/* Takes one from the thread's unanswered signals. */
static void answered(struct slot *slot, uint32_t thread)
{
    uint64_t now = atomic_load(&slot->unanswered);
    while (thread_of(now) == thread && count_of(now) != 0)
        if (atomic_compare_exchange_weak(&slot->unanswered, &now, word_of(FREE, count_of(now) - 1, thread)))
            return;
}

/* Anybody may send this signal; only one from this process, queued, carries a slot. */
static void park(int number, siginfo_t *info, void *ucontext)
{
    const int before = errno;
    struct slot *slot = info->si_value.sival_ptr;
    (void)number;
    if (info->si_code == SI_QUEUE && info->si_pid == getpid() && slot) {
        struct slots *slots = slot->all;
        answered(slot, self());
        stay(slot, ucontext);
        atomic_fetch_sub(&slots->under_way, 1);
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

/* One more or one less suspend of a parked thread. False when it is not parked in this slot any more. */
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
            ring(slot);
        return true;
    }
    return false;
}

/* Whether somebody else is about to suspend the thread. */
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

/* A free slot, for the thread, with its old unanswered signals if there are any. Null when all are taken. */
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

/* Whether every slot is held for a while: none is about to become free. */
static bool all_taken(const struct slots *slots)
{
    for (size_t i = 0; i < slots->count; i++) {
        const enum phase phase = phase_of(atomic_load(&slots->slot[i].word));
        if (phase != SENT && phase != PARKED)
            return false;
    }
    return true;
}

/* Notes one more signal to the thread in its slot. False when enough of them wait for it already. */
static bool note(struct slot *slot, uint32_t thread)
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
    if (!note(slot, thread))
        return SW_OK;
    memset(&info, 0, sizeof info);
    info.si_signo = suspender->signal;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = slot;
    atomic_fetch_add(&suspender->slots->under_way, 1);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, suspender->signal, &info) == 0)
        return SW_OK;
    const enum sw_status status = sw_os_status(errno);
    answered(slot, thread);
    atomic_fetch_sub(&suspender->slots->under_way, 1);
    return status;
}

static bool ended(uint32_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
}

/* Waits for the thread to park; takes the request back when it ends or does not answer. */
static enum sw_status await(struct slot *slot, uint32_t thread)
{
    const uint64_t sent = word_of(SENT, 1, thread);
    const uint64_t deadline = sw_os_now() + PATIENCE_MS * UINT64_C(1000000);
    enum sw_status status = SW_OK;
    while (status == SW_OK) {
        const uint32_t heard = atomic_load(&slot->bell);
        if (atomic_load(&slot->word) != sent)
            return SW_OK;
        listen_for(slot, heard, SLICE_MS);
        if (ended(thread))
            status = SW_E_GONE;
        else if (sw_os_now() > deadline)
            status = SW_E_BUSY;
    }
    /* It may have parked this very moment: then the request holds. */
    return change(slot, sent, 0) ? status : SW_OK;
}

/* A thread's signals end with it. */
static void forget(struct slots *slots, struct slot *slot)
{
    const uint64_t old = atomic_exchange(&slot->unanswered, 0);
    atomic_fetch_sub(&slots->under_way, count_of(old));
}

static enum sw_status request(const struct sw_self_suspender *suspender, struct slot *slot, uint32_t thread)
{
    if (!change(slot, word_of(CLAIMED, 1, thread), word_of(SENT, 1, thread)))
        return SW_E_BUSY;
    enum sw_status status = send(suspender, slot, thread);
    if (status == SW_OK)
        status = await(slot, thread);
    else
        atomic_store(&slot->word, 0);
    if (status == SW_E_GONE)
        forget(suspender->slots, slot);
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
        /* Of two that claim at once at least one sees the other; whoever does steps back. */
        if (slot)
            atomic_store(&slot->word, 0);
        sw_os_wait(NULL, i);
    }
    return SW_E_BUSY;
}

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    const int before = errno;
    if (!arg || !regs || os_id == 0 || os_id > INT32_MAX || os_id == self())
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
    return (struct sw_suspender){ suspend, resume, current, sw_self_capture_with, sw_os_wait, suspender };
}

/* Takes a signal that nobody handles. SW_E_BUSY when somebody does. */
static enum sw_status take_signal(struct sw_self_suspender *suspender, int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = park;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    /* A parked thread runs nothing, other handlers neither. */
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
        slots->slot[i].all = slots;
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
    /* Ignoring a signal takes it from every queue in which it waits; only then may its old fate come back. */
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(suspender->signal, &ignore, NULL);
    for (size_t i = 0; i < slots->count; i++) {
        const uint64_t word = atomic_load(&slots->slot[i].word);
        if (phase_of(word) == PARKED)
            count_down(&slots->slot[i], thread_of(word));
    }
    for (unsigned round = 0; round < 100 && atomic_load(&slots->under_way) != 0; round++)
        sw_os_wait(NULL, round);
    (void)sigaction(suspender->signal, &suspender->before, NULL);
    /* What has not been answered was thrown away above or is in a handler's hands still: nobody can tell. */
    if (atomic_load(&slots->under_way) == 0)
        munmap(slots, slots->bytes);
    to.put(to.arg, suspender, sizeof *suspender);
}
