/* Reads perf map files: what was appended since the last call. Knows files; refuses to know their contents. */
#include "code/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 16384 };

static ssize_t read_at(int fd, char *to, size_t size, uint64_t position)
{
    ssize_t got;
    do
        got = pread(fd, to, size, (off_t)position);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Reads up to the size that the file had at the start, so that a busy writer cannot keep the reader forever. */
static enum sw_status feed_file(struct sw_perfmap *perfmap, int fd, uint64_t end, struct sw_codemap *codemap)
{
    enum sw_status first = SW_OK;
    while (sw_perfmap_position(perfmap) < end) {
        char piece[PIECE];
        const uint64_t left = end - sw_perfmap_position(perfmap);
        const ssize_t got = read_at(fd, piece, left < PIECE ? (size_t)left : PIECE, sw_perfmap_position(perfmap));
        if (got < 0)
            return SW_E_OS;
        if (got == 0)
            break;
        enum sw_status status = sw_perfmap_feed(perfmap, piece, (size_t)got, codemap);
        sw_perfmap_advance(perfmap, (uint64_t)got);
        first = first ? first : status;
    }
    return first;
}

enum sw_status sw_perfmap_read(struct sw_perfmap *perfmap, const char *path, struct sw_codemap *codemap)
{
    struct stat st;
    if (!perfmap || !path)
        return SW_E_ARGUMENT;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return SW_E_OS;
    enum sw_status status = fstat(fd, &st) || !S_ISREG(st.st_mode) ? SW_E_OS : SW_OK;
    if (status == SW_OK && (uint64_t)st.st_size < sw_perfmap_position(perfmap))
        sw_perfmap_restart(perfmap); /* another process has taken the name */
    if (status == SW_OK)
        status = feed_file(perfmap, fd, (uint64_t)st.st_size, codemap);
    close(fd);
    return status;
}
