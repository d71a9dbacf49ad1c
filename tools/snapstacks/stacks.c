/* Walks threads one after the other into memory, and finds stacks that are alike by a hash of their pcs. */
#include "stacks.h"

#include "refuse.h"
#include "runtimes/go.h"
#include "search.h"

#include <snapwalk/walk.h>

#include <stdlib.h>
#include <string.h>

/* What walks need: the frames of one stack on their way, and the library's working memory. */
enum { FRAMES_MOST = 100000, SWITCHES_MOST = 64, SEARCHES_MOST = 16, OTHER_STACK_MOST = 1 << 16 };
struct walking {
    struct target *target;
    struct names *names;
    struct frame *frames;
    uint32_t count, room, switches, searches;
    bool is_first; /* of two: what is described on the heap is not asked */
    struct runtime_walk runtime_walk;
    struct sw_scratch *scratch, *search_scratch; /* the second where a search is needed */
};

static void *must_have(void *memory)
{
    must(memory ? SW_OK : SW_E_NO_MEMORY, "stacks");
    return memory;
}

/* caller_sp: UINT64_MAX where the walk ended. */
static void add_frame(struct walking *w, const struct sw_memory *stack, const struct sw_frame *frame, enum found_by by,
                      uint64_t caller_sp)
{
    static const uint8_t kinds[] = {
        [RUNTIME_INTERPRETED] = SW_KIND_JIT, [RUNTIME_COMPILED] = SW_KIND_JIT, [RUNTIME_BUILTIN] = SW_KIND_NGEN
    };
    struct runtime_frame runs = { 0, 0, RUNTIME_CODE };
    if (!w->is_first)
        runs = runtime_identify(&w->target->runtime, &w->runtime_walk, stack, frame, caller_sp);
    if (w->count == w->room) {
        w->room = w->room ? 2 * w->room : 256;
        w->frames = must_have(realloc(w->frames, w->room * sizeof *w->frames));
    }
    w->frames[w->count++] = (struct frame){ .pc = sw_regs_pc(&frame->regs),
                                            .sp = sw_regs_sp(&frame->regs),
                                            .place = names_find(w->names, frame, &runs),
                                            .kind = runs.how == RUNTIME_CODE ? frame->code.kind : kinds[runs.how],
                                            .source = frame->source,
                                            .trust = by == BY_SEARCH ? SW_TRUST_GUESS : frame->trust,
                                            .found_by = (uint8_t)by,
                                            .is_interpreted = runs.how == RUNTIME_INTERPRETED };
}

static bool is_in_no_code(const struct sw_frame *frame)
{
    return frame->code.kind == SW_KIND_NATIVE && frame->code.begin == frame->code.end;
}

/* A capsule has nothing of a stack that is not the thread's, unless it is read here. */
static void keep_stack(const struct target *target, uint64_t begin, uint64_t end)
{
    char part[4096];
    const struct sw_memory memory = target_memory(target);
    for (uint64_t at = begin; target->capsule && at < end && at - begin < OTHER_STACK_MOST; at += sizeof part)
        (void)memory.read(memory.arg, at, part, end - at < sizeof part ? (size_t)(end - at) : sizeof part);
}

/* By Go's table, which is there without any other. What it cannot confirm, instructions are asked of first. */
static bool step_by_table(const struct walking *w, const struct sw_memory *stack, const struct sw_frame *frame,
                          bool is_first, struct sw_regs *caller)
{
    bool is_confirmed;
    return w->target->runtime.go && pclntab_step(w->target->runtime.go, stack, frame, caller, &is_confirmed) &&
           (!is_first || is_confirmed);
}

/* What the runtime knows of its frames, or that Go's goes on on another stack. */
static bool step(struct walking *w, const struct sw_memory *stack, const struct sw_regs *thread,
                 const struct sw_frame *frame, struct sw_regs *caller)
{
    const struct sw_memory memory = target_memory(w->target);
    uint64_t end;
    if (runtime_step(&w->target->runtime, stack, frame, caller))
        return true;
    if (w->target->runtime.kind != SW_RUNTIME_GO || w->switches >= SWITCHES_MOST ||
        !go_step(&memory, stack, thread, frame, caller, &end))
        return step_by_table(w, stack, frame, true, caller);
    w->switches++;
    keep_stack(w->target, sw_regs_sp(caller) - sizeof end, end);
    return true;
}

/*
 * Behind code that nothing describes: a JIT compiler's that has told nobody, or what changes stacks. Go's stacks lie
 * side by side in its heap: what is above one is another goroutine's.
 */
static bool search(struct walking *w, const struct sw_walk *walk, const struct sw_walker *walker,
                   const struct sw_frame *last, struct sw_regs *caller)
{
    const bool is_of_code = walk->stop == SW_STOP_NO_RULE || walk->stop == SW_STOP_LOST_REGISTER ||
                            walk->stop == SW_STOP_BAD_PC || walk->stop == SW_STOP_SP_NOT_RISING;
    if (!is_of_code || w->target->runtime.kind == SW_RUNTIME_GO || w->searches++ >= SEARCHES_MOST)
        return false;
    if (!w->search_scratch)
        w->search_scratch = must_have(malloc(sizeof *w->search_scratch));
    return search_caller(walker, w->target->images, w->search_scratch, last, caller);
}

/* What a walk goes through: its frame is added when its caller's stack pointer is known. */
struct course {
    struct sw_frame frame;
    enum found_by by, next_by;
    bool has_frame;
};

/* Whether a walk's next frame, or its end, is by what is told of the code, not by following its instructions. */
static bool is_told(const struct sw_walk *walk, bool has_next)
{
    const uint8_t source = has_next ? walk->frame.source : SW_SOURCE_NONE;
    return source == SW_SOURCE_SEED || source == SW_SOURCE_CFI || source == SW_SOURCE_SFRAME ||
           source == SW_SOURCE_SIGNAL_FRAME || walk->stop == SW_STOP_ROOT;
}

/* On ARM64 Go's unwind data ends a stack at functions that have callers, too: where a signal or a thread begins. */
static bool is_told_of_go(const struct sw_walk *walk, bool has_next)
{
    const bool is_root = !has_next && walk->stop == SW_STOP_ROOT;
    return is_told(walk, has_next) && !(is_root && walk->frame.regs.machine == SW_MACHINE_ARM64);
}

/* The next frame of a walk. False: it has ended. */
static bool next_frame(struct walking *w, struct sw_walk *walk, const struct sw_walker *walker, struct course *course)
{
    struct sw_regs caller;
    const bool has_next = sw_walk_next(walk);
    if (!w->target->runtime.go || !course->has_frame || is_told_of_go(walk, has_next) || w->count >= FRAMES_MOST)
        return has_next;
    if (pclntab_is_outermost(w->target->runtime.go, &course->frame)) {
        walk->stop = SW_STOP_ROOT;
        return false;
    }
    if (!step_by_table(w, &walker->memory, &course->frame, false, &caller))
        return has_next;
    course->next_by = BY_RUNTIME;
    sw_walk_start(walk, walker, w->scratch, &caller, false);
    return sw_walk_next(walk);
}

/* False: what the walk met made images known that were not registered, so that it has to be made again. */
static bool walk_on(struct walking *w, struct sw_walk *walk, const struct sw_walker *walker,
                    const struct sw_regs *thread, struct course *course)
{
    struct sw_regs caller;
    while (next_frame(w, walk, walker, course)) {
        if (is_in_no_code(&walk->frame) && target_learn(w->target, walk->frame.lookup))
            return false;
        if (course->has_frame)
            add_frame(w, &walker->memory, &course->frame, course->by, sw_regs_sp(&walk->frame.regs));
        *course = (struct course){ walk->frame, course->next_by, BY_WALK, true };
        if (w->count < FRAMES_MOST && step(w, &walker->memory, thread, &course->frame, &caller)) {
            course->next_by = BY_RUNTIME;
            sw_walk_start(walk, walker, w->scratch, &caller, false);
        }
    }
    return true;
}

static bool walk_once(struct walking *w, struct sw_walk *walk, const struct sw_walker *walker,
                      const struct sw_regs *regs)
{
    struct course course = { 0 };
    struct sw_regs caller = *regs;
    w->count = w->switches = w->searches = 0;
    w->runtime_walk.python = (struct python_walk){ 0 };
    w->runtime_walk.ruby = (struct ruby_walk){ 0 };
    w->runtime_walk.php = (struct php_walk){ 0 };
    do {
        sw_walk_start(walk, walker, w->scratch, &caller, !course.has_frame);
        if (!walk_on(w, walk, walker, regs, &course))
            return false;
        course.next_by = BY_SEARCH;
    } while (course.has_frame && search(w, walk, walker, &course.frame, &caller));
    if (course.has_frame)
        add_frame(w, &walker->memory, &course.frame, course.by, UINT64_MAX);
    return true;
}

static void take_stack(struct walking *w, uint64_t tid, struct stack *stack)
{
    struct sw_regs regs;
    struct sw_walker walker;
    struct sw_walk walk;
    char name[THREAD_NAME_BYTES];
    w->runtime_walk.tid = tid;
    target_look(w->target, tid, &regs, &walker);
    target_thread_name(w->target, tid, name);
    while (!walk_once(w, &walk, &walker, &regs))
        continue;
    *stack = (struct stack){ .tid = tid,
                             .name = names_keep(w->names, name),
                             .frames = must_have(calloc(w->count ? w->count : 1, sizeof *w->frames)),
                             .count = w->count,
                             .alike = 1,
                             .next = NO_STACK,
                             .stop = walk.stop,
                             .fault = walk.fault };
    if (w->count)
        memcpy(stack->frames, w->frames, w->count * sizeof *w->frames);
}

/* Threads that could not be stopped: to leave them out in silence would be a lie. */
static void take_absent(struct stacks *s, const struct target *target, struct names *names)
{
    size_t count;
    char name[THREAD_NAME_BYTES];
    struct sw_left_out *threads = target_left_out(target, &count);
    s->absent = must_have(calloc(count ? count : 1, sizeof *s->absent));
    for (size_t i = 0; i < count; i++) {
        target_thread_name(target, threads[i].tid, name);
        s->absent[s->absent_count++] =
            (struct absent){ threads[i].tid, names_keep(names, name), sw_left_out_text(threads[i].why) };
    }
    free(threads);
}

static void take_all(struct walking *w, struct stacks *s, struct target *target, struct names *names)
{
    *s = (struct stacks){ 0 };
    uint64_t *tids = target_threads(target, &s->count);
    s->at = must_have(calloc(s->count ? s->count : 1, sizeof *s->at));
    for (size_t i = 0; i < s->count; i++)
        take_stack(w, tids[i], &s->at[i]);
    take_absent(s, target, names);
    free(tids);
}

/*
 * A process that has to be held is walked before, so that what walks learn of its files is known; and its code is named
 * when it runs on, which takes longer than walking. A capsule needs what is read for names, too, so that it is held
 * until they are known.
 */
static void take_held(struct walking *w, struct stacks *s, struct target *target, struct names *names)
{
    names_defer(names);
    w->is_first = true;
    take_all(w, s, target, names);
    w->is_first = false;
    (void)target_hold(target); /* of one that has ended, what was captured is left */
    stacks_free(s);
    take_all(w, s, target, names);
    target_let_go(target);
    names_settle(names);
}

static bool goes_on_elsewhere(const struct stacks *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].stop == SW_STOP_UNREADABLE)
            return true;
    return false;
}

/*
 * A stack that goes on in one that was not copied, as OCaml's fibers do, shows that the process has to be held. What
 * was captured stays where more threads were stopped then, as of a process that begins another program.
 */
static void take_captured(struct walking *w, struct stacks *s, struct target *target, struct names *names)
{
    struct stacks held = { 0 };
    take_all(w, s, target, names);
    target->goes_on_elsewhere = target->process && goes_on_elsewhere(s);
    if (!target->goes_on_elsewhere || !target_hold(target))
        return;
    take_all(w, &held, target, names);
    const bool is_better = held.absent_count <= s->absent_count && held.count > 0;
    stacks_free(is_better ? s : &held);
    if (is_better)
        *s = held;
    if (!target->capsule)
        target_let_go(target);
}

void stacks_take(struct stacks *s, struct target *target, struct names *names)
{
    struct walking w = { .target = target, .names = names, .scratch = must_have(malloc(sizeof *w.scratch)) };
    if (target_is_to_hold(target) && !(target->capsule && target_hold(target)))
        take_held(&w, s, target, names);
    else
        take_captured(&w, s, target, names);
    free(w.frames);
    free(w.scratch);
    free(w.search_scratch);
}

void stacks_free(struct stacks *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->at[i].frames);
    free(s->at);
    free(s->absent);
}

/* ---- groups ---- */

static uint64_t hash_of(const struct stack *stack)
{
    uint64_t hash = stack->count + ((uint64_t)stack->stop << 32);
    for (uint32_t i = 0; i < stack->count; i++) {
        hash = (hash ^ stack->frames[i].pc) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool are_alike(const struct stack *a, const struct stack *b)
{
    if (a->count != b->count || a->stop != b->stop)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->frames[i].pc != b->frames[i].pc || a->frames[i].place != b->frames[i].place)
            return false;
    return true;
}

/* A slot of the table: the first stack of a group, and the last one that joined it. */
struct slot {
    bool used;
    uint32_t first, last;
};

static struct slot *find_slot(struct slot *slots, size_t count, const struct stacks *s, const struct stack *stack)
{
    size_t at = hash_of(stack) & (count - 1);
    while (slots[at].used && !are_alike(&s->at[slots[at].first], stack))
        at = (at + 1) & (count - 1);
    return &slots[at];
}

void stacks_group(struct stacks *s)
{
    size_t count = 2;
    while (count < 2 * s->count)
        count *= 2;
    struct slot *slots = must_have(calloc(count, sizeof *slots));
    for (uint32_t i = 0; i < s->count; i++) {
        struct slot *slot = find_slot(slots, count, s, &s->at[i]);
        if (!slot->used) {
            *slot = (struct slot){ true, i, i };
            continue;
        }
        s->at[slot->first].alike++;
        s->at[i].alike = 0;
        s->at[slot->last].next = i;
        slot->last = i;
    }
    free(slots);
}

const char *frame_kind(const struct frame *frame)
{
    return frame->is_interpreted ? "interp" : sw_kind_name(frame->kind);
}

const char *frame_source(const struct frame *frame)
{
    static const char *const names[] = { [BY_RUNTIME] = "runtime", [BY_SEARCH] = "search" };
    return frame->found_by ? names[frame->found_by] : sw_source_name(frame->source);
}

bool stack_is_whole(const struct stack *stack)
{
    return stop_is_root(stack->stop);
}
