/*
 * Reads perf map files: what was appended since the last call. Knows files and their holes; refuses to know whose they
 * may be (jit_file.c), and their contents. Source: perf, tools/perf/util/symbol.c, which looks for the file in the
 * process's root by its id there; proc(5), /proc/pid/status, NSpid; lseek(2), SEEK_DATA.
 */
#include "code/perfmap.h"

#include "common/alloc.h"
#include "target/linux/jit_file.h"
#include "target/linux/os.h"
#include "target/linux/process.h"

#include <snapwalk/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 16384 };

/*
 * Passes over a hole of a sparse file. It reads as zeros, which are no newline: of more of them than a line may have
 * nothing is left but a line that is too long.
 */
static void pass_hole(struct sw_perfmap *perfmap, int fd, uint64_t end)
{
    const uint64_t from = sw_perfmap_position(perfmap);
    const off_t found = lseek(fd, (off_t)from, SEEK_DATA);
    if (found < 0 && errno != ENXIO) /* this file system cannot tell */
        return;
    const uint64_t data = found >= 0 && (uint64_t)found < end ? (uint64_t)found : end;
    if (data > from && data - from > SW_PERFMAP_LINE_MAX)
        sw_perfmap_pass(perfmap, data - from);
}

/* Reads up to the size that the file had at the start, so that a busy writer cannot keep the reader forever. */
static enum sw_status feed_file(struct sw_perfmap *perfmap, int fd, uint64_t end, struct sw_codemap *codemap)
{
    enum sw_status first = SW_OK;
    while (sw_perfmap_position(perfmap) < end) {
        char piece[PIECE];
        pass_hole(perfmap, fd, end);
        const uint64_t left = end - sw_perfmap_position(perfmap);
        const ssize_t got =
            sw_jit_file_piece(fd, piece, left < PIECE ? (size_t)left : PIECE, sw_perfmap_position(perfmap));
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

/*
 * root: the folder that the path is resolved in; null: the file system's. pid: whose it is, if that is known: an older
 * file is as none; else -1.
 */
static enum sw_status read_in(struct sw_perfmap *perfmap, const char *root, const char *path, int pid,
                              struct sw_codemap *codemap)
{
    struct stat st;
    int fd;
    enum sw_status status = sw_jit_file_open(perfmap, root, path, &fd, &st);
    if (status != SW_OK)
        return status;
    if (pid >= 0 && !sw_process_began_by(pid, st.st_mtim.tv_sec, (uint32_t)st.st_mtim.tv_nsec)) {
        close(fd);
        errno = ESTALE;
        return SW_E_OS;
    }
    if ((uint64_t)st.st_size < sw_perfmap_position(perfmap))
        sw_perfmap_restart(perfmap); /* another process has taken the name */
    status = feed_file(perfmap, fd, (uint64_t)st.st_size, codemap);
    close(fd);
    return status;
}

enum sw_status sw_perfmap_read(struct sw_perfmap *perfmap, const char *path, struct sw_codemap *codemap)
{
    return perfmap && path ? read_in(perfmap, NULL, path, -1, codemap) : SW_E_ARGUMENT;
}

/* The id that a process has in its own namespace, the last in the list; else the one that it has here. */
static int own_id_of(int pid)
{
    const struct sw_alloc alloc = sw_alloc_resolve(NULL);
    static const char label[] = "\nNSpid:";
    char path[SW_PROC_PATH_BYTES];
    struct sw_os_text status;
    int id = pid;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (sw_os_read_file(&alloc, path, &status) != SW_OK)
        return pid;
    const char *at = strstr(status.bytes, label), *line_end = at ? strchr(at + 1, '\n') : NULL;
    at = at ? at + sizeof label - 1 : NULL;
    for (char *end; line_end && at < line_end; at = end) {
        const long number = strtol(at, &end, 10);
        if (end == at || end > line_end)
            break;
        id = (int)number;
    }
    sw_os_free_text(&alloc, &status);
    return id;
}

/* A runtime writes where its process is. Agents from outside, and those without namespaces, write here. */
enum sw_status sw_perfmap_read_process(struct sw_perfmap *perfmap, int pid, struct sw_codemap *codemap)
{
    char root[SW_PROC_PATH_BYTES], path[SW_PROC_PATH_BYTES];
    if (!perfmap || pid <= 0)
        return SW_E_ARGUMENT;
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", own_id_of(pid));
    const enum sw_status status = read_in(perfmap, root, path, pid, codemap);
    if (status != SW_E_OS)
        return status;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
    return read_in(perfmap, NULL, path, pid, codemap);
}
