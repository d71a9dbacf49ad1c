/*
 * Guesses of last resort for code that never returns from pc (it ends in a throw, an abort, a loop) and was called
 * through a pointer, so that neither a return nor a call says where its frame is. Everything found here is a guess, but
 * one that leads to the instruction behind a call.
 */
#include "unwind/infer/function_scan.h"

#include "unwind/infer/call_confirmation.h"
#include "unwind/infer/code_patterns.h"
#include "unwind/infer/dispatch.h"
#include "unwind/infer/frame_scan.h"
#include "unwind/infer/tail_call.h"

#include "unwind/find_once.h"
#include "unwind/findings.h"
#include "unwind/shown.h"
#include "unwind/trampoline.h"

#include <string.h>

enum {
    IN_FRONT = 4096,
    MOST_STARTS = 160,
    ALIGNMENT = 16,
    AROUND = 1 << 20,
    AROUND_UNKNOWN = 1 << 16,
    COLD = 1024,
    MOST_JUMPS = 8,
    READ_A_UNIT = 64,
    PAGE = 4096
};

/* ---- starts ---- */

/* What a rule that is shown is taken for: of a start, by a call of that or through a pointer; else by any call. */
enum { BY_ANY_CALL = 0 };

typedef bool show_start_fn(struct sw_shown *shown, const struct sw_code *code, uint64_t begin);

static bool show_guess(struct sw_shown *shown, struct sw_rule *rule, uint64_t tag)
{
    rule->source = SW_SOURCE_FORWARD;
    rule->trust = SW_TRUST_GUESS;
    return sw_show(shown, rule, tag);
}

static bool show_function(struct sw_shown *shown, const struct sw_code *code, uint64_t begin)
{
    struct sw_rule *rule = &shown->req->work->scan_rule;
    return sw_function_rule(shown->req, code, begin, 0, rule) == SW_OK && rule->trust != SW_TRUST_GUESS &&
           show_guess(shown, rule, begin);
}

/* For landing pads, to which no path leads: as deep as any of the function's calls. */
static bool show_frames(struct sw_shown *shown, const struct sw_code *code, uint64_t begin)
{
    struct sw_workspace *work = shown->req->work;
    const struct sw_state *state, *last = NULL;
    if (!sw_function_analyze(shown->req, code, begin, 0))
        return false;
    for (unsigned at = 0; (state = sw_analyze_frame(&work->analysis, &at)) != NULL; last = state)
        if (state != last && sw_meter_pay(&work->meter, 1) && sw_extract_inside(state, code->arch, &work->scan_rule) &&
            show_guess(shown, &work->scan_rule, begin))
            return true;
    return false;
}

/* Behind a call, which may never return, only if a frame is made. */
static bool may_begin(const struct sw_code_patterns *patterns, const uint8_t *front, uint64_t at)
{
    return patterns->may_start(front, at) || (patterns->opens_frame(front) && patterns->may_end(front, at));
}

/* The starts in front of a place, nearest first. Whether that was enough. */
static bool show_starts(struct sw_shown *shown, const struct sw_code *code, uint64_t place, show_start_fn *show)
{
    const struct sw_unwind_request *req = shown->req;
    struct sw_workspace *work = req->work;
    const uint64_t first = place > IN_FRONT ? place - IN_FRONT : 0;
    const bool is_exact = req->frame->exact, has_link = sw_arch_has_link(code->arch);
    const size_t got = sw_memory_read(&req->walker->memory, first, work->bytes, IN_FRONT + ALIGNMENT);
    unsigned tried = 0;
    (void)sw_meter_pay(&work->meter, IN_FRONT / READ_A_UNIT);
    sw_meter_note(&work->outer, first, IN_FRONT + ALIGNMENT);
    if (is_exact && !has_link && show(shown, code, place))
        return true;
    for (uint64_t at = place; got >= IN_FRONT + SW_ENDING_BYTES && at >= first + SW_ENDING_BYTES &&
                              tried < MOST_STARTS && !work->meter.is_cut;
         at--) {
        if (!may_begin(code->arch->patterns, work->bytes + (at - first), at))
            continue;
        tried++;
        if (show(shown, code, at))
            return true;
    }
    /* A link register leads to the caller from anywhere in a prologue: starts that look like one come first. */
    return is_exact && has_link && show(shown, code, place);
}

/* ---- jumps ---- */

/* Direct jumps to the code right in front of pc, those to the nearest first. */
struct jumps {
    uint64_t begin; /* of that code */
    uint64_t pc;
    unsigned count;
    struct jump {
        uint64_t from;
        uint64_t to;
    } rows[MOST_JUMPS];
};

static void note(struct jumps *jumps, uint64_t from, uint64_t to)
{
    unsigned i = jumps->count < MOST_JUMPS ? jumps->count++ : MOST_JUMPS - 1u;
    if (i == MOST_JUMPS - 1u && jumps->rows[i].to > to)
        return;
    for (; i > 0 && jumps->rows[i - 1].to < to; i--)
        jumps->rows[i] = jumps->rows[i - 1];
    jumps->rows[i] = (struct jump){ from, to };
}

/* Those in bytes of code at `address`. */
static void scan(struct jumps *jumps, const struct sw_arch *arch, const uint8_t *bytes, size_t size, uint64_t address)
{
    uint64_t from, to;
    for (size_t i = 0; i + SW_JUMP_BYTES <= size; i++)
        if (arch->patterns->jump_at(bytes, i, address + i, &from, &to) &&
            to - jumps->begin <= jumps->pc - jumps->begin && (from < jumps->begin || from > jumps->pc))
            note(jumps, from, to);
}

/*
 * Where the code around pc may be: its image, else what can be read nearby. Where there are images, but none around pc,
 * the code was made by a JIT: those split no parts off.
 */
static void scan_around(const struct sw_unwind_request *req, const struct sw_code *code, struct jumps *jumps)
{
    struct sw_workspace *work = req->work;
    const struct sw_image_entry *image = sw_images_entry(req->walker->images, jumps->pc);
    const uint64_t most = image ? AROUND : AROUND_UNKNOWN;
    uint64_t begin = jumps->pc > most ? jumps->pc - most : 0, end = jumps->pc + most;
    if (image && image->info.begin > begin)
        begin = image->info.begin;
    if (image && image->info.end < end)
        end = image->info.end;
    if (!image && req->walker->images)
        return;
    /* Page by page, since any of them may be unreadable; jumps across the edges are met in front of them. */
    for (uint64_t at = begin & ~(uint64_t)(PAGE - 1); at < end && sw_meter_pay(code->meter, PAGE / READ_A_UNIT);
         at += PAGE) {
        const size_t got = sw_memory_read(&req->walker->memory, at, work->bytes, PAGE + ALIGNMENT);
        scan(jumps, code->arch, work->bytes, got, at);
    }
    sw_meter_note(code->meter, begin, (uint32_t)(end - begin));
}

_Static_assert(sizeof(struct jumps) % 8 == 0, "is kept as words");

static size_t find_jumps(const struct sw_unwind_request *req, const struct sw_code *code,
                         const struct sw_finding *finding, uint64_t *words, size_t room)
{
    const uint64_t pc = req->frame->lookup;
    struct jumps jumps = { .begin = pc > COLD ? pc - COLD : 0, .pc = pc };
    (void)finding, (void)room;
    scan_around(req, code, &jumps);
    memcpy(words, &jumps, sizeof jumps);
    return sizeof jumps / 8;
}

/* A location in terms of the registers at the jump, in terms of those at pc. */
static bool shift(const struct sw_state *state, struct sw_loc *loc)
{
    const struct sw_val v = state->reg[loc->reg];
    if (loc->kind != SW_LOC_REG && loc->kind != SW_LOC_AT_REG)
        return true;
    loc->off -= v.off;
    return v.base == loc->reg + 1 && v.point == 0 && !v.deref && !v.weak;
}

struct shifted {
    struct sw_shown *shown;
    const struct sw_state *state; /* at pc, in terms of what was at the jump */
};

/* A rule that holds at the jump, taken to pc. */
static bool show_here(void *arg, const struct sw_rule *rule)
{
    const struct shifted *s = arg;
    const unsigned pc = sw_regs_pc_number(s->shown->req->walker->machine);
    struct sw_rule *here = &s->shown->req->work->scan_rule;
    *here = *rule;
    if (!shift(s->state, &here->cfa) || !shift(s->state, &here->r[pc]))
        return false;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (!shift(s->state, &here->r[n]) || (here->r[n].kind == SW_LOC_SAME && !sw_val_is_start(s->state->reg[n], n)))
            here->r[n].kind = SW_LOC_UNKNOWN;
    return show_guess(s->shown, here, BY_ANY_CALL);
}

/* By going forward from a jump to pc. Whether that was enough. */
static bool show_jump(struct sw_shown *shown, const struct sw_code *code, uint64_t jump)
{
    struct shifted shifted = { shown, &shown->req->work->elsewhere };
    return sw_state_from(shown->req, code, jump, &shown->req->work->elsewhere) &&
           sw_forward_rules(shown->req, code, jump, NULL, show_here, &shifted) == SW_OK;
}

/* They are asked for anew for each of them, so that none lies on the stack meanwhile. */
static uint64_t nth_jump(const struct sw_unwind_request *req, const struct sw_code *code, unsigned n)
{
    const struct sw_finding finding = { SW_FINDING_JUMPS, req->frame->lookup, 0, 0 };
    const size_t room = sizeof(struct jumps) / 8;
    const struct jumps *jumps = (const struct jumps *)(const void *)req->work->words;
    return sw_find_once(req, code, &finding, find_jumps, req->work->words, room) == room && n < jumps->count
               ? jumps->rows[n].from
               : 0;
}

/* ---- the scan ---- */

/* Starts in front of pc; then jumps to pc, or the starts of functions that those are in. */
static void show_functions(struct sw_shown *shown, const struct sw_code *code, void *arg)
{
    uint64_t from;
    (void)arg;
    if (show_starts(shown, code, shown->req->frame->lookup, show_function))
        return;
    for (unsigned i = 0; (from = nth_jump(shown->req, code, i)) != 0; i++)
        if (show_jump(shown, code, from) || show_starts(shown, code, from, show_function))
            return;
}

/* Functions whose frame this may be: in front of pc, or of a jump to the code around it. */
static void show_all_frames(struct sw_shown *shown, const struct sw_code *code, void *arg)
{
    uint64_t from;
    (void)arg;
    if (show_starts(shown, code, shown->req->frame->lookup, show_frames))
        return;
    for (unsigned i = 0; (from = nth_jump(shown->req, code, i)) != 0; i++)
        if (show_starts(shown, code, from, show_frames))
            return;
}

/* A rule that is shown is tried on the stack. */
struct tried_rule {
    const struct sw_unwind_request *req;
    struct sw_candidate *c;
};

static bool is_right(void *arg, const struct sw_rule *rule, uint64_t tag)
{
    const struct tried_rule *t = arg;
    uint64_t target;
    t->c->rule = *rule;
    if (sw_candidate_try(t->req, t->c) != SW_STOP_NONE)
        return false;
    const uint64_t pc = sw_regs_pc(&t->c->caller);
    return tag == BY_ANY_CALL ? sw_is_behind_call(t->req, pc, &target) : sw_may_have_called(t->req, pc, tag);
}

bool sw_function_scan(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c)
{
    const uint64_t pc = req->frame->lookup;
    const struct sw_finding functions = { SW_FINDING_SCAN, pc, req->frame->exact, 0 };
    const struct sw_finding frames = { SW_FINDING_SCAN, pc, req->frame->exact, 1 };
    struct tried_rule tried = { req, c };
    struct sw_shown shown = { .req = req, .buffer = req->work->scan_words, .accept = is_right, .arg = &tried };
    if (sw_show_once(&shown, code, &functions, show_functions, NULL) || sw_confirm_by_depth(req, code, c))
        return true;
    shown.count = 0;
    return sw_show_once(&shown, code, &frames, show_all_frames, NULL);
}

void sw_function_scan_finish(const struct sw_unwind_request *req, const struct sw_code *code,
                             const struct sw_finding *finding, struct sw_candidate *c)
{
    if (!sw_frame_scan_finish(req, code, finding) && !sw_dispatch_finish(req, code, finding) &&
        !sw_tail_finish(req, code, finding) && !sw_frame_scan(req, code, c))
        (void)sw_function_scan(req, code, c);
}
