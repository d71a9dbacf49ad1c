/* The tube: its making and its end, and the first problem of a scenario. */
#include "tube.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <snapwalk/self.h>

#include "code.h"
#include "stage.h"

static enum sw_machine machine_here(void)
{
    struct sw_regs here;
    sw_self_capture(&here);
    return here.machine;
}

static enum sw_status check(const struct sw_tube_options *options)
{
    if ((unsigned)options->flavour >= SW_FLAVOUR_COUNT || (unsigned)options->machine > SW_MACHINE_ARM64)
        return SW_E_ARGUMENT;
    if (options->version != 0 && (options->version < 8 || options->version > 10))
        return SW_E_ARGUMENT;
    return SW_OK;
}

/* The parts in the order in which they need each other; destroyed in the other. */
static enum sw_status make(struct sw_tube *tube)
{
    enum sw_status (*const parts[])(struct sw_tube *) = { sw_tube_conduct_create, sw_tube_record_create,
                                                          sw_tube_engine_create,  sw_code_arena_create,
                                                          sw_tube_engine_refresh, sw_tube_guard_create,
                                                          sw_tube_info_create };
    enum sw_status status = SW_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == SW_OK; i++)
        status = parts[i](tube);
    return status;
}

enum sw_status sw_tube_create(const struct sw_tube_options *options, struct sw_tube **tube)
{
    static const struct sw_tube_options usual;
    const struct sw_tube_options *use = options ? options : &usual;
    const enum sw_status status = tube ? check(use) : SW_E_ARGUMENT;
    struct sw_tube *made = status == SW_OK ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return status == SW_OK ? SW_E_NO_MEMORY : status;
    made->options = *use;
    made->version = use->version ? use->version : 10;
    made->machine = use->machine ? use->machine : machine_here();
    if (made->machine != machine_here())
        made->options.simulated = true;
    made->stage = made->options.simulated ? &sw_tube_stage_simulated : &sw_tube_stage_real;
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_mutex_init(&made->moves, NULL);
    (void)pthread_cond_init(&made->moved, NULL);
    const enum sw_status outcome = make(made);
    if (outcome != SW_OK) {
        sw_tube_destroy(made);
        return outcome;
    }
    *tube = made;
    return SW_OK;
}

/* Every thread has been ended by the shutdown, or was never started. */
static void free_threads(struct sw_tube *tube)
{
    for (size_t i = 0; i < sw_list_count(&tube->threads); i++) {
        struct sw_tube_thread **thread = sw_list_at(&tube->threads, sizeof *thread, i);
        free((*thread)->name);
        free(*thread);
    }
    sw_list_free(&tube->threads);
}

void sw_tube_destroy(struct sw_tube *tube)
{
    if (!tube)
        return;
    if (atomic_load(&tube->started) && !atomic_load(&tube->shut_down))
        (void)sw_tube_shutdown(tube);
    sw_tube_unload(tube);
    sw_tube_info_destroy(tube);
    sw_tube_metadata_free(tube);
    sw_tube_guard_destroy(tube);
    free_threads(tube);
    sw_code_arena_destroy(tube);
    sw_tube_engine_destroy(tube);
    sw_tube_world_free(tube);
    sw_tube_record_destroy(tube);
    sw_tube_conduct_destroy(tube);
    (void)pthread_cond_destroy(&tube->moved);
    (void)pthread_mutex_destroy(&tube->moves);
    (void)pthread_mutex_destroy(&tube->lock);
    free(tube);
}

enum sw_status sw_tube_problem_set(struct sw_tube *tube, enum sw_status status, const char *format, ...)
{
    va_list arguments;
    if (tube->problem[0])
        return status;
    va_start(arguments, format);
    (void)vsnprintf(tube->problem, sizeof tube->problem, format, arguments);
    va_end(arguments);
    return status;
}

const char *sw_tube_problem(const struct sw_tube *tube)
{
    return tube ? tube->problem : "there is no tube";
}

ICorProfilerInfo2 *sw_tube_info(struct sw_tube *tube)
{
    return tube ? (ICorProfilerInfo2 *)(void *)tube->info : NULL;
}

struct sw_engine *sw_tube_engine(struct sw_tube *tube)
{
    return tube ? &tube->engine : NULL;
}
