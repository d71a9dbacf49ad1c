/* Reads through the window where that holds all of it, else by the reader. */
#include "peek.h"

#include <string.h>

bool peek(const struct sw_memory *memory, uint64_t address, void *to, size_t size)
{
    const struct sw_window *w = &memory->window;
    if (address >= w->begin && address < w->end && size <= w->end - address) {
        memcpy(to, w->bytes + (address - w->begin), size);
        return true;
    }
    return memory->read && memory->read(memory->arg, address, to, size) == size;
}

bool peek_text(const struct sw_memory *memory, uint64_t address, char *text, size_t size)
{
    const size_t got = address ? memory->read(memory->arg, address, text, size - 1) : 0;
    text[got] = 0;
    return memchr(text, 0, got) != NULL || got == size - 1;
}
