/* Code bytes of a target, in blocks of a page. Forgets everything between walks: code may change. */
#include "unwind/workspace.h"

#include "code/images.h"

#include "base/rule.h"

enum { READ_UNITS = 4 };

void sw_fetch_reset(struct sw_fetch *fetch, const struct sw_memory *memory, const struct sw_images *images,
                    struct sw_meter *meter)
{
    fetch->memory = memory;
    fetch->images = images;
    fetch->meter = meter;
    fetch->direct = (struct sw_bytes){ 0 };
    fetch->last = fetch->blocks;
    fetch->oldest = 0;
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

/* The block that begins at `begin`, if it was read; else one that is empty, or was read longest ago. */
static struct sw_fetched *block_of(struct sw_fetch *fetch, uint64_t begin)
{
    struct sw_fetched *block = fetch->last, *empty = NULL;
    if (block->size != 0 && block->begin == begin)
        return block;
    for (block = fetch->blocks; block < fetch->blocks + SW_FETCH_BLOCKS; block++) {
        if (block->size != 0 && block->begin == begin)
            return fetch->last = block;
        empty = block->size == 0 ? block : empty;
    }
    if (!empty) {
        empty = &fetch->blocks[fetch->oldest];
        fetch->oldest = (fetch->oldest + 1) % SW_FETCH_BLOCKS;
        empty->size = 0;
    }
    return fetch->last = empty;
}

/* How many bytes there are. */
static size_t read_code(struct sw_fetch *fetch, uint64_t begin, uint8_t *bytes, size_t most)
{
    const size_t size = sw_memory_read(fetch->memory, begin, bytes, most);
    if (size == 0 || size > most)
        return 0;
    (void)sw_meter_pay(fetch->meter, READ_UNITS);
    return size;
}

const uint8_t *sw_fetch_code(void *arg, uint64_t pc, size_t *size)
{
    struct sw_fetch *fetch = arg;
    const uint8_t *direct = in_direct(fetch, pc, size);
    if (direct || (direct = in_image(fetch, pc, size)) != NULL)
        return direct;
    const uint64_t begin = pc - pc % SW_FETCH_BLOCK;
    struct sw_fetched *block = block_of(fetch, begin);
    if (block->size == 0) {
        block->begin = begin;
        block->size = read_code(fetch, begin, block->bytes, SW_FETCH_BLOCK);
    }
    const size_t left = pc - begin < block->size ? block->size - (size_t)(pc - begin) : 0;
    if (left < SW_INSN_MOST) {
        /* An instruction may go on in the next block; and a block's first byte may be unreadable where its later ones
         * are not. */
        *size = read_code(fetch, pc, fetch->rest, SW_INSN_MOST);
        if (*size > left)
            return fetch->rest;
    }
    *size = left;
    return left ? block->bytes + (pc - begin) : NULL;
}
