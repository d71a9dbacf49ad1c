#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct listener listener;
struct sw_tube *tube;
struct sw_tube_module *module;
struct sw_tube_function *entry, *work, *hidden, *ready, *generic;
struct sw_tube_thread *thread;
ICorProfilerInfo15 *info;
WCHAR buffer[UNITS];
HRESULT asked[3];
struct sw_tube_options options;
unsigned callback_version;
void (*on_callback)(struct listener *self, const char *callback);

int create_scene(void **state)
{
    (void)state;
    options = (struct sw_tube_options){ .simulated = true };
    callback_version = 11;
    on_callback = NULL;
    tube = NULL;
    return 0;
}

void start_scene(DWORD low, DWORD high)
{
    listener_init(&listener);
    listener.version = callback_version;
    listener.low = low;
    listener.high = high;
    listener.on = on_callback;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
    assert_int_equal(sw_tube_start(tube), SW_OK);
    info = listener.info;
    module = sw_tube_module_load(tube, "Demo.dll");
    entry = sw_tube_function_add(module, "Demo.Program", "Main", 0);
    work = sw_tube_function_add(module, "Demo.Program+Worker", "Work", 0);
    hidden = sw_tube_function_add(module, "Demo.Program", "IL_STUB", SW_TUBE_HIDDEN);
    ready = sw_tube_function_add(module, "Demo.Program", "Ready", SW_TUBE_PRECOMPILED);
    generic = sw_tube_function_add(module, "Demo.List`1", "Add", 0);
    thread = sw_tube_thread_start(tube, "main");
    assert_int_equal(sw_tube_call(thread, entry), SW_OK);
    memset(buffer, 0x5a, sizeof buffer);
}

int begin_scene(void **state)
{
    create_scene(state);
    start_scene(0, 0);
    return 0;
}

int end_scene(void **state)
{
    (void)state;
    assert_string_equal(tube ? sw_tube_problem(tube) : "", "");
    sw_tube_destroy(tube);
    return 0;
}

size_t broken(enum sw_tube_rule rule)
{
    struct sw_tube_violation list[64];
    const size_t all = sw_tube_violations(tube, list, 64);
    size_t count = 0;
    for (size_t i = 0; i < all && i < 64; i++)
        count += list[i].rule == rule;
    return count;
}

const WCHAR *wide(const char *text)
{
    static WCHAR to[4][UNITS];
    static unsigned next;
    size_t at = 0;
    next = (next + 1) % 4;
    for (; text[at] && at < UNITS - 1; at++)
        to[next][at] = (WCHAR)text[at];
    to[next][at] = 0;
    return to[next];
}
