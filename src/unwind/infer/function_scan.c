/*
 * Guesses of last resort for code that never returns from pc (it ends in a throw, an abort, a loop) and was called
 * through a pointer, so that neither a return nor a call says where its frame is. Everything found here is a guess, but
 * one that leads to the instruction behind a call.
 */
#include "unwind/infer/function_scan.h"

#include "unwind/infer/call_confirmation.h"
#include "unwind/infer/code_patterns.h"

#include "unwind/analysis_cache.h"
#include "unwind/trampoline.h"

enum { IN_FRONT = 4096, MOST_STARTS = 160, ALIGNMENT = 16, AROUND = 1 << 20, COLD = 1024 };

/* Notes under ~pc: a start, a jump or a function with such a frame with their bits; that there is nothing; or
 * that a call on the stack tells by the depth of its function's frames. */
#define IS_JUMP  (UINT64_C(1) << 63)
#define IS_FRAME (UINT64_C(1) << 62)
enum { NOTHING = 1, BY_CALL = 2 };

/* ---- starts ---- */

/* What a caller looks like that calls through a pointer: the instruction behind such a call, or a signal's return. */
static bool is_caller(const struct sw_unwind_request *req, uint64_t pc, uint64_t function)
{
    uint64_t target;
    if (sw_is_behind_call(req, pc, &target))
        return target == 0 || target == function;
    return sw_is_trampoline(req, pc);
}

static bool is_function(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin,
                        struct sw_candidate *c)
{
    if (sw_function_rule(req, code, begin, 0, &c->rule) != SW_OK || c->rule.trust == SW_TRUST_GUESS ||
        sw_candidate_try(req, c) != SW_STOP_NONE || !is_caller(req, sw_regs_pc(&c->caller), begin))
        return false;
    c->rule.source = SW_SOURCE_FORWARD;
    c->rule.trust = SW_TRUST_GUESS;
    return true;
}

/* For landing pads, to which no path leads. */
static bool has_frame(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin,
                      struct sw_candidate *c)
{
    return sw_function_has_frame(req, code, begin, is_caller, c);
}

typedef bool is_start_fn(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin,
                         struct sw_candidate *c);

/* The nearest start in front of a place that serves, or 0. */
static uint64_t start_in_front(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t place,
                               is_start_fn *is_start, struct sw_candidate *c)
{
    struct sw_workspace *work = req->work;
    const uint64_t first = place > IN_FRONT ? place - IN_FRONT : 0;
    const size_t got = sw_memory_read(&req->walker->memory, first, work->bytes, IN_FRONT + ALIGNMENT);
    unsigned tried = 0;
    const bool has_link = sw_arch_has_link(code->arch);
    if (req->frame->exact && !has_link && is_start(req, code, place, c))
        return place;
    for (uint64_t at = place; got >= IN_FRONT + 4 && at >= first + 4 && tried < MOST_STARTS && work->left > 0; at--) {
        if (!code->arch->patterns->may_start(work->bytes + (at - first), at))
            continue;
        tried++;
        if (is_start(req, code, at, c))
            return at;
    }
    /* A link register leads to the caller from anywhere in a prologue: starts that look like one come first. */
    return req->frame->exact && has_link && is_start(req, code, place, c) ? place : 0;
}

/* ---- jumps ---- */

static void note(struct sw_jumps *jumps, uint64_t from, uint64_t to)
{
    unsigned i = jumps->count < SW_JUMPS_MOST ? jumps->count++ : SW_JUMPS_MOST - 1u;
    if (i == SW_JUMPS_MOST - 1u && jumps->rows[i].to > to)
        return;
    for (; i > 0 && jumps->rows[i - 1].to < to; i--)
        jumps->rows[i] = jumps->rows[i - 1];
    jumps->rows[i] = (struct sw_jump){ from, to };
}

/* Those in bytes of code at `address`. */
static void scan(struct sw_jumps *jumps, const struct sw_arch *arch, const uint8_t *bytes, size_t size,
                 uint64_t address)
{
    uint64_t from, to;
    for (size_t i = 0; i + SW_JUMP_BYTES <= size; i++)
        if (arch->patterns->jump_at(bytes, i, address + i, &from, &to) &&
            to - jumps->begin <= jumps->pc - jumps->begin && (from < jumps->begin || from > jumps->pc))
            note(jumps, from, to);
}

/* Where the code around pc may be: its image, else what can be read nearby. */
static void scan_around(const struct sw_unwind_request *req, const struct sw_arch *arch, struct sw_jumps *jumps)
{
    struct sw_workspace *work = req->work;
    const struct sw_image_entry *image = sw_images_entry(req->walker->images, jumps->pc);
    uint64_t begin = jumps->pc > AROUND ? jumps->pc - AROUND : 0, end = jumps->pc + AROUND;
    if (image && image->info.begin > begin)
        begin = image->info.begin;
    if (image && image->info.end < end)
        end = image->info.end;
    const uint64_t step = sizeof work->bytes - ALIGNMENT; /* jumps across the edges are met in the next piece */
    for (uint64_t at = begin; at < end; at += step) {
        const size_t got = sw_memory_read(&req->walker->memory, at, work->bytes, sizeof work->bytes);
        scan(jumps, arch, work->bytes, got, at);
    }
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
    const struct sw_unwind_request *req;
    const struct sw_state *state; /* at pc, in terms of what was at the jump */
    struct sw_candidate *c;
};

/* A rule that holds at the jump, taken to pc and tried. */
static bool leads_to_a_call(void *arg, const struct sw_rule *rule)
{
    const struct shifted *s = arg;
    struct sw_rule *here = &s->c->rule;
    uint64_t target;
    *here = *rule;
    if (!shift(s->state, &here->cfa) || !shift(s->state, &here->r[sw_regs_pc_number(s->req->walker->machine)]))
        return false;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (!shift(s->state, &here->r[n]) || (here->r[n].kind == SW_LOC_SAME && !sw_val_is_start(s->state->reg[n], n)))
            here->r[n].kind = SW_LOC_UNKNOWN;
    return sw_candidate_try(s->req, s->c) == SW_STOP_NONE &&
           sw_is_behind_call(s->req, sw_regs_pc(&s->c->caller), &target);
}

static bool is_from(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t jump,
                    struct sw_candidate *c)
{
    struct sw_workspace *work = req->work;
    struct shifted shifted = { req, &work->elsewhere, c };
    bool assumed;
    sw_analyze_run(code, jump, 0, &work->analysis);
    const struct sw_state *state = sw_analyze_state(&work->analysis, req->frame->lookup, &assumed);
    if (!state || assumed)
        return false;
    sw_state_copy(&work->elsewhere, state);
    if (sw_analyze_forward(code, jump, NULL, &work->analysis, leads_to_a_call, &shifted) != SW_OK)
        return false;
    c->rule.trust = SW_TRUST_GUESS;
    return true;
}

/* A jump to pc; or the start of the function that it is in, where that cannot be gone forward from. */
static uint64_t jump_to(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_jumps *jumps,
                        struct sw_candidate *c)
{
    uint64_t start;
    for (unsigned i = 0; i < jumps->count; i++) {
        if (is_from(req, code, jumps->rows[i].from, c))
            return jumps->rows[i].from | IS_JUMP;
        if ((start = start_in_front(req, code, jumps->rows[i].from, is_function, c)) != 0)
            return start;
    }
    return 0;
}

/* The start of a function whose frame this may be: in front of pc, or of a jump to the code around it. */
static uint64_t frame_of(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_jumps *jumps,
                         struct sw_candidate *c)
{
    uint64_t start = start_in_front(req, code, req->frame->lookup, has_frame, c);
    for (unsigned i = 0; i < jumps->count && start == 0; i++)
        start = start_in_front(req, code, jumps->rows[i].from, has_frame, c);
    return start ? start | IS_FRAME : 0;
}

static uint64_t find_by_jumps(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c)
{
    const uint64_t pc = req->frame->lookup;
    struct sw_jumps *jumps = &req->work->jumps;
    *jumps = (struct sw_jumps){ .begin = pc > COLD ? pc - COLD : 0, .pc = pc };
    scan_around(req, code->arch, jumps);
    const uint64_t jump = jump_to(req, code, jumps, c);
    if (jump != 0)
        return jump;
    return sw_confirm_by_depth(req, code, c) ? BY_CALL : frame_of(req, code, jumps, c);
}

/* ---- what was found, noted ---- */

static bool is_as_noted(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t noted,
                        struct sw_candidate *c)
{
    if (noted <= BY_CALL)
        return noted == BY_CALL && sw_confirm_by_depth(req, code, c);
    if (noted & IS_JUMP)
        return is_from(req, code, noted & ~IS_JUMP, c);
    return noted & IS_FRAME ? has_frame(req, code, noted & ~IS_FRAME, c) : is_function(req, code, noted, c);
}

bool sw_function_scan(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c)
{
    const uint64_t key = ~req->frame->lookup, noted = sw_analysis_cache_function(req->walker->analysis_cache, key);
    if (noted != 0)
        return is_as_noted(req, code, noted, c);
    uint64_t found = start_in_front(req, code, req->frame->lookup, is_function, c);
    if (found == 0)
        found = find_by_jumps(req, code, c);
    sw_analysis_cache_note(req->walker->analysis_cache, key, found ? found : NOTHING);
    return found != 0;
}
