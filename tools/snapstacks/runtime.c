/*
 * Finds the runtime of a target: by the names of the files that are mapped, or else, as a single-file .NET program
 * contains its runtime, by what the program exports.
 */
#include "runtime.h"

#include "runtimes/hotspot.h"
#include "refuse.h"
#include "runtimes/javascript.h"
#include "runtimes/python.h"

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

/* What looks at the files of a target, one after the other, until it returns false. address: of the first byte. */
typedef bool visit_fn(struct runtime *runtime, const char *path, uint64_t address);

/* Takes a runtime by the name of a file. A CLR that something else hosts is what its threads are about. */
static bool take_name(struct runtime *r, const char *path, uint64_t address)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(file, rows[i].file, strlen(rows[i].file)) == 0 &&
            (r->kind == RUNTIME_NONE || rows[i].kind == RUNTIME_CLR)) {
            r->kind = rows[i].kind;
            r->address = address;
        }
    return r->kind != RUNTIME_CLR;
}

/* Asked in walks for code in no range and no image: the runtime's own map of code. */
static bool find_managed(void *names, uint64_t address, struct sw_range *code)
{
    return sw_clr_names_find(names, address, 0, code) == SW_OK;
}

static bool take_clr(struct runtime *r, const char *path, uint64_t address)
{
    (void)path;
    if (sw_clr_names_attach(r->names, address) != SW_OK)
        return true;
    r->kind = RUNTIME_CLR;
    r->finder = (struct sw_code_finder){ find_managed, r->names };
    return false;
}

static void each_file_of_process(struct runtime *runtime, int pid, visit_fn *visit)
{
    char path[40], line[4096];
    uint64_t begin, offset;
    bool more = true;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps && more && fgets(line, sizeof line, maps)) {
        const char *file = strchr(line, '/');
        if (file && sscanf(line, "%" SCNx64 "-%*x r%*3s %" SCNx64, &begin, &offset) == 2 && offset == 0)
            more = visit(runtime, file, begin);
    }
    if (maps)
        fclose(maps);
}

static void each_file_of_core(struct runtime *runtime, const struct sw_core *core, visit_fn *visit)
{
    struct sw_core_file file;
    for (size_t i = 0; sw_core_get_file(core, i, &file); i++)
        if (!visit(runtime, file.path, file.address))
            return;
}

/* By name, or else by what files export: a single-file .NET program contains its runtime. */
static bool is_named(struct runtime *runtime, const struct sw_memory *memory)
{
    if (runtime->kind != RUNTIME_CLR && runtime->kind != RUNTIME_NONE)
        return true;
    must(sw_clr_names_create(NULL, memory, 0, &runtime->names), "names");
    return runtime->kind == RUNTIME_CLR && !take_clr(runtime, "", runtime->address);
}

/* A runtime whose structures are not known is walked and named as any program. */
static void open_other(struct runtime *runtime, struct sw_images *images, const struct sw_memory *memory)
{
    enum sw_status status = SW_OK;
    if (runtime->kind == RUNTIME_NODE)
        status = v8_open(images, memory, &runtime->v8);
    if (runtime->kind == RUNTIME_PYTHON)
        status = python_open(images, memory, &runtime->python);
    if (runtime->kind == RUNTIME_JVM)
        status = hotspot_open(images, memory, &runtime->hotspot);
    if (status != SW_E_NOT_FOUND)
        must(status, "the runtime's structures");
    if (runtime->hotspot)
        runtime->finder = (struct sw_code_finder){ hotspot_find, runtime->hotspot };
}

/* A runtime of which nothing can be read is not asked. */
static void forget_unknown(struct runtime *runtime)
{
    if (runtime->finder.find)
        return;
    sw_clr_names_destroy(runtime->names);
    runtime->names = NULL;
}

void runtime_of_process(struct runtime *runtime, int pid, struct sw_images *images, const struct sw_memory *memory)
{
    *runtime = (struct runtime){ .pid = pid };
    each_file_of_process(runtime, pid, take_name);
    if (!is_named(runtime, memory))
        each_file_of_process(runtime, pid, take_clr);
    forget_unknown(runtime);
    open_other(runtime, images, memory);
}

void runtime_of_core(struct runtime *runtime, const struct sw_core *core, struct sw_images *images,
                     const struct sw_memory *memory)
{
    *runtime = (struct runtime){ 0 };
    each_file_of_core(runtime, core, take_name);
    if (!is_named(runtime, memory))
        each_file_of_core(runtime, core, take_clr);
    forget_unknown(runtime);
    open_other(runtime, images, memory);
}

void runtime_close(struct runtime *runtime)
{
    sw_clr_names_destroy(runtime->names);
    hotspot_close(runtime->hotspot);
    v8_close(runtime->v8);
    python_close(runtime->python);
}

bool runtime_step(const struct runtime *runtime, const struct sw_memory *stack, const struct sw_frame *frame,
                  struct sw_regs *caller)
{
    if (runtime->v8)
        return v8_step(runtime->v8, stack, frame, caller);
    return runtime->hotspot && hotspot_step(runtime->hotspot, stack, frame, caller);
}

/* A thread's id as it sees itself: in a container another. Source: proc(5), NSpid. */
static uint64_t inner_tid(int pid, uint64_t tid)
{
    char path[80], line[256];
    uint64_t inner = tid;
    snprintf(path, sizeof path, "/proc/%d/task/%" PRIu64 "/status", pid, tid);
    FILE *file = pid ? fopen(path, "r") : NULL;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "NSpid:", 6) == 0) {
            const char *last = strrchr(line, '\t');
            if (!last || sscanf(last, "%" SCNu64, &inner) != 1)
                inner = tid;
            break;
        }
    if (file)
        fclose(file);
    return inner;
}

struct runtime_frame runtime_identify(const struct runtime *runtime, struct runtime_walk *walk,
                                      const struct sw_memory *stack, const struct sw_frame *frame)
{
    static const enum runtime_how how_of[] = { [V8_NONE] = RUNTIME_CODE,
                                               [V8_INTERPRETED] = RUNTIME_INTERPRETED,
                                               [V8_COMPILED] = RUNTIME_COMPILED,
                                               [V8_BUILTIN] = RUNTIME_BUILTIN };
    uint64_t function = 0, at = 0;
    if (runtime->python) {
        const uint64_t tid = walk->next ? walk->tid : inner_tid(runtime->pid, walk->tid);
        function = python_identify(runtime->python, tid, frame, &walk->next, &at);
        return (struct runtime_frame){ function, at, function ? RUNTIME_INTERPRETED : RUNTIME_CODE };
    }
    if (runtime->v8) {
        const enum v8_how how = v8_identify(runtime->v8, stack, frame, &function);
        return (struct runtime_frame){ how == V8_NONE ? 0 : function, function, how_of[how] };
    }
    function = runtime->hotspot ? hotspot_identity(runtime->hotspot, stack, frame) : 0;
    return (struct runtime_frame){ function, function, function ? RUNTIME_INTERPRETED : RUNTIME_CODE };
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
