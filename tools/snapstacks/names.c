/*
 * Keeps what places are called: a table by address, with texts in chunks, each once. Refuses to know where a name comes
 * from (naming.c).
 */
#include "names.h"

#include "naming.h"
#include "profile/text.h"
#include "refuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 4096, LABEL_BYTES = 4600, CHUNK_BYTES = 1 << 16, SLOTS_FIRST = 1 << 10 };

struct chunk {
    struct chunk *next;
    size_t used;
    char bytes[CHUNK_BYTES];
};

/* A place that is in the table, and has no name yet. */
struct deferred {
    struct place *place;
    struct sw_frame frame;
};

/* Slots are a power of two, at most half of them used, found by open addressing. */
struct names {
    struct naming naming;
    struct place **slots;
    size_t slot_count, used;
    const char **texts;
    size_t text_count, texts_used;
    struct chunk *chunks;
    bool defers;
    struct deferred *deferred;
    size_t deferred_count, deferred_room;
};

struct names *names_create(const struct target *target, struct symbols *symbols, struct assemblies *assemblies,
                           bool raw)
{
    struct names *names = must_get(1, sizeof *names, "names");
    names->naming = (struct naming){ target, symbols, assemblies, raw, names };
    names->slot_count = names->text_count = SLOTS_FIRST;
    names->slots = must_get(SLOTS_FIRST, sizeof *names->slots, "names");
    names->texts = must_get(SLOTS_FIRST, sizeof *names->texts, "names");
    return names;
}

void names_destroy(struct names *names)
{
    for (size_t i = 0; i < names->slot_count; i++) {
        if (names->slots[i])
            free((void *)(uintptr_t)names->slots[i]->lines);
        free(names->slots[i]);
    }
    for (struct chunk *chunk = names->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(names->slots);
    free(names->texts);
    free(names->deferred);
    free(names);
}

static uint64_t mix(uint64_t value)
{
    value *= UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 32;
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++)
        hash = mix(hash ^ (uint8_t)*text);
    return hash;
}

/* The slot that holds the text, or the free one for it. */
static const char **find_text(const char **texts, size_t count, const char *text)
{
    size_t at = hash_of(text) & (count - 1);
    while (texts[at] && strcmp(texts[at], text) != 0)
        at = (at + 1) & (count - 1);
    return &texts[at];
}

static void grow_texts(struct names *n)
{
    const size_t count = 2 * n->text_count;
    const char **texts = must_get(count, sizeof *texts, "names");
    for (size_t i = 0; i < n->text_count; i++)
        if (n->texts[i])
            *find_text(texts, count, n->texts[i]) = n->texts[i];
    free(n->texts);
    n->texts = texts;
    n->text_count = count;
}

static const char *store(struct names *n, const char *text, size_t size)
{
    if (!n->chunks || CHUNK_BYTES - n->chunks->used < size) {
        struct chunk *chunk = must_get(1, sizeof *chunk, "names");
        chunk->next = n->chunks;
        n->chunks = chunk;
    }
    char *to = n->chunks->bytes + n->chunks->used;
    memcpy(to, text, size);
    n->chunks->used += size;
    return to;
}

const char *names_keep(struct names *n, const char *text)
{
    char clean[NAME_BYTES];
    bool cut;
    const size_t length = sw_profile_text_clean(text, clean, sizeof clean, &cut);
    if (2 * n->texts_used >= n->text_count)
        grow_texts(n);
    const char **slot = find_text(n->texts, n->text_count, clean);
    if (!*slot) {
        *slot = store(n, clean, length + 1);
        n->texts_used++;
    }
    return *slot;
}

/* ---- places ---- */

/* The slot of a place, or the free one for it. Where pc was being executed the offset is another one. */
static struct place **find_place(struct place **slots, size_t count, uint64_t lookup, uint64_t identity, bool exact)
{
    size_t at = mix(lookup ^ mix(identity)) & (count - 1);
    while (slots[at] &&
           (slots[at]->lookup != lookup || slots[at]->identity != identity || slots[at]->is_exact != exact))
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static void grow_places(struct names *n)
{
    const size_t count = 2 * n->slot_count;
    struct place **slots = must_get(count, sizeof *slots, "names");
    for (size_t i = 0; i < n->slot_count; i++)
        if (n->slots[i])
            *find_place(slots, count, n->slots[i]->lookup, n->slots[i]->identity, n->slots[i]->is_exact) = n->slots[i];
    free(n->slots);
    n->slots = slots;
    n->slot_count = count;
}

static const char *keep_label(struct names *n, const struct place *place)
{
    char text[LABEL_BYTES];
    const bool has_offset = !place->is_managed && (!*place->function || *place->module);
    const char *module = *place->module || *place->function ? place->module : "?";
    int used = snprintf(text, LABEL_BYTES, "%s%s%s", module, *module && *place->function ? "!" : "", place->function);
    if (used < 0 || used >= LABEL_BYTES)
        used = (int)strlen(text);
    if (has_offset)
        snprintf(text + used, (size_t)(LABEL_BYTES - used), "+0x%" PRIx64, place->offset);
    return store(n, text, strlen(text) + 1);
}

static struct place *name_place(struct names *n, const struct sw_frame *frame, const struct runtime_frame *runs)
{
    struct place *place = naming_place(&n->naming, frame, runs);
    place->label = keep_label(n, place);
    return place;
}

static struct place *defer(struct names *n, const struct sw_frame *frame)
{
    struct place *place = must_get(1, sizeof *place, "names");
    *place = (struct place){ .lookup = frame->lookup, .is_exact = frame->exact };
    if (n->deferred_count == n->deferred_room) {
        n->deferred_room = n->deferred_room ? 2 * n->deferred_room : 256;
        n->deferred = realloc(n->deferred, n->deferred_room * sizeof *n->deferred);
        must(n->deferred ? SW_OK : SW_E_NO_MEMORY, "names");
    }
    n->deferred[n->deferred_count++] = (struct deferred){ place, *frame };
    return place;
}

void names_defer(struct names *n)
{
    n->defers = true;
}

void names_settle(struct names *n)
{
    const struct runtime_frame runs = { 0, 0, RUNTIME_CODE };
    n->defers = false;
    for (size_t i = 0; i < n->deferred_count; i++) {
        struct place *place = name_place(n, &n->deferred[i].frame, &runs);
        *n->deferred[i].place = *place;
        free(place);
    }
    n->deferred_count = 0;
}

const struct place *names_find(struct names *n, const struct sw_frame *frame, const struct runtime_frame *runs)
{
    if (2 * n->used >= n->slot_count)
        grow_places(n);
    struct place **slot = find_place(n->slots, n->slot_count, frame->lookup, runs->identity, frame->exact);
    if (!*slot) {
        *slot = n->defers && !runs->identity ? defer(n, frame) : name_place(n, frame, runs);
        n->used++;
    }
    return *slot;
}
