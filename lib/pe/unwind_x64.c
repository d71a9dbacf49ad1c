/*
 * Windows x64 unwind data → rule: UNWIND_INFO versions 1 and 2, chained entries, machine frames. Refuses to know
 * epilogues (epilogue_x64.c), how a table was found, handlers, and xmm registers (skipped). Follows "x64 exception
 * handling" (Microsoft Learn) as checked in win-x64-unwind.md sections 1-3.
 *
 * Unwinding is simulated on names, not on values: rsp is `base + off`, where base is the callee's rsp or its frame
 * register, and undoing a push notes where a register is saved. At the end these locations become offsets from the CFA.
 */
#include "pe/unwind_x64.h"

#include <string.h>

enum { FLAG_HANDLERS = 3, OFFSET_ESCAPE = 15 };

enum effect {
    PASS, /* nothing that a rule could express */
    PUSH,
    ALLOC_SMALL,
    ALLOC_LARGE,
    SET_FRAME,
    SET_FRAME_LARGE,
    SAVE,
    SAVE_FAR,
    MACHINE_FRAME,
    BAD
};

/* Slots by operation. Only ALLOC_LARGE has another count if its info is 1. Section 2 of the facts. */
static const struct sw_pe_operation {
    uint8_t slots;
    uint8_t slots_info1;
    uint8_t info_max;
    uint8_t effect;
} operations[16] = {
    { 1, 1, 15, PUSH },            /*  0 PUSH_NONVOL                          */
    { 2, 3, 1, ALLOC_LARGE },      /*  1 ALLOC_LARGE                          */
    { 1, 1, 15, ALLOC_SMALL },     /*  2 ALLOC_SMALL                          */
    { 1, 1, 15, SET_FRAME },       /*  3 SET_FPREG                            */
    { 2, 2, 15, SAVE },            /*  4 SAVE_NONVOL                          */
    { 3, 3, 15, SAVE_FAR },        /*  5 SAVE_NONVOL_FAR                      */
    { 2, 2, 15, PASS },            /*  6 v1 SAVE_XMM (obsolete); v2 EPILOG    */
    { 3, 3, 15, PASS },            /*  7 v1 SAVE_XMM_FAR (obsolete); v2 spare */
    { 2, 2, 15, PASS },            /*  8 SAVE_XMM128                          */
    { 3, 3, 15, PASS },            /*  9 SAVE_XMM128_FAR                      */
    { 1, 1, 1, MACHINE_FRAME },    /* 10 PUSH_MACHFRAME                       */
    { 3, 3, 15, SET_FRAME_LARGE }, /* 11 SET_FPREG_LARGE (CoreCLR on Unix)    */
    { 1, 1, 0, BAD },
    { 1, 1, 0, BAD },
    { 1, 1, 0, BAD },
    { 1, 1, 0, BAD },
};

static bool get(const struct sw_pe_unwind *u, uint32_t rva, void *to, size_t size)
{
    return u->reader->get(u->reader->arg, rva, to, size) == size;
}

enum sw_status sw_pe_x64_entry(const struct sw_pe_reader *reader, const uint8_t *bytes, struct sw_pe_function *function)
{
    (void)reader;
    *function = (struct sw_pe_function){ sw_load32(bytes), sw_load32(bytes + 4), sw_load32(bytes + 8) };
    return SW_OK;
}

enum sw_status sw_pe_x64_function(const struct sw_pe_reader *reader, uint32_t rva, struct sw_pe_function *function)
{
    uint8_t entry[12];
    if (reader->get(reader->arg, rva, entry, sizeof entry) != sizeof entry)
        return SW_E_TRUNCATED;
    return sw_pe_x64_entry(reader, entry, function);
}

/* An entry may point to another entry that holds the unwind data instead. */
enum sw_status sw_pe_x64_resolve(const struct sw_pe_reader *reader, struct sw_pe_function *function, unsigned *links)
{
    while (function->unwind & 1) {
        if (++*links > SW_PE_LINKS_MAX)
            return SW_E_LIMIT;
        enum sw_status status = sw_pe_x64_function(reader, function->unwind & ~UINT32_C(1), function);
        if (status)
            return status;
    }
    return SW_OK;
}

static enum sw_status parse_head(const uint8_t *head, struct sw_pe_info *info)
{
    info->version = head[0] & 7;
    info->flags = head[0] >> 3;
    info->prolog = head[1];
    info->count = head[2];
    info->frame_register = head[3] & 15;
    info->frame_offset = head[3] >> 4;
    if (info->version != 1 && info->version != 2)
        return SW_E_UNSUPPORTED;
    if ((info->flags & SW_PE_FLAG_CHAIN) && (info->flags & FLAG_HANDLERS))
        return SW_E_MALFORMED;
    return SW_OK;
}

static enum sw_status load_info(struct sw_pe_unwind *u)
{
    uint8_t head[4];
    enum sw_status status = sw_pe_x64_resolve(u->reader, &u->function, &u->links);
    if (status)
        return status;
    if (!get(u, u->function.unwind, head, sizeof head))
        return SW_E_TRUNCATED;
    status = parse_head(head, &u->info);
    if (status)
        return status;
    return get(u, u->function.unwind + 4, u->info.slots, 2u * u->info.count) ? SW_OK : SW_E_TRUNCATED;
}

uint32_t sw_pe_x64_chain_rva(uint32_t unwind, uint8_t count)
{
    return unwind + 4 + 2 * ((count + 1u) & ~1u);
}

/* The handler follows the codes, which are padded to an even count. */
enum sw_status sw_pe_x64_handler(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                 uint32_t *handler)
{
    uint8_t word[4];
    if (reader->get(reader->arg, function->unwind, word, sizeof word) != sizeof word)
        return SW_E_TRUNCATED;
    if ((word[0] >> 3 & FLAG_HANDLERS) == 0)
        return SW_E_NOT_FOUND;
    const uint32_t at = sw_pe_x64_chain_rva(function->unwind, word[2]);
    if (reader->get(reader->arg, at, word, sizeof word) != sizeof word)
        return SW_E_TRUNCATED;
    *handler = sw_load32(word);
    return SW_OK;
}

enum sw_status sw_pe_x64_follow_chain(struct sw_pe_unwind *u)
{
    if (++u->links > SW_PE_LINKS_MAX)
        return SW_E_LIMIT;
    enum sw_status status =
        sw_pe_x64_function(u->reader, sw_pe_x64_chain_rva(u->function.unwind, u->info.count), &u->function);
    return status ? status : load_info(u);
}

enum sw_status sw_pe_x64_next_code(const struct sw_pe_info *info, unsigned *at, struct sw_pe_code *code)
{
    const uint8_t *slot = info->slots + 2 * *at;
    code->offset = slot[0];
    code->op = slot[1] & 15;
    code->info = slot[1] >> 4;
    code->operation = &operations[code->op];
    const unsigned slots = code->info == 1 ? code->operation->slots_info1 : code->operation->slots;
    if (code->operation->effect == BAD || code->info > code->operation->info_max || slots > info->count - *at)
        return SW_E_MALFORMED;
    code->operand = slots == 1 ? 0 : (uint32_t)sw_load_le(slot + 2, 2 * (slots - 1));
    *at += slots;
    return SW_OK;
}

static enum sw_status set_saved_at(struct sw_pe_unwind *u, unsigned reg, struct sw_pe_offset place)
{
    if (reg == SW_X64_RSP || place.off < INT32_MIN || place.off > INT32_MAX)
        return SW_E_MALFORMED;
    u->rule->r[reg] = (struct sw_loc){ SW_LOC_AT_REG, place.base, 0, (int32_t)place.off };
    u->restored |= UINT32_C(1) << reg;
    return SW_OK;
}

enum sw_status sw_pe_x64_pop(struct sw_pe_unwind *u, unsigned reg)
{
    enum sw_status status = set_saved_at(u, reg, u->sp);
    u->sp.off += 8;
    return status;
}

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

/* rip and rsp as the processor pushed them: rip, cs, eflags, rsp, ss. */
enum sw_status sw_pe_x64_pop_machine_frame(struct sw_pe_unwind *u, unsigned has_error_code)
{
    if (has_error_code)
        u->sp.off += 8;
    enum sw_status status = set_saved_at(u, SW_X64_RIP, u->sp);
    struct sw_pe_offset sp = u->sp;
    sp.off += 24;
    if (status == SW_OK && (sp.off < INT32_MIN || sp.off > INT32_MAX))
        status = SW_E_MALFORMED;
    u->rule->r[SW_X64_RSP] = (struct sw_loc){ SW_LOC_AT_REG, sp.base, 0, (int32_t)sp.off };
    u->sp.off += 40;
    u->machine_frame = true;
    return status;
}

static struct sw_pe_offset off_frame(const struct sw_pe_unwind *u, uint64_t off)
{
    return (struct sw_pe_offset){ u->frame.base, u->frame.off + (int64_t)off };
}

static enum sw_status undo(struct sw_pe_unwind *u, const struct sw_pe_code *code)
{
    switch ((enum effect)code->operation->effect) {
    case PUSH:
        return sw_pe_x64_pop(u, code->info);
    case ALLOC_SMALL:
        u->sp.off += code->info * 8 + 8;
        return SW_OK;
    case ALLOC_LARGE:
        u->sp.off += code->info ? (int64_t)code->operand : (int64_t)code->operand * 8;
        return SW_OK;
    case SET_FRAME:
        return sp_from_frame(u, u->info.frame_offset * 16u);
    case SET_FRAME_LARGE:
        return sp_from_frame(u, code->operand * UINT64_C(16));
    case SAVE:
        return set_saved_at(u, code->info, off_frame(u, code->operand * UINT64_C(8)));
    case SAVE_FAR:
        return set_saved_at(u, code->info, off_frame(u, code->operand));
    case MACHINE_FRAME:
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
        const bool large = code.operation->effect == SET_FRAME_LARGE;
        if (!large && code.operation->effect != SET_FRAME)
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
    enum sw_status status = load_info(&u);
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
    enum sw_status status = load_info(&u);
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
