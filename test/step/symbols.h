/*
 * The function symbols and PLT sections of the files that a program has mapped.
 */
#ifndef STEP_SYMBOLS_H
#define STEP_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name: in the table's text. cold: a part split off, which does not begin with the function's entry. */
struct symbol {
    uint64_t begin;
    uint64_t end;
    uint32_t name;
    bool cold;
};

struct symbols {
    struct symbol *rows;
    size_t count, room;
    struct plt {
        uint64_t begin, end;
    } plts[64];
    size_t plt_count;
    char *text;
    size_t text_size, text_room;
};

/*
 * Adds the sized functions of one file (.symtab, else .dynsym) that is mapped from an address on; sorts when all are
 * in.
 */
bool symbols_add(struct symbols *symbols, const char *path, uint64_t address);
void symbols_sort(struct symbols *symbols);
void symbols_free(struct symbols *symbols);

/* The function around an address, or null. */
const struct symbol *symbols_find(const struct symbols *symbols, uint64_t address);
const char *symbols_name(const struct symbols *symbols, const struct symbol *symbol);
bool symbols_in_plt(const struct symbols *symbols, uint64_t address);

#endif
