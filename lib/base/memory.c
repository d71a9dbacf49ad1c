/* Target memory: by the window where that holds it all, else by the reader. */
#include "base/memory.h"
#include "base/bytes.h"

#include <string.h>

size_t sw_memory_read(const struct sw_memory *memory, uint64_t address, void *to, size_t size)
{
    const struct sw_window *w = &memory->window;
    if (address >= w->begin && address < w->end && size <= w->end - address) {
        memcpy(to, w->bytes + (address - w->begin), size);
        return size;
    }
    return memory->read ? memory->read(memory->arg, address, to, size) : 0;
}

bool sw_memory_word(const struct sw_memory *memory, uint64_t address, uint64_t *word)
{
    uint8_t bytes[8];
    if (sw_memory_read(memory, address, bytes, sizeof bytes) != sizeof bytes)
        return false;
    *word = sw_load64(bytes);
    return true;
}
