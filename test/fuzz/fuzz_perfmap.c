/*
 * Perf map text from arbitrary bytes, cut into pieces of a length that the first byte gives. Holds: the ranges in the
 * code map are those that have names, neither overlaps, and cutting the text elsewhere gives the same.
 */
#include <snapwalk/perfmap.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sw_perfmap *feed(enum sw_perfmap_flavour flavour, const char *text, size_t size, size_t step,
                               struct sw_codemap *map)
{
    struct sw_perfmap *perfmap = NULL;
    if (sw_perfmap_create(NULL, flavour, &perfmap))
        abort();
    for (size_t at = 0; at < size; at += step)
        if (sw_perfmap_feed(perfmap, text + at, size - at < step ? size - at : step, map))
            abort();
    return perfmap;
}

/* Every range of the code map has a name in both readers, the same one. */
struct pair {
    const struct sw_perfmap *one;
    const struct sw_perfmap *other;
    uint64_t last;
};

static bool compare(void *arg, const struct sw_range *range)
{
    struct pair *pair = arg;
    struct sw_range a;
    struct sw_range b;
    const char *one = sw_perfmap_name(pair->one, range->begin, &a);
    const char *other = sw_perfmap_name(pair->other, range->end - 1, &b);
    if (!one || !other || strcmp(one, other) != 0 || range->begin < pair->last)
        abort();
    if (a.begin != range->begin || a.end != range->end || b.begin != a.begin || b.end != a.end || b.kind != range->kind)
        abort();
    pair->last = range->end;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_codemap *map = NULL;
    if (size < 2)
        return 0;
    const enum sw_perfmap_flavour flavour = data[0] & 1 ? SW_PERFMAP_CLR : SW_PERFMAP_PLAIN;
    const size_t step = 1 + (data[0] >> 1) % 64;
    if (sw_codemap_create(NULL, &map))
        abort();
    struct sw_perfmap *one = feed(flavour, (const char *)data + 1, size - 1, size, map);
    struct sw_perfmap *other = feed(flavour, (const char *)data + 1, size - 1, step, NULL);
    struct pair pair = { one, other, 0 };
    if (sw_codemap_each(map, compare, &pair))
        abort();
    if (sw_perfmap_lines(one) != sw_perfmap_lines(other) || sw_perfmap_bad_lines(one) != sw_perfmap_bad_lines(other))
        abort();
    sw_perfmap_destroy(one);
    sw_perfmap_destroy(other);
    sw_codemap_destroy(map);
    return 0;
}
