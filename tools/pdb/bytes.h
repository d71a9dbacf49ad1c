/* Bytes of a file or of memory, which are never where one expects them: every read may fail. Little endian. */
#ifndef PDB_BYTES_H
#define PDB_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * read  Copies `size` bytes at `at`, all of them, or answers false. Asked only within [0, size).
 * size  Of all bytes.
 */
struct pdb_bytes {
    bool (*read)(void *arg, uint64_t at, void *to, size_t size);
    void *arg;
    uint64_t size;
};

/* Bytes that are simply there: arg. */
struct pdb_bytes pdb_bytes_of(const void *bytes, size_t size);

/* False: not all of [at, at + size) is there. */
bool pdb_read(const struct pdb_bytes *bytes, uint64_t at, void *to, size_t size);

/* The number of `size` bytes, at most 8, at `at`; where they are not: 0, and *bad is set. */
uint64_t pdb_number(const struct pdb_bytes *bytes, uint64_t at, size_t size, bool *bad);

/* Bytes read one after the other: [at, end), by pieces. `bad`: something was asked for that is not there. */
struct pdb_cursor {
    const struct pdb_bytes *bytes;
    uint64_t at, end;
    uint8_t piece[64];
    size_t used, filled;
    bool bad;
};

struct pdb_cursor pdb_cursor_at(const struct pdb_bytes *bytes, uint64_t at, uint64_t size);
bool pdb_cursor_has_more(const struct pdb_cursor *cursor);
uint8_t pdb_cursor_byte(struct pdb_cursor *cursor);

/* Compressed numbers of ECMA-335 II.23.2: below 2^29; signed ones by rotation. 0 where `bad`. */
uint32_t pdb_cursor_unsigned(struct pdb_cursor *cursor);
int32_t pdb_cursor_signed(struct pdb_cursor *cursor);

#endif
