/*
 * A jitdump file from arbitrary bytes, cut into pieces of a length that the first byte gives. Holds: cutting it
 * elsewhere gives the same names and counts, with images or without; every range of the code map has a name.
 */
#include <snapwalk/jitdump.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reader {
    struct sw_perfmap *perfmap;
    struct sw_jitdump *dump;
};

static struct reader feed(const uint8_t *bytes, size_t size, size_t step, struct sw_images *images,
                          struct sw_codemap *map)
{
    struct reader made;
    if (sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &made.perfmap) || sw_jitdump_create(NULL, made.perfmap, &made.dump))
        abort();
    for (size_t at = 0; at < size; at += step) {
        const enum sw_status status =
            sw_jitdump_feed(made.dump, bytes + at, size - at < step ? size - at : step, images, map);
        if (status != SW_OK && status != SW_E_MALFORMED && status != SW_E_UNSUPPORTED)
            abort();
    }
    return made;
}

static void release(struct reader reader)
{
    sw_jitdump_destroy(reader.dump);
    sw_perfmap_destroy(reader.perfmap);
}

struct pair {
    const struct sw_perfmap *one;
    const struct sw_perfmap *other;
};

static bool compare(void *arg, const struct sw_range *range)
{
    const struct pair *pair = arg;
    const char *one = sw_perfmap_name(pair->one, range->begin, NULL);
    const char *other = sw_perfmap_name(pair->other, range->end - 1, NULL);
    if (!one || !other || strcmp(one, other) != 0)
        abort();
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_codemap *map = NULL;
    struct sw_images *images = NULL;
    if (size < 2)
        return 0;
    if (sw_codemap_create(NULL, &map) || sw_images_create(NULL, &images))
        abort();
    const struct reader one = feed(data + 1, size - 1, size, images, map);
    const struct reader other = feed(data + 1, size - 1, 1 + data[0] % 64, NULL, NULL);
    struct pair pair = { one.perfmap, other.perfmap };
    if (sw_codemap_each(map, compare, &pair))
        abort();
    if (sw_jitdump_records(one.dump) != sw_jitdump_records(other.dump) ||
        sw_jitdump_bad_records(one.dump) != sw_jitdump_bad_records(other.dump))
        abort();
    release(one);
    release(other);
    sw_images_destroy(images);
    sw_codemap_destroy(map);
    return 0;
}
