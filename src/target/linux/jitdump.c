/*
 * Reads jitdump files: what was appended since the last call; finds the one of a process. Knows files; refuses to know
 * whose they may be (jit_file.c), and their contents.
 *
 * Source: perf, tools/perf/util/jitdump.c: the writer maps its file, so that the memory map tells where it is; proc(5),
 * /proc/pid/maps, /proc/pid/root.
 */
#include "code/jitdump.h"

#include "common/alloc.h"
#include "target/linux/jit_file.h"
#include "target/linux/maps.h"
#include "target/linux/os.h"
#include "target/linux/process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 16384, PATH_BYTES = 4096 };

/* What a process has mapped. inode: 0, none was found yet. */
struct mapped {
    char path[PATH_BYTES];
    uint64_t inode;
    bool is_deleted;
};

/* Up to the size that the file had at the start. What does not move on has ended. */
static enum sw_status feed_file(struct sw_jitdump *jitdump, int fd, uint64_t end, struct sw_images *images,
                                struct sw_codemap *codemap)
{
    enum sw_status first = SW_OK;
    while (sw_jitdump_position(jitdump) < end) {
        char piece[PIECE];
        sw_jitdump_pass(jitdump, end - sw_jitdump_position(jitdump));
        const uint64_t from = sw_jitdump_position(jitdump), left = end - from;
        const ssize_t got = sw_jit_file_piece(fd, piece, left < PIECE ? (size_t)left : PIECE, from);
        if (got < 0)
            return SW_E_OS;
        const enum sw_status status = sw_jitdump_feed(jitdump, piece, (size_t)got, images, codemap);
        first = first ? first : status;
        if (sw_jitdump_position(jitdump) == from)
            break;
    }
    return first;
}

/* inode: that the file has to have; 0: any. */
static enum sw_status read_in(struct sw_jitdump *jitdump, const char *root, const char *path, uint64_t inode,
                              struct sw_images *images, struct sw_codemap *codemap)
{
    struct stat st;
    int fd;
    enum sw_status status = sw_jit_file_open(sw_jitdump_perfmap(jitdump), root, path, &fd, &st);
    if (status != SW_OK)
        return status;
    if (inode && st.st_ino != inode) {
        status = SW_E_OS;
    } else {
        sw_jitdump_begin(jitdump, st.st_ino, (uint64_t)st.st_size);
        status = feed_file(jitdump, fd, (uint64_t)st.st_size, images, codemap);
    }
    close(fd);
    return status;
}

enum sw_status sw_jitdump_read(struct sw_jitdump *jitdump, const char *path, struct sw_images *images,
                               struct sw_codemap *codemap)
{
    return jitdump && path ? read_in(jitdump, NULL, path, 0, images, codemap) : SW_E_ARGUMENT;
}

/* Where the process has it. A process that has changed its root may have mapped it before. */
static enum sw_status read_mapped(struct sw_jitdump *jitdump, int pid, const struct mapped *mapped,
                                  struct sw_images *images, struct sw_codemap *codemap)
{
    char root[SW_PROC_PATH_BYTES];
    if (mapped->inode == 0)
        return SW_E_NOT_FOUND;
    if (mapped->is_deleted)
        return SW_E_OS;
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    const enum sw_status status = read_in(jitdump, root, mapped->path, mapped->inode, images, codemap);
    return status == SW_E_OS ? read_in(jitdump, NULL, mapped->path, mapped->inode, images, codemap) : status;
}

static bool is_jitdump(const struct sw_map *map, struct mapped *mapped)
{
    if (map->inode == 0 || sw_maps_path(map, mapped->path, PATH_BYTES, &mapped->is_deleted) != SW_OK ||
        !sw_jitdump_is_path(mapped->path))
        return false;
    mapped->inode = map->inode;
    return true;
}

static void find_mapped(const struct sw_os_text *maps, struct mapped *mapped)
{
    struct sw_maps_text text = { maps->bytes, maps->bytes + maps->size, 0 };
    struct sw_map map;
    while (sw_maps_next(&text, &map) && !is_jitdump(&map, mapped))
        continue;
}

enum sw_status sw_jitdump_read_process(struct sw_jitdump *jitdump, int pid, struct sw_images *images,
                                       struct sw_codemap *codemap)
{
    const struct sw_alloc alloc = sw_alloc_resolve(NULL);
    struct mapped mapped = { .inode = 0 };
    struct sw_os_text maps;
    char path[SW_PROC_PATH_BYTES];
    if (!jitdump || pid <= 0)
        return SW_E_ARGUMENT;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    const enum sw_status status = sw_os_read_file(&alloc, path, &maps);
    if (status != SW_OK)
        return status;
    find_mapped(&maps, &mapped);
    sw_os_free_text(&alloc, &maps);
    return read_mapped(jitdump, pid, &mapped, images, codemap);
}

enum sw_status sw_jitdump_read_captured(struct sw_jitdump *jitdump, struct sw_process *process,
                                        struct sw_images *images, struct sw_codemap *codemap)
{
    struct mapped mapped = { .inode = 0 };
    if (!jitdump || !process)
        return SW_E_ARGUMENT;
    const enum sw_status status = sw_process_captured_maps(process);
    if (status != SW_OK)
        return status;
    for (size_t i = 0; i < process->map_count && !is_jitdump(&process->maps[i], &mapped); i++)
        continue;
    return read_mapped(jitdump, process->live_tid, &mapped, images, codemap);
}

enum sw_status sw_jitdump_read_core(struct sw_jitdump *jitdump, const struct sw_core *core, const char *sysroot,
                                    struct sw_images *images, struct sw_codemap *codemap)
{
    struct sw_core_file file;
    if (!jitdump || !core)
        return SW_E_ARGUMENT;
    for (size_t i = 0; sw_core_get_file(core, i, &file); i++)
        if (sw_jitdump_is_path(file.path))
            return read_in(jitdump, sysroot && *sysroot ? sysroot : NULL, file.path, 0, images, codemap);
    return SW_E_NOT_FOUND;
}
