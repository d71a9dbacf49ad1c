/*
 * Perf maps: names and ranges of JIT code, sorted and disjoint, and the same ranges in a code map. Knows which line
 * wins where lines overlap, and how CoreCLR names its code; refuses to know files (src/target) and the text format
 * (lib/jit). Follows jit-interfaces.md section 1.
 *
 * Which line wins:
 *   method over method   the later one. The earlier one goes as a whole: its code was freed and the memory reused.
 *   method over stub     the method. The rest of the stub block stays on both sides of it.
 *   stub over method     the method: a block of stubs is reported with room that holds no stubs (yet).
 *   stub over stub       the smaller one, which is more precise; of equal ones the later.
 *
 * A line costs a few steps each for what it adds and takes away. But a stub block lies in all gaps between methods, and
 * may replace others in as many; and a range of many pages takes a step a page, up to some thousands, when the code map
 * takes it in or gives it up. So that lines of hostile text cannot each do so, what stubs visit is paid for, and pages,
 * out of a credit that grows with each line.
 */
#include "code/perfmap.h"
#include "code/perfmap_entries.h"
#include "base/bytes.h"
#include "common/alloc.h"
#include "common/grow.h"
#include "jit/perfmap_text.h"

#include <snapwalk/limits.h>

#include <string.h>

enum { FIRST_CREDIT = 1 << 16, CREDIT_A_LINE = 8, PAGE_BITS = 12, LEVEL_BITS = 9, PAGES = 8 };

struct text {
    char *bytes;
    size_t size;
    size_t room;
};

struct sw_perfmap {
    struct sw_alloc alloc;
    enum sw_perfmap_flavour flavour;
    struct sw_perfmap_entries entries;
    struct text names;   /* NUL-terminated, one behind the other; names of replaced ranges stay */
    struct text pending; /* a line whose end has not been fed yet */
    bool skipping;       /* that line is too long: ignored up to its end */
    uint64_t credit;     /* how many entries stubs may still visit; PAGES pages cost as much */
    bool has_user;       /* files of `user` are trusted, too */
    uint32_t user;
    uint64_t position;
    uint64_t lines;
    uint64_t bad_lines;
};

/* ---- text that grows ---- */

static enum sw_status text_append(const struct sw_alloc *alloc, struct text *text, const char *bytes, size_t size)
{
    if (size > SIZE_MAX / 4 - text->size)
        return SW_E_NO_MEMORY;
    char *grown = sw_grow(alloc, text->bytes, 1, text->size, &text->room, text->size + size);
    if (!grown)
        return SW_E_NO_MEMORY;
    text->bytes = grown;
    if (size)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return SW_OK;
}

static void text_free(const struct sw_alloc *alloc, struct text *text)
{
    if (text->bytes)
        alloc->put(alloc->arg, text->bytes, text->room);
}

/* ---- entries, and their ranges in the code map ---- */

/* What is left of a stub that may visit no more, or of a range that is too large, is not added, and counts as bad. */
static bool pay(struct sw_perfmap *p, uint64_t price)
{
    if (p->credit < price) {
        p->bad_lines++;
        return false;
    }
    p->credit -= price;
    return true;
}

/* Code maps have levels of pages, each 512 of the one below. Methods cost nothing. */
static uint64_t price_of(const struct sw_range *range)
{
    const uint64_t most = (UINT64_C(1) << LEVEL_BITS) / PAGES;
    uint64_t price = 0;
    for (uint64_t pages = (range->end - range->begin) >> PAGE_BITS; pages; pages >>= LEVEL_BITS)
        price += pages / PAGES < most ? pages / PAGES : most;
    return price;
}

/* A range that the user added to the code map stays: then only the name is added here. */
static enum sw_status put(struct sw_perfmap *p, struct sw_codemap *map, struct sw_perfmap_entry entry)
{
    enum sw_status status = SW_OK;
    entry.in_map = false;
    if (entry.range.begin >= entry.range.end || (map && !pay(p, price_of(&entry.range))))
        return SW_OK;
    if (map) {
        status = sw_codemap_add(map, &entry.range);
        entry.in_map = status == SW_OK;
        if (status == SW_E_OVERLAP)
            status = SW_OK;
    }
    enum sw_status inserted =
        sw_perfmap_insert_at(&p->entries, sw_perfmap_first_behind(&p->entries, entry.range.begin), &entry);
    if (inserted && entry.in_map)
        status = sw_codemap_remove(map, entry.range.begin);
    return inserted ? inserted : status;
}

static enum sw_status drop(struct sw_perfmap *p, struct sw_codemap *map, struct sw_perfmap_place at)
{
    const struct sw_perfmap_entry *entry = sw_perfmap_entry_at(&p->entries, at);
    enum sw_status status = SW_OK;
    if (map && entry->in_map)
        status = sw_codemap_remove(map, entry->range.begin);
    if (status != SW_OK && status != SW_E_NOT_FOUND)
        return status;
    sw_perfmap_erase_at(&p->entries, at);
    return SW_OK;
}

static bool is_stub(const struct sw_perfmap_entry *entry)
{
    return entry->range.kind == SW_KIND_STUB;
}

/* Whether an existing entry keeps its place against a new one. */
static bool outranks(const struct sw_perfmap_entry *old, const struct sw_perfmap_entry *incoming)
{
    return is_stub(incoming) && (!is_stub(old) || old->line_size < incoming->line_size);
}

/* Removes an entry that a new one overlaps. A stub block keeps its parts on both sides. */
static enum sw_status clear_overlap(struct sw_perfmap *p, struct sw_codemap *map, struct sw_perfmap_place at,
                                    const struct sw_perfmap_entry *incoming)
{
    struct sw_perfmap_entry left = *sw_perfmap_entry_at(&p->entries, at);
    struct sw_perfmap_entry right = left;
    enum sw_status status = drop(p, map, at);
    if (status || !is_stub(&left))
        return status;
    left.range.end = incoming->range.begin;
    right.range.begin = incoming->range.end;
    if (left.range.begin < left.range.end)
        status = put(p, map, left);
    if (status == SW_OK && right.range.begin < right.range.end)
        status = put(p, map, right);
    return status;
}

/* Adds a new entry where no existing one outranks it: whole, or in the gaps between those. */
static enum sw_status place_entry(struct sw_perfmap *p, struct sw_codemap *map, struct sw_perfmap_entry incoming)
{
    const uint64_t end = incoming.range.end;
    p->credit += CREDIT_A_LINE;
    while (incoming.range.begin < end && (!is_stub(&incoming) || pay(p, 1))) {
        const struct sw_perfmap_place at = sw_perfmap_first_behind(&p->entries, incoming.range.begin);
        const struct sw_perfmap_entry *old = sw_perfmap_entry_at(&p->entries, at);
        enum sw_status status;
        incoming.range.end = end;
        if (old && old->range.begin < end && !outranks(old, &incoming)) {
            status = clear_overlap(p, map, at, &incoming);
        } else if (old && old->range.begin <= incoming.range.begin) {
            incoming.range.begin = old->range.end;
            status = SW_OK;
        } else {
            const uint64_t next = old && old->range.begin < end ? old->range.begin : end;
            incoming.range.end = next;
            status = put(p, map, incoming);
            incoming.range.begin = next;
        }
        if (status)
            return status;
    }
    return SW_OK;
}

/* ---- lines ---- */

static bool begins_with(const struct sw_perfmap_line *line, const char *text)
{
    const size_t size = strlen(text);
    return line->name_size >= size && memcmp(line->name, text, size) == 0;
}

static bool contains(const struct sw_perfmap_line *line, const char *text)
{
    const size_t size = strlen(text);
    for (size_t at = 0; at + size <= line->name_size; at++)
        if (line->name[at] == text[0] && memcmp(line->name + at, text, size) == 0)
            return true;
    return false;
}

/*
 * Classifies CoreCLR's lines. Methods are `type [assembly] Type::Method(args)[tier]`; IL stubs and DynamicMethod bodies
 * have the type dynamicClass. Most stubs run with the return address on top of the stack, but not all, so nothing is
 * assumed about them.
 */
static void classify_clr(const struct sw_perfmap_line *line, struct sw_range *range)
{
    range->unwind = SW_UNWIND_CLR_HEADER;
    if (contains(line, "] dynamicClass::"))
        range->flags = SW_RANGE_HIDDEN;
    if (!begins_with(line, "stub "))
        return;
    range->kind = SW_KIND_STUB;
    range->flags = 0;
    range->unwind = SW_UNWIND_AUTO;
}

enum sw_status sw_perfmap_take(struct sw_perfmap *p, struct sw_codemap *map, const struct sw_perfmap_line *line,
                               enum sw_unwind unwind)
{
    struct sw_perfmap_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.range.begin = line->begin;
    entry.range.end = line->begin + line->size;
    entry.range.id = line->begin;
    entry.range.kind = SW_KIND_JIT;
    entry.line_size = line->size;
    entry.name = p->names.size;
    entry.range.unwind = (uint8_t)unwind;
    if (p->flavour == SW_PERFMAP_CLR)
        classify_clr(line, &entry.range);
    if (line->size == 0)
        return SW_OK;
    enum sw_status status = text_append(&p->alloc, &p->names, line->name, line->name_size);
    if (status == SW_OK)
        status = text_append(&p->alloc, &p->names, "", 1);
    if (status)
        p->names.size = entry.name;
    return status ? status : place_entry(p, map, entry);
}

enum sw_status sw_perfmap_move(struct sw_perfmap *p, struct sw_codemap *map, uint64_t from, uint64_t to)
{
    const struct sw_perfmap_place at = sw_perfmap_first_behind(&p->entries, from);
    const struct sw_perfmap_entry *old = sw_perfmap_entry_at(&p->entries, at);
    uint64_t end;
    if (!old || old->range.begin != from)
        return SW_E_NOT_FOUND;
    struct sw_perfmap_entry moved = *old;
    if (!sw_add_u64(to, moved.range.end - from, &end))
        return SW_E_WRAPS;
    moved.range.begin = moved.range.id = to;
    moved.range.end = end;
    if (moved.range.unwind == SW_UNWIND_AUTO && !is_stub(&moved))
        moved.range.unwind = SW_UNWIND_FOREIGN; /* its call frame information counts from where it was */
    const enum sw_status status = drop(p, map, at);
    return status ? status : place_entry(p, map, moved);
}

/*
 * Takes every complete line of a text. behind: where the incomplete rest begins. A line that fails does not stop the
 * others.
 */
static enum sw_status take_lines(struct sw_perfmap *p, struct sw_codemap *map, const char *bytes, size_t size,
                                 size_t *behind)
{
    enum sw_status first = SW_OK;
    *behind = 0;
    for (;;) {
        struct sw_perfmap_line line;
        enum sw_status status = sw_perfmap_next(bytes, size, behind, &line);
        if (status == SW_E_NOT_FOUND)
            return first;
        if (status || line.begin == 0) {
            p->bad_lines++;
            continue;
        }
        p->lines++;
        status = sw_perfmap_take(p, map, &line, SW_UNWIND_FOREIGN);
        if (first == SW_OK)
            first = status;
    }
}

/* Completes a line that was begun before. used: bytes taken, including the newline if it is there. */
static enum sw_status finish_pending(struct sw_perfmap *p, struct sw_codemap *map, const char *bytes, size_t size,
                                     size_t *used)
{
    const char *newline = memchr(bytes, '\n', size);
    enum sw_status status = SW_OK;
    size_t behind;
    *used = newline ? (size_t)(newline - bytes) + 1 : size;
    if (!p->skipping && p->pending.size + *used <= SW_PERFMAP_LINE_MAX)
        status = text_append(&p->alloc, &p->pending, bytes, *used);
    else
        p->skipping = true;
    if (status)
        p->skipping = true;
    if (!newline)
        return status;
    if (p->skipping)
        p->bad_lines++;
    else
        status = take_lines(p, map, p->pending.bytes, p->pending.size, &behind);
    p->pending.size = 0;
    p->skipping = false;
    return status;
}

enum sw_status sw_perfmap_feed(struct sw_perfmap *p, const char *bytes, size_t size, struct sw_codemap *map)
{
    enum sw_status first = SW_OK;
    size_t used = 0;
    if (!p || (!bytes && size))
        return SW_E_ARGUMENT;
    if (size && (p->pending.size || p->skipping))
        first = finish_pending(p, map, bytes, size, &used);
    if (used < size) {
        size_t behind;
        enum sw_status status = take_lines(p, map, bytes + used, size - used, &behind);
        used += behind;
        first = first ? first : status;
    }
    if (used < size) {
        enum sw_status status = finish_pending(p, map, bytes + used, size - used, &used);
        first = first ? first : status;
    }
    return first;
}

/* ---- the rest of the public calls ---- */

enum sw_status sw_perfmap_create(const struct sw_alloc *alloc, enum sw_perfmap_flavour flavour,
                                 struct sw_perfmap **made)
{
    if (!made || !sw_alloc_usable(alloc) || (flavour != SW_PERFMAP_PLAIN && flavour != SW_PERFMAP_CLR))
        return SW_E_ARGUMENT;
    const struct sw_alloc use = sw_alloc_resolve(alloc);
    struct sw_perfmap *p = use.get(use.arg, sizeof *p);
    if (!p)
        return SW_E_NO_MEMORY;
    memset(p, 0, sizeof *p);
    p->alloc = p->entries.alloc = use;
    p->flavour = flavour;
    p->credit = FIRST_CREDIT;
    *made = p;
    return SW_OK;
}

void sw_perfmap_destroy(struct sw_perfmap *p)
{
    if (!p)
        return;
    const struct sw_alloc alloc = p->alloc;
    sw_perfmap_free_entries(&p->entries);
    text_free(&alloc, &p->names);
    text_free(&alloc, &p->pending);
    alloc.put(alloc.arg, p, sizeof *p);
}

const char *sw_perfmap_name(const struct sw_perfmap *p, uint64_t address, struct sw_range *range)
{
    const struct sw_perfmap_entry *entry =
        p ? sw_perfmap_entry_at(&p->entries, sw_perfmap_first_behind(&p->entries, address)) : NULL;
    if (!entry || address < entry->range.begin)
        return NULL;
    if (range)
        *range = entry->range;
    return p->names.bytes + entry->name;
}

uint64_t sw_perfmap_lines(const struct sw_perfmap *p)
{
    return p ? p->lines : 0;
}

uint64_t sw_perfmap_bad_lines(const struct sw_perfmap *p)
{
    return p ? p->bad_lines : 0;
}

uint64_t sw_perfmap_position(const struct sw_perfmap *p)
{
    return p->position;
}

void sw_perfmap_advance(struct sw_perfmap *p, uint64_t bytes)
{
    p->position += bytes;
}

void sw_perfmap_pass(struct sw_perfmap *p, uint64_t bytes)
{
    p->position += bytes;
    p->pending.size = 0;
    p->skipping = true;
}

void sw_perfmap_trust(struct sw_perfmap *p, uint32_t user)
{
    p->has_user = true;
    p->user = user;
}

bool sw_perfmap_trusts(const struct sw_perfmap *p, uint32_t user)
{
    return p->has_user && p->user == user;
}

void sw_perfmap_restart(struct sw_perfmap *p)
{
    p->position = 0;
    p->pending.size = 0;
    p->skipping = false;
}
