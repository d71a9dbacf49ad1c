/*
 * See brief.h. Nobody waits: who finds the epoch odd, or changed, does without.
 */
#include "brief.h"

static uint64_t key_at(const struct sw_briefs *briefs, uint32_t n)
{
    return atomic_load_explicit(&briefs->entries[n].key, memory_order_relaxed);
}

uint32_t sw_brief_find(const struct sw_briefs *briefs, uint64_t pc, uint64_t key)
{
    for (unsigned way = 0; way < SW_BRIEF_WAYS; way++) {
        const uint32_t n = sw_brief_at(briefs, pc, way);
        if (n != 0 && key_at(briefs, n) == key)
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

/* Another tag makes all entries none; when the tags have gone round, they are wiped. */
static void throw_away(struct sw_briefs *briefs)
{
    const uint64_t one = UINT64_C(1) << SW_BRIEF_TAG_SHIFT;
    uint64_t tag = atomic_load_explicit(&briefs->tag, memory_order_relaxed) + one;
    briefs->count = 0;
    for (uint32_t n = 1; tag == 0 && n < briefs->room; n++)
        atomic_store_explicit(&briefs->entries[n].key, 0, memory_order_relaxed);
    tag = tag ? tag : one;
    atomic_store_explicit(&briefs->tag, tag, memory_order_relaxed);
}

uint64_t sw_brief_open(struct sw_briefs *briefs, const uint64_t quiet[2], uint64_t stamp)
{
    const uint64_t epoch = atomic_load_explicit(&briefs->epoch, memory_order_acquire);
    const uint64_t from = atomic_load_explicit(&briefs->stamp, memory_order_relaxed);
    const uint64_t latest = quiet[0] > quiet[1] ? quiet[0] : quiet[1];
    if (epoch % 2 != 0)
        return SW_BRIEF_CLOSED;
    if (from >= latest)
        return epoch;
    if (atomic_exchange_explicit(&briefs->stale, latest, memory_order_relaxed) != latest || stamp < latest ||
        !sw_brief_lock(briefs, epoch))
        return SW_BRIEF_CLOSED;
    throw_away(briefs);
    atomic_store_explicit(&briefs->stamp, stamp, memory_order_relaxed);
    return sw_brief_unlock(briefs, epoch);
}

/* Whether the entry that a place in the index leads to is one no more. */
static bool is_free(const struct sw_briefs *briefs, uint32_t n)
{
    const uint64_t tag = atomic_load_explicit(&briefs->tag, memory_order_relaxed);
    return n == 0 || (key_at(briefs, n) ^ tag) >> SW_BRIEF_TAG_SHIFT != 0;
}

uint32_t sw_brief_put(struct sw_briefs *briefs, uint64_t pc, uint64_t flags, uint64_t form)
{
    unsigned way = 0;
    if (briefs->count + 1 >= briefs->room)
        throw_away(briefs);
    const uint32_t n = ++briefs->count;
    const uint64_t tag = atomic_load_explicit(&briefs->tag, memory_order_relaxed);
    while (way + 1 < SW_BRIEF_WAYS && !is_free(briefs, sw_brief_at(briefs, pc, way)))
        way++;
    atomic_store_explicit(&briefs->entries[n].key, pc ^ tag ^ flags, memory_order_relaxed);
    atomic_store_explicit(&briefs->entries[n].form, form, memory_order_relaxed);
    atomic_store_explicit(&briefs->entries[n].next, n * sizeof *briefs->entries, memory_order_relaxed);
    atomic_store_explicit(&briefs->index[sw_brief_slot(briefs, pc, way)], n, memory_order_relaxed);
    return n;
}
