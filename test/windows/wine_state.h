/*
 * Where Wine stops a thread between two states of its own that Windows does not have: told from the code at its pc and
 * the word at its stack pointer, never from how a walk went.
 */
#ifndef TEST_WINDOWS_WINE_STATE_H
#define TEST_WINDOWS_WINE_STATE_H

#include <windows.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * IN_HOST    In code of Wine's host, of which the system says that the memory is free. Windows has no such code: a
 *            system call's caller stands behind its `syscall`.
 * HIDDEN     There, behind a push: the return address is off the stack already, and the flags are on it.
 * CONTINUED  In NtContinue, with another frame's stack pointer: Wine fills the registers of a thread that continues
 *            elsewhere one by one.
 */
enum wine_state { WINE_NONE, WINE_IN_HOST, WINE_HIDDEN, WINE_CONTINUED };

static inline MEMORY_BASIC_INFORMATION memory_at(uint64_t address)
{
    MEMORY_BASIC_INFORMATION piece = { 0 };
    (void)VirtualQuery((const void *)(uintptr_t)address, &piece, sizeof piece);
    return piece;
}

static inline bool is_code(uint64_t address)
{
    enum { CODE = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY };
    const MEMORY_BASIC_INFORMATION piece = memory_at(address);
    return piece.State == MEM_COMMIT && (piece.Protect & CODE) != 0;
}

static inline bool is_in(uint64_t pc, uint64_t function, uint64_t bytes)
{
    return pc - function < bytes;
}

/* word: what the stack pointer points to. */
static inline enum wine_state wine_state_of(uint64_t pc, uint64_t word)
{
    enum { STUB_BYTES = 32 };
    const uint64_t stub = (uint64_t)(uintptr_t)GetProcAddress(GetModuleHandleA("ntdll.dll"), "NtContinue");
    if (memory_at(pc).State == MEM_FREE)
        return is_code(word) ? WINE_IN_HOST : WINE_HIDDEN;
    return is_in(pc, stub, STUB_BYTES) && !is_code(word) ? WINE_CONTINUED : WINE_NONE;
}

#endif
