#include "jitdump_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEADER_BYTES = 40, EH_HEADER_BYTES = 20 };

struct dump_file dump_file;

void dump_put(uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        dump_file.bytes[dump_file.size++] = (uint8_t)(value >> (8 * (dump_file.is_big ? size - 1 - i : i)));
}

void dump_change(size_t at, uint64_t value, unsigned size)
{
    const size_t end = dump_file.size;
    dump_file.size = at;
    dump_put(value, size);
    dump_file.size = end;
}

void dump_header(bool is_big, unsigned machine)
{
    memset(&dump_file, 0, sizeof dump_file);
    dump_file.is_big = is_big;
    dump_put(0x4a695444, 4);
    dump_put(1, 4);
    dump_put(HEADER_BYTES + 8, 4);
    dump_put(machine, 4);
    dump_put(0, 4);
    dump_put(4711, 4);
    dump_put(1, 8);
    dump_put(0, 8);
    dump_put(0, 8); /* of a later version */
}

size_t dump_prefix(uint32_t kind, size_t size)
{
    const size_t at = dump_file.size;
    dump_put(kind, 4);
    dump_put(size, 4);
    dump_put(1, 8);
    return at;
}

size_t dump_load(uint64_t code, const char *name)
{
    const size_t at = dump_prefix(DUMP_LOAD, DUMP_LOAD_NAME_AT + strlen(name) + 1 + DUMP_CODE_BYTES);
    dump_put(0, 8);
    dump_put(code, 8);
    dump_put(code, 8);
    dump_put(DUMP_CODE_BYTES, 8);
    dump_put(1, 8);
    memcpy(dump_file.bytes + dump_file.size, name, strlen(name) + 1);
    dump_file.size += strlen(name) + 1;
    memset(dump_file.bytes + dump_file.size, 0x90, DUMP_CODE_BYTES);
    dump_file.size += DUMP_CODE_BYTES;
    return at;
}

size_t dump_move(uint64_t from, uint64_t to)
{
    const size_t at = dump_prefix(DUMP_MOVE, 64);
    dump_put(0, 8);
    dump_put(from, 8);
    dump_put(from, 8);
    dump_put(to, 8);
    dump_put(DUMP_CODE_BYTES, 8);
    dump_put(1, 8);
    return at;
}

/* A CIE and an FDE, with the code in front of them, rounded up to 8: 40 + 32 bytes to where pc_begin is. */
static const uint8_t frames[DUMP_FRAMES_BYTES] = {
    20,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    1,
    'z',
    'R',
    0,
    1,
    0x78,
    16,
    1,
    0x1b,
    0x0c,
    7,
    8,
    0x90,
    1,
    0,
    0,
    20,
    0,
    0,
    0,
    28,
    0,
    0,
    0,
    0xb8,
    0xff,
    0xff,
    0xff,
    DUMP_CODE_BYTES,
    0,
    0,
    0,
    0,
    0x0e,
    48,
    0,
    0,
    0,
    0,
    0,
};

size_t dump_unwind(size_t size)
{
    const size_t at = dump_prefix(DUMP_UNWIND, 40 + size + EH_HEADER_BYTES);
    dump_put(size + EH_HEADER_BYTES, 8);
    dump_put(EH_HEADER_BYTES, 8);
    dump_put(0, 8);
    memcpy(dump_file.bytes + dump_file.size, frames, size);
    dump_file.size += size + EH_HEADER_BYTES;
    return at;
}

/* ---- a reader, and what it fills ---- */

struct sw_perfmap *dump_perfmap;
struct sw_jitdump *dump_reader;
struct sw_images *dump_images;
struct sw_codemap *dump_codemap;

int dump_set_up(void **state)
{
    (void)state;
    return sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &dump_perfmap) ||
           sw_jitdump_create(NULL, dump_perfmap, &dump_reader) || sw_images_create(NULL, &dump_images) ||
           sw_codemap_create(NULL, &dump_codemap);
}

int dump_tear_down(void **state)
{
    (void)state;
    sw_jitdump_destroy(dump_reader);
    sw_perfmap_destroy(dump_perfmap);
    sw_images_destroy(dump_images);
    sw_codemap_destroy(dump_codemap);
    return 0;
}

enum sw_status dump_feed(size_t step)
{
    enum sw_status first = SW_OK;
    for (size_t at = 0; at < dump_file.size; at += step) {
        const size_t part = dump_file.size - at < step ? dump_file.size - at : step;
        uint8_t *copy = malloc(part);
        assert_non_null(copy);
        memcpy(copy, dump_file.bytes + at, part);
        const enum sw_status status = sw_jitdump_feed(dump_reader, copy, part, dump_images, dump_codemap);
        first = first ? first : status;
        free(copy);
    }
    return first;
}

void dump_assert_name(uint64_t address, const char *name)
{
    const char *found = sw_perfmap_name(dump_perfmap, address, NULL);
    if (name)
        assert_non_null(found);
    else
        assert_null(found);
    if (name && found)
        assert_string_equal(found, name);
}

bool dump_is_image(uint64_t address)
{
    struct sw_image image;
    return sw_images_find(dump_images, address, &image) == SW_OK;
}

void dump_assert_unwind(uint64_t address, enum sw_unwind unwind)
{
    struct sw_range range;
    assert_int_equal(sw_codemap_find(dump_codemap, address, &range), SW_OK);
    assert_int_equal(range.unwind, unwind);
    assert_true(range.end == range.begin + DUMP_CODE_BYTES);
}
