/*
 * See brief.h. Nobody waits: who finds the epoch odd, or changed, does without.
 */
#include "fast/brief.h"

static uint64_t key_at(const struct sw_briefs *briefs, uint32_t n)
{
    return atomic_load_explicit(&briefs->entries[n].key, memory_order_relaxed);
}

uint32_t sw_brief_find(const struct sw_briefs *briefs, uint64_t pc)
{
    for (unsigned way = 0; way < SW_BRIEF_WAYS; way++) {
        const uint32_t n = sw_brief_at(briefs, pc, way);
        if (n != 0 && key_at(briefs, n) == pc)
            return n;
    }
    return 0;
}

bool sw_brief_lock(struct sw_briefs *briefs, uint64_t epoch)
{
    if (epoch % 2 != 0 || !atomic_compare_exchange_strong_explicit(&briefs->epoch, &epoch, epoch + 1,
                                                                   memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_thread_fence(memory_order_release);
    return true;
}

uint64_t sw_brief_unlock(struct sw_briefs *briefs, uint64_t epoch)
{
    atomic_store_explicit(&briefs->epoch, epoch + 2, memory_order_release);
    return epoch + 2;
}

static void set_count(struct sw_briefs *briefs, uint32_t count)
{
    atomic_store_explicit(&briefs->count, count, memory_order_relaxed);
}

static uint32_t count_of(const struct sw_briefs *briefs)
{
    return atomic_load_explicit(&briefs->count, memory_order_relaxed);
}

/* What is none has the key 0, which no pc is but may stand on a stack, and the form 0, which none has. */
static void throw_away(struct sw_briefs *briefs)
{
    for (uint32_t n = count_of(briefs); n > 0; n--) {
        atomic_store_explicit(&briefs->entries[n].key, 0, memory_order_relaxed);
        atomic_store_explicit(&briefs->entries[n].form, 0, memory_order_relaxed);
    }
    set_count(briefs, 0);
}

uint64_t sw_brief_open(struct sw_briefs *briefs, uint64_t flags, const uint64_t quiet[2], uint64_t stamp)
{
    const uint64_t epoch = atomic_load_explicit(&briefs->epoch, memory_order_acquire);
    const uint64_t from = atomic_load_explicit(&briefs->stamp, memory_order_relaxed);
    const uint64_t latest = quiet[0] > quiet[1] ? quiet[0] : quiet[1];
    if (epoch % 2 != 0)
        return SW_BRIEF_CLOSED;
    if (from >= latest && atomic_load_explicit(&briefs->flags, memory_order_relaxed) == flags)
        return epoch;
    if (atomic_exchange_explicit(&briefs->stale, latest ^ flags, memory_order_relaxed) != (latest ^ flags) ||
        stamp < latest || !sw_brief_lock(briefs, epoch))
        return SW_BRIEF_CLOSED;
    throw_away(briefs);
    atomic_store_explicit(&briefs->flags, flags, memory_order_relaxed);
    atomic_store_explicit(&briefs->stamp, stamp, memory_order_relaxed);
    return sw_brief_unlock(briefs, epoch);
}

/* Whether a place in the index leads to no entry, or to one that has its places elsewhere: its number was given anew.
 */
static bool is_free(const struct sw_briefs *briefs, uint64_t pc, unsigned way)
{
    const uint32_t n = sw_brief_at(briefs, pc, way);
    return n == 0 || n > count_of(briefs) ||
           (sw_brief_slot(briefs, key_at(briefs, n), 0) ^ sw_brief_slot(briefs, pc, 0)) / SW_BRIEF_WAYS != 0;
}

uint32_t sw_brief_put(struct sw_briefs *briefs, uint64_t pc, uint64_t form)
{
    unsigned way = 0;
    if (count_of(briefs) + 1 >= briefs->room)
        throw_away(briefs);
    const uint32_t n = count_of(briefs) + 1;
    while (way + 1 < SW_BRIEF_WAYS && !is_free(briefs, pc, way))
        way++;
    set_count(briefs, n);
    atomic_store_explicit(&briefs->entries[n].key, pc, memory_order_relaxed);
    atomic_store_explicit(&briefs->entries[n].form, form, memory_order_relaxed);
    atomic_store_explicit(&briefs->entries[n].next, n * sizeof *briefs->entries, memory_order_relaxed);
    atomic_store_explicit(&briefs->index[sw_brief_slot(briefs, pc, way)], n, memory_order_relaxed);
    return n;
}
