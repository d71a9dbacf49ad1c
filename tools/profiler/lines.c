/*
 * Finds the PDB of an image, once, and keeps it open: a file beside the assembly first, as the runtime does, else what
 * is embedded. Images and mapped files are read by a reader that cannot fault: either may go away at any time.
 */
#include "lines.h"

#include "pdb/assembly.h"

#include <snapwalk/self.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMAGES_MAX = 4096 };
static const uint64_t file_bytes_max = UINT64_C(1) << 30, image_bytes_max = UINT64_C(1) << 32;

/* bytes: the PDB, mapped or on the heap; NULL: there is none. from: what `pdb` reads through. */
static struct image {
    uint64_t base;
    void *bytes;
    size_t size;
    bool is_mapped;
    struct sw_memory memory;
    struct pdb pdb;
} * *images;
static size_t image_count;
static size_t unpacked_left;
static bool verbose;

void lines_open(size_t bytes, bool said)
{
    unpacked_left = bytes;
    verbose = said;
}

static void close_bytes(struct image *image)
{
    if (image->bytes && image->is_mapped)
        munmap(image->bytes, image->size);
    else if (image->bytes) {
        unpacked_left += image->size;
        free(image->bytes);
    }
    image->bytes = NULL;
}

void lines_forget(void)
{
    for (size_t i = 0; i < image_count; i++) {
        close_bytes(images[i]);
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

/* Memory from an address on. */
struct place {
    struct sw_memory memory;
    uint64_t base;
};

static bool read_place(void *arg, uint64_t at, void *to, size_t size)
{
    const struct place *place = arg;
    return place->memory.read(place->memory.arg, place->base + at, to, size) == size;
}

static bool read_image(void *arg, uint64_t at, void *to, size_t size)
{
    const struct image *image = arg;
    return image->memory.read(image->memory.arg, (uintptr_t)image->bytes + at, to, size) == size;
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

static bool map_file(struct image *image, const char *path)
{
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool good = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
                      (uint64_t)about.st_size <= file_bytes_max;
    void *bytes = good ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (file >= 0)
        close(file);
    if (bytes == MAP_FAILED)
        return false;
    image->bytes = bytes;
    image->size = (size_t)about.st_size;
    image->is_mapped = true;
    return true;
}

/* Whether the bytes are the PDB that the assembly names. */
static bool is_right(struct image *image, const struct pdb_reference *reference)
{
    const struct pdb_bytes bytes = { read_image, image, image->size };
    return pdb_open(&image->pdb, &bytes) && memcmp(image->pdb.id, reference->id, PDB_ID_BYTES) == 0;
}

static bool open_beside(struct image *image, const struct pdb_reference *reference)
{
    char path[PATH_MAX + PDB_FILE_NAME + 1];
    find_file(image->base, path);
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    snprintf(slash + 1, sizeof path - (size_t)(slash + 1 - path), "%s", reference->file);
    if (!map_file(image, path))
        return false;
    if (is_right(image, reference)) {
        if (verbose)
            fprintf(stderr, "snapwalk-profiler: lines from %s\n", path);
        return true;
    }
    fprintf(stderr, "snapwalk-profiler: %s is of another build than its assembly, or broken: no lines from it\n", path);
    close_bytes(image);
    return false;
}

static bool open_within(struct image *image, const struct pdb_bytes *from, const struct pdb_reference *reference)
{
    if (!reference->embedded.size)
        return false;
    image->bytes = pdb_unpack(from, reference, unpacked_left);
    if (!image->bytes) {
        fprintf(stderr, "snapwalk-profiler: %s within its assembly is too large, or broken: no lines from it\n",
                reference->file);
        return false;
    }
    image->size = (size_t)reference->unpacked;
    unpacked_left -= image->size;
    if (is_right(image, reference)) {
        if (verbose)
            fprintf(stderr, "snapwalk-profiler: lines from %s within its assembly\n", reference->file);
        return true;
    }
    close_bytes(image);
    return false;
}

/* How it is laid out nothing says for certain: the way in which there is a debug directory is right. */
static void open_pdb(struct image *image)
{
    struct place place = { sw_self_memory(), image->base };
    const struct pdb_bytes from = { read_place, &place, image_bytes_max };
    struct pdb_reference reference;
    image->memory = place.memory;
    for (int mapped = 1; mapped >= 0; mapped--)
        if (pdb_reference_read(&from, mapped, &reference)) {
            (void)(open_beside(image, &reference) || open_within(image, &from, &reference));
            return;
        }
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
    return image && image->bytes;
}

bool lines_find(uint64_t base, uint32_t token, uint32_t il_offset, struct line *line)
{
    struct pdb_line found;
    const struct image *image = find_or_open(base);
    if (!image || !image->bytes || !pdb_find_line(&image->pdb, token, il_offset, &found) ||
        !pdb_document(&image->pdb, found.document, line->file, sizeof line->file))
        return false;
    line->line = found.line;
    line->column = found.column;
    line->first = found.first_line;
    return true;
}
