/*
 * PE headers as far as the debug directory; entries of portable PDBs, in files of their own and embedded. Knows both
 * layouts of an image. Source: Microsoft PE format, "Debug Directory"; dotnet/runtime docs/design/specs/PE-COFF.md.
 */
#include "assembly.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PE_MAGIC = 0x4550, PE32 = 0x10b, PE32_PLUS = 0x20b, DEBUG_DIRECTORY = 6, ENTRY = 28, SECTION = 40 };
enum { SECTIONS_MAX = 96, ENTRIES_MAX = 64, CODE_VIEW = 2, EMBEDDED = 17, PORTABLE = 0x504d };

/* "RSDS" and "MPDB" as numbers. */
static const uint32_t code_view_magic = 0x53445352, embedded_magic = 0x4244504d;

struct image {
    const struct pdb_bytes *bytes;
    bool mapped, bad;
    uint64_t sections_at, section_count;
};

static uint64_t number(struct image *image, uint64_t at, size_t size)
{
    return pdb_number(image->bytes, at, size, &image->bad);
}

/* Where an RVA is; 0: nowhere. */
static uint64_t place_of(struct image *image, uint64_t rva)
{
    if (image->mapped)
        return rva;
    for (uint64_t i = 0; i < image->section_count && !image->bad; i++) {
        const uint64_t at = image->sections_at + i * SECTION, begin = number(image, at + 12, 4),
                       size = number(image, at + 16, 4), raw = number(image, at + 20, 4);
        if (rva >= begin && rva - begin < size)
            return raw + (rva - begin);
    }
    return 0;
}

/* The debug directory; size 0: none. */
static struct pdb_part find_directory(struct image *image)
{
    const struct pdb_part none = { 0, 0 };
    const uint64_t pe = number(image, 60, 4), optional = pe + 24, kind = number(image, optional, 2);
    if (image->bad || number(image, 0, 2) != 0x5a4d || number(image, pe, 4) != PE_MAGIC ||
        (kind != PE32 && kind != PE32_PLUS))
        return none;
    const uint64_t directories = optional + (kind == PE32 ? 96 : 112);
    image->section_count = number(image, pe + 6, 2);
    image->sections_at = optional + number(image, pe + 20, 2);
    if (image->section_count > SECTIONS_MAX || number(image, directories - 4, 4) <= DEBUG_DIRECTORY)
        return none;
    const uint64_t at = directories + 8 * DEBUG_DIRECTORY, rva = number(image, at, 4), size = number(image, at + 4, 4);
    const struct pdb_part found = { rva ? place_of(image, rva) : 0, size };
    return image->bad || !found.at ? none : found;
}

/* A path's last part, of either kind of system: at most as much as there is room for. */
static void keep_file_name(struct image *image, uint64_t at, uint64_t size, char file[PDB_FILE_NAME])
{
    struct pdb_cursor path = pdb_cursor_at(image->bytes, at, size);
    size_t used = 0;
    while (pdb_cursor_has_more(&path)) {
        const char c = (char)pdb_cursor_byte(&path);
        if (!c || path.bad)
            break;
        if (c == '/' || c == '\\')
            used = 0;
        else if (used + 1 < PDB_FILE_NAME)
            file[used++] = c;
        else
            break;
    }
    file[used] = 0;
}

static void take_code_view(struct image *image, uint64_t stamp, struct pdb_part data, struct pdb_reference *reference)
{
    if (data.size <= 24 || data.size > 4096 || number(image, data.at, 4) != code_view_magic ||
        !pdb_read(image->bytes, data.at + 4, reference->id, 16))
        return;
    for (size_t i = 0; i < 4; i++)
        reference->id[16 + i] = (uint8_t)(stamp >> 8 * i);
    keep_file_name(image, data.at + 24, data.size - 24, reference->file);
}

static void take_embedded(struct image *image, struct pdb_part data, struct pdb_reference *reference)
{
    if (data.size <= 8 || number(image, data.at, 4) != embedded_magic)
        return;
    reference->unpacked = number(image, data.at + 4, 4);
    reference->embedded = (struct pdb_part){ data.at + 8, data.size - 8 };
}

static void take_entry(struct image *image, uint64_t at, struct pdb_reference *reference)
{
    const uint64_t stamp = number(image, at + 4, 4), minor = number(image, at + 10, 2),
                   type = number(image, at + 12, 4);
    const struct pdb_part data = { number(image, at + (image->mapped ? 20 : 24), 4), number(image, at + 16, 4) };
    if (image->bad || !data.at)
        return;
    if (type == CODE_VIEW && minor == PORTABLE)
        take_code_view(image, stamp, data, reference);
    else if (type == EMBEDDED)
        take_embedded(image, data, reference);
}

bool pdb_reference_read(const struct pdb_bytes *bytes, bool mapped, struct pdb_reference *reference)
{
    struct image image = { .bytes = bytes, .mapped = mapped };
    *reference = (struct pdb_reference){ 0 };
    const struct pdb_part directory = find_directory(&image);
    for (uint64_t i = 0; i < ENTRIES_MAX && (i + 1) * ENTRY <= directory.size && !image.bad; i++)
        take_entry(&image, directory.at + i * ENTRY, reference);
    return reference->file[0] != 0;
}

/* Deflated bytes, without a head. */
static bool inflate_all(void *from, size_t size, void *to, size_t room)
{
    z_stream stream = { .next_in = from, .avail_in = (uInt)size, .next_out = to, .avail_out = (uInt)room };
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    const int result = inflate(&stream, Z_FINISH);
    const bool whole = result == Z_STREAM_END && stream.total_out == room;
    inflateEnd(&stream);
    return whole;
}

void *pdb_unpack(const struct pdb_bytes *image, const struct pdb_reference *reference, uint64_t most)
{
    const struct pdb_part packed = reference->embedded;
    if (!packed.size || packed.size > most || !reference->unpacked || reference->unpacked > most)
        return NULL;
    void *from = malloc(packed.size), *to = malloc(reference->unpacked);
    const bool good = from && to && pdb_read(image, packed.at, from, packed.size) &&
                      inflate_all(from, packed.size, to, reference->unpacked);
    free(from);
    if (good)
        return to;
    free(to);
    return NULL;
}
