/* The thread table from the inside. */
#ifndef SW_SNAPSHOT_THREADS_H
#define SW_SNAPSHOT_THREADS_H

#include <snapwalk/thread.h>

#ifndef NDEBUG
/*
 * What always holds of the table, while no other writer is inside; asserted in builds for tests (make ASSERTS=1), not
 * there in others: free slots are closed, an id is in one open slot at most, and facts are those of their thread.
 */
bool sw_threads_is_valid(const struct sw_threads *threads);
#endif

#endif
