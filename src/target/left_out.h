/* Which threads a stop or a capture has left out, and why. */
#ifndef SW_TARGET_LEFT_OUT_H
#define SW_TARGET_LEFT_OUT_H

#include <snapwalk/process.h>

struct sw_left_out_list {
    struct sw_left_out *rows;
    size_t count, room;
};

/* add: SW_OK; SW_E_NO_MEMORY. copy: up to `capacity` of them, `to` may be null; how many there are. */
enum sw_status sw_left_out_add(struct sw_left_out_list *list, const struct sw_alloc *alloc, uint64_t tid,
                               enum sw_left_out_why why);
bool sw_left_out_has(const struct sw_left_out_list *list, uint64_t tid);
size_t sw_left_out_copy(const struct sw_left_out_list *list, struct sw_left_out *to, size_t capacity);
void sw_left_out_drop(struct sw_left_out_list *list, const struct sw_alloc *alloc);

#endif
