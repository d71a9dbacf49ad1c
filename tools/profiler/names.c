/*
 * Names are read once for each method and each native address, and kept by the frame's word. Managed ones come out of
 * the runtime's memory by a reader that cannot fault, without the runtime's locks: a method that is just being
 * unloaded is "?" at worst.
 */
#include "names.h"
#include "modules.h"
#include "sample.h"

#include <snapwalk/clr_names.h>
#include <snapwalk/self.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { NAMES_BYTES = 256 << 10, KNOWN_MIN = 1 << 10, KNOWN_MAX = 1 << 17, TEXT = 2048 };

/* Open addressing; a frame's word is never 0. */
struct known {
    uint64_t frame;
    uint32_t location;
};

static struct sw_clr *clr;
static struct sw_clr_names *names;
static unsigned flags;
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

bool names_open(struct sw_clr *followed, bool raw)
{
    const struct sw_memory memory = sw_self_memory();
    clr = followed;
    flags = raw ? SW_CLR_NAMES_RAW : 0;
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

void names_unload(uint64_t function)
{
    struct known *slot = slot_of((uint64_t)SW_KIND_JIT << SAMPLE_FRAME_SHIFT | function);
    if (slot->frame)
        slot->location = UINT32_MAX; /* the place stays taken, the name is asked for again */
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

static uint32_t managed(struct sw_profile *profile, uint64_t function, enum sw_profile_kind kind)
{
    char buffer[TEXT], text[TEXT + 8];
    struct sw_clr_name name;
    if (sw_clr_names_method(names, function, flags, buffer, sizeof buffer, &name) != SW_OK)
        return add(profile, "?", 0, 0, kind);
    snprintf(text, sizeof text, "%s%s%s%s", name.type, *name.type ? "." : "", name.method, name.parameters);
    char file[TEXT];
    snprintf(file, sizeof file, "%s.dll", name.module);
    const struct sw_profile_mapping mapping = { .file = file };
    return add(profile, text, *name.module ? sw_profile_mapping_add(profile, &mapping) : 0, 0, kind);
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
    const bool found = sw_clr_native_name(clr, address, symbol, sizeof symbol, NULL) == SW_OK;
    return add(profile, found ? symbol : NULL, mapping_of(profile, &module), address, SW_PROFILE_NATIVE);
}

static uint32_t name_frame(struct sw_profile *profile, uint64_t frame)
{
    const enum sw_kind kind = (enum sw_kind)(frame >> SAMPLE_FRAME_SHIFT);
    const uint64_t what = frame & ((UINT64_C(1) << SAMPLE_FRAME_SHIFT) - 1);
    FunctionID function;
    if (kind == SW_KIND_JIT)
        return managed(profile, what, SW_PROFILE_JIT);
    if (kind == SW_KIND_NGEN && sw_clr_function_from_ip(clr, SW_FLAVOUR_DOCUMENTED, what, &function) == S_OK)
        return managed(profile, function, SW_PROFILE_PRECOMPILED);
    if (kind == SW_KIND_STUB)
        return add(profile, "[runtime stub]", 0, 0, SW_PROFILE_NATIVE);
    return native(profile, what);
}

uint32_t names_location(struct sw_profile *profile, uint64_t frame)
{
    struct known *slot = slot_of(frame);
    if (slot->frame && slot->location != UINT32_MAX)
        return slot->location;
    const uint32_t location = name_frame(profile, frame);
    if (!slot->frame && ++known_count > known_room / 2) {
        make_room();
        slot = slot_of(frame);
        known_count += known_count == 0;
    }
    *slot = (struct known){ frame, location };
    return location;
}
