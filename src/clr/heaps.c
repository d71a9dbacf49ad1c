/*
 * The heaps of JIT code that the last events were about, so that the runtime's structures are read once for a heap and
 * not for each method. A heap is freed when its last method is, so an entry ends with an unloading. If one is missed,
 * ranges are believed collectible that are not, or are found freed only when their addresses are used again.
 */
#include "clr/internal.h"

#include "base/memory.h"

#include <string.h>

const struct sw_clr_heap *sw_clr_known_heap(const struct sw_clr *clr, uint64_t address)
{
    for (unsigned i = 0; i < SW_CLR_HEAPS; i++)
        if (address >= clr->heaps[i].begin && address < clr->heaps[i].end)
            return &clr->heaps[i];
    return NULL;
}

const struct sw_clr_heap *sw_clr_read_heap(struct sw_clr *clr, uint64_t address)
{
    const struct sw_memory memory = sw_self_memory();
    struct sw_clr_heap *heap = &clr->heaps[clr->heap_hand];
    if (clr->layout_status != SW_OK || !sw_clr_find_heap(&clr->layout, &memory, address, heap))
        return NULL;
    clr->heap_hand = (clr->heap_hand + 1) % SW_CLR_HEAPS;
    return heap;
}

void sw_clr_forget_heap(struct sw_clr *clr, uint64_t address)
{
    for (unsigned i = 0; i < SW_CLR_HEAPS; i++)
        if (address >= clr->heaps[i].begin && address < clr->heaps[i].end)
            clr->heaps[i] = (struct sw_clr_heap){ 0 };
}

void sw_clr_forget_heaps(struct sw_clr *clr)
{
    memset(clr->heaps, 0, sizeof clr->heaps);
}
