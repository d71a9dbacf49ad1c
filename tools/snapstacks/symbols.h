/*
 * What debug information says of an address in an image: the function's symbol, from separate debug files too, file and
 * line, and which functions were inlined there. symbols_dw.c knows libdw; symbols_none.c stands for it where the tool
 * is built without (LIBDW=0). Knows no process and no walk.
 */
#ifndef SNAPSTACKS_SYMBOLS_H
#define SNAPSTACKS_SYMBOLS_H

#include <snapwalk/image.h>

enum { LINES_MOST = 64 };

/* A function at a place in its source. function: as in the symbol table, mangled. file: empty, line 0: not known. */
struct line {
    const char *function, *file;
    int line;
};

/*
 * symbol null: none is known. is_aot: it is of code that NativeAOT made. method: as debug information has it, without
 * its type; null: not known. lines: innermost first; all but the last were inlined.
 */
struct symbol {
    const char *symbol, *method;
    bool is_aot;
    uint64_t begin;
    struct line lines[LINES_MOST];
    size_t count;
};

struct symbols;

enum lines { LINES_OWN, LINES_NONE, LINES_ALL };

/* Whether this tool reads debug information. */
bool symbols_are_read(void);

/*
 * root    In front of each image's path: "/proc/PID/root", a core's sysroot; "" for none.
 * memory  Of the target, to see whether a file is still the one that was mapped.
 * lines   Of which files more than symbols is read: of none; of all but the system's separate ones that have to be
 *         unpacked; of all.
 *
 * Returns null where debug information is not read. The arguments are borrowed until destroy.
 */
struct symbols *symbols_create(const char *root, const struct sw_memory *memory, enum lines lines);
void symbols_destroy(struct symbols *symbols);

/* What is known of an address in an ELF image. Texts live until the next call. False: nothing but is_aot. */
bool symbols_find(struct symbols *symbols, const struct sw_image *image, uint64_t address, struct symbol *found);

#endif
