/*
 * The images of another process, from its memory map. Files are opened through /proc/PID, so that a file in another
 * mount namespace, or a renamed or deleted one, is found where the kernel still has it.
 *
 * Source: proc(5), /proc/pid/map_files and /proc/pid/root.
 */
#include "core/core.h"
#include "target/linux/captured_sites.h"
#include "target/linux/images.h"
#include "target/linux/mirror.h"
#include "target/linux/pin.h"
#include "target/linux/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

static bool is_file_of(const struct sw_map *map, const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && found.st_ino == map->inode;
}

/* The very file: by the row's own link, which needs more rights than a path, or as the program's own. */
static enum sw_status pin_mapped(const struct sw_process *process, const struct sw_map *map, bool deleted,
                                 struct sw_os_pin *pin)
{
    char name[SW_PROC_PATH_BYTES];
    snprintf(name, sizeof name, "/proc/%d/map_files/%llx-%llx", process->live_tid, (unsigned long long)map->begin,
             (unsigned long long)map->end);
    if (sw_os_pin_file(NULL, name, pin) == SW_OK)
        return SW_OK;
    snprintf(name, sizeof name, "/proc/%d/exe", process->live_tid);
    return deleted && is_file_of(map, name) ? sw_os_pin_file(NULL, name, pin) : SW_E_NOT_FOUND;
}

/*
 * The path is one in the root of the process, if that has mounts of its own; of a process that has changed its root,
 * one in ours. It may lead elsewhere by now, or to what is no file.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_GONE: what is there was put there since.
 */
static enum sw_status pin_file(struct sw_process *process, const struct sw_map *map, const char *path, bool deleted,
                               struct sw_os_pin *pin)
{
    const struct sw_memory memory = sw_process_memory(process);
    char root[SW_PROC_PATH_BYTES];
    bool is_replaced = false;
    if (pin_mapped(process, map, deleted, pin) == SW_OK)
        return SW_OK;
    if (deleted)
        return SW_E_GONE;
    snprintf(root, sizeof root, "/proc/%d/root", process->live_tid);
    if (sw_os_pin_file(root, path, pin) == SW_OK) {
        is_replaced = !is_file_of(map, pin->path) && sw_process_is_replaced(&memory, map->begin, pin->path);
        if (!is_replaced)
            return SW_OK;
        sw_os_unpin(pin);
    }
    if (sw_os_pin_file(NULL, path, pin) == SW_OK) {
        if (is_file_of(map, pin->path))
            return SW_OK;
        sw_os_unpin(pin);
    }
    return is_replaced ? SW_E_GONE : SW_E_NOT_FOUND;
}

/* As struct sw_image_file has it. */
static uint64_t read_first(const struct sw_process *process)
{
    struct sw_os_text text;
    if (sw_process_read_text(process, "auxv", &text) != SW_OK)
        return 0;
    const struct sw_core_process started = { .auxv = { (const uint8_t *)text.bytes, text.size, 0 } };
    const uint64_t first = sw_core_first(&started);
    sw_os_free_text(&process->alloc, &text);
    return first;
}

/*
 * How files are registered.
 *
 * first  As struct sw_image_file has it.
 * sites  A bool a row, which of them are opened, for walks that are made soon; null: all, for any time.
 */
struct putting {
    struct sw_images *images;
    uint64_t first;
    const bool *sites;
};

static enum sw_status put_site(struct sw_process *process, const struct putting *putting, const struct sw_map *map,
                               uint64_t *end)
{
    struct sw_images *images = putting->images;
    const bool *sites = putting->sites;
    char path[PATH_BYTES];
    struct sw_os_pin pin;
    bool deleted;
    struct sw_image_file file = { .path = path,
                                  .address = map->begin,
                                  .origin = process,
                                  .identity = map->inode,
                                  .first = putting->first,
                                  .stays_open = sites != NULL };
    enum sw_status status = sw_maps_path(map, path, sizeof path, &deleted);
    if (status != SW_OK || sw_images_keep(images, &file, end) || (sites && !sites[map - process->maps]))
        return status;
    status = pin_file(process, map, path, deleted, &pin);
    if (status == SW_E_GONE)
        return sw_process_add_replaced(process, path, map->begin);
    if (status != SW_OK)
        return status;
    file.open_path = pin.path;
    status = sw_images_put_file(images, &file, end);
    sw_os_unpin(&pin);
    return status;
}

static enum sw_status put_vdso(struct sw_process *process, struct sw_images *images)
{
    static const char name[] = "[vdso]";
    const struct sw_memory memory = sw_process_memory(process);
    for (size_t i = 0; i < process->map_count; i++) {
        const struct sw_map *map = &process->maps[i];
        const struct sw_image_file file = { .path = name, .address = map->begin, .origin = process };
        uint64_t end;
        if (map->path_size != sizeof name - 1 || memcmp(map->path, name, sizeof name - 1) != 0)
            continue;
        if (sw_images_keep(images, &file, &end))
            return SW_OK;
        return sw_images_put_memory(images, &file, map->end - map->begin, &memory);
    }
    return SW_OK;
}

/* SW_E_OVERLAP: an old image is in the place of a new one. */
static enum sw_status put_all(struct sw_process *process, struct sw_images *images, const bool *sites)
{
    const struct sw_memory memory = sites ? sw_process_captured_memory(process) : sw_process_memory(process);
    const struct putting putting = { images, read_first(process), sites };
    const struct sw_map *map;
    bool overlap = false;
    uint64_t floor = 0;
    size_t at = 0;
    bool is_pe;
    sw_process_forget_replaced(process);
    sw_images_mark(images, process);
    while ((map = sw_images_next_site(process->maps, process->map_count, &at, floor, &memory, &is_pe)) != NULL) {
        const enum sw_status status = put_site(process, &putting, map, &floor);
        if (sw_images_fatal(status))
            return status;
        overlap |= status == SW_E_OVERLAP;
    }
    enum sw_status status = put_vdso(process, images);
    overlap |= status == SW_E_OVERLAP;
    if (!sw_images_fatal(status))
        status = sw_images_sweep(images, process);
    return status == SW_OK && overlap ? SW_E_OVERLAP : status;
}

static enum sw_status add_images(struct sw_process *process, struct sw_images *images, const bool *sites)
{
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    status = put_all(process, images, sites);
    if (status == SW_E_OVERLAP)
        status = put_all(process, images, sites);
    if (!sw_images_fatal(status))
        status = sw_images_take_maps(images, process->maps, process->map_count);
    sw_images_unlock(images);
    return status;
}

enum sw_status sw_process_add_images(struct sw_process *process, struct sw_images *images)
{
    if (!process || !images)
        return SW_E_ARGUMENT;
    const enum sw_status status = sw_process_read_maps(process);
    return status == SW_OK ? add_images(process, images, NULL) : status;
}

enum sw_status sw_process_add_captured_images(struct sw_process *process, struct sw_images *images)
{
    bool *sites;
    if (!process || !images)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_process_captured_maps(process);
    if (status == SW_OK)
        status = sw_captured_sites(process, &process->alloc, &sites);
    if (status != SW_OK)
        return status;
    status = add_images(process, images, sites);
    process->alloc.put(process->alloc.arg, sites, process->map_count + 1);
    return status;
}

enum sw_status sw_process_mirror_ranges(struct sw_process *process, struct sw_codemap *codemap)
{
    if (!process || !codemap)
        return SW_E_ARGUMENT;
    const enum sw_status status = sw_process_read_maps(process);
    return status ? status : sw_mirror_ranges(process->maps, process->map_count, &process->alloc, codemap);
}
