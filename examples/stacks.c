/*
 * Prints the stack of every thread of a process or of a core file, leaf first. Managed and native frames are in one
 * order, each with how it was found and how sure that is. A process stands only while its stacks are copied. The names
 * of JIT code come from its perf map, if it has one; those of .NET's methods also out of its memory.
 *
 *     stacks [--plain] PID
 *     stacks [--plain] --core FILE [--sysroot DIR]
 *
 * --sysroot names a folder with the files of the machine that the core is from.
 * --plain is for programs: "thread TID NAME", "frame IP SP KIND SOURCE TRUST NAME", "stop REASON".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <snapwalk/clr_names.h>
#include <snapwalk/core.h>
#include <snapwalk/perfmap.h>
#include <snapwalk/process.h>

#include "shown.h"

enum { NAME_BYTES = 512, SHOWN_BYTES = 4 * NAME_BYTES, STACK_BYTES = 1 << 20, ANALYSIS_BYTES = 4 << 20 };

/* The target is a process or a core: the other is null. */
struct viewer {
    struct sw_process *process;
    struct sw_core *core;
    struct sw_images *images;
    struct sw_codemap *codemap;
    struct sw_perfmap *perfmap;
    struct sw_clr_names *names;
    struct sw_analysis_cache *analysis_cache; /* threads share code */
    bool plain;
    struct sw_scratch scratch;
};

/* Ends this program on a failure. The walked process runs on, because a tracer that ends releases it. */
static void must(enum sw_status status, const char *what)
{
    if (status == SW_OK)
        return;
    fprintf(stderr, "stacks: %s: %s\n", what, sw_status_name(status));
    exit(1);
}

/* As must, for calls that the system may forbid: says why it does. */
static void must_be_allowed(enum sw_status status, int pid, const char *what)
{
    int tracer;
    if (status == SW_E_PERMISSION) {
        fprintf(stderr, "stacks: process %d: %s", pid,
                sw_process_obstacle_text(sw_process_find_obstacle(pid, &tracer)));
        fprintf(stderr, tracer ? " (process %d)\n" : "\n", tracer);
    }
    must(status, what);
}

/* "app!Namespace.Type.Method(int)", out of the memory of a process that runs CoreCLR. */
static bool describe_managed(const struct viewer *v, const struct sw_frame *frame, char *text, size_t size)
{
    char buffer[SHOWN_BYTES];
    struct sw_range range;
    struct sw_clr_name name;
    const uint64_t entry = frame->code.kind == SW_KIND_NGEN ? frame->code.id : 0;
    if (sw_clr_names_find(v->names, frame->lookup, entry, &range) != SW_OK ||
        sw_clr_names_method(v->names, range.id, 0, buffer, sizeof buffer, &name) != SW_OK)
        return false;
    snprintf(text, size, "%s!%s.%s%s", name.module, name.type, name.method, name.parameters);
    return true;
}

/*
 * "int32 [app] Type::Method(int32)[Tier]" from the perf map, a managed name, "library!symbol+0x12", or
 * "library+0x1234".
 */
static void describe(const struct viewer *v, const struct sw_frame *frame, char *name, size_t size)
{
    const uint64_t pc = sw_regs_pc(&frame->regs);
    const char *jitted = sw_perfmap_name(v->perfmap, frame->lookup, NULL);
    struct sw_image image = { .path = "?", .bias = 0 };
    char symbol[NAME_BYTES];
    uint64_t start;
    if (jitted) {
        snprintf(name, size, "%s", jitted);
        return;
    }
    if (describe_managed(v, frame, name, size))
        return;
    const bool found = sw_images_find(v->images, frame->lookup, &image) == SW_OK;
    const char *file = strrchr(image.path, '/') ? strrchr(image.path, '/') + 1 : image.path;
    if (found && sw_images_name(v->images, frame->lookup, symbol, sizeof symbol, &start) == SW_OK)
        snprintf(name, size, "%s!%s+0x%" PRIx64, file, symbol, pc - start);
    else
        snprintf(name, size, "%s+0x%" PRIx64, file, pc - image.bias);
}

static void print_frame(const struct viewer *v, uint32_t number, const struct sw_frame *frame)
{
    const char *kind = sw_kind_name(frame->code.kind), *source = sw_source_name(frame->source);
    const char *trust = sw_trust_name(frame->trust);
    const uint64_t pc = sw_regs_pc(&frame->regs), sp = sw_regs_sp(&frame->regs);
    char raw[NAME_BYTES + 64], name[SHOWN_BYTES];
    describe(v, frame, raw, sizeof raw);
    shown(raw, name, sizeof name);
    if (v->plain)
        printf("frame %" PRIx64 " %" PRIx64 " %s %s %s %s\n", pc, sp, kind, source, trust, name);
    else
        printf("  #%-3" PRIu32 " %016" PRIx64 "  %-6s  %13s/%-9s  %s\n", number, pc, kind, source, trust, name);
}

/* Prints the first frame of a recursion and counts the others, which have the same pc; --plain prints all of them. */
static void print_frames(const struct viewer *v, struct sw_walk *walk)
{
    uint64_t last = 0;
    uint32_t same = 0;
    for (bool more = sw_walk_next(walk); more || same; more = more && sw_walk_next(walk)) {
        const bool again = more && !v->plain && walk->depth > 1 && sw_regs_pc(&walk->frame.regs) == last;
        if (!again && same)
            printf("       and %" PRIu32 " more at the same pc\n", same);
        same = again ? same + 1 : 0;
        if (more && !again)
            print_frame(v, walk->depth - 1, &walk->frame);
        last = sw_regs_pc(&walk->frame.regs);
    }
}

static void look_at_process(struct viewer *v, uint64_t tid, struct sw_regs *regs, struct sw_walker *walker, char *name)
{
    must(sw_process_captured_walker(v->process, tid, v->codemap, v->images, regs, walker), "stack");
    if (sw_process_thread_name(v->process, tid, name, NAME_BYTES) != SW_OK)
        snprintf(name, NAME_BYTES, "?"); /* the thread has ended since */
}

/* A core has the name of the program, but no names of threads. */
static void look_at_core(struct viewer *v, uint64_t tid, struct sw_regs *regs, struct sw_walker *walker, char *name)
{
    struct sw_core_info info;
    must(sw_core_regs(v->core, tid, regs), "registers");
    must(sw_core_walker(v->core, tid, regs, v->codemap, v->images, walker), "stack");
    must(sw_core_describe(v->core, &info), "process");
    snprintf(name, NAME_BYTES, "%s", info.name);
}

static void print_thread(struct viewer *v, uint64_t tid)
{
    struct sw_regs regs;
    struct sw_walker walker;
    struct sw_walk walk;
    char name[NAME_BYTES], printed[SHOWN_BYTES];
    (v->core ? look_at_core : look_at_process)(v, tid, &regs, &walker, name);
    printf(v->plain ? "thread %" PRIu64 " %s\n" : "thread %" PRIu64 " \"%s\"\n", tid,
           shown(name, printed, sizeof printed));
    walker.analysis_cache = v->analysis_cache;
    sw_walk_start(&walk, &walker, &v->scratch, &regs, true);
    print_frames(v, &walk);
    printf(v->plain ? "stop %s" : "  end: %s", sw_stop_name(walk.stop));
    if (walk.stop > SW_STOP_ROOT_BASE)
        printf(" (%s, pc %" PRIx64 ", address %" PRIx64 ")", sw_status_name(walk.fault.status), walk.fault.pc,
               walk.fault.address);
    printf(v->plain ? "\n" : "\n\n");
}

/* Threads that could not be stopped: to leave them out in silence would be a lie. */
static void print_left_out(const struct viewer *v)
{
    const size_t count = v->process ? sw_process_left_out(v->process, NULL, 0) : 0;
    struct sw_left_out *threads = calloc(count ? count : 1, sizeof *threads);
    char name[NAME_BYTES], printed[SHOWN_BYTES];
    must(threads ? SW_OK : SW_E_NO_MEMORY, "threads");
    sw_process_left_out(v->process, threads, count);
    for (size_t i = 0; i < count; i++) {
        if (sw_process_thread_name(v->process, threads[i].tid, name, sizeof name) != SW_OK)
            continue; /* it has ended since */
        printf(v->plain ? "thread %" PRIu64 " %s\nstop left-out (%s)\n"
                        : "thread %" PRIu64 " \"%s\"\n  left out: %s\n\n",
               threads[i].tid, shown(name, printed, sizeof printed), sw_left_out_text(threads[i].why));
    }
    free(threads);
}

/* Whether a file of the process is CoreCLR: the library by its name, or else a program that contains it. */
static bool attach_process(struct viewer *v, int pid, bool by_name)
{
    char path[40], line[4096];
    uint64_t begin, offset;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = sscanf(line, "%" SCNx64 "-%*x %*4s %" SCNx64, &begin, &offset) == 2 && offset == 0 &&
                strstr(line, by_name ? "/libcoreclr.so" : "/") && sw_clr_names_attach(v->names, begin) == SW_OK;
    if (maps)
        fclose(maps);
    return found;
}

static bool attach_core(struct viewer *v)
{
    struct sw_core_file file;
    for (size_t i = 0; sw_core_get_file(v->core, i, &file); i++)
        if (sw_clr_names_attach(v->names, file.address) == SW_OK)
            return true;
    return false;
}

static void open_viewer(struct viewer *v, int pid)
{
    const struct sw_memory memory = v->core ? sw_core_memory(v->core) : sw_process_memory(v->process);
    must(sw_clr_names_create(NULL, &memory, 0, &v->names), "names");
    const bool is_clr = !v->core && (attach_process(v, pid, true) || attach_process(v, pid, false));
    const enum sw_perfmap_flavour flavour = is_clr ? SW_PERFMAP_CLR : SW_PERFMAP_PLAIN;
    must(sw_images_create(NULL, &v->images), "images");
    must(sw_codemap_create(NULL, &v->codemap), "code map");
    must(sw_perfmap_create(NULL, flavour, &v->perfmap), "perf map");
    must(sw_analysis_cache_create(NULL, ANALYSIS_BYTES, &v->analysis_cache), "analysis cache");
}

/* A process without a perf map is not a failure. One that somebody else put there, neither root nor its owner, is. */
static void read_perfmap(struct viewer *v, int pid)
{
    char path[40];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &st) == 0)
        sw_perfmap_trust(v->perfmap, st.st_uid);
    const enum sw_status status = sw_perfmap_read_process(v->perfmap, pid, v->codemap);
    if (status == SW_E_PERMISSION)
        fprintf(stderr, "stacks: perf map of %d: not read: a symbolic link, or the file of another user\n", pid);
    else
        must(status == SW_E_OS ? SW_OK : status, "perf map");
}

/* Captures the stacks and registers the code. */
static void open_process(struct viewer *v, int pid)
{
    must_be_allowed(sw_process_open(NULL, pid, &v->process), pid, "process");
    open_viewer(v, pid);
    must_be_allowed(sw_process_capture(v->process, STACK_BYTES), pid, "stop");
    sw_clr_names_renew(v->names); /* what was read before the stop may have changed */
    if (!v->plain)
        printf("stopped for %" PRIu64 " us\n\n", sw_process_stopped_ns(v->process) / 1000);
    must(sw_process_add_images(v->process, v->images), "images");
    read_perfmap(v, pid);
}

/* Names the files that are missing, or are not the ones the process had: without them less is known. */
static void open_core(struct viewer *v, const char *path, const char *sysroot)
{
    const struct sw_core_files files = { .sysroot = sysroot };
    struct sw_core_file file;
    char printed[SHOWN_BYTES];
    must(sw_core_open(NULL, path, &v->core), path);
    open_viewer(v, 0);
    must(sw_core_add_images(v->core, &files, v->images), "images");
    (void)attach_core(v); /* files stand in for what the core omits, from here on */
    for (size_t i = 0; sw_core_get_file(v->core, i, &file); i++)
        if (file.state < SW_CORE_FILE_UNCHECKED)
            fprintf(stderr, "stacks: %s: no image: %s\n", shown(file.path, printed, sizeof printed),
                    sw_core_file_state_name(file.state));
}

/* Reads the options and the target. False: the arguments are not as the usage says. */
static bool read_options(int argc, char **argv, struct viewer *v, int *pid, const char **core, const char **sysroot)
{
    int at = 1;
    v->plain = at < argc && strcmp(argv[at], "--plain") == 0;
    at += v->plain;
    if (argc - at == 1)
        *pid = (int)strtol(argv[at], NULL, 10);
    if (argc - at == 2 || argc - at == 4)
        *core = strcmp(argv[at], "--core") == 0 ? argv[at + 1] : NULL;
    if (*core && argc - at == 4 && strcmp(argv[at + 2], "--sysroot") == 0)
        *sysroot = argv[at + 3];
    return *pid > 0 || (*core && (argc - at == 2 || *sysroot));
}

static size_t threads_of(const struct viewer *v, uint64_t *tids, size_t capacity)
{
    return v->core ? sw_core_threads(v->core, tids, capacity) : sw_process_captured(v->process, tids, capacity);
}

static void print_threads(struct viewer *v)
{
    const size_t count = threads_of(v, NULL, 0);
    uint64_t *tids = calloc(count ? count : 1, sizeof *tids);
    must(tids ? SW_OK : SW_E_NO_MEMORY, "threads");
    threads_of(v, tids, count);
    for (size_t i = 0; i < count; i++)
        print_thread(v, tids[i]);
    free(tids);
    print_left_out(v);
}

int main(int argc, char **argv)
{
    struct viewer v = { 0 };
    const char *core = NULL, *sysroot = NULL;
    int pid = 0;
    if (!read_options(argc, argv, &v, &pid, &core, &sysroot)) {
        fprintf(stderr, "usage: stacks [--plain] PID\n       stacks [--plain] --core FILE [--sysroot DIR]\n");
        return 2;
    }
    if (core)
        open_core(&v, core, sysroot);
    else
        open_process(&v, pid);
    print_threads(&v);
    sw_clr_names_destroy(v.names);
    sw_process_close(v.process);
    sw_analysis_cache_destroy(v.analysis_cache);
    sw_perfmap_destroy(v.perfmap);
    sw_codemap_destroy(v.codemap);
    sw_images_destroy(v.images);
    sw_core_close(v.core);
    return 0;
}
