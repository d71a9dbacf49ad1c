/*
 * Lines of a CoreCLR perf map, of methods and stub blocks in a little code, against a model that knows the winner of
 * each byte. The input is a row of lines of 3 bytes: what, begin, size.
 */
#include <snapwalk/perfmap.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_BYTES = 3, LINES_MAX = 200, CODE = 0x1000, SPAN = 512 };

/* The line that has a byte, from 1; 0: none. */
struct model {
    unsigned owner[SPAN];
    struct line {
        unsigned begin, end;
        bool is_stub;
    } lines[LINES_MAX + 1];
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void clear(struct model *m, unsigned owner)
{
    for (unsigned at = 0; at < SPAN; at++)
        if (m->owner[at] == owner)
            m->owner[at] = 0;
}

static unsigned size_of(const struct line *line)
{
    return line->end - line->begin;
}

/* A method takes all of what it covers, and methods that it covers in part go whole. A stub takes what is left. */
static void add(struct model *m, unsigned number)
{
    const struct line *line = &m->lines[number];
    for (unsigned at = line->begin; at < line->end; at++) {
        const unsigned old = m->owner[at];
        if (!line->is_stub && old != 0 && old != number && !m->lines[old].is_stub)
            clear(m, old);
        if (!line->is_stub || old == 0 || (m->lines[old].is_stub && size_of(&m->lines[old]) >= size_of(line)))
            m->owner[at] = number;
    }
}

static void compare(const struct model *m, const struct sw_perfmap *perfmap, const struct sw_codemap *map)
{
    for (unsigned at = 0; at < SPAN; at++) {
        struct sw_range range, same;
        const char *name = sw_perfmap_name(perfmap, CODE + at, &range);
        must(!name == (m->owner[at] == 0));
        must((sw_codemap_find(map, CODE + at, &same) == SW_OK) == (name != NULL));
        if (!name)
            continue;
        const struct line *line = &m->lines[m->owner[at]];
        must((unsigned)strtoul(name + (line->is_stub ? 5 : 0), NULL, 10) == m->owner[at]);
        must((range.kind == SW_KIND_STUB) == line->is_stub && range.begin >= CODE + line->begin);
        must(range.end <= CODE + line->end && same.begin == range.begin && same.end == range.end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model m;
    struct sw_perfmap *perfmap;
    struct sw_codemap *map;
    memset(&m, 0, sizeof m);
    must(sw_codemap_create(NULL, &map) == SW_OK);
    must(sw_perfmap_create(NULL, SW_PERFMAP_CLR, &perfmap) == SW_OK);
    for (unsigned n = 1; n <= LINES_MAX && n * LINE_BYTES <= size; n++) {
        const uint8_t *from = data + (n - 1) * LINE_BYTES;
        const unsigned begin = from[1] * 2u % SPAN, end = begin + 1 + from[2] % (SPAN - begin);
        char text[64];
        m.lines[n] = (struct line){ begin, end, (from[0] & 1) != 0 };
        const int length = snprintf(text, sizeof text, "%x %x %s%u\n", CODE + begin, end - begin,
                                    m.lines[n].is_stub ? "stub " : "", n);
        must(sw_perfmap_feed(perfmap, text, (size_t)length, map) == SW_OK);
        add(&m, n);
    }
    compare(&m, perfmap, map);
    sw_perfmap_destroy(perfmap);
    sw_codemap_destroy(map);
    return 0;
}
