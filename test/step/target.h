/*
 * A program being single-stepped: one thread of it, its registers, memory and mappings. Under ptrace (target_ptrace.c,
 * x64) or in qemu-aarch64 (target_qemu.c, ARM64): which one is linked decides.
 */
#ifndef STEP_TARGET_H
#define STEP_TARGET_H

#include "shadow.h"

#include "target/linux/maps.h"

#include <snapwalk/image.h>

#include <signal.h>
#include <sys/types.h>

enum { TARGET_MAPS = 4096, TARGET_PAGES = 512, TARGET_WINDOW = 1 << 20, TARGET_MAPS_TEXT = 1 << 20 };

/* What is stepped: for the library, and for the shadow stack. */
extern const enum sw_machine target_machine;
extern const struct shadow_machine *const target_shadow;

/* What ptrace or qemu alone needs. */
struct target_own;

/*
 * maps_text holds the text that the rows point into. pages: code that was read, by page; code of files does not change.
 * stack_begin, stack_end: the thread's stack. window: the stack from sp, as target_look left it.
 * tid: the thread that is stepped; the others run freely. running: it was not seen to stop. over: set by a signal
 * handler to end a wait; may be null. shift: from the program's addresses to those of process pid. own: null until it
 * is needed.
 */
struct target {
    pid_t pid;
    pid_t tid;
    bool ended;
    bool running;
    bool executed; /* another program: what was known of this one is gone */
    int signal;    /* to be delivered with the next step */
    uint64_t shift;
    struct target_own *own;
    const volatile sig_atomic_t *over;
    uint64_t steps;
    char *maps_text;
    struct sw_map maps[TARGET_MAPS];
    size_t map_count;
    uint64_t stack_begin, stack_end;
    struct target_page {
        uint64_t begin;
        uint8_t bytes[4096];
    } pages[TARGET_PAGES];
    uint8_t window[TARGET_WINDOW];
    struct sw_memory memory;
};

/*
 * Starts a program with an environment (null: an empty one) and without address randomisation, stopped at the entry
 * point of the program itself: the dynamic linker has done its work.
 *
 * Returns  True; false after a message.
 */
bool target_start(struct target *target, char *const argv[], char *const environment[]);

/*
 * Starts a program, lets it run for some time, and stops one thread: the one of this name, or else the one that has run
 * longest.
 */
bool target_attach(struct target *target, char *const argv[], char *const environment[], unsigned milliseconds,
                   const char *thread);

/* Lets the thread run freely for some time, and stops it wherever it is. False: the program has ended. */
bool target_run(struct target *target, unsigned milliseconds);

void target_end(struct target *target);

/* Reads the mappings anew and forgets the code that was kept; the stack is the one that sp is in. */
bool target_map(struct target *target);
void target_find_stack(struct target *target, uint64_t sp);

/* Executes one instruction, or enters a handler (*entered). False: the program has ended, or the wait for it. */
bool target_step(struct target *target, bool *entered);

bool target_regs(const struct target *target, struct sw_regs *regs);

/* Memory: 0 when unreadable; the instruction bytes at pc, how many there are; a copy of the stack from sp. */
size_t target_read(void *target, uint64_t address, void *to, size_t size);
uint64_t target_word(struct target *target, uint64_t address);
size_t target_code(struct target *target, uint64_t pc, const uint8_t **bytes);
void target_look(struct target *target, uint64_t sp);

/* Registers the images that are mapped now, and forgets those that are gone. Adds code that is mapped a second time. */
bool target_images(struct target *target, struct sw_images *images);
bool target_mirror(struct target *target, struct sw_codemap *codemap);

/* The mapping around an address, or null. Whether it is of a file whose code stays as it is. */
const struct sw_map *target_map_at(const struct target *target, uint64_t address);
bool target_is_file(const struct sw_map *map);
bool target_is_main_stack(const struct sw_map *map);

/*
 * For ptrace's and qemu's files: what both do. become: in a child, never returns. prepare: an empty target; learn:
 * mappings and stack of one that is stopped; take_maps: rows of the text in maps_text. failed: false, after a message.
 */
void target_become(char *const argv[], char *const environment[]);
bool target_prepare(struct target *target);
bool target_learn(struct target *target);
void target_take_maps(struct target *target, size_t size);
void target_sleep(unsigned milliseconds);
size_t target_read_file(const char *path, char *to, size_t size);
bool target_failed(const char *what);

#endif
