/*
 * The runtime's own look-up of a precompiled method by its entry: the range section names the module, that its
 * ReadyToRun data, and there a hash table has the method of every entry that the runtime has prepared. An entry that is
 * not there was never called. Knows the table; refuses to know images. All data is the target's and may change
 * meanwhile; data that does not fit together gives no answer.
 *
 *   table    A pointer to buckets of four keys and four values. The first bucket is none: its first word is the number
 *            of those behind it. A key is looked for from bucket (key >> 2) on, in steps of 1 + ((key >> 5) + 1) mod
 *            (number - 1), all in 32 bits, as long as the highest bit of a bucket's first value says so. A value is
 *            half the method's address.
 *
 * Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (contract version 2: ReadyToRun, hash map
 * lookup); vm/hash.h; checked on .NET 10.0.12.
 */
#include "clr/ranges.h"

#include "base/bytes.h"

#include <string.h>

enum { SLOTS = 4, KEY_MIN = 2 /* lower ones stand for empty and deleted */, BUCKETS_MAX = 1 << 28 };

#define MORE (UINT64_C(1) << 63) /* in a bucket's first value: the search goes on behind it */

static bool field_word(const struct sw_clr_reader *r, uint64_t base, enum sw_clr_entry_field field, uint64_t *value)
{
    return sw_memory_word(r->memory, base + r->layout->entry[field], value);
}

/* The table that holds an entry's method: the composite image's. A module that is no part of one is its own. */
static bool find_table(const struct sw_clr_reader *r, uint64_t entry, uint64_t *buckets)
{
    uint64_t section, module, info, composite;
    return sw_clr_find_section(r, entry, &section) && field_word(r, section, SW_CLR_SECTION_MODULE, &module) &&
           module != 0 && field_word(r, module, SW_CLR_MODULE_READY, &info) && info != 0 &&
           field_word(r, info, SW_CLR_READY_COMPOSITE, &composite) && composite != 0 &&
           field_word(r, composite + r->layout->entry[SW_CLR_READY_ENTRIES], SW_CLR_MAP_BUCKETS, buckets) &&
           *buckets != 0;
}

/* Looks into one bucket. True: the search is over; *method 0: without success. */
static bool look_into(const struct sw_clr_reader *r, uint64_t bucket, uint64_t key, uint64_t *method)
{
    const uint64_t keys = bucket + r->layout->entry[SW_CLR_BUCKET_KEYS];
    const uint64_t values = bucket + r->layout->entry[SW_CLR_BUCKET_VALUES];
    uint64_t found, value;
    *method = 0;
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (!sw_memory_word(r->memory, keys + 8 * slot, &found))
            return true;
        if (found != key)
            continue;
        if (sw_memory_word(r->memory, values + 8 * slot, &value))
            *method = (value & ~MORE) << 1;
        return true;
    }
    return !sw_memory_word(r->memory, values, &value) || (value & MORE) == 0;
}

static bool look_up(const struct sw_clr_reader *r, uint64_t buckets, uint64_t entry, uint64_t *method)
{
    enum { LOOKS_MAX = 64 };
    uint64_t count;
    if (!sw_memory_word(r->memory, buckets, &count) || (uint32_t)count < 2 || (uint32_t)count > BUCKETS_MAX)
        return false;
    const uint32_t number = (uint32_t)count, step = 1 + ((uint32_t)(entry >> 5) + 1) % (number - 1);
    const uint64_t size = r->layout->entry[SW_CLR_BUCKET_SIZE];
    uint32_t seed = (uint32_t)(entry >> 2);
    for (unsigned looks = 0; looks < LOOKS_MAX && looks < number; looks++, seed += step)
        if (look_into(r, buckets + size * (1 + seed % number), entry, method))
            return *method != 0;
    return false;
}

bool sw_clr_find_entry(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t entry,
                       uint64_t *method)
{
    const struct sw_clr_reader r = { layout, memory };
    uint64_t buckets;
    return layout->has_entries && entry >= KEY_MIN && find_table(&r, entry, &buckets) &&
           look_up(&r, buckets, entry, method);
}

/* ---- where the table is, learned from one method ---- */

enum { MODULE_BYTES = 2048, READY_BYTES = 768 };

/* A piece of the runtime's memory. What cannot be read is 0. */
static void read_words(const struct sw_clr_reader *r, uint64_t address, uint8_t *bytes, size_t size)
{
    memset(bytes, 0, size);
    (void)sw_memory_read(r->memory, address, bytes, size);
}

/* Whether the ReadyToRun data at `composite` has, at some offset, the table that knows the method. */
static bool learn_table(const struct sw_clr_reader *r, uint64_t composite, uint64_t entry, uint64_t method,
                        uint16_t *offset)
{
    uint8_t bytes[READY_BYTES];
    uint64_t found;
    read_words(r, composite, bytes, sizeof bytes);
    for (unsigned at = r->layout->entry[SW_CLR_MAP_BUCKETS]; at < READY_BYTES; at += 8) {
        const uint64_t buckets = sw_load64(bytes + at);
        *offset = (uint16_t)(at - r->layout->entry[SW_CLR_MAP_BUCKETS]);
        if (buckets != 0 && buckets % 8 == 0 && look_up(r, buckets, entry, &found) && found == method)
            return true;
    }
    return false;
}

/* Whether `info` is a module's ReadyToRun data: it names its composite image's, which names itself. */
static bool learn_ready(const struct sw_clr_reader *r, uint64_t info, uint64_t entry, uint64_t method,
                        uint16_t offsets[])
{
    enum { NEAR = 128 };
    uint8_t bytes[NEAR];
    uint64_t itself;
    read_words(r, info, bytes, sizeof bytes);
    for (unsigned at = 0; at < NEAR; at += 8) {
        const uint64_t composite = sw_load64(bytes + at);
        offsets[SW_CLR_READY_COMPOSITE] = (uint16_t)at;
        if (composite != 0 && composite % 8 == 0 && sw_memory_word(r->memory, composite + at, &itself) &&
            itself == composite && learn_table(r, composite, entry, method, &offsets[SW_CLR_READY_ENTRIES]))
            return true;
    }
    return false;
}

/* What is found is written at the end, because others may read meanwhile. */
bool sw_clr_learn_entries(struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t entry, uint64_t method)
{
    const struct sw_clr_reader r = { layout, memory };
    uint8_t bytes[MODULE_BYTES];
    uint16_t offsets[SW_CLR_ENTRY_FIELDS];
    uint64_t section, module;
    memcpy(offsets, layout->entry, sizeof offsets);
    if (entry < KEY_MIN || !sw_clr_find_section(&r, entry, &section) ||
        !field_word(&r, section, SW_CLR_SECTION_MODULE, &module))
        return false;
    read_words(&r, module, bytes, sizeof bytes);
    for (unsigned at = 0; at < MODULE_BYTES; at += 8) {
        const uint64_t info = sw_load64(bytes + at);
        offsets[SW_CLR_MODULE_READY] = (uint16_t)at;
        if (info != 0 && info % 8 == 0 && learn_ready(&r, info, entry, method, offsets)) {
            memcpy(layout->entry, offsets, sizeof offsets);
            layout->has_entries = true;
            return true;
        }
    }
    return false;
}
