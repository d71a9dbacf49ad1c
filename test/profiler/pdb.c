/*
 * Portable PDBs and debug directories, made here byte by byte: every kind of record; then each file cut at every length
 * and with every bit turned, which must change answers, but end no program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pdb/assembly.h"

#define LEN(array) (sizeof(array) / sizeof(array)[0])

enum { ROOM = 4096, METHOD = 0x06000000 };

struct file {
    uint8_t bytes[ROOM];
    size_t size;
};

static void put(struct file *f, uint64_t value, size_t size)
{
    assert_true(f->size + size <= ROOM);
    for (size_t i = 0; i < size; i++)
        f->bytes[f->size++] = (uint8_t)(i < 8 ? value >> 8 * i : 0);
}

static void put_bytes(struct file *f, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put(f, ((const uint8_t *)bytes)[i], 1);
}

static void put_at(struct file *f, size_t at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        f->bytes[at + i] = (uint8_t)(value >> 8 * i);
}

/* ---- a PDB ---- */

/*
 * The blob heap. At 1: "src", 5: "a.cs", 10: "b.cs"; documents' names at 15, 19; sequence points from 23 on.
 * Method 1: offset 0: line 10, column 5; 4: line 12; 9 hidden; 20: line 300, column 7, over several lines; 22: line 11.
 * Method 2, over two documents: 0: line 3 of the first; 6: line 40 of the second.
 * Method 3 has no points; method 4 has hidden ones alone; method 5 ends in the middle of a record.
 */
/* clang-format off */
static const uint8_t blobs[] = {
    0, 3, 's', 'r', 'c', 4, 'a', '.', 'c', 's', 4, 'b', '.', 'c', 's', 3, '/', 1, 5, 3, '/', 1, 10,
    /* 23 */ 26, 0x11, 0, 0, 8, 10, 5, 4, 0, 8, 4, 0, 5, 0, 0, 11, 3, 4, 0x82, 0x40, 4, 2, 0, 3, 0xbd, 0xbf, 0x7f,
    /* 50 */ 14, 0, 1, 0, 0, 9, 3, 1, 0, 2, 6, 0, 3, 74, 2,
    /* 65 */ 7, 0x11, 0, 0, 0, 5, 0, 0,
    /* 73 */ 3, 0x11, 0, 9,
};
/* clang-format on */

static const struct {
    uint32_t document, points;
} methods[] = { { 1, 23 }, { 0, 50 }, { 0, 0 }, { 1, 65 }, { 1, 73 } };

static const uint8_t id[PDB_ID_BYTES] = "0123456789abcdef\1\2\3\4";

static size_t put_stream(struct file *f, const char *name)
{
    const size_t at = f->size;
    put(f, 0, 8);
    char padded[16] = "";
    memcpy(padded, name, strlen(name));
    put_bytes(f, padded, (strlen(name) + 4) & ~(size_t)3);
    return at;
}

static void end_stream(struct file *f, size_t head, size_t begin)
{
    put_at(f, head, begin, 4);
    put_at(f, head + 4, f->size - begin, 4);
}

/* wide: heaps' indices of four bytes, and a table behind those that are read. */
static struct file make_pdb(bool wide)
{
    struct file f = { .size = 0 };
    put(&f, 0x424a5342, 4), put(&f, 1, 4), put(&f, 0, 4), put(&f, 12, 4);
    put_bytes(&f, "PDB v1.0\0\0\0", 12);
    put(&f, 0, 2), put(&f, 4, 2);
    const size_t pdb = put_stream(&f, "#Pdb"), guids = put_stream(&f, "#GUID"), tables = put_stream(&f, "#~"),
                 heap = put_stream(&f, "#Blob");
    size_t begin = f.size;
    put_bytes(&f, id, sizeof id), put(&f, 0, 12);
    end_stream(&f, pdb, begin);
    begin = f.size;
    put(&f, 0, 8), put(&f, 0, 8);
    end_stream(&f, guids, begin);
    begin = f.size;
    put(&f, 0, 4), put(&f, 2, 2), put(&f, wide ? 7 : 0, 1), put(&f, 1, 1);
    put(&f, (wide ? UINT64_C(7) : UINT64_C(3)) << 0x30, 8), put(&f, 0, 8);
    put(&f, 2, 4), put(&f, LEN(methods), 4), put(&f, 1, wide ? 4 : 0);
    const size_t index = wide ? 4 : 2;
    for (size_t i = 0; i < 2; i++)
        put(&f, i ? 19 : 15, index), put(&f, 1, index), put(&f, 0, index), put(&f, 1, index);
    for (size_t i = 0; i < LEN(methods); i++)
        put(&f, methods[i].document, 2), put(&f, methods[i].points, index);
    end_stream(&f, tables, begin);
    begin = f.size;
    put_bytes(&f, blobs, sizeof blobs);
    end_stream(&f, heap, begin);
    return f;
}

static const struct {
    uint32_t method, il, line, column, first;
    const char *file; /* NULL: no answer */
} lines[] = {
    { 1, 0, 10, 5, 10, "src/a.cs" },  { 1, 3, 10, 5, 10, "src/a.cs" },
    { 1, 4, 12, 5, 10, "src/a.cs" },  { 1, 9, 12, 5, 10, "src/a.cs" },
    { 1, 19, 12, 5, 10, "src/a.cs" }, { 1, 20, 300, 7, 10, "src/a.cs" },
    { 1, 22, 11, 6, 10, "src/a.cs" }, { 1, 9999, 11, 6, 10, "src/a.cs" },
    { 2, 5, 3, 1, 3, "src/a.cs" },    { 2, 6, 40, 2, 3, "src/b.cs" },
    { 3, 0, 0, 0, 0, NULL },          { 4, 3, 0, 0, 0, NULL },
    { 5, 0, 0, 0, 0, NULL },          { 6, 0, 0, 0, 0, NULL },
    { 0, 0, 0, 0, 0, NULL },
};

static void statements_have_their_lines(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        const struct file f = make_pdb(wide);
        const struct pdb_bytes bytes = pdb_bytes_of(f.bytes, f.size);
        struct pdb pdb;
        assert_true(pdb_open(&pdb, &bytes));
        assert_memory_equal(pdb.id, id, sizeof id);
        for (size_t i = 0; i < LEN(lines); i++) {
            struct pdb_line line;
            char text[64];
            const bool found = pdb_find_line(&pdb, METHOD | lines[i].method, lines[i].il, &line);
            assert_int_equal(found, lines[i].file != NULL);
            if (!found)
                continue;
            assert_int_equal(line.line, lines[i].line);
            assert_int_equal(line.column, lines[i].column);
            assert_int_equal(line.first_line, lines[i].first);
            assert_true(pdb_document(&pdb, line.document, text, sizeof text));
            assert_string_equal(text, lines[i].file);
            assert_true(pdb_document(&pdb, line.document, text, 5));
            assert_string_equal(text, "src/");
        }
        assert_false(pdb_find_line(&pdb, 0x0a000001, 0, &(struct pdb_line){ 0 }));
    }
}

/* Asks everything; the bytes are copied to where a read behind them is noticed. */
static void ask_all(const uint8_t *from, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, from, size);
    const struct pdb_bytes bytes = pdb_bytes_of(copy, size);
    struct pdb pdb;
    if (pdb_open(&pdb, &bytes))
        for (size_t i = 0; i < LEN(lines); i++) {
            struct pdb_line line;
            char text[64];
            if (pdb_find_line(&pdb, METHOD | lines[i].method, lines[i].il, &line))
                (void)pdb_document(&pdb, line.document, text, sizeof text);
        }
    struct pdb_reference reference;
    for (int mapped = 0; mapped < 2; mapped++)
        if (pdb_reference_read(&bytes, mapped, &reference))
            free(pdb_unpack(&bytes, &reference, ROOM));
    free(copy);
}

static void ask_broken(const struct file *f)
{
    for (size_t size = 0; size < f->size; size++)
        ask_all(f->bytes, size);
    for (size_t bit = 0; bit < 8 * f->size; bit++) {
        struct file turned = *f;
        turned.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ask_all(turned.bytes, turned.size);
    }
}

static void broken_pdbs_end_no_program(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        const struct file f = make_pdb(wide);
        ask_broken(&f);
    }
}

/* ---- compressed numbers: ECMA-335 II.23.2 ---- */

static void numbers_are_those_of_the_standard(void **state)
{
    static const struct {
        uint8_t bytes[4];
        size_t size;
        bool is_signed;
        int64_t value; /* -1 of an unsigned one: refused */
    } rows[] = {
        { { 0x03 }, 1, false, 3 },
        { { 0x7f }, 1, false, 0x7f },
        { { 0x80, 0x80 }, 2, false, 0x80 },
        { { 0xae, 0x57 }, 2, false, 0x2e57 },
        { { 0xbf, 0xff }, 2, false, 0x3fff },
        { { 0xc0, 0x00, 0x40, 0x00 }, 4, false, 0x4000 },
        { { 0xdf, 0xff, 0xff, 0xff }, 4, false, 0x1fffffff },
        { { 0xe0, 0, 0, 0 }, 4, false, -1 },
        { { 0x80 }, 1, false, -1 },
        { { 0x06 }, 1, true, 3 },
        { { 0x7b }, 1, true, -3 },
        { { 0x80, 0x80 }, 2, true, 64 },
        { { 0x01 }, 1, true, -64 },
        { { 0xc0, 0x00, 0x40, 0x00 }, 4, true, 8192 },
        { { 0x80, 0x01 }, 2, true, -8192 },
        { { 0xdf, 0xff, 0xff, 0xfe }, 4, true, 268435455 },
        { { 0xc0, 0x00, 0x00, 0x01 }, 4, true, -268435456 },
    };
    (void)state;
    for (size_t i = 0; i < LEN(rows); i++) {
        const struct pdb_bytes bytes = pdb_bytes_of(rows[i].bytes, rows[i].size);
        struct pdb_cursor cursor = pdb_cursor_at(&bytes, 0, rows[i].size);
        if (rows[i].is_signed)
            assert_int_equal(pdb_cursor_signed(&cursor), rows[i].value);
        else if (rows[i].value >= 0)
            assert_int_equal(pdb_cursor_unsigned(&cursor), rows[i].value);
        else
            (void)pdb_cursor_unsigned(&cursor);
        assert_int_equal(cursor.bad, !rows[i].is_signed && rows[i].value < 0);
        assert_false(pdb_cursor_has_more(&cursor));
    }
}

/* ---- an assembly ---- */

enum { SECTION_RVA = 0x2000, SECTION_AT = 0x200 };

/* What stands in a section is at an RVA where the image is mapped, and at another place in the file. */
static size_t place_in(size_t at, bool mapped)
{
    return mapped ? at - SECTION_AT + SECTION_RVA : at;
}

static void put_entry(struct file *f, uint32_t type, uint32_t version, size_t size, size_t at)
{
    put(f, 0, 4), memcpy(f->bytes + f->size, id + 16, 4), f->size += 4;
    put(f, version, 4), put(f, type, 4), put(f, size, 4), put(f, place_in(at, true), 4), put(f, at, 4);
}

static size_t deflate_pdb(const struct file *pdb, uint8_t packed[ROOM])
{
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)pdb->bytes, .avail_in = (uInt)pdb->size, .next_out = packed, .avail_out = ROOM
    };
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

/* As a file: head, one section with the debug directory's three entries and what they name. */
static struct file make_assembly(bool plus)
{
    const struct file pdb = make_pdb(false);
    const char path[] = "C:\\build\\obj/Release/lines.pdb";
    uint8_t packed[ROOM];
    const size_t packed_size = deflate_pdb(&pdb, packed), directory = SECTION_AT + 16, view = directory + 3 * 28,
                 within = view + 24 + sizeof path, optional = plus ? 240 : 224;
    struct file f = { .size = 0 };
    put(&f, 0x5a4d, 2), f.size = 60, put(&f, 0x80, 4), f.size = 0x80;
    put(&f, 0x4550, 4), put(&f, plus ? 0x8664 : 0x14c, 2), put(&f, 1, 2), put(&f, 0, 12), put(&f, optional, 2),
        put(&f, 0, 2);
    const size_t begin = f.size, directories = begin + (plus ? 112 : 96);
    put(&f, plus ? 0x20b : 0x10b, 2);
    put_at(&f, directories - 4, 16, 4);
    put_at(&f, directories + 8 * 6, place_in(directory, true), 4);
    put_at(&f, directories + 8 * 6 + 4, 3 * 28, 4);
    f.size = begin + optional;
    put_bytes(&f, ".text\0\0\0", 8), put(&f, 0x1000, 4), put(&f, SECTION_RVA, 4), put(&f, 0x1000, 4),
        put(&f, SECTION_AT, 4);
    f.size = directory;
    put_entry(&f, 2, 0x504d0100, 24 + sizeof path, view);
    put_entry(&f, 19, 1, 0, 0); /* a checksum */
    put_entry(&f, 17, 0x01000100, 8 + packed_size, within);
    put(&f, 0x53445352, 4), put_bytes(&f, id, 16), put(&f, 1, 4), put_bytes(&f, path, sizeof path);
    put(&f, 0x4244504d, 4), put(&f, pdb.size, 4), put_bytes(&f, packed, packed_size);
    return f;
}

/* The same as it is mapped: its section at its RVA. */
static uint8_t *map_assembly(const struct file *f, size_t *size)
{
    uint8_t *image = calloc(1, *size = SECTION_RVA + ROOM);
    assert_non_null(image);
    memcpy(image, f->bytes, SECTION_AT);
    memcpy(image + SECTION_RVA, f->bytes + SECTION_AT, f->size - SECTION_AT);
    return image;
}

static void check_assembly(const struct pdb_bytes *bytes, bool mapped)
{
    const struct file pdb = make_pdb(false);
    struct pdb_reference reference;
    assert_true(pdb_reference_read(bytes, mapped, &reference));
    assert_string_equal(reference.file, "lines.pdb");
    assert_memory_equal(reference.id, id, sizeof id);
    assert_null(pdb_unpack(bytes, &reference, pdb.size - 1)); /* larger than is allowed */
    uint8_t *unpacked = pdb_unpack(bytes, &reference, ROOM);
    assert_non_null(unpacked);
    assert_int_equal(reference.unpacked, pdb.size);
    assert_memory_equal(unpacked, pdb.bytes, pdb.size);
    free(unpacked);
    reference.unpacked--; /* what it says is not what is there */
    assert_null(pdb_unpack(bytes, &reference, ROOM));
}

static void assemblies_name_their_pdb(void **state)
{
    (void)state;
    for (int plus = 0; plus < 2; plus++) {
        const struct file f = make_assembly(plus);
        struct pdb_bytes bytes = pdb_bytes_of(f.bytes, f.size);
        struct pdb_reference reference;
        size_t size;
        check_assembly(&bytes, false);
        assert_false(pdb_reference_read(&bytes, true, &reference)); /* the other layout */
        uint8_t *image = map_assembly(&f, &size);
        bytes = pdb_bytes_of(image, size);
        check_assembly(&bytes, true);
        assert_false(pdb_reference_read(&bytes, false, &reference));
        free(image);
    }
}

static void other_debug_directories_name_none(void **state)
{
    struct file f = make_assembly(true);
    const struct pdb_bytes bytes = pdb_bytes_of(f.bytes, f.size);
    struct pdb_reference reference;
    (void)state;
    put_at(&f, SECTION_AT + 16 + 10, 0, 2); /* not a portable one */
    assert_false(pdb_reference_read(&bytes, false, &reference));
}

static void broken_assemblies_end_no_program(void **state)
{
    const struct file f = make_assembly(true);
    (void)state;
    ask_broken(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_standard), cmocka_unit_test(statements_have_their_lines),
        cmocka_unit_test(broken_pdbs_end_no_program),        cmocka_unit_test(assemblies_name_their_pdb),
        cmocka_unit_test(other_debug_directories_name_none), cmocka_unit_test(broken_assemblies_end_no_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
