/*
 * Names places: by the runtime's structures, by the perf map, by symbols. Knows in which order they are asked; what is
 * found is kept in a table by address, with texts in chunks.
 */
#include "names.h"

#include "runtimes/aot.h"
#include "demangle.h"
#include "runtimes/hotspot.h"
#include "profile/text.h"
#include "runtimes/python.h"
#include "refuse.h"
#include "runtimes/javascript.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 4096, CHUNK_BYTES = 1 << 16, SLOTS_FIRST = 1 << 10 };

struct chunk {
    struct chunk *next;
    size_t used;
    char bytes[CHUNK_BYTES];
};

/* Slots are a power of two, at most half of them used, found by open addressing. */
struct names {
    const struct target *target;
    struct symbols *symbols;
    bool raw;
    struct place **slots;
    size_t slot_count, used;
    const char **texts;
    size_t text_count, texts_used;
    struct chunk *chunks;
};

static void *must_get(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    must(memory ? SW_OK : SW_E_NO_MEMORY, "names");
    return memory;
}

struct names *names_create(const struct target *target, struct symbols *symbols, bool raw)
{
    struct names *names = must_get(1, sizeof *names);
    names->target = target;
    names->symbols = symbols;
    names->raw = raw;
    names->slot_count = names->text_count = SLOTS_FIRST;
    names->slots = must_get(SLOTS_FIRST, sizeof *names->slots);
    names->texts = must_get(SLOTS_FIRST, sizeof *names->texts);
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
    const char **texts = must_get(count, sizeof *texts);
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
        struct chunk *chunk = must_get(1, sizeof *chunk);
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

static bool name_managed(struct names *n, const struct sw_frame *frame, struct place *place)
{
    char buffer[NAME_BYTES], text[2 * NAME_BYTES];
    struct sw_range range;
    struct sw_clr_name name;
    const enum sw_kind kind = frame->code.kind;
    struct sw_clr_names *const clr = n->target->runtime.names;
    if (!clr || (kind != SW_KIND_JIT && kind != SW_KIND_NGEN) ||
        sw_clr_names_find(clr, frame->lookup, kind == SW_KIND_NGEN ? frame->code.id : 0, &range) != SW_OK ||
        sw_clr_names_method(clr, range.id, n->raw ? SW_CLR_NAMES_RAW : 0, buffer, sizeof buffer, &name) != SW_OK)
        return false;
    snprintf(text, sizeof text, "%s.%s%s", name.type, name.method, name.parameters);
    place->module = names_keep(n, name.module);
    place->function = names_keep(n, text);
    place->is_managed = true;
    return true;
}

/* Methods of Java, innermost first: all but the last were inlined. Stubs have a name and no method. */
static bool name_java(struct names *n, const struct sw_frame *frame, struct place *place)
{
    static struct hotspot_call calls[HOTSPOT_INLINED_MOST];
    struct hotspot *const java = n->target->runtime.hotspot;
    const size_t count = java ? hotspot_name(java, frame, place->identity, calls) : 0;
    if (!java || !calls[0].name[0])
        return false;
    place->function = names_keep(n, calls[count ? count - 1 : 0].name);
    place->is_managed = count > 0;
    if (count == 0)
        return true;
    struct line *lines = must_get(count, sizeof *lines);
    for (size_t i = 0; i < count; i++)
        lines[i] = (struct line){ names_keep(n, calls[i].name), names_keep(n, calls[i].file), calls[i].line };
    place->lines = lines;
    place->line_count = count;
    return true;
}

/* The script is the module. A builtin function has none. */
static bool name_script(struct names *n, struct place *place)
{
    char name[NAME_BYTES], script[NAME_BYTES];
    if (!n->target->runtime.v8 || !place->identity)
        return false;
    v8_name(n->target->runtime.v8, place->identity, name, script, sizeof name);
    const char *slash = *script == '/' || strncmp(script, "file:", 5) == 0 ? strrchr(script, '/') : NULL;
    place->module = names_keep(n, slash ? slash + 1 : script);
    place->function = names_keep(n, *name ? name : "(anonymous)");
    place->is_managed = true;
    return true;
}

/* Calls of Python, innermost first, that share one frame of the interpreter. */
static bool name_python(struct names *n, uint64_t calls, struct place *place)
{
    struct python_call call;
    struct line lines[PYTHON_CALLS_MOST];
    size_t count = 0;
    bool has_more = true;
    if (!n->target->runtime.python || !place->identity)
        return false;
    while (has_more && count < PYTHON_CALLS_MOST) {
        has_more = python_name(n->target->runtime.python, &calls, &call);
        lines[count++] = (struct line){ names_keep(n, call.function), names_keep(n, call.file), call.line };
    }
    struct line *kept = must_get(count, sizeof *kept);
    memcpy(kept, lines, count * sizeof *kept);
    place->lines = kept;
    place->line_count = count;
    place->function = kept[count - 1].function;
    place->is_managed = true;
    return true;
}

static bool name_mapped(struct names *n, const struct sw_frame *frame, struct place *place)
{
    const char *name = sw_perfmap_name(n->target->perfmap, frame->lookup, NULL);
    if (!name)
        name = sw_gdb_jit_name(n->target->gdb_jit, frame->lookup, NULL);
    if (!name)
        name = target_range_name(n->target, frame->lookup);
    if (!name)
        return false;
    place->function = names_keep(n, name);
    place->is_managed = frame->code.kind == SW_KIND_JIT;
    return true;
}

static const char *keep_demangled(struct names *n, const char *symbol)
{
    char text[NAME_BYTES];
    return names_keep(n, n->raw ? symbol : demangle(symbol, text, sizeof text));
}

/* The function whose code it is has the symbol's name: debug information may have an alias of the compiler's. */
static void keep_lines(struct names *n, const struct symbol *found, struct place *place)
{
    if (found->count == 0)
        return;
    struct line *lines = must_get(found->count, sizeof *lines);
    for (size_t i = 0; i < found->count; i++)
        lines[i] = (struct line){ keep_demangled(n, found->lines[i].function), names_keep(n, found->lines[i].file),
                                  found->lines[i].line };
    if (*place->function)
        lines[found->count - 1].function = place->function;
    place->lines = lines;
    place->line_count = found->count;
}

/* The program's assembly has the name of its file. */
static const char *keep_written(struct names *n, const struct sw_image *image, const struct symbol *found)
{
    char text[NAME_BYTES], module[PATH_MAX];
    const char *slash = strrchr(image->path, '/');
    if (!found->is_aot || n->raw)
        return keep_demangled(n, found->symbol);
    snprintf(module, sizeof module, "%s", slash ? slash + 1 : image->path);
    for (char *c = module; *c; c++)
        *c = strchr(".- ", *c) ? '_' : *c;
    return names_keep(n, aot_demangle(found->symbol, found->method, module, text, sizeof text));
}

/* The symbol around an address: from debug information, else from the library. */
static bool find_symbol(struct names *n, const struct sw_image *image, uint64_t address, struct place *place,
                        uint64_t *start)
{
    struct symbol found;
    char symbol[NAME_BYTES];
    if (symbols_find(n->symbols, image, address, &found)) {
        *start = found.begin;
        if (found.symbol)
            place->function = keep_written(n, image, &found);
        keep_lines(n, &found, place);
    }
    if (!*place->function && sw_images_name(n->target->images, address, symbol, sizeof symbol, start) == SW_OK)
        place->function = keep_demangled(n, symbol);
    return *place->function != 0;
}

/* What is said of code in a file: the place in that file of which it may be a copy. */
static uint64_t address_in_file(const struct names *n, uint64_t address)
{
    const struct v8 *v8 = n->target->runtime.v8;
    const uint64_t original = v8 ? v8_builtin(v8, address) : 0;
    return original ? original : address;
}

static void name_native(struct names *n, const struct sw_frame *frame, struct place *place)
{
    const uint64_t lookup = address_in_file(n, frame->lookup);
    const uint64_t pc = sw_regs_pc(&frame->regs) + (lookup - frame->lookup);
    struct sw_image image;
    uint64_t start;
    place->offset = pc;
    if (sw_images_find(n->target->images, lookup, &image) != SW_OK)
        return;
    place->module = names_keep(n, strrchr(image.path, '/') ? strrchr(image.path, '/') + 1 : image.path);
    place->offset = pc - (find_symbol(n, &image, lookup, place, &start) ? start : image.bias);
}

static struct place *name_place(struct names *n, const struct sw_frame *frame, const struct runtime_frame *runs)
{
    struct place *place = must_get(1, sizeof *place);
    *place = (struct place){
        .lookup = frame->lookup, .identity = runs->identity, .module = "", .function = "", .is_exact = frame->exact
    };
    if (!name_managed(n, frame, place) && !name_java(n, frame, place) && !name_script(n, place) &&
        !name_python(n, runs->at, place) && !name_mapped(n, frame, place))
        name_native(n, frame, place);
    return place;
}

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
    struct place **slots = must_get(count, sizeof *slots);
    for (size_t i = 0; i < n->slot_count; i++)
        if (n->slots[i])
            *find_place(slots, count, n->slots[i]->lookup, n->slots[i]->identity, n->slots[i]->is_exact) = n->slots[i];
    free(n->slots);
    n->slots = slots;
    n->slot_count = count;
}

const struct place *names_find(struct names *n, const struct sw_frame *frame, const struct runtime_frame *runs)
{
    if (2 * n->used >= n->slot_count)
        grow_places(n);
    struct place **slot = find_place(n->slots, n->slot_count, frame->lookup, runs->identity, frame->exact);
    if (!*slot) {
        *slot = name_place(n, frame, runs);
        n->used++;
    }
    return *slot;
}

const char *place_label(const struct place *place, char text[LABEL_BYTES])
{
    const bool has_offset = !place->is_managed && (!*place->function || *place->module);
    const char *module = *place->module || *place->function ? place->module : "?";
    int used = snprintf(text, LABEL_BYTES, "%s%s%s", module, *module && *place->function ? "!" : "", place->function);
    if (used < 0 || used >= LABEL_BYTES)
        used = (int)strlen(text);
    if (has_offset)
        snprintf(text + used, (size_t)(LABEL_BYTES - used), "+0x%" PRIx64, place->offset);
    return text;
}
