/*
 * Code addresses as some targets hold them: with a signature and a tag in their upper bits. The machine's value
 * (lib/arch) says which bits may hold them; this file finds out which do. Refuses to know where an address came from.
 */
#include "unwind/request.h"

#include "code/map/codemap.h"

static uint64_t without(const struct sw_pointer_auth *bits, uint64_t mask, uint64_t address)
{
    const uint64_t above = mask | bits->tag;
    return address & bits->half ? address | above : address & ~above;
}

static bool is_there(const struct sw_walker *walker, uint64_t address)
{
    struct sw_range unwanted;
    uint8_t byte;
    struct sw_reading reading;
    sw_reading_enter(walker, &reading);
    const bool known = (walker->codemap && sw_codemap_find_inside(walker->codemap, address, &unwanted)) ||
                       sw_images_entry(walker->images, address);
    sw_reading_leave(walker, &reading);
    return known || sw_memory_read(&walker->memory, address, &byte, 1) == 1;
}

/*
 * The usual bits nearly always are a signature's. If some of them are an address', something is at that address; if it
 * is a return address, something is one byte in front of it.
 */
static uint64_t derived(const struct sw_pointer_auth *bits, const struct sw_walker *walker, uint64_t address)
{
    const uint64_t narrow = without(bits, bits->usual, address), wide = without(bits, bits->fewest, address);
    return narrow != wide && (is_there(walker, wide - 1) || is_there(walker, wide)) ? wide : narrow;
}

uint64_t sw_strip_code_word(const struct sw_pointer_auth *bits, const struct sw_walker *walker, uint64_t word)
{
    return without(bits, walker->pac_mask ? walker->pac_mask : bits->usual, word);
}

uint64_t sw_strip_code_address(const struct sw_pointer_auth *bits, const struct sw_walker *walker, uint64_t address)
{
    return walker->pac_mask ? without(bits, walker->pac_mask, address) : derived(bits, walker, address);
}
