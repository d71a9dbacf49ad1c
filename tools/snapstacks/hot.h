/* Where time went, as two trees of functions: from the roots (top-down) and from the leaves (bottom-up). */
#ifndef SNAPSTACKS_HOT_H
#define SNAPSTACKS_HOT_H

#include <stdio.h>

#include "stacks.h"

struct hot;

/* Ends the program where memory runs out. */
struct hot *hot_create(void);
void hot_destroy(struct hot *hot);

/* Adds the time that a thread has used, ending in this stack. Texts of its places must live as long as `hot`. */
void hot_add(struct hot *hot, const struct stack *stack, uint64_t ns);

/* Both trees; what has less than a hundredth of the time is left out. */
void hot_write(const struct hot *hot, FILE *file);

#endif
