/*
 * Random changes to a code map and to a sorted array that cannot be wrong; both must agree where something changed, and
 * everywhere in the end. Also with an allocator that fails now and then: then nothing may have changed.
 *
 * The input is a row of operations of 8 bytes: what, a place (base and offset), a size, a number of allocations
 * after which none succeeds.
 */
#include "code/map/codemap.h"

#include "../unit/codemap_model.h"

#include <stdlib.h>

enum { OPERATION_BYTES = 8, OPERATIONS_MAX = 128 };

static uint64_t allocations_left, bytes_out;

static void *get(void *arg, size_t size)
{
    (void)arg;
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    bytes_out += size;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)arg;
    bytes_out -= size;
    free(block);
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Operation bytes: [1] base, [2..3] offset, [4] size, [5] how far both are shifted. */
static struct sw_range range_from(const uint8_t *op)
{
    static const uint64_t bases[8] = {
        0, 0x1000, 0x7f0000000000, 0x7f0000ff0000, 0x7fffffff0000, UINT64_C(1) << 63, UINT64_MAX - 0xffff, 0xffffff
    };
    const uint64_t offset = (uint64_t)op[2] | (uint64_t)op[3] << 8;
    const uint64_t begin = bases[op[1] % 8] + (offset << (op[5] % 4 * 4));
    const uint64_t end = begin + ((uint64_t)(op[4] % 64) << (op[5] >> 2));
    return (struct sw_range){ .begin = begin,
                              .end = end,
                              .id = (uint64_t)op[4] << 32 | op[2] | 1,
                              .image = op[3],
                              .kind = (uint8_t)(1 + op[1] / 8 % 4),
                              .unwind = op[4] / 64,
                              .flags = op[6] % 4 };
}

static void change(struct sw_codemap *map, struct model *model, const uint8_t *op)
{
    const struct sw_range range = range_from(op);
    const struct sw_range *around = model_find(model, range.begin);
    const uint64_t begin = around && op[0] & 2 ? around->begin : range.begin;
    const uint64_t generation = sw_codemap_generation(map);
    allocations_left = op[7] & 0x80 ? op[7] & 0xf : UINT64_MAX;
    const enum sw_status status = op[0] & 1 ? sw_codemap_remove(map, begin) : sw_codemap_add(map, &range);
    allocations_left = UINT64_MAX;
    must((status == SW_OK) == (generation != sw_codemap_generation(map)));
    if (status != SW_E_NO_MEMORY)
        must(status == (op[0] & 1 ? model_remove(model, begin) : model_add(model, &range)));
    must(model_agrees_at(model, map, range.begin) && model_agrees_at(model, map, range.end));
    must(sw_codemap_bytes(map) == bytes_out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model model;
    const struct sw_alloc alloc = { get, put, NULL };
    struct sw_codemap *map;
    model.count = 0;
    allocations_left = UINT64_MAX;
    bytes_out = 0;
    must(sw_codemap_create(&alloc, &map) == SW_OK);
    const uint64_t bytes_empty = bytes_out;
    const size_t count = size / OPERATION_BYTES < OPERATIONS_MAX ? size / OPERATION_BYTES : OPERATIONS_MAX;
    for (size_t i = 0; i < count; i++)
        change(map, &model, data + i * OPERATION_BYTES);
    must(model_agrees(&model, map));
    const bool drain = count % 2 == 0;
    while (drain && model.count) {
        must(sw_codemap_remove(map, model.at[model.count / 2].begin) == SW_OK);
        must(model_remove(&model, model.at[model.count / 2].begin) == SW_OK);
    }
    must(!drain || bytes_out == bytes_empty);
    sw_codemap_destroy(map);
    must(bytes_out == 0);
    return 0;
}
