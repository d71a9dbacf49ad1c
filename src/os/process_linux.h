/*
 * The inside of struct sw_process, for the files that implement it.
 */
#ifndef SW_OS_PROCESS_LINUX_H
#define SW_OS_PROCESS_LINUX_H

#include "os/maps_linux.h"
#include "os/os.h"

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
};

enum { SW_PROC_PATH_BYTES = 96 };

/*
 * process_threads_linux.c. A zombie has ended too. pac_mask: the tag alone where nothing is signed; 0: not known.
 */
bool sw_process_thread_ended(int pid, int tid);
struct sw_process_thread *sw_process_find_thread(const struct sw_process *process, uint64_t tid);
void sw_process_drop_threads(struct sw_process *process); /* lets all run, and forgets them */
uint64_t sw_process_pac_mask(const struct sw_process *process);

/* The memory map, read again unless the process has been stopped since the last time; forgets it. */
enum sw_status sw_process_read_maps(struct sw_process *process);
void sw_process_forget_maps(struct sw_process *process);

#endif
