/*
 * The ways on from a pc, forward: to returns, whose rules are shown, and to an indirect jump. Refuses to know stacks.
 */
#include "unwind/findings.h"

#include "unwind/find_once.h"
#include "unwind/shown.h"

#include <string.h>

/* Of work that is done ahead. */
static bool accept_none(void *arg, const struct sw_rule *rule)
{
    (void)arg, (void)rule;
    return false;
}

/*
 * The registers at an indirect jump, in terms of what they are at the pc from which it was reached. Of several jumps
 * the one with the most on the stack, since others may be tail calls; but no more than at pc, where the frame is made.
 */
static size_t deepest_jump(struct sw_analysis *w, unsigned sp, uint64_t *words)
{
    const struct sw_state *state;
    int32_t deepest = INT32_MAX;
    words[0] = false;
    for (unsigned at = 0; (state = sw_analyze_jump(w, &at)) != NULL;) {
        const struct sw_val v = state->reg[sp];
        if (v.base != sp + 1 || v.deref || v.off < 0 || v.off >= deepest)
            continue;
        deepest = v.off;
        words[0] = true;
        memcpy(words + 1, state->reg, sizeof state->reg);
    }
    return words[0] ? SW_STATE_WORDS : 1;
}

static size_t find_jump(const struct sw_unwind_request *req, const struct sw_code *code,
                        const struct sw_finding *finding, uint64_t *words, size_t room)
{
    struct sw_fp_distance unknown = { 0, false, false };
    (void)room;
    (void)!sw_analyze_forward(code, finding->a, &unknown, &req->work->analysis, accept_none, NULL);
    return deepest_jump(&req->work->analysis, code->arch->roles->sp, words);
}

static struct sw_finding jump_from(uint64_t pc)
{
    return (struct sw_finding){ SW_FINDING_TO_JUMP, pc, 0, 0 };
}

bool sw_state_at_jump(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc,
                      struct sw_state *state)
{
    const struct sw_finding finding = jump_from(pc);
    const uint64_t *words = req->work->words;
    if (sw_find_once(req, code, &finding, find_jump, req->work->words, SW_FINDING_WORDS) != SW_STATE_WORDS || !words[0])
        return false;
    memcpy(state->reg, words + 1, sizeof state->reg);
    return true;
}

/* ---- to a return ---- */

static uint64_t distance_key(const struct sw_fp_distance *fp)
{
    return !fp->is_used ? 0 : fp->is_known ? (uint64_t)(uint32_t)fp->above_sp | UINT64_C(1) << 33 : UINT64_C(1) << 32;
}

/* What the distance is, and that it matters. */
static uint64_t used_key(const struct sw_fp_distance *fp)
{
    const struct sw_fp_distance used = { fp->above_sp, fp->is_known, true };
    return distance_key(&used);
}

/* Looks for what was found before: where the distance made no difference, or where it was the same. */
static bool show_known_ways(struct sw_shown *s, const struct sw_code *code, uint64_t pc,
                            const struct sw_fp_distance *fp, uint64_t generation)
{
    struct sw_finding finding = { SW_FINDING_FORWARD, pc, 0, 0 };
    if (!sw_meter_pay(&s->req->work->meter, 1))
        return false;
    s->words =
        sw_analysis_cache_try(s->req->walker->analysis_cache, code, &finding, generation, s->buffer, SW_FINDING_WORDS);
    finding.b = used_key(fp);
    if (s->words == 0)
        s->words = sw_analysis_cache_get(s->req->walker->analysis_cache, code, &finding, generation, s->buffer,
                                         SW_FINDING_WORDS);
    return s->words != 0 && sw_show_known(s);
}

static bool show_way(void *arg, const struct sw_rule *rule)
{
    return sw_show(arg, rule, 0);
}

struct plain_accept {
    bool (*accept)(void *arg, const struct sw_rule *rule);
    void *arg;
};

/* All ways are gone, and a walk took none of them: then it is asked which of them come to a jump. */
static void keep_jump(struct sw_shown *s, const struct sw_code *code, uint64_t pc, uint64_t generation)
{
    const struct plain_accept *plain = s->arg;
    if (plain->accept == accept_none)
        return;
    const struct sw_finding finding = jump_from(pc);
    const size_t count = deepest_jump(&s->req->work->analysis, code->arch->roles->sp, s->buffer);
    sw_analysis_cache_put(s->req->walker->analysis_cache, code, &finding, generation, s->buffer, count);
}

static void go(struct sw_shown *s, const struct sw_code *code, uint64_t pc, struct sw_fp_distance *fp,
               uint64_t generation)
{
    struct sw_finding finding = { SW_FINDING_FORWARD, pc, used_key(fp), 0 };
    struct sw_piece piece;
    if (!sw_piece_begin(s->req, code, &finding, generation, &piece))
        return;
    s->words = s->words ? s->words : 1;
    const bool is_all = sw_analyze_forward(code, pc, fp, &s->req->work->analysis, show_way, s) == SW_E_NO_RULE;
    if (!sw_piece_end(s->req, &piece))
        return;
    finding.b = distance_key(fp);
    sw_shown_keep(s, code, &finding, generation);
    if (is_all && !fp->is_used)
        keep_jump(s, code, pc, generation);
}

static bool accept_plain(void *arg, const struct sw_rule *rule, uint64_t tag)
{
    const struct plain_accept *plain = arg;
    (void)tag;
    return plain->accept(plain->arg, rule);
}

enum sw_status sw_forward_rules(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc,
                                struct sw_fp_distance *fp, bool (*accept)(void *arg, const struct sw_rule *rule),
                                void *arg)
{
    struct sw_fp_distance unknown = { 0, false, false };
    struct sw_fp_distance *distance = fp ? fp : &unknown;
    struct plain_accept plain = { accept, arg };
    struct sw_shown s = { .req = req, .buffer = req->work->words, .accept = accept_plain, .arg = &plain };
    const uint64_t generation = sw_finding_generation(req->walker, pc);
    if (!show_known_ways(&s, code, pc, distance, generation) && !req->work->meter.is_cut)
        go(&s, code, pc, distance, generation);
    return s.is_accepted && !req->work->meter.is_cut ? SW_OK : SW_E_NO_RULE;
}

void sw_findings_go_forward(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc,
                            struct sw_fp_distance *fp)
{
    (void)!sw_forward_rules(req, code, pc, fp, accept_none, NULL);
}
