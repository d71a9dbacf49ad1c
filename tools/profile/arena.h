/* Memory that is freed all at once: a message with all its parts. */
#ifndef PROFILE_ARENA_H
#define PROFILE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct sw_profile_chunk;

/* All zero is an empty one. failed: some allocation was; stays set. */
struct sw_profile_arena {
    struct sw_profile_chunk *last;
    size_t used;
    bool failed;
};

/* Zeroed, aligned for anything. NULL: no memory. */
void *sw_profile_arena_take(struct sw_profile_arena *arena, size_t count, size_t bytes);
void sw_profile_arena_free(struct sw_profile_arena *arena);

#endif
