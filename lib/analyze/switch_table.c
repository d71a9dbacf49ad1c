/*
 * Switch tables: where a jump through a table element may lead. Knows tables of offsets (1, 2 or 4 bytes) and of
 * addresses (8 bytes). A table without a bound is kept; control_flow.c follows it until an element leads nowhere near.
 */
#include "analyze/control_flow.h"

#include "base/bytes.h"

/* In the function; or, where its end is not known, near the jump, which may be in code that was tail-called. */
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

bool sw_flow_element(const struct sw_analysis *w, struct sw_val table, uint32_t i, uint64_t *target)
{
    const unsigned width = table.point & 0xff;
    const uint64_t at = w->begin + (uint64_t)(int64_t)table.off + (uint64_t)i * width;
    size_t size;
    const uint8_t *bytes = w->code->fetch(w->code->arg, at, &size);
    sw_meter_note(w->code->meter, at, width);
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

/* Followed when nothing else is left: by then it is known which code cannot be a case. */
void sw_flow_keep_table(struct sw_analysis *w, struct sw_val table)
{
    for (unsigned i = 0; i < w->table_count; i++)
        if (sw_val_same(w->tables[i].table, table))
            return;
    sw_state_copy(&w->other, &w->current);
    sw_state_trim(&w->other, w->code->arch, w->forward);
    const uint16_t state = sw_flow_intern(w, &w->other);
    if (state == SW_NO_STATE || w->table_count == SW_ANALYZE_TABLES)
        return;
    w->tables[w->table_count++] = (struct sw_open_table){ table, w->pc, w->return_point, state, 0 };
}
