/*
 * Confirmation by calls: the call in front of a return address names the function that pc should be in. Analysed from
 * its start, that function says where its return address lies; if what lies there is behind a call of that very
 * function, the caller is certain. So a candidate is confirmed, and where nothing leads forward to a return (code that
 * never returns) the stack is searched for such a call. A word that only looks like a return address confirms nothing.
 * Knows x64 calls; shapes of stubs from prologue-shapes.md.
 */
#include "search.h"

#include "base/bytes.h"
#include "x64/x64.h"

enum { MOST_HOPS = 3, MOST_FUNCTIONS = 16, WINDOW = 131072, CHUNK = 512, LONGEST_FUNCTION = SW_ANALYZE_SEEN };

static bool decode(const struct sw_question *q, uint64_t at, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes = sw_fetch_code(&q->room->fetch, at, &size);
    return bytes && sw_x64_decode(bytes, size, at, insn) == SW_OK;
}

/* Where a call ends up: through the jumps of a PLT entry or an import stub. */
static uint64_t final_target(const struct sw_question *q, uint64_t target)
{
    for (unsigned hops = 0; hops < MOST_HOPS && target != 0; hops++) {
        struct sw_insn insn;
        if (decode(q, target, &insn) && insn.flow == SW_FLOW_NEXT && insn.count == 0 &&
            !decode(q, target + insn.length, &insn)) /* endbr64 in front */
            return target;
        if (insn.flow != SW_FLOW_INDIRECT || !insn.slot)
            return target;
        if (!sw_memory_word(&q->walker->memory, insn.slot, &target))
            return 0;
    }
    return target;
}

/* The function that the call in front of a return address calls; 0 when that is not known or there is no call. */
static uint64_t called_before(const struct sw_question *q, uint64_t after)
{
    uint64_t target = 0;
    return sw_is_behind_call(q, after, &target) ? final_target(q, target) : 0;
}

bool sw_search_confirm(const struct sw_question *q, const struct sw_code *code, uint64_t function)
{
    struct sw_walk_room *room = q->room;
    function = final_target(q, function);
    if (function == 0 ||
        sw_analyze_function(code, function, 0, q->frame->lookup, &room->analysis, &room->rule) != SW_OK)
        return false;
    if (sw_try_rule(q, &room->rule, NULL) != SW_STOP_NONE || called_before(q, sw_regs_pc(&room->caller)) != function)
        return false;
    room->rule.source = SW_SOURCE_FORWARD;
    room->rule.trust = room->rule.trust == SW_TRUST_GUESS ? SW_TRUST_LIKELY : SW_TRUST_CONFIRMED;
    return true;
}

static bool may_be_code(const struct sw_question *q, uint64_t address)
{
    if (q->walker->codemap && sw_codemap_find(q->walker->codemap, address, NULL) == SW_OK)
        return true;
    return q->walker->images ? sw_images_entry(q->walker->images, address) != NULL : address >= 4096;
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

static bool confirm_word(const struct sw_question *q, const struct sw_code *code, uint64_t word, struct tried *tried)
{
    const uint64_t function = may_be_code(q, word) ? called_before(q, word) : 0;
    return function != 0 && q->frame->lookup - function < LONGEST_FUNCTION && is_new(tried, function) &&
           sw_search_confirm(q, code, function);
}

bool sw_search_stack(const struct sw_question *q, const struct sw_code *code)
{
    const uint64_t sp = sw_regs_sp(&q->frame->regs);
    struct tried tried = { .count = 0 };
    uint8_t chunk[CHUNK];
    if (q->walker->machine != SW_MACHINE_X64 || sp > UINT64_MAX - WINDOW)
        return false;
    for (uint64_t at = sp; at < sp + WINDOW; at += CHUNK) {
        const size_t got = sw_memory_read(&q->walker->memory, at, chunk, CHUNK);
        for (size_t i = 0; i + 8 <= got && i + 8 <= CHUNK && tried.count < MOST_FUNCTIONS; i += 8)
            if (confirm_word(q, code, sw_load64(chunk + i), &tried))
                return true;
        if (got != CHUNK || tried.count == MOST_FUNCTIONS)
            return false;
    }
    return false;
}
