/* struct sw_process, for the files that implement it. */
#ifndef SW_TARGET_LINUX_PROCESS_H
#define SW_TARGET_LINUX_PROCESS_H

#include "target/left_out.h"
#include "target/linux/maps.h"
#include "target/linux/os.h"
#include "target/linux/tracer.h"
#include "target/page_cache.h"

#include <snapwalk/process.h>

#include <dirent.h>
#include <time.h>

enum { SW_PROC_NAME_BYTES = 16 }; /* of a thread's name; Linux include/linux/sched.h, TASK_COMM_LEN */

/*
 * A seized thread. name: "" where it is not known. is_interrupted: it was requested to stop; not one that job control
 * has stopped, which reports that by itself. regs: as they were when the whole process was stopped, where
 * has_regs. signal: to be delivered at the detach. held_by_stop: sw_process_stop holds it. is_left_out: it is in the
 * kernel for long, and not waited for. suspend_count: how often the suspender holds it. ran_ns: its time on processors
 * when it was found running (is_timed). is_asleep: it is not seized at all, and counts as stopped, for it sleeps:
 * process_restart.c; turns: how often it had had a processor.
 */
struct sw_process_thread {
    int tid;
    char name[SW_PROC_NAME_BYTES];
    int signal;
    bool is_interrupted;
    bool stopped;
    bool held_by_stop;
    bool is_left_out;
    bool is_timed;
    bool is_asleep;
    uint32_t suspend_count;
    uint64_t ran_ns;
    uint64_t turns;
    bool has_regs;
    struct sw_regs regs;
};

/* A thread that was found in uninterruptible sleep; turns: how often it had had a processor. */
struct sw_process_sleeper {
    int tid;
    bool is_seen;
    uint64_t turns;
    uint64_t since;
};

struct sw_process_span {
    uint64_t begin;
    uint64_t end;
};

/* A copy of the target's [begin, begin + size), at offset `at` in the store. */
struct sw_process_copy {
    uint64_t begin;
    size_t size;
    size_t at;
};

/*
 * The capture of a thread: process_capture.c.
 *
 * name             When it was seized; "": not known.
 * stack            The mapping that contains sp; all 0 if unknown.
 * own_stack        The mapping of the thread's own stack, if it can be found.
 * is_on_own_stack  sp is in own_stack, so nothing leads to another stack.
 * copies           From sp up; of own_stack, if that is another mapping.
 */
struct sw_process_captured {
    struct sw_process *process;
    uint64_t tid;
    char name[SW_PROC_NAME_BYTES];
    struct sw_regs regs;
    struct sw_process_span stack;
    struct sw_process_span own_stack;
    bool is_on_own_stack;
    struct sw_process_copy copies[2];
};

/* Which program a process executes, of those that it may begin one after the other: by addresses that differ. */
struct sw_process_program {
    uint64_t start_code;
    uint64_t start_stack;
};

/* Memory is reused from one capture to the next; only the counts restart. */
struct sw_process_capture {
    bool is_of_program; /* else there is no capture, or a stop since */
    struct sw_process_program program;
    struct sw_process_captured *threads;
    size_t thread_count;
    size_t thread_room;
    uint8_t *store;
    size_t store_size;
    size_t store_room;
    uint64_t pac_mask;
    bool has_maps;              /* the memory map was read in the stop, or since */
    struct sw_page_cache pages; /* of the memory that is not copied, as far as it was read since */
    _Atomic(size_t) last_map;   /* of the rows, that which the last read was of */
};

/*
 * What was read of a process that stands: process_stop.c, process_walker.c. Memory is reused from one stop to the next.
 *
 * is_begun     The rest is of this stop.
 * stack_bytes  How much of a stack is copied. 0: the default.
 * copies       Of stacks, in the store.
 */
struct sw_process_stop {
    bool is_begun;
    size_t stack_bytes;
    struct sw_process_copy *copies;
    size_t copy_count;
    size_t copy_room;
    uint8_t *store;
    size_t store_size;
    size_t store_room;
    struct sw_page_cache pages;
};

/* Files that were replaced since they were mapped, for sw_process_get_replaced. Owns their paths. */
struct sw_replaced_list {
    struct sw_replaced_file *rows;
    size_t count;
    size_t room;
};

struct sw_process {
    struct sw_alloc alloc;
    int pid;
    int live_tid; /* pid, or another thread's id when the main thread has ended: /proc knows the process by both */
    bool own_child;
    bool maps_valid;
    bool may_refuse; /* its own seccomp filter may end it for restart_syscall(2): process_restart.c */
    int mem_file;    /* /proc/PID/mem; -1: not opened */
    struct sw_tracer tracer;
    pthread_mutex_t threads_lock; /* the tracer's, but while it seizes a thread */
    uint64_t seize_count;
    uint64_t seize_seen; /* when the tracer was last looked at */
    struct sw_process_thread *threads;
    size_t thread_count;
    size_t thread_room;
    struct sw_process_sleeper *sleepers;
    size_t sleeper_count;
    size_t sleeper_room;
    struct sw_left_out_list left_out;
    uint64_t pac_mask;
    struct sw_os_text maps_text;
    struct sw_map *maps;
    size_t map_count;
    size_t map_room;
    struct sw_replaced_list replaced;
    int error;           /* errno of the system call that failed last on the tracer */
    bool is_adopted;     /* stopped by the caller */
    uint64_t stop_began; /* 0: not stopped as a whole by us */
    struct sw_process_stop stop;
    uint64_t stopped_ns;
    struct sw_process_capture capture;
};

enum {
    SW_PROC_PATH_BYTES = 96,
    SW_PROC_TEXT_BYTES = 512,
    SW_RED_ZONE = 256, /* copied below sp: leaf functions may store there */
    SW_STACK_DEFAULT = 1 << 18,
    SW_STACK_MOST = 8 << 20
};

/*
 * process_task.c. thread_state: the letter of proc(5), 0: there is no such thread. thread_ended: a zombie counts as
 * ended. named_state: its name, too; "": not known; tasks: the open /proc/PID/task. is_of_kernel: a thread of the
 * kernel. count_threads: also those that have ended and were not waited for; 0: not known. executes: this program, now.
 * starts_before: a process that began at so many ticks, of which a second has hz, before a time; up and now: what
 * CLOCK_BOOTTIME and CLOCK_REALTIME say at one moment. thread_file: a file of a thread as a string; false: there is no
 * such thread, or it may not be read. next_thread: of an open /proc/PID/task, 0: no more. live_thread: one that has not
 * ended, if possible the main one; 0: none.
 */
char sw_process_thread_state(int pid, int tid);
char sw_process_named_state(int tasks, int tid, char name[SW_PROC_NAME_BYTES]);
bool sw_process_is_of_kernel(int pid);
uint64_t sw_process_count_threads(int pid);
struct sw_process_program sw_process_read_program(int pid);
bool sw_process_executes(int pid, const struct sw_process_program *program);
bool sw_process_thread_ended(int pid, int tid);
bool sw_process_starts_before(uint64_t ticks, long hz, const struct timespec *up, const struct timespec *now,
                              const struct timespec *time);
bool sw_process_thread_file(int pid, int tid, const char *file, char text[SW_PROC_TEXT_BYTES]);
int sw_process_next_thread(DIR *tasks);
int sw_process_live_thread(int pid);

/*
 * Whether a thread in uninterruptible sleep has slept for so long that nobody should wait for it; whether a thread that
 * does not stop has run in the kernel for so long. forget_sleepers: those that nobody asked for since the last time.
 * turns: how often a thread has had a processor, 0: not known.
 */
bool sw_process_sleeps_long(struct sw_process *process, int tid);
bool sw_process_runs_long(const struct sw_process *process, struct sw_process_thread *thread);
void sw_process_forget_sleepers(struct sw_process *process);
uint64_t sw_process_turns(int pid, int tid);

/* Where a thread sleeps. call: the number of its system call, -1: it is in none, and its arguments. */
enum { SW_PROC_ARGUMENTS = 6 };
struct sw_process_at {
    long call;
    uint64_t arguments[SW_PROC_ARGUMENTS];
    struct sw_regs regs;
};

/* False: it runs, or the kernel does not tell. text: receives what it says, which is equal while it sleeps on. */
bool sw_process_read_call(int pid, int tid, char text[SW_PROC_TEXT_BYTES], struct sw_process_at *at);

/* process_asleep.c. Captures those of the left out threads that sleep, and takes them from the list. */
enum sw_status sw_process_capture_sleepers(struct sw_process *process, size_t most);

/*
 * process_restart.c. find_filter: whether threads may have to be left asleep, at each stop. fall_asleep: whether this
 * one has to be, which is in a state of proc(5): its row is filled. sleeps_on: it has not woken since. repeat_call: of
 * one that stands: has it make its call again, not restart_syscall. thread_pointer: near to it, 0: not known.
 */
void sw_process_find_filter(struct sw_process *process);
bool sw_process_fall_asleep(const struct sw_process *process, struct sw_process_thread *thread, char state);
bool sw_process_sleeps_on(const struct sw_process *process, const struct sw_process_thread *thread);
void sw_process_repeat_call(const struct sw_process *process, int tid);
uint64_t sw_process_thread_pointer(int tid);

/*
 * process_obstacle.c. Whether a thread that could not be seized may be in a moment: what traces it is of a program like
 * us that has been killed, and ends after it.
 */
bool sw_process_is_left(int pid, int tid);

/* process_left_out.c. For when the list is whole. */
void sw_process_sort_left_out(struct sw_process *process);

/*
 * process_threads.c, on the tracer. seize: begins to trace and stop a thread, and puts it into the list; tasks: the
 * open /proc/PID/task. wait_for_stop: until it stands, or for a time. hold: one that was asleep and has woken, until it
 * stands or sleeps. detach: false: it cannot be let go now. reap_if_ended: of a thread that has ended; keeps: it stays
 * a zombie, for its parent.
 */
enum sw_status sw_process_seize(struct sw_process *process, int tasks, int tid);
enum sw_status sw_process_wait_for_stop(struct sw_process *process, struct sw_process_thread *thread);
enum sw_status sw_process_hold(struct sw_process *process, struct sw_process_thread *thread);
bool sw_process_detach(struct sw_process *process, struct sw_process_thread *thread);
void sw_process_remove_thread(struct sw_process *process, struct sw_process_thread *thread);
bool sw_process_reap_if_ended(int tid, bool keeps);

/*
 * process_calls.c; stop_threads, resume_threads, find_thread: process_threads.c. on_tracer: has the tracer make a call;
 * afterwards nothing is traced that is not wanted. Only such calls may use stop_threads, resume_threads (as
 * sw_process_stop, sw_process_resume) and read_regs. tls: receives the thread pointer, 0: unknown; may be null.
 * regs_of: of a thread that stands or sleeps. end_tracer: where it is a process, and nothing is held. drop_threads:
 * resumes all threads and forgets them. pac_mask_of: of a thread that the caller traces, 0: unknown.
 */
typedef enum sw_status sw_process_call(struct sw_process *process, void *arg);
enum sw_status sw_process_on_tracer(struct sw_process *process, sw_process_call *call, void *arg);
void sw_process_end_tracer(struct sw_process *process);
enum sw_status sw_process_stop_threads(struct sw_process *process);
enum sw_status sw_process_resume_threads(struct sw_process *process);
enum sw_status sw_process_read_regs(int tid, struct sw_regs *regs, uint64_t *tls);
enum sw_status sw_process_regs_of(const struct sw_process_thread *thread, struct sw_regs *regs, uint64_t *tls);
struct sw_process_thread *sw_process_find_thread(const struct sw_process *process, uint64_t tid);
void sw_process_drop_threads(struct sw_process *process);
uint64_t sw_process_pac_mask_of(int tid);

/*
 * process_stop.c. stack_most: how much of a stack to copy, as a caller wants it. forget_stop: a stop that was adopted
 * has ended. find_captured: among threads that ascend, as a stop leaves them; sort_captured: others. drop_stop,
 * drop_capture: free what is kept.
 */
void sw_process_forget_stop(struct sw_process *process);
size_t sw_process_stack_most(size_t stack_bytes);
void sw_process_drop_stop(struct sw_process *process);
void sw_process_sort_captured(struct sw_process *process);
const struct sw_process_captured *sw_process_find_captured(const struct sw_process *process, uint64_t tid);
void sw_process_drop_capture(struct sw_process *process);

/*
 * process_taken.c. begin_capture: forgets the last one; most: receives how much of a stack to copy. add_captured:
 * copies the stack of a thread that stands, or sleeps; add_uncopied: does not yet, null: no memory. tls: its thread
 * pointer, 0: unknown. capture_again: one that has woken, SW_E_GONE: is not captured; both: while they ascend.
 */
enum sw_status sw_process_begin_capture(struct sw_process *process, size_t stack_bytes, size_t *most);
struct sw_process_captured *sw_process_add_uncopied(struct sw_process *process, int tid, const struct sw_regs *regs,
                                                    uint64_t tls);
enum sw_status sw_process_add_captured(struct sw_process *process, int tid, const struct sw_regs *regs, uint64_t tls,
                                       size_t most);
enum sw_status sw_process_capture_again(struct sw_process *process, int tid, const struct sw_regs *regs, uint64_t tls,
                                        size_t most);
void sw_process_remove_captured(struct sw_process *process, int tid);

/*
 * process_copies.c. Copies what a thread needs of its stacks, up to `most` of each; and that of all captured threads,
 * which stand.
 */
enum sw_status sw_process_copy_stack(struct sw_process *process, struct sw_process_captured *thread, size_t most);
enum sw_status sw_process_copy_stacks(struct sw_process *process, size_t most);

/* process.c. read: the process' memory; never waits for the process. read_text: a file of /proc, as sw_os_read_file. */
size_t sw_process_read(void *process, uint64_t address, void *to, size_t size);
enum sw_status sw_process_read_text(const struct sw_process *process, const char *file, struct sw_os_text *text);

/*
 * read_maps: reads the memory map again, unless the process has been stopped since the last time, and parses it if it
 * has changed. captured_maps: only if the last capture has none. forget_maps: frees it.
 */
enum sw_status sw_process_read_maps(struct sw_process *process);
enum sw_status sw_process_captured_maps(struct sw_process *process);
void sw_process_forget_maps(struct sw_process *process);

/*
 * process_replaced.c. is_replaced: whether a file is known to be another than the one whose beginning is mapped there,
 * by the build ids. add_replaced: SW_OK; SW_E_NO_MEMORY. forget_replaced: empties the list; drop_replaced: frees it.
 */
bool sw_process_is_replaced(const struct sw_memory *memory, uint64_t address, const char *path);
enum sw_status sw_process_add_replaced(struct sw_process *process, const char *path, uint64_t address);
void sw_process_forget_replaced(struct sw_process *process);
void sw_process_drop_replaced(struct sw_process *process);

#endif
