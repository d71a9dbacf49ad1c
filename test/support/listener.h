/*
 * A profiler for tests of the harness: it writes down which callbacks were raised, and lets the test answer them. An
 * ICorProfilerCallback of any version, with a real reference count.
 */
#ifndef SW_TEST_LISTENER_H
#define SW_TEST_LISTENER_H

#include <snapwalk/corprof.h>

/*
 * com      First: the object's address is the interface's.
 * version  The highest ICorProfilerCallback that it knows, 2 to 11.
 * low, high  The event mask that Initialize sets.
 * answer   What Initialize and InitializeForAttach return.
 * on       Called in each callback with its name; may be null.
 * info     What Initialize was given.
 * told     The callbacks so far, a space after each. Cleared by the test.
 */
struct listener {
    ICorProfilerCallback11 com;
    ULONG references;
    unsigned version;
    DWORD low, high;
    HRESULT answer;
    void (*on)(struct listener *self, const char *callback);
    void *arg;
    ICorProfilerInfo15 *info;
    char told[8192];
};

/* A listener of version 11 with one reference, which wants no events. */
void listener_init(struct listener *self);

#endif
