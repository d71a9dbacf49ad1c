/*
 * Names a frame: by the runtime's structures, by the perf map and its like, by symbols. Knows in which order they are
 * asked; refuses to know how what is found is kept (names.c).
 */
#include "naming.h"

#include "demangle.h"
#include "refuse.h"
#include "runtimes/aot.h"
#include "runtimes/hotspot.h"
#include "runtimes/javascript.h"
#include "runtimes/mono.h"
#include "runtimes/php.h"
#include "runtimes/python.h"
#include "runtimes/ruby.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 4096 };

/* Of what compilers inlined nothing is known: the line is that of the method whose code it is. */
static void keep_line(const struct naming *n, const struct sw_frame *frame, const struct sw_range *range,
                      struct place *place)
{
    struct assembly_line found;
    if (!assemblies_find(n->assemblies, n->target->runtime.names, frame->lookup, range, &found))
        return;
    struct line *line = must_get(1, sizeof *line, "names");
    *line = (struct line){ place->function, names_keep(n->names, found.file), found.line };
    place->lines = line;
    place->line_count = 1;
}

/* Of a part of precompiled code the range need not say what method it is of: then the runtime does, or the file. */
static bool find_managed(const struct naming *n, const struct sw_frame *frame, struct sw_range *range)
{
    struct sw_clr_names *const clr = n->target->runtime.names;
    const uint64_t entry = frame->code.kind == SW_KIND_NGEN ? frame->code.id : 0;
    struct sw_range method;
    return sw_clr_names_find(clr, frame->lookup, entry, range) == SW_OK ||
           (entry && sw_clr_names_find_precompiled(clr, frame->lookup, range) == SW_OK) ||
           (entry && target_find_method(n->target, frame->lookup, &method) &&
            sw_clr_names_find(clr, frame->lookup, method.id, range) == SW_OK);
}

static bool name_managed(const struct naming *n, const struct sw_frame *frame, struct place *place)
{
    char buffer[NAME_BYTES], text[2 * NAME_BYTES];
    struct sw_range range;
    struct sw_clr_name name;
    const enum sw_kind kind = frame->code.kind;
    struct sw_clr_names *const clr = n->target->runtime.names;
    if (!clr || (kind != SW_KIND_JIT && kind != SW_KIND_NGEN) || !find_managed(n, frame, &range) ||
        sw_clr_names_method(clr, range.id, n->raw ? SW_CLR_NAMES_RAW : 0, buffer, sizeof buffer, &name) != SW_OK)
        return false;
    snprintf(text, sizeof text, "%s.%s%s", name.type, name.method, name.parameters);
    place->module = names_keep(n->names, name.module);
    place->function = names_keep(n->names, text);
    place->is_managed = true;
    keep_line(n, frame, &range, place);
    return true;
}

/* Methods of Java, innermost first: all but the last were inlined. Stubs have a name and no method. */
static bool name_java(const struct naming *n, const struct sw_frame *frame, struct place *place)
{
    static struct hotspot_call calls[HOTSPOT_INLINED_MOST];
    struct hotspot *const java = n->target->runtime.hotspot;
    const size_t count = java ? hotspot_name(java, frame, place->identity, calls) : 0;
    if (!java || !calls[0].name[0])
        return false;
    place->function = names_keep(n->names, calls[count ? count - 1 : 0].name);
    place->is_managed = count > 0;
    if (count == 0)
        return true;
    struct line *lines = must_get(count, sizeof *lines, "names");
    for (size_t i = 0; i < count; i++)
        lines[i] =
            (struct line){ names_keep(n->names, calls[i].name), names_keep(n->names, calls[i].file), calls[i].line };
    place->lines = lines;
    place->line_count = count;
    return true;
}

/* The script is the module. A builtin function has none. */
static bool name_script(const struct naming *n, struct place *place)
{
    char name[NAME_BYTES], script[NAME_BYTES];
    if (!n->target->runtime.v8 || !place->identity)
        return false;
    v8_name(n->target->runtime.v8, place->identity, name, script, sizeof name);
    const char *slash = *script == '/' || strncmp(script, "file:", 5) == 0 ? strrchr(script, '/') : NULL;
    place->module = names_keep(n->names, slash ? slash + 1 : script);
    place->function = names_keep(n->names, *name ? name : "(anonymous)");
    place->is_managed = true;
    return true;
}

/* What a map says, where mono wrote one, has parameters, too. */
static bool name_mono(const struct naming *n, const struct sw_frame *frame, struct place *place)
{
    char name[MONO_NAME_BYTES], module[MONO_NAME_BYTES];
    struct mono *const mono = n->target->runtime.mono;
    struct sw_range code;
    if (!mono || frame->code.kind != SW_KIND_JIT || !mono_find(mono, frame->lookup, &code) ||
        !mono_name(mono, code.id, name, module))
        return false;
    place->module = names_keep(n->names, module);
    place->function = names_keep(n->names, name);
    place->is_managed = true;
    return true;
}

static bool name_call(const struct runtime *runtime, const struct sw_frame *frame, uint64_t *calls,
                      struct runtime_call *call)
{
    if (runtime->php)
        return php_name(runtime->php, frame, calls, call);
    return runtime->ruby ? ruby_name(runtime->ruby, calls, call) : python_name(runtime->python, calls, call);
}

/* Calls of Python, Ruby or PHP, innermost first, that share one frame of the interpreter. */
static bool name_calls(const struct naming *n, const struct sw_frame *frame, uint64_t calls, struct place *place)
{
    const struct runtime *const runtime = &n->target->runtime;
    struct runtime_call call;
    struct line lines[CALLS_MOST];
    size_t count = 0;
    bool has_more = true;
    if ((!runtime->python && !runtime->ruby && !runtime->php) || !place->identity)
        return false;
    while (has_more && count < CALLS_MOST) {
        has_more = name_call(runtime, frame, &calls, &call);
        lines[count++] =
            (struct line){ names_keep(n->names, call.function), names_keep(n->names, call.file), call.line };
    }
    struct line *kept = must_get(count, sizeof *kept, "names");
    memcpy(kept, lines, count * sizeof *kept);
    place->lines = kept;
    place->line_count = count;
    place->function = kept[count - 1].function;
    place->is_managed = true;
    return true;
}

static bool name_mapped(const struct naming *n, const struct sw_frame *frame, struct place *place)
{
    const char *name = sw_perfmap_name(n->target->perfmap, frame->lookup, NULL);
    if (!name)
        name = sw_gdb_jit_name(n->target->gdb_jit, frame->lookup, NULL);
    if (!name)
        name = target_range_name(n->target, frame->lookup);
    if (!name)
        return false;
    place->function = names_keep(n->names, name);
    place->is_managed = frame->code.kind == SW_KIND_JIT;
    return true;
}

static const char *keep_demangled(const struct naming *n, const char *symbol)
{
    char text[NAME_BYTES];
    return names_keep(n->names, n->raw ? symbol : demangle(symbol, text, sizeof text));
}

/* The function whose code it is has the symbol's name: debug information may have an alias of the compiler's. */
static void keep_lines(const struct naming *n, const struct symbol *found, struct place *place)
{
    if (found->count == 0)
        return;
    struct line *lines = must_get(found->count, sizeof *lines, "names");
    for (size_t i = 0; i < found->count; i++)
        lines[i] = (struct line){ keep_demangled(n, found->lines[i].function),
                                  names_keep(n->names, found->lines[i].file), found->lines[i].line };
    if (*place->function)
        lines[found->count - 1].function = place->function;
    place->lines = lines;
    place->line_count = found->count;
}

/* The program's assembly has the name of its file. */
static const char *keep_written(const struct naming *n, const struct sw_image *image, const struct symbol *found)
{
    char text[NAME_BYTES], module[PATH_MAX];
    const char *slash = strrchr(image->path, '/');
    if (!found->is_aot || n->raw)
        return keep_demangled(n, found->symbol);
    snprintf(module, sizeof module, "%s", slash ? slash + 1 : image->path);
    for (char *c = module; *c; c++)
        *c = strchr(".- ", *c) ? '_' : *c;
    return names_keep(n->names, aot_demangle(found->symbol, found->method, module, text, sizeof text));
}

/* The symbol around an address: from debug information, else from the library. */
static bool find_symbol(const struct naming *n, const struct sw_image *image, uint64_t address, struct place *place,
                        uint64_t *start)
{
    struct symbol found = { 0 };
    char symbol[NAME_BYTES];
    if (symbols_find(n->symbols, image, address, &found)) {
        *start = found.begin;
        if (found.symbol)
            place->function = keep_written(n, image, &found);
        keep_lines(n, &found, place);
    }
    if (!*place->function && sw_images_name(n->target->images, address, symbol, sizeof symbol, start) == SW_OK) {
        found.symbol = symbol;
        place->function = keep_written(n, image, &found);
    }
    return *place->function != 0;
}

/* Functions of Go, by its own table, innermost first: all but the last were inlined. */
static bool name_go(const struct naming *n, uint64_t address, struct place *place, uint64_t *start)
{
    static struct runtime_call calls[PCLNTAB_INLINED_MOST];
    const struct pclntab *const go = n->target->runtime.go;
    const size_t count = go ? pclntab_name(go, address, calls, start) : 0;
    if (!count)
        return false;
    place->function = names_keep(n->names, calls[count - 1].function);
    struct line *lines = must_get(count, sizeof *lines, "names");
    for (size_t i = 0; i < count; i++)
        lines[i] = (struct line){ names_keep(n->names, calls[i].function), names_keep(n->names, calls[i].file),
                                  calls[i].line };
    place->lines = lines;
    place->line_count = count;
    return true;
}

/* What is said of code in a file: the place in that file of which it may be a copy. */
static uint64_t address_in_file(const struct naming *n, uint64_t address)
{
    const struct v8 *v8 = n->target->runtime.v8;
    const uint64_t original = v8 ? v8_builtin(v8, address) : 0;
    return original ? original : address;
}

static void name_native(const struct naming *n, const struct sw_frame *frame, struct place *place)
{
    const uint64_t lookup = address_in_file(n, frame->lookup);
    const uint64_t pc = sw_regs_pc(&frame->regs) + (lookup - frame->lookup);
    struct sw_image image;
    uint64_t start;
    place->offset = pc;
    if (sw_images_find(n->target->images, lookup, &image) != SW_OK)
        return;
    place->module = names_keep(n->names, strrchr(image.path, '/') ? strrchr(image.path, '/') + 1 : image.path);
    const bool is_found = name_go(n, lookup, place, &start) || find_symbol(n, &image, lookup, place, &start);
    place->offset = pc - (is_found ? start : image.bias);
}

struct place *naming_place(const struct naming *n, const struct sw_frame *frame, const struct runtime_frame *runs)
{
    struct place *place = must_get(1, sizeof *place, "names");
    *place = (struct place){
        .lookup = frame->lookup, .identity = runs->identity, .module = "", .function = "", .is_exact = frame->exact
    };
    if (!name_managed(n, frame, place) && !name_java(n, frame, place) && !name_script(n, place) &&
        !name_calls(n, frame, runs->at, place) && !name_mapped(n, frame, place) && !name_mono(n, frame, place))
        name_native(n, frame, place);
    return place;
}
