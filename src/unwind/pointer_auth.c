/*
 * Code addresses as ARM64 targets hold them: with a signature and a tag in their upper bits. Knows which bits those
 * are; refuses to know where an address came from.
 *
 *     63     56 55 54        48 47                      0
 *     | tag    | h | signature | address                |   signatures from bit 48 on
 *     | tag    | h | sig. | address                     |   from bit 52 on: addresses of 52 bits
 *
 * h, bit 55, says which half of the address space it is; without signature and tag all bits above the address are as h,
 * so that no address of the kernel becomes one of a program. Where targets have no tags, signatures are there, too.
 *
 * Source: Arm ARM, pseudocode AArch64.Strip; Linux, Documentation/arch/arm64/{memory,pointer-authentication,
 * tagged-pointers}.rst.
 */
#include "unwind/request.h"

#include "code/map/codemap.h"

#define HALF      (UINT64_C(1) << 55)
#define TAG       UINT64_C(0xff00000000000000)
#define FROM(bit) (~UINT64_C(0) << (bit))

static uint64_t without(uint64_t mask, uint64_t address)
{
    const uint64_t above = mask | TAG;
    return address & HALF ? address | above : address & ~above;
}

static bool is_there(const struct sw_walker *walker, uint64_t address)
{
    struct sw_range unwanted;
    uint8_t byte;
    const struct sw_reading reading = sw_reading_enter(walker);
    const bool known = (walker->codemap && sw_codemap_find_inside(walker->codemap, address, &unwanted)) ||
                       sw_images_entry(walker->images, address);
    sw_reading_leave(walker, reading);
    return known || sw_memory_read(&walker->memory, address, &byte, 1) == 1;
}

/*
 * Linux gives no address above bit 47 to who did not ask for it, so bits 48 to 51 are nearly always of a signature.
 * Where they are of an address there is something at it; one byte in front where it is that of a return.
 */
static uint64_t derived(const struct sw_walker *walker, uint64_t address)
{
    const uint64_t narrow = without(FROM(48), address), wide = without(FROM(52), address);
    return narrow != wide && (is_there(walker, wide - 1) || is_there(walker, wide)) ? wide : narrow;
}

uint64_t sw_code_word_arm64(const struct sw_walker *walker, uint64_t word)
{
    return without(walker->pac_mask ? walker->pac_mask : FROM(48), word);
}

uint64_t sw_code_address_arm64(const struct sw_walker *walker, uint64_t address)
{
    return walker->pac_mask ? without(walker->pac_mask, address) : derived(walker, address);
}
