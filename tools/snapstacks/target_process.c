/* Opens a process: captures it, reads what its runtime says of its code, and stops it again where that is needed. */
#include "target_parts.h"

#include "ask.h"
#include "refuse.h"

#include <stdio.h>

/* ROUNDS: of a process that begins another program each time, or has no processor to stop on while others are busy. */
enum { STACK_BYTES = 1 << 20, ROUNDS = 8 };

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
        complain("perf map of %d: not read: a symbolic link, or the file of another user", t->pid);
    else if (status != SW_E_OS)
        must(status, "perf map");
    if (sw_perfmap_lines(t->perfmap) && ranges_of_perfmap(t))
        must_for(sw_process_mirror_ranges(t->process, t->codemap), t->pid, "memory map");
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

static void report_replaced(const struct target *t)
{
    struct sw_replaced_file file;
    for (size_t i = 0; sw_process_get_replaced(t->process, i, &file); i++)
        complain("%s was %s since %d mapped it: its tables are not used; run as root, which can open the "
                 "mapped file, or restart the process",
                 file.path, file.is_there ? "replaced" : "deleted", t->pid);
}

/*
 * All files, and with them what compilers have registered for gdb: once. Of a process that has ended or begun another
 * program since it was captured, nothing more is learned.
 */
bool target_learn_all(struct target *t)
{
    if (t->has_all_images)
        return false;
    t->has_all_images = true;
    const enum sw_status status = sw_process_add_images(t->process, t->images);
    if (status == SW_E_GONE)
        return false;
    must_for(status, t->pid, "images");
    target_read_gdb_jit(t);
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
    runtime_open(&t->runtime, found, t->pid, t->images, &memory, &memory);
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
    target_create_caches(t);
    if (found->kind == SW_RUNTIME_CLR && !saves)
        open_clr_first(t, found);
    return add_images(t, found->kind, saves);
}

static enum sw_status try_process(struct target *t, int pid, bool saves, bool asks, struct sw_runtime *found)
{
    *t = (struct target){ .pid = pid };
    *found = (struct sw_runtime){ SW_RUNTIME_NATIVE, 0 };
    target_create_parts(t);
    const enum sw_status status = sw_process_open(NULL, pid, &t->process);
    if (status != SW_OK)
        return status;
    if (asks) {
        sw_process_runtimes(t->process, found, 1);
        ask_runtime(pid, found->kind); /* before the process is stopped */
    }
    return capture_process(t, saves, found);
}

/* It is there, but each time it was another program by the time that its files were looked for. */
static void refuse_restless(int pid, const char *what)
{
    struct sw_process *process = NULL;
    const bool is_there = sw_process_open(NULL, pid, &process) == SW_OK;
    sw_process_close(process);
    if (is_there)
        refuse_with(EXIT_FAILED, what, "it begins other programs faster than it is looked at; try again");
}

void target_open_process(struct target *t, int pid, bool saves, bool asks)
{
    char what[40];
    struct sw_runtime found;
    enum sw_status status = try_process(t, pid, saves, asks, &found);
    for (unsigned round = 1; round < ROUNDS && (status == SW_E_GONE || status == SW_E_BUSY); round++) {
        target_close(t);
        status = try_process(t, pid, saves, false, &found);
    }
    snprintf(what, sizeof what, "process %d", pid);
    if (status == SW_E_GONE)
        refuse_restless(pid, what);
    must_for(status, pid, what);
    report_replaced(t);
    if (saves)
        target_begin_capsule(t, machine_of_process(t));
    const struct sw_memory memory = { read_target, t, { 0, 0, NULL } }, own = target_own_memory(t);
    if (found.kind != SW_RUNTIME_CLR || saves)
        runtime_open(&t->runtime, &found, pid, t->images, &memory, &own);
    target_create_perfmap(t);
    target_read_jitdump(t, NULL);
    read_perfmap(t);
    ask_end(pid);
    /* Code that has a name by then is not learned of later on: its compiler may have told gdb of its frames as well. */
    const bool is_named = sw_perfmap_lines(t->perfmap) || sw_jitdump_records(t->jitdump);
    if (t->has_all_images)
        target_read_gdb_jit(t);
    else if (is_named && t->runtime.kind != SW_RUNTIME_CLR)
        target_learn_all(t);
}

bool target_again(struct target *t)
{
    t->has_all_images = true;
    if (sw_process_capture(t->process, STACK_BYTES) != SW_OK || sw_process_add_images(t->process, t->images) != SW_OK)
        return false;
    sw_clr_names_renew(t->runtime.names);
    target_has_run(t);
    target_read_jitdump(t, NULL);
    read_perfmap(t);
    target_read_gdb_jit(t);
    return true;
}

/*
 * Stacks of Go, calls of Python, Ruby and PHP, V8's functions are on the heap, which changes when the process runs on.
 */
bool target_is_to_hold(const struct target *t)
{
    return t->process && (t->goes_on_elsewhere || t->runtime.kind == SW_RUNTIME_GO || t->runtime.python ||
                          t->runtime.ruby || t->runtime.php || t->runtime.v8);
}

bool target_hold(struct target *t)
{
    if (!target_is_to_hold(t))
        return false;
    enum sw_status status = SW_E_BUSY;
    for (unsigned round = 0; round < ROUNDS && status == SW_E_BUSY; round++)
        status = sw_process_stop(t->process);
    t->is_held = status == SW_OK;
    if (t->is_held && !sw_process_executes_captured(t->process))
        target_let_go(t); /* the files that are known are those of the program that was captured */
    if (t->is_held)
        target_has_run(t);
    return t->is_held;
}

void target_let_go(struct target *t)
{
    if (t->is_held)
        (void)!sw_process_resume(t->process); /* threads that have ended meanwhile */
    t->is_held = false;
}
