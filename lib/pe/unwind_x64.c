/*
 * Windows x64 unwind data → rule: what the prolog has done at an address is undone. Refuses to know epilogues
 * (epilogue_x64.c), how a table was found, handlers, and xmm registers (skipped). Follows "x64 exception handling"
 * (Microsoft Learn) as checked in win-x64-unwind.md sections 1-3.
 *
 * Unwinding is simulated on names, not on values: rsp is `base + off`, where base is the callee's rsp or its frame
 * register, and undoing a push notes where a register is saved. At the end these locations become offsets from the CFA.
 */
#include "pe/unwind_x64.h"

#include <string.h>

enum { OFFSET_ESCAPE = 15 };

/*
 * rsp from the frame register. Only that register's value in the callee has a name, so it must not have been restored
 * yet.
 */
static enum sw_status sp_from_frame(struct sw_pe_unwind *u, uint64_t offset)
{
    const uint8_t reg = u->info.frame_register;
    if (reg == 0 || (u->restored >> reg & 1))
        return SW_E_MALFORMED;
    u->sp = (struct sw_pe_offset){ reg, -(int64_t)offset };
    return SW_OK;
}

static struct sw_pe_offset off_frame(const struct sw_pe_unwind *u, uint64_t off)
{
    return (struct sw_pe_offset){ u->frame.base, u->frame.off + (int64_t)off };
}

static enum sw_status undo(struct sw_pe_unwind *u, const struct sw_pe_code *code)
{
    switch ((enum sw_pe_x64_effect)code->operation->effect) {
    case SW_PE_X64_PUSH:
        return sw_pe_x64_pop(u, code->info);
    case SW_PE_X64_ALLOC_SMALL:
        u->sp.off += code->info * 8 + 8;
        return SW_OK;
    case SW_PE_X64_ALLOC_LARGE:
        u->sp.off += code->info ? (int64_t)code->operand : (int64_t)code->operand * 8;
        return SW_OK;
    case SW_PE_X64_SET_FRAME:
        return sp_from_frame(u, u->info.frame_offset * 16u);
    case SW_PE_X64_SET_FRAME_LARGE:
        return sp_from_frame(u, code->operand * UINT64_C(16));
    case SW_PE_X64_SAVE:
        return sw_pe_x64_save(u, code->info, off_frame(u, code->operand * UINT64_C(8)));
    case SW_PE_X64_SAVE_FAR:
        return sw_pe_x64_save(u, code->info, off_frame(u, code->operand));
    case SW_PE_X64_MACHINE_FRAME:
        return sw_pe_x64_pop_machine_frame(u, code->info);
    default:
        return SW_OK;
    }
}

static enum sw_status undo_codes(struct sw_pe_unwind *u)
{
    const uint32_t offset = u->rva - u->function.begin;
    for (unsigned at = 0; at < u->info.count && !u->machine_frame;) {
        struct sw_pe_code code;
        enum sw_status status = sw_pe_x64_next_code(&u->info, &at, &code);
        if (status == SW_OK && offset >= code.offset)
            status = undo(u, &code);
        if (status)
            return status;
    }
    return SW_OK;
}

/*
 * The frame base F from which SAVE_NONVOL counts: rsp, unless the frame register is set at this point. An offset field
 * of 15 means that the true offset is in a SET_FPREG_LARGE code.
 */
static enum sw_status find_frame(struct sw_pe_unwind *u)
{
    const struct sw_pe_info *info = &u->info;
    const uint32_t offset = u->rva - u->function.begin;
    uint64_t scaled = info->frame_offset * UINT64_C(16);
    bool is_set = offset >= info->prolog || (info->flags & SW_PE_FLAG_CHAIN);
    u->frame = u->sp;
    if (info->frame_register == 0)
        return SW_OK;
    for (unsigned at = 0; at < info->count;) {
        struct sw_pe_code code;
        enum sw_status status = sw_pe_x64_next_code(info, &at, &code);
        if (status)
            return status;
        const bool large = code.operation->effect == SW_PE_X64_SET_FRAME_LARGE;
        if (!large && code.operation->effect != SW_PE_X64_SET_FRAME)
            continue;
        is_set = is_set || offset >= code.offset;
        if (large && info->frame_offset == OFFSET_ESCAPE)
            scaled = code.operand * UINT64_C(16);
    }
    if (is_set)
        u->frame = (struct sw_pe_offset){ info->frame_register, -(int64_t)scaled };
    return SW_OK;
}

static enum sw_status undo_prolog(struct sw_pe_unwind *u)
{
    enum sw_status status = find_frame(u);
    for (;;) {
        if (status == SW_OK)
            status = undo_codes(u);
        if (status || u->machine_frame || !(u->info.flags & SW_PE_FLAG_CHAIN))
            return status;
        status = sw_pe_x64_follow_chain(u);
    }
}

/* Locations relative to the CFA's register become offsets from the CFA. */
static enum sw_status finish(struct sw_pe_unwind *u)
{
    struct sw_rule *rule = u->rule;
    if (!u->machine_frame) {
        enum sw_status status = sw_pe_x64_pop(u, SW_X64_RIP);
        if (status)
            return status;
    }
    if (u->sp.off < INT32_MIN || u->sp.off > INT32_MAX)
        return SW_E_MALFORMED;
    rule->cfa = (struct sw_loc){ SW_LOC_REG, u->sp.base, 0, (int32_t)u->sp.off };
    rule->flags = u->machine_frame ? SW_RULE_SIGNAL : 0;
    for (unsigned n = 0; n < SW_X64_COUNT; n++) {
        struct sw_loc *loc = &rule->r[n];
        const int64_t off = loc->off - u->sp.off;
        if (loc->kind == SW_LOC_AT_REG && loc->reg == u->sp.base && off >= INT32_MIN && off <= INT32_MAX)
            *loc = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, (int32_t)off };
    }
    return SW_OK;
}

static void set_nonvolatile(struct sw_rule *rule, uint64_t nonvolatile)
{
    for (unsigned n = 0; n < SW_X64_RIP; n++)
        if (n != SW_X64_RSP)
            rule->r[n].kind = nonvolatile >> n & 1 ? SW_LOC_SAME : SW_LOC_UNKNOWN;
}

enum sw_status sw_pe_x64_rule(const struct sw_pe_reader *reader, const struct sw_pe_function *function, uint32_t rva,
                              bool exact, uint64_t nonvolatile, struct sw_rule *rule)
{
    struct sw_pe_unwind u;
    bool in_epilogue = false;
    if (rva < function->begin || rva >= function->end)
        return SW_E_NO_RULE;
    sw_rule_init(rule, SW_MACHINE_X64, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT);
    set_nonvolatile(rule, nonvolatile);
    memset(&u, 0, sizeof u);
    u.reader = reader;
    u.function = *function;
    u.rva = rva;
    u.sp.base = SW_X64_RSP;
    u.rule = rule;
    enum sw_status status = sw_pe_x64_load(&u);
    if (status == SW_OK && exact)
        status = u.info.version == 1 ? sw_pe_x64_epilogue_by_bytes(&u, &in_epilogue)
                                     : sw_pe_x64_epilogue_by_codes(&u, &in_epilogue);
    if (status == SW_OK && !in_epilogue)
        status = undo_prolog(&u);
    return status == SW_OK ? finish(&u) : status;
}

/* Behind the last of the instructions that codes tell of: some data says that the prolog ends before that. */
enum sw_status sw_pe_x64_body(const struct sw_pe_reader *reader, const struct sw_pe_function *function, uint32_t *begin)
{
    struct sw_pe_unwind u = { .reader = reader, .function = *function };
    if (function->unwind & 1)
        return SW_E_NO_RULE;
    enum sw_status status = sw_pe_x64_load(&u);
    if (status)
        return status;
    if (u.info.version != 1 || (u.info.flags & SW_PE_FLAG_CHAIN))
        return SW_E_NO_RULE;
    uint32_t size = u.info.prolog;
    for (unsigned at = 0; at < u.info.count;) {
        struct sw_pe_code code;
        status = sw_pe_x64_next_code(&u.info, &at, &code);
        if (status)
            return status;
        size = code.offset > size ? code.offset : size;
    }
    *begin = function->begin + size;
    return function->begin < function->end && size < function->end - function->begin ? SW_OK : SW_E_NO_RULE;
}
