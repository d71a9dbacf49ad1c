/*
 * ECMA-335 metadata that is sound as far as its headers: the streams are there, the tables as large as they say; what
 * stands in their rows, in the strings and in the blobs is the input's. Holds: a name fits its room, tokens of a type
 * are in order or none, and all of it takes time in proportion to the bytes.
 */
#include "clr/format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TABLES = 12, ROOM = 1 << 15, TABLES_AT = 128, MOST_ASKED = 64 };

/* The tables that names are made of, and two that only have to be passed over. */
static const uint8_t used[TABLES] = { 0x00, 0x01, 0x02, 0x04, 0x06, 0x08, 0x0a, 0x0c, 0x1b, 0x20, 0x23, 0x29 };

static uint8_t take(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    --*size;
    return *(*data)++;
}

static void put(uint8_t *root, size_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        root[(*at)++] = (uint8_t)(value >> 8 * i);
}

/* Offset, size and name of a stream. */
static void put_stream(uint8_t *root, size_t *at, size_t offset, size_t bytes, const char *name)
{
    put(root, at, offset, 4);
    put(root, at, bytes, 4);
    memcpy(root + *at, name, strlen(name));
    *at += (strlen(name) + 4) & ~(size_t)3;
}

/* The input over and over, so that tables of any size are full. */
static void fill(uint8_t *root, size_t from, size_t to, const uint8_t *data, size_t size)
{
    for (size_t i = from; size && i < to; i++)
        root[i] = data[(i - from) % size];
}

/* Receives the rows of methods and of member references. */
static struct sw_bytes make(uint8_t *root, const uint8_t *data, size_t size, uint32_t rows[2])
{
    const uint8_t heaps = take(&data, &size) & 7;
    const size_t strings = (size_t)take(&data, &size) << 6, blobs = (size_t)take(&data, &size) << 4;
    const size_t end = ROOM - strings - blobs;
    uint64_t valid = 0;
    size_t at = TABLES_AT;
    for (unsigned i = 0; i < TABLES; i++)
        valid |= UINT64_C(1) << used[i];
    put(root, &at, 0, 6);
    put(root, &at, heaps, 2);
    put(root, &at, valid, 8);
    put(root, &at, 0, 8);
    for (unsigned i = 0; i < TABLES; i++) {
        const uint32_t count = take(&data, &size) & 63;
        put(root, &at, count, 4);
        if (used[i] == 0x06 || used[i] == 0x0a)
            rows[used[i] == 0x0a] = count;
    }
    fill(root, at, end, data, size);
    fill(root, end, ROOM, data + size / 2, size - size / 2);
    at = 0;
    put(root, &at, 0x424a5342, 4);
    put(root, &at, 0, 8);
    put(root, &at, 4, 4);
    put(root, &at, 0, 4 + 2);
    put(root, &at, 3, 2);
    put_stream(root, &at, TABLES_AT, end - TABLES_AT, "#~");
    put_stream(root, &at, end, strings, "#Strings");
    put_stream(root, &at, end + strings, blobs, "#Blob");
    return (struct sw_bytes){ root, ROOM, 0 };
}

static void ask(struct sw_bytes root, uint32_t token)
{
    char name[48];
    if (sw_clr_metadata_name(root, token, name, sizeof name) == SW_OK && strlen(name) >= sizeof name)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *root = calloc(ROOM, 1);
    uint32_t rows[2] = { 0, 0 }, first = 0, end = 0;
    if (!root)
        return 0;
    const struct sw_bytes bytes = make(root, data, size, rows);
    for (uint32_t row = 0; row < MOST_ASKED && row <= rows[0] + 1; row++)
        ask(bytes, UINT32_C(0x06000000) + row);
    for (uint32_t row = 0; row < MOST_ASKED && row <= rows[1] + 1; row++)
        ask(bytes, UINT32_C(0x0a000000) + row);
    if (sw_clr_metadata_type(bytes, "a", "a", "a", &first, &end) == SW_OK && (first | end) >> 24 < 6)
        abort();
    free(root);
    return 0;
}
