/*
 * Switch tables: where a jump through an element of one may lead. Knows tables of offsets (4 bytes) and of addresses
 * (8 bytes), and the bound that a compare right in front of the jump gives. An element that leads nowhere near ends a
 * table without a bound; all elements of such a one are assumed.
 */
#include "analyze/flow.h"

#include "base/bytes.h"

enum { MOST_CASES = 1024, MOST_UNBOUNDED = 256 };

/* In the function, or, where its end is not known, around the jump: it may be one that was tail-called. */
static bool is_near(const struct sw_analysis *w, uint64_t address)
{
    if (w->end != 0)
        return address - w->begin < w->end - w->begin;
    return address - w->pc + SW_ANALYZE_NEAR < 2 * (uint64_t)SW_ANALYZE_NEAR;
}

bool sw_flow_may_be_table(const struct sw_analysis *w, uint64_t address)
{
    size_t size;
    if (is_near(w, address))
        return true;
    const uint8_t *bytes = w->code->fetch(w->code->arg, address, &size);
    if (!bytes || size < sizeof(uint64_t))
        return false;
    return is_near(w, sw_load64(bytes)) || is_near(w, address + (uint64_t)sw_sign_extend(sw_load32(bytes), 32)) ||
           is_near(w, address + (uint64_t)sw_sign_extend(sw_load32(bytes + 4), 32));
}

static bool element(const struct sw_analysis *w, struct sw_val table, uint32_t i, uint64_t *target)
{
    const unsigned width = table.point & 0xff;
    const uint64_t at = w->begin + (uint64_t)(int64_t)table.off + (uint64_t)i * width;
    size_t size;
    const uint8_t *bytes = w->code->fetch(w->code->arg, at, &size);
    if (!bytes || size < width)
        return false;
    *target = sw_load_le(bytes, width);
    if (!(table.point & SW_ELEMENT_UNSIGNED))
        *target = (uint64_t)sw_sign_extend(*target, 8 * width);
    *target <<= table.point >> SW_TABLE_SHIFT;
    if (table.deref)
        *target += w->begin + (uint64_t)(int64_t)table.add;
    return is_near(w, *target);
}

/* To be gone on with when everything else has been: then it can be told what is no case. */
static void keep_open(struct sw_analysis *w, struct sw_val table)
{
    for (unsigned i = 0; i < w->table_count; i++)
        if (sw_val_same(w->tables[i].table, table))
            return;
    sw_state_copy(&w->other, &w->current);
    sw_state_trim(&w->other, w->code->arch, w->forward);
    const uint16_t state = sw_flow_intern(w, &w->other);
    if (state == SW_NO_STATE || w->table_count == SW_ANALYZE_TABLES)
        return;
    w->tables[w->table_count++] = (struct sw_open_table){ table, w->pc, w->behind, state, 0 };
}

bool sw_flow_table(struct sw_analysis *w)
{
    const struct sw_val table = w->current.reg[w->code->arch->roles->pc];
    const uint32_t bound = w->current.bound;
    uint64_t target;
    if (table.base != SW_VAL_TABLE || ((table.point & 0xff) != 8 && !table.deref))
        return false;
    if (bound == 0 || bound > MOST_CASES) {
        keep_open(w, table);
        return false;
    }
    for (uint32_t i = 0; i < bound; i++)
        if (element(w, table, i, &target))
            sw_flow_arrive(w, target, w->flags);
    return true;
}

/* One element further. False: here the table ends; what follows it in memory leads nowhere, or into an instruction. */
static bool go_on(struct sw_analysis *w, struct sw_open_table *open)
{
    uint64_t target;
    w->pc = open->jump;
    if (open->next == MOST_UNBOUNDED || !element(w, open->table, open->next, &target) ||
        (sw_flow_was_seen(w, target) && !sw_flow_is_start(w, target)))
        return false;
    open->next++;
    sw_state_copy(&w->current, &w->states[open->state]);
    w->behind = open->behind;
    w->flags = SW_BLOCK_ASSUMED;
    sw_flow_arrive(w, target, w->flags);
    return true;
}

bool sw_flow_next_case(struct sw_analysis *w)
{
    for (unsigned i = 0; i < w->table_count; i++)
        while (go_on(w, &w->tables[i]))
            if (w->now_count + w->later_count != 0)
                return true;
    return false;
}
