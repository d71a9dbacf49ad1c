/*
 * Confirmation by calls: the call in front of a return address names the function that pc should be in. Analysed from
 * its start, that function says where its return address lies; if what lies there is behind a call of that very
 * function, the caller is certain. So a candidate is confirmed, and where nothing leads forward to a return (code that
 * never returns) the stack is searched for such a call. A word that only looks like a return address confirms nothing.
 * Refuses to know what calls and stubs look like (code_patterns.c).
 */
#include "unwind/infer/call_confirmation.h"

#include "code/map/codemap.h"
#include "unwind/analysis_cache.h"
#include "unwind/infer/code_patterns.h"

#include "base/bytes.h"

enum { MOST_HOPS = 3, MOST_FUNCTIONS = 40, WINDOW = 131072, NEAREST = 4096, CHUNK = 256 };

#define FARTHEST (UINT64_C(1) << 24)

/* Where a call ends up: through the jumps of PLT entries or import stubs. 0: that cannot be told. */
static uint64_t final_target(const struct sw_unwind_request *req, uint64_t target)
{
    uint64_t slot;
    for (unsigned hops = 0; hops < MOST_HOPS && target != 0 && sw_goes_through(req, target, &slot); hops++) {
        if (!sw_memory_word(&req->walker->memory, slot, &target))
            return 0;
        target = sw_code_address(req->walker, target);
    }
    return target;
}

/* What the call in front of a return address calls; 0 when that is not known. */
static uint64_t called_before(const struct sw_unwind_request *req, uint64_t after)
{
    uint64_t target = 0;
    return sw_is_behind_call(req, after, &target) ? target : 0;
}

/* The caller by the analysis of a function that pc should be in. Fills work->rule and work->caller. */
static bool caller_within(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function)
{
    struct sw_workspace *work = req->work;
    return function != 0 && sw_function_rule(req, code, function, 0, &work->rule) == SW_OK &&
           sw_try_rule(req, &work->rule, NULL) == SW_STOP_NONE;
}

static bool confirm_by_call(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function)
{
    struct sw_rule *rule = &req->work->rule;
    if (!caller_within(req, code, function))
        return false;
    const uint64_t called = called_before(req, sw_regs_pc(&req->work->caller));
    if (called != function && final_target(req, called) != function)
        return false;
    rule->source = SW_SOURCE_FORWARD;
    if (rule->trust == SW_TRUST_GUESS) /* by a path that was assumed: the call may be another's */
        return true;
    rule->trust = SW_TRUST_CONFIRMED;
    sw_analysis_cache_note(req->walker->analysis_cache, req->frame->lookup, function);
    return true;
}

bool sw_confirm_by_call(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function)
{
    const uint64_t further = final_target(req, function);
    return confirm_by_call(req, code, further) || /* pc may still be in the stub: */
           (further != function && req->frame->lookup - function < SW_STUB_BYTES && confirm_by_call(req, code, function));
}

/*
 * A function whose address was loaded near a call that is on the stack, to be called back: main by _start, a comparison
 * by qsort's caller. The call in front of the return address is one through a register, which says nothing against it.
 */
static bool confirm_callback(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function)
{
    struct sw_rule *rule = &req->work->rule;
    uint64_t target;
    if (!caller_within(req, code, function) || !sw_is_behind_call(req, sw_regs_pc(&req->work->caller), &target) ||
        target != 0)
        return false;
    rule->source = SW_SOURCE_FORWARD;
    rule->trust = rule->trust == SW_TRUST_GUESS ? SW_TRUST_GUESS : SW_TRUST_LIKELY;
    return true;
}

static bool may_be_code(const struct sw_unwind_request *req, uint64_t address)
{
    struct sw_range unwanted;
    if (req->walker->codemap && sw_codemap_find_inside(req->walker->codemap, address, &unwanted))
        return true;
    return req->walker->images ? sw_images_entry(req->walker->images, address) != NULL : address >= 4096;
}

/* The functions that were tried: each once, since its analysis names one slot, whichever word led to it. */
struct tried {
    uint64_t functions[MOST_FUNCTIONS];
    unsigned count;
};

static bool is_new(struct tried *tried, uint64_t function)
{
    for (unsigned i = 0; i < tried->count; i++)
        if (tried->functions[i] == function)
            return false;
    tried->functions[tried->count++] = function;
    return true;
}

/* Further away is no tail call. */
static bool may_be_near(const struct sw_unwind_request *req, uint64_t function)
{
    return req->frame->lookup - function + FARTHEST < 2 * FARTHEST;
}

static bool is_worth_trying(const struct sw_unwind_request *req, uint64_t function, struct tried *tried)
{
    if (function == 0 || !may_be_near(req, function) || tried->count == MOST_FUNCTIONS)
        return false;
    return req->work->left > 0 && is_new(tried, function);
}

/* What is loaded near a call; what only looks so confirms nothing. */
static bool confirm_loaded(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t after, struct tried *tried)
{
    uint64_t functions[SW_LOADED_MOST];
    const size_t count = sw_loaded_before(req, after, functions);
    for (size_t i = 0; i < count; i++)
        if (is_worth_trying(req, functions[i], tried) && confirm_callback(req, code, functions[i]))
            return true;
    return false;
}

static bool is_call_of(const struct sw_unwind_request *req, uint64_t pc, uint64_t function)
{
    return final_target(req, called_before(req, pc)) == function;
}

/*
 * How a word on the stack is made use of: by the call in front of it, by what is loaded there, or, for landing pads, to
 * which no path leads, by the depth of the frames of the function that is called.
 */
enum way { BY_CALL, BY_LOADED, BY_DEPTH };

static bool confirm_word(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t word, struct tried *tried,
                         enum way way)
{
    uint64_t target = 0;
    if (!may_be_code(req, word) || !sw_is_behind_call(req, word, &target))
        return false;
    if (way == BY_LOADED)
        return confirm_loaded(req, code, word, tried);
    const uint64_t function = final_target(req, target);
    if (!is_worth_trying(req, function, tried))
        return false;
    return way == BY_DEPTH ? sw_function_has_frame(req, code, function, is_call_of) : sw_confirm_by_call(req, code, target);
}

/*
 * Goes by a word. True: what it led to is sure enough to end the search; the first that is but a guess is kept, since
 * words that lie further on, or another way, may tell better.
 */
static bool ends_search(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t word, struct tried *tried,
                        enum way way)
{
    struct sw_rule *guess = &req->work->guess;
    if (!confirm_word(req, code, sw_code_word(req->walker, word), tried, way))
        return false;
    if (req->work->rule.trust == SW_TRUST_GUESS && guess->source == SW_SOURCE_NONE)
        *guess = req->work->rule;
    return req->work->rule.trust != SW_TRUST_GUESS || way == BY_DEPTH; /* which tells no better */
}

static bool search_words(const struct sw_unwind_request *req, const struct sw_code *code, enum way way, uint64_t window)
{
    const struct sw_regs *regs = &req->frame->regs;
    const uint64_t sp = sw_regs_sp(regs);
    struct tried tried = { .count = 0 };
    uint8_t chunk[CHUNK];
    /* Where nothing was called yet the return address may be nowhere else than in the link register. */
    const unsigned link = sw_regs_link_number(regs->machine);
    if (sw_regs_has(regs, link) && ends_search(req, code, regs->r[link], &tried, way))
        return true;
    for (uint64_t at = sp; at < sp + window && tried.count < MOST_FUNCTIONS; at += CHUNK) {
        const size_t got = sw_memory_read(&req->walker->memory, at, chunk, CHUNK);
        for (size_t i = 0; i + 8 <= got && i + 8 <= CHUNK; i += 8)
            if (ends_search(req, code, sw_load64(chunk + i), &tried, way))
                return true;
        if (got != CHUNK)
            return false;
    }
    return false;
}

/* The guess that is left, if there is one. */
static bool or_guess(const struct sw_unwind_request *req)
{
    if (req->work->guess.source == SW_SOURCE_NONE)
        return false;
    req->work->rule = req->work->guess;
    return true;
}

bool sw_confirm_by_stack(const struct sw_unwind_request *req, const struct sw_code *code)
{
    if (sw_regs_sp(&req->frame->regs) > UINT64_MAX - WINDOW)
        return false;
    req->work->guess.source = SW_SOURCE_NONE;
    return search_words(req, code, BY_CALL, WINDOW) || search_words(req, code, BY_LOADED, WINDOW) || or_guess(req);
}

bool sw_confirm_by_depth(const struct sw_unwind_request *req, const struct sw_code *code)
{
    if (sw_regs_sp(&req->frame->regs) > UINT64_MAX - NEAREST)
        return false;
    return search_words(req, code, BY_DEPTH, NEAREST);
}
