/*
 * Reads the folder of this process's threads with the system call itself: opendir allocates.
 *
 * Source: getdents64(2), proc(5).
 */
#include "target/linux/tasks.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES_BYTES = 2048 };

/* An entry of getdents64(2). */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

int sw_tasks_open(void)
{
    return (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool sw_tasks_each(int folder, void (*each)(void *arg, int thread), void *arg)
{
    _Alignas(8) char entries[ENTRIES_BYTES];
    if (lseek(folder, 0, SEEK_SET) != 0)
        return false;
    for (;;) {
        const long got = syscall(SYS_getdents64, folder, entries, sizeof entries);
        if (got <= 0)
            return got == 0;
        for (long at = 0; at < got;) {
            const struct entry *entry = (const struct entry *)(const void *)(entries + at);
            at += entry->size;
            if (entry->name[0] != '.')
                each(arg, atoi(entry->name));
        }
    }
}
