/*
 * How much work may still be done on code, and which code was read for what was found out. A plain value of the asker;
 * code without one is looked at without limit.
 */
#ifndef SW_BASE_METER_H
#define SW_BASE_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SW_METER_EXTENTS = 8, SW_METER_HASHES = 16 };

#define SW_METER_UNLIMITED (UINT64_MAX / 2)

/*
 * left     Units of work; one is an instruction that is decoded and followed.
 * is_cut   More was asked for than was left. From then on nothing is granted, and what was found meanwhile is not to be
 *          believed.
 * is_far   More code was read than extents can say.
 * last     The extent that was read from last.
 * read     The code that was read since sw_meter_forget, and perhaps some between its pieces.
 * hashes   Of code, that it need not be read for again: the last of them, hash_count in all.
 */
struct sw_meter {
    uint64_t left;
    bool is_cut;
    bool is_far;
    uint8_t count, last;
    struct sw_extent {
        uint64_t begin;
        uint64_t end;
    } read[SW_METER_EXTENTS];
    struct sw_hashed {
        struct sw_extent of;
        uint64_t hash;
    } hashes[SW_METER_HASHES];
    uint32_t hash_count;
};

/* Takes units from what is left. meter may be null. False: the work is not to be done. */
static inline bool sw_meter_pay(struct sw_meter *meter, uint64_t units)
{
    if (!meter)
        return true;
    if (units > meter->left || meter->is_cut) {
        meter->is_cut = true;
        return false;
    }
    meter->left -= units;
    return true;
}

static inline void sw_meter_forget(struct sw_meter *meter)
{
    meter->count = meter->last = 0;
    meter->is_far = false;
}

/* The hash of an extent of code, if it is remembered. meter may be null: then nothing is. */
bool sw_meter_recall(const struct sw_meter *meter, const struct sw_extent *of, uint64_t *hash);
void sw_meter_remember(struct sw_meter *meter, const struct sw_extent *of, uint64_t hash);

/* Notes that code was read, or that there is none. */
void sw_meter_note_elsewhere(struct sw_meter *meter, uint64_t address, uint32_t size);
static inline void sw_meter_note(struct sw_meter *meter, uint64_t address, uint32_t size)
{
    struct sw_extent *e;
    if (!meter)
        return;
    e = &meter->read[meter->last];
    if (meter->count == 0 || address - e->begin > e->end - e->begin)
        sw_meter_note_elsewhere(meter, address, size);
    else if (e->end - address < size)
        e->end = address + size;
}

/* Notes all that another meter has noted. */
void sw_meter_note_all(struct sw_meter *meter, const struct sw_meter *other);

#endif
