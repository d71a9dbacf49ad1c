/* Why a stack was not walked to its end, for who reads it. */
#ifndef SNAPSTACKS_WHY_H
#define SNAPSTACKS_WHY_H

#include "stacks.h"

enum { WHY_BYTES = 240 };

/* A sentence without its full stop; empty: it came to its clean root. Returns `text`. */
const char *why_cut(const struct stack *stack, char text[WHY_BYTES]);

#endif
