/*
 * DWARF's encoded pointers (DW_EH_PE_*), as .eh_frame and .eh_frame_hdr hold them.
 * Knows formats and bases; never follows a pointer.
 */
#ifndef SW_BASE_POINTER_H
#define SW_BASE_POINTER_H

#include "base/bytes.h"

/* One byte says it: format in bits 3:0, base in bits 6:4, indirect in bit 7. */
enum {
    SW_POINTER_ABSOLUTE = 0x00,
    SW_POINTER_OMIT = 0xff,
    SW_POINTER_FORMAT = 0x0f,
    SW_POINTER_BASE = 0x70,
    SW_POINTER_ALIGNED = 0x50,
    SW_POINTER_INDIRECT = 0x80
};

/*
 * What pointers may be relative to, beside their own address.
 *
 * bias      Added to absolute ones.
 * data      For datarel, or 0: there is none.
 * function  For funcrel, or 0: there is none.
 */
struct sw_pointer_bases {
    uint64_t bias;
    uint64_t data;
    uint64_t function;
};

/*
 * The pointer at the cursor, which moves past it. A stored 0 is null, whatever the base.
 *
 * value    0 on failure.
 *
 * Returns  SW_OK; SW_E_TRUNCATED; SW_E_UNSUPPORTED (no such format, a base that is not there, indirect, omitted).
 * Source   LSB, "DWARF Exception Header Encoding"; dwarf-cfi.md section 1.
 */
SW_NODISCARD enum sw_status sw_pointer_read(struct sw_cursor *c, uint8_t encoding, const struct sw_pointer_bases *bases,
                                            uint64_t *value);

/* The same number without any base: a size (pc_range), or a pointer that is only to be passed over. */
SW_NODISCARD enum sw_status sw_pointer_raw(struct sw_cursor *c, uint8_t encoding, uint64_t *value);

/* Bytes that a pointer takes, or 0 when that depends on its value or place. */
unsigned sw_pointer_size(uint8_t encoding);

#endif
