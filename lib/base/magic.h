/*
 * What the first bytes of a file say that it is; where there are too few of them, nothing. What follows is checked by
 * who reads it (elf/elf.h, pe/pe.h). Source: ELF gABI, e_ident; PE Format, "MS-DOS Stub".
 */
#ifndef SW_BASE_MAGIC_H
#define SW_BASE_MAGIC_H

#include "base/bytes.h"

#include <string.h>

enum { SW_MAGIC_BYTES = 4 };

static inline bool sw_begins_elf(struct sw_bytes file)
{
    return file.size >= SW_MAGIC_BYTES && memcmp(file.bytes, "\177ELF", SW_MAGIC_BYTES) == 0;
}

static inline bool sw_begins_pe(struct sw_bytes file)
{
    return file.size >= 2 && memcmp(file.bytes, "MZ", 2) == 0;
}

static inline bool sw_begins_image(struct sw_bytes file)
{
    return sw_begins_elf(file) || sw_begins_pe(file);
}

#endif
