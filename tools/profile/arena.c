/* Chunks in a list, each at least twice as large as what did not fit. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>

enum { CHUNK = 64 << 10, ALIGN = 16 };

struct sw_profile_chunk {
    struct sw_profile_chunk *before;
    size_t room;
    _Alignas(ALIGN) unsigned char bytes[];
};

static bool add_chunk(struct sw_profile_arena *arena, size_t least)
{
    const size_t room = least > CHUNK / 2 ? least : CHUNK;
    struct sw_profile_chunk *chunk = room < SIZE_MAX / 2 ? calloc(1, sizeof *chunk + room) : NULL;
    arena->failed = arena->failed || !chunk;
    if (!chunk)
        return false;
    chunk->before = arena->last;
    chunk->room = room;
    arena->last = chunk;
    arena->used = 0;
    return true;
}

void *sw_profile_arena_take(struct sw_profile_arena *arena, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / 4 / bytes) {
        arena->failed = true;
        return NULL;
    }
    const size_t all = (count * bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((!arena->last || all > arena->last->room - arena->used) && !add_chunk(arena, all))
        return NULL;
    void *taken = arena->last->bytes + arena->used;
    arena->used += all;
    return taken;
}

void sw_profile_arena_free(struct sw_profile_arena *arena)
{
    for (struct sw_profile_chunk *chunk = arena->last, *before; chunk; chunk = before) {
        before = chunk->before;
        free(chunk);
    }
    *arena = (struct sw_profile_arena){ 0 };
}
