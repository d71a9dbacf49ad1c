/*
 * Names are read once for each method and each native address, and kept by the frame's word. Managed ones come out of
 * the runtime's memory by a reader that cannot fault, without the runtime's locks: a method that is just being
 * unloaded is "?" at worst.
 */
#include "names.h"
#include "symbols.h"
#include "lines.h"
#include "modules.h"

#include <snapwalk/clr.h>
#include <snapwalk/clr_names.h>
#include <snapwalk/self.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { FRAME_SHIFT = 56, NAMES_BYTES = 256 << 10, KNOWN_MIN = 1 << 10, KNOWN_MAX = 1 << 17, TEXT = 2048 };

/*
 * Open addressing; a frame's word is never 0. A method has a word, too: its frames' with another highest byte. Its
 * location is `unnamed` once it was unloaded, and `by_line` where each address has one of its own.
 */
struct known {
    uint64_t frame;
    uint32_t location;
};
enum { IS_METHOD = 0x80 };
static const uint32_t unnamed = UINT32_MAX, by_line = UINT32_MAX - 1;

static struct sw_clr *clr;
static struct sw_clr_names *names;
static unsigned flags;
static bool with_lines;
static struct known *known;
static size_t known_room, known_count;

/* ---- the runtime ---- */

static int attach(struct dl_phdr_info *about, size_t size, void *arg)
{
    (void)size, (void)arg;
    if (!strstr(about->dlpi_name, "libcoreclr.so"))
        return 0;
    return sw_clr_names_attach(names, about->dlpi_addr) == SW_OK;
}

/* A single-file program has the runtime within. */
static int attach_program(struct dl_phdr_info *about, size_t size, void *arg)
{
    (void)size, (void)arg;
    (void)!(about->dlpi_name[0] == 0 && sw_clr_names_attach(names, about->dlpi_addr) == SW_OK);
    return 1;
}

bool names_open(struct sw_clr *followed, const struct options *options)
{
    const struct sw_memory memory = sw_self_memory();
    clr = followed;
    flags = options->raw_names ? SW_CLR_NAMES_RAW : 0;
    with_lines = options->lines;
    lines_open((size_t)options->memory_mb << 17, options->verbose); /* an eighth */
    known = calloc(known_room = KNOWN_MIN, sizeof *known);
    if (!known || sw_clr_names_create(NULL, &memory, NAMES_BYTES, &names) != SW_OK)
        return false;
    if (!dl_iterate_phdr(attach, NULL))
        dl_iterate_phdr(attach_program, NULL);
    return true;
}

void names_close(void)
{
    sw_clr_names_destroy(names);
    lines_close();
    symbols_close();
    free(known);
    names = NULL;
    known = NULL;
}

void names_renew(void)
{
    sw_clr_names_renew(names);
}

/* ---- what is known already ---- */

static struct known *slot_of(uint64_t frame)
{
    size_t at = (size_t)(frame * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (known_room - 1);
    while (known[at].frame && known[at].frame != frame)
        at = (at + 1) & (known_room - 1);
    return &known[at];
}

void names_forget(void)
{
    memset(known, 0, known_room * sizeof *known);
    known_count = 0;
}

static uint64_t method_word(uint64_t function, enum sw_kind kind)
{
    return (uint64_t)(IS_METHOD | (unsigned)kind) << FRAME_SHIFT | function;
}

/* Addresses of unloaded code may become another's. */
static void forget_addresses(void)
{
    for (size_t i = 0; i < known_room; i++)
        if (known[i].frame >> FRAME_SHIFT == SW_KIND_JIT)
            known[i].location = unnamed; /* the place stays taken, the name is asked for again */
}

void names_unload(uint64_t function)
{
    struct known *slot = slot_of(method_word(function, SW_KIND_JIT));
    if (!slot->frame)
        return;
    if (slot->location == by_line)
        forget_addresses();
    slot->location = unnamed;
}

void names_unload_image(void)
{
    if (with_lines) {
        lines_forget();
        forget_addresses();
    }
}

/* Twice the room; where there is none, or too much is known, all is forgotten. */
static void make_room(void)
{
    struct known *old = known, *grown = known_room < KNOWN_MAX ? calloc(2 * known_room, sizeof *known) : NULL;
    const size_t old_room = known_room;
    if (!grown) {
        names_forget();
        return;
    }
    known = grown;
    known_room *= 2;
    for (size_t i = 0; i < old_room; i++)
        if (old[i].frame)
            *slot_of(old[i].frame) = old[i];
    free(old);
}

/* ---- frames ---- */

static uint32_t add(struct sw_profile *profile, const char *function, uint32_t mapping, uint64_t address,
                    enum sw_profile_kind kind)
{
    const struct sw_profile_line line = { .function = function };
    const struct sw_profile_location location = {
        .address = address, .mapping = mapping, .kind = kind, .lines = &line, .line_count = function ? 1 : 0
    };
    return sw_profile_location_add(profile, &location);
}

uint32_t names_said(struct sw_profile *profile, const char *text)
{
    return add(profile, text, 0, 0, SW_PROFILE_OTHER);
}

/* Of a method. line: NULL, or of one of its places. */
static uint32_t managed(struct sw_profile *profile, uint64_t function, enum sw_profile_kind kind,
                        const struct line *found)
{
    char buffer[TEXT], text[TEXT + 8], file[TEXT];
    struct sw_clr_name name;
    if (sw_clr_names_method(names, function, flags, buffer, sizeof buffer, &name) != SW_OK)
        return add(profile, "?", 0, 0, kind);
    snprintf(text, sizeof text, "%s%s%s%s", name.type, *name.type ? "." : "", name.method, name.parameters);
    snprintf(file, sizeof file, "%s.dll", name.module);
    const struct sw_profile_mapping mapping = { .file = file };
    struct sw_profile_line line = { .function = text };
    if (found) {
        line.file = found->file;
        line.line = found->line;
        line.column = found->column;
        line.start_line = found->first;
    }
    const struct sw_profile_location location = {
        .mapping = *name.module ? sw_profile_mapping_add(profile, &mapping) : 0,
        .kind = kind,
        .lines = &line,
        .line_count = 1,
    };
    return sw_profile_location_add(profile, &location);
}

static uint32_t mapping_of(struct sw_profile *profile, const struct module *module)
{
    const struct sw_profile_mapping mapping = { module->begin, module->end,      module->file_offset,
                                                module->path,  module->build_id, NULL };
    return sw_profile_mapping_add(profile, &mapping);
}

void names_begin(struct sw_profile *profile)
{
    struct module module;
    if (module_find(getauxval(AT_ENTRY), &module))
        (void)mapping_of(profile, &module);
}

static uint32_t native(struct sw_profile *profile, uint64_t address)
{
    char symbol[TEXT];
    struct module module;
    if (!module_find(address, &module))
        return add(profile, "[no file]", 0, address, SW_PROFILE_NATIVE);
    const bool found = sw_clr_native_name(clr, address, symbol, sizeof symbol, NULL) == SW_OK ||
                       symbols_name(module.build_id, address - module.bias, symbol, sizeof symbol);
    return add(profile, found ? symbol : NULL, mapping_of(profile, &module), address, SW_PROFILE_NATIVE);
}

static void remember(uint64_t frame, uint32_t location)
{
    struct known *slot = slot_of(frame);
    if (!slot->frame && ++known_count > known_room / 2) {
        make_room();
        slot = slot_of(frame);
        known_count += known_count == 0;
    }
    *slot = (struct known){ frame, location };
}

static bool is_known(uint64_t frame, uint32_t *location)
{
    const struct known *slot = slot_of(frame);
    *location = slot->location;
    return slot->frame && slot->location != unnamed;
}

/* Code may have been made since the runtime's memory was read here: then that is read again. */
static bool find_code(uint64_t address, struct sw_range *range)
{
    if (sw_clr_names_find(names, address, 0, range) == SW_OK)
        return true;
    sw_clr_names_renew(names);
    return sw_clr_names_find(names, address, 0, range) == SW_OK;
}

/* What an address in managed code was made from, where that has lines. The answer is kept for the whole method. */
static bool find_place(uint64_t address, uint64_t function, enum sw_kind kind, struct sw_clr_place *place)
{
    struct sw_range range = { .kind = SW_KIND_NGEN, .id = function };
    return with_lines && (kind == SW_KIND_NGEN || find_code(address, &range)) &&
           (sw_clr_names_place(names, address, &range, place) == SW_OK || place->image) && lines_has(place->image);
}

/* The location of a method, or of a line of it: which of both is found out with its first address. */
static uint32_t method_at(struct sw_profile *profile, uint64_t address, uint64_t function, enum sw_kind kind)
{
    const enum sw_profile_kind shown = kind == SW_KIND_JIT ? SW_PROFILE_JIT : SW_PROFILE_PRECOMPILED;
    const uint64_t method = method_word(function, kind), frame = (uint64_t)kind << FRAME_SHIFT | address;
    struct sw_clr_place place;
    struct line line;
    uint32_t location;
    if (is_known(method, &location) && location != by_line)
        return location;
    if (location == by_line && is_known(frame, &location))
        return location;
    const bool has_lines = find_place(address, function, kind, &place),
               found = has_lines && lines_find(place.image, place.token, place.il_offset, &line);
    location = managed(profile, function, shown, found ? &line : NULL);
    remember(method, has_lines ? by_line : location);
    if (has_lines)
        remember(frame, location);
    return location;
}

/*
 * Of dynamic methods and stubs only the runtime's structures tell. A precompiled method that was not announced has its
 * entry as id, and the runtime's table of entries is read by pages, as names are.
 */
static bool find_function(uint64_t address, enum sw_kind kind, FunctionID *function)
{
    struct sw_range range;
    if (kind == SW_KIND_NGEN && sw_clr_find_range(clr, address, &range) == SW_OK &&
        sw_clr_names_find(names, address, range.id, &range) == SW_OK) {
        *function = (FunctionID)range.id;
        return true;
    }
    if (sw_clr_function_from_ip(clr, SW_FLAVOUR_DOCUMENTED, address, function) == S_OK)
        return true;
    *function = sw_clr_names_find(names, address, 0, &range) == SW_OK ? (FunctionID)range.id : 0;
    return *function != 0;
}

/* Managed code's first byte is no return address: a signal's handler stands on it. */
uint64_t names_frame(uint64_t pc, bool exact)
{
    uint64_t address = exact ? pc : pc - 1;
    struct sw_range range;
    if (!exact && sw_clr_find_range(clr, pc, &range) == SW_OK && range.begin == pc)
        address = pc;
    if (sw_clr_find_range(clr, address, &range) != SW_OK)
        range.kind = SW_KIND_NATIVE;
    return (uint64_t)range.kind << FRAME_SHIFT | (address & ((UINT64_C(1) << FRAME_SHIFT) - 1));
}

bool names_is_managed(uint64_t frame)
{
    return frame >> FRAME_SHIFT == SW_KIND_JIT || frame >> FRAME_SHIFT == SW_KIND_NGEN;
}

static uint32_t name_frame(struct sw_profile *profile, uint64_t frame)
{
    const enum sw_kind kind = (enum sw_kind)(frame >> FRAME_SHIFT);
    const uint64_t what = frame & ((UINT64_C(1) << FRAME_SHIFT) - 1);
    FunctionID function;
    if ((kind == SW_KIND_JIT || kind == SW_KIND_NGEN) && find_function(what, kind, &function))
        return method_at(profile, what, function, kind);
    if (kind == SW_KIND_JIT)
        return add(profile, "?", 0, 0, SW_PROFILE_JIT);
    if (kind == SW_KIND_STUB)
        return add(profile, "[runtime stub]", 0, 0, SW_PROFILE_NATIVE);
    return native(profile, what);
}

/* Frames of JIT code are not kept by their addresses: nearly all are of methods that are known. */
uint32_t names_location(struct sw_profile *profile, uint64_t frame)
{
    uint32_t location;
    if (is_known(frame, &location))
        return location;
    location = name_frame(profile, frame);
    if (frame >> FRAME_SHIFT != SW_KIND_JIT)
        remember(frame, location);
    return location;
}
