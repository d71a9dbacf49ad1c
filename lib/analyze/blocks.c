/*
 * What a run keeps of the paths that it has followed: blocks and their states, the queues of blocks to follow, and the
 * bytes seen as instructions. Refuses to know instructions and how paths meet (control_flow.c).
 */
#include "analyze/control_flow.h"

#include <string.h>

enum { HASH = 2 * SW_ANALYZE_BLOCKS, FIRST_HASH = 128, FIRST_NOTED = 1024 };

/* ---- what was seen ---- */

/* Makes room for bits of all bytes in front of end, and of as many more as there are already. */
static void note_up_to(struct sw_analysis *w, uint64_t end)
{
    const uint64_t from = w->noted, wanted = (end > 2 * from ? end : 2 * from) + 7;
    w->noted = (wanted < w->covered + 7 ? wanted : w->covered + 7) / 8 * 8;
    memset(w->seen + from / 8, 0, (size_t)(w->noted - from) / 8);
    memset(w->starts + from / 8, 0, (size_t)(w->noted - from) / 8);
}

void sw_flow_pass_over(struct sw_analysis *w, uint64_t pc, unsigned length)
{
    const uint64_t from = pc - w->begin;
    if (from >= w->covered)
        return;
    const uint64_t end = w->covered - from < length ? w->covered : from + length;
    if (end > w->noted)
        note_up_to(w, end);
    for (uint64_t at = from; at < end; at++)
        w->seen[at / 8] |= (uint8_t)(1u << at % 8);
}

/*
 * Far from begin, where a jump out of a function of unknown end leads: a bit behind those of the bytes near to it,
 * which instructions share. So one may count as followed that was not.
 */
static uint64_t far_bit(uint64_t address)
{
    return SW_ANALYZE_NEAR + (address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (SW_ANALYZE_SEEN - SW_ANALYZE_NEAR);
}

static void mark_far(struct sw_analysis *w, uint64_t pc)
{
    const uint64_t bit = far_bit(pc);
    if (!w->has_far)
        memset(w->starts + SW_ANALYZE_NEAR / 8, 0, sizeof w->starts - SW_ANALYZE_NEAR / 8);
    w->has_far = true;
    w->starts[bit / 8] |= (uint8_t)(1u << bit % 8);
}

void sw_flow_mark_seen(struct sw_analysis *w, uint64_t pc, unsigned length)
{
    const uint64_t from = pc - w->begin;
    sw_flow_pass_over(w, pc, length);
    if (from < w->noted)
        w->starts[from / 8] |= (uint8_t)(1u << from % 8);
    else if (w->covered <= SW_ANALYZE_NEAR)
        mark_far(w, pc);
}

bool sw_flow_was_seen(const struct sw_analysis *w, uint64_t address)
{
    const uint64_t at = address - w->begin;
    return at < w->noted && (w->seen[at / 8] >> at % 8 & 1);
}

bool sw_flow_is_insn_start(const struct sw_analysis *w, uint64_t address)
{
    const uint64_t at = address - w->begin, bit = at < w->covered ? at : far_bit(address);
    return (at < w->covered ? at < w->noted : w->has_far) && (w->starts[bit / 8] >> bit % 8 & 1);
}

/* ---- states and blocks ---- */

uint16_t sw_flow_intern(struct sw_analysis *w, const struct sw_state *state)
{
    for (uint16_t i = w->state_count; i-- > 0;)
        if (sw_state_same(&w->states[i], state))
            return i;
    if (w->state_count == SW_ANALYZE_STATES) {
        w->hit_bound = true;
        return SW_NO_STATE;
    }
    sw_state_copy(&w->states[w->state_count], state);
    return w->state_count++;
}

static uint16_t *hash_slot(const struct sw_analysis *w, uint64_t address)
{
    const unsigned mask = w->hash_size - 1;
    unsigned i = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (w->hash[i] != 0 && w->blocks[w->hash[i] - 1].address != address)
        i = (i + 1) & mask;
    return (uint16_t *)(uintptr_t)&w->hash[i];
}

/* An empty hash of that size, then all blocks in it again. */
static void make_hash(struct sw_analysis *w, uint32_t size)
{
    w->hash_size = size;
    memset(w->hash, 0, size * sizeof w->hash[0]);
    for (uint16_t i = 0; i < w->block_count; i++)
        *hash_slot(w, w->blocks[i].address) = (uint16_t)(i + 1);
}

void sw_flow_forget_blocks(struct sw_analysis *w)
{
    w->state_count = w->block_count = w->queue_count = w->deferred_count = 0;
    make_hash(w, FIRST_HASH);
    w->noted = 0;
    w->has_far = false;
    note_up_to(w, FIRST_NOTED < w->covered ? FIRST_NOTED : w->covered);
}

uint16_t sw_flow_block(const struct sw_analysis *w, uint64_t address)
{
    const uint16_t number = *hash_slot(w, address);
    return number == 0 ? SW_NO_BLOCK : (uint16_t)(number - 1);
}

uint16_t sw_flow_block_before(const struct sw_analysis *w, uint64_t address, uint64_t under)
{
    uint16_t best = SW_NO_BLOCK;
    (void)sw_meter_pay(w->code->meter, w->block_count / SW_FLOW_BLOCKS_A_UNIT);
    for (uint16_t i = 0; i < w->block_count; i++) {
        const uint64_t at = w->blocks[i].address;
        if (at <= address && at < under && (best == SW_NO_BLOCK || at > w->blocks[best].address))
            best = i;
    }
    return best;
}

void sw_flow_queue(struct sw_analysis *w, uint16_t block)
{
    if (sw_flow_doubt(w->blocks[block].flags) != 0) {
        if (w->deferred_count < SW_ANALYZE_BLOCKS)
            w->deferred[w->deferred_count++] = block;
    } else if (w->queue_count < SW_ANALYZE_BLOCKS) {
        w->queue[w->queue_count++] = block;
    }
}

/*
 * A path went through an address that becomes a block now: queue that path's block again, so that it meets the new one.
 */
static void requeue_path(struct sw_analysis *w, uint64_t address)
{
    const uint16_t through = sw_flow_block_before(w, address - 1, UINT64_MAX);
    if (through != SW_NO_BLOCK)
        sw_flow_queue(w, through);
}

void sw_flow_add_block(struct sw_analysis *w, uint64_t address, uint8_t flags)
{
    const uint16_t state = sw_flow_intern(w, &w->other);
    if (state == SW_NO_STATE || w->block_count == SW_ANALYZE_BLOCKS) {
        w->hit_bound = true;
        return;
    }
    if (2 * (w->block_count + 1u) > w->hash_size)
        make_hash(w, 4 * w->hash_size < HASH ? 4 * w->hash_size : HASH);
    w->blocks[w->block_count] = (struct sw_block){
        .address = address, .return_point = w->return_point, .state = state, .flags = flags, .visits = 1
    };
    *hash_slot(w, address) = (uint16_t)(w->block_count + 1);
    if (!(flags & SW_BLOCK_AT_INDIRECT)) {
        sw_flow_queue(w, w->block_count);
        if (sw_flow_is_insn_start(w, address))
            requeue_path(w, address);
    }
    w->block_count++;
}

struct sw_val sw_flow_sp(const struct sw_analysis *w, const struct sw_state *state)
{
    return state->reg[w->code->arch->roles->sp];
}
