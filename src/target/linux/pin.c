/*
 * Finds regular files by names that are not to be trusted: names in a core, in a memory map. Knows how to look at what
 * a name leads to before it is opened; refuses to know what is in a file.
 *
 * Source: open(2), O_PATH; openat2(2), RESOLVE_IN_ROOT.
 */
#include "target/linux/pin.h"

#include "target/linux/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* O_PATH opens no more than the name. An old kernel has no openat2: then links on the way lead where they lead. */
static int find_in(const char *root, const char *name, int flags)
{
    const struct open_how how = { .flags = (uint64_t)(unsigned)flags, .resolve = RESOLVE_IN_ROOT };
    const int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int found = (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
    if (found < 0 && (errno == ENOSYS || errno == EPERM))
        found = openat(folder, name + strspn(name, "/"), flags | O_NOFOLLOW);
    const int error = errno;
    close(folder);
    errno = error;
    return found;
}

int sw_os_find(const char *root, const char *name, bool follows)
{
    const int flags = O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW);
    return root ? find_in(root, name, flags) : open(name, flags);
}

static void path_of(int found, char path[SW_OS_FOUND_BYTES])
{
    snprintf(path, SW_OS_FOUND_BYTES, "/proc/self/fd/%d", found);
}

int sw_os_open_found(int found)
{
    char path[SW_OS_FOUND_BYTES];
    path_of(found, path);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

enum sw_status sw_os_pin_file(const char *root, const char *name, struct sw_os_pin *pin)
{
    struct stat stat;
    pin->file = sw_os_find(root, name, true);
    if (pin->file < 0)
        return sw_os_status(errno);
    path_of(pin->file, pin->path);
    if (fstat(pin->file, &stat) == 0 && S_ISREG(stat.st_mode))
        return SW_OK;
    sw_os_unpin(pin);
    return SW_E_UNSUPPORTED;
}

void sw_os_unpin(struct sw_os_pin *pin)
{
    close(pin->file);
}

enum sw_status sw_os_open_regular(const char *name, int *file)
{
    struct sw_os_pin pin;
    const enum sw_status status = sw_os_pin_file(NULL, name, &pin);
    if (status != SW_OK)
        return status;
    *file = sw_os_open_found(pin.file);
    const int error = errno;
    sw_os_unpin(&pin);
    return *file < 0 ? sw_os_status(error) : SW_OK;
}
