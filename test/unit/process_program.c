/*
 * The program that a process executes: walked from the dynamic linker's first instruction on, and not taken for the
 * program before it.
 */
#include "../support/nap.h"

#include <snapwalk/image.h>
#include <snapwalk/process.h>
#include <snapwalk/walk.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "traced.h"

static bool can_trace;

static void end(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

/* ---- another program ---- */

/* A child that begins another program when a byte is written; then `began` ends. */
struct starter {
    pid_t child;
    int go, began;
};

static struct starter make_starter(void)
{
    int go[2], began[2];
    char byte;
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    assert_int_equal(pipe2(began, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(began[0]);
        if (write(began[1], "r", 1) == 1 && read(go[0], &byte, 1) == 1)
            execl("/bin/sleep", "sleep", "100", (char *)NULL);
        _exit(1);
    }
    close(go[0]);
    close(began[1]);
    assert_int_equal(read(began[0], &byte, 1), 1);
    return (struct starter){ child, go[1], began[0] };
}

static void begin_another_program(const struct starter *starter)
{
    char byte;
    assert_int_equal(write(starter->go, "g", 1), 1);
    assert_int_equal(read(starter->began, &byte, 1), 0);
}

static void end_starter(struct starter *starter)
{
    close(starter->go);
    close(starter->began);
    end(starter->child);
}

/* The first address in its memory map. */
static uint64_t first_address(pid_t child)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
    FILE *maps = fopen(path, "r");
    assert_non_null(maps);
    assert_non_null(fgets(text, sizeof text, maps));
    fclose(maps);
    return strtoull(text, NULL, 16);
}

/* Its memory map would give the addresses of the one before other meanings. */
static void a_capture_is_not_read_by_the_map_of_another_program(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    struct sw_process *process = NULL;
    struct sw_images *images = NULL;
    struct sw_regs regs;
    struct sw_walker walker;
    uint64_t tid = 0, word = 0;
    (void)state;
    struct starter starter = make_starter();
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_false(sw_process_executes_captured(NULL));
    assert_int_equal(sw_process_open(NULL, starter.child, &process), SW_OK);
    assert_false(sw_process_executes_captured(process));
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_true(sw_process_executes_captured(process));
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    assert_int_equal(sw_process_captured(process, &tid, 1), 1);
    assert_int_equal(sw_process_captured_walker(process, tid, NULL, images, &regs, &walker), SW_OK);
    begin_another_program(&starter);
    assert_int_equal(sw_process_add_images(process, images), SW_E_GONE);
    assert_int_equal(sw_process_add_captured_images(process, images), SW_E_GONE);
    const struct sw_memory memory = sw_process_captured_memory(process);
    assert_int_equal(memory.read(memory.arg, first_address(starter.child), &word, sizeof word), 0);

    /* Captured again, or stopped, it is what it is now. */
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_true(sw_process_executes_captured(process));
    assert_int_equal(sw_process_resume(process), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    sw_process_close(process);
    sw_images_destroy(images);
    end_starter(&starter);
}

static void a_stop_ends_what_a_capture_said_of_the_program(void **state)
{
    HOST_NEEDS(can_trace, "ptrace");
    struct sw_process *process = NULL;
    struct sw_images *images = NULL;
    (void)state;
    struct starter starter = make_starter();
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_open(NULL, starter.child, &process), SW_OK);
    assert_int_equal(sw_process_capture(process, 0), SW_OK);
    begin_another_program(&starter);
    assert_int_equal(sw_process_stop(process), SW_OK);
    assert_false(sw_process_executes_captured(process));
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    assert_int_equal(sw_process_resume(process), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    sw_process_close(process);
    sw_images_destroy(images);
    end_starter(&starter);
}

/* ---- the first instructions ---- */

static enum sw_stop walk_to_the_end(struct sw_process *process, struct sw_images *images, const struct sw_regs *regs)
{
    static struct sw_scratch scratch;
    struct sw_walker walker;
    struct sw_walk walk;
    assert_int_equal(sw_process_adopt_stop(process, 0), SW_OK);
    assert_int_equal(sw_process_add_images(process, images), SW_OK);
    assert_int_equal(sw_process_walker(process, regs, NULL, images, &walker), SW_OK);
    sw_walk_start(&walk, &walker, &scratch, regs, true);
    while (sw_walk_next(&walk))
        ;
    assert_int_equal(sw_process_resume(process), SW_OK);
    return walk.stop;
}

/* Stands at its first instruction, which is the dynamic linker's. */
static pid_t begin_traced(void)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
    return child;
}

static void the_dynamic_linkers_start_has_no_caller(void **state)
{
    enum { STEPS = 200 };
    HOST_NEEDS(can_trace, "ptrace");
    struct sw_process *process = NULL;
    struct sw_images *images = NULL;
    int status;
    (void)state;
    const pid_t child = begin_traced();
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    for (unsigned step = 0; step < STEPS; step++) {
        const struct sw_regs regs = traced_registers(child);
        assert_int_equal(walk_to_the_end(process, images, &regs), SW_STOP_ROOT);
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSTOPPED(status));
    }
    sw_process_close(process);
    sw_images_destroy(images);
    end(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_is_not_read_by_the_map_of_another_program),
        cmocka_unit_test(a_stop_ends_what_a_capture_said_of_the_program),
        cmocka_unit_test(the_dynamic_linkers_start_has_no_caller),
    };
    can_trace = host_can_trace();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
