/* What Windows tells of threads, of this process and of others. */
#ifndef SW_TARGET_WINDOWS_THREADS_H
#define SW_TARGET_WINDOWS_THREADS_H

#include <snapwalk/memory.h>

#include <windows.h>

/* The status for an error of OpenThread, OpenProcess, SuspendThread: SW_E_OS where nothing better is known. */
enum sw_status sw_windows_status(DWORD error);

/*
 * Calls `each` with the id of every thread of a process, until it returns false. Takes the heap: not while a thread of
 * this process stands suspended.
 *
 * Returns  SW_OK; SW_E_OS.
 */
enum sw_status sw_windows_each_thread(DWORD process, bool (*each)(void *arg, DWORD thread), void *arg);

/* Whether the thread, or the process, has ended. The handle needs SYNCHRONIZE. Safe while threads stand suspended. */
bool sw_windows_has_ended(HANDLE object);

/*
 * Opens a thread of that process with these rights and SYNCHRONIZE. An id may have gone over to another process.
 * Safe while threads stand suspended.
 *
 * Returns  SW_OK; SW_E_GONE; SW_E_PERMISSION; SW_E_NO_MEMORY; SW_E_OS.
 */
enum sw_status sw_windows_open_thread(DWORD process, DWORD id, DWORD rights, HANDLE *thread);

/*
 * The address of a thread's environment block, 0: the system does not tell. The bounds of its stack, by that block,
 * which `memory` reads: of the fiber that it is on. begin: the lowest address that is committed. Both are safe while
 * threads stand suspended, if memory->read is. The handle needs THREAD_QUERY_INFORMATION.
 *
 * Returns  The block; SW_OK; SW_E_GONE (the block is not there any more); SW_E_MALFORMED.
 */
uint64_t sw_windows_block(HANDLE thread);
enum sw_status sw_windows_stack(HANDLE thread, const struct sw_memory *memory, uint64_t *begin, uint64_t *end);

/* A suspender's wait: longer in later rounds. */
void sw_windows_wait(void *arg, unsigned round);

#endif
