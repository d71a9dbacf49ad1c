/*
 * Debug information by libdwfl, which finds separate debug files by build id and .gnu_debuglink. What debuginfod has
 * left in its cache is looked for here, so that nothing is asked of a network. A file is used if it begins as the image
 * that is mapped.
 *
 * libdw unpacks all of a compressed file, which takes longer than a walk of a hundred threads. So of a distribution's
 * separate files, which are compressed, the symbols only are read (by the library), unless all is asked for. Those that
 * lie beside a program are its own, as NativeAOT's are, and small: they are unpacked.
 *
 * Source: elfutils, libdwfl.h; DWARF 5, 3.3.8 (inlined subroutines).
 */
#include "symbols.h"

#include "debug_file_dw.h"
#include "refuse.h"
#include "scopes_dw.h"
#include "within.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = 1024, IMAGES_FIRST = 32, IMAGES_MOST = 4096, NAME_BYTES = 4096 };

/*
 * An image that was met. module: null where nothing is to be had by libdw, or the file is not there or is another one.
 * has_names: its separate file is among `files`. file: that, open; -1: there is none. managed_begin, managed_end: the
 * code that NativeAOT made.
 */
struct known {
    uint64_t begin;
    Dwfl_Module *module;
    struct units units;
    bool has_names;
    int file;
    uint64_t managed_begin, managed_end;
};

/* files: separate files of which symbols only are read. */
struct symbols {
    Dwfl *dwfl;
    const char *root;
    struct sw_memory memory;
    enum lines lines;
    struct sw_images *files;
    char name[NAME_BYTES];
    struct known *known;
    size_t count, room;
};

static int open_cached(Dwfl_Module *module)
{
    const unsigned char *id;
    GElf_Addr address;
    char path[PATH_MAX];
    const int size = dwfl_module_build_id(module, &id, &address);
    return debug_file_cached(id, size, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* userdata: the one that is known already, and one more; libdwfl closes what it gets. */
static int find_debug_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file,
                           const char *link, GElf_Word crc, char **found)
{
    const int known = (int)(intptr_t)*userdata - 1;
    if (known >= 0)
        return fcntl(known, F_DUPFD_CLOEXEC, 0);
    const int fd = dwfl_standard_find_debuginfo(module, userdata, name, base, file, link, crc, found);
    return fd >= 0 ? fd : open_cached(module);
}

bool symbols_are_read(void)
{
    return true;
}

struct symbols *symbols_create(const char *root, const struct sw_memory *memory, enum lines lines)
{
    static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf, .find_debuginfo = find_debug_file };
    unsetenv("DEBUGINFOD_URLS"); /* libdwfl would ask servers */
    struct symbols *symbols = calloc(1, sizeof *symbols);
    must(symbols ? SW_OK : SW_E_NO_MEMORY, "symbols");
    symbols->dwfl = dwfl_begin(&callbacks);
    must(symbols->dwfl ? SW_OK : SW_E_NO_MEMORY, "symbols");
    symbols->root = root;
    symbols->memory = *memory;
    symbols->lines = lines;
    must(sw_images_create(NULL, &symbols->files), "symbols");
    return symbols;
}

void symbols_destroy(struct symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->count; i++)
        units_free(&symbols->known[i].units);
    dwfl_end(symbols->dwfl);
    sw_images_destroy(symbols->files);
    for (size_t i = 0; i < symbols->count; i++)
        if (symbols->known[i].file >= 0)
            close(symbols->known[i].file);
    free(symbols->known);
    free(symbols);
}

/*
 * What the file is not, if it does not begin with the bytes that are mapped: headers, and with them mostly the build
 * id. null: it does. A process that has begun another program since has other bytes there, or none.
 */
static const char *find_difference(const struct symbols *s, int fd, uint64_t begin)
{
    char ours[HEAD_BYTES], theirs[HEAD_BYTES];
    if (s->memory.read(s->memory.arg, begin, theirs, sizeof theirs) != sizeof theirs)
        return "what was mapped cannot be read: the process has ended, or begun another program";
    if (pread(fd, ours, sizeof ours, 0) == sizeof ours && memcmp(ours, theirs, sizeof ours) == 0)
        return NULL;
    return "it was replaced since it was mapped, or the process has begun another program";
}

/* The file is the module's from now on. separate: its debug information, -1: in itself, or not known. */
static Dwfl_Module *open_module(struct symbols *s, const struct sw_image *image, const char *path, int fd, int separate)
{
    void **userdata;
    dwfl_report_begin_add(s->dwfl);
    Dwfl_Module *module = dwfl_report_elf(s->dwfl, image->path, path, fd, image->bias, true);
    dwfl_report_end(s->dwfl, NULL, NULL);
    if (!module)
        close(fd);
    else if (dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
        *userdata = (void *)(intptr_t)(separate + 1);
    return module;
}

/* The symbols of a separate file, at the place of its image. */
static bool add_names(struct symbols *s, const struct sw_image *image, int file)
{
    char path[40];
    struct sw_image added;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return file >= 0 && sw_images_add_file(s->files, path, image->begin) == SW_OK &&
           sw_images_find(s->files, image->begin, &added) == SW_OK && added.bias == image->bias;
}

static bool is_wanted(const struct symbols *s, const struct debug_file *debug)
{
    const bool is_large = debug->is_of_system && debug->is_compressed;
    return debug->has_lines && s->lines != LINES_NONE && (!is_large || s->lines == LINES_ALL);
}

/*
 * The file that is mapped. Its path is one in the target's root, if that has mounts of its own; of a process that has
 * changed its root, one in ours. root: receives which. -1: it is not there, or it is another one, which is said.
 */
static int open_image(const struct symbols *s, const struct sw_image *image, const char **root)
{
    const char *const roots[] = { s->root, "" };
    const char *difference = NULL;
    for (size_t i = 0; i < (*s->root ? 2 : 1); i++) {
        const int fd = open_within(roots[i], image->path);
        const char *here = fd >= 0 ? find_difference(s, fd, image->begin) : NULL;
        *root = roots[i];
        if (fd >= 0 && !here)
            return fd;
        if (fd >= 0)
            close(fd);
        if (i == 0)
            difference = here;
    }
    if (difference)
        complain("%s%s: not used: %s", s->root, image->path, difference);
    return -1;
}

static void open_known(struct symbols *s, const struct sw_image *image, struct known *known)
{
    char path[PATH_MAX];
    struct debug_file debug;
    const char *root;
    const int fd = image->is_pe ? -1 : open_image(s, image, &root);
    if (fd < 0)
        return;
    snprintf(path, sizeof path, "%s%s", root, image->path);
    debug_file_find(fd, &(struct debug_place){ s->root, root, image->path }, &debug);
    known->file = debug.file;
    known->managed_begin = debug.managed_begin + image->bias;
    known->managed_end = debug.managed_end + image->bias;
    if (is_wanted(s, &debug)) {
        known->module = open_module(s, image, path, fd, debug.file);
        return;
    }
    known->has_names = add_names(s, image, debug.file);
    close(fd);
}

static struct known *module_of(struct symbols *s, const struct sw_image *image)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->known[i].begin == image->begin)
            return &s->known[i];
    if (s->count == IMAGES_MOST)
        return NULL;
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : IMAGES_FIRST;
        s->known = realloc(s->known, s->room * sizeof *s->known);
        must(s->known ? SW_OK : SW_E_NO_MEMORY, "symbols");
    }
    struct known *known = &s->known[s->count++];
    *known = (struct known){ .begin = image->begin, .file = -1 };
    open_known(s, image, known);
    return known;
}

/* ---- functions and lines ---- */

static const char *name_of(Dwarf_Die *die)
{
    static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
    Dwarf_Attribute attribute;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));
        if (name)
            return name;
    }
    return "";
}

static int number_of(Dwarf_Die *die, unsigned name, int otherwise)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > INT_MAX)
        return otherwise;
    return (int)value;
}

/* Where an inlined function was called: that is the line of the function around it. Before DWARF 5, file 0 was none. */
static void take_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct line *outer)
{
    Dwarf_Files *files;
    Dwarf_Half version = 0;
    size_t count;
    const int file = number_of(inlined, DW_AT_call_file, -1);
    const char *path = NULL;
    if (file >= 0 && dwarf_cu_die(unit->cu, &(Dwarf_Die){ 0 }, &version, NULL, NULL, NULL, NULL, NULL) &&
        (file > 0 || version >= 5) && dwarf_getsrcfiles(unit, &files, &count) == 0)
        path = dwarf_filesrc(files, (size_t)file, NULL, NULL);
    outer->file = path ? path : "";
    outer->line = number_of(inlined, DW_AT_call_line, 0);
}

/* The functions around an address, from the innermost to the one whose code it is. */
static void take_functions(Dwarf_Die *unit, Dwarf_Addr at, struct symbol *found)
{
    Dwarf_Die scopes[SCOPES_MOST];
    Dwarf_Attribute attribute;
    const size_t count = scopes_find(unit, at, scopes);
    for (size_t i = count; i > 0 && found->count < LINES_MOST; i--) {
        found->lines[found->count++].function = name_of(&scopes[i - 1]);
        if (i > 1 && found->count < LINES_MOST)
            take_call(unit, &scopes[i - 1], &found->lines[found->count]);
    }
    if (count)
        found->method = dwarf_formstring(dwarf_attr_integrate(&scopes[0], DW_AT_name, &attribute));
}

static void take_lines(Dwarf_Die *unit, Dwarf_Addr at, struct symbol *found)
{
    Dwarf_Line *place = dwarf_getsrc_die(unit, at);
    const char *file = place ? dwarf_linesrc(place, NULL, NULL) : NULL;
    int line = 0;
    if (file && dwarf_lineno(place, &line) != 0)
        line = 0;
    found->lines[0] = (struct line){ "", file ? file : "", line };
    take_functions(unit, at, found);
    if (found->count == 0 && file)
        found->count = 1;
    if (found->count && !*found->lines[found->count - 1].function && found->symbol)
        found->lines[found->count - 1].function = found->symbol;
}

static bool find_name(struct symbols *s, uint64_t address, struct symbol *found)
{
    if (sw_images_name(s->files, address, s->name, sizeof s->name, &found->begin) != SW_OK)
        return false;
    found->symbol = s->name;
    return true;
}

static bool find_in_module(struct known *known, uint64_t address, struct symbol *found)
{
    GElf_Off offset;
    GElf_Sym symbol;
    Dwarf_Addr bias;
    Dwarf_Die unit;
    found->symbol = dwfl_module_addrinfo(known->module, address, &offset, &symbol, NULL, NULL, NULL);
    found->begin = address - offset;
    if (units_find(&known->units, known->module, address, &unit, &bias))
        take_lines(&unit, address - bias, found);
    return found->symbol || found->count;
}

bool symbols_find(struct symbols *s, const struct sw_image *image, uint64_t address, struct symbol *found)
{
    *found = (struct symbol){ 0 };
    struct known *known = s ? module_of(s, image) : NULL;
    found->is_aot = known && address >= known->managed_begin && address < known->managed_end;
    if (known && known->module)
        return find_in_module(known, address, found);
    return known && known->has_names && find_name(s, address, found);
}
