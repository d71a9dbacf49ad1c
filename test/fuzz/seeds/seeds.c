/*
 * seeds FOLDER: what fuzzing of capsules and jitdump files begins with, in FOLDER/capsule and FOLDER/jitdump: one of
 * each kind that the tests make, of both machines and in both byte orders.
 */
#include <snapwalk/capsule.h>
#include <snapwalk/jitdump.h>

#include <limits.h>
#include <stdio.h>

#include "../../support/jitdump_file.h"
#include "../../unit/cores.h"

enum { BUILD_ID = 7, STEP = 7 };

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "seeds: %s\n", what);
    exit(1);
}

static FILE *create(const char *folder, const char *target, const char *variant, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s-%s", folder, target, variant, name);
    FILE *file = fopen(path, "wb");
    must(file != NULL, path);
    return file;
}

/* ---- jitdump: the first byte says how long the pieces are that it is read in ---- */

static void load(void)
{
    dump_load(DUMP_CODE, "f");
}

static void move(void)
{
    dump_load(DUMP_CODE, "f");
    dump_move(DUMP_CODE, DUMP_ELSEWHERE);
}

static void unwind(void)
{
    dump_unwind(DUMP_FRAMES_BYTES);
    dump_load(DUMP_CODE, "f");
}

static void no_unwind(void)
{
    dump_unwind(0);
    dump_load(DUMP_CODE, "f");
}

static void others(void)
{
    dump_prefix(DUMP_UNKNOWN, 16);
    dump_load(DUMP_CODE, "");
    dump_load(DUMP_CODE, "again");
    dump_prefix(DUMP_CLOSE, 16);
}

static const struct {
    const char *name;
    void (*write)(void);
} dumps[] = {
    { "load", load }, { "move", move }, { "unwind", unwind }, { "no-unwind", no_unwind }, { "others", others }
};

static void write_dumps(const char *folder)
{
    for (size_t i = 0; i < 2 * (sizeof dumps / sizeof dumps[0]); i++) {
        const bool is_big = i % 2;
        dump_header(is_big, EM_X86_64);
        dumps[i / 2].write();
        FILE *file = create(folder, "jitdump", is_big ? "big" : "little", dumps[i / 2].name);
        fputc(STEP, file);
        fwrite(dump_file.bytes, 1, dump_file.size, file);
        must(fclose(file) == 0, "jitdump");
    }
}

/* ---- capsules ---- */

static const struct {
    const char *name;
    struct made made;
    bool has_ranges;
} cores[] = {
    { "files", { .build_id = BUILD_ID }, false },
    { "no-files", { .build_id = BUILD_ID, .no_files = true }, false },
    { "no-first-page", { .build_id = BUILD_ID, .no_first_page = true }, false },
    { "listed", { .build_id = BUILD_ID, .no_files = true, .listed = true }, false },
    { "other-build", { .build_id = BUILD_ID + 1 }, false },
    { "ranges", { .build_id = BUILD_ID }, true },
};

static uint64_t program[PROGRAM_BYTES / 8];

static bool take(void *arg, const char *path, const void **bytes, size_t *size)
{
    (void)arg;
    *bytes = program;
    *size = sizeof program;
    return strcmp(path, "/bin/made") == 0;
}

static bool write_piece(void *arg, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, arg) == size;
}

static void add_thread(struct sw_capsule *capsule, struct sw_core *core, uint64_t tid, const struct sw_codemap *codemap,
                       const struct sw_images *images)
{
    static struct sw_scratch scratch;
    struct sw_core_thread thread;
    struct sw_regs regs;
    struct sw_walker walker;
    must(sw_core_find_thread(core, tid, &thread) == SW_OK && sw_core_regs(core, tid, &regs) == SW_OK &&
             sw_core_walker(core, tid, &regs, codemap, images, &walker) == SW_OK &&
             sw_capsule_add_thread(capsule, &thread, &regs, &walker, &scratch) == SW_OK,
         "thread");
    const enum sw_status named = sw_capsule_set_name(capsule, sw_regs_pc(&regs), "a name");
    must(named == SW_OK || named == SW_E_NOT_FOUND, "name");
}

static void write_capsule(struct made *made, bool has_ranges, FILE *file)
{
    const struct sw_core_files files = { .open = take };
    const struct sw_capsule_sink sink = { write_piece, file };
    struct sw_core *core;
    struct sw_images *images;
    struct sw_codemap *codemap;
    struct sw_capsule *capsule;
    const struct sw_range range = {
        .begin = PROGRAM_AT + G_AT, .end = PROGRAM_AT + G_AT + 0x40, .id = 1, .kind = SW_KIND_JIT
    };
    made_program((uint8_t *)program, made->machine, BUILD_ID);
    made_core(made);
    must(sw_images_create(NULL, &images) == SW_OK && sw_codemap_create(NULL, &codemap) == SW_OK &&
             sw_core_open_bytes(NULL, made->bytes, made->size, &core) == SW_OK &&
             sw_core_add_images(core, &files, images) == SW_OK &&
             (!has_ranges || sw_codemap_add(codemap, &range) == SW_OK) &&
             sw_capsule_create(NULL, made->machine, 0, &capsule) == SW_OK &&
             sw_capsule_add_core(capsule, core) == SW_OK,
         "core");
    add_thread(capsule, core, MADE_CRASHED, codemap, images);
    add_thread(capsule, core, MADE_PID, codemap, images);
    must(sw_capsule_write(capsule, &sink) == SW_OK && fclose(file) == 0, "capsule");
    sw_capsule_destroy(capsule);
    sw_images_destroy(images);
    sw_codemap_destroy(codemap);
    sw_core_close(core);
}

int main(int count, char **words)
{
    static struct made made;
    must(count == 2, "a folder is needed");
    write_dumps(words[1]);
    for (size_t i = 0; i < 2 * (sizeof cores / sizeof cores[0]); i++) {
        made = cores[i / 2].made;
        made.machine = i % 2 ? SW_MACHINE_ARM64 : SW_MACHINE_X64;
        write_capsule(&made, cores[i / 2].has_ranges,
                      create(words[1], "capsule", i % 2 ? "arm64" : "x64", cores[i / 2].name));
    }
    return 0;
}
