/*
 * A symbol that a mapped ELF file exports, by its dynamic section in memory: no file is needed, and a single-file
 * program is found as well. Knows the hash tables; refuses to know sections. Source: System V gABI, chapter 5; the GNU
 * hash table as binutils writes it.
 */
#include "clr/names/names.h"

#include <string.h>

enum { HEADERS_MAX = 128, ENTRIES_MAX = 512, CHAIN_MAX = 65536, NAME_MAX_BYTES = 64, SYMBOL_BYTES = 24 };
enum { ENTRY_BYTES = 16, ENTRIES_AT_ONCE = 16 };
enum { LOAD = 1, DYNAMIC = 2 };
enum { TAG_HASH = 4, TAG_STRINGS = 5, TAG_SYMBOLS = 6, TAG_GNU_HASH = 0x6ffffef5 };

static bool u32(const struct sw_memory *memory, uint64_t address, uint32_t *value)
{
    uint8_t bytes[4];
    if (sw_memory_read(memory, address, bytes, sizeof bytes) != sizeof bytes)
        return false;
    *value = sw_load32(bytes);
    return true;
}

/* Where PT_DYNAMIC lies; fills the bias. */
static bool find_dynamic(struct sw_names_exports *d, uint64_t *at)
{
    uint8_t head[64], row[56];
    bool has_load = false, has_dynamic = false;
    *at = 0;
    if (sw_memory_read(d->memory, d->base, head, sizeof head) != sizeof head || memcmp(head, "\177ELF\2\1", 6) != 0 ||
        sw_load16(head + 54) != sizeof row)
        return false;
    const uint16_t count = sw_load16(head + 56);
    for (unsigned i = 0; i < count && i < HEADERS_MAX; i++) {
        const uint64_t from = d->base + sw_load64(head + 32) + i * sizeof row;
        if (sw_memory_read(d->memory, from, row, sizeof row) != sizeof row)
            return false;
        const uint32_t type = sw_load32(row);
        if (type == LOAD && !has_load) {
            d->bias = d->base - (sw_load64(row + 16) - sw_load64(row + 8));
            has_load = true;
        }
        if (type == DYNAMIC) {
            *at = sw_load64(row + 16);
            has_dynamic = true;
        }
    }
    *at += d->bias;
    return has_load && has_dynamic;
}

/* glibc has added the bias to what stands there; musl and cores of files have not. */
static void note_entry(struct sw_names_exports *d, uint64_t tag, uint64_t value)
{
    const uint64_t address = value < d->base ? value + d->bias : value;
    if (tag == TAG_HASH)
        d->hash = address;
    else if (tag == TAG_GNU_HASH)
        d->gnu_hash = address;
    else if (tag == TAG_STRINGS)
        d->strings = address;
    else if (tag == TAG_SYMBOLS)
        d->symbols = address;
}

/* Some entries by one read: where that is a system call, a process has twenty files with thirty each. */
static bool read_dynamic(struct sw_names_exports *d)
{
    uint8_t some[ENTRIES_AT_ONCE * ENTRY_BYTES];
    uint64_t at;
    if (!find_dynamic(d, &at))
        return false;
    for (unsigned i = 0; i < ENTRIES_MAX; i += ENTRIES_AT_ONCE, at += sizeof some) {
        const size_t read = sw_memory_read(d->memory, at, some, sizeof some);
        for (size_t from = 0; from < sizeof some; from += ENTRY_BYTES) {
            if (from + ENTRY_BYTES > read)
                return false;
            if (sw_load64(some + from) == 0)
                return d->strings && d->symbols && (d->hash || d->gnu_hash);
            note_entry(d, sw_load64(some + from), sw_load64(some + from + 8));
        }
    }
    return d->strings && d->symbols && (d->hash || d->gnu_hash);
}

/* Whether symbol `index` is the one, and defined. */
static bool is_symbol(const struct sw_names_exports *d, uint32_t index, const char *name, uint64_t *address)
{
    uint8_t symbol[SYMBOL_BYTES];
    char found[NAME_MAX_BYTES];
    const size_t size = strlen(name) + 1;
    const uint64_t at = d->symbols + (uint64_t)index * SYMBOL_BYTES;
    if (size > sizeof found || sw_memory_read(d->memory, at, symbol, sizeof symbol) != sizeof symbol ||
        sw_memory_read(d->memory, d->strings + sw_load32(symbol), found, size) != size ||
        memcmp(found, name, size) != 0 || sw_load16(symbol + 6) == 0)
        return false;
    *address = d->bias + sw_load64(symbol + 8);
    return true;
}

static bool find_gnu(const struct sw_names_exports *d, const char *name, uint64_t *address)
{
    uint32_t buckets, first, words, index, hash = 5381, found;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (uint8_t)*c;
    if (!u32(d->memory, d->gnu_hash, &buckets) || !u32(d->memory, d->gnu_hash + 4, &first) ||
        !u32(d->memory, d->gnu_hash + 8, &words) || buckets == 0)
        return false;
    const uint64_t table = d->gnu_hash + 16 + UINT64_C(8) * words, chains = table + UINT64_C(4) * buckets;
    if (!u32(d->memory, table + UINT64_C(4) * (hash % buckets), &index) || index < first)
        return false;
    for (unsigned i = 0; i < CHAIN_MAX; i++, index++) {
        if (!u32(d->memory, chains + UINT64_C(4) * (index - first), &found))
            return false;
        if ((found | 1) == (hash | 1) && is_symbol(d, index, name, address))
            return true;
        if (found & 1)
            return false;
    }
    return false;
}

static bool find_sysv(const struct sw_names_exports *d, const char *name, uint64_t *address)
{
    uint32_t buckets, hash = 0, index;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (uint8_t)*c;
        hash = (hash ^ (hash & 0xf0000000) >> 24) & 0x0fffffff;
    }
    if (!u32(d->memory, d->hash, &buckets) || buckets == 0 ||
        !u32(d->memory, d->hash + 8 + UINT64_C(4) * (hash % buckets), &index))
        return false;
    for (unsigned i = 0; i < CHAIN_MAX && index != 0; i++) {
        if (is_symbol(d, index, name, address))
            return true;
        if (!u32(d->memory, d->hash + 8 + UINT64_C(4) * buckets + UINT64_C(4) * index, &index))
            return false;
    }
    return false;
}

enum sw_status sw_names_exports_open(const struct sw_memory *memory, uint64_t base, struct sw_names_exports *exports)
{
    *exports = (struct sw_names_exports){ .memory = memory, .base = base };
    return read_dynamic(exports) ? SW_OK : SW_E_MALFORMED;
}

enum sw_status sw_names_exports_find(const struct sw_names_exports *d, const char *name, uint64_t *address)
{
    return (d->gnu_hash && find_gnu(d, name, address)) || (!d->gnu_hash && find_sysv(d, name, address))
               ? SW_OK
               : SW_E_NOT_FOUND;
}

enum sw_status sw_names_export(const struct sw_memory *memory, uint64_t base, const char *name, uint64_t *address)
{
    struct sw_names_exports exports;
    const enum sw_status status = sw_names_exports_open(memory, base, &exports);
    return status ? status : sw_names_exports_find(&exports, name, address);
}
