/* See target.h. */
#include "target.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <snapwalk/codemap.h>

struct sw_sim *sim;
struct sw_images *images;
struct sw_cache *cache;

static int set_up(enum sw_machine machine)
{
    return sw_sim_create(NULL, machine, &sim) || sw_images_create(NULL, &images) || sw_cache_create(NULL, 64, &cache)
               ? -1
               : 0;
}

int set_up_x64(void **state)
{
    (void)state;
    return set_up(SW_MACHINE_X64);
}

int set_up_arm64(void **state)
{
    (void)state;
    return set_up(SW_MACHINE_ARM64);
}

int set_up_cached_x64(void **state)
{
    const int failed = set_up_x64(state);
    sw_sim_walker(sim)->cache = cache;
    return failed;
}

int set_up_cached_arm64(void **state)
{
    const int failed = set_up_arm64(state);
    sw_sim_walker(sim)->cache = cache;
    return failed;
}

int tear_down_target(void **state)
{
    (void)state;
    sw_sim_destroy(sim);
    sw_images_destroy(images);
    sw_cache_destroy(cache);
    return 0;
}

void put_code(uint64_t at, const void *bytes, size_t size, enum sw_kind kind, enum sw_unwind unwind)
{
    const struct sw_range range = { at, at + size, at, 0, (uint8_t)kind, (uint8_t)unwind, 0 };
    assert_int_equal(sw_sim_bytes(sim, at, bytes, size), SW_OK);
    if (kind != SW_KIND_NONE)
        assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
}

struct sw_regs garbage_regs(enum sw_machine machine)
{
    struct sw_regs regs = { .machine = machine };
    for (unsigned n = 0; n < sw_regs_count(machine); n++)
        sw_regs_set(&regs, n, 0xbad00000 + n * 0x1001);
    return regs;
}
