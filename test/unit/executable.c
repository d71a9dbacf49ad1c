/*
 * What a return address may lead to: memory that can be executed, as far as the target's memory map tells. Each row is
 * a place of this process, and of a child that is a copy of it; a leaf returns to it.
 */
#include "rows.h"
#include "host.h"

#include <snapwalk/process.h>
#include <snapwalk/self.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum { PAGE = 4096, WORDS = 16, AT = 64 };

static const uint8_t call_bytes[2][4] = { { 0x90, 0x90, 0xff, 0xd0 }, { 0x00, 0x00, 0x3f, 0xd6 } };
static const uint8_t other_bytes[2][4] = { { 0x90, 0x90, 0x90, 0x90 }, { 0x1f, 0x20, 0x03, 0xd5 } };
static uint8_t variables[2 * AT] __attribute__((aligned(AT)));

static struct sw_scratch scratch;

/* Memory with the bytes in front of the place. */
static uint64_t filled(uint8_t *memory, bool with_call)
{
    memcpy(memory + AT - 4,
           with_call ? call_bytes[host_machine() == SW_MACHINE_ARM64] : other_bytes[host_machine() == SW_MACHINE_ARM64],
           4);
    return (uint64_t)(uintptr_t)memory + AT;
}

static uint8_t *map(int protection, int file)
{
    uint8_t *memory =
        mmap(NULL, PAGE, protection, file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, file, file < 0 ? 0 : PAGE);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static uint64_t in_an_image(bool with_call)
{
    return filled(variables, with_call);
}

static uint64_t in_the_heap(bool with_call)
{
    uint8_t *memory = sbrk(PAGE);
    HOST_NEEDS(memory != (void *)-1, "room behind the heap (qemu-user may have mapped something there)");
    return filled(memory, with_call);
}

static uint64_t in_a_file(bool with_call)
{
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    uint8_t *memory = map(PROT_READ | PROT_WRITE, file);
    close(file);
    return filled(memory, with_call);
}

static uint64_t in_anonymous_memory(bool with_call)
{
    return filled(map(PROT_READ | PROT_WRITE, -1), with_call);
}

static uint64_t in_generated_code(bool with_call)
{
    uint8_t *memory = map(PROT_READ | PROT_WRITE, -1);
    const uint64_t place = filled(memory, with_call);
    assert_int_equal(mprotect(memory, PAGE, PROT_READ | PROT_EXEC), 0);
    return place;
}

/* later: the place is made behind the last refresh; the child is made before. */
static const struct row {
    const char *name;
    uint64_t (*place)(bool with_call);
    bool with_call, later, is_code;
} rows[] = {
    { "variables_of_an_image_are_no_code", in_an_image, true, false, false },
    { "a_heap_is_no_code_whatever_it_holds", in_the_heap, true, false, false },
    { "a_file_that_was_mapped_is_no_code", in_a_file, true, false, false },
    { "generated_code_is_code", in_generated_code, false, false, true },
    { "generated_code_is_code_behind_a_call_too", in_generated_code, true, false, true },
    { "memory_that_may_be_a_runtimes_is_code_behind_a_call", in_anonymous_memory, true, false, true },
    { "memory_that_may_be_a_runtimes_is_none_elsewhere", in_anonymous_memory, false, false, false },
    { "code_generated_later_is_code_behind_a_call", in_generated_code, true, true, true },
    { "memory_that_came_later_is_none_elsewhere", in_anonymous_memory, false, true, false },
};

/* A leaf, whose code is never looked at, that returns to the place. */
static void assert_returns(struct sw_walker *walker, const struct row *row, uint64_t place)
{
    uint64_t words[WORDS] = { place };
    struct sw_codemap *codemap;
    struct sw_walk walk;
    struct sw_regs regs = { .machine = walker->machine };
    const uint64_t leaf = (uint64_t)(uintptr_t)assert_returns;
    const struct sw_range range = {
        .begin = leaf, .end = leaf + 4, .id = 1, .kind = SW_KIND_NATIVE, .unwind = SW_UNWIND_LEAF
    };
    assert_int_equal(sw_codemap_create(NULL, &codemap), SW_OK);
    assert_int_equal(sw_codemap_add(codemap, &range), SW_OK);
    walker->codemap = codemap;
    walker->flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    walker->stack_begin = walker->stack_end = 0;
    walker->memory.window =
        (struct sw_window){ (uint64_t)(uintptr_t)words, (uint64_t)(uintptr_t)(words + WORDS), (const uint8_t *)words };
    sw_regs_set(&regs, sw_regs_pc_number(regs.machine), leaf);
    sw_regs_set(&regs, sw_regs_sp_number(regs.machine), (uint64_t)(uintptr_t)words);
    if (sw_regs_link_number(regs.machine) != SW_REGS_MAX)
        sw_regs_set(&regs, sw_regs_link_number(regs.machine), place);
    sw_walk_start(&walk, walker, &scratch, &regs, true);
    assert_true(sw_walk_next(&walk));
    assert_int_equal(sw_walk_next(&walk), row->is_code);
    if (!row->is_code)
        assert_int_equal(walk.stop, SW_STOP_BAD_PC);
    sw_codemap_destroy(codemap);
}

static bool has_heap_row(void)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, "[heap]") != NULL;
    fclose(maps);
    return found;
}

static void code_is_told_from_data(void **state)
{
    const struct row *row = *state;
    struct sw_images *images;
    struct sw_walker walker;
    uint64_t place = row->later ? 0 : row->place(row->with_call);
    HOST_NEEDS(row->place != in_the_heap || has_heap_row(), "a memory map that names the heap");
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    place = row->later ? row->place(row->with_call) : place;
    assert_returns(&walker, row, place);
    sw_images_destroy(images);
}

/* The same memory in another process. */
static void code_of_a_process_is_told_from_data(void **state)
{
    const struct row *row = *state;
    struct sw_process *process;
    struct sw_images *images;
    struct sw_regs regs;
    struct sw_walker walker;
    HOST_NEEDS(host_can_trace(), "a process that may trace another");
    HOST_NEEDS(row->place != in_the_heap || has_heap_row(), "a memory map that names the heap");
    const uint64_t place = row->place(row->with_call);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* where an assertion fails nobody ends it */
        for (;;)
            pause();
    }
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    assert_int_equal(sw_process_regs(process, (uint64_t)child, &regs), SW_OK);
    assert_int_equal(sw_process_walker(process, &regs, NULL, images, &walker), SW_OK);
    assert_returns(&walker, row, place);
    sw_images_destroy(images);
    sw_process_close(process);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT_OF(rows)];
    FILL_ROWS(tests, rows, code_is_told_from_data);
    FILL_ROWS(tests + COUNT_OF(rows), rows, code_of_a_process_is_told_from_data);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
