/*
 * Guesses of last resort for code that never returns from pc (it ends in a throw, an abort, a loop) and was called
 * through a pointer, so that neither a return nor a call says where its frame is. Everything found here is a guess, but
 * one that leads to the instruction behind a call.
 */
#include "unwind/infer/function_scan.h"

#include "unwind/infer/call_confirmation.h"
#include "unwind/infer/code_patterns.h"

#include "unwind/findings.h"
#include "unwind/trampoline.h"

#include <string.h>

enum {
    IN_FRONT = 4096,
    MOST_STARTS = 160,
    ALIGNMENT = 16,
    AROUND = 1 << 20,
    COLD = 1024,
    MOST_JUMPS = 8,
    READ_A_UNIT = 64
};

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
    (void)sw_meter_pay(&work->meter, IN_FRONT / READ_A_UNIT);
    const bool has_link = sw_arch_has_link(code->arch);
    if (req->frame->exact && !has_link && is_start(req, code, place, c))
        return place;
    for (uint64_t at = place; got >= IN_FRONT + 4 && at >= first + 4 && tried < MOST_STARTS && !work->meter.is_cut;
         at--) {
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
    uint64_t begin = jumps->pc > AROUND ? jumps->pc - AROUND : 0, end = jumps->pc + AROUND;
    if (image && image->info.begin > begin)
        begin = image->info.begin;
    if (image && image->info.end < end)
        end = image->info.end;
    if (!image && req->walker->images)
        return;
    const uint64_t step = sizeof work->bytes - ALIGNMENT; /* jumps across the edges are met in the next piece */
    for (uint64_t at = begin; at < end && sw_meter_pay(code->meter, step / READ_A_UNIT); at += step) {
        const size_t got = sw_memory_read(&req->walker->memory, at, work->bytes, sizeof work->bytes);
        scan(jumps, code->arch, work->bytes, got, at);
    }
    sw_meter_note(code->meter, begin, (uint32_t)(end - begin));
}

_Static_assert(sizeof(struct jumps) % 8 == 0, "is kept as words");

static size_t find_jumps(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t *words, size_t room)
{
    const uint64_t pc = req->frame->lookup;
    struct jumps jumps = { .begin = pc > COLD ? pc - COLD : 0, .pc = pc };
    (void)room;
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
    if (!sw_state_from(req, code, jump, &work->elsewhere) ||
        sw_forward_rules(req, code, jump, NULL, leads_to_a_call, &shifted) != SW_OK)
        return false;
    c->rule.trust = SW_TRUST_GUESS;
    return true;
}

/* A jump to pc; or the start of the function that it is in, where that cannot be gone forward from. */
static bool is_jumped_to(const struct sw_unwind_request *req, const struct sw_code *code, const struct jumps *jumps,
                         struct sw_candidate *c)
{
    for (unsigned i = 0; i < jumps->count; i++)
        if (is_from(req, code, jumps->rows[i].from, c) ||
            start_in_front(req, code, jumps->rows[i].from, is_function, c) != 0)
            return true;
    return false;
}

/* The start of a function whose frame this may be: in front of pc, or of a jump to the code around it. */
static bool is_frame_of(const struct sw_unwind_request *req, const struct sw_code *code, const struct jumps *jumps,
                        struct sw_candidate *c)
{
    uint64_t start = start_in_front(req, code, req->frame->lookup, has_frame, c);
    for (unsigned i = 0; i < jumps->count && start == 0; i++)
        start = start_in_front(req, code, jumps->rows[i].from, has_frame, c);
    return start != 0;
}

static bool find_by_jumps(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c)
{
    const struct sw_finding finding = { SW_FINDING_JUMPS, req->frame->lookup, 0, 0 };
    struct jumps jumps;
    const size_t room = sizeof jumps / 8;
    if (sw_find_once(req, code, &finding, find_jumps, req->work->words, room) != room)
        return false;
    memcpy(&jumps, req->work->words, sizeof jumps);
    return is_jumped_to(req, code, &jumps, c) || sw_confirm_by_depth(req, code, c) || is_frame_of(req, code, &jumps, c);
}

bool sw_function_scan(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c)
{
    const bool is_found =
        start_in_front(req, code, req->frame->lookup, is_function, c) != 0 || find_by_jumps(req, code, c);
    if (req->work->meter.is_cut)
        sw_findings_pend_scan(req);
    return is_found;
}
