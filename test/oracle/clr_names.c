/*
 * Names every method of a perf map of a running .NET process by sw_clr_names, and compares with what its runtime wrote.
 *
 *     clr_names PID MAP [-v]
 *
 * Lines whose name is not ASCII break in the runtime, and take the next line with them: they are counted, not compared.
 * So is a last line that is not whole yet. The process is to stand still: memory is read once, the map as it grows.
 */
#include <snapwalk/clr_names.h>
#include <snapwalk/process.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT = 1 << 16 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* libcoreclr.so first; else whatever is the runtime. */
static bool attach(struct sw_clr_names *names, int pid)
{
    char path[64], line[8192], magic[5];
    unsigned long long begin, offset;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    for (int any = 0; any < 2; any++) {
        FILE *maps = fopen(path, "r");
        while (maps && fgets(line, sizeof line, maps))
            if (sscanf(line, "%llx-%*x %4s %llx", &begin, magic, &offset) == 3 && offset == 0 && strchr(line, '/') &&
                (any || strstr(line, "/libcoreclr.so")) && sw_clr_names_attach(names, begin) == SW_OK) {
                fclose(maps);
                return true;
            }
        if (maps)
            fclose(maps);
    }
    return false;
}

int main(int argc, char **argv)
{
    static char line[TEXT], ours[TEXT], buffer[TEXT];
    struct sw_process *process;
    struct sw_clr_names *names;
    unsigned same = 0, all = 0, broken = 0, shown = 0;
    double spent = 0;
    if (argc < 3 || sw_process_open(NULL, atoi(argv[1]), &process) != SW_OK)
        return 2;
    const struct sw_memory memory = sw_process_memory(process);
    if (sw_clr_names_create(NULL, &memory, 0, &names) != SW_OK || !attach(names, atoi(argv[1]))) {
        printf("names: no runtime found\n");
        return 1;
    }
    FILE *map = fopen(argv[2], "r");
    while (map && fgets(line, sizeof line, map)) {
        uint64_t begin, length;
        int at = 0;
        struct sw_range range;
        struct sw_clr_name name;
        char *last = strchr(line, '\n');
        if (last)
            *last = 0;
        if (!last || sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &begin, &length, &at) != 2 || at == 0) {
            broken++;
            continue;
        }
        char *theirs = line + at, *tier = strrchr(line + at, '[');
        if (strncmp(theirs, "stub", 4) == 0)
            continue;
        all++;
        if (tier && tier > theirs && tier[-1] == ')')
            *tier = 0;
        const double from = now_us();
        enum sw_status status = sw_clr_names_find(names, begin, 0, &range);
        if (status == SW_OK)
            status = sw_clr_names_method(names, range.id, SW_CLR_NAMES_RUNTIME, buffer, sizeof buffer, &name);
        spent += now_us() - from;
        if (status == SW_OK)
            snprintf(ours, sizeof ours, "%s [%s] %s::%s%s", name.result, name.module, name.type, name.method,
                     name.parameters);
        else
            snprintf(ours, sizeof ours, "%s", sw_status_name(status));
        if (strcmp(ours, theirs) == 0)
            same++;
        else if (shown++ < 20)
            printf("# theirs %s\n# ours   %s\n", theirs, ours);
        if (argc > 3 && status == SW_OK &&
            sw_clr_names_method(names, range.id, 0, buffer, sizeof buffer, &name) == SW_OK)
            printf("%s!%s.%s%s\n", name.module, name.type, name.method, name.parameters);
    }
    printf("runtime %u, %u broken lines, %.2f us a name\n", sw_clr_names_release(names), broken, all ? spent / all : 0);
    printf("names: %u of %u as the runtime's own\n", same, all);
    sw_clr_names_destroy(names);
    sw_process_close(process);
    if (map)
        fclose(map);
    return same == all && all ? 0 : 1;
}
