/* Pages of what stands, each read once: names are many words of few pages. */
#ifndef SNAPSTACKS_PAGES_H
#define SNAPSTACKS_PAGES_H

#include <snapwalk/memory.h>

struct pages;

/* Ends the program where memory runs out. pages_forget: they are read again. */
struct pages *pages_create(void);
void pages_destroy(struct pages *pages);
void pages_forget(struct pages *pages);

/* As memory.read: returns how many bytes could be read. */
size_t pages_read(struct pages *pages, const struct sw_memory *memory, uint64_t address, void *to, size_t size);

#endif
