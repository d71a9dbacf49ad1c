/* Opens processes and cores by the library's calls, which everything else of this program stands on. */
#include "target.h"

#include "ask.h"
#include "refuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STACK_BYTES = 1 << 20,
    ANALYSIS_LEAST = 1 << 18,
    ANALYSIS_MOST = 4 << 20,
    ENTRIES_LEAST = 1 << 10,
    ENTRIES_MOST = 1 << 16,
    ANALYSIS_OF_A_THREAD = 1 << 12,
    ENTRIES_OF_A_THREAD = 16,
    PROGRAM_ROUNDS = 4 /* of a process that begins another program each time */
};

static void create_parts(struct target *t)
{
    must(sw_images_create(NULL, &t->images), "images");
    must(sw_codemap_create(NULL, &t->codemap), "code map");
    must(sw_gdb_jit_create(NULL, &t->gdb_jit), "JIT objects");
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

/* By the number of threads, most of which share frames: clearing caches costs more than walking a few threads. */
static void create_caches(struct target *t)
{
    const size_t threads = list_threads(t, NULL, 0);
    const size_t entries = within(ENTRIES_OF_A_THREAD * threads, ENTRIES_LEAST, ENTRIES_MOST);
    const size_t bytes = within(ANALYSIS_OF_A_THREAD * threads, ANALYSIS_LEAST, ANALYSIS_MOST);
    must(sw_cache_create(NULL, entries, &t->cache), "rule cache");
    must(sw_analysis_cache_create(NULL, bytes, &t->analysis_cache), "analysis cache");
}

/* Java's own structures say more of its code than a perf map's ranges, and are asked for what is in no range. */
static struct sw_codemap *ranges_of_perfmap(const struct target *t)
{
    return t->runtime.hotspot ? NULL : t->codemap;
}

/* A process without a perf map is not a failure. One that somebody else put there, neither root nor its owner, is. */
static void read_perfmap(struct target *t)
{
    const enum sw_status status = sw_perfmap_read_process(t->perfmap, t->pid, ranges_of_perfmap(t));
    if (status == SW_E_PERMISSION)
        fprintf(stderr, "snapstacks: perf map of %d: not read: a symbolic link, or the file of another user\n", t->pid);
    else if (status != SW_E_OS)
        must(status, "perf map");
    if (sw_perfmap_lines(t->perfmap) && ranges_of_perfmap(t))
        must_for(sw_process_mirror_ranges(t->process, t->codemap), t->pid, "memory map");
}

/* What a runtime writes for perf, with how its frames are found. Not to read it is said, but where a core's is gone. */
static void read_jitdump(struct target *t, const char *sysroot)
{
    const enum sw_status status = t->core ? sw_jitdump_read_core(t->jitdump, t->core, sysroot, t->images, t->codemap)
                                          : sw_jitdump_read_captured(t->jitdump, t->process, t->images, t->codemap);
    if (status == SW_E_NO_MEMORY)
        must(status, "jitdump file");
    else if (status != SW_OK && status != SW_E_NOT_FOUND && status != SW_E_GONE && !(t->core && status == SW_E_OS))
        fprintf(stderr, "snapstacks: the jitdump file of %d was not read to its end: %s\n", t->pid,
                sw_status_name(status));
}

/* What a compiler registers for gdb. A list that cannot be read is said; what could be read is there. */
static void read_gdb_jit(struct target *t)
{
    uint64_t descriptor;
    const struct sw_memory memory = target_memory(t);
    if (sw_gdb_jit_find(t->images, &descriptor) != SW_OK)
        return;
    const enum sw_status status = sw_gdb_jit_read(t->gdb_jit, &memory, descriptor, t->images, t->codemap);
    if (status == SW_E_NO_MEMORY)
        must(status, "JIT objects");
    else if (status != SW_OK)
        fprintf(stderr, "snapstacks: the list of JIT objects was not read to its end: %s\n", sw_status_name(status));
}

static void create_perfmap(struct target *t)
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

static void begin_capsule(struct target *t, enum sw_machine machine)
{
    must(sw_capsule_create(NULL, machine, 0, &t->capsule), "capsule");
    must(t->core ? sw_capsule_add_core(t->capsule, t->core) : sw_capsule_add_process(t->capsule, t->process),
         "capsule");
}

/* That of its threads; all are captured. */
static enum sw_machine machine_of_process(const struct target *t)
{
    uint64_t tid = 0;
    struct sw_regs regs = { 0 };
    struct sw_walker walker;
    sw_process_captured(t->process, &tid, 1);
    must_for(sw_process_captured_walker(t->process, tid, NULL, NULL, &regs, &walker), t->pid, "registers");
    return regs.machine;
}

/* What a capsule says of code that no file has. Ranges that contradict each other are left out. */
static void add_ranges(struct target *t)
{
    struct sw_range range;
    for (size_t i = 0; sw_core_get_range(t->core, i, &range, NULL); i++)
        if (sw_codemap_add(t->codemap, &range) == SW_E_NO_MEMORY)
            must(SW_E_NO_MEMORY, "code map");
}

static void report_replaced(const struct target *t)
{
    struct sw_replaced_file file;
    for (size_t i = 0; sw_process_get_replaced(t->process, i, &file); i++)
        fprintf(stderr,
                "snapstacks: %s was %s since %d mapped it: its tables are not used; run as root, which can open the "
                "mapped file, or restart the process\n",
                file.path, file.is_there ? "replaced" : "deleted", t->pid);
}

/*
 * All files, and with them what compilers have registered for gdb: once. Of a process that has ended or begun another
 * program since it was captured, nothing more is learned.
 */
static bool learn_all(struct target *t)
{
    if (t->has_all_images)
        return false;
    t->has_all_images = true;
    const enum sw_status status = sw_process_add_images(t->process, t->images);
    if (status == SW_E_GONE)
        return false;
    must_for(status, t->pid, "images");
    read_gdb_jit(t);
    return true;
}

/* What a runtime's reader keeps: the memory of what stands, where it stands, else of the capture. */
static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    const struct target *t = arg;
    const struct sw_memory memory = target_memory(t);
    return memory.read(memory.arg, address, to, size);
}

/*
 * Runtimes are known by symbols of their files, which lie on no stack of a thread that waits; the CLR is known by its
 * memory. A capsule is for readers that know nothing of what is left out.
 */
static enum sw_status add_images(struct target *t, enum sw_runtime_kind kind, bool saves)
{
    const bool is_by_symbols = kind == SW_RUNTIME_HOTSPOT || kind == SW_RUNTIME_V8 || kind == SW_RUNTIME_PYTHON ||
                               kind == SW_RUNTIME_MONO || kind == SW_RUNTIME_RUBY;
    t->has_all_images = saves || is_by_symbols;
    return t->has_all_images ? sw_process_add_images(t->process, t->images)
                             : sw_process_add_captured_images(t->process, t->images);
}

/*
 * From .NET 10 on the runtime itself says which method precompiled code is of. A capsule is for readers that do not ask
 * it.
 */
static void open_clr_first(struct target *t, const struct sw_runtime *found)
{
    const struct sw_memory memory = target_memory(t);
    runtime_open(&t->runtime, found, t->pid, t->images, &memory);
    if (sw_clr_names_release(t->runtime.names) < 10)
        return;
    sw_images_skip_methods(t->images);
    must(sw_images_create(NULL, &t->with_methods), "images");
}

/* SW_E_GONE: the process has ended, or begun another program since it was captured. */
static enum sw_status capture_process(struct target *t, bool saves, struct sw_runtime *found)
{
    const enum sw_status status = sw_process_capture(t->process, STACK_BYTES);
    if (status != SW_OK)
        return status;
    sw_process_runtimes(t->process, found, 1); /* by the pages of the capture, which are read once */
    create_caches(t);
    if (found->kind == SW_RUNTIME_CLR && !saves)
        open_clr_first(t, found);
    return add_images(t, found->kind, saves);
}

static enum sw_status try_process(struct target *t, int pid, bool saves, bool asks, struct sw_runtime *found)
{
    *t = (struct target){ .pid = pid };
    *found = (struct sw_runtime){ SW_RUNTIME_NATIVE, 0 };
    create_parts(t);
    const enum sw_status status = sw_process_open(NULL, pid, &t->process);
    if (status != SW_OK)
        return status;
    if (asks) {
        sw_process_runtimes(t->process, found, 1);
        ask_runtime(pid, found->kind); /* before the process is stopped */
    }
    return capture_process(t, saves, found);
}

void target_open_process(struct target *t, int pid, bool saves, bool asks)
{
    char what[40];
    struct sw_runtime found;
    enum sw_status status = try_process(t, pid, saves, asks, &found);
    for (unsigned round = 1; round < PROGRAM_ROUNDS && status == SW_E_GONE; round++) {
        target_close(t);
        status = try_process(t, pid, saves, false, &found);
    }
    snprintf(what, sizeof what, "process %d", pid);
    must_for(status, pid, what);
    report_replaced(t);
    if (saves)
        begin_capsule(t, machine_of_process(t));
    const struct sw_memory memory = { read_target, t, { 0, 0, NULL } };
    if (found.kind != SW_RUNTIME_CLR || saves)
        runtime_open(&t->runtime, &found, pid, t->images, &memory);
    create_perfmap(t);
    read_jitdump(t, NULL);
    read_perfmap(t);
    ask_end(pid);
    /* Code that has a name by then is not learned of later on: its compiler may have told gdb of its frames as well. */
    const bool is_named = sw_perfmap_lines(t->perfmap) || sw_jitdump_records(t->jitdump);
    if (t->has_all_images)
        read_gdb_jit(t);
    else if (is_named && t->runtime.kind != SW_RUNTIME_CLR)
        learn_all(t);
}

bool target_again(struct target *t)
{
    t->has_all_images = true;
    if (sw_process_capture(t->process, STACK_BYTES) != SW_OK || sw_process_add_images(t->process, t->images) != SW_OK)
        return false;
    sw_clr_names_renew(t->runtime.names);
    read_jitdump(t, NULL);
    read_perfmap(t);
    read_gdb_jit(t);
    return true;
}

/* Stacks of Go, calls of Python and Ruby, V8's functions are on the heap, which changes when the process runs on. */
bool target_is_to_hold(const struct target *t)
{
    return t->process && (t->goes_on_elsewhere || t->runtime.kind == SW_RUNTIME_GO || t->runtime.python ||
                          t->runtime.ruby || t->runtime.v8);
}

bool target_hold(struct target *t)
{
    if (!target_is_to_hold(t))
        return false;
    t->is_held = sw_process_stop(t->process) == SW_OK;
    if (t->is_held && !sw_process_executes_captured(t->process))
        target_let_go(t); /* the files that are known are those of the program that was captured */
    return t->is_held;
}

void target_let_go(struct target *t)
{
    if (t->is_held)
        (void)!sw_process_resume(t->process); /* threads that have ended meanwhile */
    t->is_held = false;
}

static void report_files(const struct sw_core *core)
{
    struct sw_core_file file;
    for (size_t i = 0; sw_core_get_file(core, i, &file); i++)
        if (file.state < SW_CORE_FILE_UNCHECKED && !sw_jitdump_is_path(file.path))
            fprintf(stderr, "snapstacks: %s: no image: %s\n", file.path, sw_core_file_state_name(file.state));
}

/* A word that is a file is a core, also where a process was meant. */
static void refuse_no_core(const char *path)
{
    static const char what[] = "not a core file of x64 or ARM64";
    char why[512];
    snprintf(why, sizeof why, "%s; a process of that name is named by --pid %s", what, path);
    refuse_with(EXIT_NO_CORE, path, strchr(path, '/') ? what : why);
}

static void open_core_file(struct target *t, const char *path)
{
    const enum sw_status status = sw_core_open(NULL, path, &t->core);
    if (status == SW_E_GONE)
        refuse_with(EXIT_NO_CORE, path, "no such file");
    if (status == SW_E_TRUNCATED || status == SW_E_MALFORMED || status == SW_E_UNSUPPORTED)
        refuse_no_core(path);
    must(status, path);
}

/* The kernel writes threads first: of a core without one next to nothing is there. */
static void report_missing(const struct sw_core *core, const char *path)
{
    const unsigned long long missing = sw_core_missing_bytes(core);
    if (!sw_core_threads(core, NULL, 0))
        refuse_with(EXIT_NO_CORE, path, missing ? "cut off before its threads" : "no thread is in it");
    if (missing)
        fprintf(stderr,
                "snapstacks: %s: cut off, %llu KB are missing at its end, and stacks may end early: a full disk, or "
                "ulimit -c\n",
                path, (missing + 1023) / 1024);
}

void target_open_core(struct target *t, const char *path, const char *sysroot, bool saves)
{
    const struct sw_core_files files = { .sysroot = sysroot };
    struct sw_core_info info;
    struct sw_runtime found = { SW_RUNTIME_NATIVE, 0 };
    *t = (struct target){ 0 };
    create_parts(t);
    open_core_file(t, path);
    report_missing(t->core, path);
    must(sw_core_describe(t->core, &info), path);
    t->pid = (int)info.pid;
    must(sw_core_add_images(t->core, &files, t->images), "images");
    report_files(t->core);
    t->has_all_images = true;
    create_caches(t);
    add_ranges(t);
    if (saves)
        begin_capsule(t, info.machine);
    const struct sw_memory memory = target_memory(t); /* files stand in for what the core omits */
    sw_core_runtimes(t->core, &found, 1);
    runtime_open(&t->runtime, &found, 0, t->images, &memory);
    create_perfmap(t);
    read_jitdump(t, sysroot);
    read_gdb_jit(t);
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
}

static struct sw_memory own_memory(const struct target *t)
{
    if (t->core)
        return sw_core_memory(t->core);
    return t->is_held ? sw_process_stopped_memory(t->process) : sw_process_captured_memory(t->process);
}

struct sw_memory target_memory(const struct target *t)
{
    const struct sw_memory own = own_memory(t);
    return t->capsule ? sw_capsule_memory(t->capsule, &own) : own;
}

const char *target_range_name(const struct target *t, uint64_t address)
{
    struct sw_range range;
    const char *name;
    for (size_t i = 0; sw_core_get_range(t->core, i, &range, &name); i++)
        if (address >= range.begin && address < range.end && *name)
            return name;
    return NULL;
}

/* The runtime's own image, mapped where no file is. */
static bool learn_precompiled(const struct target *t, uint64_t address)
{
    const struct sw_memory memory = own_memory(t); /* whole images are in no capsule */
    uint64_t begin, end;
    struct sw_image image;
    return t->runtime.names && sw_clr_names_image(t->runtime.names, address, &begin, &end) == SW_OK &&
           begin <= address && address < end &&
           sw_images_add_memory(t->images, "[precompiled]", begin, end - begin, &memory) == SW_OK &&
           sw_images_find(t->images, address, &image) == SW_OK;
}

bool target_learn(struct target *t, uint64_t address)
{
    struct sw_image image;
    return sw_images_find(t->images, address, &image) != SW_OK && (learn_precompiled(t, address) || learn_all(t));
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

int target_live_thread(const struct target *t)
{
    uint64_t tid = (uint64_t)t->pid;
    if (t->process)
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
