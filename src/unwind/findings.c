/*
 * See findings.h. Knows what a finding is made of, what it costs and how it is kept; refuses to know stacks. A finding
 * about code in an image holds as long as no image changes, other findings as long as the bytes that they were read
 * from are the same.
 *
 * A scan that was cut is finished by function_scan.c, which makes its findings here: so the two files call each other.
 */
#include "unwind/findings.h"

#include "unwind/infer/function_scan.h"

#include <string.h>

enum { STAMP_BYTES = 32, MOST_FRAMES = 2048, IS_LARGE = 1 };

/* ---- pieces of work ---- */

/* A piece of work in progress. left: what the meter had left before. */
struct piece {
    struct sw_pending about;
    uint64_t left;
};

static struct sw_meter *meter_of(const struct sw_unwind_request *req)
{
    return &req->work->meter;
}

/* The generation of the images, for code that is in one; 0: it is in none. */
static uint64_t generation_of(const struct sw_walker *walker, uint64_t address)
{
    const bool in_image = walker->images && sw_images_entry(walker->images, address);
    return in_image ? sw_images_generation(walker->images) + 1 : 0;
}

/* What changes with the code of a piece of work: if it is in no image, the bytes at its address. */
static uint64_t stamp_of(const struct sw_code *code, uint64_t address, uint64_t generation)
{
    const struct sw_extent here = { address, address + STAMP_BYTES };
    return generation ? generation : sw_code_hash(code, &here, 1);
}

static struct sw_analysis_cache *cache_of(const struct sw_unwind_request *req)
{
    return req->walker->analysis_cache;
}

/* Begins a piece of work, unless it has been cut before and cost more than half of what is left. */
static __attribute__((noinline)) bool begin_piece(const struct sw_unwind_request *req, const struct sw_code *code,
                                                  const struct sw_finding *finding, uint64_t generation,
                                                  struct piece *piece)
{
    struct sw_meter *meter = meter_of(req);
    piece->left = meter->left;
    piece->about = (struct sw_pending){ .finding = *finding };
    if (meter->is_cut)
        return false;
    if (cache_of(req)) {
        piece->about.stamp = stamp_of(code, finding->a, generation);
        piece->about.cost = sw_analysis_cache_cost(cache_of(req), finding, piece->about.stamp);
    }
    meter->is_cut = piece->about.cost > meter->left / 2;
    sw_meter_forget(meter);
    return !meter->is_cut;
}

static void note_all(struct sw_meter *to, const struct sw_meter *from)
{
    for (uint8_t i = 0; i < from->count; i++)
        sw_meter_note(to, from->read[i].begin, (uint32_t)(from->read[i].end - from->read[i].begin));
    to->is_far |= from->is_far;
}

/* False: it was cut. What it was read from is what the finding around it is read from, too. */
static __attribute__((noinline)) bool end_piece(const struct sw_unwind_request *req, const struct piece *piece)
{
    const struct sw_meter *meter = meter_of(req);
    struct sw_pending about = piece->about;
    if (!meter->is_cut) {
        if (about.cost != 0)
            sw_analysis_cache_settle(cache_of(req), &about.finding);
        note_all(&req->work->outer, meter);
        return true;
    }
    about.cost = piece->left - meter->left + 1;
    sw_analysis_cache_pend(cache_of(req), &about);
    return false;
}

size_t sw_find_once(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *finding,
                    sw_find_fn *find, uint64_t *words, size_t room)
{
    const uint64_t generation = generation_of(req->walker, finding->a);
    struct piece piece;
    if (!sw_meter_pay(meter_of(req), 1))
        return 0;
    size_t count = sw_analysis_cache_get(cache_of(req), code, finding, generation, words, room);
    if (count != 0 || !begin_piece(req, code, finding, generation, &piece))
        return meter_of(req)->is_cut ? 0 : count;
    count = find(req, code, finding, words, room);
    if (!end_piece(req, &piece))
        return 0;
    sw_analysis_cache_put(cache_of(req), code, finding, generation, words, count);
    return count;
}

/* ---- rules as words ---- */

enum { RULE_WORDS = 3 + SW_REGS_MAX };

_Static_assert((int)RULE_WORDS < (int)SW_RULE_WORDS, "with a status");

/*
 * What stands in a rule beside what sw_rule_init gives: the CFA, a mask of registers, and their locations. Rules by
 * instructions have no expressions.
 */
static __attribute__((noinline)) size_t pack_rule(const struct sw_rule *rule, enum sw_machine machine,
                                                  uint64_t words[RULE_WORDS])
{
    struct sw_rule usual;
    uint64_t mask = 0;
    size_t count = 3;
    sw_rule_init(&usual, machine, SW_SOURCE_NONE, SW_TRUST_NONE);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (memcmp(&rule->r[n], &usual.r[n], sizeof usual.r[n]) != 0) {
            mask |= UINT64_C(1) << n;
            memcpy(&words[count++], &rule->r[n], sizeof rule->r[n]);
        }
    words[0] = rule->source | (uint64_t)rule->trust << 8 | (uint64_t)rule->flags << 16 |
               (uint64_t)(uint32_t)rule->cfa_add << 32;
    memcpy(&words[1], &rule->cfa, sizeof rule->cfa);
    words[2] = mask;
    return count;
}

/* How many words it is; 0: it is none, or not all of it. */
static size_t unpack_rule(const uint64_t *words, size_t count, enum sw_machine machine, struct sw_rule *rule)
{
    size_t at = 3;
    if (count < at)
        return 0;
    sw_rule_init(rule, machine, (enum sw_source)(words[0] & 0xff), (enum sw_trust)(words[0] >> 8 & 0xff));
    rule->flags = (uint8_t)(words[0] >> 16);
    rule->cfa_add = (int32_t)(words[0] >> 32);
    memcpy(&rule->cfa, &words[1], sizeof rule->cfa);
    for (unsigned n = 0; n < SW_REGS_MAX; n++) {
        if (!(words[2] >> n & 1))
            continue;
        if (at == count)
            return 0;
        memcpy(&rule->r[n], &words[at++], sizeof rule->r[n]);
    }
    return at;
}

/* ---- functions ---- */

/* Whether there is one, and the rule. */
static size_t find_rule(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *f,
                        uint64_t *words, size_t room)
{
    struct sw_rule *rule = &req->work->analysis.offered; /* not on the stack, of which little is left here */
    const uint64_t generation = generation_of(req->walker, f->a);
    const enum sw_status status =
        sw_analysis_cache_rule(cache_of(req), code, f->a, f->b, f->c, generation, &req->work->analysis, rule);
    (void)room;
    words[0] = status == SW_OK;
    return 1 + (status == SW_OK ? pack_rule(rule, code->arch->machine, words + 1) : 0);
}

enum sw_status sw_function_rule(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin,
                                uint64_t end, struct sw_rule *rule)
{
    const struct sw_finding finding = { SW_FINDING_RULE, begin, end, req->frame->lookup };
    uint64_t *words = req->work->rule_words;
    const size_t count = sw_find_once(req, code, &finding, find_rule, words, SW_RULE_WORDS);
    return count != 0 && words[0] && unpack_rule(words + 1, count - 1, code->arch->machine, rule) ? SW_OK
                                                                                                  : SW_E_NO_RULE;
}

bool sw_function_analyze(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin, uint64_t end)
{
    const struct sw_finding finding = { SW_FINDING_ANALYSIS, begin, end, 0 };
    const struct sw_finding large = { SW_FINDING_ANALYSIS, begin, end, IS_LARGE };
    const uint64_t generation = generation_of(req->walker, begin);
    struct sw_analysis *w = &req->work->analysis;
    struct piece piece;
    uint64_t word = 0;
    if (!sw_meter_pay(meter_of(req), 2) || sw_analysis_cache_try(cache_of(req), code, &large, generation, &word, 1) ||
        !begin_piece(req, code, &finding, generation, &piece))
        return false;
    sw_analysis_cache_analyze(cache_of(req), code, begin, end, generation, w);
    if (!end_piece(req, &piece))
        return false;
    if (w->block_count > MOST_FRAMES)
        sw_analysis_cache_put(cache_of(req), code, &large, generation, &word, 1);
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
        if (!sw_meter_pay(meter_of(req), 1))
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

enum { STATE_WORDS = 1 + 2 * SW_REGS_MAX };

_Static_assert(sizeof(struct sw_val) == 16, "two words");

/* Whether a path was seen from f->a to f->b, and the registers there. */
static size_t find_state(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *f,
                         uint64_t *words, size_t room)
{
    struct sw_analysis *w = &req->work->analysis;
    bool assumed;
    (void)room;
    memset(words, 0, STATE_WORDS * sizeof *words);
    sw_analyze_run(code, f->a, 0, w);
    const struct sw_state *there = sw_analyze_state(w, f->b, &assumed);
    if (!there)
        return STATE_WORDS;
    words[0] = !assumed;
    memcpy(words + 1, there->reg, sizeof there->reg);
    return STATE_WORDS;
}

bool sw_state_from(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t from,
                   struct sw_state *state)
{
    const struct sw_finding finding = { SW_FINDING_STATE, from, req->frame->lookup, 0 };
    const uint64_t *words = req->work->words;
    if (sw_find_once(req, code, &finding, find_state, req->work->words, SW_FINDING_WORDS) != STATE_WORDS)
        return false;
    memcpy(state->reg, words + 1, sizeof state->reg);
    return words[0] != 0;
}

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
    return words[0] ? STATE_WORDS : 1;
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
    if (sw_find_once(req, code, &finding, find_jump, req->work->words, SW_FINDING_WORDS) != STATE_WORDS || !words[0])
        return false;
    memcpy(state->reg, words + 1, sizeof state->reg);
    return true;
}

/* ---- rules that are shown one after the other ---- */

enum { IS_WHOLE = 1, TAG_WORDS = 1 };

static bool was_shown(const struct sw_shown *s, const uint64_t *packed, size_t size)
{
    for (size_t at = 1; at < s->words;) {
        const size_t there = TAG_WORDS + 3 + (size_t)__builtin_popcountll(s->buffer[at + TAG_WORDS + 2]);
        if (there == size && memcmp(s->buffer + at + TAG_WORDS, packed + TAG_WORDS, (size - TAG_WORDS) * 8) == 0)
            return true;
        at += there;
    }
    return false;
}

__attribute__((noinline)) bool sw_show(struct sw_shown *s, const struct sw_rule *rule, uint64_t tag)
{
    uint64_t packed[TAG_WORDS + RULE_WORDS];
    const size_t size = TAG_WORDS + pack_rule(rule, s->req->walker->machine, packed + TAG_WORDS);
    if (was_shown(s, packed, size))
        return false;
    if (s->count == SW_SHOWN_RULES || s->words + size > SW_FINDING_WORDS)
        return true;
    packed[0] = tag;
    memcpy(s->buffer + s->words, packed, size * 8);
    s->words += size;
    s->count++;
    s->is_accepted = s->accept(s->arg, rule, tag);
    return s->is_accepted;
}

/* Shows the rules that were found before. Whether that is all. */
static bool show_known(struct sw_shown *s)
{
    struct sw_rule *rule = &s->req->work->spare_rule;
    size_t size;
    for (size_t at = 1; at < s->words && !s->is_accepted; at += TAG_WORDS + size) {
        size = unpack_rule(s->buffer + at + TAG_WORDS, s->words - at - TAG_WORDS, s->req->walker->machine, rule);
        if (size == 0)
            return false;
        s->count++;
        s->is_accepted = s->accept(s->arg, rule, s->buffer[at]);
    }
    return s->is_accepted || (s->buffer[0] & IS_WHOLE);
}

/* Keeps what was shown, up to what was accepted. */
static void keep_shown(struct sw_shown *s, const struct sw_code *code, const struct sw_finding *finding,
                       uint64_t generation)
{
    s->buffer[0] = s->is_accepted ? 0 : IS_WHOLE;
    sw_analysis_cache_put(cache_of(s->req), code, finding, generation, s->buffer, s->words);
}

bool sw_show_once(struct sw_shown *s, const struct sw_code *code, const struct sw_finding *finding, sw_shower *find,
                  void *arg)
{
    const uint64_t generation = generation_of(s->req->walker, finding->a);
    struct sw_meter *meter = meter_of(s->req), *outer = &s->req->work->outer;
    if (!sw_meter_pay(meter, 1))
        return false;
    s->words = sw_analysis_cache_get(cache_of(s->req), code, finding, generation, s->buffer, SW_FINDING_WORDS);
    if (s->words != 0 && show_known(s))
        return s->is_accepted;
    s->words = s->words ? s->words : 1;
    *outer = (struct sw_meter){ .left = 0 };
    find(s, code, arg);
    if (meter->is_cut) {
        const struct sw_pending pending = { *finding, generation, 1 }; /* its pieces are cut where they cost too much */
        sw_analysis_cache_pend(cache_of(s->req), &pending);
        return false;
    }
    sw_analysis_cache_settle(cache_of(s->req), finding);
    sw_meter_forget(meter);
    note_all(meter, outer);
    keep_shown(s, code, finding, generation);
    return s->is_accepted;
}

/* ---- forward ---- */

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
    if (!sw_meter_pay(meter_of(s->req), 1))
        return false;
    s->words = sw_analysis_cache_try(cache_of(s->req), code, &finding, generation, s->buffer, SW_FINDING_WORDS);
    finding.b = used_key(fp);
    if (s->words == 0)
        s->words = sw_analysis_cache_get(cache_of(s->req), code, &finding, generation, s->buffer, SW_FINDING_WORDS);
    return s->words != 0 && show_known(s);
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
    sw_analysis_cache_put(cache_of(s->req), code, &finding, generation, s->buffer, count);
}

static void go(struct sw_shown *s, const struct sw_code *code, uint64_t pc, struct sw_fp_distance *fp,
               uint64_t generation)
{
    struct sw_finding finding = { SW_FINDING_FORWARD, pc, used_key(fp), 0 };
    struct piece piece;
    if (!begin_piece(s->req, code, &finding, generation, &piece))
        return;
    s->words = s->words ? s->words : 1;
    const bool is_all = sw_analyze_forward(code, pc, fp, &s->req->work->analysis, show_way, s) == SW_E_NO_RULE;
    if (!end_piece(s->req, &piece))
        return;
    finding.b = distance_key(fp);
    keep_shown(s, code, &finding, generation);
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
    const uint64_t generation = generation_of(req->walker, pc);
    if (!show_known_ways(&s, code, pc, distance, generation) && !req->work->meter.is_cut)
        go(&s, code, pc, distance, generation);
    return s.is_accepted && !req->work->meter.is_cut ? SW_OK : SW_E_NO_RULE;
}

/* ---- what was cut ---- */

void sw_findings_go_forward(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc)
{
    (void)!sw_forward_rules(req, code, pc, NULL, accept_none, NULL);
}

static void finish(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *f)
{
    struct sw_fp_distance fp = { (int32_t)(uint32_t)f->b, f->b >> 33 & 1, false };
    struct sw_candidate *c = &req->work->asked[0];
    switch (f->kind) {
    case SW_FINDING_RULE:
        (void)!sw_function_rule(req, code, f->a, f->b, &c->rule);
        break;
    case SW_FINDING_ANALYSIS:
        (void)sw_function_analyze(req, code, f->a, f->b);
        break;
    case SW_FINDING_FORWARD:
        (void)!sw_forward_rules(req, code, f->a, &fp, accept_none, NULL);
        break;
    case SW_FINDING_STATE:
        (void)sw_state_from(req, code, f->a, &req->work->elsewhere);
        break;
    case SW_FINDING_TO_JUMP:
        (void)sw_state_at_jump(req, code, f->a, &req->work->elsewhere);
        break;
    default: /* nothing on the stack is right, so that all is looked at */
        sw_function_scan_finish(req, code, f, c);
        break;
    }
}

/* The frame has the pc that the finding is about, and no other register. */
bool sw_findings_finish(const struct sw_unwind_request *req, struct sw_frame *frame, const struct sw_pending *pending)
{
    const struct sw_finding *f = &pending->finding;
    const uint64_t lookup = f->kind == SW_FINDING_RULE ? f->c : f->kind == SW_FINDING_STATE ? f->b : f->a;
    struct sw_code code;
    frame->lookup = lookup;
    frame->exact = f->kind != SW_FINDING_SCAN || f->b;
    sw_regs_set(&frame->regs, sw_regs_pc_number(frame->regs.machine), lookup + !frame->exact);
    if (!sw_code_of(req, &code))
        return true;
    finish(req, &code, f);
    if (req->work->meter.is_cut)
        return false;
    sw_analysis_cache_settle(cache_of(req), f);
    return true;
}
