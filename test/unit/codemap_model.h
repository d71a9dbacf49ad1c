/*
 * What a code map should be: a sorted array, too simple to be wrong. Unit test and fuzz target compare with it.
 */
#ifndef CODEMAP_MODEL_H
#define CODEMAP_MODEL_H

#include <snapwalk/codemap.h>

#include <string.h>

enum { MODEL_MAX = 4096 };

struct model {
    size_t count;
    struct sw_range at[MODEL_MAX];
};

/* The number of ranges that begin at or below `address`. */
static inline size_t model_begun(const struct model *model, uint64_t address)
{
    size_t low = 0, high = model->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (model->at[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static inline const struct sw_range *model_find(const struct model *model, uint64_t address)
{
    const size_t n = model_begun(model, address);
    return n && address < model->at[n - 1].end ? &model->at[n - 1] : NULL;
}

static inline enum sw_status model_add(struct model *model, const struct sw_range *range)
{
    const size_t n = model_begun(model, range->begin);
    if (range->begin == range->end)
        return SW_E_EMPTY;
    if (range->begin > range->end)
        return SW_E_WRAPS;
    if ((n && model->at[n - 1].end > range->begin) || (n < model->count && model->at[n].begin < range->end))
        return SW_E_OVERLAP;
    memmove(&model->at[n + 1], &model->at[n], (model->count - n) * sizeof model->at[0]);
    model->at[n] = *range;
    model->count++;
    return SW_OK;
}

static inline enum sw_status model_remove(struct model *model, uint64_t begin)
{
    const size_t n = model_begun(model, begin);
    if (!n || model->at[n - 1].begin != begin)
        return SW_E_NOT_FOUND;
    memmove(&model->at[n - 1], &model->at[n], (model->count - n) * sizeof model->at[0]);
    model->count--;
    return SW_OK;
}

static inline bool model_same(const struct sw_range *a, const struct sw_range *b)
{
    return a->begin == b->begin && a->end == b->end && a->id == b->id && a->image == b->image && a->kind == b->kind &&
           a->unwind == b->unwind && a->flags == b->flags;
}

/* Whether map and model answer alike for one address. */
static inline bool model_agrees_at(const struct model *model, const struct sw_codemap *map, uint64_t address)
{
    struct sw_range found;
    const struct sw_range *expected = model_find(model, address);
    const enum sw_status status = sw_codemap_find(map, address, &found);
    return expected ? status == SW_OK && model_same(expected, &found) : status == SW_E_NOT_FOUND;
}

struct model_walk {
    const struct model *model;
    size_t seen;
    bool right;
};

static inline bool model_next_is(void *arg, const struct sw_range *range)
{
    struct model_walk *walk = arg;
    if (walk->seen >= walk->model->count || !model_same(range, &walk->model->at[walk->seen]))
        walk->right = false;
    walk->seen++;
    return walk->right;
}

/* Whether map and model hold the same, seen through every reading call, at every edge. */
static inline bool model_agrees(const struct model *model, const struct sw_codemap *map)
{
    struct model_walk walk = { model, 0, true };
    if (sw_codemap_count(map) != model->count || sw_codemap_each(map, model_next_is, &walk) != SW_OK)
        return false;
    if (!walk.right || walk.seen != model->count)
        return false;
    for (size_t i = 0; i < model->count; i++) {
        const struct sw_range *range = &model->at[i];
        const uint64_t edge[] = { range->begin - 1, range->begin, range->begin + (range->end - range->begin) / 2,
                                  range->end - 1, range->end };
        for (size_t k = 0; k < sizeof edge / sizeof edge[0]; k++)
            if (!model_agrees_at(model, map, edge[k]))
                return false;
    }
    return true;
}

#endif
