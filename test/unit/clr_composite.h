/* A composite ReadyToRun image, and the manifest that names its components. */
#ifndef TEST_UNIT_CLR_COMPOSITE_H
#define TEST_UNIT_CLR_COMPOSITE_H

#include "clr_image.h"

enum { DISPATCHING = CODE, NOT_DISPATCHING = CODE + 0x20 }; /* functions 0 and 2 */

/* Without a CLI header: the header is exported by name, and the methods are those of one component. */
static struct bin make_composite(void)
{
    struct bin b = make_image();
    static const uint32_t header[] = { 0x00525452, 16,         3,  3,   102,       FUNCTIONS, 72,
                                       115,        COMPONENTS, 16, 109, INSTANCES, 0x40 };
    static const uint32_t component[] = { 0, 0, COMPONENTS + 0x20, 20 };
    static const uint32_t core[] = { 0x20, 1, 103, METHODS, 0x40 };
    uint8_t *o = b.bytes + 0x98;
    put_le(o + 112, EXPORTS, 4);
    put_le(o + 116, 0x80, 4);
    put_le(o + 112 + 8 * 14, 0, 4);
    const uint32_t exports[] = { 1, 1, EXPORTS + 40, EXPORTS + 44, EXPORTS + 48 };
    put_words(at_rva(&b, EXPORTS) + 20, exports, 5);
    put_le(at_rva(&b, EXPORTS) + 40, RTR, 4);
    put_le(at_rva(&b, EXPORTS) + 44, EXPORTS + 52, 4);
    memcpy(at_rva(&b, EXPORTS) + 52, "RTR_HEADER", 11);
    put_words(at_rva(&b, RTR), header, COUNT_OF(header));
    put_words(at_rva(&b, COMPONENTS), component, 4);
    put_words(at_rva(&b, COMPONENTS) + 0x20, core, 5);
    return b;
}

/* Metadata that refers to one assembly, as section 112 of a composite image. */
static void put_manifest(struct bin *b, const char *refers_to)
{
    uint8_t *m = at_rva(b, MANIFEST);
    const uint32_t root[] = { 0x424a5342, 0x10001, 0, 12 };
    const uint32_t tables[] = { 0x80, 0x40 }, strings[] = { 0x100, 0x40 }, section[] = { 112, MANIFEST, 0x140 };
    put_words(m, root, 4);
    put_le(m + 30, 2, 2);
    put_words(m + 32, tables, 2);
    memcpy(m + 40, "#~\0\0", 4);
    put_words(m + 44, strings, 2);
    memcpy(m + 52, "#Strings\0\0\0\0", 12);
    memcpy(m + 0x101, refers_to, strlen(refers_to) + 1);
    m[0x84] = 2;
    put_le(m + 0x88, UINT64_C(1) << 0x23, 8);
    put_le(m + 0x98, 1, 4);
    put_le(m + 0x9c + 14, 1, 2); /* its name */
    put_le(at_rva(b, RTR) + 12, 4, 4);
    put_words(at_rva(b, RTR) + 52, section, 3);
}

#endif
