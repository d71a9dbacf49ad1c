/*
 * The sources of rules, a row each at the end of this file, asked in this order: what came with the range, the image's
 * tables, signal trampolines by their bytes, where stacks begin, instructions from a known start, instructions forward
 * to a return, the frame pointer. Every one ends in a struct sw_candidate. Nothing here loads a register: that is
 * sw_rule_apply's.
 */
#include "unwind/sources.h"
#include "unwind/cfi_image.h"
#include "unwind/pe_image.h"
#include "unwind/infer/code_patterns.h"
#include "unwind/infer/instructions.h"
#include "unwind/trampoline.h"

/* ---- what came with the range ---- */

static enum sw_status from_declared_leaf(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    sw_rule_leaf(&c->rule, req->walker->machine, SW_SOURCE_LEAF, SW_TRUST_EXACT);
    return SW_OK;
}

static enum sw_status from_header(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    c->rule = req->work->header_rule;
    return SW_OK;
}

/* ---- the image's tables ---- */

/*
 * ARM64 kernels up to 5.7 describe their trampoline by the frame record above the ucontext, which holds the interrupted
 * lr in the place of the pc. The ucontext itself, by the trampoline's bytes, knows better.
 */
static enum sw_status from_cfi(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    const enum sw_status status = sw_cfi_image_source(req, c);
    const struct sw_arch *arch = sw_arch_of(req->walker->machine);
    const bool is_record =
        status == SW_OK && (c->rule.flags & SW_RULE_SIGNAL) != 0 && arch && (arch->cfi_quirks & SW_CFI_TRAMPOLINE) != 0;
    return is_record && sw_trampoline_source(req, c) == SW_OK ? SW_OK : status;
}

static enum sw_status from_sframe(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    return sw_sframe_rule(&req->entry->sframe, req->frame->lookup, &c->rule);
}

static enum sw_status from_ready_to_run(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    if (!req->entry->has_clr || req->entry->pe.machine != req->walker->machine)
        return SW_E_NO_RULE;
    return sw_clr_image_rule(&req->entry->clr, req->frame->lookup, req->frame->exact, &c->rule);
}

/* ReadyToRun images know better. */
static enum sw_status from_exceptions(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    if (!req->entry->has_pe || req->entry->has_clr || req->entry->pe.machine != req->walker->machine)
        return SW_E_NO_RULE;
    return sw_pe_image_source(req, c);
}

/* ---- the frame pointer, and code that cannot be read ---- */

/* Whether a word of the stack is a selector, which takes 16 bits of it: the rest may be anything. */
static bool is_selector(const struct sw_unwind_request *req, uint64_t address, uint8_t selector)
{
    uint64_t word;
    return sw_memory_word(&req->walker->memory, address, &word) && (word & 0xffff) == selector;
}

static bool is_in_stack(const struct sw_walker *walker, uint64_t sp)
{
    return sp >= walker->stack_begin && sp < walker->stack_end;
}

/*
 * Whether sp, on another stack than the thread's, points to what an interrupt return takes: then that is the next
 * instruction but a few, whatever the code may be. Wine's host goes so from a stack of its own to the thread's.
 */
static bool is_interrupt_return(const struct sw_unwind_request *req)
{
    const struct sw_walker *walker = req->walker;
    const struct sw_arch *arch = sw_arch_of(walker->machine);
    const uint64_t sp = sw_regs_sp(&req->frame->regs);
    uint64_t to;
    if (!arch || arch->user_cs == 0 || walker->stack_end == 0 || is_in_stack(walker, sp))
        return false;
    return is_selector(req, sp + 8, arch->user_cs) && is_selector(req, sp + 32, arch->user_ss) &&
           sw_memory_word(&walker->memory, sp + 24, &to) && is_in_stack(walker, to);
}

static void interrupt_rule(enum sw_machine machine, struct sw_rule *rule)
{
    const uint8_t sp = (uint8_t)sw_regs_sp_number(machine);
    sw_rule_init(rule, machine, SW_SOURCE_SIGNAL_FRAME, SW_TRUST_LIKELY);
    rule->flags = SW_RULE_SIGNAL;
    rule->r[sw_regs_pc_number(machine)] = (struct sw_loc){ SW_LOC_AT_REG, sp, 0, 0 };
    rule->cfa = rule->r[sp] = (struct sw_loc){ SW_LOC_AT_REG, sp, 0, 24 };
}

/* Whether flags are on top, and a return address behind them: Wine's host pushes its caller's. The rule is a leaf's. */
static bool is_behind_flags(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    const struct sw_arch *arch = sw_arch_of(req->walker->machine);
    uint64_t word, target;
    if (!arch || arch->flags_set == 0 || !sw_memory_word(&req->walker->memory, sw_regs_sp(&req->frame->regs), &word) ||
        (word & arch->flags_set) != arch->flags_set || (word & arch->flags_clear) != 0)
        return false;
    c->rule.cfa.off += 8;
    if (sw_leads_behind_call(req, c, &target))
        return true;
    c->rule.cfa.off -= 8;
    return false;
}

/*
 * A call through a bad pointer: nothing was executed there, so the return address is where the call left it. Or code
 * that cannot be read.
 */
static enum sw_status from_bad_pc(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    if (!req->frame->exact || sw_place_of(req, sw_regs_pc(&req->frame->regs)) != SW_PLACE_DATA)
        return SW_E_NO_RULE;
    if (is_interrupt_return(req)) {
        interrupt_rule(req->walker->machine, &c->rule);
        return SW_OK;
    }
    sw_rule_leaf(&c->rule, req->walker->machine, SW_SOURCE_LEAF, SW_TRUST_GUESS);
    (void)is_behind_flags(req, c);
    return SW_OK;
}

/* A frame record: {caller's fp, return address}, above sp, aligned, rising. prologue-shapes.md section 5, E. */
static enum sw_status from_frame_pointer(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    const struct sw_regs *regs = &req->frame->regs;
    const unsigned fp = sw_regs_fp_number(regs->machine), pc = sw_regs_pc_number(regs->machine);
    struct sw_rule *rule = &c->rule;
    uint64_t target, next;
    if (!sw_regs_has(regs, fp) || sw_regs_fp(regs) < sw_regs_sp(regs) || sw_regs_fp(regs) % 8 != 0)
        return SW_E_NO_RULE;
    if (!sw_memory_word(&req->walker->memory, sw_regs_fp(regs), &next) ||
        (next != 0 && next <= sw_regs_fp(regs) && !sw_is_foreign(req))) /* the caller may use its own for anything */
        return SW_E_NO_RULE;
    sw_rule_init(rule, regs->machine, SW_SOURCE_FRAME_POINTER, SW_TRUST_GUESS);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (rule->r[n].kind == SW_LOC_SAME)
            rule->r[n].kind = SW_LOC_UNKNOWN; /* the record says nothing about them */
    rule->cfa = (struct sw_loc){ SW_LOC_REG, (uint8_t)fp, 0, 16 };
    rule->r[fp] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -16 };
    rule->r[pc] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -8 };
    return sw_leads_behind_call(req, c, &target) || c->stop == SW_STOP_ROOT_ZERO ? SW_OK : SW_E_NO_RULE;
}

/* ---- what rules by instructions may claim ---- */

/*
 * A register that such code did not touch may have been changed by a tail call to it; one that it stored may be an
 * argument, and one that it loads before it returns may be a spilled value of its own.
 */
static void claim_only_promised(const struct sw_unwind_request *req, struct sw_rule *rule)
{
    const enum sw_machine machine = req->walker->machine;
    const uint64_t promised = UINT64_C(1) << sw_regs_fp_number(machine) | UINT64_C(1) << sw_regs_sp_number(machine) |
                              UINT64_C(1) << sw_regs_pc_number(machine);
    if (!sw_is_foreign(req))
        return;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (!(promised >> n & 1))
            rule->r[n] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
}

/*
 * Where calls do not push, registers are saved one by one, some on some ways only, so that a way past a call that never
 * returns comes to a return that is as deep and restores others. A guess at the way leads to the caller, but says
 * nothing of them; where registers are pushed it would end at another depth.
 */
static void claim_only_the_record(enum sw_machine machine, struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(machine);
    const uint64_t others = roles->nonvolatile & ~(UINT64_C(1) << roles->fp);
    if (roles->link == SW_REGS_MAX || rule->source != SW_SOURCE_FORWARD || rule->trust != SW_TRUST_GUESS)
        return;
    for (unsigned n = 0; n < roles->count; n++)
        if (others >> n & 1)
            rule->r[n] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
}

/* ---- the sources ---- */

/*
 * Where a source has its knowledge from. LEAF, HEADER: what came with the range. ELF, SFRAME, PE: unwind tables of the
 * image around pc, unless the range wants analysis. BYTES, INSTRUCTIONS: the code at pc and what is on the stack.
 */
enum kind { LEAF, HEADER, ELF, SFRAME, PE, BYTES, INSTRUCTIONS, FRAME_POINTER, KINDS };
enum { TABLES = 1 << LEAF | 1 << HEADER | 1 << ELF | 1 << SFRAME | 1 << PE };

/* The kinds that a walker's flag forbids. */
static const struct forbidden {
    uint32_t flag, kinds;
} forbidden[] = { { SW_WALK_NO_TABLES, TABLES },
                  { SW_WALK_NO_ANALYSIS, 1 << INSTRUCTIONS },
                  { SW_WALK_NO_FRAME_POINTER, 1 << FRAME_POINTER } };

/*
 * Asked in this order. What is doubted is taken only when all have been asked.
 *
 * section, open  Of tables of images: where they are found, and how they are opened at set-up. Opened in this order.
 * ask            Null: tables that another row's reader asks beside its own.
 */
static const struct row {
    enum kind kind;
    const char *section;
    sw_open_tables_fn *open;
    enum sw_status (*ask)(const struct sw_unwind_request *req, struct sw_candidate *c);
} rows[SW_SOURCES] = {
    { LEAF, NULL, NULL, from_declared_leaf },
    { HEADER, NULL, NULL, from_header },
    { ELF, ".eh_frame", sw_open_eh_frame, from_cfi },
    { ELF, ".debug_frame", sw_open_debug_frame, NULL },
    { SFRAME, ".sframe", sw_open_sframe, from_sframe },
    { PE, NULL, sw_open_ready_to_run, from_ready_to_run },
    { PE, NULL, sw_open_exceptions, from_exceptions },
    { BYTES, NULL, NULL, sw_trampoline_source },
    { BYTES, NULL, NULL, from_bad_pc },
    { INSTRUCTIONS, NULL, NULL, sw_root_source },
    { INSTRUCTIONS, NULL, NULL, sw_plt_source },
    { INSTRUCTIONS, NULL, NULL, sw_function_source },
    { INSTRUCTIONS, NULL, NULL, sw_forward_source },
    { FRAME_POINTER, NULL, NULL, from_frame_pointer },
};

enum sw_status sw_sources_open(struct sw_images *images, struct sw_image_entry *entry,
                               const struct sw_sections *sections)
{
    const bool is_pe = entry->info.is_pe;
    enum sw_status status = SW_OK;
    for (unsigned n = 0; n < SW_SOURCES && status == SW_OK; n++) {
        if ((rows[n].kind == PE) != is_pe || !rows[n].open)
            continue;
        const struct sw_bytes none = { 0 };
        const struct sw_bytes section = is_pe ? none : sections->find(sections, entry, rows[n].section);
        if (is_pe || section.size > 0)
            status = rows[n].open(images, entry, section, sections);
    }
    return status;
}

enum sw_status sw_sources_open_pe(struct sw_images *images, struct sw_image_entry *entry)
{
    entry->info.is_pe = true;
    const enum sw_status status = sw_sources_open(images, entry, NULL);
    entry->info.is_ready_to_run = entry->has_clr;
    entry->info.machine = entry->pe.machine;
    entry->info.begin = entry->info.bias = entry->pe.bytes.address;
    entry->info.end = entry->info.begin + entry->pe.size_of_image;
    return status;
}

uint32_t sw_sources_of(const struct sw_unwind_request *req)
{
    const struct sw_image_entry *entry = req->frame->code.unwind != SW_UNWIND_ANALYSIS ? req->entry : NULL;
    uint32_t kinds = 1 << BYTES | 1 << INSTRUCTIONS | 1 << FRAME_POINTER;
    kinds |= req->frame->code.unwind == SW_UNWIND_LEAF ? 1 << LEAF : 0;
    kinds |= req->work->header_rule.source != SW_SOURCE_NONE ? 1 << HEADER : 0;
    kinds |= entry && entry->has_cfi ? 1 << ELF : 0;
    kinds |= entry && entry->has_sframe ? 1 << SFRAME : 0;
    kinds |= entry && (entry->has_pe || entry->has_clr) ? 1 << PE : 0;
    for (size_t i = 0; req->walker->flags != 0 && i < sizeof forbidden / sizeof forbidden[0]; i++)
        kinds &= req->walker->flags & forbidden[i].flag ? ~forbidden[i].kinds : ~0u;
    return kinds;
}

/* Code that cannot be read says nothing, and to search for what is around it takes a failing read for each piece. */
static bool has_instructions(const struct sw_unwind_request *req)
{
    struct sw_fetch *fetch = &req->work->fetch;
    size_t size;
    return sw_fetch_code(fetch, sw_regs_pc(&req->frame->regs), &size) ||
           sw_fetch_code(fetch, req->frame->lookup, &size);
}

/* The first row from `row` on that is to be asked, or the end. */
static const struct row *next_row(const struct sw_unwind_request *req, uint32_t kinds, const struct row *row)
{
    while (row < rows + SW_SOURCES && !(row->ask && kinds >> row->kind & 1))
        row++;
    if (row == rows + SW_SOURCES || row->kind != INSTRUCTIONS || row[-1].kind == INSTRUCTIONS || has_instructions(req))
        return row;
    return next_row(req, kinds & ~(1u << INSTRUCTIONS), row);
}

enum sw_status sw_source_ask(const struct sw_unwind_request *req, uint32_t kinds, unsigned *n,
                             struct sw_candidate *candidate)
{
    const struct row *row = next_row(req, kinds, &rows[*n]);
    *n = (unsigned)(row - rows) + 1;
    candidate->depends = SW_DEPENDS_CODE;
    candidate->is_searched = candidate->is_doubted = false;
    candidate->pointed = SW_TRUST_NONE;
    if (row == rows + SW_SOURCES)
        return SW_E_NO_RULE;
    const enum sw_status status = row->ask(req, candidate);
    if (status == SW_OK && row->kind == INSTRUCTIONS) {
        claim_only_promised(req, &candidate->rule);
        claim_only_the_record(req->walker->machine, &candidate->rule);
    }
    return status;
}
