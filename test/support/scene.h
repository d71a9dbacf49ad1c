/*
 * A runtime in a tube for each test of the harness, with what a profiler may ask about:
 * cmocka_unit_test_setup_teardown(test, begin_scene, end_scene); or create_scene, and start_scene in the test.
 */
#ifndef SW_TEST_SCENE_H
#define SW_TEST_SCENE_H

#include <snapwalk/harness.h>

#include "listener.h"

enum { UNITS = 64 };

/* What start_scene makes: Demo.dll, whose `entry` runs on `thread`; the others are not compiled. */
extern struct listener listener;
extern struct sw_tube *tube;
extern struct sw_tube_module *module;
extern struct sw_tube_function *entry, *work, *hidden, *ready, *generic;
extern struct sw_tube_thread *thread;
extern ICorProfilerInfo15 *info;

/* For tests' own use: a name's buffer, full of garbage; what callbacks were answered. */
extern WCHAR buffer[UNITS];
extern HRESULT asked[3];

/* What the next runtimes are like; create_scene sets what is usual: simulated, version 11, no callback. */
extern struct sw_tube_options options;
extern unsigned callback_version;
extern void (*on_callback)(struct listener *self, const char *callback);

int create_scene(void **state);
int begin_scene(void **state);
int end_scene(void **state); /* fails where the scenario made no sense */
void start_scene(DWORD low, DWORD high);

#define CALL(slot, ...) info->lpVtbl->slot(info __VA_OPT__(, ) __VA_ARGS__)

/* How often a rule has been broken. */
size_t broken(enum sw_tube_rule rule);

/* ASCII as the profiling interface has it; four results live at a time. */
const WCHAR *wide(const char *text);

#endif
