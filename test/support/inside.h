/*
 * What the scenarios in one process share: a thread that is interrupted all the time and walks in its handler, an
 * allocator that counts and can fail, and what a process holds, to be compared.
 */
#ifndef TEST_SUPPORT_INSIDE_H
#define TEST_SUPPORT_INSIDE_H

#include <snapwalk/analysis_cache.h>
#include <snapwalk/cache.h>
#include <snapwalk/self.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Blocks and bytes that are out. fail_at: the call, from 1, that gets nothing; 0: none. */
struct account {
    _Atomic long blocks, bytes, calls, fail_at;
};

/* An allocator over an account. */
struct sw_alloc account_alloc(struct account *account);

/* What this process holds: open files, rows of its memory map. */
struct holdings {
    unsigned files, maps;
};
struct holdings count_holdings(void);

/*
 * Whether nothing was lost since. Memory maps may vary by a few: the C library keeps stacks and arenas of threads that
 * have ended. What differs is printed.
 */
bool nothing_leaked(const struct holdings *before, const struct account *account);

/* What all walks by handlers have come to, in all threads. strange: ends that no walk may have. */
struct sampled {
    _Atomic unsigned long samples, whole, cut, lost, frames, nested;
    _Atomic int first_cut;
};
extern struct sampled sampled;

/* What handlers walk over; the range that is always registered, if there is a code map. */
struct scene {
    struct sw_codemap *codemap;
    struct sw_images *images;
    struct sw_cache *cache;
    struct sw_analysis_cache *analysis;
    struct account account;
    long period_us;
};
extern struct scene scene;
enum { LASTING_BEGIN = 0x1000, LASTING_END = 0x2000 };

/* Makes and fills the scene; gives it back. */
bool make_scene(long period_us);
void free_scene(void);

/* begin: from now on this thread is interrupted each period. any_stack: it runs on stacks of its own making. */
void begin_sampling(bool any_stack);
void end_sampling(void);

double seconds_now(void);

#endif
