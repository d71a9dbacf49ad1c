/*
 * Where stacks begin, told by the code there: nobody called it. A frame is the outermost one where its code
 *
 * 1. belongs to the start of the program, the function at the entry point of its image;
 * 2. ends the thread or the process by a system call, behind a call through a register: clone and its kin;
 * 3. was never come to by a call: the start of a made-up stack was stored as a return address, as makecontext,
 *    runtimes of goroutines and libraries of fibers do;
 * 4. calls what a register says before anything else, where calls overwrite the return address: it never returns;
 * 5. is on its way from clone to the call of 2, on the stack that clone was given: it was put there, or sp is clone's
 *    argument still.
 *
 * All but the last words are a matter of code: the same pc is the outermost frame's on every stack.
 *
 * Source: glibc clone.S, __start_context.S; musl clone.s; Go runtime asm_amd64.s, asm_arm64.s; Boost.Context
 * make_*_sysv_elf_gas.S.
 */
#include "unwind/infer/code_patterns.h"
#include "unwind/infer/instructions.h"

enum { NEAR = 1024, MOST_FAR = 8, MOST_SWEPT = 512, SHORTEST_START = 16, MOST_LAST = 5 };
enum { MOST_OF_A_START = 40, POPPED_MOST = 16 };

static bool decode(const struct sw_code *code, uint64_t at, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes = code->fetch(code->arg, at, &size);
    return bytes && code->arch->decode(bytes, size, at, insn) == SW_OK && insn->length > 0;
}

/* Whether an instruction does nothing: filler, a landing pad, a register moved to itself. */
static bool does_nothing(const struct sw_insn *insn)
{
    const struct sw_effect *e = &insn->effects[0];
    return insn->flow == SW_FLOW_NEXT &&
           (insn->count == 0 || (insn->count == 1 && e->kind == SW_EFFECT_SET && e->dst == e->src && e->imm == 0));
}

/* ---- the start of the program ---- */

/* What the start of the program calls, and has behind it, is another function. */
static uint64_t end_of_start(const struct sw_insn *insn, uint64_t at, uint64_t end)
{
    return insn->flow == SW_FLOW_CALL && insn->target > at && insn->target < end ? insn->target : end;
}

/*
 * The code in its order, from the entry point on, over jumps to where it really begins, up to what it calls. Far from
 * there only such a jump is looked for.
 */
bool sw_is_program_start(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc)
{
    const struct sw_image_entry *image = sw_request_image(req, pc);
    uint64_t at = image ? image->start : 0, begin = at, end = UINT64_MAX;
    struct sw_insn insn;
    unsigned far = 0;
    for (unsigned n = 0; at != 0 && at < end && n < MOST_SWEPT && decode(code, at, &insn); n++) {
        if (pc - at < insn.length)
            return true;
        if (pc - begin >= NEAR && ++far > MOST_FAR)
            return false;
        if (insn.flow == SW_FLOW_TRAP || insn.flow == SW_FLOW_RETURN || insn.flow == SW_FLOW_INDIRECT)
            return false;
        if (insn.flow == SW_FLOW_JUMP && insn.target - begin >= NEAR) {
            begin = insn.target;
            end = UINT64_MAX;
        }
        end = end_of_start(&insn, at, end);
        at = insn.flow == SW_FLOW_JUMP ? insn.target : at + insn.length;
    }
    return false;
}

/*
 * Whether a function behind the start, which has not called anything, is executing: the call that has filled the link
 * register is one of it. So is call_weak_fn of glibc's crt1 on ARM64, which .init calls.
 */
static bool is_called_behind_start(const struct sw_unwind_request *req, const struct sw_code *code)
{
    const struct sw_regs *regs = &req->frame->regs;
    const unsigned link = code->arch->roles->link;
    const struct sw_image_entry *image = sw_request_image(req, req->frame->lookup);
    uint64_t target;
    return image && req->frame->exact && sw_arch_has_link(code->arch) && sw_regs_has(regs, link) &&
           sw_is_behind_call(req, sw_code_address(req->walker, regs->r[link]), &target) && target > image->start &&
           target <= req->frame->lookup;
}

/* ---- threads ---- */

static bool ends_the_thread(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc)
{
    uint64_t target, slot;
    return sw_call_before(req, pc, &target, &slot) && target == 0 && slot == 0 && code->arch->patterns->exits(code, pc);
}

/*
 * Whether the code in its order comes to the call with which a thread begins. over_returns: the way there may go over a
 * branch, as behind clone, which returns in the parent.
 */
static bool leads_to_thread(const struct sw_unwind_request *req, const struct sw_code *code, bool over_returns)
{
    uint64_t at = sw_regs_pc(&req->frame->regs);
    struct sw_insn insn;
    if (!code->arch->patterns->syscall_ahead(code, at))
        return false;
    for (unsigned n = 0; n < MOST_OF_A_START && decode(code, at, &insn); n++) {
        at += insn.length;
        if (insn.flow == SW_FLOW_CALL && ends_the_thread(req, code, at))
            return true;
        if (insn.flow == SW_FLOW_TRAP || (insn.flow == SW_FLOW_RETURN && !over_returns))
            return false;
    }
    return false;
}

/* What the new stack began with may have been popped. */
static bool is_on_new_stack(const struct sw_unwind_request *req, const struct sw_code *code)
{
    const struct sw_regs *regs = &req->frame->regs;
    const unsigned argument = code->arch->patterns->new_stack;
    return req->frame->exact && sw_regs_has(regs, argument) && sw_regs_sp(regs) - regs->r[argument] <= POPPED_MOST;
}

/* ---- made-up stacks ---- */

static bool may_start(const struct sw_code *code, uint64_t at)
{
    size_t size;
    const uint8_t *front = code->fetch(code->arg, at - SW_START_BYTES, &size);
    return front && size >= 2 * SW_START_BYTES && code->arch->patterns->may_start(front + SW_START_BYTES, at);
}

/* A function's first instruction takes a nonvolatile register for its own: whoever made the stack left it there. */
static bool starts_a_context(const struct sw_code *code, uint64_t pc)
{
    const uint64_t kept = code->arch->roles->nonvolatile & ~(UINT64_C(1) << code->arch->roles->fp);
    struct sw_insn insn;
    if (!may_start(code, pc) || !decode(code, pc, &insn))
        return false;
    if (does_nothing(&insn) && !decode(code, pc + insn.length, &insn))
        return false;
    const struct sw_effect *e = &insn.effects[0];
    return insn.flow == SW_FLOW_NEXT && insn.count == 1 && e->kind == SW_EFFECT_SET && e->imm == 0 &&
           e->src < SW_REGS_MAX && (kept >> e->src & 1) && e->dst < SW_REGS_MAX && !(kept >> e->dst & 1);
}

/* Whether pc is behind a function's first instruction, which does nothing: so that pc - 1 is in that function. */
static bool is_behind_a_nop(const struct sw_code *code, uint64_t pc)
{
    const uint64_t begin = pc - code->arch->insn_bytes;
    struct sw_insn insn;
    return begin % SHORTEST_START == 0 && decode(code, begin, &insn) && insn.length == code->arch->insn_bytes &&
           does_nothing(&insn);
}

/* Straight on there is one call, and behind it nothing: it does not return, and the stack has ended. */
static bool calls_last(const struct sw_code *code, uint64_t pc)
{
    const bool is_second = is_behind_a_nop(code, pc);
    bool has_called = false;
    struct sw_insn insn;
    for (unsigned n = 0; n < MOST_LAST && decode(code, pc, &insn); n++, pc += insn.length) {
        if (has_called)
            return insn.flow == SW_FLOW_TRAP || (is_second && does_nothing(&insn));
        if (insn.flow != SW_FLOW_NEXT && insn.flow != SW_FLOW_CALL)
            return false;
        has_called = insn.flow == SW_FLOW_CALL;
    }
    return false;
}

bool sw_is_made_up(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc)
{
    uint64_t target;
    return pc >= SHORTEST_START && !sw_is_behind_call(req, pc, &target) &&
           (starts_a_context(code, pc) || calls_last(code, pc));
}

/*
 * Behind a function's landing pad and a call through a register, where that overwrites the return address, as
 * makecontext's start on ARM64 does from glibc 2.41 on.
 */
static bool has_lost_its_caller(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc)
{
    const uint64_t begin = pc - 2u * code->arch->insn_bytes;
    struct sw_insn insn;
    uint64_t target, slot;
    return sw_arch_has_link(code->arch) && pc >= SHORTEST_START && sw_call_before(req, pc, &target, &slot) &&
           target == 0 && slot == 0 && may_start(code, begin) && decode(code, begin, &insn) && does_nothing(&insn);
}

/* ---- the source ---- */

static bool has_no_caller(const struct sw_unwind_request *req, const struct sw_code *code)
{
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    return !req->frame->exact &&
           (ends_the_thread(req, code, pc) || sw_is_made_up(req, code, pc) || has_lost_its_caller(req, code, pc));
}

void sw_root_rule(enum sw_machine machine, struct sw_rule *rule)
{
    sw_rule_init(rule, machine, SW_SOURCE_FORWARD, SW_TRUST_LIKELY);
    rule->flags = SW_RULE_END;
}

enum sw_root sw_root_of(const struct sw_unwind_request *req, const struct sw_code *code, bool is_moved)
{
    if (has_no_caller(req, code) || (is_moved && leads_to_thread(req, code, false)))
        return SW_ROOT_BY_CODE;
    if (!req->frame->exact || !leads_to_thread(req, code, true))
        return SW_ROOT_NONE;
    return is_on_new_stack(req, code) ? SW_ROOT_BY_STACK : SW_ROOT_OF_OTHERS;
}

enum sw_status sw_root_source(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    struct sw_code code;
    if (!sw_code_of(req, &code))
        return SW_E_NO_RULE;
    const enum sw_root root = sw_root_of(req, &code, false);
    c->depends = root >= SW_ROOT_OF_OTHERS ? SW_DEPENDS_STACK : c->depends;
    const bool is_start = sw_is_program_start(req, &code, req->frame->lookup) && !is_called_behind_start(req, &code);
    if (!is_start && (root == SW_ROOT_NONE || root == SW_ROOT_OF_OTHERS))
        return SW_E_NO_RULE;
    sw_root_rule(code.arch->machine, &c->rule);
    return SW_OK;
}
