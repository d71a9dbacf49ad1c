/* Memory of this process that may be there or not. Everything here is as safe as a walk must be. */
#ifndef SW_TARGET_WINDOWS_MEMORY_H
#define SW_TARGET_WINDOWS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <windows.h>

/*
 * The end of the memory around an address that can be loaded now, of this process or of another: committed, readable,
 * no guard page. At most one past `address + size`; `address` itself where nothing can be loaded. Takes a system call
 * for each piece of equal rights.
 *
 * Source: VirtualQuery, Memory Protection Constants, Microsoft Learn.
 */
uint64_t sw_windows_readable(uint64_t address, uint64_t size);
uint64_t sw_windows_readable_of(HANDLE process, uint64_t address, uint64_t size);

/*
 * Copies bytes that may cease to be there meanwhile. A fault ends the copy, by an exception handler of this function's
 * own.
 *
 * Returns  How many bytes were copied.
 */
size_t sw_windows_copy(void *to, const void *from, size_t size);

#endif
