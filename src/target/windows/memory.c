/*
 * This process's memory without a fault. What is not committed, not readable or a guard page is never touched: loading
 * from a guard page would take it from the stack that it guards. What is taken away between the question and the copy
 * faults, in one instruction, whose exception handler ends the copy there. Knows Windows' page rights; refuses to know
 * what the bytes are.
 *
 * A fault takes what the dispatch of an exception takes: locks of the loader's function tables and of vectored
 * handlers. So it is what remains when memory is freed in that very moment, and not the way to find out whether there
 * is any.
 *
 * Source: VirtualQuery, Memory Protection Constants; x64 exception handling, "Language-specific handler", Microsoft
 * Learn.
 */
#include "target/windows/memory.h"

#include <snapwalk/self.h>

enum {
    READABLE = PAGE_READONLY | PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE |
               PAGE_EXECUTE_WRITECOPY
};

/* The instruction behind the copy, in sw_windows_copy. */
extern const char sw_windows_copied[];

/*
 * rcx to, rdx from, r8 size. The handler lets a fault go on at sw_windows_copied, where rcx is what was not copied.
 * clang-format off
 */
__asm__(".text\n"
        ".globl sw_windows_copy\n"
        ".globl sw_windows_copied\n"
        ".def sw_windows_copy; .scl 2; .type 32; .endef\n"
        ".seh_proc sw_windows_copy\n"
        "sw_windows_copy:\n"
        " pushq %rdi\n"
        " .seh_pushreg %rdi\n"
        " pushq %rsi\n"
        " .seh_pushreg %rsi\n"
        " .seh_endprologue\n"
        " .seh_handler sw_windows_copy_fault, @except\n"
        " movq %rcx, %rdi\n"
        " movq %rdx, %rsi\n"
        " movq %r8, %rcx\n"
        " rep movsb\n"
        "sw_windows_copied:\n"
        " movq %r8, %rax\n"
        " subq %rcx, %rax\n"
        " popq %rsi\n"
        " popq %rdi\n"
        " ret\n"
        ".seh_endproc\n");
/* clang-format on */

EXCEPTION_DISPOSITION sw_windows_copy_fault(EXCEPTION_RECORD *record, void *frame, CONTEXT *context, void *dispatcher);
EXCEPTION_DISPOSITION sw_windows_copy_fault(EXCEPTION_RECORD *record, void *frame, CONTEXT *context, void *dispatcher)
{
    (void)frame, (void)dispatcher;
    if (record->ExceptionCode != EXCEPTION_ACCESS_VIOLATION && record->ExceptionCode != EXCEPTION_IN_PAGE_ERROR &&
        record->ExceptionCode != EXCEPTION_GUARD_PAGE)
        return ExceptionContinueSearch;
    context->Rip = (uint64_t)(uintptr_t)sw_windows_copied;
    return ExceptionContinueExecution;
}

uint64_t sw_windows_readable_of(HANDLE process, uint64_t address, uint64_t size)
{
    const uint64_t end = size <= UINT64_MAX - address ? address + size : UINT64_MAX;
    uint64_t at = address;
    while (at < end) {
        MEMORY_BASIC_INFORMATION piece;
        if (VirtualQueryEx(process, (const void *)(uintptr_t)at, &piece, sizeof piece) != sizeof piece ||
            piece.State != MEM_COMMIT || !(piece.Protect & READABLE) || (piece.Protect & PAGE_GUARD))
            break;
        const uint64_t piece_end = (uint64_t)(uintptr_t)piece.BaseAddress + piece.RegionSize;
        if (piece_end <= at)
            break;
        at = piece_end < end ? piece_end : end;
    }
    return at;
}

uint64_t sw_windows_readable(uint64_t address, uint64_t size)
{
    return sw_windows_readable_of(GetCurrentProcess(), address, size);
}

static size_t read_self(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    const DWORD before = GetLastError();
    const size_t readable = (size_t)(sw_windows_readable(address, size) - address);
    const size_t copied = readable ? sw_windows_copy(to, (const void *)(uintptr_t)address, readable) : 0;
    SetLastError(before);
    return copied;
}

struct sw_memory sw_self_memory(void)
{
    return (struct sw_memory){ .read = read_self };
}
