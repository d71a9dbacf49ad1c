/*
 * Tables that lie about prologues and epilogues: a register that is saved one instruction later than the table has it,
 * a frame that is released without a word, rows that were left out. At an executing pc the instructions in a straight
 * line say what is so, whatever the stack holds: from the function's first instruction to pc, and from pc to a return.
 * Refuses to judge where control may come from, or go, elsewhere, where sp is made by more than adding, and where the
 * return goes to what the code itself has put there. Knows nothing of the format (lib/cfi).
 */
#include "unwind/cfi_check.h"

enum { PROLOGUE_INSNS = 24, EPILOGUE_INSNS = 16, PROLOGUE_BYTES = 160 };

/* The table's candidate, and the code's one beside it. */
struct check {
    const struct sw_unwind_request *req;
    const struct sw_code *code;
    const struct sw_cfi_cover *cover;
    struct sw_candidate *table, *other;
    struct sw_state *state;
};

/* ---- straight lines ---- */

/* Runs the instruction at an address. False: there is none that can be read. */
static bool run_one(const struct check *check, uint64_t at, uint64_t begin, struct sw_insn *insn)
{
    size_t size;
    const struct sw_code *code = check->code;
    const uint8_t *bytes = code->fetch(code->arg, at, &size);
    if (!bytes || code->arch->decode(bytes, size, at, insn) != SW_OK)
        return false;
    sw_state_run(check->state, code->arch, insn, (uint32_t)(at - begin));
    return true;
}

/* A branch over what follows it: where it leads to, and what sp and the nonvolatile registers are on that way. */
struct way_over {
    uint64_t to;
    uint64_t changed;
    struct sw_val sp;
};

static struct way_over way_over(const struct check *check, uint64_t to)
{
    const struct sw_regs_roles *roles = check->code->arch->roles;
    struct way_over way = { to, 0, check->state->reg[roles->sp] };
    for (uint64_t rest = roles->nonvolatile; rest != 0; rest &= rest - 1) {
        const unsigned n = (unsigned)__builtin_ctzll(rest);
        if (!sw_val_is_start(check->state->reg[n], n))
            way.changed |= UINT64_C(1) << n;
    }
    return way;
}

/* Whether the straight line, which went past a call, is where the branch over it leads to, as that branch is. */
static bool is_back(const struct check *check, const struct way_over *way)
{
    const struct way_over now = way_over(check, way->to);
    return sw_val_same(now.sp, way->sp) && now.changed == way->changed;
}

/*
 * The state at pc, from the function's first instruction on. A call may not return, so that what stands behind it is
 * another piece of code: it is gone past only where a branch leads over it, towards pc, and only if nothing was done
 * for that call's sake that this way leaves undone.
 */
static bool run_to_pc(const struct check *check)
{
    const uint64_t begin = check->cover->begin, pc = check->req->frame->lookup;
    struct sw_insn insn;
    struct way_over way = { .to = begin };
    bool has_called = false;
    uint64_t at = begin;
    if (pc - begin > PROLOGUE_BYTES)
        return false;
    sw_state_start(check->state);
    for (unsigned n = 0; at < pc && n < PROLOGUE_INSNS; n++, at += insn.length) {
        if (has_called && at >= way.to) {
            if (at != way.to || !is_back(check, &way))
                return false;
            has_called = false;
        }
        if (!run_one(check, at, begin, &insn))
            return false;
        if (insn.flow == SW_FLOW_BRANCH && insn.target > way.to && insn.target <= pc && !has_called)
            way = way_over(check, insn.target);
        if (insn.flow != SW_FLOW_NEXT && insn.flow != SW_FLOW_BRANCH && (insn.flow != SW_FLOW_CALL || way.to <= at))
            return false;
        has_called = has_called || insn.flow == SW_FLOW_CALL;
    }
    return at == pc && (!has_called || (way.to == pc && is_back(check, &way)));
}

/* The state behind a return, in terms of pc's. */
static bool run_to_return(const struct check *check)
{
    const uint64_t pc = check->req->frame->lookup;
    struct sw_insn insn;
    uint64_t at = pc;
    sw_state_start(check->state);
    for (unsigned n = 0; n < EPILOGUE_INSNS; n++, at += insn.length) {
        if (!run_one(check, at, pc, &insn))
            return false;
        if (insn.flow != SW_FLOW_NEXT && insn.flow != SW_FLOW_BRANCH)
            return insn.flow == SW_FLOW_RETURN;
    }
    return false;
}

/* ---- a rule in a state ---- */

static bool is_at_entry(const struct check *check, struct sw_val v, int64_t above)
{
    return v.base == check->code->arch->roles->sp + 1 && !v.deref && v.point == 0 && v.off == above;
}

static struct sw_val word_of_frame(const struct check *check, const struct sw_rule *rule, unsigned n)
{
    const struct sw_arch *arch = check->code->arch;
    const struct sw_val sp = { .base = (uint8_t)(arch->roles->sp + 1) };
    const int64_t off = (int64_t)sw_rule_cfa_above_entry(arch->machine) + rule->r[n].off;
    return sw_state_word(check->state, arch, sw_val_plus(sp, off));
}

/* Whether register n is where the rule says. Of what is said in other ways nothing is known, and of what is lost. */
static bool is_in_place(const struct check *check, const struct sw_rule *rule, unsigned n)
{
    const struct sw_loc loc = rule->r[n];
    if (loc.kind == SW_LOC_SAME)
        return sw_val_is_start(check->state->reg[n], n);
    return loc.kind != SW_LOC_AT_CFA || sw_val_is_start(word_of_frame(check, rule, n), n);
}

static bool has_return_address(const struct check *check, const struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = check->code->arch->roles;
    const struct sw_loc ra = rule->r[roles->pc];
    if (roles->link == SW_REGS_MAX)
        return ra.kind != SW_LOC_AT_CFA || ra.off == -8;
    if (ra.kind == SW_LOC_AT_CFA)
        return sw_val_is_start(word_of_frame(check, rule, roles->pc), roles->link);
    return ra.kind != SW_LOC_REG || ra.reg != roles->link ||
           sw_val_is_start(check->state->reg[roles->link], roles->link);
}

static bool has_cfa(const struct check *check, const struct sw_rule *rule)
{
    const struct sw_val v = sw_val_plus(check->state->reg[rule->cfa.reg], rule->cfa.off);
    return is_at_entry(check, v, sw_rule_cfa_above_entry(check->code->arch->machine));
}

/* The nonvolatile registers that are elsewhere than the rule says. */
static uint64_t misplaced(const struct check *check, const struct sw_rule *rule)
{
    uint64_t found = 0;
    for (uint64_t rest = check->code->arch->roles->nonvolatile; rest != 0; rest &= rest - 1) {
        const unsigned n = (unsigned)__builtin_ctzll(rest);
        if (!is_in_place(check, rule, n))
            found |= UINT64_C(1) << n;
    }
    return found;
}

/* ---- prologues ---- */

/* Whether the table describes the first instruction as that of a function: nothing was moved, nothing saved. */
static bool begins_function(const struct check *check)
{
    const struct sw_unwind_request *req = check->req;
    const struct sw_regs_roles *roles = check->code->arch->roles;
    struct sw_rule *first = &check->other->rule;
    if (sw_cfi_rule(&req->entry->cfi, check->cover->begin, &req->work->cfi, first, NULL) != SW_OK || first->flags)
        return false;
    const struct sw_loc cfa = first->cfa, ra = first->r[roles->pc];
    const bool is_leaf = roles->link == SW_REGS_MAX ? ra.kind == SW_LOC_AT_CFA && ra.off == -8
                                                    : ra.kind == SW_LOC_REG && ra.reg == roles->link;
    for (uint64_t rest = roles->nonvolatile; rest != 0; rest &= rest - 1)
        if (first->r[__builtin_ctzll(rest)].kind == SW_LOC_AT_CFA)
            return false;
    return is_leaf && cfa.kind == SW_LOC_REG && cfa.reg == roles->sp &&
           cfa.off == sw_rule_cfa_above_entry(check->code->arch->machine);
}

/*
 * The code's rule instead of the table's, if it leads to another caller. It follows from the code alone. Where both
 * lead to the same pc the table knows what was on the stack before: glibc's _dl_runtime_resolve for ARM64, whose first
 * row is an ordinary function's, comes to words that the PLT has pushed.
 */
static void replace(const struct check *check)
{
    struct sw_candidate *c = check->table;
    const enum sw_depends depends = c->depends;
    if (sw_candidate_try(check->req, check->other) != SW_STOP_NONE)
        return;
    const bool leads = sw_candidate_try(check->req, c) == SW_STOP_NONE;
    c->depends = depends;
    if (leads && sw_regs_pc(&c->caller) == sw_regs_pc(&check->other->caller))
        return;
    *c = *check->other;
    c->rule.trust = SW_TRUST_LIKELY;
    c->depends = SW_DEPENDS_CODE;
    c->is_doubted = false;
}

/* True: the prologue has told. */
static bool check_prologue(const struct check *check)
{
    struct sw_rule *rule = &check->table->rule, *other = &check->other->rule;
    const unsigned sp = check->code->arch->roles->sp;
    if (!run_to_pc(check) || check->state->reg[sp].base != sp + 1 || check->state->reg[sp].point != 0)
        return false;
    const bool same_caller = has_cfa(check, rule) && has_return_address(check, rule);
    const uint64_t wrong = misplaced(check, rule);
    if (same_caller && wrong == 0)
        return true;
    if (!begins_function(check) || !sw_extract_inside(check->state, check->code->arch, other))
        return false;
    if (!same_caller)
        replace(check);
    else
        for (uint64_t rest = wrong; rest != 0; rest &= rest - 1)
            rule->r[__builtin_ctzll(rest)] = other->r[__builtin_ctzll(rest)];
    return true;
}

/* ---- epilogues ---- */

/* Whether the return goes to a word that lay in the frame, or to the link register's, found by sp or fp. */
static bool is_plain(const struct check *check, const struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = check->code->arch->roles;
    const struct sw_loc cfa = rule->cfa, ra = rule->r[roles->pc];
    if (cfa.kind != SW_LOC_REG || (cfa.reg != roles->sp && cfa.reg != roles->fp))
        return false;
    if (roles->link == SW_REGS_MAX)
        return ra.kind == SW_LOC_AT_CFA;
    return ra.kind == SW_LOC_AT_REG ? ra.reg == roles->sp || ra.reg == roles->fp
                                    : ra.kind == SW_LOC_REG && ra.reg == roles->link;
}

/* Whether both lead to the same caller: by their form, or by what is there. */
static bool leads_to_same(const struct check *check)
{
    const struct sw_unwind_request *req = check->req;
    const unsigned pc = check->code->arch->roles->pc;
    struct sw_candidate *table = check->table, *other = check->other;
    const enum sw_depends depends = table->depends;
    if (sw_is_same_loc(table->rule.cfa, other->rule.cfa) && sw_is_same_loc(table->rule.r[pc], other->rule.r[pc]))
        return true;
    const enum sw_stop stop = sw_candidate_try(req, table);
    table->depends = depends;
    return stop == sw_candidate_try(req, other) && stop == SW_STOP_NONE &&
           sw_regs_pc(&table->caller) == sw_regs_pc(&other->caller) &&
           sw_regs_sp(&table->caller) == sw_regs_sp(&other->caller);
}

static void check_epilogue(const struct check *check)
{
    if (run_to_return(check) && sw_extract_return(check->state, check->code->arch, &check->other->rule) &&
        is_plain(check, &check->other->rule) && !leads_to_same(check))
        replace(check);
}

/* ---- frames of which a table says only how large they are ---- */

/* The state behind the instruction that writes fp, if it stands in the prologue and in front of pc. */
static bool run_to_fp(const struct check *check)
{
    const uint64_t begin = check->cover->begin, pc = check->req->frame->lookup;
    const unsigned fp = check->code->arch->roles->fp;
    struct sw_insn insn;
    uint64_t at = begin;
    sw_state_start(check->state);
    for (unsigned n = 0; n < PROLOGUE_INSNS && at < pc && at - begin <= PROLOGUE_BYTES; n++, at += insn.length) {
        if (!run_one(check, at, begin, &insn) || (insn.flow != SW_FLOW_NEXT && insn.flow != SW_FLOW_BRANCH))
            return false;
        if (!sw_val_is_start(check->state->reg[fp], fp))
            return true;
    }
    return false;
}

bool sw_cfi_mend_bare(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_cfi_cover *cover,
                      struct sw_candidate *c)
{
    const struct check check = { req, code, cover, c, &req->work->spare[0], &req->work->elsewhere };
    const struct sw_regs_roles *roles = code->arch->roles;
    const unsigned fp = roles->fp;
    struct sw_rule *rule = &c->rule, *other = &check.other->rule;
    if (!run_to_fp(&check))
        return false;
    const bool is_saved = sw_extract_inside(check.state, code->arch, other) && other->r[fp].kind == SW_LOC_AT_CFA;
    for (unsigned n = 0; n < roles->count; n++)
        if (roles->nonvolatile >> n & 1)
            rule->r[n] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
    if (is_saved)
        rule->r[fp] = other->r[fp];
    return true;
}

/* ---- both ---- */

/* A frame as compilers make them. What is found in other ways was written by hand: longjmp's is where it will lead. */
static bool is_usual(const struct sw_arch *arch, const struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = arch->roles;
    const struct sw_loc cfa = rule->cfa, ra = rule->r[roles->pc];
    return rule->flags == 0 && cfa.kind == SW_LOC_REG && (cfa.reg == roles->sp || cfa.reg == roles->fp) &&
           (ra.kind == SW_LOC_AT_CFA || (ra.kind == SW_LOC_REG && ra.reg == roles->link));
}

void sw_cfi_check(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover, struct sw_candidate *c)
{
    struct sw_code code;
    const struct check check = { req, &code, cover, c, &req->work->spare[0], &req->work->elsewhere };
    if ((req->walker->flags & SW_WALK_NO_ANALYSIS) || !sw_code_of(req, &code) || !is_usual(code.arch, &c->rule))
        return;
    if (!check_prologue(&check))
        check_epilogue(&check);
}
