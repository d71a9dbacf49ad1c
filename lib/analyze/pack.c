/*
 * An analysis as few words, to be stored: blocks and states, as sw_analyze_state needs them. What only serves to
 * continue a run (queues, tables, bytes seen) is left out, so code that no path reached cannot be entered afterwards.
 * Words from outside are not trusted: they lead to a wrong rule at worst.
 */
#include "analyze/control_flow.h"

#include <stddef.h>
#include <string.h>

#define REGISTERS ((UINT64_C(1) << SW_REGS_MAX) - 1)

_Static_assert(SW_ANALYZE_STATES <= 64, "unpacked has a bit for each");
_Static_assert(sizeof(struct sw_val) == 16 && sizeof(struct sw_slot) == 32, "values are packed as they are");

struct cursor {
    uint64_t *words;
    size_t count;
    size_t at;
};

static bool put(struct cursor *c, const void *from, size_t words)
{
    if (c->count - c->at < words)
        return false;
    memcpy(c->words + c->at, from, words * 8);
    c->at += words;
    return true;
}

static bool take(struct cursor *c, void *to, size_t words)
{
    if (c->count - c->at < words)
        return false;
    memcpy(to, c->words + c->at, words * 8);
    c->at += words;
    return true;
}

/* ---- one state: masks of its registers (start value; other known value), the latter's values, the slots ---- */

struct masks {
    uint64_t same;
    uint64_t other;
};

static bool pack_state(struct cursor *c, const struct sw_state *state)
{
    struct masks masks = { 0, (uint64_t)state->slot_count << 56 };
    for (unsigned n = 0; n < SW_REGS_MAX; n++) {
        if (sw_val_is_start(state->reg[n], n))
            masks.same |= UINT64_C(1) << n;
        else if (state->reg[n].base != SW_VAL_UNKNOWN)
            masks.other |= UINT64_C(1) << n;
    }
    bool good = put(c, &masks, 2);
    for (unsigned n = 0; n < SW_REGS_MAX && good; n++)
        if (masks.other >> n & 1)
            good = put(c, &state->reg[n], 2);
    return good && put(c, state->slots, state->slot_count * (size_t)4);
}

/* Takes values after a check: a byte that is not 0 or 1 must not be read as a bool. */
static bool take_values(struct cursor *c, struct sw_val *to, size_t count)
{
    if (c->count - c->at < count * 2)
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = (const uint8_t *)(c->words + c->at + 2 * i);
        if (bytes[offsetof(struct sw_val, base)] > SW_VAL_TABLE || bytes[offsetof(struct sw_val, deref)] > 1 ||
            bytes[offsetof(struct sw_val, weak)] > 1 || bytes[offsetof(struct sw_val, copy)] > 1)
            return false;
    }
    return take(c, to, count * 2);
}

static bool unpack_state(struct cursor *c, struct sw_state *state)
{
    struct masks masks;
    sw_state_start(state);
    bool good = take(c, &masks, 2);
    for (unsigned n = 0; n < SW_REGS_MAX && good; n++) {
        if (masks.other >> n & 1)
            good = take_values(c, &state->reg[n], 1);
        else if (!(masks.same >> n & 1))
            state->reg[n] = (struct sw_val){ 0 };
    }
    if (!good || masks.other >> 56 > SW_STATE_SLOTS)
        return false;
    state->slot_count = (uint8_t)(masks.other >> 56);
    return take_values(c, &state->slots[0].at, state->slot_count * (size_t)2);
}

static bool pass_state(struct cursor *c)
{
    struct masks masks;
    if (!take(c, &masks, 2) || masks.other >> 56 > SW_STATE_SLOTS)
        return false;
    for (uint64_t others = masks.other & REGISTERS; others != 0; others &= others - 1)
        c->at += 2;
    c->at += (masks.other >> 56) * 4;
    return c->at <= c->count;
}

/* Most requests concern one block, so states are unpacked on demand. */
const struct sw_state *sw_flow_state(struct sw_analysis *w, const struct sw_block *block)
{
    struct sw_state *state = &w->states[block->state];
    struct cursor c = { w->packed, SW_ANALYZE_PACKED, w->state_at[block->state] };
    const uint64_t bit = UINT64_C(1) << block->state;
    if (w->unpacked & bit)
        return state;
    if (!unpack_state(&c, state))
        memset(state, 0, sizeof *state);
    w->unpacked |= bit;
    return state;
}

/* ---- a whole analysis ---- */

struct head {
    uint64_t begin;
    uint64_t end;
    uint32_t counts; /* blocks | states << 16 */
    uint32_t hit_bound;
};

size_t sw_analysis_pack(const struct sw_analysis *w, uint64_t *words, size_t count)
{
    struct cursor c = { words, count, 0 };
    const struct head head = { w->begin, w->end, w->block_count | (uint32_t)w->state_count << 16, w->hit_bound };
    bool good = put(&c, &head, sizeof head / 8);
    good = good && put(&c, w->blocks, w->block_count * sizeof w->blocks[0] / 8);
    for (unsigned i = 0; i < w->state_count && good; i++)
        good = pack_state(&c, &w->states[i]);
    return good ? c.at : 0;
}

bool sw_analysis_unpack(struct sw_analysis *w, const struct sw_code *code, uint64_t *words, size_t count)
{
    struct cursor c = { words, count, 0 };
    struct head head;
    if (!take(&c, &head, sizeof head / 8))
        return false;
    w->code = code;
    w->begin = head.begin;
    w->end = head.end;
    w->hit_bound = head.hit_bound != 0;
    w->forward = w->restart = false;
    w->is_packed = true;
    w->block_count = (uint16_t)(head.counts & 0xffff);
    w->state_count = (uint16_t)(head.counts >> 16);
    w->cursor_block = SW_NO_BLOCK;
    if (w->block_count > SW_ANALYZE_BLOCKS || w->state_count > SW_ANALYZE_STATES ||
        !take(&c, w->blocks, w->block_count * sizeof w->blocks[0] / 8))
        return false;
    w->unpacked = 0;
    for (unsigned i = 0; i < w->state_count; i++) {
        w->state_at[i] = (uint16_t)(c.at + (size_t)(words - w->packed));
        if (!pass_state(&c))
            return false;
    }
    for (unsigned i = 0; i < w->block_count; i++)
        if (w->blocks[i].state >= w->state_count)
            return false;
    return true;
}

/* ---- the code that something was found out from ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t size)
{
    uint64_t word = 0;
    for (; size >= 8; bytes += 8, size -= 8) {
        memcpy(&word, bytes, 8);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, size);
    return mix(hash, word ^ (uint64_t)size << 56);
}

/* What cannot be read counts as such. */
static uint64_t hash_extent(const struct sw_code *code, struct sw_extent extent, uint64_t hash)
{
    for (uint64_t at = extent.begin; at < extent.end;) {
        size_t there = 0;
        const uint8_t *bytes = code->fetch(code->arg, at, &there);
        const uint64_t left = extent.end - at;
        if (!bytes || there == 0)
            return mix(hash, at);
        there = there < left ? there : (size_t)left;
        hash = hash_bytes(hash, bytes, there);
        at += there;
    }
    return hash;
}

uint64_t sw_code_hash(const struct sw_code *code, const struct sw_extent *extents, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        hash = hash_extent(code, extents[i], hash);
    return hash;
}
