/*
 * damage FILE DIRECTORY COUNT SEED OFFSET:SIZE...: makes damaged copies of a file, the same ones each time: DIRECTORY/1
 * to DIRECTORY/COUNT. The places named are where most of the damage is done; each copy's is printed in a line. Knows
 * bytes, not formats.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 32, MOST_BYTES = 1 << 24 };

struct place {
    size_t begin;
    size_t size;
};

struct copy {
    uint8_t *bytes;
    size_t size;
    const struct place *place;
    uint64_t *seed;
};

static uint64_t any(struct copy *c)
{
    *c->seed ^= *c->seed << 13;
    *c->seed ^= *c->seed >> 7;
    *c->seed ^= *c->seed << 17;
    return *c->seed;
}

static size_t any_below(struct copy *c, size_t n)
{
    return n ? (size_t)(any(c) % n) : 0;
}

/* ---- kinds of damage ---- */

static void flip(struct copy *c)
{
    c->bytes[c->place->begin + any_below(c, c->place->size)] ^= (uint8_t)(1u << any_below(c, 8));
}

static void flip_some(struct copy *c)
{
    for (unsigned i = 0; i < 12; i++)
        flip(c);
}

static void fill(struct copy *c, int byte)
{
    const size_t at = any_below(c, c->place->size), most = c->place->size - at;
    memset(c->bytes + c->place->begin + at, byte, 1 + any_below(c, most < 64 ? most : 64));
}

static void fill_ones(struct copy *c)
{
    fill(c, 0xff);
}

static void fill_zeros(struct copy *c)
{
    fill(c, 0);
}

static void fill_whole(struct copy *c)
{
    memset(c->bytes + c->place->begin, any(c) & 1 ? 0xff : 0, c->place->size);
}

/* An aligned field made a number that lies outside, or nearly so. */
static void put_number(struct copy *c)
{
    static const uint64_t numbers[] = { 0,
                                        1,
                                        UINT64_MAX,
                                        UINT64_C(0x7fffffffffffffff),
                                        UINT64_C(0x8000000000000000),
                                        UINT64_C(0xffffffff),
                                        UINT64_C(0x7fffffff),
                                        UINT64_C(0x80000000),
                                        UINT64_C(0xfffffffffffffff0) };
    const size_t width = any(c) & 1 ? 8 : 4, at = any_below(c, c->place->size) / 4 * 4;
    const uint64_t number =
        any(c) & 1 ? numbers[any_below(c, sizeof numbers / sizeof numbers[0])] : c->size + any_below(c, 16);
    if (at + width <= c->place->size)
        memcpy(c->bytes + c->place->begin + at, &number, width);
}

static void shuffle(struct copy *c)
{
    for (size_t i = 0; i < c->place->size; i++)
        if (any_below(c, 8) == 0)
            c->bytes[c->place->begin + i] = (uint8_t)any(c);
}

static void truncate_copy(struct copy *c)
{
    c->size = any_below(c, c->size);
}

/* Just behind where a place begins, or just in front of its end. */
static void truncate_in_place(struct copy *c)
{
    const size_t near = any_below(c, 40);
    c->size = any(c) & 1 ? c->place->begin + near : c->place->begin + c->place->size - near % (c->place->size + 1);
}

static const struct kind {
    const char *name;
    void (*damage)(struct copy *c);
} kinds[] = {
    { "a bit flipped", flip },
    { "bits flipped", flip_some },
    { "0xff", fill_ones },
    { "0x00", fill_zeros },
    { "all the same", fill_whole },
    { "a number outside", put_number },
    { "a number outside", put_number },
    { "random bytes", shuffle },
    { "cut off anywhere", truncate_copy },
    { "cut off there", truncate_in_place },
};

/* ---- copies ---- */

static int write_copy(const struct copy *c, const char *directory, unsigned number)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%u", directory, number) >= (int)sizeof path)
        return 1;
    FILE *to = fopen(path, "wb");
    if (!to)
        return 1;
    const size_t size = c->size;
    const int bad = fwrite(c->bytes, 1, size, to) != size;
    return fclose(to) != 0 || bad;
}

static int damage_copy(const uint8_t *bytes, size_t size, const struct place *place, uint64_t *seed,
                       const char *directory, unsigned number)
{
    const struct kind *kind = &kinds[number % (sizeof kinds / sizeof kinds[0])];
    struct copy c = { malloc(size), size, place, seed };
    if (!c.bytes)
        return 1;
    memcpy(c.bytes, bytes, size);
    kind->damage(&c);
    c.size = c.size < size ? c.size : size;
    printf("%u: %s at %zu:%zu\n", number, kind->name, place->begin, place->size);
    const int bad = write_copy(&c, directory, number);
    free(c.bytes);
    return bad;
}

static size_t read_file(const char *path, uint8_t *bytes)
{
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(bytes, 1, MOST_BYTES, file) : 0;
    if (file)
        fclose(file);
    return size;
}

static unsigned read_places(char *const texts[], int count, size_t size, struct place places[MOST_PLACES])
{
    unsigned n = 0;
    for (int i = 0; i < count && n < MOST_PLACES; i++) {
        struct place p;
        if (sscanf(texts[i], "%zu:%zu", &p.begin, &p.size) != 2 || p.size == 0 || p.begin >= size)
            continue;
        p.size = p.size < size - p.begin ? p.size : size - p.begin;
        places[n++] = p;
    }
    return n;
}

int main(int argc, char **argv)
{
    static uint8_t bytes[MOST_BYTES];
    struct place places[MOST_PLACES];
    if (argc < 6) {
        fprintf(stderr, "usage: damage FILE DIRECTORY COUNT SEED OFFSET:SIZE...\n");
        return 2;
    }
    const size_t size = read_file(argv[1], bytes);
    const unsigned place_count = read_places(argv + 5, argc - 5, size, places);
    const unsigned count = (unsigned)strtoul(argv[3], NULL, 10);
    uint64_t seed = strtoull(argv[4], NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    if (place_count == 0)
        return 1;
    const unsigned kind_count = sizeof kinds / sizeof kinds[0];
    for (unsigned n = 1; n <= count; n++)
        if (damage_copy(bytes, size, &places[n / kind_count % place_count], &seed, argv[2], n))
            return 1;
    return 0;
}
