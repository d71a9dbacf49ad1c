/*
 * The thread table: facts by ThreadID, and holds that a removal waits for.
 * Knows slots and one word of state per slot. Refuses to know how threads are stopped or what a walk is.
 *
 * The state word of a slot holds everything on which readers and the writer must agree at one instant: how many walks
 * hold the thread, how many readers are copying its facts, which of the two copies of the facts is current, and whether
 * the slot is closed (free, or being removed). A reader enters with one atomic addition and learns the rest from its
 * result, so no reader ever waits or repeats. Slots are reused; they are freed only with the table.
 * Contract: contract-documented.md D23; clr-contract.md section 8, rules of conduct.
 */
#include "base/hot.h"
#include "snapshot/threads.h"

#include "common/alloc.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum { BLOCK_SLOTS = 64, UPDATE_ROUNDS = 1000 };

#define READER    UINT64_C(1)
#define WALK      (UINT64_C(1) << 31)
#define CURRENT   (UINT64_C(1) << 62) /* which copy of the facts readers take */
#define CLOSED    (UINT64_C(1) << 63) /* no reader may enter: free, or being removed */
#define READERS   (WALK - 1)
#define WALKS     ((CURRENT - 1) & ~READERS)
#define OCCUPANTS (READERS | WALKS)

/*
 * id 0: the slot is free. order: rises with every add, so that threads can be listed in the order of adding. walker:
 * who walks the thread now; 0: nobody.
 */
struct sw_thread_slots {
    _Atomic uint64_t id[BLOCK_SLOTS];
    _Atomic uint64_t os_id[BLOCK_SLOTS];
    _Atomic uint64_t order[BLOCK_SLOTS];
    _Atomic uint64_t state[BLOCK_SLOTS];
    _Atomic uint64_t walker[BLOCK_SLOTS];
    struct sw_thread facts[BLOCK_SLOTS][2];
    struct sw_thread_slots *_Atomic next;
};

struct sw_threads {
    struct sw_alloc alloc;
    void (*wait)(void *arg, unsigned round);
    void *wait_arg;
    _Atomic uint64_t orders;
    atomic_flag writing;
    struct sw_thread_slots *_Atomic first;
};

enum sw_status sw_threads_create(const struct sw_alloc *alloc, void (*wait)(void *arg, unsigned round), void *wait_arg,
                                 struct sw_threads **threads)
{
    if (!threads || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    struct sw_threads *table = from.get(from.arg, sizeof *table);
    if (!table)
        return SW_E_NO_MEMORY;
    memset(table, 0, sizeof *table);
    table->alloc = from;
    table->wait = wait;
    table->wait_arg = wait_arg;
    atomic_flag_clear(&table->writing);
    *threads = table;
    return SW_OK;
}

void sw_threads_destroy(struct sw_threads *threads)
{
    if (!threads)
        return;
    const struct sw_alloc to = threads->alloc;
    struct sw_thread_slots *block = atomic_load(&threads->first);
    while (block) {
        struct sw_thread_slots *next = atomic_load(&block->next);
        to.put(to.arg, block, sizeof *block);
        block = next;
    }
    to.put(to.arg, threads, sizeof *threads);
}

#ifndef NDEBUG
/* A free slot is closed; a thread's was given a turn, and its facts are its own. */
static bool is_slot(const struct sw_threads *threads, const struct sw_thread_slots *block, unsigned at)
{
    const uint64_t id = atomic_load(&block->id[at]), state = atomic_load(&block->state[at]);
    const uint64_t order = atomic_load(&block->order[at]);
    if (state & CLOSED)
        return true;
    return id != 0 && order != 0 && order <= atomic_load(&threads->orders) &&
           block->facts[at][(state & CURRENT) != 0].id == id;
}

static unsigned count_open(const struct sw_thread_slots *block, uint64_t id)
{
    unsigned count = 0;
    for (; block; block = atomic_load(&block->next))
        for (unsigned i = 0; i < BLOCK_SLOTS; i++)
            count += atomic_load(&block->id[i]) == id && (atomic_load(&block->state[i]) & CLOSED) == 0;
    return count;
}

bool sw_threads_is_valid(const struct sw_threads *threads)
{
    for (const struct sw_thread_slots *block = atomic_load(&threads->first); block; block = atomic_load(&block->next))
        for (unsigned i = 0; i < BLOCK_SLOTS; i++)
            if (!is_slot(threads, block, i) || count_open(block, atomic_load(&block->id[i])) > 1)
                return false;
    return true;
}
#endif

static bool enter_writer(struct sw_threads *threads)
{
    return !atomic_flag_test_and_set_explicit(&threads->writing, memory_order_acquire);
}

static enum sw_status leave_writer(struct sw_threads *threads, enum sw_status status)
{
    assert(sw_threads_is_valid(threads));
    atomic_flag_clear_explicit(&threads->writing, memory_order_release);
    return status;
}

static void pause_round(const struct sw_threads *threads, unsigned round)
{
    if (threads->wait)
        threads->wait(threads->wait_arg, round);
}

/* Whether the slot has that id or OS id. A thread being removed is not found by OS id: another may have that id now. */
static bool slot_is(const struct sw_thread_slots *block, unsigned at, uint64_t value, bool by_os)
{
    if (!by_os)
        return atomic_load(&block->id[at]) == value;
    return atomic_load(&block->os_id[at]) == value && (atomic_load(&block->state[at]) & CLOSED) == 0;
}

SW_HOT static struct sw_held find_slot(const struct sw_threads *threads, uint64_t value, bool by_os)
{
    for (struct sw_thread_slots *block = atomic_load(&threads->first); block; block = atomic_load(&block->next))
        for (unsigned i = 0; i < BLOCK_SLOTS; i++)
            if (slot_is(block, i, value, by_os))
                return (struct sw_held){ block, i };
    return (struct sw_held){ 0 };
}

/*
 * Adds an occupant (READER or WALK) to the slot of a thread and copies its facts. The result of the addition says
 * whether the slot was open and which copy is current. Neither the id nor that copy changes until the occupant has
 * left.
 */
SW_HOT static enum sw_status enter_slot(struct sw_held slot, uint64_t value, bool by_os, uint64_t occupant,
                                        struct sw_thread *thread)
{
    if (!slot.block)
        return SW_E_NOT_FOUND;
    _Atomic uint64_t *state = &slot.block->state[slot.at];
    const uint64_t before = atomic_fetch_add(state, occupant);
    if ((before & CLOSED) != 0 || !slot_is(slot.block, slot.at, value, by_os)) {
        atomic_fetch_sub(state, occupant);
        return SW_E_NOT_FOUND;
    }
    if (thread)
        *thread = slot.block->facts[slot.at][(before & CURRENT) != 0];
    return SW_OK;
}

static enum sw_status look_up(const struct sw_threads *threads, uint64_t value, bool by_os, struct sw_thread *thread)
{
    if (!threads || value == 0)
        return threads ? SW_E_NOT_FOUND : SW_E_ARGUMENT;
    const struct sw_held slot = find_slot(threads, value, by_os);
    const enum sw_status status = enter_slot(slot, value, by_os, READER, thread);
    if (status == SW_OK)
        atomic_fetch_sub(&slot.block->state[slot.at], READER);
    return status;
}

enum sw_status sw_threads_find(const struct sw_threads *threads, uint64_t id, struct sw_thread *thread)
{
    return look_up(threads, id, false, thread);
}

SW_HOT enum sw_status sw_threads_find_os(const struct sw_threads *threads, uint64_t os_id, struct sw_thread *thread)
{
    return look_up(threads, os_id, true, thread);
}

/* The slot is not entered, which takes two locked operations: only the id is read, while the OS id stays the same. */
uint64_t sw_threads_id_of(const struct sw_threads *threads, uint64_t os_id)
{
    const struct sw_held slot = threads && os_id != 0 ? find_slot(threads, os_id, true) : (struct sw_held){ 0 };
    const uint64_t id = slot.block ? atomic_load(&slot.block->id[slot.at]) : 0;
    return id != 0 && slot_is(slot.block, slot.at, os_id, true) ? id : 0;
}

enum sw_status sw_threads_enter(struct sw_threads *threads, uint64_t id, struct sw_thread *thread, struct sw_held *held)
{
    *held = (struct sw_held){ 0 };
    if (!threads)
        return SW_E_ARGUMENT;
    if (id == 0)
        return SW_E_NOT_FOUND;
    const struct sw_held slot = find_slot(threads, id, false);
    const enum sw_status status = enter_slot(slot, id, false, WALK, thread);
    if (status == SW_OK)
        *held = slot;
    return status;
}

void sw_threads_leave(struct sw_held held)
{
    if (held.block)
        atomic_fetch_sub(&held.block->state[held.at], WALK);
}

uint64_t sw_threads_lock(struct sw_held held, uint64_t walker)
{
    uint64_t other = 0;
    return atomic_compare_exchange_strong(&held.block->walker[held.at], &other, walker) ? 0 : other;
}

void sw_threads_unlock(struct sw_held held)
{
    atomic_store_explicit(&held.block->walker[held.at], 0, memory_order_release);
}

enum sw_status sw_threads_hold(struct sw_threads *threads, uint64_t id, struct sw_thread *thread)
{
    struct sw_held held;
    return sw_threads_enter(threads, id, thread, &held);
}

void sw_threads_release(struct sw_threads *threads, uint64_t id)
{
    if (!threads || id == 0)
        return;
    const struct sw_held slot = find_slot(threads, id, false);
    if (slot.block && (atomic_load(&slot.block->state[slot.at]) & WALKS) != 0)
        atomic_fetch_sub(&slot.block->state[slot.at], WALK);
}

static struct sw_thread_slots *append_block(struct sw_threads *threads)
{
    struct sw_thread_slots *block = threads->alloc.get(threads->alloc.arg, sizeof *block);
    if (!block)
        return NULL;
    memset(block, 0, sizeof *block);
    for (unsigned i = 0; i < BLOCK_SLOTS; i++)
        atomic_store(&block->state[i], CLOSED);
    struct sw_thread_slots *_Atomic *end = &threads->first;
    for (struct sw_thread_slots *each = atomic_load(end); each; each = atomic_load(end))
        end = &each->next;
    atomic_store(end, block);
    return block;
}

/* A free slot without occupants. A slot that a stopped reader has not left yet is skipped. */
static struct sw_held free_slot(struct sw_threads *threads)
{
    for (struct sw_thread_slots *block = atomic_load(&threads->first); block; block = atomic_load(&block->next))
        for (unsigned i = 0; i < BLOCK_SLOTS; i++)
            if (atomic_load(&block->id[i]) == 0 && (atomic_load(&block->state[i]) & OCCUPANTS) == 0)
                return (struct sw_held){ block, i };
    return (struct sw_held){ append_block(threads), 0 };
}

static enum sw_status put_in_slot(struct sw_threads *threads, const struct sw_thread *thread)
{
    if (find_slot(threads, thread->id, false).block)
        return SW_E_EXISTS;
    const struct sw_held slot = free_slot(threads);
    if (!slot.block)
        return SW_E_NO_MEMORY;
    slot.block->facts[slot.at][0] = *thread;
    atomic_store(&slot.block->order[slot.at], atomic_fetch_add(&threads->orders, 1) + 1);
    atomic_store(&slot.block->os_id[slot.at], thread->os_id);
    atomic_store(&slot.block->id[slot.at], thread->id);
    atomic_fetch_and(&slot.block->state[slot.at], ~(CLOSED | CURRENT));
    return SW_OK;
}

enum sw_status sw_threads_add(struct sw_threads *threads, const struct sw_thread *thread)
{
    if (!threads || !thread || thread->id == 0)
        return SW_E_ARGUMENT;
    if (!enter_writer(threads))
        return SW_E_BUSY;
    return leave_writer(threads, put_in_slot(threads, thread));
}

/* Closes the slot of a thread. The writer's turn ends before the waiting begins, so that others may go on. */
static enum sw_status close_slot(struct sw_threads *threads, uint64_t id, struct sw_held *slot)
{
    *slot = find_slot(threads, id, false);
    if (!slot->block || (atomic_load(&slot->block->state[slot->at]) & CLOSED) != 0)
        return SW_E_NOT_FOUND;
    atomic_fetch_or(&slot->block->state[slot->at], CLOSED);
    return SW_OK;
}

enum sw_status sw_threads_remove(struct sw_threads *threads, uint64_t id)
{
    struct sw_held slot;
    if (!threads)
        return SW_E_ARGUMENT;
    if (id == 0)
        return SW_E_NOT_FOUND;
    if (!enter_writer(threads))
        return SW_E_BUSY;
    const enum sw_status status = leave_writer(threads, close_slot(threads, id, &slot));
    if (status != SW_OK)
        return status;
    for (unsigned round = 0; (atomic_load(&slot.block->state[slot.at]) & WALKS) != 0; round++)
        pause_round(threads, round);
    atomic_store(&slot.block->os_id[slot.at], 0);
    atomic_store(&slot.block->id[slot.at], 0);
    return SW_OK;
}

/*
 * Makes the spare copy the current one, unless a walk holds the thread. Readers that enter meanwhile count in the same
 * word, so the exchange cannot miss a walk that began before it.
 */
static enum sw_status flip_copies(_Atomic uint64_t *state)
{
    uint64_t seen = atomic_load(state);
    for (unsigned i = 0; i < UPDATE_ROUNDS && (seen & WALKS) == 0; i++)
        if (atomic_compare_exchange_strong(state, &seen, seen ^ CURRENT))
            return SW_OK;
    return SW_E_BUSY;
}

/* Waits until no reader can still be copying the spare facts: an instant without readers since the last flip. */
static bool spare_is_free(const struct sw_threads *threads, _Atomic uint64_t *state)
{
    for (unsigned round = 0; round < UPDATE_ROUNDS; round++) {
        const uint64_t now = atomic_load(state);
        if ((now & OCCUPANTS) == 0)
            return true;
        if ((now & WALKS) != 0)
            return false;
        pause_round(threads, round);
    }
    return false;
}

static enum sw_status replace_facts(struct sw_threads *threads, const struct sw_thread *thread)
{
    const struct sw_held slot = find_slot(threads, thread->id, false);
    if (!slot.block)
        return SW_E_NOT_FOUND;
    _Atomic uint64_t *state = &slot.block->state[slot.at];
    const uint64_t now = atomic_load(state);
    const uint64_t os_id = atomic_load(&slot.block->os_id[slot.at]);
    if ((now & CLOSED) != 0)
        return SW_E_NOT_FOUND;
    if (os_id != thread->os_id && os_id != 0)
        return SW_E_ARGUMENT;
    if (!spare_is_free(threads, state))
        return SW_E_BUSY;
    slot.block->facts[slot.at][(now & CURRENT) == 0] = *thread;
    const enum sw_status status = flip_copies(state);
    if (status == SW_OK)
        atomic_store(&slot.block->os_id[slot.at], thread->os_id);
    return status;
}

enum sw_status sw_threads_update(struct sw_threads *threads, const struct sw_thread *thread)
{
    if (!threads || !thread || thread->id == 0)
        return SW_E_ARGUMENT;
    if (!enter_writer(threads))
        return SW_E_BUSY;
    return leave_writer(threads, replace_facts(threads, thread));
}

/* The open slot with the lowest order above `after`: one step of a list in the order of adding. */
static uint64_t next_in_order(const struct sw_threads *threads, uint64_t after, uint64_t *id)
{
    uint64_t lowest = UINT64_MAX;
    for (struct sw_thread_slots *block = atomic_load(&threads->first); block; block = atomic_load(&block->next))
        for (unsigned i = 0; i < BLOCK_SLOTS; i++) {
            const uint64_t order = atomic_load(&block->order[i]);
            const uint64_t found = atomic_load(&block->id[i]);
            if (order <= after || order >= lowest || found == 0 || (atomic_load(&block->state[i]) & CLOSED) != 0)
                continue;
            lowest = order;
            *id = found;
        }
    return lowest;
}

size_t sw_threads_list(const struct sw_threads *threads, uint64_t *ids, size_t capacity)
{
    uint64_t id = 0;
    size_t count = 0;
    if (!threads)
        return 0;
    const uint64_t last = atomic_load(&threads->orders); /* threads added from now on do not make the list longer */
    for (uint64_t at = next_in_order(threads, 0, &id); at <= last; at = next_in_order(threads, at, &id)) {
        if (ids && count < capacity)
            ids[count] = id;
        count++;
    }
    return count;
}
