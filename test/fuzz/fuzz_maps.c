/* Any text as /proc/PID/maps: rows ascend, stay inside the text, and every path fits its room. */
#include "target/linux/maps.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAPS = 64 };
    struct sw_map maps[MAPS];
    char path[40];
    const size_t found = sw_maps_parse((const char *)data, size, maps, MAPS);
    const size_t count = found < MAPS ? found : MAPS;
    check(found == sw_maps_parse((const char *)data, size, NULL, 0));
    for (size_t i = 0; i < count; i++) {
        const char *text = (const char *)data;
        bool deleted;
        check(maps[i].begin < maps[i].end && (i == 0 || maps[i - 1].end <= maps[i].begin));
        check(maps[i].path >= text && maps[i].path_size <= (size_t)(text + size - maps[i].path));
        check(sw_maps_find(maps, count, maps[i].begin) == &maps[i]);
        check(sw_maps_find(maps, count, maps[i].end - 1) == &maps[i]);
        if (sw_maps_path(&maps[i], path, sizeof path, &deleted) == SW_OK)
            check(path[0] == '/' && strlen(path) < sizeof path);
    }
    return 0;
}
