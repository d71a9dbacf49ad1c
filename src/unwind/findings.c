/*
 * See findings.h: rules by the instructions of a function, and registers at a place of it. Refuses to know what it
 * costs and how it is kept (find_once.h), and stacks.
 */
#include "unwind/findings.h"

#include "unwind/find_once.h"
#include "unwind/rule_words.h"

#include <string.h>

enum { MOST_FRAMES = 2048, IS_LARGE = 1 };

_Static_assert(sizeof(struct sw_val) == 16, "two words");
_Static_assert((int)SW_PACKED_RULE_WORDS < (int)SW_RULE_WORDS, "with a status");

/* ---- functions ---- */

/*
 * Whether there is one, and the rule. With an end it is that of what the code map has there; a part of other functions
 * is none that says where its caller is.
 */
static size_t find_rule(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *f,
                        uint64_t *words, size_t room)
{
    struct sw_rule *rule = &req->work->analysis.offered; /* not on the stack, of which little is left here */
    const uint64_t generation = sw_finding_generation(req->walker, f->a);
    const bool is_piece = f->b != 0 && sw_analyze_is_piece(code, f->a, &req->work->analysis);
    const enum sw_status status = is_piece ? SW_E_NO_RULE
                                           : sw_analysis_cache_rule(req->walker->analysis_cache, code, f->a, f->b, f->c,
                                                                    generation, &req->work->analysis, rule);
    (void)room;
    words[0] = status == SW_OK;
    return 1 + (status == SW_OK ? sw_rule_pack(rule, code->arch->machine, words + 1) : 0);
}

enum sw_status sw_function_rule(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin,
                                uint64_t end, struct sw_rule *rule)
{
    const struct sw_finding finding = { SW_FINDING_RULE, begin, end, req->frame->lookup };
    uint64_t *words = req->work->rule_words;
    const size_t count = sw_find_once(req, code, &finding, find_rule, words, SW_RULE_WORDS);
    return count != 0 && words[0] && sw_rule_unpack(words + 1, count - 1, code->arch->machine, rule) ? SW_OK
                                                                                                     : SW_E_NO_RULE;
}

bool sw_function_analyze(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin, uint64_t end)
{
    const struct sw_finding finding = { SW_FINDING_ANALYSIS, begin, end, 0 };
    const struct sw_finding large = { SW_FINDING_ANALYSIS, begin, end, IS_LARGE };
    const uint64_t generation = sw_finding_generation(req->walker, begin);
    struct sw_analysis *w = &req->work->analysis;
    struct sw_piece piece;
    uint64_t word = 0;
    if (!sw_meter_pay(&req->work->meter, 2) ||
        sw_analysis_cache_try(req->walker->analysis_cache, code, &large, generation, &word, 1) ||
        !sw_piece_begin(req, code, &finding, generation, &piece))
        return false;
    sw_analysis_cache_analyze(req->walker->analysis_cache, code, begin, end, generation, w);
    if (!sw_piece_end(req, &piece))
        return false;
    if (w->block_count > MOST_FRAMES)
        sw_analysis_cache_put(req->walker->analysis_cache, code, &large, generation, &word, 1);
    return w->block_count <= MOST_FRAMES;
}

bool sw_function_has_frame(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin,
                           bool (*accept)(const struct sw_unwind_request *req, uint64_t pc, uint64_t function),
                           struct sw_candidate *candidate)
{
    struct sw_workspace *work = req->work;
    const struct sw_state *state, *last = NULL;
    if (!sw_function_analyze(req, code, begin, 0))
        return false;
    for (unsigned at = 0; (state = sw_analyze_frame(&work->analysis, &at)) != NULL; last = state) {
        if (!sw_meter_pay(&req->work->meter, 1))
            return false;
        if (state == last || !sw_extract_inside(state, code->arch, &candidate->rule) ||
            sw_candidate_try(req, candidate) != SW_STOP_NONE || !accept(req, sw_regs_pc(&candidate->caller), begin))
            continue;
        candidate->rule.source = SW_SOURCE_FORWARD;
        candidate->rule.trust = SW_TRUST_GUESS;
        return true;
    }
    return false;
}

/* ---- states ---- */

/* Whether a path was seen from f->a to f->b, and the registers there. */
static size_t find_state(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *f,
                         uint64_t *words, size_t room)
{
    struct sw_analysis *w = &req->work->analysis;
    bool assumed;
    (void)room;
    memset(words, 0, SW_STATE_WORDS * sizeof *words);
    sw_analyze_run(code, f->a, 0, w);
    const struct sw_state *there = sw_analyze_state(w, f->b, &assumed);
    if (!there)
        return SW_STATE_WORDS;
    words[0] = !assumed;
    memcpy(words + 1, there->reg, sizeof there->reg);
    return SW_STATE_WORDS;
}

bool sw_state_from(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t from,
                   struct sw_state *state)
{
    const struct sw_finding finding = { SW_FINDING_STATE, from, req->frame->lookup, 0 };
    const uint64_t *words = req->work->words;
    if (sw_find_once(req, code, &finding, find_state, req->work->words, SW_FINDING_WORDS) != SW_STATE_WORDS)
        return false;
    memcpy(state->reg, words + 1, sizeof state->reg);
    return words[0] != 0;
}
