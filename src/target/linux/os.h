/* Linux system calls that the files of this folder share: reading another address space, whole files of /proc, time. */
#ifndef SW_TARGET_LINUX_OS_H
#define SW_TARGET_LINUX_OS_H

#include <snapwalk/alloc.h>
#include <snapwalk/memory.h>
#include <snapwalk/regs.h>

/* The machine for which this library was compiled. */
enum sw_machine sw_os_machine(void);

/*
 * The bits of code addresses that hold signatures in this process, plus the tag bits; only the tag bits if this
 * processor signs nothing. 0 on x64. Signal safe.
 */
#define SW_OS_TAG UINT64_C(0xff00000000000000)
uint64_t sw_os_pac_mask(void);

/*
 * Copies memory of a process with process_vm_readv, page by page as far as it is readable.
 *
 * Returns  Bytes copied from the start; 0 if the first is unreadable. Never faults. Signal safe.
 */
size_t sw_os_read(int pid, uint64_t address, void *to, size_t size);

/* Reads a part of an open file, as far as it can be read. Returns how many bytes. Signal safe. */
uint64_t sw_os_read_part(int fd, uint64_t offset, uint8_t *to, uint64_t size);

/* An errno value as a status. Signal safe. */
enum sw_status sw_os_status(int error);

/* sleep: for nanoseconds. now: nanoseconds of a monotonic clock. Signal safe. */
void sw_os_sleep(uint64_t nanoseconds);
uint64_t sw_os_now(void);

/* One wait in a loop: yields in early rounds, sleeps in later ones. Fits struct sw_suspender. */
void sw_os_wait(void *arg, unsigned round);

/*
 * Reads a file to its end; for files of /proc, whose size is not known in advance.
 *
 * text     Receives the bytes, followed by a 0. `room`: allocated bytes; `size`: bytes read, without the 0.
 *
 * Returns  SW_OK; SW_E_GONE, SW_E_PERMISSION, SW_E_OS (open, read); SW_E_NO_MEMORY; SW_E_LIMIT (over 256 MiB).
 */
struct sw_os_text {
    char *bytes;
    size_t size;
    size_t room;
};
enum sw_status sw_os_read_file(const struct sw_alloc *alloc, const char *path, struct sw_os_text *text);
void sw_os_free_text(const struct sw_alloc *alloc, struct sw_os_text *text);

#endif
