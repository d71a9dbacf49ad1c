/*
 * The tables of ECMA-335 metadata: which there are, the columns of each, and from a header where every row and column
 * lies. Used inside lib/clr only.
 */
#ifndef SW_CLR_TABLES_H
#define SW_CLR_TABLES_H

#include "base/bytes.h"

/* Table numbers. */
enum {
    SW_CLR_MODULE = 0x00,
    SW_CLR_TYPE_REF = 0x01,
    SW_CLR_TYPE_DEF = 0x02,
    SW_CLR_METHOD_POINTER = 0x05,
    SW_CLR_METHOD = 0x06,
    SW_CLR_MEMBER_REF = 0x0a,
    SW_CLR_ATTRIBUTE = 0x0c,
    SW_CLR_MODULE_REF = 0x1a,
    SW_CLR_TYPE_SPEC = 0x1b,
    SW_CLR_ASSEMBLY = 0x20,
    SW_CLR_ASSEMBLY_REF = 0x23,
    SW_CLR_NESTED = 0x29,
    SW_CLR_TABLES = 0x2a /* no table behind these is needed */
};

/* Columns. */
enum { SW_CLR_MODULE_NAME = 1, SW_CLR_MODULE_MVID = 2, SW_CLR_MODULE_REF_NAME = 0 };
enum { SW_CLR_REF_SCOPE = 0, SW_CLR_REF_NAME = 1, SW_CLR_REF_SPACE = 2 };
enum { SW_CLR_DEF_NAME = 1, SW_CLR_DEF_SPACE = 2, SW_CLR_DEF_METHODS = 5 };
enum { SW_CLR_METHOD_NAME = 3, SW_CLR_METHOD_SIGNATURE = 4 };
enum { SW_CLR_MEMBER_PARENT = 0, SW_CLR_MEMBER_NAME = 1 };
enum { SW_CLR_ATTRIBUTE_PARENT = 0, SW_CLR_ATTRIBUTE_VALUE = 2 };
enum { SW_CLR_ASSEMBLY_NAME = 7, SW_CLR_ASSEMBLY_REF_NAME = 6 };
enum { SW_CLR_NESTED_INNER = 0, SW_CLR_NESTED_OUTER = 1 };

enum { SW_CLR_COLUMNS_MAX = 9, SW_CLR_TABLES_HEAD = 24 + 4 * 64 + 4, SW_CLR_STREAMS_MAX = 16 };

/*
 * Where rows and columns lie.
 *
 * rows     How many each table has, by all numbers that a header can name.
 * at       The offset of each table's first row, from the first byte of the stream.
 * column   The offset of each column in its row; the last one is the row's size.
 * size     Of the stream, as far as these tables reach.
 */
struct sw_clr_tables {
    uint32_t rows[64];
    uint64_t at[SW_CLR_TABLES];
    uint8_t column[SW_CLR_TABLES][SW_CLR_COLUMNS_MAX + 1];
    uint64_t size;
};

/*
 * Reads the header of a stream #~ or #-.
 *
 * stream   Its first bytes; SW_CLR_TABLES_HEAD are always enough.
 *
 * Returns  SW_OK; SW_E_MALFORMED (the header ends early). Memory  None. Source  ECMA-335 II.22, II.24.2.6.
 */
SW_NODISCARD enum sw_status sw_clr_tables_read(struct sw_bytes stream, struct sw_clr_tables *tables);

/* The bytes of a cell, from the first of the stream: false: there is no such row. Rows count from 1. */
static inline bool sw_clr_cell(const struct sw_clr_tables *t, unsigned table, uint32_t row, unsigned column,
                               uint64_t *at, unsigned *size)
{
    if (row == 0 || row > t->rows[table])
        return false;
    *at = t->at[table] + (uint64_t)(row - 1) * t->column[table][SW_CLR_COLUMNS_MAX] + t->column[table][column];
    *size = (unsigned)(t->column[table][column + 1] - t->column[table][column]);
    return true;
}

/*
 * The header of a stream in the list of a metadata root: *c stands on it, and moves past it.
 *
 * name     Borrowed; null after the last, or if the list is broken.
 */
const char *sw_clr_stream(struct sw_cursor *c, uint32_t *offset, uint32_t *size);

/* Moves *c from a root's first byte to its first stream; *count receives how many there are. False: no root. */
bool sw_clr_streams(struct sw_cursor *c, unsigned *count);

#endif
