/* What processes and cores have in common: their parts, and what is asked of an open target. */
#include "target_parts.h"

#include "refuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ANALYSIS_LEAST = 1 << 18,
    ANALYSIS_MOST = 4 << 20,
    ENTRIES_LEAST = 1 << 10,
    ENTRIES_MOST = 1 << 16,
    ANALYSIS_OF_A_THREAD = 1 << 11,
    ENTRIES_OF_A_THREAD = 16
};

void target_create_parts(struct target *t)
{
    must(sw_images_create(NULL, &t->images), "images");
    must(sw_codemap_create(NULL, &t->codemap), "code map");
    must(sw_gdb_jit_create(NULL, &t->gdb_jit), "JIT objects");
}

void target_create_perfmap(struct target *t)
{
    char path[40];
    struct stat st;
    const bool is_clr = t->runtime.kind == SW_RUNTIME_CLR;
    must(sw_perfmap_create(NULL, is_clr ? SW_PERFMAP_CLR : SW_PERFMAP_PLAIN, &t->perfmap), "perf map");
    must(sw_jitdump_create(NULL, t->perfmap, &t->jitdump), "jitdump file");
    t->runtime.perfmap = t->perfmap;
    snprintf(path, sizeof path, "/proc/%d", t->pid);
    if (t->process && stat(path, &st) == 0)
        sw_perfmap_trust(t->perfmap, st.st_uid);
}

static size_t within(size_t value, size_t least, size_t most)
{
    return value < least ? least : value > most ? most : value;
}

static size_t list_threads(const struct target *t, uint64_t *tids, size_t capacity)
{
    if (t->core)
        return sw_core_threads(t->core, tids, capacity);
    return t->is_held ? sw_process_threads(t->process, tids, capacity)
                      : sw_process_captured(t->process, tids, capacity);
}

static void create_rule_cache(struct target *t)
{
    const size_t threads = list_threads(t, NULL, 0);
    const size_t entries = within(ENTRIES_OF_A_THREAD * threads, ENTRIES_LEAST, ENTRIES_MOST);
    sw_cache_destroy(t->cache);
    must(sw_cache_create(NULL, entries, &t->cache), "rule cache");
}

/* By the number of threads, most of which share frames: clearing caches costs more than walking a few threads. */
void target_create_caches(struct target *t)
{
    const size_t threads = list_threads(t, NULL, 0);
    const size_t bytes = within(ANALYSIS_OF_A_THREAD * threads, ANALYSIS_LEAST, ANALYSIS_MOST);
    create_rule_cache(t);
    must(sw_analysis_cache_create(NULL, bytes, &t->analysis_cache), "analysis cache");
}

void target_has_run(struct target *t)
{
    if (runtime_finder(&t->runtime))
        create_rule_cache(t);
}

/* What a runtime writes for perf, with how its frames are found. Not to read it is said, but where a core's is gone. */
void target_read_jitdump(struct target *t, const char *sysroot)
{
    const enum sw_status status = t->core ? sw_jitdump_read_core(t->jitdump, t->core, sysroot, t->images, t->codemap)
                                          : sw_jitdump_read_captured(t->jitdump, t->process, t->images, t->codemap);
    if (status == SW_E_NO_MEMORY)
        must(status, "jitdump file");
    else if (status != SW_OK && status != SW_E_NOT_FOUND && status != SW_E_GONE && !(t->core && status == SW_E_OS))
        complain("the jitdump file of %d was not read to its end: %s", t->pid, sw_status_name(status));
}

/* What a compiler registers for gdb. A list that cannot be read is said; what could be read is there. */
void target_read_gdb_jit(struct target *t)
{
    uint64_t descriptor;
    const struct sw_memory memory = target_memory(t);
    if (sw_gdb_jit_find(t->images, &descriptor) != SW_OK)
        return;
    const enum sw_status status = sw_gdb_jit_read(t->gdb_jit, &memory, descriptor, t->images, t->codemap);
    if (status == SW_E_NO_MEMORY)
        must(status, "JIT objects");
    else if (status != SW_OK)
        complain("the list of JIT objects was not read to its end: %s", sw_status_name(status));
}

void target_begin_capsule(struct target *t, enum sw_machine machine)
{
    must(sw_capsule_create(NULL, machine, 0, &t->capsule), "capsule");
    must(t->core ? sw_capsule_add_core(t->capsule, t->core) : sw_capsule_add_process(t->capsule, t->process),
         "capsule");
}

void target_close(struct target *t)
{
    runtime_close(&t->runtime);
    sw_process_close(t->process);
    sw_analysis_cache_destroy(t->analysis_cache);
    sw_cache_destroy(t->cache);
    sw_jitdump_destroy(t->jitdump);
    sw_perfmap_destroy(t->perfmap);
    sw_gdb_jit_destroy(t->gdb_jit);
    sw_codemap_destroy(t->codemap);
    sw_images_destroy(t->images);
    sw_images_destroy(t->with_methods);
    sw_core_close(t->core);
    sw_capsule_destroy(t->capsule);
}

uint64_t *target_threads(const struct target *t, size_t *count)
{
    *count = list_threads(t, NULL, 0);
    uint64_t *tids = calloc(*count ? *count : 1, sizeof *tids);
    must(tids ? SW_OK : SW_E_NO_MEMORY, "threads");
    list_threads(t, tids, *count);
    return tids;
}

struct sw_left_out *target_left_out(const struct target *t, size_t *count)
{
    *count = t->process ? sw_process_left_out(t->process, NULL, 0) : 0;
    struct sw_left_out *threads = calloc(*count ? *count : 1, sizeof *threads);
    must(threads ? SW_OK : SW_E_NO_MEMORY, "threads");
    sw_process_left_out(t->process, threads, *count);
    return threads;
}

void target_look(const struct target *t, uint64_t tid, struct sw_regs *regs, struct sw_walker *walker)
{
    if (t->core) {
        must(sw_core_regs(t->core, tid, regs), "registers");
        must(sw_core_walker(t->core, tid, regs, t->codemap, t->images, walker), "stack");
    } else if (t->is_held) {
        must_for(sw_process_regs(t->process, tid, regs), t->pid, "registers");
        must_for(sw_process_walker(t->process, regs, t->codemap, t->images, walker), t->pid, "stack");
    } else {
        must(sw_process_captured_walker(t->process, tid, t->codemap, t->images, regs, walker), "stack");
    }
    walker->analysis_cache = t->analysis_cache;
    walker->cache = t->cache;
    walker->finder = runtime_finder(&t->runtime);
    walker->flags |= SW_WALK_FINDER_LASTS;
}

struct sw_memory target_own_memory(const struct target *t)
{
    if (t->core)
        return sw_core_memory(t->core);
    return t->is_held ? sw_process_stopped_memory(t->process) : sw_process_captured_memory(t->process);
}

struct sw_memory target_memory(const struct target *t)
{
    const struct sw_memory own = target_own_memory(t);
    return t->capsule ? sw_capsule_memory(t->capsule, &own) : own;
}

/* The runtime's own image, mapped where no file is. */
static bool learn_precompiled(const struct target *t, uint64_t address)
{
    const struct sw_memory memory = target_own_memory(t); /* whole images are in no capsule */
    uint64_t begin, end;
    struct sw_image image;
    return t->runtime.names && sw_clr_names_image(t->runtime.names, address, &begin, &end) == SW_OK &&
           begin <= address && address < end &&
           sw_images_add_memory(t->images, "[precompiled]", begin, end - begin, &memory) == SW_OK &&
           sw_images_find(t->images, address, &image) == SW_OK;
}

/*
 * Memory that the CLR has mapped twice, to execute and to write, holds code that it has made itself: stubs, copies of
 * its write barrier. No file tells of it, and no other compiler has code there.
 */
static bool is_of_clr(const struct target *t, uint64_t address)
{
    static const char twice[] = "/memfd:doublemapper";
    char name[PATH_MAX];
    return t->runtime.kind == SW_RUNTIME_CLR && t->process &&
           sw_process_mapped_name(t->process, address, name, sizeof name) == SW_OK &&
           strncmp(name, twice, sizeof twice - 1) == 0;
}

bool target_learn(struct target *t, uint64_t address)
{
    struct sw_image image;
    return sw_images_find(t->images, address, &image) != SW_OK &&
           (learn_precompiled(t, address) || (!t->has_all_images && !is_of_clr(t, address) && target_learn_all(t)));
}

void target_thread_name(const struct target *t, uint64_t tid, char name[THREAD_NAME_BYTES])
{
    struct sw_core_info info;
    snprintf(name, THREAD_NAME_BYTES, "?");
    if (t->core && sw_core_describe(t->core, &info) == SW_OK)
        snprintf(name, THREAD_NAME_BYTES, "%s", info.name);
    else if (t->process && sw_process_thread_name(t->process, tid, name, THREAD_NAME_BYTES) != SW_OK)
        snprintf(name, THREAD_NAME_BYTES, "?"); /* the thread has ended since */
}

/* Its main thread, unless that has ended. It need not be the first: numbers of threads begin again. */
int target_live_thread(const struct target *t)
{
    uint64_t tid = (uint64_t)t->pid;
    struct sw_regs regs;
    struct sw_walker walker;
    if (t->process && sw_process_captured_walker(t->process, tid, NULL, NULL, &regs, &walker) != SW_OK)
        (void)sw_process_captured(t->process, &tid, 1);
    return (int)tid;
}

void target_program(const struct target *t, char path[PATH_MAX])
{
    char link[40];
    struct sw_core_info info;
    struct sw_image image = { .path = "" };
    if (t->core) {
        const bool is_known = sw_core_describe(t->core, &info) == SW_OK && info.entry &&
                              sw_images_find(t->images, info.entry, &image) == SW_OK;
        snprintf(path, PATH_MAX, "%s", is_known ? image.path : "");
        return;
    }
    snprintf(link, sizeof link, "/proc/%d/exe", target_live_thread(t));
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

bool target_find_method(const struct target *t, uint64_t address, struct sw_range *method)
{
    struct sw_image image, known;
    char path[PATH_MAX];
    if (!t->with_methods || sw_images_find(t->images, address, &image) != SW_OK)
        return false;
    if (sw_images_find(t->with_methods, address, &known) != SW_OK &&
        (snprintf(path, sizeof path, "/proc/%d/root%s", target_live_thread(t), image.path) >= (int)sizeof path ||
         sw_images_add_file(t->with_methods, path, image.begin) != SW_OK))
        return false;
    return sw_images_find_method(t->with_methods, address, method) == SW_OK;
}
