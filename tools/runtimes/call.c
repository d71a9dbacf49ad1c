/* See call.h. */
#include "call.h"

bool call_executes(const struct sw_images *images, uint64_t function, uint64_t most, uint64_t lookup)
{
    char name[CALL_TEXT_BYTES];
    uint64_t start;
    return lookup - function < most && sw_images_name(images, lookup, name, sizeof name, &start) == SW_OK &&
           start == function;
}
