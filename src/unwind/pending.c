/* See pending.h. */
#include "unwind/pending.h"

#include <stdatomic.h>
#include <string.h>

enum { WAYS = 4 };

static struct sw_pending_note *place_of(const struct sw_pending_notes *notes, const struct sw_finding *finding,
                                        unsigned way)
{
    return &notes->notes[(sw_finding_hash(finding) + way) & (notes->count - 1)];
}

static uint64_t load_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* What stands there; nothing if that does not fit together. */
static struct sw_pending load(const struct sw_pending_note *from)
{
    struct sw_pending pending = { .cost = 0 };
    uint64_t words[SW_PENDING_WORDS], sum = 0;
    for (unsigned i = 0; i < SW_PENDING_WORDS; i++) {
        words[i] = load_word(&from->words[i]);
        sum = sw_checksum_add(sum, words[i]);
    }
    if (sum == load_word(&from->check))
        memcpy(&pending, words, sizeof pending);
    return pending;
}

static void store(struct sw_pending_note *to, const struct sw_pending *pending)
{
    uint64_t words[SW_PENDING_WORDS], sum = 0;
    memcpy(words, pending, sizeof words);
    for (unsigned i = 0; i < SW_PENDING_WORDS; i++) {
        atomic_store_explicit(&to->words[i], words[i], memory_order_relaxed);
        sum = sw_checksum_add(sum, words[i]);
    }
    atomic_store_explicit(&to->check, sum, memory_order_relaxed);
}

static struct sw_pending_note *find(const struct sw_pending_notes *notes, const struct sw_finding *finding,
                                    struct sw_pending *there)
{
    for (unsigned way = 0; way < WAYS; way++) {
        struct sw_pending_note *here = place_of(notes, finding, way);
        *there = load(here);
        if (sw_finding_is_same(&there->finding, finding))
            return here;
    }
    return NULL;
}

static struct sw_pending_note *find_free(const struct sw_pending_notes *notes, const struct sw_finding *finding)
{
    for (unsigned way = 0; way < WAYS; way++)
        if (load(place_of(notes, finding, way)).finding.kind == SW_FINDING_NONE)
            return place_of(notes, finding, way);
    return NULL;
}

void sw_pending_add(const struct sw_pending_notes *notes, const struct sw_pending *pending)
{
    struct sw_pending there;
    struct sw_pending_note *to = find(notes, &pending->finding, &there);
    if (!to)
        to = find_free(notes, &pending->finding);
    store(to ? to : place_of(notes, &pending->finding, 0), pending);
}

uint64_t sw_pending_cost(const struct sw_pending_notes *notes, const struct sw_finding *finding, uint64_t stamp)
{
    struct sw_pending there;
    return find(notes, finding, &there) && there.stamp == stamp ? there.cost : 0;
}

bool sw_pending_get(const struct sw_pending_notes *notes, size_t n, struct sw_pending *pending)
{
    if (n >= notes->count)
        return false;
    *pending = load(&notes->notes[n]);
    return true;
}

void sw_pending_settle(const struct sw_pending_notes *notes, const struct sw_finding *finding)
{
    const struct sw_pending none = { .cost = 0 };
    struct sw_pending there;
    struct sw_pending_note *at = find(notes, finding, &there);
    if (at)
        store(at, &none);
}

uint64_t sw_pending_count(const struct sw_pending_notes *notes)
{
    uint64_t taken = 0;
    for (uint64_t n = 0; n < notes->count; n++)
        taken += load(&notes->notes[n]).finding.kind != SW_FINDING_NONE;
    return taken;
}

void sw_pending_copy(const struct sw_pending_notes *to, const struct sw_pending_notes *from)
{
    for (uint64_t n = 0; n < from->count; n++) {
        const struct sw_pending pending = load(&from->notes[n]);
        if (pending.finding.kind != SW_FINDING_NONE)
            sw_pending_add(to, &pending);
    }
}
