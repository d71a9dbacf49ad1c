/* malloc and free as a struct sw_alloc. The only file of the engine that knows libc's heap; walks never come here. */
#include "common/alloc.h"

#include <stdlib.h>

static void *get(void *arg, size_t size)
{
    (void)arg;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)arg;
    (void)size;
    free(block);
}

const struct sw_alloc sw_alloc_libc = { get, put, NULL };
