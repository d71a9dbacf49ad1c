/* Code bytes of a target, in blocks, direct-mapped by address. Forgets everything between walks: code may change. */
#include "unwind/workspace.h"

#include "code/images.h"

#include "base/rule.h"

void sw_fetch_reset(struct sw_fetch *fetch, const struct sw_memory *memory, const struct sw_images *images)
{
    fetch->memory = memory;
    fetch->images = images;
    fetch->direct = (struct sw_bytes){ 0 };
    for (unsigned i = 0; i < SW_FETCH_BLOCKS; i++)
        fetch->blocks[i].size = 0;
}

static const uint8_t *in_direct(const struct sw_fetch *fetch, uint64_t pc, size_t *size)
{
    const uint64_t at = pc - fetch->direct.address;
    if (at >= fetch->direct.size)
        return NULL;
    *size = fetch->direct.size - (size_t)at;
    return fetch->direct.bytes + at;
}

/* Inside a reader section. */
static const uint8_t *in_image(struct sw_fetch *fetch, uint64_t pc, size_t *size)
{
    const struct sw_image_entry *entry = sw_images_entry(fetch->images, pc);
    if (!entry || pc - entry->code.address >= entry->code.size)
        return NULL;
    fetch->direct = entry->code;
    return in_direct(fetch, pc, size);
}

const uint8_t *sw_fetch_code(void *arg, uint64_t pc, size_t *size)
{
    struct sw_fetch *fetch = arg;
    const uint8_t *direct = in_direct(fetch, pc, size);
    if (direct || (direct = in_image(fetch, pc, size)) != NULL)
        return direct;
    struct sw_fetched *block = &fetch->blocks[pc / SW_FETCH_BLOCK % SW_FETCH_BLOCKS];
    const uint64_t begin = pc - pc % SW_FETCH_BLOCK;
    if (block->size == 0 || block->begin != begin) {
        block->begin = begin;
        block->size = sw_memory_read(fetch->memory, begin, block->bytes, sizeof block->bytes);
        if (block->size > sizeof block->bytes)
            block->size = 0;
    }
    if (pc - begin >= block->size) {
        /* The block's first byte may be unreadable where its later ones are not. */
        block->begin = pc;
        block->size = 0;
        const size_t got = sw_memory_read(fetch->memory, pc, block->bytes, SW_INSN_MOST);
        *size = got <= SW_INSN_MOST ? got : 0;
        return *size ? block->bytes : NULL;
    }
    *size = block->size - (size_t)(pc - begin);
    return block->bytes + (pc - begin);
}
