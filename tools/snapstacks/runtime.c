/*
 * What the runtime of a target tells of its code: the library says which one it is, a reader knows its structures.
 */
#include "runtime.h"

#include "runtimes/hotspot.h"
#include "refuse.h"
#include "runtimes/javascript.h"
#include "runtimes/mono.h"
#include "runtimes/python.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Asked in walks for code in no range and no image: the runtime's own map of code. */
static bool find_managed(void *names, uint64_t address, struct sw_range *code)
{
    return sw_clr_names_find(names, address, 0, code) == SW_OK;
}

enum { NAMES_BYTES = 1 << 18 }; /* memory that is cached already, by pages */

/* A version that is not known has no names. */
static void open_clr(struct runtime *r, uint64_t address, const struct sw_memory *memory)
{
    must(sw_clr_names_create(NULL, memory, NAMES_BYTES, &r->names), "names");
    if (sw_clr_names_attach(r->names, address) == SW_OK) {
        r->finder = (struct sw_code_finder){ find_managed, r->names };
        return;
    }
    sw_clr_names_destroy(r->names);
    r->names = NULL;
}

/* A runtime whose structures are not known is walked and named as any program. */
static void open_other(struct runtime *runtime, uint64_t address, struct sw_images *images,
                       const struct sw_memory *memory, const struct sw_memory *search)
{
    enum sw_status status = SW_OK;
    if (runtime->kind == SW_RUNTIME_V8)
        status = v8_open(images, memory, &runtime->v8);
    if (runtime->kind == SW_RUNTIME_PYTHON)
        status = python_open(images, memory, &runtime->python);
    if (runtime->kind == SW_RUNTIME_RUBY)
        status = ruby_open(images, memory, &runtime->ruby);
    if (runtime->kind == SW_RUNTIME_PHP)
        status = php_open(images, memory, &runtime->php);
    if (runtime->kind == SW_RUNTIME_HOTSPOT)
        status = hotspot_open(images, memory, &runtime->hotspot);
    if (runtime->kind == SW_RUNTIME_MONO)
        status = mono_open(images, memory, &runtime->mono);
    if (runtime->kind == SW_RUNTIME_GO)
        status = pclntab_open(memory, search, address, &runtime->go);
    if (status != SW_E_NOT_FOUND)
        must(status, "the runtime's structures");
    if (runtime->mono)
        runtime->finder = (struct sw_code_finder){ mono_find, runtime->mono };
    if (runtime->hotspot)
        runtime->finder = (struct sw_code_finder){ hotspot_find, runtime->hotspot };
}

/* What the kind is known by is read once more by `memory`, so that a capsule has it, too. */
void runtime_open(struct runtime *runtime, const struct sw_runtime *found, int pid, struct sw_images *images,
                  const struct sw_memory *memory, const struct sw_memory *search)
{
    *runtime = (struct runtime){ .pid = pid };
    if (found->kind == SW_RUNTIME_NATIVE || sw_runtime_at(memory, found->address, &runtime->kind) != SW_OK)
        return;
    if (runtime->kind == SW_RUNTIME_CLR)
        open_clr(runtime, found->address, memory);
    open_other(runtime, found->address, images, memory, search);
}

void runtime_close(struct runtime *runtime)
{
    sw_clr_names_destroy(runtime->names);
    hotspot_close(runtime->hotspot);
    v8_close(runtime->v8);
    python_close(runtime->python);
    ruby_close(runtime->ruby);
    php_close(runtime->php);
    mono_close(runtime->mono);
    pclntab_close(runtime->go);
}

/* Of a Java whose structures are not known the perf map says where its interpreter is. */
static bool is_interpreter(const struct runtime *runtime, const struct sw_frame *frame)
{
    const char *name =
        runtime->kind == SW_RUNTIME_HOTSPOT ? sw_perfmap_name(runtime->perfmap, frame->lookup, NULL) : NULL;
    return name && strcmp(name, "Interpreter") == 0;
}

bool runtime_step(const struct runtime *runtime, const struct sw_memory *stack, const struct sw_frame *frame,
                  struct sw_regs *caller)
{
    if (runtime->v8)
        return v8_step(runtime->v8, stack, frame, caller);
    if (runtime->hotspot)
        return hotspot_step(runtime->hotspot, stack, frame, caller);
    return is_interpreter(runtime, frame) && hotspot_leave_interpreter(stack, frame, caller);
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
                                      const struct sw_memory *stack, const struct sw_frame *frame, uint64_t caller_sp)
{
    static const enum runtime_how how_of[] = { [V8_NONE] = RUNTIME_CODE,
                                               [V8_INTERPRETED] = RUNTIME_INTERPRETED,
                                               [V8_COMPILED] = RUNTIME_COMPILED,
                                               [V8_BUILTIN] = RUNTIME_BUILTIN };
    uint64_t function = 0, at = 0;
    if (runtime->python) {
        const uint64_t tid = walk->python.has_begun ? 0 : inner_tid(runtime->pid, walk->tid);
        function = python_identify(runtime->python, tid, frame, caller_sp, &walk->python, &at);
        return (struct runtime_frame){ function, at, function ? RUNTIME_INTERPRETED : RUNTIME_CODE };
    }
    if (runtime->ruby || runtime->php) {
        function = runtime->ruby ? ruby_identify(runtime->ruby, frame, &walk->ruby, &at)
                                 : php_identify(runtime->php, frame, &walk->php, &at);
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
    snprintf(text, size, "%s", runtime->kind == SW_RUNTIME_NATIVE ? "" : sw_runtime_kind_name(runtime->kind));
    if (release)
        snprintf(text, size, "CLR %u", release);
}
