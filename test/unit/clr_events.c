/*
 * What a runtime reports, and what becomes of it in code map, images and thread table: a runtime without code
 * (support/runtime.h) in this process, its structures in this process' memory, and a clock that goes when it is told.
 */
#include "rows.h"
#include "host.h"

#include "../support/runtime.h"

#if defined(__x86_64__)
#include "budget.h"
#include "clr/internal.h"
#include "clr/linux/host_state.h"
#include "code/map/tree.h"
#include "clr_composite.h"
#include "clr_native.h"

#include <snapwalk/self.h>

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

enum { FIRST_LEASES = 8 };
enum { F = 0x51, G = 0x52, H = 0x53 }; /* functions */
#define CODE UINT64_C(0x100000)        /* no image is there */

static struct fake_runtime fake;
static struct sw_clr *clr;
static struct budget budget;

/* ---- a clock of our own: what it shows, and how far it goes at each look ---- */

static uint64_t clock_ns, clock_step_ns;

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_MONOTONIC || clock_ns == 0)
        return (int)syscall(SYS_clock_gettime, clock, t);
    clock_ns += clock_step_ns;
    *t = (struct timespec){ (time_t)(clock_ns / 1000000000u), (long)(clock_ns % 1000000000u) };
    return 0;
}

/* ---- for each test ---- */

static int begin_with(unsigned newest)
{
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    fake_runtime_init(&fake);
    fake.newest = newest;
    budget = (struct budget){ .left = SIZE_MAX };
    clock_ns = clock_step_ns = 0;
    native_begin();
    return sw_clr_create(&alloc, (IUnknown *)(void *)&fake, &clr) != SW_OK;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(15);
}

static int begin_with_an_old_runtime(void **state)
{
    (void)state;
    return begin_with(4);
}

/* Each lock was paired with an unlock: glibc counts both where nobody waits. */
static bool is_lock_free(void)
{
    if (pthread_mutex_trylock(&clr->host->lock) != 0)
        return false;
    pthread_mutex_unlock(&clr->host->lock);
#ifdef __GLIBC__
    return clr->host->lock.__data.__nusers == 0;
#else
    return true;
#endif
}

static int end(void **state)
{
    (void)state;
    const bool was_free = is_lock_free();
    sw_clr_destroy(clr);
    clr = NULL;
    return !was_free || budget.blocks != 0 || budget.bytes != 0 || fake.references != 0;
}

static struct sw_clr_counts counts(void)
{
    struct sw_clr_counts now;
    sw_clr_get_counts(clr, &now);
    return now;
}

/* The function at an address; 0: none. */
static uint64_t function_at(uint64_t address)
{
    struct sw_range range;
    return sw_codemap_find(clr->codemap, address, &range) == SW_OK ? range.id : 0;
}

static void assert_range(uint64_t begin_, uint64_t end_, uint64_t id)
{
    struct sw_range range;
    assert_int_equal(sw_codemap_find(clr->codemap, begin_, &range), SW_OK);
    assert_true(range.begin == begin_ && range.end == end_ && range.id == id);
}

static void compile(FunctionID function, uint64_t at, uint64_t size)
{
    fake_runtime_compile(&fake, function, 0, at, size);
    sw_clr_function_compiled(clr, function, 0);
}

/* No request comes while the lock is held: the runtime may block it until a thread goes on that waits for the lock. */
static void must_be_unlocked(void)
{
    assert_true(is_lock_free());
}

/* ---- beginning and ending ---- */

static void native_code_has_its_symbols_name(void **state)
{
    const uint64_t here = (uint64_t)(uintptr_t)fake_runtime_init;
    uint64_t start = 0;
    char name[64];
    (void)state;
    assert_int_equal(sw_clr_native_name(clr, here + 1, name, sizeof name, &start), SW_OK);
    assert_string_equal(name, "fake_runtime_init");
    assert_int_equal(start, here);
    assert_int_equal(sw_clr_native_name(clr, CODE, name, sizeof name, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_clr_native_name(clr, here, name, 0, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_clr_native_name(NULL, here, name, sizeof name, NULL), SW_E_ARGUMENT);
}

static void the_events_are_those_that_are_fed(void **state)
{
    DWORD low = 0, high = 0;
    (void)state;
    sw_clr_get_events(&low, &high);
    assert_int_equal(low, COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_CACHE_SEARCHES |
                              COR_PRF_MONITOR_MODULE_LOADS | COR_PRF_MONITOR_FUNCTION_UNLOADS |
                              COR_PRF_MONITOR_THREADS | COR_PRF_ENABLE_STACK_SNAPSHOT);
    assert_int_equal(high, COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS);
}

static void a_new_one_knows_its_images_and_nothing_else(void **state)
{
    struct sw_image image;
    (void)state;
    const struct sw_clr_counts now = counts();
    assert_int_equal(now.functions, 0);
    assert_int_equal(now.threads, 0);
    assert_int_equal(now.failures, 0);
    assert_int_equal(now.images, 1);
    assert_int_equal(now.layout, SW_E_NOT_FOUND); /* this program is no runtime */
    assert_int_equal(
        sw_images_find(clr->images, (uint64_t)(uintptr_t)&a_new_one_knows_its_images_and_nothing_else, &image), SW_OK);
    assert_ptr_equal(clr->info, &fake);
    assert_ptr_equal(clr->info9, &fake);
    assert_non_null(clr->analysis_cache);
    assert_non_null(clr->cache);
    assert_non_null(clr->suspender_state);
    assert_int_equal(now.leases, FIRST_LEASES);
    for (unsigned i = 0; i < FIRST_LEASES; i++)
        assert_true(clr->leases[i].walker.replay && clr->leases[i].workspace);
#ifdef __GLIBC__
    /* no system call to know whose call it is */
    assert_true(clr->suspender.current != sw_self_get_suspender(clr->suspender_state).current);
#endif
}

static void an_older_runtime_has_no_newer_interface(void **state)
{
    struct sw_clr *other = NULL;
    (void)state;
    assert_null(clr->info9);
    fake.newest = 2;
    assert_int_equal(sw_clr_create(NULL, (IUnknown *)(void *)&fake, &other), SW_E_UNSUPPORTED);
    assert_null(other);
}

/* How many allocations its parts take. */
static size_t allocations_of_parts;

/* At each allocation in turn there is no more memory. */
static void without_memory_nothing_is_made(void **state)
{
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    (void)state;
    fake_runtime_init(&fake);
    for (size_t left = 0;; left++) {
        struct sw_clr *made = NULL;
        budget = (struct budget){ .left = left };
        const enum sw_status status = sw_clr_create(&alloc, (IUnknown *)(void *)&fake, &made);
        if (status == SW_OK) {
            assert_non_null(made);
            sw_clr_destroy(made);
            assert_int_equal(budget.blocks, 0);
            assert_true(left > 2 * FIRST_LEASES); /* each has a workspace and a replay memory */
            allocations_of_parts = left;
            return;
        }
        assert_int_equal(status, SW_E_NO_MEMORY);
        assert_null(made);
        assert_int_equal(budget.blocks, 0);
        assert_int_equal(budget.bytes, 0);
    }
}

/* One allocation of all fails: none of the parts is done without. */
static size_t until_failure;

static void *fail_once(void *arg, size_t size)
{
    return until_failure-- == 0 ? NULL : budget_get(arg, size);
}

static void without_one_of_its_parts_nothing_is_made(void **state)
{
    const struct sw_alloc alloc = { fail_once, budget_put, &budget };
    size_t refused = 0;
    (void)state;
    fake_runtime_init(&fake);
    for (size_t at = 0; at < allocations_of_parts; at++) {
        struct sw_clr *made = NULL;
        budget = (struct budget){ .left = SIZE_MAX };
        until_failure = at;
        const enum sw_status status = sw_clr_create(&alloc, (IUnknown *)(void *)&fake, &made);
        refused += status == SW_E_NO_MEMORY;
        assert_true(made ? status == SW_OK : status == SW_E_NO_MEMORY);
        sw_clr_destroy(made);
        assert_int_equal(budget.blocks, 0);
    }
    assert_int_equal(refused, allocations_of_parts);
    assert_true(refused > 2 * FIRST_LEASES);
}

static void nothing_can_be_destroyed(void **state)
{
    (void)state;
    sw_clr_destroy(NULL);
}

/* ---- images ---- */

/* Of a module that the runtime knows nothing of, all images are read; of one without code none is. */
static void a_module_is_an_image_that_is_read(void **state)
{
    (void)state;
    sw_clr_module_loaded(clr, 7);
    assert_int_equal(counts().images, 2);
    fake.base = (LPCBYTE)&fake;
    sw_clr_module_loaded(clr, (ModuleID)(uintptr_t)&fake);
    assert_int_equal(counts().images, 2);
    sw_clr_refresh(clr);
    assert_int_equal(counts().images, 2); /* nothing was loaded since */
    assert_int_equal(counts().failures, 0);
}

/* The runtime unmaps it some time after the event. */
static void a_module_that_goes_lets_images_be_read_a_second_later(void **state)
{
    (void)state;
    clock_ns = UINT64_C(7000000000);
    sw_clr_module_unloaded(clr, 7);
    clock_ns = UINT64_C(7500000000);
    sw_clr_module_unloaded(clr, 8);
    clock_ns = UINT64_C(7999999999);
    sw_clr_refresh(clr);
    assert_int_equal(counts().images, 1);
    clock_ns = UINT64_C(8000000000);
    sw_clr_refresh(clr);
    assert_int_equal(counts().images, 2);
    clock_ns = UINT64_C(99000000000);
    sw_clr_refresh(clr);
    assert_int_equal(counts().images, 2); /* once for both */
}

static void what_the_linker_has_loaded_or_unloaded_is_noticed(void **state)
{
    (void)state;
    const uint64_t before = counts().images;
    void *library = dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        skip();
    sw_clr_refresh(clr);
    assert_int_equal(counts().images, before + 1);
    sw_clr_refresh(clr);
    assert_int_equal(counts().images, before + 1);
    dlclose(library);
    sw_clr_refresh(clr);
    assert_int_equal(counts().images, before + 2);
    sw_clr_refresh(clr);
    assert_int_equal(counts().images, before + 2);
}

static void an_event_notices_them_too(void **state)
{
    (void)state;
    const uint64_t before = counts().images;
    void *library = dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        skip();
    compile(F, CODE, 0x40);
    assert_int_equal(counts().images, before + 1);
    dlclose(library);
}

static void images_that_cannot_be_read_are_counted(void **state)
{
    (void)state;
    clr->images = (sw_images_destroy(clr->images), NULL);
    sw_clr_module_loaded(clr, 7);
    assert_int_equal(counts().failures, 1);
    fake.base = (LPCBYTE)&fake;
    sw_clr_module_loaded(clr, (ModuleID)(uintptr_t)&fake); /* not this one, and not all of them either */
    assert_int_equal(counts().failures, 2);
}

/* ---- code ---- */

static void compiled_code_is_in_the_map(void **state)
{
    struct sw_range range;
    (void)state;
    fake.in_request = must_be_unlocked;
    const uint64_t generation = sw_codemap_generation(clr->codemap);
    compile(F, CODE, 0x40);
    assert_int_equal(sw_codemap_generation(clr->codemap), generation + 1); /* one change */
    assert_int_equal(sw_codemap_find(clr->codemap, CODE + 0x3f, &range), SW_OK);
    const struct sw_range is = {
        .begin = CODE, .end = CODE + 0x40, .id = F, .kind = SW_KIND_JIT, .unwind = SW_UNWIND_CLR_HEADER
    };
    assert_memory_equal(&range, &is, sizeof is);
    assert_int_equal(counts().functions, 1);
    assert_int_equal(counts().failures, 0);
    assert_true(fake.requests > 0);
}

static void code_in_an_image_is_precompiled(void **state)
{
    struct sw_range range;
    const uint64_t here = (uint64_t)(uintptr_t)&code_in_an_image_is_precompiled;
    (void)state;
    compile(F, here, 0x10);
    assert_int_equal(sw_codemap_find(clr->codemap, here, &range), SW_OK);
    assert_int_equal(range.kind, SW_KIND_NGEN);
    assert_int_equal(range.unwind, SW_UNWIND_AUTO);
    assert_int_equal(range.id, F);
}

static void a_dynamic_method_is_hidden(void **state)
{
    struct sw_range range;
    (void)state;
    fake_runtime_compile(&fake, F, 0, CODE, 0x40);
    sw_clr_dynamic_compiled(clr, F);
    assert_int_equal(sw_codemap_find(clr->codemap, CODE, &range), SW_OK);
    assert_int_equal(range.flags, SW_RANGE_HIDDEN);
    assert_int_equal(range.id, F);
}

static void compile_dynamic(FunctionID function, uint64_t at)
{
    fake_runtime_compile(&fake, function, 0, at, 0x40);
    sw_clr_dynamic_compiled(clr, function);
}

/* Its place is remembered; once. */
static void of_a_recent_dynamic_method_the_runtime_is_not_asked_at_its_end(void **state)
{
    (void)state;
    compile_dynamic(F, CODE);
    compile_dynamic(F + sizeof(uint64_t), CODE + 0x1000);
    fake.requests = 0;
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(fake.requests, 0);
    assert_int_equal(function_at(CODE), 0);
    assert_int_equal(function_at(CODE + 0x1000), F + sizeof(uint64_t));
    sw_clr_function_unloaded(clr, F);
    assert_true(fake.requests > 0);
}

static void an_older_dynamic_method_in_the_same_place_is_asked_for(void **state)
{
    const FunctionID other = F + sizeof(uint64_t) * SW_CLR_DYNAMICS;
    (void)state;
    compile_dynamic(F, CODE);
    compile_dynamic(other, CODE + 0x1000);
    fake.requests = 0;
    sw_clr_function_unloaded(clr, F);
    assert_true(fake.requests > 0);
    assert_int_equal(function_at(CODE), 0);
    sw_clr_function_unloaded(clr, other);
    assert_int_equal(function_at(CODE + 0x1000), 0);
}

static void all_regions_of_a_dynamic_method_go(void **state)
{
    (void)state;
    fake_runtime_compile(&fake, F, 0, CODE, 0x40);
    fake_runtime_add_region(&fake, F, 0, CODE, CODE + 0x1000, 0x20);
    sw_clr_dynamic_compiled(clr, F);
    assert_int_equal(function_at(CODE + 0x1000), F);
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(function_at(CODE), 0);
    assert_int_equal(function_at(CODE + 0x1000), 0);
}

/* The event of the end was late, and the place has other code. */
static void the_end_of_a_dynamic_method_leaves_what_took_its_place(void **state)
{
    (void)state;
    compile_dynamic(F, CODE);
    compile(G, CODE, 0x40);
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(function_at(CODE), G);
}

static void every_region_of_every_version_is_added(void **state)
{
    (void)state;
    fake_runtime_compile(&fake, F, 0, CODE, 0x40);
    fake_runtime_add_region(&fake, F, 0, CODE, CODE + 0x1000, 0x20);
    fake_runtime_compile(&fake, F, 0, CODE + 0x2000, 0x30);
    fake_runtime_compile(&fake, F, 3, CODE + 0x3000, 0x30);
    fake_runtime_compile(&fake, G, 0, CODE + 0x4000, 0x30);
    sw_clr_function_compiled(clr, F, 0);
    assert_range(CODE, CODE + 0x40, F);
    assert_range(CODE + 0x1000, CODE + 0x1020, F);
    assert_range(CODE + 0x2000, CODE + 0x2030, F);
    assert_int_equal(counts().functions, 3);
    sw_clr_function_compiled(clr, F, 3);
    assert_range(CODE + 0x3000, CODE + 0x3030, F);
    assert_int_equal(counts().functions, 4);
    assert_int_equal(counts().failures, 0);
}

static void without_versions_all_regions_are_asked_for_at_once(void **state)
{
    (void)state;
    fake_runtime_compile(&fake, F, 0, CODE, 0x40);
    fake_runtime_add_region(&fake, F, 0, CODE, CODE + 0x1000, 0x20);
    sw_clr_function_compiled(clr, F, 0);
    assert_range(CODE, CODE + 0x40, F);
    assert_range(CODE + 0x1000, CODE + 0x1020, F);
    assert_int_equal(fake.requests, 1);
    sw_clr_function_compiled(clr, G, 0); /* not compiled */
    assert_int_equal(clr->pending_count, 1);
    assert_int_equal(counts().functions, 2);
}

/* As many as there is room for, wherever the limit is met. */
static void more_regions_than_there_is_room_for_are_cut(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 70; i++)
        fake_runtime_add_region(&fake, F, 0, CODE, CODE + 0x100 * i, 0x40);
    sw_clr_function_compiled(clr, F, 0);
    assert_int_equal(counts().functions, 64);
    for (unsigned i = 0; i < 70; i++)
        fake_runtime_compile(&fake, G, 0, CODE + 0x100000 + 0x100 * i, 0x40);
    fake.requests = 0;
    sw_clr_function_compiled(clr, G, 0);
    assert_int_equal(counts().functions, 128);
    if (clr->info9)
        assert_int_equal(fake.requests, 1 + 64);
    assert_range(CODE + 0x100000 + 0x3f00, CODE + 0x100000 + 0x3f40, G);
}

/* Three versions, of 40, of 60 and of 10 regions. */
static void the_last_version_is_cut_where_room_ends(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 110; i++)
        fake_runtime_add_region(&fake, F, 0, CODE + (i < 40 ? 0 : i < 100 ? 0x2800 : 0x6400), CODE + 0x100 * i, 0x40);
    sw_clr_function_compiled(clr, F, 0);
    assert_int_equal(fake.requests, 3);
    assert_int_equal(counts().functions, 64);
    assert_range(CODE + 0x3f00, CODE + 0x3f40, F);
    assert_int_equal(function_at(CODE + 0x4000), 0);
}

/* The runtime names a version that it then knows nothing of: the others are added. */
static void a_version_that_is_gone_meanwhile_is_left_out(void **state)
{
    (void)state;
    fake_runtime_compile(&fake, F, 0, CODE, 0);
    fake_runtime_compile(&fake, F, 0, CODE + 0x1000, 0x40);
    fake.scribble = (COR_PRF_CODE_INFO){ CODE + 0x3000, 0x40 };
    sw_clr_function_compiled(clr, F, 0);
    assert_range(CODE + 0x1000, CODE + 0x1040, F);
    assert_int_equal(counts().functions, 1);
    assert_int_equal(counts().failures, 0);
}

static void the_same_again_changes_nothing(void **state)
{
    (void)state;
    compile(F, CODE, 0x40);
    const uint64_t generation = sw_codemap_generation(clr->codemap);
    sw_clr_function_compiled(clr, F, 0);
    assert_int_equal(sw_codemap_generation(clr->codemap), generation);
    assert_int_equal(counts().functions, 1);
    assert_int_equal(counts().failures, 0);
}

/* Ranges that were there, and what replaces them: in front, inside, behind, the same place with another id. */
static const struct again {
    const char *name;
    uint64_t begin, size;
    bool f, g, h;
} agains[] = {
    { "in_the_same_place", 0x100, 0x100, false, true, true },
    { "over_the_first_byte", 0x80, 0x81, false, true, true },
    { "over_the_last_byte_of_one_and_the_first_of_the_next", 0x1ff, 0x2, false, false, true },
    { "over_all", 0x0, 0x400, false, false, false },
    { "inside", 0x140, 0x10, false, true, true },
    { "over_the_last_byte_alone", 0x2ff, 0x1, true, false, true },
    { "over_the_last_of_many", 0x208, 0x101, true, false, false },
};

static void code_where_code_was_freed_takes_its_place(void **state)
{
    const struct again *row = *state;
    compile(F, CODE + 0x100, 0x100);
    compile(G, CODE + 0x200, 0x100);
    compile(H, CODE + 0x300, 0x10);
    compile(99, CODE + row->begin, row->size);
    assert_range(CODE + row->begin, CODE + row->begin + row->size, 99);
    struct sw_range range;
    const bool f = sw_codemap_find(clr->codemap, CODE + 0x100, &range) == SW_OK && range.id == F;
    const bool g = sw_codemap_find(clr->codemap, CODE + 0x2f0, &range) == SW_OK && range.id == G;
    const bool h = sw_codemap_find(clr->codemap, CODE + 0x30f, &range) == SW_OK && range.id == H;
    assert_true(f == row->f && g == row->g && h == row->h);
    assert_int_equal(counts().failures, 0);
    assert_int_equal(counts().functions, 1u + row->f + row->g + row->h);
}

static void a_range_that_makes_no_sense_is_counted(void **state)
{
    (void)state;
    compile(F, UINT64_MAX - 8, 0x40);
    assert_int_equal(counts().failures, 1);
    assert_int_equal(counts().functions, 0);
}

/* ---- announced before its code is there ---- */

static void code_that_comes_later_is_asked_for_again(void **state)
{
    (void)state;
    fake.in_request = must_be_unlocked;
    sw_clr_function_compiled(clr, F, 0);
    sw_clr_function_compiled(clr, G, 0);
    assert_int_equal(clr->pending_count, 2);
    fake_runtime_compile(&fake, F, 0, CODE, 0x40);
    fake_runtime_compile(&fake, G, 0, CODE + 0x1000, 0x40);
    compile(H, CODE + 0x2000, 0x40);
    assert_range(CODE, CODE + 0x40, F);
    assert_range(CODE + 0x1000, CODE + 0x1040, G);
    assert_int_equal(clr->pending_count, 0);
    assert_int_equal(counts().functions, 3);
    fake.requests = 0;
    sw_clr_refresh(clr);
    assert_int_equal(fake.requests, 0);
}

static void a_refresh_asks_again_too(void **state)
{
    (void)state;
    sw_clr_function_compiled(clr, F, 0);
    sw_clr_refresh(clr);
    assert_int_equal(clr->pending_count, 1);
    fake_runtime_compile(&fake, F, 0, CODE, 0x40);
    sw_clr_refresh(clr);
    assert_range(CODE, CODE + 0x40, F);
    assert_int_equal(clr->pending_count, 0);
}

/* A list that is full is forgotten once it was asked for: nothing would be left for others. */
static void the_list_of_those_has_an_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SW_CLR_PENDING; i++)
        clr->pending[i] = 1000 + i;
    clr->pending_count = SW_CLR_PENDING - 1;
    sw_clr_refresh(clr);
    assert_int_equal(clr->pending_count, SW_CLR_PENDING - 1);
    clr->pending_count = SW_CLR_PENDING;
    clr->pending[SW_CLR_PENDING - 1] = 7;
    fake_runtime_compile(&fake, 7, 0, CODE, 0x40);
    sw_clr_refresh(clr);
    assert_range(CODE, CODE + 0x40, 7);
    assert_int_equal(clr->pending_count, 0);
}

static void postpone_while_it_is_asked(void)
{
    if (clr->pending_count == 0)
        clr->pending_count = SW_CLR_PENDING; /* others were announced meanwhile */
}

static void a_list_that_fills_meanwhile_is_not_overrun(void **state)
{
    (void)state;
    sw_clr_function_compiled(clr, F, 0);
    fake.in_request = postpone_while_it_is_asked;
    sw_clr_refresh(clr);
    fake.in_request = NULL;
    assert_int_equal(clr->pending_count, SW_CLR_PENDING);
    clr->pending_count = 0;
}

/* ---- unloaded ---- */

static void unloaded_code_is_gone(void **state)
{
    (void)state;
    fake.in_request = must_be_unlocked;
    compile(F, CODE, 0x40);
    fake_runtime_add_region(&fake, F, 0, CODE, CODE + 0x1000, 0x40);
    sw_clr_function_compiled(clr, F, 0);
    compile(G, CODE + 0x2000, 0x40);
    assert_int_equal(counts().functions, 3);
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(function_at(CODE), 0);
    assert_int_equal(function_at(CODE + 0x1000), 0);
    assert_int_equal(function_at(CODE + 0x2000), G);
    assert_int_equal(counts().functions, 1);
    assert_int_equal(counts().failures, 0);
}

static void what_took_its_place_stays(void **state)
{
    (void)state;
    fake_runtime_compile(&fake, F, 0, CODE, 0x40);
    compile(G, CODE, 0x40);
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(function_at(CODE), G);
    sw_clr_function_unloaded(clr, H); /* never heard of */
    assert_int_equal(counts().functions, 1);
    assert_int_equal(counts().failures, 0);
}

/* The runtime does not answer any more: its ranges are searched for, however many. */
static void code_that_the_runtime_has_forgotten_is_gone(void **state)
{
    (void)state;
    compile(G, CODE - 0x1000, 0x40);
    for (unsigned i = 0; i < 200; i++) {
        compile(F, CODE + 0x100 * i, 0x40);
        fake_runtime_free(&fake, F);
    }
    compile(H, CODE + 0x10000, 0x40);
    assert_int_equal(counts().functions, 202);
    fake.code_answer = E_FAIL;
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(counts().functions, 2);
    assert_int_equal(function_at(CODE - 0x1000), G);
    assert_int_equal(function_at(CODE + 0x10000), H);
    assert_int_equal(counts().failures, 0);
}

/* What an answer does not count, or an answer that failed, is not looked at. */
static void the_rest_of_an_array_is_not_looked_at(void **state)
{
    (void)state;
    compile(F, CODE, 0x40);
    fake_runtime_free(&fake, F);
    compile(F, CODE + 0x1000, 0x40);
    fake.scribble = (COR_PRF_CODE_INFO){ CODE, 0x40 };
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(function_at(CODE), F);
    assert_int_equal(function_at(CODE + 0x1000), 0);
    fake_runtime_compile(&fake, H, 0, CODE, 0x40);
    compile(G, CODE + 0x1000, 0x40);
    assert_int_equal(function_at(CODE), F); /* and not H, of which nobody spoke */
    sw_clr_function_unloaded(clr, G);
    fake.code_answer = E_FAIL;
    sw_clr_function_compiled(clr, G, 0);
    assert_int_equal(counts().functions, 1);
    assert_int_equal(clr->pending_count, 1);
}

/* Somebody else is changing the map, which nobody may: each change that is refused is counted. */
static void a_change_that_is_refused_is_counted(void **state)
{
    (void)state;
    compile(F, CODE, 0x40);
    while (atomic_flag_test_and_set(&clr->codemap->writing))
        ;
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(counts().failures, 1);
    fake.code_answer = E_FAIL;
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(counts().failures, 2);
    fake.code_answer = S_OK;
    compile(G, CODE + 0x1000, 0x40);
    assert_int_equal(counts().failures, 3);
    atomic_flag_clear(&clr->codemap->writing);
    assert_int_equal(counts().functions, 1);
}

/* ---- exception dispatch ---- */

/* Where the module of a method is. */
enum place { CORELIB, OTHER_LIBRARY, THIS_PROGRAM, NOWHERE };

static const struct dispatch_row {
    const char *name;
    enum place place;
    mdToken token;
    uint16_t flags;
} dispatch_rows[] = {
    { "dispatch_is_known_by_its_token", CORELIB, 0x06000001, SW_RANGE_EH_DISPATCH },
    { "another_method_of_corelib_is_none", CORELIB, 0x06000009, 0 },
    { "that_token_elsewhere_is_none", OTHER_LIBRARY, 0x06000001, 0 },
    { "an_image_of_no_runtime_has_none", THIS_PROGRAM, 0x06000001, 0 },
    { "a_module_in_no_image_has_none", NOWHERE, 0x06000001, 0 },
};

static uint8_t *map_bytes(const char *name, const struct bin *b)
{
    const struct sw_memory memory = sw_self_memory();
    uint8_t *mapped = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    memcpy(mapped, b->bytes, FILE_AT);
    memcpy(mapped + BASE_RVA, b->bytes + FILE_AT, SECTION_BYTES);
    assert_int_equal(sw_images_add_memory(clr->images, name, native_at(mapped), MAPPED_BYTES, &memory), SW_OK);
    return mapped;
}

static uint8_t *map_image(const char *assembly)
{
    struct bin b = make_image();
    put_metadata(&b, assembly);
    return map_bytes(assembly, &b);
}

static uint8_t *map_composite(void)
{
    struct bin b = make_composite();
    put_manifest(&b, "System.Private.CoreLib");
    return map_bytes("composite", &b);
}

static uint8_t *map_component(void)
{
    struct bin b = make_image();
    put_le(at_rva(&b, RTR) + 16, 116, 4);
    return map_bytes("component", &b);
}

/* Before any event, and whichever of the two images is found first. */
static void dispatch_in_a_composite_image_is_marked(void **state)
{
    struct sw_range range;
    (void)state;
    for (unsigned late = 0; late < 2; late++) {
        uint8_t *component = late ? NULL : map_component(), *composite = map_composite();
        component = late ? map_component() : component;
        assert_int_equal(sw_images_find_method(clr->images, native_at(composite) + DISPATCHING, &range), SW_OK);
        assert_int_equal(range.flags, SW_RANGE_EH_DISPATCH);
        assert_int_equal(sw_images_find_method(clr->images, native_at(composite) + NOT_DISPATCHING, &range), SW_OK);
        assert_int_equal(range.flags, 0);
        assert_int_equal(sw_images_remove(clr->images, native_at(component)), SW_OK);
        assert_int_equal(sw_images_remove(clr->images, native_at(composite)), SW_OK);
        munmap(component, MAPPED_BYTES);
        munmap(composite, MAPPED_BYTES);
    }
}

/* Its code's image is mapped by now, and no event says where. */
static void a_component_lets_all_images_be_read(void **state)
{
    struct bin b = make_image();
    (void)state;
    put_metadata(&b, "Other");
    fake.base = map_bytes("image", &b);
    sw_clr_module_loaded(clr, (ModuleID)(uintptr_t)&fake);
    const uint64_t before = counts().images;
    put_le(at_rva(&b, RTR) + 16, 116, 4);
    fake.base = map_bytes("component", &b);
    sw_clr_module_loaded(clr, (ModuleID)(uintptr_t)&fake);
    assert_int_equal(counts().images, before + 1);
}

static void methods_of_dispatch_are_marked(void **state)
{
    const struct dispatch_row *row = *state;
    uint8_t *mapped = row->place == CORELIB         ? map_image("System.Private.CoreLib")
                      : row->place == OTHER_LIBRARY ? map_image("Other")
                                                    : NULL;
    struct sw_range range;
    fake.dispatcher = F;
    fake.token = row->token;
    fake.base = mapped ? mapped : row->place == THIS_PROGRAM ? (LPCBYTE)&fake : (LPCBYTE)(uintptr_t)0x1000;
    compile(F, CODE, 0x40);
    compile(G, CODE + 0x1000, 0x40); /* it has no metadata */
    assert_int_equal(sw_codemap_find(clr->codemap, CODE, &range), SW_OK);
    assert_int_equal(range.flags, row->flags);
    assert_int_equal(sw_codemap_find(clr->codemap, CODE + 0x1000, &range), SW_OK);
    assert_int_equal(range.flags, 0);
    sw_clr_dynamic_compiled(clr, F);
    assert_int_equal(sw_codemap_find(clr->codemap, CODE, &range), SW_OK);
    assert_int_equal(range.flags, SW_RANGE_HIDDEN); /* a dynamic method is that and nothing else */
    const size_t before = budget.blocks;
    if (mapped) {
        assert_int_equal(sw_images_remove(clr->images, native_at(mapped)), SW_OK);
        assert_true(budget.blocks < before); /* nobody is still reading it */
        munmap(mapped, MAPPED_BYTES);
    }
}

/* ---- code that goes without an event ---- */

static void compile_collectible(void)
{
    native_put_method(0, 0);
    fake_runtime_compile(&fake, native_method(), 0, native_begin_of(), NATIVE_SIZE);
    sw_clr_function_compiled(clr, native_method(), 0);
}

static void code_that_may_go_with_its_module_is_marked(void **state)
{
    struct sw_range range;
    (void)state;
    native_follow(clr);
    compile_collectible();
    compile(F, CODE, 0x40);
    assert_int_equal(sw_codemap_find(clr->codemap, native_begin_of(), &range), SW_OK);
    assert_int_equal(range.image, 1);
    assert_int_equal(range.kind, SW_KIND_JIT);
    assert_int_equal(sw_codemap_find(clr->codemap, CODE, &range), SW_OK);
    assert_int_equal(range.image, 0);
}

/* ---- what an event costs ---- */

/* A module was unloaded, long ago. */
static void follow_and_unload(void)
{
    native_follow(clr);
    clr->unloaded_at = 1;
}

static unsigned reads;

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count, const struct iovec *remote,
                         unsigned long remote_count, unsigned long flags)
{
    reads++;
    return syscall(SYS_process_vm_readv, pid, local, local_count, remote, remote_count, flags);
}

/* Methods of one heap, one after the other: the first makes the runtime's map be read. */
static void a_heap_is_looked_up_once(void **state)
{
    enum { MOST_READS = 12 };
    struct sw_range range;
    (void)state;
    native_follow(clr);
    reads = 0;
    compile(F, native_begin_of(), 0x40);
    assert_true(reads > 0 && reads <= MOST_READS);
    for (unsigned i = 1; i < 100; i++) {
        reads = fake.requests = 0;
        fake_runtime_compile(&fake, G + i, 0, native_begin_of() + 0x100 * i, 0x40);
        if (i % 2)
            sw_clr_function_compiled(clr, G + i, 0);
        else
            sw_clr_dynamic_compiled(clr, G + i);
        assert_int_equal(reads, 0);
        assert_int_equal(fake.requests, i % 2 ? 2 : 1);
        assert_int_equal(sw_codemap_find(clr->codemap, native_begin_of() + 0x100 * i, &range), SW_OK);
        assert_int_equal(range.image, 1);
    }
    assert_int_equal(counts().images, 1);
    assert_int_equal(counts().failures, 0);
}

/* A heap is freed with its last method, and another one takes its place. */
static void what_was_unloaded_makes_it_be_looked_up_again(void **state)
{
    struct sw_range range;
    (void)state;
    native_follow(clr);
    compile(F, native_begin_of(), 0x40);
    native_set(native.section, SW_CLR_SECTION_FLAGS, 2, 4); /* a heap that stays */
    sw_clr_function_unloaded(clr, F);
    compile(G, native_begin_of() + 0x100, 0x40);
    assert_int_equal(sw_codemap_find(clr->codemap, native_begin_of() + 0x100, &range), SW_OK);
    assert_int_equal(range.image, 0);
    native_set(native.section, SW_CLR_SECTION_FLAGS, 3, 4);
    sw_clr_module_unloaded(clr, 7);
    compile(H, native_begin_of() + 0x200, 0x40);
    assert_int_equal(sw_codemap_find(clr->codemap, native_begin_of() + 0x200, &range), SW_OK);
    assert_int_equal(range.image, 1);
}

static void a_sweep_reads_a_page_once(void **state)
{
    (void)state;
    follow_and_unload();
    compile_collectible();
    for (unsigned i = 1; i < 64; i++) {
        const struct sw_range range = {
            native_begin_of() + 0x100 * i, native_begin_of() + 0x100 * i + 0x20, 1 + i, 1, SW_KIND_JIT, 0, 0
        };
        assert_int_equal(sw_codemap_add(clr->codemap, &range), SW_OK);
    }
    reads = 0;
    sw_clr_refresh(clr);
    assert_int_equal(counts().functions, 1); /* the one that is there */
    assert_true(reads < 64);
}

/* Versions that were compiled again on request have numbers of their own. */
static void every_version_goes_when_its_method_is_unloaded(void **state)
{
    (void)state;
    compile(F, CODE, 0x40);
    fake_runtime_compile(&fake, F, 3, CODE + 0x1000, 0x40);
    sw_clr_function_compiled(clr, F, 3);
    assert_int_equal(counts().functions, 2);
    fake.in_request = must_be_unlocked;
    sw_clr_function_unloaded(clr, F);
    assert_int_equal(counts().functions, 0);
    assert_int_equal(counts().failures, 0);
}

static void give_to_another_method(void)
{
    native_put_method(0, 1);
}

static void move_it(void)
{
    native_put_method(-16u, 0);
}

static void let_it_be(void)
{
}

/* How it goes: freed; another method's; another method begins elsewhere; it is still there. */
static const struct gone_row {
    const char *name;
    void (*change)(void);
    bool stays;
} gone_rows[] = {
    { "freed_code_goes", native_free_method, false },
    { "code_of_another_method_goes", give_to_another_method, false },
    { "code_that_begins_elsewhere_goes", move_it, false },
    { "code_that_is_there_stays", let_it_be, true },
};

static void a_sweep_finds_what_is_gone(void **state)
{
    const struct gone_row *row = *state;
    follow_and_unload();
    compile_collectible();
    compile(F, CODE, 0x40); /* not collectible: nobody asks for it */
    const uint64_t begin_ = native_begin_of(), id = native_method();
    row->change();
    clr->sweep_from = 0;
    sw_clr_refresh(clr);
    assert_int_equal(function_at(begin_) == id, row->stays);
    assert_int_equal(function_at(CODE), F);
    assert_int_equal(counts().failures, 0);
}

static void a_module_that_goes_lets_sweep(void **state)
{
    (void)state;
    native_follow(clr);
    compile_collectible();
    native_free_method();
    sw_clr_refresh(clr);
    assert_int_equal(counts().functions, 1); /* nothing can have gone */
    sw_clr_module_unloaded(clr, 7);
    sw_clr_refresh(clr);
    assert_int_equal(counts().functions, 0);
}

/* It is freed some time after the event: so long it is looked for. */
static void it_is_looked_for_until_a_second_has_passed(void **state)
{
    (void)state;
    native_follow(clr);
    compile_collectible();
    clock_ns = UINT64_C(7000000000);
    sw_clr_module_unloaded(clr, 7);
    clock_ns += 1000000000;
    sw_clr_refresh(clr);
    assert_true(clr->unloaded_at != 0);
    clock_ns += 500000000;
    sw_clr_refresh(clr);
    assert_int_equal(clr->unloaded_at, 0);
    native_free_method();
    clock_ns += 1000000000;
    sw_clr_refresh(clr);
    assert_int_equal(counts().functions, 1);
}

static void many_that_are_gone_all_go(void **state)
{
    (void)state;
    follow_and_unload();
    for (uint64_t i = 0; i < 130; i++) {
        const struct sw_range range = { CODE + 64 * i, CODE + 64 * i + 32, 1 + i, i != 7, SW_KIND_JIT, 0, 0 };
        assert_int_equal(sw_codemap_add(clr->codemap, &range), SW_OK);
    }
    sw_clr_refresh(clr);
    assert_int_equal(counts().functions, 1);
    assert_int_equal(function_at(CODE + 64 * 7), 8);
    assert_int_equal(counts().failures, 0);
}

static void precompiled_code_is_not_swept(void **state)
{
    (void)state;
    follow_and_unload();
    const struct sw_range range = { CODE, CODE + 32, 5, 1, SW_KIND_NGEN, 0, 0 };
    assert_int_equal(sw_codemap_add(clr->codemap, &range), SW_OK);
    sw_clr_refresh(clr);
    assert_int_equal(function_at(CODE), 5);
}

/* A runtime whose map cannot be read says nothing of what is gone. */
static void without_a_layout_nothing_is_swept(void **state)
{
    (void)state;
    follow_and_unload();
    compile_collectible();
    native_free_method();
    clr->layout_status = SW_E_UNSUPPORTED;
    sw_clr_refresh(clr);
    assert_int_equal(counts().functions, 1);
    assert_int_equal(clr->sweep_from, 0);
}

/* A sweep that took 3 ms: the next one comes 60 and 100 ms later, and not before. */
static void sweeps_take_a_twentieth_of_the_time(void **state)
{
    (void)state;
    native_follow(clr);
    clr->unloaded_at = UINT64_C(7500000000);
    compile_collectible();
    native_free_method();
    clock_ns = UINT64_C(7999000000);
    clock_step_ns = 3000000;
    sw_clr_refresh(clr); /* from 8.002 to 8.005 s */
    assert_int_equal(counts().functions, 0);
    assert_true(clr->sweep_from == UINT64_C(8005000000) + 60000000 + 100000000);
    compile_collectible();
    native_free_method();
    clock_step_ns = 0;
    clock_ns = clr->sweep_from - 1;
    sw_clr_refresh(clr);
    assert_int_equal(counts().functions, 1);
    clock_ns = clr->sweep_from;
    sw_clr_refresh(clr);
    assert_int_equal(counts().functions, 0);
}

/* ---- attaching ---- */

static void all_that_was_there_before_is_asked_for(void **state)
{
    (void)state;
    fake.in_request = must_be_unlocked;
    fake_runtime_compile(&fake, F, 0, CODE, 0x40);
    fake_runtime_compile(&fake, G, 4, CODE + 0x1000, 0x40);
    fake.functions[0] = (COR_PRF_FUNCTION){ F, 0 };
    fake.functions[1] = (COR_PRF_FUNCTION){ G, 4 };
    fake.function_count = 2;
    fake.threads[0] = (struct fake_thread){ 0x5000, 77 };
    fake.threads[1] = (struct fake_thread){ 0x6000, 78 };
    fake.thread_count = 2;
    sw_clr_attached(clr);
    assert_int_equal(function_at(CODE), F);
    assert_int_equal(function_at(CODE + 0x1000), G);
    const struct sw_clr_counts now = counts();
    assert_int_equal(now.functions, 2);
    assert_int_equal(now.threads, 2);
    assert_int_equal(now.images, 2);
    assert_int_equal(now.failures, 0);
    struct sw_thread thread;
    assert_int_equal(sw_threads_find(clr->threads, 0x6000, &thread), SW_OK);
    assert_int_equal(thread.os_id, 78);
}

static void a_refusal_to_list_is_counted(void **state)
{
    (void)state;
    fake.functions_answer = E_FAIL;
    sw_clr_attached(clr);
    assert_int_equal(counts().failures, 1);
    fake.threads_answer = E_FAIL;
    sw_clr_attached(clr);
    assert_int_equal(counts().failures, 3);
}

static void a_runtime_that_lists_no_threads_is_counted(void **state)
{
    (void)state;
    fake.newest = 3;
    fake.threads[0] = (struct fake_thread){ 0x5000, 77 };
    fake.thread_count = 1;
    sw_clr_attached(clr);
    assert_int_equal(counts().failures, 1);
    assert_int_equal(counts().threads, 0);
}

/* ---- threads ---- */

static struct sw_thread thread_of(ThreadID id)
{
    struct sw_thread thread = { 0 };
    assert_int_equal(sw_threads_find(clr->threads, id, &thread), SW_OK);
    return thread;
}

static void a_created_thread_is_in_the_table(void **state)
{
    (void)state;
    fake.threads[0] = (struct fake_thread){ 0x5000, 77 };
    fake.thread_count = 1;
    sw_clr_thread_created(clr, 0x5000);
    const struct sw_thread thread = thread_of(0x5000);
    assert_int_equal(thread.os_id, 77);
    assert_int_equal(thread.flags, SW_THREAD_RAN_MANAGED);
    assert_true(thread.stack_begin == 0 && thread.stack_end == 0); /* only it knows where its stack is */
    assert_int_equal(counts().threads, 1);
    assert_int_equal(counts().failures, 0);
}

static void a_thread_that_the_runtime_does_not_know_yet_is_assigned_later(void **state)
{
    (void)state;
    sw_clr_thread_created(clr, 0x5000);
    assert_int_equal(thread_of(0x5000).os_id, 0);
    sw_clr_thread_assigned(clr, 0x5000, 77);
    assert_int_equal(thread_of(0x5000).os_id, 77);
    sw_clr_thread_assigned(clr, 0x5000, 78); /* once */
    assert_int_equal(thread_of(0x5000).os_id, 77);
    assert_int_equal(counts().threads, 1);
    assert_int_equal(counts().failures, 0);
}

static void a_thread_that_reports_itself_has_its_stack(void **state)
{
    uint64_t low, high;
    (void)state;
    assert_int_equal(sw_self_stack(&low, &high), SW_OK);
    sw_clr_thread_created(clr, 0x5000);
    assert_int_equal(thread_of(0x5000).stack_end, 0);
    sw_clr_thread_assigned(clr, 0x5000, (DWORD)sw_self_thread());
    const struct sw_thread thread = thread_of(0x5000);
    assert_true(thread.stack_begin == low && thread.stack_end == high);
    assert_int_equal(thread.os_id, sw_self_thread());
}

static void a_destroyed_thread_is_gone(void **state)
{
    struct sw_thread thread;
    (void)state;
    sw_clr_thread_created(clr, 0x5000);
    sw_clr_thread_created(clr, 0x6000);
    sw_clr_thread_destroyed(clr, 0x5000);
    assert_int_equal(sw_threads_find(clr->threads, 0x5000, &thread), SW_E_NOT_FOUND);
    assert_int_equal(counts().threads, 1);
    sw_clr_thread_destroyed(clr, 0x5000);
    assert_int_equal(counts().threads, 1);
}

static void a_thread_that_cannot_be_added_is_counted(void **state)
{
    (void)state;
    budget.left = 0;
    sw_clr_thread_created(clr, 0x5000);
    budget.left = SIZE_MAX;
    assert_int_equal(counts().failures, 1);
    sw_clr_thread_created(clr, 0); /* there is no such id */
    assert_int_equal(counts().failures, 2);
}

/* ---- two threads report at once: a writer in the middle of its change makes others wait ---- */

static struct taking_turns {
    void (*call)(void);
    _Atomic bool began, ended;
    pthread_t other;
    size_t allocations;
} turns;

static void *other_thread(void *arg)
{
    (void)arg;
    atomic_store(&turns.began, true);
    turns.call();
    atomic_store(&turns.ended, true);
    return NULL;
}

/* In the middle of a change of the table, which allocates: the other's call begins, and must not end before. */
static void *get_in_between(void *arg, size_t size)
{
    if (turns.allocations++ == 0) {
        assert_int_equal(pthread_create(&turns.other, NULL, other_thread, NULL), 0);
        while (!atomic_load(&turns.began))
            sched_yield();
        for (unsigned i = 0; i < 200 && !atomic_load(&turns.ended); i++)
            sched_yield();
        const struct timespec nap = { 0, 5000000 };
        for (unsigned i = 0; i < 4 && !atomic_load(&turns.ended); i++)
            nanosleep(&nap, NULL);
    }
    return budget_get(arg, size);
}

static void created_meanwhile(void)
{
    sw_clr_thread_created(clr, 0x6000);
}

static void destroyed_meanwhile(void)
{
    sw_clr_thread_destroyed(clr, 0x7000);
}

/* Threads are added until the table takes more memory. */
static void take_turns(void (*call)(void))
{
    const struct sw_alloc between = { get_in_between, budget_put, &budget };
    turns = (struct taking_turns){ .call = call, .allocations = 1 };
    sw_threads_destroy(clr->threads);
    assert_int_equal(sw_threads_create(&between, NULL, NULL, &clr->threads), SW_OK);
    sw_clr_thread_created(clr, 0x7000);
    turns.allocations = 0;
    for (ThreadID id = 0x8000; turns.allocations == 0; id++)
        sw_clr_thread_created(clr, id);
    pthread_join(turns.other, NULL);
}

static void a_thread_created_while_another_is_added_waits(void **state)
{
    (void)state;
    take_turns(created_meanwhile);
    assert_int_equal(counts().failures, 0);
    assert_int_equal(thread_of(0x6000).id, 0x6000);
}

static void a_thread_destroyed_while_another_is_added_waits(void **state)
{
    struct sw_thread thread;
    (void)state;
    take_turns(destroyed_meanwhile);
    assert_int_equal(sw_threads_find(clr->threads, 0x7000, &thread), SW_E_NOT_FOUND);
}

#define FED(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define OLD(test) cmocka_unit_test_setup_teardown(test, begin_with_an_old_runtime, end)

int main(void)
{
    static const struct CMUnitTest single[] = {
        FED(the_events_are_those_that_are_fed),
        FED(a_new_one_knows_its_images_and_nothing_else),
        OLD(an_older_runtime_has_no_newer_interface),
        cmocka_unit_test(without_memory_nothing_is_made),
        cmocka_unit_test(without_one_of_its_parts_nothing_is_made),
        cmocka_unit_test(nothing_can_be_destroyed),
        FED(a_module_is_an_image_that_is_read),
        FED(a_module_that_goes_lets_images_be_read_a_second_later),
        FED(what_the_linker_has_loaded_or_unloaded_is_noticed),
        FED(an_event_notices_them_too),
        FED(images_that_cannot_be_read_are_counted),
        FED(compiled_code_is_in_the_map),
        FED(code_in_an_image_is_precompiled),
        FED(native_code_has_its_symbols_name),
        FED(a_dynamic_method_is_hidden),
        FED(of_a_recent_dynamic_method_the_runtime_is_not_asked_at_its_end),
        FED(an_older_dynamic_method_in_the_same_place_is_asked_for),
        FED(all_regions_of_a_dynamic_method_go),
        FED(the_end_of_a_dynamic_method_leaves_what_took_its_place),
        FED(every_region_of_every_version_is_added),
        OLD(without_versions_all_regions_are_asked_for_at_once),
        FED(more_regions_than_there_is_room_for_are_cut),
        OLD(more_regions_than_there_is_room_for_are_cut),
        FED(the_last_version_is_cut_where_room_ends),
        FED(a_version_that_is_gone_meanwhile_is_left_out),
        FED(the_same_again_changes_nothing),
        FED(a_range_that_makes_no_sense_is_counted),
        FED(code_that_comes_later_is_asked_for_again),
        FED(a_refresh_asks_again_too),
        FED(the_list_of_those_has_an_end),
        FED(a_list_that_fills_meanwhile_is_not_overrun),
        FED(unloaded_code_is_gone),
        FED(what_took_its_place_stays),
        FED(code_that_the_runtime_has_forgotten_is_gone),
        OLD(code_that_the_runtime_has_forgotten_is_gone),
        FED(the_rest_of_an_array_is_not_looked_at),
        FED(a_change_that_is_refused_is_counted),
        FED(dispatch_in_a_composite_image_is_marked),
        FED(a_component_lets_all_images_be_read),
        FED(code_that_may_go_with_its_module_is_marked),
        FED(a_heap_is_looked_up_once),
        FED(what_was_unloaded_makes_it_be_looked_up_again),
        FED(a_sweep_reads_a_page_once),
        FED(every_version_goes_when_its_method_is_unloaded),
        FED(a_module_that_goes_lets_sweep),
        FED(it_is_looked_for_until_a_second_has_passed),
        FED(many_that_are_gone_all_go),
        FED(precompiled_code_is_not_swept),
        FED(without_a_layout_nothing_is_swept),
        FED(sweeps_take_a_twentieth_of_the_time),
        FED(all_that_was_there_before_is_asked_for),
        FED(a_refusal_to_list_is_counted),
        FED(a_runtime_that_lists_no_threads_is_counted),
        FED(a_created_thread_is_in_the_table),
        FED(a_thread_that_the_runtime_does_not_know_yet_is_assigned_later),
        FED(a_thread_that_reports_itself_has_its_stack),
        FED(a_destroyed_thread_is_gone),
        FED(a_thread_that_cannot_be_added_is_counted),
        FED(a_thread_created_while_another_is_added_waits),
        FED(a_thread_destroyed_while_another_is_added_waits),
    };
    enum { AGAIN = COUNT_OF(single), GONE = AGAIN + COUNT_OF(agains), DISPATCH = GONE + COUNT_OF(gone_rows) };
    struct CMUnitTest tests[DISPATCH + COUNT_OF(dispatch_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + AGAIN, agains, code_where_code_was_freed_takes_its_place);
    FILL_ROWS(tests + GONE, gone_rows, a_sweep_finds_what_is_gone);
    FILL_ROWS(tests + DISPATCH, dispatch_rows, methods_of_dispatch_are_marked);
    SET_UP(tests, AGAIN, COUNT_OF(tests), begin, end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
MAIN_THAT_NEEDS_X64
#endif
