/*
 * What a run keeps of the paths that it has followed: blocks and their states, the queues of blocks to follow, and the
 * bytes seen as instructions. Refuses to know instructions and how paths meet (control_flow.c).
 */
#include "analyze/control_flow.h"

enum { HASH = 2 * SW_ANALYZE_BLOCKS };

/* ---- what was seen ---- */

void sw_flow_mark_seen(struct sw_analysis *w, uint64_t pc, unsigned length)
{
    const uint64_t from = pc - w->begin;
    if (from < w->covered)
        w->starts[from / 8] |= (uint8_t)(1u << from % 8);
    for (uint64_t at = from, end = from + length; at < end && at < w->covered; at++)
        w->seen[at / 8] |= (uint8_t)(1u << at % 8);
}

bool sw_flow_was_seen(const struct sw_analysis *w, uint64_t address)
{
    const uint64_t at = address - w->begin;
    return at < w->covered && (w->seen[at / 8] >> at % 8 & 1);
}

bool sw_flow_is_insn_start(const struct sw_analysis *w, uint64_t address)
{
    const uint64_t at = address - w->begin;
    return at < w->covered && (w->starts[at / 8] >> at % 8 & 1);
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
    unsigned i = (unsigned)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % HASH;
    while (w->hash[i] != 0 && w->blocks[w->hash[i] - 1].address != address)
        i = (i + 1) % HASH;
    return (uint16_t *)(uintptr_t)&w->hash[i];
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
