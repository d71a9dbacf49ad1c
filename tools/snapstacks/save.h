/* Saving what was seen. Knows the library's capsules; stacks.h says what was seen. */
#ifndef SNAPSTACKS_SAVE_H
#define SNAPSTACKS_SAVE_H

#include "stacks.h"
#include "target.h"

/* Writes the capsule of a target that was opened to be saved. Ends the program where the file cannot be written. */
void save(const struct target *target, const struct stacks *stacks, const char *path);

#endif
