/* See shown.h. In a buffer: whether these are all, then each rule's tag and words. */
#include "unwind/shown.h"

#include "unwind/find_once.h"
#include "unwind/rule_words.h"

#include <string.h>

enum { IS_WHOLE = 1, TAG_WORDS = 1 };

static bool was_shown(const struct sw_shown *s, const uint64_t *packed, size_t size)
{
    for (size_t at = 1; at < s->words;) {
        const size_t there = TAG_WORDS + sw_rule_words(s->buffer + at + TAG_WORDS);
        if (there == size && memcmp(s->buffer + at + TAG_WORDS, packed + TAG_WORDS, (size - TAG_WORDS) * 8) == 0)
            return true;
        at += there;
    }
    return false;
}

bool sw_show(struct sw_shown *s, const struct sw_rule *rule, uint64_t tag)
{
    uint64_t packed[TAG_WORDS + SW_PACKED_RULE_WORDS];
    const size_t size = TAG_WORDS + sw_rule_pack(rule, s->req->walker->machine, packed + TAG_WORDS);
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

bool sw_show_known(struct sw_shown *s)
{
    struct sw_rule *rule = &s->req->work->spare_rule;
    size_t size;
    for (size_t at = 1; at < s->words && !s->is_accepted; at += TAG_WORDS + size) {
        size = sw_rule_unpack(s->buffer + at + TAG_WORDS, s->words - at - TAG_WORDS, s->req->walker->machine, rule);
        if (size == 0)
            return false;
        s->count++;
        s->is_accepted = s->accept(s->arg, rule, s->buffer[at]);
    }
    return s->is_accepted || (s->buffer[0] & IS_WHOLE);
}

void sw_shown_keep(struct sw_shown *s, const struct sw_code *code, const struct sw_finding *finding,
                   uint64_t generation)
{
    s->buffer[0] = s->is_accepted ? 0 : IS_WHOLE;
    sw_analysis_cache_put(s->req->walker->analysis_cache, code, finding, generation, s->buffer, s->words);
}

bool sw_show_once(struct sw_shown *s, const struct sw_code *code, const struct sw_finding *finding, sw_shower *find,
                  void *arg)
{
    const uint64_t generation = sw_finding_generation(s->req->walker, finding->a);
    struct sw_meter *meter = &s->req->work->meter, *outer = &s->req->work->outer;
    if (!sw_meter_pay(meter, 1))
        return false;
    s->words =
        sw_analysis_cache_get(s->req->walker->analysis_cache, code, finding, generation, s->buffer, SW_FINDING_WORDS);
    if (s->words != 0 && sw_show_known(s))
        return s->is_accepted;
    s->words = s->words ? s->words : 1;
    *outer = (struct sw_meter){ .left = 0 };
    find(s, code, arg);
    if (meter->is_cut) {
        const struct sw_pending pending = { *finding, generation, 1 }; /* its pieces are cut where they cost too much */
        sw_analysis_cache_pend(s->req->walker->analysis_cache, &pending);
        return false;
    }
    sw_analysis_cache_settle(s->req->walker->analysis_cache, finding);
    sw_meter_forget(meter);
    sw_meter_note_all(meter, outer);
    sw_shown_keep(s, code, finding, generation);
    return s->is_accepted;
}
