/*
 * The writer's half of safe memory reclamation. reclaim.h has the idea and the proof. Knows counters and lists of
 * blocks; refuses to know what the blocks are.
 */
#include "common/reclaim.h"

#include <assert.h>
#include <stddef.h>

/*
 * COUNTERS: of one side. Readers that are gone are looked for after GONE_FIRST polls in vain, each time after twice as
 * many, and each GONE_EVERY.
 */
enum { COUNTERS = SW_RECLAIM_STRIPES * SW_RECLAIM_SIDE, GONE_FIRST = 2, GONE_EVERY = 64 };

static_assert(COUNTERS == 64, "undrained has a bit for each");

/* In a slot beside an address, which is even: the writer is about to take it from a reader that is gone. */
static const uint64_t taking = 1;

static uint32_t number_of(unsigned i, unsigned side)
{
    return i / SW_RECLAIM_SIDE * SW_RECLAIM_STRIPE + side * SW_RECLAIM_SIDE + i % SW_RECLAIM_SIDE;
}

static _Atomic uint64_t *counter(struct sw_reclaim *reclaim, unsigned i, unsigned side)
{
    return &reclaim->readers[number_of(i, side)];
}

void sw_reclaim_forget_readers(struct sw_reclaim *reclaim)
{
    for (unsigned n = 0; n < SW_RECLAIM_STRIPES * SW_RECLAIM_STRIPE; n++)
        atomic_store(&reclaim->readers[n], 0);
}

void sw_reclaim_enter_elsewhere(struct sw_reclaim *reclaim, struct sw_section *section, uint32_t home)
{
    const unsigned first = home / SW_RECLAIM_STRIPE * SW_RECLAIM_SIDE;
    const unsigned side = home / SW_RECLAIM_SIDE % 2;
    const uint64_t here = (uint64_t)(uintptr_t)section;
    for (unsigned n = 0; n < COUNTERS; n++) {
        const uint32_t slot = number_of((first + n) % COUNTERS, side);
        uint64_t holder = atomic_load(&reclaim->readers[slot]);
        if (slot % SW_RECLAIM_SIDE == SW_RECLAIM_COUNTER || (holder != 0 && holder != here))
            continue;
        /* The same address: of a section at this place that was left by longjmp. Its slot is taken over. */
        atomic_store_explicit(&section->mark, SW_RECLAIM_OPEN + slot, memory_order_relaxed);
        if (atomic_compare_exchange_strong(&reclaim->readers[slot], &holder, here))
            return;
    }
    atomic_store_explicit(&section->mark, SW_RECLAIM_OPEN + home + SW_RECLAIM_COUNTER, memory_order_relaxed);
    atomic_fetch_add(&reclaim->readers[home + SW_RECLAIM_COUNTER], 1);
}

void sw_reclaim_init(struct sw_reclaim *reclaim, void (*release)(void *arg, struct sw_retired *block), void *arg)
{
    for (unsigned n = 0; n < SW_RECLAIM_STRIPES * SW_RECLAIM_STRIPE; n++)
        atomic_init(&reclaim->readers[n], 0);
    atomic_init(&reclaim->side, 0);
    reclaim->undrained[0] = reclaim->undrained[1] = 0;
    reclaim->polls = 0;
    reclaim->waiting = reclaim->retired = NULL;
    reclaim->release = release;
    reclaim->arg = arg;
}

void sw_reclaim_retire(struct sw_reclaim *reclaim, struct sw_retired *block)
{
    block->next = reclaim->retired;
    reclaim->retired = block;
}

static void release_all(struct sw_reclaim *reclaim, struct sw_retired **list)
{
    struct sw_retired *block = *list;
    *list = NULL;
    while (block) {
        struct sw_retired *next = block->next;
        reclaim->release(reclaim->arg, block);
        block = next;
    }
}

/* The usual case: no reader is inside. The writer asks at every change, so this is one pass without branches. */
static bool is_empty(struct sw_reclaim *reclaim, unsigned side)
{
    uint64_t inside = 0;
    _Atomic uint64_t *stripe = reclaim->readers + side * SW_RECLAIM_SIDE;
    for (unsigned i = 0; i < SW_RECLAIM_STRIPES; i++, stripe += SW_RECLAIM_STRIPE)
        inside |= atomic_load_explicit(stripe, memory_order_seq_cst) |
                  atomic_load_explicit(stripe + 1, memory_order_seq_cst) |
                  atomic_load_explicit(stripe + 2, memory_order_seq_cst) |
                  atomic_load_explicit(stripe + 3, memory_order_seq_cst);
    return inside == 0;
}

/* Checks those counters of one side that were not yet seen at zero. */
static void check_side(struct sw_reclaim *reclaim, unsigned side)
{
    if (reclaim->undrained[side] == UINT64_MAX && is_empty(reclaim, side))
        reclaim->undrained[side] = 0;
    uint64_t left = reclaim->undrained[side];
    for (unsigned i = 0; i < COUNTERS && left >> i; i++)
        if ((left >> i & 1) && atomic_load_explicit(counter(reclaim, i, side), memory_order_seq_cst) == 0)
            reclaim->undrained[side] &= ~(UINT64_C(1) << i);
}

/*
 * Behind this, what the reader of a section did before it stored what was just peeked at is seen to have been done.
 * ThreadSanitizer knows neither fences nor what the kernel copies.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
void __tsan_acquire(void *address);
#define ACQUIRE(address) __tsan_acquire((void *)(uintptr_t)(address))
#endif
#endif
#ifndef ACQUIRE
#define ACQUIRE(address) atomic_thread_fence(memory_order_acquire)
#endif

static_assert(offsetof(struct sw_section, mark) == 0 && offsetof(struct sw_section, thread) == 8, "what is peeked at");

/* Whether there is no open section any more at the address that a slot holds. ask_threads: also by who there is. */
static bool is_over(uint64_t address, uint32_t slot, bool ask_threads)
{
    uint64_t words[2];
    const enum sw_peek found = sw_peek(address & ~taking, words);
    ACQUIRE(address & ~taking);
    if (found != SW_PEEK_WORDS)
        return found == SW_PEEK_NOTHING;
    return words[0] != SW_RECLAIM_OPEN + slot || (ask_threads && sw_thread_is_gone(words[1]));
}

/*
 * Frees the slot of a section that was found to be over. Meanwhile the same address may have come into the slot anew:
 * that reader set its mark before, so it is seen once the slot is marked as being taken, or it has stored its 0.
 */
static void take_slot(_Atomic uint64_t *slot, uint64_t address, uint32_t number, bool ask_threads)
{
    if ((address & taking) == 0 && !atomic_compare_exchange_strong(slot, &address, address | taking))
        return;
    uint64_t taken = address | taking;
    (void)atomic_compare_exchange_strong(slot, &taken, is_over(address, number, ask_threads) ? 0 : address & ~taking);
}

/* Finds the slots of one side whose readers are gone. */
static void find_gone(struct sw_reclaim *reclaim, unsigned side, bool ask_threads)
{
    for (unsigned i = 0; i < COUNTERS && reclaim->undrained[side] >> i; i++) {
        const uint32_t number = number_of(i, side);
        _Atomic uint64_t *slot = &reclaim->readers[number];
        const uint64_t address = atomic_load(slot);
        if (!(reclaim->undrained[side] >> i & 1) || number % SW_RECLAIM_SIDE == SW_RECLAIM_COUNTER || address == 0 ||
            !is_over(address, number, ask_threads))
            continue;
        reclaim->undrained[side] &= ~(UINT64_C(1) << i);
        take_slot(slot, address, number, ask_threads);
    }
}

/*
 * Looks for readers that are gone, where polling has been in vain: it takes a system call a reader, and some for each
 * thread to ask which there are. So that is done ever more rarely.
 */
static void check_gone(struct sw_reclaim *reclaim)
{
    if (!(reclaim->undrained[0] | reclaim->undrained[1]) || ++reclaim->polls < GONE_FIRST)
        return;
    const bool ask_threads = (reclaim->polls & (reclaim->polls - 1)) == 0;
    if (!ask_threads && reclaim->polls % GONE_EVERY != 0)
        return;
    find_gone(reclaim, 0, ask_threads);
    find_gone(reclaim, 1, ask_threads);
}

bool sw_reclaim_poll(struct sw_reclaim *reclaim)
{
    if (!reclaim->waiting) {
        if (!reclaim->retired)
            return true;
        reclaim->waiting = reclaim->retired;
        reclaim->retired = NULL;
        reclaim->undrained[0] = reclaim->undrained[1] = UINT64_MAX;
        reclaim->polls = 0;
    }
    check_side(reclaim, 0);
    check_side(reclaim, 1);
    check_gone(reclaim);
    if (!reclaim->undrained[0] && !reclaim->undrained[1]) {
        release_all(reclaim, &reclaim->waiting);
        return !reclaim->retired;
    }
    /* One side is drained: send new readers to it, so that the other one can drain. */
    if (!reclaim->undrained[0] || !reclaim->undrained[1])
        atomic_store_explicit(&reclaim->side, reclaim->undrained[0] ? 1 : 0, memory_order_relaxed);
    return false;
}

void sw_reclaim_flush(struct sw_reclaim *reclaim)
{
    release_all(reclaim, &reclaim->waiting);
    release_all(reclaim, &reclaim->retired);
}
