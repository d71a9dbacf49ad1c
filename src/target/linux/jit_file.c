/*
 * Whose files of JIT code are read. Anyone can put a file into /tmp. Refuses to know what is in them.
 * Source: perf, tools/perf/util/symbol.c, which wants a regular file, no link, of root or of the effective user.
 */
#include "target/linux/jit_file.h"

#include "code/perfmap.h"
#include "target/linux/pin.h"

#include <errno.h>
#include <unistd.h>

ssize_t sw_jit_file_piece(int fd, char *to, size_t size, uint64_t position)
{
    ssize_t got;
    do
        got = pread(fd, to, size, (off_t)position);
    while (got < 0 && errno == EINTR);
    return got;
}

static enum sw_status check(const struct sw_perfmap *perfmap, const struct stat *st)
{
    const bool is_trusted = st->st_uid == 0 || st->st_uid == geteuid() || sw_perfmap_trusts(perfmap, st->st_uid);
    if (S_ISLNK(st->st_mode) || !is_trusted)
        return SW_E_PERMISSION;
    return S_ISREG(st->st_mode) ? SW_OK : SW_E_OS;
}

enum sw_status sw_jit_file_open(const struct sw_perfmap *perfmap, const char *root, const char *path, int *fd,
                                struct stat *st)
{
    const int found = sw_os_find(root, path, false);
    if (found < 0)
        return SW_E_OS;
    enum sw_status status = fstat(found, st) ? SW_E_OS : check(perfmap, st);
    *fd = status == SW_OK ? sw_os_open_found(found) : -1;
    close(found);
    return status == SW_OK && *fd < 0 ? SW_E_OS : status;
}
