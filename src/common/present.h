/*
 * What is still there of this process's stacks and threads: what an operating system's folder provides
 * (present.c there). Outside walks only, but for the thread pointer.
 */
#ifndef SW_COMMON_PRESENT_H
#define SW_COMMON_PRESENT_H

#include <stdbool.h>
#include <stdint.h>

/* Reads two words, which may be mapped or not. REFUSED: the system does not let this process look. */
enum sw_peek { SW_PEEK_WORDS = 0, SW_PEEK_NOTHING, SW_PEEK_REFUSED };
enum sw_peek sw_peek(uint64_t address, uint64_t words[2]);

/* Whether the thread that had this thread pointer has certainly ended. */
bool sw_thread_is_gone(uint64_t thread_pointer);

/* What tells the living threads of a process from each other, by one instruction and in handlers; 0: nothing does. */
static inline uint64_t sw_thread_pointer(void)
{
    uint64_t pointer = 0;
#if defined(__x86_64__) && defined(__linux__)
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
#elif defined(__x86_64__) && defined(_WIN32)
    __asm__("movq %%gs:0x30, %0" : "=r"(pointer));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
}

#endif
