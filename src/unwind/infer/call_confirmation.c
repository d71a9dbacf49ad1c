/*
 * Confirmation by calls: the call in front of a return address names the function that pc should be in. Analysed from
 * its start, that function says where its return address lies; if what lies there is behind a call of that very
 * function, the caller is certain. So a candidate is confirmed, and where nothing leads forward to a return (code that
 * never returns) the stack is searched for such a call. A word that only looks like a return address confirms nothing.
 * Refuses to know what calls and stubs look like (code_patterns.c).
 */
#include "unwind/infer/call_confirmation.h"

#include "code/map/codemap.h"
#include "unwind/trampoline.h"
#include "unwind/findings.h"
#include "unwind/infer/code_patterns.h"
#include "unwind/infer/dispatch.h"
#include "unwind/infer/instructions.h"

#include "base/bytes.h"

enum {
    MOST_HOPS = 3,
    HOP_UNITS = 4, /* a read, which may be a system call */
    MOST_FUNCTIONS = SW_TRIED,
    WINDOW = 131072,
    NEAREST = 4096,
    CHUNK = 256,
    LARGEST_CHUNK = 4096,
    STACK_A_UNIT = 512,
    MOST_CALLS = 256,
    FIRST_PAGE = 4096,
    WORDS_A_UNIT = 32
};

#define FARTHEST (UINT64_C(1) << 24)

uint64_t sw_final_target(const struct sw_unwind_request *req, uint64_t target)
{
    uint64_t slot;
    for (unsigned hops = 0; hops < MOST_HOPS && target != 0 && sw_goes_through(req, target, &slot); hops++) {
        (void)sw_meter_pay(&req->work->meter, HOP_UNITS);
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

bool sw_is_call_of(const struct sw_unwind_request *req, uint64_t after, uint64_t function)
{
    const uint64_t called = called_before(req, after);
    return called == function || sw_final_target(req, called) == function;
}

bool sw_may_have_called(const struct sw_unwind_request *req, uint64_t pc, uint64_t function)
{
    struct sw_code code;
    uint64_t target;
    if (!sw_is_behind_call(req, pc, &target))
        return sw_is_trampoline(req, pc);
    return target == 0 || target == function || (sw_code_of(req, &code) && sw_is_program_start(req, &code, pc - 1));
}

/* The caller by the analysis of a function that pc should be in. Fills the candidate. */
static bool caller_within(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                          struct sw_candidate *c)
{
    return function != 0 && sw_function_rule(req, code, function, 0, &c->rule) == SW_OK &&
           sw_candidate_try(req, c) == SW_STOP_NONE;
}

/* In an interpreter that has pc among its parts two things agree, and the call as the third. */
static bool confirm_by_dispatch(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                                struct sw_candidate *c)
{
    if (function == 0 || !sw_dispatch_caller(req, code, function, sw_is_call_of, c))
        return false;
    c->rule.trust = SW_TRUST_LIKELY;
    return true;
}

static bool is_called_within(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                             struct sw_candidate *c)
{
    if (!caller_within(req, code, function, c) || !sw_is_call_of(req, sw_regs_pc(&c->caller), function))
        return false;
    c->function = function;
    c->rule.source = SW_SOURCE_FORWARD;
    return true;
}

/* By a path that was assumed it is a guess: the call may be another's. */
static bool confirm_by_call(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                            struct sw_candidate *c)
{
    const bool is_within = is_called_within(req, code, function, c);
    if (!is_within || c->rule.trust == SW_TRUST_GUESS)
        return confirm_by_dispatch(req, code, function, c) || (is_within && is_called_within(req, code, function, c));
    c->rule.trust = SW_TRUST_CONFIRMED;
    return true;
}

bool sw_confirm_by_call(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                        struct sw_candidate *c)
{
    const uint64_t further = sw_final_target(req, function);
    return confirm_by_call(req, code, further, c) || /* pc may still be in the stub: */
           (further != function && req->frame->lookup - function < SW_STUB_BYTES &&
            confirm_by_call(req, code, function, c));
}

/*
 * A function whose address was loaded near a call that is on the stack, to be called back: main by _start, a comparison
 * by qsort's caller. The call in front of the return address is one through a register, which says nothing against it.
 */
static bool confirm_callback(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                             struct sw_candidate *c)
{
    uint64_t target;
    if (!caller_within(req, code, function, c) || !sw_is_behind_call(req, sw_regs_pc(&c->caller), &target) ||
        target != 0)
        return false;
    c->rule.source = SW_SOURCE_FORWARD;
    c->rule.trust = c->rule.trust == SW_TRUST_GUESS ? SW_TRUST_GUESS : SW_TRUST_LIKELY;
    return true;
}

static bool is_mapped(const struct sw_unwind_request *req, uint64_t address)
{
    struct sw_range unwanted;
    if (req->walker->codemap && sw_codemap_find_inside(req->walker->codemap, address, &unwanted))
        return true;
    const struct sw_image_entry *entry = sw_images_entry(req->walker->images, address);
    return !req->walker->images || (entry && sw_image_is_code(entry, address - 1));
}

/* The functions that were tried: each once, since its analysis names one slot, whichever word led to it. */
struct tried {
    uint64_t *functions;
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

/*
 * How a word on the stack is made use of: by the call in front of it, by what is loaded there, or, for landing pads, to
 * which no path leads, by the depth of the frames of the function that is called.
 */
enum way { BY_CALL, BY_LOADED, BY_DEPTH };

/*
 * A search of the stack.
 *
 * calls  How many words so far were behind calls: no more than MOST_CALLS are gone by.
 * looked How many might have been code.
 * c      What the word that was gone by last has led to.
 * guess  The first that is but a guess, if has_guess: words that lie further on, or another way, may tell better.
 */
struct search {
    const struct sw_unwind_request *req;
    const struct sw_code *code;
    enum way way;
    struct tried *tried;
    struct sw_candidate *c, *guess;
    unsigned calls, looked;
    bool has_guess;
};

/* Further away is no tail call, or one within a large image: Haskell's code runs in the frame of what entered it. */
static bool may_be_near(const struct sw_unwind_request *req, uint64_t function)
{
    return req->frame->lookup - function + FARTHEST < 2 * FARTHEST ||
           (req->entry && function - req->entry->info.begin < req->entry->info.end - req->entry->info.begin);
}

static bool is_worth_trying(const struct search *s, uint64_t function)
{
    if (function == 0 || !may_be_near(s->req, function) || s->tried->count == MOST_FUNCTIONS)
        return false;
    return !s->req->work->meter.is_cut && is_new(s->tried, function);
}

/* What is loaded near a call; what only looks so confirms nothing. */
static bool confirm_loaded(const struct search *s, uint64_t after)
{
    uint64_t functions[SW_LOADED_MOST];
    const size_t count = sw_loaded_before(s->req, after, functions);
    for (size_t i = 0; i < count; i++)
        if (is_worth_trying(s, functions[i]) && confirm_callback(s->req, s->code, functions[i], s->c))
            return true;
    return false;
}

static bool confirm_word(struct search *s, uint64_t word)
{
    uint64_t target = 0;
    if (!is_mapped(s->req, word) || !sw_is_behind_call(s->req, word, &target))
        return false;
    s->calls++;
    if (!sw_meter_pay(&s->req->work->meter, 1))
        return false;
    if (s->way == BY_LOADED)
        return confirm_loaded(s, word);
    const uint64_t function = sw_final_target(s->req, target);
    if (!is_worth_trying(s, function))
        return false;
    return s->way == BY_DEPTH ? sw_function_has_frame(s->req, s->code, function, sw_is_call_of, s->c)
                              : sw_confirm_by_call(s->req, s->code, target, s->c);
}

/* Most words are none: small numbers, and addresses on the stack itself. */
static inline bool may_be_code(uint64_t word, uint64_t sp)
{
    return word >= FIRST_PAGE && word - sp >= WINDOW;
}

/* Goes by a word. True: what it led to is sure enough to end the search, or, by depth, as sure as it gets. */
static bool ends_search(struct search *s, uint64_t word)
{
    s->looked++;
    if (s->looked % WORDS_A_UNIT == 0 && !sw_meter_pay(&s->req->work->meter, 1))
        return false;
    if (!confirm_word(s, sw_code_word(s->req->walker, word)))
        return false;
    if (s->c->rule.trust != SW_TRUST_GUESS || s->way == BY_DEPTH)
        return true;
    if (!s->has_guess)
        *s->guess = *s->c;
    s->has_guess = true;
    return false;
}

/* Where a search from sp ends: with the declared stack, if sp is on it. */
static uint64_t end_of_search(const struct sw_walker *walker, uint64_t sp, uint64_t window)
{
    const bool is_inside = sp >= walker->stack_begin && sp < walker->stack_end;
    return is_inside && walker->stack_end - sp < window ? walker->stack_end : sp + window;
}

static bool search_words(struct search *s, enum way way, uint64_t window)
{
    const struct sw_regs *regs = &s->req->frame->regs;
    const uint64_t sp = sw_regs_sp(regs), end = end_of_search(s->req->walker, sp, window);
    struct tried tried = { .functions = s->req->work->tried };
    uint8_t *chunk = s->req->work->bytes;
    s->way = way;
    s->tried = &tried;
    s->calls = 0;
    /* Where nothing was called yet the return address may be nowhere else than in the link register. */
    const unsigned link = sw_regs_link_number(regs->machine);
    if (sw_regs_has(regs, link) && ends_search(s, regs->r[link]))
        return true;
    for (uint64_t at = sp, most = CHUNK; at < end && tried.count < MOST_FUNCTIONS && s->calls < MOST_CALLS;) {
        const size_t wanted = (size_t)(end - at < most ? end - at : most);
        if (!sw_meter_pay(&s->req->work->meter, 1 + wanted / STACK_A_UNIT))
            return false;
        const size_t got = sw_memory_read(&s->req->walker->memory, at, chunk, wanted);
        for (size_t i = 0; i + 8 <= got && i + 8 <= wanted && s->calls < MOST_CALLS; i += 8)
            if (may_be_code(sw_load64(chunk + i), sp) && ends_search(s, sw_load64(chunk + i)))
                return true;
        if (got != wanted)
            return false;
        at += wanted;
        most = most < LARGEST_CHUNK ? 2 * most : most; /* mostly the first words tell, and a read takes its time */
    }
    return false;
}

bool sw_confirm_by_stack(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c,
                         struct sw_candidate *guess)
{
    struct search s = { .req = req, .code = code, .c = c, .guess = guess };
    if (sw_regs_sp(&req->frame->regs) > UINT64_MAX - WINDOW)
        return false;
    if (search_words(&s, BY_CALL, WINDOW) || (s.calls != 0 && search_words(&s, BY_LOADED, WINDOW)))
        return true;
    if (s.has_guess)
        *c = *guess;
    return s.has_guess;
}

bool sw_confirm_by_depth(const struct sw_unwind_request *req, const struct sw_code *code, struct sw_candidate *c)
{
    struct search s = { .req = req, .code = code, .c = c };
    if (sw_regs_sp(&req->frame->regs) > UINT64_MAX - NEAREST)
        return false;
    return search_words(&s, BY_DEPTH, NEAREST);
}
