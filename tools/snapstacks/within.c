/* Source: openat2(2), RESOLVE_IN_ROOT; open(2), O_PATH, which opens no more than the name. */
#include "within.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An old kernel, or one that is told so, has no openat2: then links on the way lead where they lead. */
static int find_within(const char *root, const char *path)
{
    static const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
    char whole[2 * PATH_MAX];
    if (!*root)
        return open(path, O_PATH | O_CLOEXEC);
    const int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    const int found = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    const int error = errno;
    close(folder);
    if (found >= 0 || (error != ENOSYS && error != EPERM) ||
        snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole)
        return found;
    return open(whole, O_PATH | O_CLOEXEC);
}

int open_within(const char *root, const char *path)
{
    char itself[40];
    struct stat found;
    const int name = find_within(root, path);
    if (name < 0)
        return -1;
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", name);
    const int file = fstat(name, &found) == 0 && S_ISREG(found.st_mode) ? open(itself, O_RDONLY | O_CLOEXEC) : -1;
    close(name);
    return file;
}
