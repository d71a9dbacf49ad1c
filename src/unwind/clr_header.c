/*
 * CoreCLR's header of JIT code as a source. To read it takes three system calls in one's own process, more than all the
 * rest of a step; what it says of a method's own code is kept in the analysis cache until a range of code near it is
 * removed from the code map. Refuses to know the header's form (clr/jit_header.c).
 */
#include "unwind/analysis_cache.h"
#include "unwind/sources.h"

#include "clr/clr.h"

#include <string.h>

enum { MAIN_WORDS = sizeof(struct sw_clr_jit_main) / 8 };
_Static_assert(sizeof(struct sw_clr_jit_main) == 8 * MAIN_WORDS, "whole words");

/* When code near the range was removed last, never 0; 0: nothing would tell that the range is gone. */
static uint64_t generation_of(const struct sw_unwind_request *req)
{
    const struct sw_codemap *map = req->walker->codemap;
    const struct sw_range *code = &req->frame->code;
    if (!map || !req->walker->analysis_cache || (code->flags & SW_RANGE_FROM_FINDER))
        return 0;
    const _Atomic uint64_t *changes = sw_codemap_changes(map) + SW_REMOVED + sw_piece(code->begin);
    return 1 + atomic_load_explicit(changes, memory_order_acquire);
}

static struct sw_finding finding_of(const struct sw_range *code)
{
    return (struct sw_finding){ SW_FINDING_HEADER, code->begin, code->end, code->id };
}

static bool recall(const struct sw_unwind_request *req, uint64_t generation, struct sw_clr_jit_main *main)
{
    const struct sw_finding finding = finding_of(&req->frame->code);
    uint64_t words[MAIN_WORDS];
    struct sw_code code;
    if (generation == 0 || !sw_code_of(req, &code) ||
        sw_analysis_cache_try(req->walker->analysis_cache, &code, &finding, generation, words, MAIN_WORDS) !=
            MAIN_WORDS)
        return false;
    memcpy(main, words, sizeof *main);
    return true;
}

/* What was read is the range's if the range is there still, and nothing near it was removed meanwhile. */
static void keep(const struct sw_unwind_request *req, uint64_t generation, const struct sw_clr_jit_main *main)
{
    const struct sw_finding finding = finding_of(&req->frame->code);
    uint64_t words[MAIN_WORDS];
    struct sw_range range;
    struct sw_code code;
    if (generation == 0 || main->info_size == 0 || !sw_code_of(req, &code) ||
        !sw_codemap_find_inside(req->walker->codemap, finding.a, &range) || range.begin != finding.a ||
        range.end != finding.b || range.id != finding.c || generation_of(req) != generation)
        return;
    memcpy(words, main, sizeof *main);
    sw_analysis_cache_put(req->walker->analysis_cache, &code, &finding, generation, words, MAIN_WORDS);
}

enum sw_status sw_source_clr_header(const struct sw_unwind_request *req, struct sw_rule *rule,
                                    struct sw_clr_jit_code *about)
{
    const struct sw_walker *walker = req->walker;
    const struct sw_frame *frame = req->frame;
    const struct sw_range *code = &frame->code;
    const bool linux_code = code->unwind != SW_UNWIND_CLR_WINDOWS;
    if (!sw_has_clr_header(code))
        return SW_E_NO_RULE;
    const uint64_t generation = generation_of(req);
    *about = (struct sw_clr_jit_code){ 0 };
    if (recall(req, generation, &about->main) &&
        sw_clr_jit_main_rule(walker->machine, linux_code, &walker->memory, &about->main, frame->lookup, frame->exact,
                             rule) == SW_OK) {
        about->function = about->main.method;
        return SW_OK;
    }
    const enum sw_status status = sw_clr_jit_rule(walker->machine, linux_code, &walker->memory, code->begin, code->end,
                                                  frame->lookup, frame->exact, rule, about);
    if (status == SW_OK && about->flags == 0)
        keep(req, generation, &about->main);
    return status;
}

bool sw_source_clr_body(const struct sw_unwind_request *req, uint64_t *begin, uint64_t *end)
{
    struct sw_clr_jit_main main;
    return sw_has_clr_header(&req->frame->code) && recall(req, generation_of(req), &main) &&
           sw_clr_jit_main_body(req->walker->machine, &req->walker->memory, &main, begin, end) == SW_OK;
}

bool sw_source_may_end(const uint8_t *code, uint64_t size)
{
    return size < SW_PE_BODY_BYTES || sw_pe_may_begin_epilogue(code);
}
