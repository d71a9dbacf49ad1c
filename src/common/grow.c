#include "common/grow.h"

#include <stdint.h>
#include <string.h>

enum { FIRST = 16 };

void *sw_grow(const struct sw_alloc *alloc, void *block, size_t each, size_t used, size_t *room, size_t wanted)
{
    if (block && wanted <= *room)
        return block;
    const size_t twice = *room ? *room * 2 : FIRST;
    const size_t more = twice > wanted ? twice : wanted;
    if (more > SIZE_MAX / 2 / each)
        return NULL;
    void *grown = alloc->get(alloc->arg, more * each);
    if (!grown)
        return NULL;
    if (block) {
        memcpy(grown, block, used * each);
        alloc->put(alloc->arg, block, *room * each);
    }
    *room = more;
    return grown;
}
