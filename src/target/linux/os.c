/*
 * Linux system calls that the files of this folder share: memory of a process, whole files, time. Refuses to know
 * formats and policy.
 *
 * Source: process_vm_readv(2): a transfer stops between two elements of the remote vector, never inside one, so every
 * page gets an element of its own.
 */
#include "target/linux/os.h"

#include "common/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* PAGES_AT_ONCE: their addresses lie on the stack of a walk. */
enum { PAGE = 4096, PAGES_AT_ONCE = 16, TEXT_FIRST = 1 << 16, TEXT_LIMIT = 1 << 28 };

enum sw_machine sw_os_machine(void)
{
#if defined(__x86_64__)
    return SW_MACHINE_X64;
#else
    return SW_MACHINE_ARM64;
#endif
}

/*
 * xpaclri, given an address of the lower half with all other bits set, clears the signature bits and (if signed) the
 * tag. Processors without it change nothing.
 */
uint64_t sw_os_pac_mask(void)
{
#if defined(__aarch64__)
    const uint64_t all = ~(UINT64_C(1) << 55);
    uint64_t address = all;
    __asm__("mov x30, %0\n hint #7\n mov %0, x30" : "+r"(address) : : "x30");
    return (address ^ all) | SW_OS_TAG;
#else
    return 0;
#endif
}

/* Up to PAGES_AT_ONCE pages. */
static size_t read_pages(int pid, uint64_t address, void *to, size_t size)
{
    struct iovec remote[PAGES_AT_ONCE];
    size_t count = 0;
    size_t total = 0;
    while (total < size && count < PAGES_AT_ONCE) {
        const size_t in_page = PAGE - (size_t)((address + total) % PAGE);
        const size_t part = size - total < in_page ? size - total : in_page;
        remote[count++] = (struct iovec){ (void *)(uintptr_t)(address + total), part };
        total += part;
    }
    const struct iovec local = { to, total };
    const ssize_t got = process_vm_readv(pid, &local, 1, remote, count, 0);
    return got > 0 ? (size_t)got : 0;
}

size_t sw_os_read(int pid, uint64_t address, void *to, size_t size)
{
    const int before = errno;
    const uint64_t to_the_top = UINT64_MAX - address;
    const size_t all = size <= to_the_top ? size : (size_t)to_the_top;
    size_t done = 0;
    while (done < all) {
        const size_t got = read_pages(pid, address + done, (char *)to + done, all - done);
        done += got;
        if (got == 0 || (done < all && (address + done) % PAGE != 0))
            break;
    }
    errno = before;
    return done;
}

uint64_t sw_os_read_part(int fd, uint64_t offset, uint8_t *to, uint64_t size)
{
    uint64_t done = 0;
    while (done < size) {
        const ssize_t got = pread(fd, to + done, (size_t)(size - done), (off_t)(offset + done));
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        done += got > 0 ? (uint64_t)got : 0;
    }
    return done;
}

enum sw_status sw_os_status(int error)
{
    static const struct {
        int error;
        enum sw_status status;
    } rows[] = {
        { ESRCH, SW_E_GONE },        { ENOENT, SW_E_GONE },      { ECHILD, SW_E_GONE }, { EPERM, SW_E_PERMISSION },
        { EACCES, SW_E_PERMISSION }, { ENOMEM, SW_E_NO_MEMORY }, { EAGAIN, SW_E_BUSY },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].error == error)
            return rows[i].status;
    return SW_E_OS;
}

void sw_os_sleep(uint64_t nanoseconds)
{
    const int before = errno;
    const struct timespec time = { (time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u) };
    nanosleep(&time, NULL);
    errno = before;
}

uint64_t sw_os_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void sw_os_wait(void *arg, unsigned round)
{
    (void)arg;
    if (round < 16)
        sched_yield();
    else
        sw_os_sleep(round < 64 ? 50000 : 1000000);
}

static bool grow(const struct sw_alloc *alloc, struct sw_os_text *text)
{
    const size_t wanted = text->room ? text->room + 1 : TEXT_FIRST;
    char *bytes = sw_grow(alloc, text->bytes, 1, text->size, &text->room, wanted);
    if (bytes)
        text->bytes = bytes;
    return bytes != NULL;
}

static enum sw_status read_all(const struct sw_alloc *alloc, int file, struct sw_os_text *text)
{
    for (;;) {
        if (text->room - text->size < 2 && text->room >= TEXT_LIMIT)
            return SW_E_LIMIT;
        if (text->room - text->size < 2 && !grow(alloc, text))
            return SW_E_NO_MEMORY;
        const ssize_t got = read(file, text->bytes + text->size, text->room - text->size - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sw_os_status(errno);
        if (got == 0)
            break;
        text->size += (size_t)got;
    }
    text->bytes[text->size] = 0;
    return SW_OK;
}

enum sw_status sw_os_read_file(const struct sw_alloc *alloc, const char *path, struct sw_os_text *text)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    *text = (struct sw_os_text){ 0 };
    if (file < 0)
        return sw_os_status(errno);
    const enum sw_status status = read_all(alloc, file, text);
    close(file);
    if (status != SW_OK)
        sw_os_free_text(alloc, text);
    return status;
}

void sw_os_free_text(const struct sw_alloc *alloc, struct sw_os_text *text)
{
    if (text->bytes)
        alloc->put(alloc->arg, text->bytes, text->room);
    *text = (struct sw_os_text){ 0 };
}
