/*
 * The loop body of the single-step test: see trace.h. Knows the order of things: look, step, record; and what must be
 * forgiven: instructions at which who the caller is has no answer.
 */
#include "trace.h"

#include <string.h>

enum {
    EPILOGUE_INSNS = 5,
    FAR = 4096,
    SMALL = 1024,
    FIRST_FRAME = 512,
    SWITCHING = 256,
    ON_THE_WAY = 4096,
    BUILDING = 1 << 17
};

static struct shadow_regs watched(const struct sw_regs *regs)
{
    struct shadow_regs w = { .pc = sw_regs_pc(regs), .sp = sw_regs_sp(regs) };
    if (regs->machine == SW_MACHINE_ARM64)
        w.lr = regs->r[SW_ARM64_LR];
    for (unsigned n = 0; n < target_shadow->nonvolatile; n++)
        w.nv[n] = regs->r[target_shadow->number[n]];
    return w;
}

/* ---- counting ---- */

static void count_sample(struct trace *trace, const struct step_sample *sample)
{
    for (unsigned m = 0; m < STEP_MODES; m++)
        score_add(&trace->scores[m], sample, (enum step_mode)m);
}

/* The n-th waiting sample, oldest first. */
static struct step_sample *recent(struct trace *trace, size_t n)
{
    return &trace->recent[(trace->recent_first + n) % TRACE_RECENT];
}

void trace_flush(struct trace *trace)
{
    for (size_t i = 0; i < trace->recent_count; i++)
        count_sample(trace, recent(trace, i));
    trace->recent_count = 0;
}

static struct step_sample *next_sample(struct trace *trace)
{
    if (trace->recent_count == TRACE_RECENT) {
        count_sample(trace, recent(trace, 0));
        trace->recent_first++;
        trace->recent_count--;
    }
    struct step_sample *sample = recent(trace, trace->recent_count++);
    memset(sample, 0, sizeof *sample);
    return sample;
}

static void mark_epilogue(struct trace *trace, size_t depth)
{
    for (size_t i = trace->recent_count, n = 0; i-- > 0 && n < EPILOGUE_INSNS; n++) {
        struct step_sample *sample = recent(trace, i);
        if (sample->depth != depth)
            return;
        if (sample->place == STEP_OTHER)
            sample->place = STEP_EPILOGUE;
    }
}

/*
 * ARM64: what the return address was written over with, in a frame to be left: where the jump leads, or what lr will be
 * there. (On x64 it is known where the return address lies, and looked at.)
 */
static bool is_put_there(const struct step_walk *w, const struct shadow_regs *landing)
{
    return landing->lr && (w->got.pc == landing->pc || w->got.pc == landing->lr) && w->expected.sp <= landing->sp;
}

/* Whether a walk said what holds where a jump led: its place, or in a frame that was left, its registers. */
static bool is_of_landing(const struct step_walk *w, const struct shadow_regs *landing)
{
    if (w->whole == STEP_WRONG_PLACE)
        return (w->got.pc == landing->pc && w->got.sp == landing->sp) || is_put_there(w, landing);
    if (w->whole != STEP_WRONG_REGISTER || w->expected.sp > landing->sp)
        return false;
    for (unsigned n = 0; n < target_shadow->nonvolatile; n++)
        if ((w->known >> target_shadow->number[n] & 1) && w->got.nv[n] != w->expected.nv[n] &&
            w->got.nv[n] != landing->nv[n])
            return false;
    return true;
}

/*
 * A jump out of frames has happened (longjmp, the end of a throw). While it was prepared the landing's registers were
 * written over those that were saved in frames to be left, and just before it the unwind tables tell where it leads,
 * and rightly so: a walk that said that is right. The same of a frame that was built by hand (deoptimisation) and is
 * returned to at last: nobody had called from it.
 *
 * within   How many steps ago such a walk may have been.
 */
static void forgive_landing(struct trace *trace, const struct shadow_regs *after, uint64_t within)
{
    for (size_t i = 0; i < trace->recent_count; i++)
        for (unsigned m = 0; m < STEP_MODES; m++) {
            struct step_walk *w = &recent(trace, i)->walks[m];
            const bool is_near = trace->target.steps - recent(trace, i)->step < within;
            if (w->judged && is_near && is_of_landing(w, after)) {
                w->judged = false;
                trace->events.forgiven++;
            }
        }
}

/* ---- looking ---- */

/* A handler may change where it returns to: what counts is the context that the kernel will take back. */
static void read_contexts(struct trace *trace)
{
    const struct shadow_machine *m = target_shadow;
    for (size_t i = 0; i < trace->shadow.count; i++) {
        struct shadow_entry *entry = &trace->shadow.entries[i];
        const uint64_t general = entry->slot + m->context;
        if (!entry->interrupted)
            continue;
        entry->regs.sp = target_word(&trace->target, general + 8 * m->context_sp);
        entry->regs.pc = target_word(&trace->target, general + 8 * m->context_pc);
        for (unsigned n = 0; n < m->nonvolatile; n++)
            entry->regs.nv[n] = target_word(&trace->target, general + 8 * m->context_nv[n]);
    }
}

static void remap(struct trace *trace)
{
    trace->events.mapped++;
    if (target_map(&trace->target))
        judge_sync(&trace->judge);
}

static void look_at(struct trace *trace, const struct sw_regs *regs)
{
    const struct shadow_regs now = watched(regs);
    /* At a program's first instruction lr is what the dynamic linker left there: nobody called. */
    const bool is_entry = trace->target.steps == 0 && !target_shadow->pushed;
    if (is_entry || shadow_between(&trace->shadow, &now)) {
        trace->events.between++;
        return;
    }
    if (!trace->due(trace, now.pc))
        return;
    struct step_sample *sample = next_sample(trace);
    sample->pc = now.pc;
    sample->step = trace->target.steps;
    sample->depth = trace->shadow.count;
    read_contexts(trace);
    judge_sample(&trace->judge, regs, &trace->shadow, sample);
}

/* ---- recording ---- */

static void count_event(struct trace *trace, enum shadow_event event, bool was_assumed)
{
    struct trace_events *e = &trace->events;
    e->left += event == SHADOW_LEFT && !was_assumed;
    e->moved += event == SHADOW_MOVED;
    e->pushed += event == SHADOW_PUSHED && !was_assumed;
    e->confirmed += was_assumed && (event == SHADOW_RETURNED || event == SHADOW_RESUMED);
    if (was_assumed && (event == SHADOW_LEFT || event == SHADOW_PUSHED)) {
        e->refuted++;
        shadow_forget(&trace->shadow);
    }
}

/* The stack that sp is on: an empty one begins where its mapping ends. */
static const struct sw_map *stack_at(const struct trace *trace, uint64_t sp)
{
    return target_map_at(&trace->target, sp - 1);
}

/* A stack that came back is what memory still says, or it has been used for something else. */
static void check_slots(struct trace *trace, uint64_t sp)
{
    const struct shadow *shadow = &trace->shadow;
    for (size_t left = shadow->count; left > 0 && target_shadow->pushed; left--) {
        const struct shadow_entry *entry = &shadow->entries[left - 1];
        if (entry->unknown || entry->interrupted)
            return;
        if (entry->slot >= sp && target_word(&trace->target, entry->slot) != entry->regs.pc) {
            shadow_forget(&trace->shadow);
            return;
        }
    }
}

/*
 * A switch is over. If it led to the beginning of a function on a stack of which nothing was known, the stack begins
 * here: the word on top is what the function will return to. (Not known of ARM64.) And just before a switch a walk may
 * say where it leads, and rightly so.
 */
static void end_switch(struct trace *trace, const struct shadow_regs *after)
{
    struct shadow_entry *only = &trace->shadow.entries[0];
    const struct symbol *symbol = symbols_find(&trace->judge.symbols, after->pc);
    forgive_landing(trace, after, SWITCHING);
    if (trace->shadow.count != 1 || !only->unknown || after->sp - only->slot > FIRST_FRAME || !symbol ||
        symbol->begin != after->pc || !target_shadow->pushed)
        return;
    const uint64_t start = target_word(&trace->target, after->sp);
    const struct sw_map *map = target_map_at(&trace->target, start);
    if (map && map->executable)
        *only = (struct shadow_entry){
            .regs = { .pc = start, .sp = after->sp + 8 }, .slot = after->sp, .assumed = true, .bottom = true
        };
}

/*
 * Whether the stack pointer went to another stack by an instruction that transfers no control: to one that is parked;
 * to another mapping; or, loaded, within one that holds many small stacks, out of what is known of the one it was on. A
 * switch where there was none costs no more than the calls further out; so what is not certain is one. Space on the
 * program's own stack may be taken by loading sp, too.
 */
static bool is_switch(const struct trace *trace, enum shadow_kind kind, const struct shadow_regs *before,
                      const struct shadow_regs *after)
{
    const uint64_t distance = after->sp > before->sp ? after->sp - before->sp : before->sp - after->sp;
    const struct sw_map *to = stack_at(trace, after->sp);
    if (kind == SHADOW_PLAIN && distance < FAR)
        return false;
    if (distance == 0 || !to || shadow_owns(&trace->shadow, before->sp, after->sp))
        return false;
    if (to != stack_at(trace, before->sp))
        return true;
    return kind == SHADOW_LOAD &&
           (shadow_has_parked(&trace->shadow, after->sp) || (distance >= SMALL && !target_is_main_stack(to)));
}

static void check_switch(struct trace *trace, enum shadow_kind kind, const struct shadow_regs *before,
                         const struct shadow_regs *after)
{
    const uint64_t distance = after->sp > before->sp ? after->sp - before->sp : before->sp - after->sp;
    if (distance >= FAR && stack_at(trace, before->sp) != stack_at(trace, after->sp))
        remap(trace);
    if (!is_switch(trace, kind, before, after))
        return;
    const struct sw_map *from = stack_at(trace, before->sp), *to = stack_at(trace, after->sp);
    const bool elsewhere = from != to;
    trace->events.switched++;
    shadow_switch(&trace->shadow, before->sp, after->sp, elsewhere ? to->begin : 0, elsewhere ? to->end : 0);
    check_slots(trace, after->sp);
}

static bool is_generated(const struct trace *trace, uint64_t pc)
{
    const struct sw_map *map = target_map_at(&trace->target, pc);
    return !map || (!target_is_file(map) && map->path_size == 0) || map->shared;
}

static void record(struct trace *trace, enum shadow_kind kind, const struct sw_regs *from, const struct sw_regs *to,
                   bool entered)
{
    struct shadow *shadow = &trace->shadow;
    const struct shadow_regs before = watched(from), after = watched(to);
    const bool needs_top = shadow_wants_top(shadow, kind) || (entered && target_shadow->pushed);
    const uint64_t top = needs_top ? target_word(&trace->target, after.sp) : 0;
    const size_t depth = shadow->count;
    const bool assumed = depth && shadow->entries[depth - 1].assumed;
    if (entered) {
        shadow_signal(shadow, &before, &after, target_shadow->pushed ? top : after.lr);
        return;
    }
    if (before.pc == after.pc && before.sp == after.sp)
        return; /* a signal came first; or one round of a repeated instruction */
    if (kind == SHADOW_PLAIN || kind == SHADOW_LOAD)
        check_switch(trace, kind, &before, &after);
    const bool switching = shadow->switching;
    const enum shadow_event event = shadow_step(shadow, kind, &before, &after, top);
    count_event(trace, event, assumed);
    if (switching && !shadow->switching && event != SHADOW_CALLED)
        end_switch(trace, &after);
    if (event == SHADOW_CALLED)
        shadow->entries[shadow->count - 1].loose = is_generated(trace, before.pc) || is_generated(trace, after.pc);
    if (event == SHADOW_RETURNED)
        mark_epilogue(trace, depth);
    if (event == SHADOW_LEFT && !assumed)
        forgive_landing(trace, &after, ON_THE_WAY);
    if (event == SHADOW_PUSHED)
        forgive_landing(trace, &after, BUILDING);
}

bool trace_step(struct trace *trace, struct sw_regs *regs, bool look)
{
    struct sw_regs after;
    const uint8_t *bytes;
    bool entered;
    const uint64_t pc = sw_regs_pc(regs);
    if (!target_map_at(&trace->target, pc))
        remap(trace);
    if (look)
        look_at(trace, regs);
    const size_t size = target_code(&trace->target, pc, &bytes);
    const enum shadow_kind kind = shadow_kind_of(target_shadow, bytes, size);
    if (!target_step(&trace->target, &entered) || !target_regs(&trace->target, &after))
        return false;
    record(trace, kind, regs, &after, entered);
    *regs = after;
    return true;
}

bool trace_adopt(struct trace *trace, struct sw_regs *regs)
{
    if (!target_regs(&trace->target, regs))
        return false;
    remap(trace);
    shadow_forget_all(&trace->shadow);
    judge_adopt(&trace->judge, regs, &trace->shadow);
    for (size_t i = 0; i < trace->shadow.count; i++)
        trace->events.adopted += trace->shadow.entries[i].assumed;
    return true;
}
