/* Opens a core: its threads, its files, and what a capsule says of code that no file has. */
#include "target_parts.h"

#include "refuse.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a capsule says of code that no file has. Ranges that contradict each other are left out. */
static void add_ranges(struct target *t)
{
    struct sw_range range;
    for (size_t i = 0; sw_core_get_range(t->core, i, &range, NULL); i++)
        if (sw_codemap_add(t->codemap, &range) == SW_E_NO_MEMORY)
            must(SW_E_NO_MEMORY, "code map");
}

/* ORDER sw_core_file_state: those that are not used. */
static void report_files(const struct sw_core *core, const char *sysroot)
{
    static const char *const sentences[SW_CORE_FILE_UNCHECKED] = {
        "is not here",
        "is another file than the one that the core had: not used",
        "is no ELF or PE file: not used",
    };
    struct sw_core_file file;
    size_t count = 0;
    for (size_t i = 0; sw_core_get_file(core, i, &file); i++)
        if (file.state < SW_CORE_FILE_UNCHECKED && !sw_jitdump_is_path(file.path)) {
            complain("%s %s", file.path, sentences[file.state]);
            count++;
        }
    if (count > 0 && !sysroot)
        complain("--sysroot DIR names a folder with the files of the machine that the core is from");
}

/* Who has compressed the file; NULL: nobody, as far as is known. */
static const char *packer_of(int file)
{
    static const struct {
        const char *begin, *program;
    } rows[] = { { "\x28\xb5\x2f\xfd", "zstd" },
                 { "\x04\x22\x4d\x18", "lz4" },
                 { "\xfd\x37zXZ", "xz" },
                 { "\x1f\x8b\x08", "gzip" } };
    char begin[6] = "";
    if (read(file, begin, sizeof begin - 1) < (ssize_t)sizeof begin - 1)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strncmp(begin, rows[i].begin, strlen(rows[i].begin)))
            return rows[i].program;
    return NULL;
}

/* What may well hold a core, but is none yet: says what to do first. */
static void refuse_what_holds_one(const char *path)
{
    char why[128];
    struct stat st;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_known = file >= 0 && fstat(file, &st) == 0;
    const char *packer = is_known && S_ISREG(st.st_mode) ? packer_of(file) : NULL;
    if (file >= 0)
        close(file);
    if (is_known && S_ISFIFO(st.st_mode))
        refuse_with(EXIT_NO_CORE, path, "a pipe: write it to a file first, of which parts are read");
    if (!packer)
        return;
    snprintf(why, sizeof why, "compressed: unpack it first (%s -d, or coredumpctl dump -o FILE)", packer);
    refuse_with(EXIT_NO_CORE, path, why);
}

/* A word that is a file is a core, also where a process was meant. */
static void refuse_no_core(const char *path)
{
    static const char what[] = "not a core file of x64 or ARM64";
    char why[512];
    refuse_what_holds_one(path);
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
        complain("%s: cut off, %llu KB are missing at its end, and stacks may end early: a full disk, or "
                 "ulimit -c",
                 path, (missing + 1023) / 1024);
}

void target_open_core(struct target *t, const char *path, const char *sysroot, bool saves)
{
    const struct sw_core_files files = { .sysroot = sysroot };
    struct sw_core_info info;
    struct sw_runtime found = { SW_RUNTIME_NATIVE, 0 };
    *t = (struct target){ 0 };
    target_create_parts(t);
    open_core_file(t, path);
    report_missing(t->core, path);
    must(sw_core_describe(t->core, &info), path);
    t->pid = (int)info.pid;
    must(sw_core_add_images(t->core, &files, t->images), "images");
    report_files(t->core, sysroot);
    t->has_all_images = true;
    target_create_caches(t);
    add_ranges(t);
    if (saves)
        target_begin_capsule(t, info.machine);
    const struct sw_memory memory = target_memory(t),
                           own = target_own_memory(t); /* files stand in for what is omitted */
    sw_core_runtimes(t->core, &found, 1);
    runtime_open(&t->runtime, &found, 0, t->images, &memory, &own);
    target_create_perfmap(t);
    target_read_jitdump(t, sysroot);
    target_read_gdb_jit(t);
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
