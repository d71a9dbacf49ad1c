/*
 * A program being single-stepped: started, run to its entry, stepped; its registers, memory and mappings. Linux, x64.
 */
#ifndef STEP_TARGET_H
#define STEP_TARGET_H

#include "shadow.h"

#include "os/maps_linux.h"

#include <snapwalk/memory.h>

#include <sys/types.h>
#include <sys/user.h>

enum { TARGET_MAPS = 512, TARGET_PAGES = 512, TARGET_WINDOW = 1 << 20 };

/*
 * maps_text holds the text that the rows point into. pages: code that was read, by page; code of files does not change.
 * window: the stack from sp, as target_look left it.
 */
struct target {
    pid_t pid;
    bool ended;
    int signal; /* to be delivered with the next step */
    uint64_t steps;
    char *maps_text;
    struct sw_map maps[TARGET_MAPS];
    size_t map_count;
    uint64_t stack_end;
    struct target_page {
        uint64_t begin;
        uint8_t bytes[4096];
    } pages[TARGET_PAGES];
    uint8_t window[TARGET_WINDOW];
    struct sw_memory memory;
};

/*
 * Starts a program with an empty environment and without address randomisation, stopped at the entry point of the
 * program itself: the dynamic linker has done its work.
 *
 * Returns  True; false after a message.
 */
bool target_start(struct target *target, char *const argv[]);
void target_end(struct target *target);

/* Reads the mappings anew. */
bool target_map(struct target *target);

/* Executes one instruction, or enters a handler (*entered). False: the program has ended. */
bool target_step(struct target *target, bool *entered);

bool target_regs(const struct target *target, struct user_regs_struct *regs);

/* Memory: 0 when unreadable; the instruction bytes at pc, how many there are; a copy of the stack from sp. */
size_t target_read(void *target, uint64_t address, void *to, size_t size);
uint64_t target_word(struct target *target, uint64_t address);
size_t target_code(struct target *target, uint64_t pc, const uint8_t **bytes);
void target_look(struct target *target, uint64_t sp);

/* The mapping around an address, or null. */
const struct sw_map *target_map_at(const struct target *target, uint64_t address);

#endif
