/* A call of an interpreted function, as its runtime describes it: what the readers of Python, Ruby and PHP fill. */
#ifndef RUNTIMES_CALL_H
#define RUNTIMES_CALL_H

#include <snapwalk/image.h>

#include <stdbool.h>
#include <stdint.h>

enum { CALL_TEXT_BYTES = 512, CALLS_MOST = 1000 };

/* Texts are empty, or "?", where they are not known; line: 0. */
struct runtime_call {
    char function[CALL_TEXT_BYTES], file[CALL_TEXT_BYTES];
    int line;
};

/* Whether code at an address is of the function at `function`, by symbols; most: how long that is at most. */
bool call_executes(const struct sw_images *images, uint64_t function, uint64_t most, uint64_t lookup);

/* A number for calls, in their order: begin with 1, and add what tells each from others. */
static inline uint64_t call_hash(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
