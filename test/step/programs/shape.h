/* What the stepped programs share: values that no compiler can know, and a place for results. */
#ifndef SHAPE_H
#define SHAPE_H

#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone, noipa))
#endif

extern volatile long shape_seed;
extern volatile long shape_sink;

#define SHAPE_PLACES                                                                                                   \
    volatile long shape_seed = 5;                                                                                      \
    volatile long shape_sink;

#endif
