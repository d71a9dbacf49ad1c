/*
 * What both sides of the comparison agree on: where the registers point and what the stack under them holds. Every
 * register points into one large stack, at a place of its own, so that any of them can be a frame register; every word
 * of the stack names its own address.
 */
#ifndef TEST_ORACLE_WINE_STACK_H
#define TEST_ORACLE_WINE_STACK_H

#include <stdint.h>

#define STACK_BEGIN UINT64_C(0x1000000000)
#define STACK_SIZE  UINT64_C(0x8000000)

/* rbx rbp rsi rdi r12-r15, behind rip and rsp. */
enum { RESULT_RIP, RESULT_RSP, RESULT_NONVOLATILE, RESULTS = 10 };

static inline uint64_t stack_word(uint64_t address)
{
    return address * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0x5bd1e995);
}

static inline uint64_t register_value(unsigned n)
{
    return STACK_BEGIN + STACK_SIZE / 2 + n * UINT64_C(0x20040);
}

/* One question: an entry of the exception directory, and an address that pc is at. Wine must not be asked some. */
struct question {
    uint32_t entry;
    uint32_t rva;
    uint32_t is_endless;
};

#endif
