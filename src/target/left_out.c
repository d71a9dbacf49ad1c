#include "target/left_out.h"

#include "common/grow.h"

enum sw_status sw_left_out_add(struct sw_left_out_list *list, const struct sw_alloc *alloc, uint64_t tid,
                               enum sw_left_out_why why)
{
    struct sw_left_out *rows = sw_grow(alloc, list->rows, sizeof *rows, list->count, &list->room, list->count + 1);
    if (!rows)
        return SW_E_NO_MEMORY;
    list->rows = rows;
    list->rows[list->count++] = (struct sw_left_out){ tid, why };
    return SW_OK;
}

bool sw_left_out_has(const struct sw_left_out_list *list, uint64_t tid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->rows[i].tid == tid)
            return true;
    return false;
}

size_t sw_left_out_copy(const struct sw_left_out_list *list, struct sw_left_out *to, size_t capacity)
{
    for (size_t i = 0; to && i < list->count && i < capacity; i++)
        to[i] = list->rows[i];
    return list->count;
}

void sw_left_out_drop(struct sw_left_out_list *list, const struct sw_alloc *alloc)
{
    if (list->rows)
        alloc->put(alloc->arg, list->rows, list->room * sizeof *list->rows);
    *list = (struct sw_left_out_list){ 0 };
}
