/*
 * Rules of conduct: what they are called, what they say, where they come from; and the list of those that were broken.
 * Refuses to know how a break is noticed: the rooms that see one call sw_tube_broke, from any thread and any handler.
 * So the list has its memory from the start, and its lock is short.
 *
 * Source: contract-documented.md (D, C); clr-contract.md section 8.
 */
#include "tube.h"
#include "lock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
} rules[] = {
    /* ORDER sw_tube_rule. clang-format off */
    { "stale-frame", "a frameInfo is valid only in the callback that received it (C3)" },
    { "stale-context", "the CONTEXT of a callback is valid only in it (C4)" },
    { "managed-suspender", "only a thread that has never run managed code suspends another (D22)" },
    { "destroyed-in-walk", "ThreadDestroyed does not return while that thread is being walked (D23)" },
    { "running-target", "another thread is walked only while it is suspended (D4)" },
    { "forbidden-call", "what may trigger a GC is not called where a GC is forbidden (clr-contract.md section 8)" },
    { "lock-held", "no lock is held across a call that may trigger a GC (D24)" },
    { "no-first-walk", "a thread's first walk has reported a frame before it suspends a thread (D25, D26)" },
    { "same-seed", "a seed that was refused is not offered again (D19)" },
    { "nested-walk", "a thread is not walked from within its own StackSnapshotCallback (C6)" },
    { "leaked-reference", "enumerators and metadata are released (COM)" },
    { "unknown-method", "only what the runtime serves is called" },
    { "unknown-id", "ids are the runtime's, and have not ended" },
    { "no-event-mask", "DoStackSnapshot needs COR_PRF_ENABLE_STACK_SNAPSHOT in the event mask" },
    { "late-call", "nothing is called after Shutdown or a detach" },
    { "left-suspended", "who suspends the runtime resumes it" },
    { "bad-signal-state", "handlers and masks of signals are left as they were" },
    /* clang-format on */
};
_Static_assert(sizeof rules / sizeof rules[0] == SW_TUBE_RULE_COUNT, "a row for each rule");

/* FREE entries are for any break; the others are kept for the first of a rule. ALIKE: different details of one call. */
enum { FREE = 1024, ALL = FREE + SW_TUBE_RULE_COUNT, ALIKE = 8 };

struct broken {
    enum sw_tube_rule rule;
    bool expected;
    uint64_t times;
    char call[64], thread[64], detail[192];
};

struct sw_tube_conduct {
    pthread_mutex_t lock;
    size_t count;
    struct broken list[ALL];
};

const char *sw_tube_rule_name(enum sw_tube_rule rule)
{
    return (unsigned)rule < SW_TUBE_RULE_COUNT ? rules[rule].name : "?";
}

const char *sw_tube_rule_text(enum sw_tube_rule rule)
{
    return (unsigned)rule < SW_TUBE_RULE_COUNT ? rules[rule].text : "?";
}

bool sw_tube_rule_named(const char *name, enum sw_tube_rule *rule)
{
    for (unsigned i = 0; i < SW_TUBE_RULE_COUNT; i++)
        if (strcmp(rules[i].name, name) == 0) {
            *rule = (enum sw_tube_rule)i;
            return true;
        }
    return false;
}

enum sw_status sw_tube_conduct_create(struct sw_tube *tube)
{
    tube->conduct = calloc(1, sizeof *tube->conduct);
    if (!tube->conduct)
        return SW_E_NO_MEMORY;
    if (pthread_mutex_init(&tube->conduct->lock, NULL) == 0)
        return SW_OK;
    free(tube->conduct);
    tube->conduct = NULL;
    return SW_E_OS;
}

void sw_tube_conduct_destroy(struct sw_tube *tube)
{
    if (!tube->conduct)
        return;
    pthread_mutex_destroy(&tube->conduct->lock);
    free(tube->conduct);
    tube->conduct = NULL;
}

static bool is_same_call(const struct broken *a, const struct broken *b)
{
    return a->rule == b->rule && strcmp(a->call, b->call) == 0 && strcmp(a->thread, b->thread) == 0;
}

/*
 * Where a break is counted: with the same one before; where a call has had ALIKE details, or the list is full, with the
 * last that is like it. Null: it is listed anew.
 */
static struct broken *counted_with(struct sw_tube_conduct *conduct, const struct broken *now)
{
    struct broken *alike = NULL, *of_rule = NULL;
    unsigned details = 0;
    for (size_t i = 0; i < conduct->count; i++) {
        struct broken *at = &conduct->list[i];
        if (at->rule != now->rule)
            continue;
        of_rule = at;
        if (!is_same_call(at, now))
            continue;
        if (strcmp(at->detail, now->detail) == 0)
            return at;
        alike = at;
        details++;
    }
    if (details >= ALIKE)
        return alike;
    return conduct->count < FREE ? NULL : of_rule;
}

/* True: it is the first of its kind. */
static bool add(struct sw_tube_conduct *conduct, const struct broken *now)
{
    sigset_t before;
    sw_lock_take(&conduct->lock, &before);
    struct broken *with = counted_with(conduct, now);
    if (with)
        with->times++;
    else
        conduct->list[conduct->count++] = *now;
    sw_lock_release(&conduct->lock, &before);
    return !with;
}

static void write_down(struct sw_tube *tube, const struct broken *now)
{
    sw_tube_record_begin(tube, "conduct", rules[now->rule].name);
    sw_tube_record_text(tube, "call", now->call);
    sw_tube_record_text(tube, "detail", now->detail);
    sw_tube_record_end(tube);
}

void sw_tube_broke(struct sw_tube *tube, enum sw_tube_rule rule, const char *call, const char *format, ...)
{
    if (!tube || !tube->conduct || (unsigned)rule >= SW_TUBE_RULE_COUNT)
        return;
    const struct sw_tube_thread *thread = sw_tube_current(tube);
    const size_t callback = sw_tube_in_callback();
    struct broken now = { .rule = rule, .times = 1 };
    va_list arguments;
    if (!call)
        call = callback ? sw_tube_callback_name(callback) : "";
    snprintf(now.call, sizeof now.call, "%s", call);
    snprintf(now.thread, sizeof now.thread, "%s", thread && thread->name ? thread->name : "");
    va_start(arguments, format);
    vsnprintf(now.detail, sizeof now.detail, format, arguments);
    va_end(arguments);
    if (add(tube->conduct, &now))
        write_down(tube, &now);
}

size_t sw_tube_violations(const struct sw_tube *tube, struct sw_tube_violation *list, size_t capacity)
{
    sigset_t before;
    if (!tube || !tube->conduct)
        return 0;
    struct sw_tube_conduct *conduct = tube->conduct;
    sw_lock_take(&conduct->lock, &before);
    const size_t count = conduct->count;
    for (size_t i = 0; i < count && i < capacity; i++) {
        const struct broken *at = &conduct->list[i];
        list[i] = (struct sw_tube_violation){ at->rule, at->call, at->thread, at->detail, at->times, at->expected };
    }
    sw_lock_release(&conduct->lock, &before);
    return count;
}

uint64_t sw_tube_conduct_expect(struct sw_tube *tube, enum sw_tube_rule rule)
{
    sigset_t before;
    uint64_t times = 0;
    sw_lock_take(&tube->conduct->lock, &before);
    for (size_t i = 0; i < tube->conduct->count; i++) {
        struct broken *at = &tube->conduct->list[i];
        at->expected |= at->rule == rule;
        times += at->rule == rule ? at->times : 0;
    }
    sw_lock_release(&tube->conduct->lock, &before);
    return times;
}

/* ---- annotations ---- */

/* Of the calling thread. What goes beyond is counted, not named. */
enum { LOCKS_MAX = 16 };
static _Thread_local struct {
    const char *names[LOCKS_MAX];
    unsigned count;
} locks;

/* Visible to dlsym where the program exports them. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED void sw_tube_lock_taken(const char *name)
{
    if (locks.count < LOCKS_MAX)
        locks.names[locks.count] = name ? name : "";
    locks.count++;
}

EXPORTED void sw_tube_lock_released(const char *name)
{
    unsigned at = locks.count < LOCKS_MAX ? locks.count : LOCKS_MAX;
    if (locks.count > LOCKS_MAX) {
        locks.count--;
        return;
    }
    while (at > 0 && strcmp(locks.names[at - 1], name ? name : "") != 0)
        at--;
    if (at == 0)
        return;
    memmove(&locks.names[at - 1], &locks.names[at], (locks.count - at) * sizeof locks.names[0]);
    locks.count--;
}

const char *sw_tube_lock_held(void)
{
    return locks.count == 0 ? NULL : locks.names[(locks.count < LOCKS_MAX ? locks.count : LOCKS_MAX) - 1];
}
