/*
 * The inside of struct sw_process, for the files that implement it.
 */
#ifndef SW_OS_PROCESS_LINUX_H
#define SW_OS_PROCESS_LINUX_H

#include "target/linux/maps.h"
#include "target/linux/os.h"

#include <snapwalk/process.h>

/*
 * A thread that is seized. signal: to be handed over at the detach. whole: held by sw_process_stop; singles: suspends.
 */
struct sw_process_thread {
    int tid;
    int signal;
    bool stopped;
    bool whole;
    uint32_t singles;
};

struct sw_process_span {
    uint64_t begin;
    uint64_t end;
};

/* Bytes of the target's [begin, begin + size), in the store from `at`. */
struct sw_process_copy {
    uint64_t begin;
    size_t size;
    size_t at;
};

/*
 * What was taken down of a thread: process_capture_linux.c.
 *
 * stack    The mapping that sp is in, all 0 where none was known. home: the one that belongs to the thread, where that
 * can be told. is_home: it is where sp is, so that nothing leads to another stack. copies   From sp up; of home, where
 * that is another one.
 */
struct sw_process_captured {
    struct sw_process *process;
    uint64_t tid;
    struct sw_regs regs;
    struct sw_process_span stack;
    struct sw_process_span home;
    bool is_home;
    struct sw_process_copy copies[2];
};

/* Kept from one capture to the next: only the counts begin anew. */
struct sw_process_capture {
    struct sw_process_captured *threads;
    size_t thread_count;
    size_t thread_room;
    uint8_t *store;
    size_t store_size;
    size_t store_room;
    uint64_t pac_mask;
};

struct sw_process {
    struct sw_alloc alloc;
    int pid;
    bool own_child;
    bool maps_known;
    int mem_file; /* /proc/PID/mem; -1: not opened yet, -2: cannot be */
    struct sw_process_thread *threads;
    size_t thread_count;
    size_t thread_room;
    struct sw_os_text maps_text;
    struct sw_map *maps;
    size_t map_count;
    uint8_t *window;
    size_t window_room;
    uint64_t stop_began; /* 0: not stopped as a whole */
    uint64_t stopped_ns;
    struct sw_process_capture capture;
};

enum {
    SW_PROC_PATH_BYTES = 96,
    SW_RED_ZONE = 256, /* copied below sp: leaf code may store there */
    SW_STACK_MOST = 8 << 20
};

/*
 * process_threads.c. A zombie has ended too. pac_mask: the tag alone where nothing is signed; 0: not known, or the
 * machine has no signatures. tls: the thread pointer, may be null; 0: not known.
 */
bool sw_process_thread_ended(int pid, int tid);
struct sw_process_thread *sw_process_find_thread(const struct sw_process *process, uint64_t tid);
void sw_process_drop_threads(struct sw_process *process); /* lets all run, and forgets them */
uint64_t sw_process_pac_mask(const struct sw_process *process);
enum sw_status sw_process_read_regs(int tid, struct sw_regs *regs, uint64_t *tls);

/* process_capture_linux.c. */
const struct sw_process_captured *sw_process_find_captured(const struct sw_process *process, uint64_t tid);
void sw_process_drop_capture(struct sw_process *process);

/* process_linux.c. Reads the process' memory. */
size_t sw_process_read(void *process, uint64_t address, void *to, size_t size);

/*
 * The memory map, read again unless the process has been stopped since the last time, and taken apart again where it
 * has changed; forgets it.
 */
enum sw_status sw_process_read_maps(struct sw_process *process);
void sw_process_forget_maps(struct sw_process *process);

#endif
