/*
 * Files on a disk as bytes, and how much of them is really there. A hole of a sparse file costs nothing to make, and
 * reads as zeros; so what a file may cost is counted by what is stored. Source: lseek(2), SEEK_DATA.
 */
#include "elf/internal.h"

#include <snapwalk/limits.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The bytes of a file that are no holes. Where a file system does not tell, all of them. Each piece of data is at least
 * a block of the disk, so there are no more of them than the file is worth.
 */
static uint64_t stored(int fd, uint64_t size)
{
    uint64_t sum = 0;
    off_t end = 0;
    for (off_t begin; (uint64_t)end < size && (begin = lseek(fd, end, SEEK_DATA)) >= end;
         sum += (uint64_t)(end - begin))
        if ((end = lseek(fd, begin, SEEK_HOLE)) <= begin)
            return size;
    return sum < size ? sum : size;
}

static enum sw_status map(int fd, struct sw_bytes *bytes, uint64_t *room)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return SW_E_OS;
    if (!S_ISREG(st.st_mode))
        return SW_E_UNSUPPORTED;
    if (st.st_size < (off_t)sizeof(Elf64_Ehdr))
        return SW_E_TRUNCATED;
    const uint64_t size = (uint64_t)st.st_size, there = stored(fd, size);
    if (size > SW_FILE_HOLES_FREE && size / SW_FILE_COST > there)
        return SW_E_LIMIT;
    /* Shared: who looks for images in a memory map passes over it. */
    void *at = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return SW_E_OS;
    *bytes = (struct sw_bytes){ at, size, 0 };
    *room = SW_FILE_FREE + SW_FILE_COST * there;
    return SW_OK;
}

enum sw_status sw_elf_map(const char *path, struct sw_bytes *bytes, uint64_t *room)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (fd < 0)
        return SW_E_OS;
    const enum sw_status status = map(fd, bytes, room);
    (void)close(fd);
    return status;
}
