/*
 * A profiler for tests: in a real .NET process it asks the CLR and this library the same questions, and compares.
 * What its files share.
 */
#ifndef PROBE_H
#define PROBE_H

#include <snapwalk/clr.h>

#include <stdatomic.h>
#include <stdio.h>

#if defined(_WIN32)
#define TEXT_FORMAT gnu_printf
#else
#define TEXT_FORMAT printf
#endif

/* Where a snapshot is taken. ORDER occasion: report.c. */
enum occasion {
    AT_PINVOKE,
    AT_COOPERATIVE,
    AT_COOPERATIVE_SEEDED,
    AT_SUSPENDED,
    AT_ALLOCATION,
    AT_JIT_STARTED,
    AT_JIT_FINISHED,
    AT_CACHE_SEARCH,
    AT_CLASS_LOAD,
    AT_MODULE_LOAD,
    AT_EXCEPTION_THROWN,
    AT_SEARCH_FUNCTION,
    AT_SEARCH_FILTER,
    AT_SEARCH_CATCHER,
    AT_UNWIND_FUNCTION,
    AT_UNWIND_FINALLY,
    AT_CATCHER,
    AT_THREAD_EVENT,
    AT_GC,
    AT_TRANSITION,
    AT_THREAD_SUSPENDED,
    AT_THREAD_RESUMED,
    AT_NATIVE_THREAD,
    AT_REFUSAL,
    AT_STOPPED,
    AT_STOPPED_OWN_SEED,
    AT_STOPPED_SEEDED,
    AT_STOPPED_BAD_SEED,
    AT_STOPPED_OUTER,
    OCCASIONS
};

extern ICorProfilerInfo10 *info;

/* ---- compare.c ---- */

/*
 * Asks both for one walk and counts whether they agree; a difference is reported in full. target 0: this thread.
 * flags: COR_PRF_SNAPSHOT_*. seed: null, or a CONTEXT of seed_size bytes.
 */
void compare(enum occasion occasion, ThreadID target, ULONG32 flags, BYTE *seed, ULONG32 seed_size);

/*
 * The same in two parts, around what must not print or allocate, as while the target stands suspended. prepare: once on
 * the calling thread. compare_quietly returns false where they differ; report_difference tells of the one before, and
 * last_answer what the CLR said in it.
 */
bool prepare_comparisons(void);
bool compare_quietly(enum occasion occasion, ThreadID target, ULONG32 flags, BYTE *seed, ULONG32 seed_size);
void report_difference(void);
HRESULT last_answer(void);

/* Around walks that compare.c does not make: nobody else walks the thread meanwhile. target 0: this thread. */
void wait_for_walks(ThreadID target);
void end_walks(ThreadID target);

/* Both flags, unseeded, this thread. */
void compare_here(enum occasion occasion);

/* ---- refusals.c ---- */

/* Every refusal of the ladder that can be had on this thread, which is inside a platform invoke. Once in a process. */
void compare_refusals(void);

/* A thread of its own that stops the runtime again and again and compares every thread. */
void start_suspender(unsigned milliseconds);
void stop_suspender(void);

/* ---- report.c ---- */

extern FILE *report;
void open_report(void);
void count(enum occasion occasion, bool identical, HRESULT real);
void count_zeros(unsigned registers);
bool may_report_difference(enum occasion occasion);
void print_counts(void);
const char *occasion_name(enum occasion occasion);

/* Text that is made in one piece and printed later. What does not fit is left out. */
struct text {
    size_t used;
    char bytes[1 << 16];
};
void add_text(struct text *text, const char *format, ...) __attribute__((format(TEXT_FORMAT, 2, 3)));
void print_text(const struct text *text);

/* ---- linux/, windows/ ---- */

/* What the system that this runs on needs done to it first, and how often that was needed: see windows/repair.c. */
bool prepare_system(void);
void print_system(void);

/*
 * Holds a thread where the CLR walks a thread that runs, until it is let go; null: it is not held. Nothing may be
 * allocated or printed meanwhile.
 */
void *stop_thread(ThreadID thread);
void let_go(void *held);

/*
 * Any instant. On Linux by signals, whose handlers walk with the library alone; on Windows threads are stopped from
 * outside and compared. hertz: for each thread.
 */
void start_sampling(unsigned hertz);
void sample_this_thread(void);
void forget_this_thread(void);
void check_last_sample(void);
void print_samples(void);

/* ---- rejit.c ---- */

void note_candidate(FunctionID function);
void request_rejit(void);
void count_rejit(void);
void print_rejits(void);

/* ---- finder.c ---- */

void check_finder(void);

/* ---- events.c ---- */

/* Puts a clock around the slots of the table that feed the library; the workload can turn them off from then on. */
void time_events(ICorProfilerCallback11Vtbl *table);
void print_event_times(void);

/* ---- cost.c ---- */
void measure_cost(void);

#endif
