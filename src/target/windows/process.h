/* struct sw_process, for the files that implement it. */
#ifndef SW_TARGET_WINDOWS_PROCESS_H
#define SW_TARGET_WINDOWS_PROCESS_H

#include "target/left_out.h"
#include "target/page_cache.h"
#include "target/windows/threads.h"

#include <snapwalk/process.h>

/* A thread that this program has suspended: by a stop of the process, and as often as the suspender did. */
struct sw_process_thread {
    DWORD tid;
    HANDLE handle;
    bool held_by_stop;
    uint32_t suspend_count;
};

/*
 * The capture of a thread.
 *
 * stack_begin, stack_end  The bounds of its stack; 0, 0 if unknown.
 * at, size                What was copied of its stack, from sp up: in the store.
 */
struct sw_process_captured {
    struct sw_process *process;
    uint64_t tid;
    struct sw_regs regs;
    uint64_t stack_begin, stack_end;
    size_t at, size;
};

/* Memory is reused from one capture to the next. */
struct sw_process_capture {
    struct sw_process_captured *threads;
    size_t count, room;
    uint8_t *store;
    size_t store_size, store_room;
    struct sw_page_cache pages; /* of the memory that is not copied, as far as it was read since */
};

struct sw_process {
    struct sw_alloc alloc;
    DWORD pid;
    HANDLE handle;
    struct sw_process_thread *threads; /* ascending ids */
    size_t thread_count, thread_room;
    struct sw_left_out_list left_out;
    uint8_t *window;
    size_t window_room;
    uint64_t stop_began; /* 0: not stopped as a whole */
    uint64_t stopped_ns;
    struct sw_process_capture capture;
};

enum { SW_STACK_MOST = 8 << 20 };

/* process.c. Never waits for the process. */
size_t sw_process_read(void *process, uint64_t address, void *to, size_t size);

/* process_threads.c. read_regs: of a thread that is suspended. stack: 0, 0 where it is not known. */
struct sw_process_thread *sw_process_find_thread(const struct sw_process *process, uint64_t tid);
enum sw_status sw_process_read_regs(HANDLE thread, struct sw_regs *regs);
void sw_process_stack(struct sw_process *process, HANDLE thread, uint64_t *begin, uint64_t *end);
void sw_process_drop_threads(struct sw_process *process);

/* process_capture.c */
const struct sw_process_captured *sw_process_find_captured(const struct sw_process *process, uint64_t tid);
void sw_process_drop_capture(struct sw_process *process);

#endif
