/*
 * A ReadyToRun image, made byte by byte: six functions of three methods, and the metadata of what CoreLib has of
 * exception dispatch.
 */
#ifndef TEST_UNIT_CLR_IMAGE_H
#define TEST_UNIT_CLR_IMAGE_H

#include "rows.h"
#include "../support/bytes.h"

#include <string.h>

enum {
    BASE_RVA = 0x1000,
    FILE_AT = 0x400, /* where the section is in the file */
    SECTION_BYTES = 0x1100,
    IMAGE_BYTES = FILE_AT + SECTION_BYTES,
    MAPPED_BYTES = BASE_RVA + SECTION_BYTES,
    CLI = 0x1000,
    RTR = 0x1100,
    FUNCTIONS = 0x1200,
    METHODS = 0x1300,
    INSTANCES = 0x1400,
    COLD = 0x1500,
    UNWIND = 0x1600,
    EXPORTS = 0x1680,
    COMPONENTS = 0x1700,
    METADATA = 0x1800,
    MANIFEST = 0x1c00,
    CODE = 0x2000
};
struct bin {
    uint8_t bytes[IMAGE_BYTES];
};

static uint8_t *at_rva(struct bin *b, uint32_t rva)
{
    return b->bytes + FILE_AT + (rva - BASE_RVA);
}

static void put_words(uint8_t *to, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_le(to + 4 * i, words[i], 4);
}

static void put_headers(struct bin *b)
{
    uint8_t *h = b->bytes;
    memcpy(h, "MZ", 2);
    put_le(h + 60, 0x80, 4);
    memcpy(h + 0x80, "PE\0\0", 4);
    put_le(h + 0x84, 0xfd1d, 2);
    put_le(h + 0x86, 1, 2);
    put_le(h + 0x94, 240, 2);
    uint8_t *o = h + 0x98;
    put_le(o, 0x20b, 2);
    put_le(o + 56, MAPPED_BYTES, 4);
    put_le(o + 60, FILE_AT, 4);
    put_le(o + 108, 16, 4);
    put_le(o + 112 + 8 * 3, FUNCTIONS, 4);
    put_le(o + 112 + 8 * 3 + 4, 72, 4);
    put_le(o + 112 + 8 * 14, CLI, 4);
    put_le(o + 112 + 8 * 14 + 4, 72, 4);
    const uint32_t section[4] = { SECTION_BYTES, BASE_RVA, SECTION_BYTES, FILE_AT };
    put_words(o + 240 + 8, section, 4);
    put_le(at_rva(b, CLI), 72, 4);
    put_le(at_rva(b, CLI) + 8, METADATA, 4);
    put_le(at_rva(b, CLI) + 12, 0x300, 4);
    put_le(at_rva(b, CLI) + 64, RTR, 4);
    put_le(at_rva(b, CLI) + 68, 0x80, 4);
}

/*
 * Functions of 16 bytes each: 0 method row 1, 1 its funclet, 2 method row 3, 3 an instantiation of row 2, 4 its
 * funclet, 5 the cold part of function 2.
 */
static void put_ready_to_run(struct bin *b)
{
    static const uint32_t header[] = { 0x00525452, 16,   3,   4,         102,  FUNCTIONS, 72,   103,
                                       METHODS,    0x40, 109, INSTANCES, 0x40, 120,       COLD, 8 };
    static const uint8_t unwind[] = { 0x19, 1, 1, 0, 1, 2, 0, 0, 0, 0, 0, 0 }; /* push rax, recorded as an allocation */
    static const uint8_t body[] = {
        0x50, 0x90, 0x90, 0xe8, 0x40, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3, 0xcc, 0xcc, 0xcc
    };
    static const uint32_t cold[] = { 5, 2 };
    /*
     * NativeArray of 3 elements, 1-byte block offsets. Element 0 -> function 0 with a fixup, element 2 -> function 2,
     * element 1 absent. Nodes: bits 8 and 4 have the way of 0 only; bit 2 has both, 1 is a leaf of two bytes further
     * on.
     */
    static const uint8_t methods[] = {
        (3 << 2 | 0) << 1, 1,           1 << 1,       1 << 1, (3 << 2 | 3) << 1, 0 << 2 << 1,
        (0 << 2 | 1) << 1, 2 << 2 << 1, (2 << 1) << 1
    };
    /* One bucket, one entry 3 bytes on; MethodInstantiation, row 2, one argument: GENERICINST CLASS 5 <int, SZARRAY
     * string>. */
    static const uint8_t instances[] = { 0,    2,    4, 0x5a, 1 << 1, 0x04, 2,    1,
                                         0x15, 0x12, 5, 2,    0x08,   0x1d, 0x0e, (3 << 1) << 1 };
    put_words(at_rva(b, RTR), header, COUNT_OF(header));
    memcpy(at_rva(b, UNWIND), unwind, sizeof unwind);
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t entry[] = { CODE + 16 * i, CODE + 16 * i + 16, UNWIND };
        put_words(at_rva(b, FUNCTIONS) + 12 * i, entry, 3);
        memcpy(at_rva(b, CODE) + 16 * i, body, sizeof body);
    }
    memcpy(at_rva(b, METHODS), methods, sizeof methods);
    memcpy(at_rva(b, INSTANCES), instances, sizeof instances);
    put_words(at_rva(b, COLD), cold, 2);
}

/* TypeDef rows: <Module>, System.Runtime.EH (row 1), Inner in it (rows 2 and 3). */
static void put_metadata(struct bin *b, const char *assembly)
{
    static const char names[] = "\0<Module>\0EH\0System.Runtime\0Inner\0First\0Second\0Third";
    enum {
        N_MODULE = 1,
        N_EH = 10,
        N_SPACE = 13,
        N_INNER = 28,
        N_FIRST = 34,
        N_SECOND = 40,
        N_THIRD = 47,
        N_ASSEMBLY = 64
    };
    static const uint16_t types[3][7] = { { 0, 0, N_MODULE, 0, 0, 1, 1 },
                                          { 0, 0, N_EH, N_SPACE, 0, 1, 1 },
                                          { 0, 0, N_INNER, 0, 0, 1, 2 } };
    static const uint16_t methods[3] = { N_FIRST, N_SECOND, N_THIRD };
    uint8_t *m = at_rva(b, METADATA);
    const uint32_t root[] = { 0x424a5342, 0x10001, 0, 12 };
    put_words(m, root, 4);
    memcpy(m + 16, "v4.0.30319\0\0", 12);
    put_le(m + 30, 2, 2);
    const uint32_t tables[] = { 0x100, 0x100 };
    const uint32_t strings[] = { 0x200, 0x100 };
    put_words(m + 32, tables, 2);
    memcpy(m + 40, "#~\0\0", 4);
    put_words(m + 44, strings, 2);
    memcpy(m + 52, "#Strings\0\0\0\0", 12);
    memcpy(m + 0x200, names, sizeof names);
    memcpy(m + 0x200 + N_ASSEMBLY, assembly, strlen(assembly) + 1);
    uint8_t *t = m + 0x100;
    t[4] = 2;
    put_le(t + 8, UINT64_C(1) << 2 | UINT64_C(1) << 6 | UINT64_C(1) << 0x20 | UINT64_C(1) << 0x29, 8);
    const uint32_t rows[] = { 3, 3, 1, 1 };
    put_words(t + 24, rows, 4);
    t += 40;
    for (unsigned i = 0; i < 3; i++, t += 14)
        for (unsigned k = 0; k < 7; k++)
            put_le(t + 2 * k, types[i][k], 2);
    for (unsigned i = 0; i < 3; i++, t += 14)
        put_le(t + 8, methods[i], 2);
    put_le(t + 18, N_ASSEMBLY, 2);
    t += 22;
    put_le(t, 3, 2);
    put_le(t + 2, 2, 2);
}

static struct bin make_image(void)
{
    struct bin b;
    memset(&b, 0, sizeof b);
    put_headers(&b);
    put_ready_to_run(&b);
    put_metadata(&b, "System.Private.CoreLib");
    return b;
}

#endif
