/*
 * Keeps the PDBs of images open, each looked for once. Images and mapped files are read by a reader that cannot fault:
 * either may go away at any time.
 */
#include "lines.h"

#include "pdb/find.h"

#include <snapwalk/self.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES_MAX = 4096 };
static const uint64_t image_bytes_max = UINT64_C(1) << 32;

static struct image {
    uint64_t base;
    struct pdb_file file;
} * *images;
static size_t image_count;
static size_t unpacked_left;
static bool verbose;

void lines_open(size_t bytes, bool said)
{
    unpacked_left = bytes;
    verbose = said;
}

static void close_image(struct image *image)
{
    if (image->file.bytes && !image->file.is_mapped)
        unpacked_left += image->file.size;
    if (image->file.bytes)
        pdb_close(&image->file);
}

void lines_forget(void)
{
    for (size_t i = 0; i < image_count; i++) {
        close_image(images[i]);
        free(images[i]);
    }
    image_count = 0;
}

void lines_close(void)
{
    lines_forget();
    free(images);
    images = NULL;
}

/* ---- reading ---- */

static const uint64_t whole_memory = 0;

/* This process's memory from an address on. */
static bool read_from(void *address, uint64_t at, void *to, size_t size)
{
    const struct sw_memory memory = sw_self_memory();
    return memory.read(memory.arg, *(const uint64_t *)address + at, to, size) == size;
}

/* The file that is mapped at an address; empty: none. */
static void find_file(uint64_t address, char path[PATH_MAX])
{
    char line[PATH_MAX + 128];
    FILE *maps = fopen("/proc/self/maps", "re");
    path[0] = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long long begin, end;
        const char *name = strchr(line, '/');
        if (sscanf(line, "%llx-%llx", &begin, &end) != 2 || address < begin || address >= end || !name)
            continue;
        snprintf(path, PATH_MAX, "%.*s", (int)strcspn(name, "\n"), name);
        break;
    }
    if (maps)
        fclose(maps);
}

/* ---- finding ---- */

/* The assembly itself is in memory. */
static int open_beside(void *arg, const char *file)
{
    const struct image *image = arg;
    char path[PATH_MAX + PDB_FILE_NAME + 1];
    find_file(image->base, path);
    char *slash = strrchr(path, '/');
    if (!file || !slash)
        return -1;
    snprintf(slash + 1, sizeof path - (size_t)(slash + 1 - path), "%s", file);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void open_pdb(struct image *image)
{
    const struct pdb_search search = { .image = { read_from, &image->base, image_bytes_max },
                                       .own = { read_from, (void *)(uintptr_t)&whole_memory, UINT64_MAX },
                                       .open = open_beside,
                                       .arg = image,
                                       .most = unpacked_left };
    char name[PDB_FILE_NAME];
    const enum pdb_found found = pdb_find(&search, &image->file, name);
    if (found == PDB_WITHIN)
        unpacked_left -= image->file.size;
    if (found == PDB_OTHER || found == PDB_BROKEN || (verbose && found != PDB_NONE))
        fprintf(stderr, "snapwalk-profiler: %s %s\n", name, pdb_found_text(found));
}

static struct image *find(uint64_t base)
{
    for (size_t i = 0; i < image_count; i++)
        if (images[i]->base == base)
            return images[i];
    return NULL;
}

static struct image *find_or_open(uint64_t base)
{
    struct image *image = find(base);
    if (image || !base || image_count == IMAGES_MAX)
        return image;
    if (!images)
        images = calloc(IMAGES_MAX, sizeof(struct image *));
    if (!images || !(image = calloc(1, sizeof *image)))
        return NULL;
    image->base = base;
    images[image_count++] = image;
    open_pdb(image);
    return image;
}

bool lines_has(uint64_t base)
{
    const struct image *image = find_or_open(base);
    return image && image->file.bytes;
}

bool lines_find(uint64_t base, uint32_t token, uint32_t il_offset, struct line *line)
{
    struct pdb_line found;
    const struct image *image = find_or_open(base);
    if (!image || !image->file.bytes || !pdb_find_line(&image->file.pdb, token, il_offset, &found) ||
        !pdb_document(&image->file.pdb, found.document, line->file, sizeof line->file))
        return false;
    line->line = found.line;
    line->column = found.column;
    line->first = found.first_line;
    return true;
}
