/*
 * ICorProfilerThreadEnum over a thread table.
 */
#ifndef SW_THREAD_ENUM_H
#define SW_THREAD_ENUM_H

#include <snapwalk/alloc.h>
#include <snapwalk/corprof.h>
#include <snapwalk/thread.h>

/*
 * Makes an enumerator over the threads of this moment that have started and are not GC special. *out has one reference;
 * `alloc` is copied and gets everything back at the last Release.
 *
 * Returns  S_OK; E_OUTOFMEMORY.
 */
HRESULT sw_thread_enum_create(const struct sw_alloc *alloc, const struct sw_threads *threads,
                              ICorProfilerThreadEnum **out);

#endif
