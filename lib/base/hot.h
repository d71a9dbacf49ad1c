/*
 * Marks the functions that a walk along known frames runs through, from a profiler's handler down. Between two samples
 * the processor's caches have seen other code, so each line and page that these lie in is waited for: linkers lay what
 * is marked side by side (.text.hot), in any program that has the library within.
 */
#ifndef SW_BASE_HOT_H
#define SW_BASE_HOT_H

#if defined(__GNUC__)
#define SW_HOT __attribute__((hot))
#else
#define SW_HOT
#endif

#endif
