/*
 * See map_query.h. Knows the request PROCMAP_QUERY of /proc/PID/maps; refuses to know the text of that file (maps.c).
 * Its structure is declared here, since headers of systems older than their kernel lack it.
 *
 * Source: Linux include/uapi/linux/fs.h, fs/proc/task_mmu.c (6.11 and later).
 */
#include "target/linux/map_query.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READABLE = 1, WRITABLE = 2, EXECUTABLE = 4, SHARED = 8, OR_NEXT = 16 };

struct query {
    uint64_t size;
    uint64_t flags;
    uint64_t address;
    uint64_t begin, end;
    uint64_t rights;
    uint64_t page_size;
    uint64_t offset;
    uint64_t inode;
    uint32_t major, minor;
    uint32_t name_size; /* what there is room for; then what there is, with the 0 */
    uint32_t build_id_size;
    uint64_t name;
    uint64_t build_id;
};

_Static_assert(sizeof(struct query) == 104, "the kernel's size");

int sw_map_query_open(void)
{
    return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

static enum sw_status ask(int file, struct query *query)
{
    const int before = errno;
    /* libcs do not agree on the type of ioctl's second argument. */
    const int failed = syscall(SYS_ioctl, file, _IOWR('f', 17, struct query), query) != 0 ? errno : 0;
    errno = before;
    return failed == 0 ? SW_OK : failed == ENOENT ? SW_E_NOT_FOUND : SW_E_UNSUPPORTED;
}

enum sw_status sw_map_query(int file, uint64_t address, struct sw_map *row, char *path, size_t size)
{
    struct query query = { .size = sizeof query, .flags = OR_NEXT, .address = address };
    enum sw_status status;
    if (path && size && size <= UINT32_MAX) {
        query.name = (uint64_t)(uintptr_t)path;
        query.name_size = (uint32_t)size;
    }
    status = ask(file, &query);
    if (status == SW_E_UNSUPPORTED && query.name) { /* also if the name does not fit */
        query = (struct query){ .size = sizeof query, .flags = OR_NEXT, .address = address };
        status = ask(file, &query);
    }
    if (status != SW_OK)
        return status;
    *row = (struct sw_map){ .begin = query.begin,
                            .end = query.end,
                            .offset = query.offset,
                            .inode = query.inode,
                            .major = query.major,
                            .minor = query.minor,
                            .readable = (query.rights & READABLE) != 0,
                            .writable = (query.rights & WRITABLE) != 0,
                            .executable = (query.rights & EXECUTABLE) != 0,
                            .shared = (query.rights & SHARED) != 0,
                            .path = path,
                            .path_size = query.name && query.name_size ? query.name_size - 1 : 0 };
    return SW_OK;
}
