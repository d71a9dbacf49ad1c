/*
 * Finds the runtime of a target: by the names of the files that are mapped, or else, as a single-file .NET program
 * contains its runtime, by what the program exports.
 */
#include "runtime.h"

#include "refuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A mapped file whose name begins so. ORDER runtime_kind. */
static const struct {
    enum runtime_kind kind;
    const char *name, *file;
} rows[] = {
    { RUNTIME_CLR, "CLR", "libcoreclr.so" },  { RUNTIME_JVM, "JVM", "libjvm.so" },
    { RUNTIME_MONO, "mono", "libmonosgen-" }, { RUNTIME_MONO, "mono", "libmono-" },
    { RUNTIME_MONO, "mono", "mono-sgen" },    { RUNTIME_NODE, "Node", "libnode.so" },
    { RUNTIME_NODE, "Node", "node" },         { RUNTIME_PYTHON, "Python", "libpython" },
    { RUNTIME_PYTHON, "Python", "python3" },  { RUNTIME_PYTHON, "Python", "python2" },
};

/* What is known after some files: `program` is the first file, whose first byte is at that address. */
struct search {
    struct runtime *runtime;
    uint64_t program, found;
};

static void look_at_file(struct search *s, const char *path, uint64_t address)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    if (s->program == 0)
        s->program = address;
    /* A CLR that is hosted by something else is what its threads are about. */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(file, rows[i].file, strlen(rows[i].file)) == 0 &&
            (s->runtime->kind == RUNTIME_NONE || (rows[i].kind == RUNTIME_CLR && s->runtime->kind != RUNTIME_CLR))) {
            s->runtime->kind = rows[i].kind;
            s->found = address;
        }
}

/* Asked in walks for code in no range and no image: the runtime's own map of code. */
static bool find_managed(void *names, uint64_t address, struct sw_range *code)
{
    return sw_clr_names_find(names, address, 0, code) == SW_OK;
}

static void attach(struct search *s, const struct sw_memory *memory)
{
    struct runtime *r = s->runtime;
    if (r->kind != RUNTIME_CLR && r->kind != RUNTIME_NONE)
        return;
    must(sw_clr_names_create(NULL, memory, 0, &r->names), "names");
    if (sw_clr_names_attach(r->names, r->kind == RUNTIME_CLR ? s->found : s->program) == SW_OK) {
        r->kind = RUNTIME_CLR;
        r->finder = (struct sw_code_finder){ find_managed, r->names };
        return;
    }
    sw_clr_names_destroy(r->names);
    r->names = NULL;
}

void runtime_of_process(struct runtime *runtime, int pid, const struct sw_memory *memory)
{
    struct search search = { runtime, 0, 0 };
    char path[40], line[4096];
    uint64_t begin, offset;
    *runtime = (struct runtime){ 0 };
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof line, maps)) {
        const char *file = strchr(line, '/');
        if (file && sscanf(line, "%" SCNx64 "-%*x %*4s %" SCNx64, &begin, &offset) == 2 && offset == 0)
            look_at_file(&search, file, begin);
    }
    if (maps)
        fclose(maps);
    attach(&search, memory);
}

void runtime_of_core(struct runtime *runtime, const struct sw_core *core, const struct sw_memory *memory)
{
    struct search search = { runtime, 0, 0 };
    struct sw_core_file file;
    *runtime = (struct runtime){ 0 };
    for (size_t i = 0; sw_core_get_file(core, i, &file); i++)
        look_at_file(&search, file.path, file.address);
    attach(&search, memory);
}

void runtime_close(struct runtime *runtime)
{
    sw_clr_names_destroy(runtime->names);
}

const struct sw_code_finder *runtime_finder(const struct runtime *runtime)
{
    return runtime->finder.find ? &runtime->finder : NULL;
}

void runtime_describe(const struct runtime *runtime, char *text, size_t size)
{
    const unsigned release = sw_clr_names_release(runtime->names);
    text[0] = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].kind == runtime->kind)
            snprintf(text, size, "%s", rows[i].name);
    if (release)
        snprintf(text, size, "CLR %u", release);
}
