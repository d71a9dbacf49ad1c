/* Stands for symbols_dw.c in a tool that is built without libdw: names come from the library alone. */
#include "symbols.h"

bool symbols_are_read(void)
{
    return false;
}

struct symbols *symbols_create(const char *root, const struct sw_memory *memory, enum lines lines)
{
    (void)lines;
    (void)root;
    (void)memory;
    return NULL;
}

void symbols_destroy(struct symbols *symbols)
{
    (void)symbols;
}

bool symbols_find(struct symbols *symbols, const struct sw_image *image, uint64_t address, struct symbol *found)
{
    (void)symbols;
    (void)image;
    (void)address;
    (void)found;
    return false;
}
