/* Lists that only grow. Knows nothing of what is in them. */
#include "list.h"

#include <stdlib.h>

void *sw_list_add(struct sw_list *list, size_t element)
{
    const size_t count = sw_list_count(list), chunk = count / SW_LIST_CHUNK;
    if (chunk == SW_LIST_CHUNKS)
        return NULL;
    if (!list->chunks)
        list->chunks = calloc(SW_LIST_CHUNKS, sizeof *list->chunks);
    if (list->chunks && !list->chunks[chunk])
        list->chunks[chunk] = calloc(SW_LIST_CHUNK, element);
    if (!list->chunks || !list->chunks[chunk])
        return NULL;
    return (char *)list->chunks[chunk] + count % SW_LIST_CHUNK * element;
}

void sw_list_publish(struct sw_list *list)
{
    atomic_fetch_add_explicit(&list->count, 1, memory_order_release);
}

void *sw_list_at(const struct sw_list *list, size_t element, size_t index)
{
    if (index >= sw_list_count(list))
        return NULL;
    return (char *)list->chunks[index / SW_LIST_CHUNK] + index % SW_LIST_CHUNK * element;
}

void sw_list_free(struct sw_list *list)
{
    for (size_t i = 0; list->chunks && i < SW_LIST_CHUNKS; i++)
        free(list->chunks[i]);
    free(list->chunks);
    *list = (struct sw_list){ 0 };
}
