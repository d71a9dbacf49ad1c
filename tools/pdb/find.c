/*
 * Files are mapped, so that of a large one only what is asked for is read, and are read by the caller's reader, which
 * does not fault where a file has become shorter.
 */
#include "find.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t file_bytes_max = UINT64_C(1) << 30;

const char *pdb_found_text(enum pdb_found found)
{
    static const char *const texts[] = { [PDB_NONE] = "is not there",
                                         [PDB_OTHER] = "is of another build than its assembly, or broken: not used",
                                         [PDB_BROKEN] = "within its assembly is too large, or broken: not used",
                                         [PDB_BESIDE] = "beside its assembly has the lines",
                                         [PDB_WITHIN] = "within its assembly has the lines" };
    return texts[found];
}

/* A safe read may cost a system call, and reads are small. NULL: it cannot be read. */
static const uint8_t *block_of(struct pdb_file *file, uint64_t at)
{
    const uint64_t number = at / PDB_BLOCK_BYTES, start = number * PDB_BLOCK_BYTES, left = file->size - start;
    const size_t slot = number % PDB_BLOCKS, size = left < PDB_BLOCK_BYTES ? (size_t)left : PDB_BLOCK_BYTES;
    uint8_t *block = file->blocks + slot * PDB_BLOCK_BYTES;
    if (file->starts[slot] == start + 1)
        return block;
    file->starts[slot] = 0;
    if (!pdb_read(&file->own, (uintptr_t)file->bytes + start, block, size))
        return NULL;
    file->starts[slot] = start + 1;
    return block;
}

static bool read_mapped(void *arg, uint64_t at, void *to, size_t size)
{
    struct pdb_file *file = arg;
    for (size_t done = 0; done < size;) {
        const size_t within = (size_t)((at + done) % PDB_BLOCK_BYTES), room = PDB_BLOCK_BYTES - within;
        const size_t part = size - done < room ? size - done : room;
        const uint8_t *block = block_of(file, at + done);
        if (!block)
            return false;
        memcpy((uint8_t *)to + done, block + within, part);
        done += part;
    }
    return true;
}

static struct pdb_bytes bytes_of(struct pdb_file *file)
{
    return file->is_mapped ? (struct pdb_bytes){ read_mapped, file, file->size }
                           : pdb_bytes_of(file->bytes, file->size);
}

void pdb_close(struct pdb_file *file)
{
    if (file->is_mapped)
        munmap(file->bytes, file->size);
    else
        free(file->bytes);
    free(file->blocks);
    file->bytes = NULL;
    file->blocks = NULL;
}

/* Takes over the descriptor. */
static bool map(struct pdb_file *file, int descriptor)
{
    struct stat about;
    const bool good = descriptor >= 0 && fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
                      about.st_size > 0 && (uint64_t)about.st_size <= file_bytes_max;
    void *bytes = good ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    if (descriptor >= 0)
        close(descriptor);
    if (bytes == MAP_FAILED)
        return false;
    file->blocks = malloc((size_t)PDB_BLOCKS * PDB_BLOCK_BYTES);
    if (!file->blocks) {
        munmap(bytes, (size_t)about.st_size);
        return false;
    }
    memset(file->starts, 0, sizeof file->starts);
    file->bytes = bytes;
    file->size = (size_t)about.st_size;
    file->is_mapped = true;
    return true;
}

/* Whether what is there is the PDB that the assembly names. */
static bool is_right(struct pdb_file *file, const struct pdb_reference *reference)
{
    const struct pdb_bytes bytes = bytes_of(file);
    if (pdb_open(&file->pdb, &bytes) && memcmp(file->pdb.id, reference->id, PDB_ID_BYTES) == 0)
        return true;
    pdb_close(file);
    return false;
}

static bool unpack(struct pdb_file *file, const struct pdb_bytes *image, const struct pdb_reference *reference,
                   uint64_t most)
{
    file->bytes = pdb_unpack(image, reference, most);
    file->size = (size_t)reference->unpacked;
    file->is_mapped = false;
    return file->bytes && is_right(file, reference);
}

/* By the assembly's file, so that less is read of the program; it may be another one by now. */
static bool unpack_file(const struct pdb_search *search, struct pdb_file *file, const struct pdb_reference *reference)
{
    struct pdb_file assembly = { .own = search->own };
    struct pdb_reference its;
    if (!map(&assembly, search->open(search->arg, NULL)))
        return false;
    const struct pdb_bytes bytes = bytes_of(&assembly);
    const bool found = pdb_reference_read(&bytes, false, &its) && memcmp(its.id, reference->id, PDB_ID_BYTES) == 0 &&
                       unpack(file, &bytes, &its, search->most);
    pdb_close(&assembly);
    return found;
}

/* How it is laid out nothing says for certain: the way in which there is a debug directory is right. */
static bool read_reference(const struct pdb_bytes *image, struct pdb_reference *reference)
{
    return pdb_reference_read(image, true, reference) || pdb_reference_read(image, false, reference);
}

enum pdb_found pdb_find(const struct pdb_search *search, struct pdb_file *file, char name[PDB_FILE_NAME])
{
    struct pdb_reference reference;
    *file = (struct pdb_file){ .own = search->own };
    name[0] = 0;
    if (!read_reference(&search->image, &reference))
        return PDB_NONE;
    memcpy(name, reference.file, sizeof reference.file);
    const bool is_there = map(file, search->open(search->arg, reference.file));
    if (is_there && is_right(file, &reference))
        return PDB_BESIDE;
    if (!reference.embedded.size)
        return is_there ? PDB_OTHER : PDB_NONE;
    if (unpack_file(search, file, &reference) || unpack(file, &search->image, &reference, search->most))
        return PDB_WITHIN;
    return is_there ? PDB_OTHER : PDB_BROKEN;
}
