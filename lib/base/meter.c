/*
 * The extents of code that was read: a few, each grown by what is read near it. Where there are too many, the two that
 * are nearest to each other become one. And hashes of code.
 */
#include "base/meter.h"

enum { NEAR = 64, WIDEST = 1 << 18 };

static bool is_near(const struct sw_extent *e, uint64_t address)
{
    return address - (e->begin - NEAR) <= e->end - e->begin + 2 * NEAR;
}

static void grow(struct sw_extent *e, uint64_t begin, uint64_t end)
{
    e->begin = begin < e->begin ? begin : e->begin;
    e->end = end > e->end ? end : e->end;
}

static uint64_t gap_of(const struct sw_extent *a, const struct sw_extent *b)
{
    if (a->end < b->begin)
        return b->begin - a->end;
    return b->end < a->begin ? a->begin - b->end : 0;
}

/* Joins the two extents with the least between them. */
static void make_room(struct sw_meter *m)
{
    unsigned first = 0, second = 1;
    for (unsigned i = 0; i < m->count; i++)
        for (unsigned k = i + 1; k < m->count; k++)
            if (gap_of(&m->read[i], &m->read[k]) < gap_of(&m->read[first], &m->read[second])) {
                first = i;
                second = k;
            }
    grow(&m->read[first], m->read[second].begin, m->read[second].end);
    m->is_far |= m->read[first].end - m->read[first].begin > WIDEST;
    m->read[second] = m->read[--m->count];
}

void sw_meter_note_elsewhere(struct sw_meter *m, uint64_t address, uint32_t size)
{
    const uint64_t end = address + size;
    if (end < address) {
        m->is_far = true;
        return;
    }
    for (uint8_t i = 0; i < m->count; i++)
        if (is_near(&m->read[i], address)) {
            grow(&m->read[i], address, end);
            m->last = i;
            return;
        }
    if (m->count == SW_METER_EXTENTS)
        make_room(m);
    m->last = m->count++;
    m->read[m->last] = (struct sw_extent){ address, end };
}

void sw_meter_note_all(struct sw_meter *m, const struct sw_meter *other)
{
    for (uint8_t i = 0; i < other->count; i++)
        sw_meter_note(m, other->read[i].begin, (uint32_t)(other->read[i].end - other->read[i].begin));
    m->is_far |= other->is_far;
}

bool sw_meter_recall(const struct sw_meter *m, const struct sw_extent *of, uint64_t *hash)
{
    const uint32_t count = !m ? 0 : m->hash_count < SW_METER_HASHES ? m->hash_count : SW_METER_HASHES;
    for (uint32_t i = 0; i < count; i++)
        if (m->hashes[i].of.begin == of->begin && m->hashes[i].of.end == of->end) {
            *hash = m->hashes[i].hash;
            return true;
        }
    return false;
}

void sw_meter_remember(struct sw_meter *m, const struct sw_extent *of, uint64_t hash)
{
    if (m)
        m->hashes[m->hash_count++ % SW_METER_HASHES] = (struct sw_hashed){ *of, hash };
}
