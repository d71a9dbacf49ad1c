/*
 * Looks for a function's start by what prologues do. Where a function begins is not known, but how large a frame it
 * makes is told by a few instructions, and whether a return address lies behind such a frame by the stack. What both
 * allow is analysed. Knows nothing of encodings (lib/arch).
 */
#include "unwind/infer/frame_scan.h"

#include "unwind/find_once.h"
#include "unwind/findings.h"
#include "unwind/infer/call_confirmation.h"
#include "unwind/infer/dispatch.h"

#include <string.h>

enum { FAR = 65536, PIECE = 4096, LONGEST_OPENING = 64, FRAME_ALIGNMENT = 16, READ_A_UNIT = 64 };
enum { SMALL_FRAME = 24, MOST_BETWEEN = 4 };

/* ---- what a piece of code alone tells: the places where it opens frames ---- */

/*
 * A place where code may begin and makes a frame: then the CFA is register `reg` + cfa_off, and the return address lies
 * at the CFA + return_off.
 *
 * offset  From the begin of its piece.
 */
struct opening {
    uint32_t offset;
    uint32_t reg;
    int32_t cfa_off;
    int32_t return_off;
};

/* words: a piece's openings, by address, behind their number. */
enum { OPENING_WORDS = sizeof(struct opening) / 8, MOST_OPENINGS = (SW_FINDING_WORDS - 1) / OPENING_WORDS };

/* How code at `begin` that makes a frame first of all finds its caller at `pc`, or where straight code ends. */
static bool opens(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin, uint64_t pc,
                  struct opening *opening)
{
    struct sw_state *state = &req->work->analysis.current;
    struct sw_rule *rule = &req->work->spare[1].rule;
    const unsigned sp = code->arch->roles->sp;
    sw_analyze_prologue(code, begin, pc, state);
    if (!sw_extract_inside(state, code->arch, rule))
        return false;
    const struct sw_loc ra = rule->r[code->arch->roles->pc];
    *opening = (struct opening){ 0, rule->cfa.reg, rule->cfa.off, ra.off };
    return rule->cfa.kind == SW_LOC_REG && ra.kind == SW_LOC_AT_CFA && !sw_val_is_start(state->reg[sp], sp);
}

static bool may_begin(const struct sw_arch *arch, const uint8_t *front, uint64_t address)
{
    return arch->patterns->may_start(front, address) || arch->patterns->may_end(front, address);
}

/* The first place in code at `at`, below `end`, that may open a frame; else where the bytes at hand end. */
static uint64_t next_place(const struct sw_code *code, uint64_t at, uint64_t end, bool *found)
{
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, at - SW_ENDING_BYTES, &size);
    *found = false;
    if (!bytes || size < 2 * SW_ENDING_BYTES)
        return bytes || at % PIECE == 0 ? at + SW_ENDING_BYTES : end; /* the page in front may be missing */
    const uint64_t first = at - SW_ENDING_BYTES, last = at + (size - 2 * SW_ENDING_BYTES) + 1;
    const size_t stop = (size_t)((last < end ? last : end) - first);
    size_t i = SW_ENDING_BYTES;
    while (i < stop && !*found) {
        i = code->arch->patterns->next_opening(bytes, i, stop);
        *found = i < stop && may_begin(code->arch, bytes + i, first + i);
        i += i < stop && !*found ? code->arch->insn_bytes : 0;
    }
    return first + i;
}

static size_t find_openings(const struct sw_unwind_request *req, const struct sw_code *code,
                            const struct sw_finding *finding, uint64_t *words, size_t room)
{
    const uint64_t begin = finding->a, end = begin + PIECE;
    struct opening opening;
    bool found;
    words[0] = 0;
    sw_meter_note(code->meter, begin - SW_ENDING_BYTES, PIECE + 2 * SW_ENDING_BYTES);
    (void)sw_meter_pay(code->meter, PIECE / READ_A_UNIT);
    for (uint64_t at = begin; at < end && (words[0] + 1) * OPENING_WORDS < room;
         at += found ? code->arch->insn_bytes : 0) {
        at = next_place(code, at, end, &found);
        if (!found || !opens(req, code, at, UINT64_MAX, &opening))
            continue;
        opening.offset = (uint32_t)(at - begin);
        memcpy(words + 1 + words[0]++ * OPENING_WORDS, &opening, sizeof opening);
    }
    return 1 + words[0] * OPENING_WORDS;
}

/* ---- findings ---- */

/* Into work->words. 0: it was cut. */
static size_t openings_of(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t piece)
{
    const struct sw_finding finding = { SW_FINDING_OPENINGS, piece, 0, 0 };
    return sw_find_once(req, code, &finding, find_openings, req->work->words, SW_FINDING_WORDS);
}

bool sw_frame_scan_finish(const struct sw_unwind_request *req, const struct sw_code *code,
                          const struct sw_finding *finding)
{
    return finding->kind == SW_FINDING_OPENINGS && openings_of(req, code, finding->a) != 0;
}

/* ---- what the stack tells ---- */

/* between: functions that begin between the place at hand and pc, as it seems. */
struct scan {
    const struct sw_unwind_request *req;
    const struct sw_code *code;
    struct sw_candidate *c;
    unsigned between;
};

/* Whether behind a frame as the opening makes it there is a return address. The CFA is aligned, by all conventions. */
static bool fits(const struct scan *s, const struct opening *opening, uint64_t begin, uint64_t *cfa)
{
    const struct sw_regs *regs = &s->req->frame->regs;
    uint64_t word;
    if (!sw_regs_has(regs, opening->reg))
        return false;
    *cfa = regs->r[opening->reg] + (uint64_t)(int64_t)opening->cfa_off;
    if (*cfa % FRAME_ALIGNMENT != 0 ||
        !sw_memory_word(&s->req->walker->memory, *cfa + (uint64_t)(int64_t)opening->return_off, &word))
        return false;
    word = sw_code_word(s->req->walker, word);
    return sw_place_of(s->req, word) != SW_PLACE_DATA && sw_may_have_called(s->req, word, begin);
}

/* Whether the candidate's rule leads to a caller of the function, with this sp. */
static bool leads_to(const struct scan *s, uint64_t begin, uint64_t sp)
{
    return sw_candidate_try(s->req, s->c) == SW_STOP_NONE && sw_regs_sp(&s->c->caller) == sp &&
           sw_may_have_called(s->req, sw_regs_pc(&s->c->caller), begin);
}

static bool reaches_pc(const struct scan *s, uint64_t begin, uint64_t sp)
{
    return sw_function_rule(s->req, s->code, begin, 0, &s->c->rule) == SW_OK && s->c->rule.trust != SW_TRUST_GUESS &&
           leads_to(s, begin, sp);
}

/* ---- the scan ---- */

/*
 * A frame of a few words may be what looks like a push inside an instruction. A larger one is a function's: an
 * interpreter has no other functions inside, or few places that look like one.
 */
static bool is_large(const struct opening *opening)
{
    return opening->cfa_off > SMALL_FRAME;
}

static bool is_start(const struct scan *s, const struct opening *opening, uint64_t begin)
{
    uint64_t cfa;
    if (!fits(s, opening, begin, &cfa))
        return false;
    if (!reaches_pc(s, begin, cfa) &&
        !(is_large(opening) && s->between <= MOST_BETWEEN &&
          sw_dispatch_caller(s->req, s->code, begin, sw_may_have_called, s->c) && sw_regs_sp(&s->c->caller) == cfa))
        return false;
    s->c->rule.source = SW_SOURCE_FORWARD;
    s->c->rule.trust = SW_TRUST_GUESS;
    return true;
}

/* Starts in a piece of code, the last ones first. Near pc, which may be in a prologue, frames are only partly made. */
static bool is_in_piece(struct scan *s, uint64_t begin)
{
    struct sw_workspace *work = s->req->work;
    const uint64_t pc = s->req->frame->lookup;
    struct opening opening;
    const size_t count = openings_of(s->req, s->code, begin);
    if (count == 0)
        return false;
    memcpy(work->bytes, work->words + 1, (count - 1) * sizeof *work->words);
    for (size_t i = (count - 1) / OPENING_WORDS; i-- > 0; s->between += is_large(&opening)) {
        memcpy(&opening, work->bytes + i * sizeof opening, sizeof opening);
        const uint64_t at = begin + opening.offset;
        if (at < pc && (pc - at >= LONGEST_OPENING || opens(s->req, s->code, at, pc, &opening)) &&
            is_start(s, &opening, at))
            return true;
    }
    return false;
}

bool sw_frame_scan(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c)
{
    struct scan s = { .req = req, .code = code, .c = c };
    const uint64_t last = req->frame->lookup / PIECE * PIECE;
    bool is_found = false;
    for (uint64_t back = 0; back <= FAR && last > back + PIECE && !is_found && !req->work->meter.is_cut; back += PIECE)
        is_found = is_in_piece(&s, last - back);
    return is_found && !req->work->meter.is_cut;
}
