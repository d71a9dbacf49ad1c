/*
 * Which stacks and threads are still there. Memory is asked for; threads are not told from each other here
 * (sw_thread_pointer is 0), so none is said to be gone: a section that a thread left open when it ended is closed once
 * its stack is freed or used again.
 */
#include "common/present.h"

#include <snapwalk/self.h>

bool sw_thread_is_gone(uint64_t thread_pointer)
{
    (void)thread_pointer;
    return false;
}

enum sw_peek sw_peek(uint64_t address, uint64_t words[2])
{
    const struct sw_memory memory = sw_self_memory();
    const size_t size = 2 * sizeof *words;
    return memory.read(memory.arg, address, words, size) == size ? SW_PEEK_WORDS : SW_PEEK_NOTHING;
}
