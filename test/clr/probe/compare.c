/*
 * One question, two answers: the CLR's DoStackSnapshot and this library's, for the same thread in the same state. Knows
 * what must be equal; refuses to know why the question is asked.
 */
#include "machine.h"
#include "probe.h"
#include "../../../tools/profiler/callbacks.h"

#include <snapwalk/context.h>

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES_MAX = 20000, FRAMES_SHOWN = 24, TRIES = 8, SETTLED = 3 };

struct heard {
    FunctionID function;
    UINT_PTR ip, pc, sp;
    uint64_t saved[SAVED];
    ULONG32 context_size;
    uint32_t context_flags;
    uint16_t flags;  /* SW_RANGE_*, ours only */
    uint32_t hidden; /* ours only */
};

struct answer {
    bool ours;
    HRESULT hr;
    uint32_t count;
    struct heard frames[FRAMES_MAX];
};

/*
 * Of two walks of one thread at a time the CLR refuses one. Nobody waits for the other: a thread that is walked may be
 * kept from going on until who has stopped the runtime is through. What falls together is not compared.
 */
enum { LOCKS = 4096 };
static atomic_flag walked[LOCKS];

static atomic_flag *lock_of(ThreadID target)
{
    ThreadID self = 0;
    if (target == 0 && info->lpVtbl->GetCurrentThreadID(info, &self) == S_OK)
        target = self;
    return &walked[target / 64 % LOCKS];
}

void wait_for_walks(ThreadID target)
{
    atomic_flag *lock = lock_of(target);
    while (atomic_flag_test_and_set(lock))
        sched_yield();
}

void end_walks(ThreadID target)
{
    atomic_flag_clear(lock_of(target));
}

static HRESULT STDMETHODCALLTYPE hear(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                      BYTE context[], void *arg)
{
    struct answer *answer = arg;
    struct sw_regs regs;
    if (answer->count == FRAMES_MAX)
        return E_FAIL;
    struct heard *heard = &answer->frames[answer->count++];
    *heard = (struct heard){ .function = function, .ip = ip, .context_size = size };
    if (answer->ours) {
        heard->flags = ((const struct sw_frame_info *)frame)->flags;
        heard->hidden = ((const struct sw_frame_info *)frame)->hidden;
    }
    if (!context || sw_context_load(SW_CONTEXT_WIN32, machine, context, size, &regs) != SW_OK)
        return S_OK;
    memcpy(&heard->context_flags, context + CONTEXT_FLAGS, sizeof heard->context_flags);
    heard->pc = (UINT_PTR)sw_regs_pc(&regs);
    heard->sp = (UINT_PTR)sw_regs_sp(&regs);
    for (unsigned i = 0; i < SAVED; i++)
        heard->saved[i] = regs.r[saved_numbers[i]];
    return S_OK;
}

/* ---- what must be equal ---- */

/*
 * The CLR restores no nonvolatile registers but the frame pointer over native code: where it comes to a managed frame
 * by a record of the runtime that does not have them, they hold what they held before (0 at the leaf, else what they
 * were in native code or in exception dispatch), until a managed frame has saved them. Such a value is the CLR's own,
 * and ours is the true one: where a record has all registers, as of a fault or a throw, ours are those.
 *
 * at       The callback from which on they differ, if equal is false.
 * stale    By register: such a value.  is_stale  By register, whether the CLR still hands it on.
 * untrue   How many values of the CLR's own differed from ours.
 */
struct comparison {
    enum occasion occasion;
    ThreadID target;
    struct answer *clr;
    struct answer *ours;
    uint32_t at;
    bool equal;
    uint64_t stale[SAVED];
    unsigned is_stale;
    unsigned untrue;
    bool is_told; /* by records; not from a seed */
};

/*
 * Whether the CLR may have come to this frame by a record: the first, one behind native code or behind hidden frames.
 */
static bool begins_block(const struct comparison *c, uint32_t i)
{
    return i == 0 || c->ours->frames[i - 1].function == 0 || c->ours->frames[i].hidden != 0;
}

/*
 * Whether a value of such a frame may be the CLR's own: 0 at the leaf; in front of hidden frames what they had, which
 * nobody hears; else that of the callback before.
 */
static bool may_be_stale(const struct comparison *c, uint32_t i, unsigned r)
{
    const struct heard *clr = c->clr->frames;
    if (c->ours->frames[i].hidden != 0)
        return true;
    return clr[i].saved[r] == (i == 0 ? 0 : clr[i - 1].saved[r]);
}

static unsigned stale_registers(const struct comparison *c, uint32_t i)
{
    unsigned stale = 0;
    for (unsigned r = 0; r < SAVED; r++)
        stale |= r != FP && may_be_stale(c, i, r) ? 1u << r : 0;
    return stale;
}

static bool same_registers(struct comparison *c, const struct heard *clr, const struct heard *ours)
{
    for (unsigned r = 0; r < SAVED; r++) {
        if (clr->saved[r] != c->stale[r])
            c->is_stale &= ~(1u << r);
        if (clr->saved[r] == ours->saved[r])
            continue;
        if (!(c->is_stale >> r & 1u))
            return false;
        c->untrue++;
    }
    return true;
}

static bool same_frame(struct comparison *c, uint32_t i)
{
    const struct heard *clr = &c->clr->frames[i], *ours = &c->ours->frames[i];
    if (clr->function != 0 && c->is_told && begins_block(c, i)) {
        c->is_stale = stale_registers(c, i);
        memcpy(c->stale, clr->saved, sizeof c->stale);
    }
    return clr->function == ours->function && clr->ip == ours->ip && clr->context_size == ours->context_size &&
           clr->context_flags == ours->context_flags && clr->pc == ours->pc && clr->sp == ours->sp &&
           same_registers(c, clr, ours);
}

static bool same(struct comparison *c)
{
    const uint32_t common = c->clr->count < c->ours->count ? c->clr->count : c->ours->count;
    for (c->at = 0; c->at < common; c->at++)
        if (!same_frame(c, c->at))
            return false;
    return c->clr->hr == c->ours->hr && c->clr->count == c->ours->count;
}

/* ---- a difference, for people ---- */

static void show_frame(struct text *to, const char *who, uint32_t i, const struct heard *f)
{
    FunctionID real = 0;
    add_text(to, "    %-4s %3u  id %#14llx ip %#14llx", who, i, (unsigned long long)f->function,
             (unsigned long long)f->ip);
    if (f->context_size)
        add_text(to, " size %u flags %#x sp %#llx", f->context_size, f->context_flags, (unsigned long long)f->sp);
    for (unsigned r = 0; f->context_size && r < SAVED; r++)
        add_text(to, " %s %llx", sw_regs_name(machine, saved_numbers[r]), (unsigned long long)f->saved[r]);
    const HRESULT hr = info->lpVtbl->GetFunctionFromIP(info, (LPCBYTE)f->ip, &real);
    add_text(to, " flags %x", f->flags);
    add_text(to, "  [GetFunctionFromIP %#x %#llx]\n", (unsigned)hr, (unsigned long long)real);
    if (hr == S_OK && sw_clr_function_from_ip(fed, FLAVOUR, f->ip, &real) != S_OK)
        add_text(to, "         not in our code map\n");
}

/* All that there is, in the flavour that hides nothing. */
static void show_documented(struct text *to, ThreadID target)
{
    struct answer *all = target == 0 ? malloc(sizeof *all) : NULL;
    if (!all)
        return;
    all->count = 0;
    all->ours = true;
    wait_for_walks(target);
    all->hr = sw_clr_snapshot(fed, SW_FLAVOUR_DOCUMENTED, 0, hear, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, all, NULL, 0);
    end_walks(target);
    add_text(to, "    documented: hr %#x\n", (unsigned)all->hr);
    for (uint32_t i = 0; i < all->count && i < FRAMES_SHOWN; i++)
        show_frame(to, "all", i, &all->frames[i]);
    free(all);
}

/* Into memory first: asking the runtime may wait for who stopped it, and that thread may wait for the report's lock. */
static void show(const struct comparison *c)
{
    struct text *to = may_report_difference(c->occasion) ? malloc(sizeof *to) : NULL;
    const uint32_t at = c->at;
    if (!to)
        return;
    to->used = 0;
    add_text(to, "difference: %s, thread %#llx: hr %#x and %#x, %u and %u callbacks, at %u\n",
             occasion_name(c->occasion), (unsigned long long)c->target, (unsigned)c->clr->hr, (unsigned)c->ours->hr,
             c->clr->count, c->ours->count, at);
    const uint32_t from = at > 4 ? at - 4 : 0;
    for (uint32_t i = from; i < from + FRAMES_SHOWN; i++) {
        if (i < c->clr->count)
            show_frame(to, "clr", i, &c->clr->frames[i]);
        if (i < c->ours->count && (i >= c->clr->count || i >= at))
            show_frame(to, "ours", i, &c->ours->frames[i]);
    }
    show_documented(to, c->target);
    print_text(to);
    free(to);
}

/* An answer of ours about the own stack is noted for the next time: so what is compared is one that was given again. */
static void ask(bool ours, struct answer *answer, ThreadID target, ULONG32 flags, BYTE *seed, ULONG32 seed_size)
{
    enum { NOTED = 6 };
    answer->ours = ours;
    for (unsigned i = ours && target == 0 && !seed ? 0 : NOTED - 1; i < NOTED; i++) {
        answer->count = 0;
        answer->hr = ours ? sw_clr_snapshot(fed, FLAVOUR, target, hear, flags, answer, seed, seed_size)
                          : info->lpVtbl->DoStackSnapshot(info, target, hear, flags, answer, seed, seed_size);
    }
}

static bool is_seeded(enum occasion occasion)
{
    return occasion == AT_COOPERATIVE_SEEDED;
}

static bool unchanged(const struct answer *a, const struct answer *b)
{
    return a->hr == b->hr && a->count == b->count && memcmp(a->frames, b->frames, a->count * sizeof a->frames[0]) == 0;
}

/*
 * The CLR says UNSAFE of a thread whose hijack lock another thread holds at that moment (clr-contract.md section 1,
 * row 5). On a busy machine the holder may be off the processor for several questions: it is given time to go on, more
 * each time.
 */
static bool is_of_the_moment(const struct answer *clr, const struct answer *ours, unsigned turn)
{
    const struct timespec while_it_runs = { .tv_nsec = 1000000 << turn };
    if (clr->hr != CORPROF_E_STACKSNAPSHOT_UNSAFE || ours->hr == clr->hr)
        return false;
    (void)nanosleep(&while_it_runs, NULL);
    return true;
}

/*
 * What a thread compares with: nothing of it may lie on the stack that is walked, nor be allocated in a callback twice.
 */
struct own {
    struct answer clr, ours, again;
    struct comparison last;
};
static __thread struct own *own;
static __thread bool inside;

bool prepare_comparisons(void)
{
    if (!own)
        own = malloc(sizeof *own);
    return own != NULL;
}

/*
 * Native code of a thread runs on while the runtime is stopped, and a collection may move what registers and stacks
 * point to. So where they differ both are asked again, until the CLR's own answer is the same before and after ours; of
 * another thread, which may try to come back to managed code in between and be turned away, or whose return address the
 * runtime may replace just then (clr-windows-observed.md W19c), that often.
 */
static void weigh(enum occasion occasion, ThreadID target, ULONG32 flags, BYTE *seed, ULONG32 seed_size)
{
    struct comparison *c = &own->last;
    struct answer *ours = &own->ours, *clr = &own->clr, *again = &own->again;
    unsigned stood = 0;
    const unsigned needed = occasion == AT_SUSPENDED || occasion >= AT_STOPPED ? SETTLED : 1;
    *c = (struct comparison){ 0 };
    for (unsigned i = 0; i < TRIES && stood < needed; i++) {
        ask(false, clr, target, flags, seed, seed_size);
        ask(true, ours, target, flags, seed, seed_size);
        *c = (struct comparison){
            .occasion = occasion, .target = target, .clr = clr, .ours = ours, .is_told = !is_seeded(occasion)
        };
        c->equal = same(c);
        if (c->equal)
            return;
        ask(false, again, target, flags, seed, seed_size);
        stood += unchanged(clr, again) && !is_of_the_moment(clr, ours, i);
    }
}

bool compare_quietly(enum occasion occasion, ThreadID target, ULONG32 flags, BYTE *seed, ULONG32 seed_size)
{
    if (!fed || inside || !own)
        return true;
    atomic_flag *lock = lock_of(target);
    if (atomic_flag_test_and_set(lock))
        return true;
    inside = true;
    weigh(occasion, target, flags, seed, seed_size);
    atomic_flag_clear(lock);
    inside = false;
    count(occasion, own->last.equal, own->clr.hr);
    count_zeros(own->last.untrue);
    return own->last.equal;
}

HRESULT last_answer(void)
{
    return own->clr.hr;
}

void report_difference(void)
{
    inside = true;
    show(&own->last);
    inside = false;
}

void compare(enum occasion occasion, ThreadID target, ULONG32 flags, BYTE *seed, ULONG32 seed_size)
{
    if (fed && !inside && prepare_comparisons() && !compare_quietly(occasion, target, flags, seed, seed_size))
        report_difference();
}

void compare_here(enum occasion occasion)
{
    compare(occasion, 0, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, 0);
    compare(occasion, 0, COR_PRF_SNAPSHOT_DEFAULT, NULL, 0);
}
