/*
 * A list that only grows, of elements that never move: readers need no lock, because a profiler asks for names while
 * the runtime's threads are stopped. One writer at a time.
 */
#ifndef SW_HARNESS_LIST_H
#define SW_HARNESS_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SW_LIST_CHUNK = 256, SW_LIST_CHUNKS = 4096 };

/* All zero is empty. `chunks` is made by the first add. */
struct sw_list {
    void **chunks;
    _Atomic size_t count;
};

/*
 * Adds a zeroed element of `element` bytes; it counts from the next sw_list_publish on, so that readers never see it
 * half filled. Null: no memory, or SW_LIST_CHUNK * SW_LIST_CHUNKS are there.
 */
void *sw_list_add(struct sw_list *list, size_t element);
void sw_list_publish(struct sw_list *list);

/* The element at `index`, null behind the end. */
void *sw_list_at(const struct sw_list *list, size_t element, size_t index);

static inline size_t sw_list_count(const struct sw_list *list)
{
    return atomic_load_explicit(&list->count, memory_order_acquire);
}

/* Frees the list, not what its elements own. */
void sw_list_free(struct sw_list *list);

#endif
