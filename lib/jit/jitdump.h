/*
 * The binary format of jitdump files. Knows one header and one record; src/code/jitdump.c decides what becomes of them.
 * Allocates nothing. Follows jit-interfaces.md section 3.
 */
#ifndef SW_JIT_JITDUMP_H
#define SW_JIT_JITDUMP_H

#include "base/bytes.h"

#include <snapwalk/regs.h>

enum { SW_JITDUMP_HEADER_BYTES = 40, SW_JITDUMP_PREFIX_BYTES = 16, SW_JITDUMP_LOAD_BYTES = 56 };

/* size: with what the writer has put behind the fields known here. is_big: the fields are big-endian. */
struct sw_jitdump_header {
    bool is_big;
    enum sw_machine machine;
    uint32_t size;
};

/* Returns  SW_OK; SW_E_TRUNCATED; SW_E_MALFORMED (the magic, or the size); SW_E_UNSUPPORTED (version, machine). */
SW_NODISCARD enum sw_status sw_jitdump_header(struct sw_bytes bytes, struct sw_jitdump_header *header);

/* Records of other kinds than these are passed over. */
enum sw_jitdump_kind { SW_JITDUMP_LOAD = 0, SW_JITDUMP_MOVE = 1, SW_JITDUMP_CLOSE = 3, SW_JITDUMP_UNWIND = 4 };

/* The prefix of a record. size: of the whole record. Returns  SW_OK; SW_E_TRUNCATED; SW_E_MALFORMED (size). */
SW_NODISCARD enum sw_status sw_jitdump_prefix(struct sw_bytes bytes, bool is_big, uint32_t *kind, uint32_t *size);

/*
 * LOAD    begin, code_size, name.
 * MOVE    from, begin, code_size.
 * UNWIND  frames: .eh_frame, whose address counts from the end of the code, rounded up to 8; empty: there is none.
 */
struct sw_jitdump_record {
    uint32_t kind;
    uint64_t begin;
    uint64_t code_size;
    uint64_t from;
    const char *name; /* in the record, with its NUL */
    size_t name_size;
    struct sw_bytes frames;
};

/*
 * One record: whole, or of LOAD as much as has the name, as the code behind it is not looked at.
 *
 * Returns  SW_OK, also for other kinds; SW_E_MALFORMED: what it says does not fit into it.
 */
SW_NODISCARD enum sw_status sw_jitdump_record(struct sw_bytes bytes, bool is_big, struct sw_jitdump_record *record);

#endif
