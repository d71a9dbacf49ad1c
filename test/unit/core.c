/*
 * Core files of both machines: what they tell, walks over them, files that are the right ones and files that are not,
 * and cores that end too early or lie.
 */
#include "target/core.h"

#include <snapwalk/core.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cores.h"
#include "host.h"

enum { BUILD_ID = 7 };

static struct made made;
static struct sw_scratch scratch;

static struct made *make(enum sw_machine machine)
{
    made = (struct made){ .machine = machine, .build_id = BUILD_ID };
    return &made;
}

static struct sw_core *open_made(void)
{
    struct sw_core *core = NULL;
    made_core(&made);
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
    return core;
}

/* The caller's files: the program, under two names; open: how many were given out. */
struct shelf {
    uint64_t aligned[PROGRAM_BYTES / 8];
    bool is_empty;
    int asked;
    int open;
};

static bool take(void *arg, const char *path, const void **bytes, size_t *size)
{
    struct shelf *shelf = arg;
    shelf->asked++;
    if (shelf->is_empty || (strcmp(path, "/bin/made") != 0 && strcmp(path, "/lib/made.so") != 0))
        return false;
    *bytes = shelf->aligned;
    *size = sizeof shelf->aligned;
    shelf->open++;
    return true;
}

static void give_back(void *arg, const void *bytes, size_t size)
{
    struct shelf *shelf = arg;
    assert_ptr_equal(bytes, shelf->aligned);
    assert_int_equal(size, sizeof shelf->aligned);
    shelf->open--;
}

static struct sw_core_files files_of(struct shelf *shelf, uint8_t build_id)
{
    made_program((uint8_t *)shelf->aligned, made.machine, build_id);
    return (struct sw_core_files){ .open = take, .close = give_back, .arg = shelf };
}

static struct sw_images *images_of(struct sw_core *core, const struct sw_core_files *files)
{
    struct sw_images *images = NULL;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_core_add_images(core, files, images), SW_OK);
    return images;
}

static void close_all(struct sw_core *core, struct sw_images *images, const struct shelf *shelf)
{
    sw_images_destroy(images);
    sw_core_close(core);
    if (shelf)
        assert_int_equal(shelf->open, 0);
}

static enum sw_core_file_state state_of(const struct sw_core *core, size_t number, const char *path, uint64_t address)
{
    struct sw_core_file file;
    assert_true(sw_core_get_file(core, number, &file));
    assert_string_equal(file.path, path);
    assert_true(file.address == address);
    return file.state;
}

/* What a core tells ----------------------------------------------------------------------------------------------- */

static void tells_process_and_threads(enum sw_machine machine)
{
    uint64_t tids[4] = { 0 };
    struct sw_core_info about;
    struct sw_core_thread thread;
    struct sw_regs regs;
    make(machine);
    struct sw_core *core = open_made();
    assert_int_equal(sw_core_describe(core, &about), SW_OK);
    assert_true(about.machine == machine && about.pid == MADE_PID && about.entry == PROGRAM_AT + F_AT && !about.vdso);
    assert_true(about.crashed == MADE_CRASHED);
    assert_string_equal(about.name, "made");
    assert_string_equal(about.arguments, "made -x");
    assert_int_equal(sw_core_threads(core, tids, 4), 2);
    assert_true(tids[0] == MADE_PID && tids[1] == MADE_CRASHED);
    assert_int_equal(sw_core_threads(core, NULL, 0), 2);
    assert_int_equal(sw_core_find_thread(core, MADE_CRASHED, &thread), SW_OK);
    assert_true(thread.signal == 11 && thread.code == 1 && thread.has_fault && thread.fault == FAULT);
    assert_true(thread.pac_mask == (machine == SW_MACHINE_ARM64 ? MADE_PAC_MASK : 0));
    assert_int_equal(sw_core_find_thread(core, MADE_PID, &thread), SW_OK);
    assert_true(thread.signal == 0 && !thread.has_fault && thread.pac_mask == 0);
    assert_int_equal(sw_core_regs(core, MADE_CRASHED, &regs), SW_OK);
    assert_true(sw_regs_pc(&regs) == PROGRAM_AT + made_in_g(machine) && sw_regs_sp(&regs) == made_sp(true));
    assert_int_equal(sw_core_regs(core, MADE_PID, &regs), SW_OK);
    assert_true(sw_regs_pc(&regs) == PROGRAM_AT + made_in_f(machine) && sw_regs_sp(&regs) == made_sp(false));
    assert_int_equal(sw_core_regs(core, 99, &regs), SW_E_NOT_FOUND);
    assert_int_equal(sw_core_find_thread(core, 99, &thread), SW_E_NOT_FOUND);
    sw_core_close(core);
}

static void a_core_of_x64_tells_its_process_and_threads(void **state)
{
    (void)state;
    tells_process_and_threads(SW_MACHINE_X64);
}

static void a_core_of_arm64_tells_its_process_and_threads(void **state)
{
    (void)state;
    tells_process_and_threads(SW_MACHINE_ARM64);
}

static void null_pointers_are_refused(void **state)
{
    (void)state;
    struct sw_core *core = NULL;
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_walker walker;
    struct sw_core_file file;
    assert_int_equal(sw_core_open_bytes(NULL, NULL, 1, &core), SW_E_ARGUMENT);
    assert_int_equal(sw_core_open_bytes(NULL, "", 0, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_core_open(NULL, NULL, &core), SW_E_ARGUMENT);
    assert_int_equal(sw_core_describe(NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_core_threads(NULL, NULL, 0), 0);
    assert_int_equal(sw_core_regs(NULL, 1, &regs), SW_E_ARGUMENT);
    assert_int_equal(sw_core_walker(NULL, 1, &regs, NULL, NULL, &walker), SW_E_ARGUMENT);
    assert_int_equal(sw_core_add_images(NULL, NULL, NULL), SW_E_ARGUMENT);
    assert_false(sw_core_get_file(NULL, 0, &file));
    assert_string_equal(sw_core_file_state_name(SW_CORE_FILE_OTHER), "other");
    assert_string_equal(sw_core_file_state_name(SW_CORE_FILE_COUNT), "?");
    sw_core_close(NULL);
    make(SW_MACHINE_ARM64);
    core = open_made();
    assert_int_equal(sw_core_walker(core, MADE_PID, &regs, NULL, NULL, &walker), SW_E_ARGUMENT); /* no sp, of x64 */
    sw_core_close(core);
}

/* Memory ---------------------------------------------------------------------------------------------------------- */

static void memory_comes_from_the_core_then_from_the_file(void **state)
{
    static struct shelf shelf;
    uint8_t program[PROGRAM_BYTES], found[2 * MADE_PAGE];
    (void)state;
    make(SW_MACHINE_X64)->listed = true;
    struct sw_core *core = open_made();
    const struct sw_memory memory = sw_core_memory(core);
    assert_int_equal(memory.read(memory.arg, PROGRAM_AT, found, 2 * MADE_PAGE),
                     MADE_PAGE); /* no code without its file */
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    struct sw_images *images = images_of(core, &files);
    made_program(program, SW_MACHINE_X64, BUILD_ID);
    assert_int_equal(memory.read(memory.arg, PROGRAM_AT, found, 2 * MADE_PAGE), 2 * MADE_PAGE);
    assert_memory_equal(found, program, 2 * MADE_PAGE);
    /* what was writable is the core's own, and differs from the file */
    assert_int_equal(memory.read(memory.arg, PROGRAM_AT + DYNAMIC_AT + 8, found, 8), 8);
    assert_memory_not_equal(found, program + DYNAMIC_AT + 8, 8);
    assert_int_equal(memory.read(memory.arg, PROGRAM_AT + 3 * MADE_PAGE - 4, found, 8), 4);
    assert_int_equal(memory.read(memory.arg, 0, found, 8), 0);
    assert_int_equal(memory.read(memory.arg, UINT64_MAX - 3, found, 8), 0);
    close_all(core, images, &shelf);
}

/* A core cut off in front of its data: the file does not know what was written there. */
static void memory_that_was_cut_off_is_not_taken_from_the_file(void **state)
{
    static struct shelf shelf;
    struct sw_core *core = NULL;
    uint8_t found[8];
    (void)state;
    make(SW_MACHINE_X64);
    made_core(&made);
    /* read-only, as data is after relocation */
    made_put(made.bytes + sizeof(Elf64_Ehdr) + 5 * sizeof(Elf64_Phdr) + 4, PF_R, 4);
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size - MADE_PAGE + 16, &core), SW_OK);
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    struct sw_images *images = images_of(core, &files);
    const struct sw_memory memory = sw_core_memory(core);
    assert_int_equal(memory.read(memory.arg, PROGRAM_AT + DATA + 8, found, 8), 8);
    assert_int_equal(memory.read(memory.arg, PROGRAM_AT + DATA + 16, found, 8), 0);
    assert_int_equal(memory.read(memory.arg, PROGRAM_AT + TEXT, found, 8), 8);
    close_all(core, images, &shelf);
}

/* Walks ----------------------------------------------------------------------------------------------------------- */

static void walk_is(struct sw_core *core, const struct sw_images *images, uint64_t tid, const uint64_t *pcs,
                    size_t count, enum sw_stop stop)
{
    struct sw_regs regs;
    struct sw_walker walker;
    struct sw_walk walk;
    size_t n = 0;
    assert_int_equal(sw_core_regs(core, tid, &regs), SW_OK);
    assert_int_equal(sw_core_walker(core, tid, &regs, NULL, images, &walker), SW_OK);
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    for (; sw_walk_next(&walk); n++) {
        assert_true(n < count);
        assert_true(sw_regs_pc(&walk.frame.regs) == pcs[n]);
    }
    assert_int_equal(n, count);
    assert_int_equal(walk.stop, stop);
}

static void is_walked(enum sw_machine machine)
{
    static struct shelf shelf;
    const uint64_t pcs[] = { PROGRAM_AT + made_in_g(machine), PROGRAM_AT + made_in_f(machine) };
    struct sw_image image;
    make(machine);
    struct sw_core *core = open_made();
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(sw_images_find(images, PROGRAM_AT + F_AT, &image), SW_OK);
    assert_true(image.machine == machine && image.begin == PROGRAM_AT);
    assert_string_equal(image.path, "/bin/made");
    walk_is(core, images, MADE_CRASHED, pcs, 2, SW_STOP_ROOT); /* f is at AT_ENTRY */
    walk_is(core, images, MADE_PID, pcs + 1, 1, SW_STOP_ROOT);
    close_all(core, images, &shelf);
}

static void stacks_of_x64_are_walked(void **state)
{
    (void)state;
    is_walked(SW_MACHINE_X64);
}

/* The return address is signed in bits that only the mask of NT_ARM_PAC_MASK covers. */
static void signed_stacks_of_arm64_are_walked(void **state)
{
    (void)state;
    is_walked(SW_MACHINE_ARM64);
}

static void the_stack_is_the_segment_around_sp(void **state)
{
    struct sw_regs regs;
    struct sw_walker walker;
    (void)state;
    make(SW_MACHINE_ARM64);
    struct sw_core *core = open_made();
    assert_int_equal(sw_core_regs(core, MADE_CRASHED, &regs), SW_OK);
    assert_int_equal(sw_core_walker(core, MADE_CRASHED, &regs, NULL, NULL, &walker), SW_OK);
    assert_true(walker.stack_begin == STACK_OF_CRASHED && walker.stack_end == STACK_OF_CRASHED + MADE_PAGE);
    assert_true(walker.memory.window.begin == walker.stack_begin && walker.memory.window.end == walker.stack_end);
    assert_true(walker.pac_mask == MADE_PAC_MASK && walker.machine == SW_MACHINE_ARM64);
    sw_regs_set(&regs, SW_ARM64_SP, 0x5000);
    assert_int_equal(sw_core_walker(core, MADE_CRASHED, &regs, NULL, NULL, &walker), SW_OK);
    assert_true(walker.stack_begin == 0 && walker.stack_end == 0 && walker.memory.window.end == 0);
    assert_int_equal(sw_core_walker(core, 99, &regs, NULL, NULL, &walker), SW_E_NOT_FOUND);
    sw_core_close(core);
}

/* A mapping would fault: SIGBUS. What was read stays; the rest, in a core of more blocks than this, is zeros. */
static void a_core_may_be_cut_short_while_it_is_open(void **state)
{
    enum { FAR = 16 << 20 };
    char path[] = "/tmp/core_cut_XXXXXX";
    struct sw_core *core = NULL;
    struct sw_regs regs;
    struct sw_walker walker;
    uint64_t word = 1;
    (void)state;
    make(SW_MACHINE_X64);
    struct sw_core *whole = open_made();
    const int file = mkstemp(path);
    assert_int_equal(write(file, made.bytes, made.size), made.size);
    assert_int_equal(ftruncate(file, FAR), 0); /* a hole behind it */
    assert_int_equal(sw_core_open(NULL, path, &core), SW_OK);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(sw_core_regs(core, MADE_CRASHED, &regs), SW_OK);
    assert_int_equal(sw_core_walker(core, MADE_CRASHED, &regs, NULL, NULL, &walker), SW_OK);
    for (uint64_t at = STACK_OF_CRASHED; at < STACK_OF_CRASHED + MADE_PAGE; at += sizeof word) {
        uint64_t expected = 0;
        const struct sw_memory a = sw_core_memory(core), b = sw_core_memory(whole);
        assert_int_equal(a.read(a.arg, at, &word, sizeof word), sizeof word);
        assert_int_equal(b.read(b.arg, at, &expected, sizeof expected), sizeof expected);
        assert_true(word == expected);
    }
    sw_core_close(core);
    sw_core_close(whole);
    close(file);
    unlink(path);
}

/* Files ----------------------------------------------------------------------------------------------------------- */

static void has_no_image(enum sw_core_file_state expected, uint8_t build_id, bool no_first_page)
{
    static struct shelf shelf;
    uint8_t found[4];
    struct sw_image image;
    make(SW_MACHINE_ARM64)->no_first_page = no_first_page;
    struct sw_core *core = open_made();
    const struct sw_core_files files = files_of(&shelf, build_id);
    struct sw_images *images = images_of(core, &files);
    const struct sw_memory memory = sw_core_memory(core);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), expected);
    assert_int_equal(sw_images_find(images, PROGRAM_AT + F_AT, &image), SW_E_NOT_FOUND);
    assert_int_equal(memory.read(memory.arg, PROGRAM_AT + TEXT, found, 4), 0);
    close_all(core, images, &shelf);
}

static void a_file_with_another_build_id_is_refused(void **state)
{
    (void)state;
    has_no_image(SW_CORE_FILE_OTHER, BUILD_ID + 1, false);
}

static void a_file_with_another_dynamic_section_is_refused(void **state)
{
    (void)state;
    has_no_image(SW_CORE_FILE_OTHER, BUILD_ID + 1, true);
}

static void without_its_first_page_a_file_is_known_by_its_dynamic_section(void **state)
{
    static struct shelf shelf;
    (void)state;
    make(SW_MACHINE_X64)->no_first_page = true;
    struct sw_core *core = open_made();
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_CHECKED);
    close_all(core, images, &shelf);
}

/* A core with neither page of the program. */
static void a_file_that_cannot_be_compared_is_taken_and_marked(void **state)
{
    static struct shelf shelf;
    struct sw_core *core = NULL;
    (void)state;
    make(SW_MACHINE_X64)->no_first_page = true;
    made_core(&made);
    made_put(made.bytes + sizeof(Elf64_Ehdr) + 5 * sizeof(Elf64_Phdr) + 32, 0, 8);
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_UNCHECKED);
    close_all(core, images, &shelf);
}

static void a_file_without_build_id_is_known_by_its_first_page(void **state)
{
    static struct shelf shelf;
    struct sw_core *core = NULL;
    (void)state;
    for (unsigned changed = 0; changed < 2; changed++) {
        make(SW_MACHINE_X64);
        made_core(&made);
        const struct sw_core_files files = files_of(&shelf, BUILD_ID);
        uint8_t *page = made.bytes + made.size - 2 * MADE_PAGE;
        made_put(page + 0x408, 4, 4); /* a note of another kind */
        made_put((uint8_t *)shelf.aligned + 0x408, 4, 4);
        page[0x800] = (uint8_t)changed;
        assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
        struct sw_images *images = images_of(core, &files);
        assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT),
                         changed ? SW_CORE_FILE_OTHER : SW_CORE_FILE_CHECKED);
        close_all(core, images, &shelf);
    }
}

/* A PE file's first page holds what is not mapped there. */
static void a_pe_file_is_known_by_its_headers(void **state)
{
    static const struct {
        uint32_t differs_at, pe_at, headers;
        enum sw_core_file_state expected;
    } rows[] = {
        { 0x1ff, 0x80, 0x200, SW_CORE_FILE_OTHER },     { 0x200, 0x80, 0x200, SW_CORE_FILE_CHECKED },
        { 0x200, 0x80, 0x9000, SW_CORE_FILE_OTHER },    { 0x200, 0xfffffff0, 0x200, SW_CORE_FILE_OTHER },
        { 0x1000, 0x80, 0x9000, SW_CORE_FILE_CHECKED }, { 0x1ff, 0x80, 0, SW_CORE_FILE_OTHER },
        { 0x1ff, 0x80, 0x40, SW_CORE_FILE_OTHER },
    };
    static struct shelf shelf;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sw_core *core = NULL;
        make(SW_MACHINE_X64);
        made_core(&made);
        const struct sw_core_files files = files_of(&shelf, BUILD_ID);
        uint8_t *const pages[] = { made.bytes + made.size - 2 * MADE_PAGE, (uint8_t *)shelf.aligned };
        for (unsigned n = 0; n < 2; n++) {
            memset(pages[n], 0, MADE_PAGE);
            memcpy(pages[n], "MZ", 2);
            memcpy(pages[n] + 0x80, "PE", 2);
            made_put(pages[n] + 60, rows[i].pe_at, 4);
            made_put(pages[n] + 0x80 + 24 + 60, rows[i].headers, 4);
        }
        pages[1][rows[i].differs_at] ^= 1;
        assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
        struct sw_images *images = images_of(core, &files);
        assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), rows[i].expected);
        close_all(core, images, &shelf);
    }
}

static void a_file_of_another_machine_is_refused(void **state)
{
    static struct shelf shelf;
    (void)state;
    make(SW_MACHINE_ARM64);
    struct sw_core *core = open_made();
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    made_program((uint8_t *)shelf.aligned, SW_MACHINE_X64, BUILD_ID);
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_OTHER);
    memset(shelf.aligned, 'x', sizeof shelf.aligned);
    assert_int_equal(sw_core_add_images(core, &files, images), SW_OK);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_BAD);
    close_all(core, images, &shelf);
}

/* Of what lies in files gcore writes no segment. is_code: of the program's code there is one. */
static void data_is_no_news_but_code_is(void **state)
{
    static struct shelf shelf;
    (void)state;
    for (unsigned is_code = 0; is_code < 2; is_code++) {
        struct sw_core *core = NULL;
        struct sw_core_file file;
        make(SW_MACHINE_X64)->no_first_page = true;
        made_core(&made);
        made_put(made.bytes + sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr), is_code ? PT_LOAD : PT_NULL, 4);
        const struct sw_core_files files = files_of(&shelf, BUILD_ID);
        memset(shelf.aligned, 'x', sizeof shelf.aligned);
        assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
        struct sw_images *images = images_of(core, &files);
        if (is_code)
            assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_BAD);
        else
            assert_false(sw_core_get_file(core, 0, &file) && strcmp(file.path, "/bin/made") == 0);
        close_all(core, images, &shelf);
    }
}

static void a_missing_file_may_be_found_later(void **state)
{
    static struct shelf shelf;
    struct sw_image image;
    (void)state;
    make(SW_MACHINE_X64);
    struct sw_core *core = open_made();
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    shelf.is_empty = true;
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_MISSING);
    shelf.is_empty = false;
    assert_int_equal(sw_core_add_images(core, &files, images), SW_OK);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_CHECKED);
    assert_int_equal(sw_images_find(images, PROGRAM_AT, &image), SW_OK);
    const uint64_t generation = sw_images_generation(images);
    assert_int_equal(sw_core_add_images(core, &files, images), SW_OK);
    assert_true(sw_images_generation(images) == generation && shelf.asked == 2);
    close_all(core, images, &shelf);
}

/* Without NT_FILE, as qemu writes cores: the program by the auxiliary vector, its libraries by the linker's list. */
static void what_no_note_tells_the_dynamic_linker_lists(void **state)
{
    static struct shelf shelf;
    struct sw_core_file file;
    struct sw_image image;
    (void)state;
    make(SW_MACHINE_ARM64)->listed = true;
    made.no_files = made.no_first_page = true;
    struct sw_core *core = open_made();
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_CHECKED);
    assert_int_equal(state_of(core, 1, "/lib/made.so", LIBRARY_AT), SW_CORE_FILE_UNCHECKED);
    assert_false(sw_core_get_file(core, 2, &file)); /* the list runs in a circle */
    assert_int_equal(sw_images_find(images, PROGRAM_AT + F_AT, &image), SW_OK);
    assert_int_equal(sw_images_find(images, LIBRARY_AT + F_AT, &image), SW_OK);
    assert_string_equal(image.path, "/lib/made.so");
    const uint64_t pcs[] = { PROGRAM_AT + made_in_g(SW_MACHINE_ARM64), PROGRAM_AT + made_in_f(SW_MACHINE_ARM64) };
    walk_is(core, images, MADE_CRASHED, pcs, 2, SW_STOP_ROOT);
    assert_int_equal(sw_core_add_images(core, &files, images), SW_OK);
    assert_int_equal(shelf.asked, 2);
    close_all(core, images, &shelf);
}

/* The list says where its dynamic section is, the file has it elsewhere. */
static void a_listed_file_with_its_dynamic_section_elsewhere_is_refused(void **state)
{
    static struct shelf shelf;
    struct sw_core *core = NULL;
    struct sw_image image;
    (void)state;
    make(SW_MACHINE_X64)->listed = true;
    made.no_files = made.no_first_page = true;
    made_core(&made);
    made_put(made.bytes + made.size - MADE_PAGE + 0x250, LIBRARY_AT + DYNAMIC_AT + 16, 8);
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_CHECKED);
    assert_int_equal(state_of(core, 1, "/lib/made.so", LIBRARY_AT), SW_CORE_FILE_OTHER);
    assert_int_equal(sw_images_find(images, LIBRARY_AT + F_AT, &image), SW_E_NOT_FOUND);
    close_all(core, images, &shelf);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    close(file);
}

static void a_core_and_its_files_are_opened_by_path(void **state)
{
    char folder[] = "/tmp/snapwalk-core-XXXXXX";
    char path[3][64];
    uint8_t program[PROGRAM_BYTES];
    struct sw_core *core = NULL;
    struct sw_image image;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path[0], sizeof path[0], "%s/bin", folder);
    snprintf(path[1], sizeof path[1], "%s/bin/made", folder);
    snprintf(path[2], sizeof path[2], "%s/core", folder);
    made_core(make(SW_MACHINE_X64));
    made_program(program, SW_MACHINE_X64, BUILD_ID);
    assert_int_equal(mkdir(path[0], 0700), 0);
    write_file(path[1], program, sizeof program);
    write_file(path[2], made.bytes, made.size);
    const struct sw_core_files files = { .sysroot = folder };
    assert_int_equal(sw_core_open(NULL, path[2], &core), SW_OK);
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(sw_images_find(images, PROGRAM_AT, &image), SW_OK);
    assert_int_equal(state_of(core, 0, "/bin/made", PROGRAM_AT), SW_CORE_FILE_CHECKED);
    close_all(core, images, NULL);
    assert_int_equal(sw_core_open(NULL, folder, &core), SW_E_UNSUPPORTED);
    for (unsigned i = 3; i-- > 0;)
        assert_int_equal(i ? unlink(path[i]) : rmdir(path[0]), 0);
    assert_int_equal(sw_core_open(NULL, path[2], &core), SW_E_GONE);
    rmdir(folder);
}

/* gcore writes what /proc/PID/maps says: a newline in a name as four characters. */
static void a_newline_in_a_name_that_gcore_wrote_comes_back(void **state)
{
    static const char name[] = "/bin/made", escaped[] = "/b\\012ade", plain[] = "/b\nade";
    char folder[] = "/tmp/snapwalk-core-XXXXXX", path[64];
    uint8_t program[PROGRAM_BYTES];
    struct sw_core *core = NULL;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s%s", folder, plain);
    made_core(make(SW_MACHINE_X64));
    made_program(program, SW_MACHINE_X64, BUILD_ID);
    write_file(path, program, sizeof program);
    for (size_t at = 0; at + sizeof name <= made.size; at++)
        if (memcmp(made.bytes + at, name, sizeof name) == 0)
            memcpy(made.bytes + at, escaped, sizeof escaped);
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
    const struct sw_core_files files = { .sysroot = folder };
    struct sw_images *images = images_of(core, &files);
    assert_int_equal(state_of(core, 0, escaped, PROGRAM_AT), SW_CORE_FILE_CHECKED);
    close_all(core, images, NULL);
    unlink(path);
    rmdir(folder);
}

/* Cores that lie -------------------------------------------------------------------------------------------------- */

/* Everything that can be asked of a core, whatever the answers. */
static void ask_everything(const struct sw_alloc *alloc, const uint8_t *bytes, size_t size,
                           const struct sw_core_files *files)
{
    struct sw_core *core = NULL;
    struct sw_images *images = NULL;
    uint64_t tids[4];
    if (sw_core_open_bytes(alloc, bytes, size, &core) != SW_OK)
        return;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    (void)!sw_core_add_images(core, files, images);
    const size_t count = sw_core_threads(core, tids, 4);
    for (size_t i = 0; i < count && i < 4; i++) {
        struct sw_regs regs;
        struct sw_walker walker;
        struct sw_walk walk;
        assert_int_equal(sw_core_regs(core, tids[i], &regs), SW_OK);
        assert_int_equal(sw_core_walker(core, tids[i], &regs, NULL, images, &walker), SW_OK);
        walker.flags = SW_WALK_NO_ANALYSIS; /* of zeros, in most of these: slow, and not the matter here */
        sw_walk_start(&walk, &walker, &scratch, &regs, true);
        while (sw_walk_next(&walk))
            assert_true(walk.depth <= 10000);
    }
    close_all(core, images, NULL);
}

static void a_core_says_how_much_it_lacks(void **state)
{
    struct sw_core *core = NULL;
    struct made *m = make(SW_MACHINE_X64);
    (void)state;
    made_core(m);
    assert_int_equal(sw_core_missing_bytes(NULL), 0);
    for (size_t lacks = 0; lacks < 3; lacks++) {
        assert_int_equal(sw_core_open_bytes(NULL, m->bytes, m->size - lacks, &core), SW_OK);
        assert_int_equal(sw_core_missing_bytes(core), lacks);
        sw_core_close(core);
    }
    assert_int_equal(sw_core_open_bytes(NULL, m->bytes, 64, &core), SW_OK); /* not even headers of segments */
    assert_true(sw_core_missing_bytes(core) >= 56);
    sw_core_close(core);
}

/* At each length, from memory that ends there. */
static void survives_truncation(struct made *m)
{
    static struct shelf shelf;
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    made_core(m);
    for (size_t size = 0; size < m->size; size += size < m->notes_end ? 1 : 61) {
        uint8_t *exact = malloc(size ? size : 1);
        assert_non_null(exact);
        memcpy(exact, m->bytes, size);
        ask_everything(NULL, exact, size, &files);
        free(exact);
    }
    assert_int_equal(shelf.open, 0);
}

static void a_core_may_end_anywhere(void **state)
{
    (void)state;
    survives_truncation(make(SW_MACHINE_X64));
    make(SW_MACHINE_ARM64)->no_files = true;
    made.listed = true;
    survives_truncation(&made);
}

static void any_byte_of_headers_and_notes_may_lie(void **state)
{
    static struct shelf shelf;
    (void)state;
    for (unsigned listed = 0; listed < 2; listed++) {
        make(listed ? SW_MACHINE_X64 : SW_MACHINE_ARM64)->listed = listed;
        made.no_files = listed;
        const struct sw_core_files files = files_of(&shelf, BUILD_ID);
        made_core(&made);
        for (size_t at = 0; at < made.notes_end; at += HOST_STRIDE) {
            static const uint8_t changes[] = { 0x01, 0x80, 0xff };
            for (size_t c = 0; c < sizeof changes; c++) {
                made.bytes[at] ^= changes[c];
                ask_everything(NULL, made.bytes, made.size, &files);
                made.bytes[at] ^= changes[c];
            }
        }
    }
    assert_int_equal(shelf.open, 0);
}

static uint8_t *header_field(unsigned number, size_t offset)
{
    return made.bytes + sizeof(Elf64_Ehdr) + number * sizeof(Elf64_Phdr) + offset;
}

static void a_segment_that_overlaps_the_one_before_is_left_out(void **state)
{
    struct sw_core *core = NULL;
    uint8_t found[16];
    (void)state;
    make(SW_MACHINE_X64);
    made_core(&made);
    made_put(header_field(2, offsetof(Elf64_Phdr, p_vaddr)), STACK_OF_MAIN + 8, 8);
    made_put(header_field(5, offsetof(Elf64_Phdr, p_vaddr)), UINT64_MAX - 8, 8); /* and one that wraps */
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
    const struct sw_memory memory = sw_core_memory(core);
    assert_int_equal(core->segment_array.count, 3);
    assert_int_equal(memory.read(memory.arg, STACK_OF_MAIN + MADE_PAGE - 8, found, 16), 8);
    assert_int_equal(memory.read(memory.arg, UINT64_MAX - 4, found, 4), 0);
    sw_core_close(core);
}

/* A process may have more segments than the header can count: then a section header tells, and may lie. */
static void more_than_65534_segments_are_counted_elsewhere(void **state)
{
    enum { MANY = 70000, AT = 128 };
    const size_t size = AT + MANY * sizeof(Elf64_Phdr);
    uint8_t *bytes = calloc(1, size);
    (void)state;
    assert_non_null(bytes);
    made_core(make(SW_MACHINE_X64));
    memcpy(bytes, made.bytes, sizeof(Elf64_Ehdr));
    made_put(bytes + offsetof(Elf64_Ehdr, e_phoff), AT, 8);
    made_put(bytes + offsetof(Elf64_Ehdr, e_shoff), 64, 8);
    made_put(bytes + offsetof(Elf64_Ehdr, e_phnum), 0xffff, 2);
    for (uint64_t i = 0; i < MANY; i++) {
        const Elf64_Phdr segment = { PT_LOAD, PF_R, 0, i * MADE_PAGE, 0, 0, MADE_PAGE, MADE_PAGE };
        memcpy(bytes + AT + i * sizeof segment, &segment, sizeof segment);
    }
    for (unsigned lie = 0; lie < 2; lie++) {
        struct sw_core *core = NULL;
        made_put(bytes + 64 + 44, lie ? UINT32_MAX : MANY, 4);
        assert_int_equal(sw_core_open_bytes(NULL, bytes, size, &core), SW_OK);
        assert_int_equal(core->segment_array.count, MANY);
        assert_non_null(sw_core_segment_at(core, (uint64_t)(MANY - 1) * MADE_PAGE));
        sw_core_close(core);
    }
    free(bytes);
}

/* 1,000 headers that all show the same notes. */
static void notes_that_are_shown_again_and_again_come_to_an_end(void **state)
{
    enum { MANY = 1000 };
    const size_t notes_at = sizeof(Elf64_Ehdr) + MANY * sizeof(Elf64_Phdr);
    (void)state;
    made_core(make(SW_MACHINE_X64));
    const size_t notes = made.notes_end - made.notes_at;
    uint8_t *bytes = calloc(1, notes_at + notes);
    struct sw_core *core = NULL;
    assert_non_null(bytes);
    memcpy(bytes, made.bytes, sizeof(Elf64_Ehdr));
    memcpy(bytes + notes_at, made.bytes + made.notes_at, notes);
    made_put(bytes + offsetof(Elf64_Ehdr, e_phnum), MANY, 2);
    for (unsigned i = 0; i < MANY; i++) {
        const Elf64_Phdr header = { PT_NOTE, 0, notes_at, 0, 0, notes, 0, 4 };
        memcpy(bytes + sizeof(Elf64_Ehdr) + i * sizeof header, &header, sizeof header);
    }
    assert_int_equal(sw_core_open_bytes(NULL, bytes, notes_at + notes, &core), SW_OK);
    assert_in_range(sw_core_threads(core, NULL, 0), 2, 2 * ((notes_at + notes) / notes + 1));
    sw_core_close(core);
    free(bytes);
}

static uint8_t *note_data(uint32_t type)
{
    for (uint8_t *at = made.bytes + made.notes_at; at < made.bytes + made.notes_end;) {
        const uint32_t name = sw_load32(at), size = sw_load32(at + 4);
        uint8_t *data = at + 12 + (name + 3) / 4 * 4;
        if (sw_load32(at + 8) == type)
            return data;
        at = data + (size + 3) / 4 * 4;
    }
    fail();
    return NULL;
}

static void a_list_of_files_with_an_absurd_count_is_none(void **state)
{
    static const struct {
        uint64_t count, page;
    } rows[] = { { UINT64_MAX, MADE_PAGE }, { UINT64_MAX / 24 + 2, MADE_PAGE }, { 3, 0 }, { 3, UINT64_MAX }, { 0, 1 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sw_core *core = NULL;
        made_core(make(SW_MACHINE_X64));
        made_put(note_data(NT_FILE), rows[i].count, 8);
        made_put(note_data(NT_FILE) + 8, rows[i].page, 8);
        assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
        assert_int_equal(core->row_array.count, 0);
        sw_core_close(core);
    }
}

static void rows_of_files_that_make_no_sense_are_left_out(void **state)
{
    struct sw_core *core = NULL;
    (void)state;
    made_core(make(SW_MACHINE_X64));
    uint8_t *rows = note_data(NT_FILE) + 16;
    made_put(rows + 8, PROGRAM_AT, 8);                 /* empty */
    made_put(rows + 24 + 16, UINT64_MAX, 8);           /* an offset that wraps */
    made_put(rows + 48, PROGRAM_AT + DATA + 0x800, 8); /* not at a page: taken as it is */
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
    assert_int_equal(core->row_array.count, 1);
    assert_true(core->rows[0].begin == PROGRAM_AT + DATA + 0x800);
    sw_core_close(core);
}

static void a_thread_whose_record_is_too_short_is_left_out(void **state)
{
    struct sw_core *core = NULL;
    (void)state;
    made_core(make(SW_MACHINE_X64));
    Elf64_Ehdr *header = (void *)made.bytes;
    header->e_machine = EM_AARCH64; /* whose record is longer */
    assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), SW_OK);
    assert_int_equal(sw_core_threads(core, NULL, 0), 0);
    sw_core_close(core);
}

static void what_is_no_core_of_these_machines_is_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        enum sw_status status;
    } rows[] = {
        { 0, 'x', SW_E_MALFORMED },
        { EI_CLASS, ELFCLASS32, SW_E_UNSUPPORTED },
        { EI_DATA, ELFDATA2MSB, SW_E_UNSUPPORTED },
        { offsetof(Elf64_Ehdr, e_type), ET_DYN, SW_E_UNSUPPORTED },
        { offsetof(Elf64_Ehdr, e_machine), EM_386, SW_E_UNSUPPORTED },
        { offsetof(Elf64_Ehdr, e_phentsize), 32, SW_E_UNSUPPORTED },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sw_core *core = NULL;
        made_core(make(SW_MACHINE_X64));
        made.bytes[rows[i].at] = rows[i].value;
        assert_int_equal(sw_core_open_bytes(NULL, made.bytes, made.size, &core), rows[i].status);
        assert_null(core);
    }
}

/* Memory that runs out -------------------------------------------------------------------------------------------- */

struct ration {
    int left;
    int used;
};

static void *get(void *arg, size_t size)
{
    struct ration *ration = arg;
    if (ration->left-- <= 0)
        return NULL;
    ration->used++;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    struct ration *ration = arg;
    (void)size;
    ration->used--;
    free(block);
}

static void memory_may_run_out_anywhere(void **state)
{
    static struct shelf shelf;
    struct ration ration = { 0 };
    const struct sw_alloc alloc = { get, put, &ration };
    (void)state;
    make(SW_MACHINE_X64)->listed = true;
    made.no_files = true;
    made_core(&made);
    const struct sw_core_files files = files_of(&shelf, BUILD_ID);
    for (int most = 0; most < 16; most++) {
        struct sw_core *core = NULL;
        ration = (struct ration){ most, 0 };
        const enum sw_status status = sw_core_open_bytes(&alloc, made.bytes, made.size, &core);
        sw_core_close(core);
        assert_true(status == SW_E_NO_MEMORY || (status == SW_OK && most >= 3));
        assert_int_equal(ration.used, 0);
        ration.left = most;
        ask_everything(&alloc, made.bytes, made.size, &files);
        assert_int_equal(ration.used, 0);
        assert_int_equal(shelf.open, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_core_of_x64_tells_its_process_and_threads),
        cmocka_unit_test(a_core_of_arm64_tells_its_process_and_threads),
        cmocka_unit_test(null_pointers_are_refused),
        cmocka_unit_test(memory_comes_from_the_core_then_from_the_file),
        cmocka_unit_test(memory_that_was_cut_off_is_not_taken_from_the_file),
        cmocka_unit_test(stacks_of_x64_are_walked),
        cmocka_unit_test(signed_stacks_of_arm64_are_walked),
        cmocka_unit_test(the_stack_is_the_segment_around_sp),
        cmocka_unit_test(a_core_may_be_cut_short_while_it_is_open),
        cmocka_unit_test(a_file_with_another_build_id_is_refused),
        cmocka_unit_test(a_file_with_another_dynamic_section_is_refused),
        cmocka_unit_test(without_its_first_page_a_file_is_known_by_its_dynamic_section),
        cmocka_unit_test(a_file_that_cannot_be_compared_is_taken_and_marked),
        cmocka_unit_test(a_file_without_build_id_is_known_by_its_first_page),
        cmocka_unit_test(a_pe_file_is_known_by_its_headers),
        cmocka_unit_test(a_file_of_another_machine_is_refused),
        cmocka_unit_test(data_is_no_news_but_code_is),
        cmocka_unit_test(a_missing_file_may_be_found_later),
        cmocka_unit_test(what_no_note_tells_the_dynamic_linker_lists),
        cmocka_unit_test(a_listed_file_with_its_dynamic_section_elsewhere_is_refused),
        cmocka_unit_test(a_core_and_its_files_are_opened_by_path),
        cmocka_unit_test(a_newline_in_a_name_that_gcore_wrote_comes_back),
        cmocka_unit_test(a_core_says_how_much_it_lacks),
        cmocka_unit_test(a_core_may_end_anywhere),
        cmocka_unit_test(any_byte_of_headers_and_notes_may_lie),
        cmocka_unit_test(a_segment_that_overlaps_the_one_before_is_left_out),
        cmocka_unit_test(more_than_65534_segments_are_counted_elsewhere),
        cmocka_unit_test(notes_that_are_shown_again_and_again_come_to_an_end),
        cmocka_unit_test(a_list_of_files_with_an_absurd_count_is_none),
        cmocka_unit_test(rows_of_files_that_make_no_sense_are_left_out),
        cmocka_unit_test(a_thread_whose_record_is_too_short_is_left_out),
        cmocka_unit_test(what_is_no_core_of_these_machines_is_refused),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
