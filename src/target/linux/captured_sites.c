/*
 * Which files of a process its captured stacks can lead into: those with code at a thread's pc, at its link register or
 * at any word of its stacks. More than walks meet, never less than return addresses. Knows rows and copies; refuses to
 * know images.
 */
#include "target/linux/captured_sites.h"

#include <string.h>

enum { KNOWN = 256, KNOWN_SHIFT = 16 };

/*
 * codes: rows with code, ascending; all: from the first to the last. known: rows and the addresses between two of them
 * that were looked at, by a part of the address; words near each other lead to the same.
 */
struct search {
    const struct sw_map *maps;
    const struct sw_map **codes;
    size_t count;
    struct known {
        uint64_t begin, size;
    } all, known[KNOWN];
    bool *sites;
};

static void list_codes(struct search *s, const struct sw_process *process)
{
    for (size_t i = 0; i < process->map_count; i++)
        if (process->maps[i].executable)
            s->codes[s->count++] = &process->maps[i];
    if (s->count)
        s->all = (struct known){ s->codes[0]->begin, s->codes[s->count - 1]->end - s->codes[0]->begin };
}

/* How many rows begin at or below an address: one, at least, of those in `all`. */
static size_t count_below(const struct search *s, uint64_t address)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->codes[middle]->begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * The rows that the file of a row may begin with, back to another file: code of a PE file may begin with its header
 * again. Code without a file may have been read from the file in front of it.
 */
static void mark_sites(struct search *s, const struct sw_map *row)
{
    const struct sw_map *file = row->inode ? row : NULL;
    for (const struct sw_map *at = row + 1; at-- > s->maps;) {
        if (at->inode == 0)
            continue;
        if (file && !sw_maps_same_file(at, file))
            return;
        file = at;
        s->sites[at - s->maps] |= at->offset == 0;
    }
}

static inline struct known *known_at(struct search *s, uint64_t word)
{
    return &s->known[word >> KNOWN_SHIFT & (KNOWN - 1)];
}

/* Seldom called, and from a loop over every word, which is to stay small. */
__attribute__((noinline)) static void look_up(struct search *s, uint64_t word)
{
    struct known *known = known_at(s, word);
    const size_t below = count_below(s, word);
    const struct sw_map *row = s->codes[below - 1];
    if (word < row->end)
        mark_sites(s, row);
    *known = word < row->end ? (struct known){ row->begin, row->end - row->begin }
                             : (struct known){ row->end, s->codes[below]->begin - row->end };
}

static inline bool is_in(struct known span, uint64_t word)
{
    return word - span.begin < span.size;
}

/* all: of the search, by value, so that it stays in registers. Most words are none, or were looked up before. */
static inline void take(struct search *s, struct known all, uint64_t word)
{
    if (is_in(all, word) && !is_in(*known_at(s, word), word))
        look_up(s, word);
}

static void take_copy(struct search *s, const struct sw_process *process, const struct sw_process_copy *copy)
{
    const size_t skip = (size_t)(0 - copy->begin) % sizeof(uint64_t);
    const uint64_t mask = ~process->capture.pac_mask;
    const struct known all = s->all;
    const uint8_t *word_at = process->capture.store + copy->at + skip;
    for (size_t left = copy->size > skip ? (copy->size - skip) / sizeof(uint64_t) : 0; left > 0; left--) {
        uint64_t word;
        memcpy(&word, word_at, sizeof word);
        word_at += sizeof word;
        take(s, all, word & mask);
    }
}

static void take_regs(struct search *s, const struct sw_regs *regs, uint64_t mask)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(regs->machine);
    take(s, s->all, sw_regs_pc(regs));
    if (roles->link != SW_REGS_MAX && sw_regs_has(regs, roles->link))
        take(s, s->all, regs->r[roles->link] & mask);
}

static void take_all(struct search *s, const struct sw_process *process)
{
    for (size_t i = 0; s->count && i < process->capture.thread_count; i++) {
        const struct sw_process_captured *thread = &process->capture.threads[i];
        take_regs(s, &thread->regs, ~process->capture.pac_mask);
        take_copy(s, process, &thread->copies[0]);
        take_copy(s, process, &thread->copies[1]);
    }
}

enum sw_status sw_captured_sites(const struct sw_process *process, const struct sw_alloc *alloc, bool **sites)
{
    const size_t room = (process->map_count + 1) * sizeof(struct sw_map *);
    struct search s = { .maps = process->maps, .codes = alloc->get(alloc->arg, room) };
    if (!s.codes)
        return SW_E_NO_MEMORY;
    *sites = s.sites = alloc->get(alloc->arg, process->map_count + 1);
    if (s.sites) {
        memset(s.sites, 0, process->map_count + 1);
        list_codes(&s, process);
        take_all(&s, process);
    }
    alloc->put(alloc->arg, (void *)(uintptr_t)s.codes, room);
    return s.sites ? SW_OK : SW_E_NO_MEMORY;
}
