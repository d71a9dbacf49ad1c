/*
 * Portable PDBs and the assemblies that name them, from arbitrary bytes; the input is also sound headers with its own
 * tables and blobs behind them. Holds: every question ends, texts end in a NUL, nothing is read outside.
 */
#include <pdb/assembly.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADS = 128, UNPACKED_MAX = 1 << 16 };

static void ask(const void *bytes, size_t size)
{
    const struct pdb_bytes from = pdb_bytes_of(bytes, size);
    struct pdb pdb;
    struct pdb_line line;
    char text[64];
    if (!pdb_open(&pdb, &from))
        return;
    for (uint32_t row = 0; row < 8; row++) {
        for (uint32_t il = 0; il < 40; il += 13)
            if (pdb_find_line(&pdb, 0x06000000 | row, il, &line) && (line.line >= 0x20000000 || !line.document))
                abort();
        (void)pdb_document(&pdb, row, text, sizeof text);
        if (strnlen(text, sizeof text) == sizeof text)
            abort();
    }
}

static void put(uint8_t *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void put_stream(uint8_t **at, size_t begin, size_t size, const char name[8])
{
    put(*at, begin, 4);
    put(*at + 4, size, 4);
    memcpy(*at + 8, name, 8);
    *at += 16;
}

/* Three streams: the id, tables of a few rows, blobs; what is in them is the input. */
static void ask_with_heads(const uint8_t *data, size_t size)
{
    const size_t half = size / 2;
    uint8_t *bytes = calloc(1, HEADS + size), *at = bytes + 16 + 4 + 4;
    if (!bytes || size < 64) {
        free(bytes);
        return;
    }
    memcpy(bytes + HEADS, data, size);
    put(bytes, 0x424a5342, 4);
    put(bytes + 12, 4, 4);
    put(bytes + 16 + 4 + 2, 3, 2);
    put_stream(&at, HEADS, 20, "#Pdb\0\0\0");
    put_stream(&at, HEADS, half, "#~\0\0\0\0\0");
    put_stream(&at, HEADS + half, size - half, "#Blob\0\0");
    put(bytes + HEADS + 6, data[6] & 7, 1);
    put(bytes + HEADS + 8, UINT64_C(3) << 0x30, 8);
    put(bytes + HEADS + 24, data[24] & 3, 4);
    put(bytes + HEADS + 28, data[28] & 3, 4);
    ask(bytes, HEADS + size);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct pdb_bytes from = pdb_bytes_of(data, size);
    struct pdb_reference reference;
    ask(data, size);
    ask_with_heads(data, size);
    for (unsigned mapped = 0; mapped < 2; mapped++)
        if (pdb_reference_read(&from, mapped, &reference)) {
            if (strnlen(reference.file, sizeof reference.file) == sizeof reference.file)
                abort();
            free(pdb_unpack(&from, &reference, UNPACKED_MAX));
        }
    return 0;
}
