/*
 * Numbers that look random and are the same in each run.
 */
#ifndef TEST_SUPPORT_RANDOM_H
#define TEST_SUPPORT_RANDOM_H

#include <stdint.h>

/* xorshift64 (Marsaglia): never 0 where *seed is not. */
static inline uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

#endif
