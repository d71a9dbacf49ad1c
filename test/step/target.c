/*
 * Memory and mappings of a target: see target.h. Knows neither ptrace nor qemu; walks least of all.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, BELOW_SP = 512, STACK_LIMIT = 8 << 20 };

bool target_failed(const char *what)
{
    fprintf(stderr, "step: %s: %s\n", what, strerror(errno));
    return false;
}

void target_become(char *const argv[], char *const environment[])
{
    char *none[] = { NULL };
    const int null = open("/dev/null", O_RDWR);
    (void)personality(ADDR_NO_RANDOMIZE);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(126);
    execve(argv[0], argv, environment ? environment : none);
    _exit(127);
}

size_t target_read_file(const char *path, char *to, size_t size)
{
    size_t used = 0;
    ssize_t got = 0;
    const int file = open(path, O_RDONLY);
    if (file < 0)
        return 0;
    while (used < size && (got = read(file, to + used, size - used)) > 0)
        used += (size_t)got;
    close(file);
    return used;
}

void target_sleep(unsigned milliseconds)
{
    struct timespec left = { milliseconds / 1000, (long)(milliseconds % 1000) * 1000000 };
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

bool target_prepare(struct target *t)
{
    memset(t, 0, sizeof *t);
    t->memory = (struct sw_memory){ target_read, t, { 0, 0, t->window } };
    t->maps_text = malloc(TARGET_MAPS_TEXT);
    return t->maps_text != NULL;
}

bool target_learn(struct target *t)
{
    struct sw_regs regs;
    if (!target_regs(t, &regs) || !target_map(t))
        return target_failed("registers and mappings");
    target_find_stack(t, sw_regs_sp(&regs));
    return t->stack_end != 0 || target_failed("stack");
}

/* ---- mappings ---- */

void target_take_maps(struct target *t, size_t size)
{
    t->map_count = sw_maps_parse(t->maps_text, size, t->maps, TARGET_MAPS);
    if (t->map_count > TARGET_MAPS)
        t->map_count = TARGET_MAPS;
    for (size_t i = 0; i < TARGET_PAGES; i++)
        t->pages[i].begin = 0;
}

bool target_is_main_stack(const struct sw_map *map)
{
    return map->path_size == 7 && memcmp(map->path, "[stack]", 7) == 0;
}

void target_find_stack(struct target *t, uint64_t sp)
{
    const struct sw_map *map = target_map_at(t, sp - 1); /* an empty stack begins where its mapping ends */
    const bool is_main = map && target_is_main_stack(map);
    t->stack_end = map ? map->end : 0;
    t->stack_begin = is_main ? map->end - STACK_LIMIT : map ? map->begin : 0;
}

const struct sw_map *target_map_at(const struct target *t, uint64_t address)
{
    return sw_maps_find(t->maps, t->map_count, address);
}

bool target_is_file(const struct sw_map *map)
{
    return map->path_size > 0 && map->path[0] == '/' && map->inode != 0 && !map->shared &&
           !(map->path_size > 7 && memcmp(map->path, "/memfd:", 7) == 0);
}

/* ---- memory ---- */

static size_t read_remote(const struct target *t, uint64_t address, void *to, size_t size)
{
    const struct iovec local = { to, size };
    const struct iovec remote = { (void *)(uintptr_t)(address + t->shift), size };
    const ssize_t got = process_vm_readv(t->pid, &local, 1, &remote, 1, 0);
    if (got > 0)
        return (size_t)got;
    return size > 1 && PAGE - address % PAGE < size ? read_remote(t, address, to, PAGE - address % PAGE) : 0;
}

/* A page of code of a file, kept; null for anything else. */
static const uint8_t *code_page(struct target *t, uint64_t address)
{
    const uint64_t begin = address & ~(uint64_t)(PAGE - 1);
    struct target_page *page = &t->pages[begin / PAGE % TARGET_PAGES];
    if (page->begin == begin && begin != 0)
        return page->bytes;
    const struct sw_map *map = target_map_at(t, address);
    if (!map || !map->executable || map->writable || begin == 0 || !target_is_file(map))
        return NULL;
    page->begin = 0;
    if (read_remote(t, begin, page->bytes, PAGE) != PAGE)
        return NULL;
    page->begin = begin;
    return page->bytes;
}

size_t target_read(void *arg, uint64_t address, void *to, size_t size)
{
    struct target *t = arg;
    size_t done = 0;
    while (done < size) {
        const uint64_t at = address + done;
        const size_t part = PAGE - at % PAGE < size - done ? PAGE - at % PAGE : size - done;
        const uint8_t *page = code_page(t, at);
        if (!page)
            return done + read_remote(t, at, (uint8_t *)to + done, size - done);
        memcpy((uint8_t *)to + done, page + at % PAGE, part);
        done += part;
    }
    return done;
}

uint64_t target_word(struct target *t, uint64_t address)
{
    uint64_t word = 0;
    return target_read(t, address, &word, sizeof word) == sizeof word ? word : 0;
}

size_t target_code(struct target *t, uint64_t pc, const uint8_t **bytes)
{
    static uint8_t few[16];
    const uint8_t *page = code_page(t, pc);
    if (page && PAGE - pc % PAGE >= sizeof few) {
        *bytes = page + pc % PAGE;
        return sizeof few;
    }
    *bytes = few;
    return target_read(t, pc, few, sizeof few);
}

void target_look(struct target *t, uint64_t sp)
{
    struct sw_window *w = &t->memory.window;
    const uint64_t begin = (sp - BELOW_SP) & ~(uint64_t)15;
    *w = (struct sw_window){ 0, 0, t->window };
    if (sp >= t->stack_end || t->stack_end - sp > TARGET_WINDOW - 1024)
        return;
    const size_t got = read_remote(t, begin, t->window, (size_t)(t->stack_end - begin));
    w->begin = begin;
    w->end = begin + got;
}
