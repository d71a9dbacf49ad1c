/*
 * A simulated target for each test: cmocka_unit_test_setup_teardown(test, set_up_x64, tear_down_target).
 */
#ifndef TEST_SUPPORT_TARGET_H
#define TEST_SUPPORT_TARGET_H

#include <snapwalk/cache.h>
#include <snapwalk/image.h>
#include <snapwalk/sim.h>

/* What set_up_* makes: a target without memory and code; no images and an empty cache, which are not the walker's. */
extern struct sw_sim *sim;
extern struct sw_images *images;
extern struct sw_cache *cache;

int set_up_x64(void **state);
int set_up_arm64(void **state);
int set_up_cached_x64(void **state); /* and the cache is the walker's */
int set_up_cached_arm64(void **state);
int tear_down_target(void **state);

/* Bytes of code, and their range, whose id is where it begins; kind NONE: no range. */
void put_code(uint64_t at, const void *bytes, size_t size, enum sw_kind kind, enum sw_unwind unwind);

/* All registers known, and garbage that differs from one to the next. */
struct sw_regs garbage_regs(enum sw_machine machine);

#endif
