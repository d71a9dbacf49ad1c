/*
 * Parses the text of /proc/PID/maps. Knows the form of a row; refuses to know where the text comes from: no system
 * calls. A target may name its files freely, so a row is parsed from the left, and rows that do not fit are skipped.
 *
 *     7f12a000-7f12c000 r-xp 00001000 fd:01 1234                       /usr/lib/libc.so.6
 *
 * Source: proc(5), /proc/pid/maps; Linux fs/proc/task_mmu.c (a newline in a path is written as \012, and nothing else
 * is escaped).
 */
#include "target/linux/maps.h"

#include "base/interval.h"

#include <string.h>

/* One more than what a digit is worth; 0: it is none. */
static const uint8_t worth[UINT8_MAX + 1] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* A hexadecimal number of at least one digit, followed by the character `behind`. */
static bool number(const char **at, const char *end, char behind, uint64_t *value)
{
    const char *from = *at, *to = from;
    uint64_t sum = 0;
    for (unsigned next; to < end && (next = worth[(uint8_t)*to]) != 0; to++) {
        if (sum >> 60)
            return false;
        sum = sum << 4 | (next - 1);
    }
    if (to == from || to == end || *to != behind)
        return false;
    *value = sum;
    *at = to + 1;
    return true;
}

/* Four letters and a space: "rwxp ". */
static bool rights(const char **at, const char *end, struct sw_map *map)
{
    static const char allowed[4][2] = { { 'r', '-' }, { 'w', '-' }, { 'x', '-' }, { 's', 'p' } };
    bool *const set[4] = { &map->readable, &map->writable, &map->executable, &map->shared };
    if (end - *at < 5 || (*at)[4] != ' ')
        return false;
    for (size_t i = 0; i < 4; i++) {
        if ((*at)[i] != allowed[i][0] && (*at)[i] != allowed[i][1])
            return false;
        *set[i] = (*at)[i] == allowed[i][0];
    }
    *at += 5;
    return true;
}

/* The inode is the last required field; blanks and a path may follow. */
static bool inode_and_path(const char *at, const char *end, struct sw_map *map)
{
    static const char blank = ' ';
    const char *digits = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    const char *stop = at;
    while (at < end && *at == blank)
        at++;
    if (at == stop && at < end)
        return false;
    map->path = at;
    map->path_size = (size_t)(end - at);
    map->inode = 0;
    for (const char *d = digits; d < stop; d++) {
        if (map->inode > (UINT64_MAX - 9) / 10)
            return false;
        map->inode = map->inode * 10 + (uint64_t)(*d - '0');
    }
    return stop > digits;
}

static bool row(const char *at, const char *end, struct sw_map *map)
{
    uint64_t major, minor;
    *map = (struct sw_map){ 0 };
    if (!number(&at, end, '-', &map->begin) || !number(&at, end, ' ', &map->end) || map->begin >= map->end)
        return false;
    if (!rights(&at, end, map) || !number(&at, end, ' ', &map->offset))
        return false;
    if (!number(&at, end, ':', &major) || !number(&at, end, ' ', &minor) || (major | minor) > UINT32_MAX)
        return false;
    map->major = (uint32_t)major;
    map->minor = (uint32_t)minor;
    return inode_and_path(at, end, map);
}

bool sw_maps_next(struct sw_maps_text *text, struct sw_map *map)
{
    while (text->at < text->end) {
        const char *line = text->at;
        const char *newline = memchr(line, '\n', (size_t)(text->end - line));
        const char *end = newline ? newline : text->end;
        text->at = newline ? newline + 1 : text->end;
        if (row(line, end, map))
            return true;
        text->bad++;
    }
    return false;
}

size_t sw_maps_parse(const char *text, size_t size, struct sw_map *maps, size_t capacity)
{
    struct sw_maps_text left = { text, text + size, 0 };
    struct sw_map map;
    size_t count = 0;
    uint64_t floor = 0;
    while (sw_maps_next(&left, &map)) {
        if (map.begin < floor)
            continue;
        floor = map.end;
        if (count < capacity)
            maps[count] = map;
        count++;
    }
    return count;
}

const struct sw_map *sw_maps_find(const struct sw_map *maps, size_t count, uint64_t address)
{
    const size_t at = sw_intervals_above(maps, sizeof *maps, count, address);
    return at < count && maps[at].begin <= address ? &maps[at] : NULL;
}

bool sw_maps_same_file(const struct sw_map *a, const struct sw_map *b)
{
    return a->inode != 0 && a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

bool sw_maps_have_code(const struct sw_map *maps, size_t count, size_t at, bool anonymous)
{
    enum { ROWS_MOST = 64 };
    for (size_t i = at; i < count && i - at < ROWS_MOST; i++) {
        const bool is_same = sw_maps_same_file(&maps[i], &maps[at]), has_file = maps[i].inode != 0;
        if (has_file && !is_same)
            return false;
        if (maps[i].executable && ((is_same && !maps[i].shared) || (anonymous && !has_file)))
            return true;
    }
    return false;
}

static bool ends_in(const struct sw_map *map, const char *tail, size_t size)
{
    return map->path_size > size && memcmp(map->path + map->path_size - size, tail, size) == 0;
}

size_t sw_maps_unescape(const char *path, size_t length, char *to, size_t size)
{
    static const char newline[] = "\\012";
    size_t used = 0;
    if (length < size && !memchr(path, newline[0], length)) { /* nearly all */
        memcpy(to, path, length);
        to[length] = 0;
        return length;
    }
    for (size_t i = 0; i < length; i++) {
        const bool escaped = length - i >= 4 && memcmp(path + i, newline, 4) == 0;
        if (used + 1 >= size)
            return size;
        to[used++] = escaped ? '\n' : path[i];
        i += escaped ? 3 : 0;
    }
    to[used] = 0;
    return used;
}

enum sw_status sw_maps_path(const struct sw_map *map, char *path, size_t size, bool *deleted)
{
    static const char gone[] = " (deleted)";
    const bool cut = ends_in(map, gone, sizeof gone - 1);
    const size_t length = map->path_size - (cut ? sizeof gone - 1 : 0);
    if (deleted)
        *deleted = cut;
    if (length == 0 || map->path[0] != '/' || memchr(map->path, 0, length))
        return SW_E_NOT_FOUND;
    return sw_maps_unescape(map->path, length, path, size) < size ? SW_OK : SW_E_LIMIT;
}
