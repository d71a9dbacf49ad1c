/* Target memory: by the window where that holds it all, else by the reader. */
#include "base/hot.h"
#include "base/memory.h"
#include "base/bytes.h"

#include <string.h>

SW_LOADS_STACK static void copy(uint8_t *to, const uint8_t *from, size_t size)
{
    for (; size >= 8; size -= 8, to += 8, from += 8)
        memcpy(to, from, 8);
    for (; size > 0; size--)
        *to++ = *from++;
}

SW_HOT SW_LOADS_STACK size_t sw_memory_read(const struct sw_memory *memory, uint64_t address, void *to, size_t size)
{
    const struct sw_window *w = &memory->window;
    if (address >= w->begin && address < w->end && size <= w->end - address) {
        copy(to, w->bytes + (address - w->begin), size);
        return size;
    }
    return memory->read ? memory->read(memory->arg, address, to, size) : 0;
}

SW_LOADS_STACK bool sw_memory_word(const struct sw_memory *memory, uint64_t address, uint64_t *word)
{
    const struct sw_window *w = &memory->window;
    uint8_t bytes[8];
    if (address >= w->begin && address < w->end && sizeof bytes <= w->end - address)
        memcpy(bytes, w->bytes + (address - w->begin), sizeof bytes);
    else if (!memory->read || memory->read(memory->arg, address, bytes, sizeof bytes) != sizeof bytes)
        return false;
    *word = sw_load64(bytes);
    return true;
}
