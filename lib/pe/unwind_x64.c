/*
 * Windows x64 unwind data → rule: UNWIND_INFO versions 1 and 2, chained entries, machine frames, and both ways to know an
 * epilogue. Knows nothing of how a table was found, of handlers and of xmm registers (they are passed over).
 * Follows "x64 exception handling" (Microsoft Learn) as checked in win-x64-unwind.md sections 1-5.
 *
 * Unwinding is simulated on names, not on values: rsp is `base + off` where base is the callee's rsp or its frame
 * register, and each push undone notes the place of a register. At the end the places become offsets from the CFA.
 */
#include "pe/pe.h"

#include <string.h>

enum { LINKS_MAX = 32, CODES_MAX = 255, EPILOGUE_WINDOW = 64 };
enum { FLAG_HANDLERS = 3, FLAG_CHAIN = 4, OFFSET_ESCAPE = 15 };

enum effect {
    PASS, /* nothing that a rule could say */
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

/* Slots by operation; only ALLOC_LARGE has another count where its info is 1. Section 2 of the facts. */
static const struct operation {
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

enum { OP_PUSH = 0, OP_ALLOC_SMALL = 2, OP_EPILOG = 6, OP_MACHINE_FRAME = 10 };

struct place {
    uint8_t base;
    int64_t off;
};

/* One UNWIND_INFO, copied. */
struct info {
    uint8_t version;
    uint8_t flags;
    uint8_t prolog;
    uint8_t count;
    uint8_t frame_register; /* 0: none */
    uint8_t frame_offset;
    uint8_t slots[2 * CODES_MAX];
};

struct unwind {
    const struct sw_pe_reader *reader;
    struct sw_pe_function function; /* the entry whose codes are in info */
    uint32_t rva;
    unsigned links;
    bool chained; /* info belongs to an outer link of a chain */
    bool machine_frame;
    uint32_t restored; /* registers that have a place by now */
    struct place sp;
    struct place frame;
    struct sw_rule *rule;
    struct info info;
};

struct code {
    uint8_t offset;
    uint8_t op;
    uint8_t info;
    uint32_t operand; /* the next 16 or 32 bits, for operations of 2 or 3 slots */
    const struct operation *how;
};

static bool get(const struct unwind *u, uint32_t rva, void *to, size_t size)
{
    return u->reader->get(u->reader->arg, rva, to, size) == size;
}

static enum sw_status get_function(const struct sw_pe_reader *reader, uint32_t rva, struct sw_pe_function *function)
{
    uint8_t entry[12];
    if (reader->get(reader->arg, rva, entry, sizeof entry) != sizeof entry)
        return SW_E_TRUNCATED;
    *function = (struct sw_pe_function){ sw_load32(entry), sw_load32(entry + 4), sw_load32(entry + 8) };
    return SW_OK;
}

/* An entry may point to another entry that holds the unwind data instead. */
static enum sw_status resolve(const struct sw_pe_reader *reader, struct sw_pe_function *function, unsigned *links)
{
    while (function->unwind & 1) {
        if (++*links > LINKS_MAX)
            return SW_E_LIMIT;
        enum sw_status status = get_function(reader, function->unwind & ~UINT32_C(1), function);
        if (status)
            return status;
    }
    return SW_OK;
}

static enum sw_status parse_head(const uint8_t *head, struct info *info)
{
    info->version = head[0] & 7;
    info->flags = head[0] >> 3;
    info->prolog = head[1];
    info->count = head[2];
    info->frame_register = head[3] & 15;
    info->frame_offset = head[3] >> 4;
    if (info->version != 1 && info->version != 2)
        return SW_E_UNSUPPORTED;
    if ((info->flags & FLAG_CHAIN) && (info->flags & FLAG_HANDLERS))
        return SW_E_MALFORMED;
    return SW_OK;
}

static enum sw_status load_info(struct unwind *u)
{
    uint8_t head[4];
    enum sw_status status = resolve(u->reader, &u->function, &u->links);
    if (status)
        return status;
    if (!get(u, u->function.unwind, head, sizeof head))
        return SW_E_TRUNCATED;
    status = parse_head(head, &u->info);
    if (status)
        return status;
    return get(u, u->function.unwind + 4, u->info.slots, 2u * u->info.count) ? SW_OK : SW_E_TRUNCATED;
}

static uint32_t chain_rva(uint32_t unwind, uint8_t count)
{
    return unwind + 4 + 2 * ((count + 1u) & ~1u);
}

/* To the codes of the entry that this one continues. */
static enum sw_status follow_chain(struct unwind *u)
{
    if (++u->links > LINKS_MAX)
        return SW_E_LIMIT;
    enum sw_status status = get_function(u->reader, chain_rva(u->function.unwind, u->info.count), &u->function);
    u->chained = true;
    return status ? status : load_info(u);
}

/* The code at slot `at`, which moves past it. */
static enum sw_status next_code(const struct info *info, unsigned *at, struct code *code)
{
    const uint8_t *slot = info->slots + 2 * *at;
    code->offset = slot[0];
    code->op = slot[1] & 15;
    code->info = slot[1] >> 4;
    code->how = &operations[code->op];
    const unsigned slots = code->info == 1 ? code->how->slots_info1 : code->how->slots;
    if (code->how->effect == BAD || code->info > code->how->info_max || slots > info->count - *at)
        return SW_E_MALFORMED;
    code->operand = slots == 1 ? 0 : (uint32_t)sw_load_le(slot + 2, 2 * (slots - 1));
    *at += slots;
    return SW_OK;
}

static enum sw_status set_place(struct unwind *u, unsigned reg, struct place place)
{
    if (reg == SW_X64_RSP || place.off < INT32_MIN || place.off > INT32_MAX)
        return SW_E_MALFORMED;
    u->rule->r[reg] = (struct sw_loc){ SW_LOC_AT_REG, place.base, 0, (int32_t)place.off };
    u->restored |= UINT32_C(1) << reg;
    return SW_OK;
}

static enum sw_status pop(struct unwind *u, unsigned reg)
{
    enum sw_status status = set_place(u, reg, u->sp);
    u->sp.off += 8;
    return status;
}

/* rsp from the frame register: only its value in the callee can be named, so it must not have been restored before. */
static enum sw_status sp_from_frame(struct unwind *u, uint64_t offset)
{
    const uint8_t reg = u->info.frame_register;
    if (reg == 0 || (u->restored >> reg & 1))
        return SW_E_MALFORMED;
    u->sp = (struct place){ reg, -(int64_t)offset };
    return SW_OK;
}

/* rip and rsp as the processor pushed them: rip cs eflags rsp ss. */
static enum sw_status pop_machine_frame(struct unwind *u, unsigned has_error_code)
{
    if (has_error_code)
        u->sp.off += 8;
    enum sw_status status = set_place(u, SW_X64_RIP, u->sp);
    struct place sp = u->sp;
    sp.off += 24;
    if (status == SW_OK && (sp.off < INT32_MIN || sp.off > INT32_MAX))
        status = SW_E_MALFORMED;
    u->rule->r[SW_X64_RSP] = (struct sw_loc){ SW_LOC_AT_REG, sp.base, 0, (int32_t)sp.off };
    u->sp.off += 40;
    u->machine_frame = true;
    return status;
}

static struct place off_frame(const struct unwind *u, uint64_t off)
{
    return (struct place){ u->frame.base, u->frame.off + (int64_t)off };
}

static enum sw_status undo(struct unwind *u, const struct code *code)
{
    switch ((enum effect)code->how->effect) {
    case PUSH:
        return pop(u, code->info);
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
        return set_place(u, code->info, off_frame(u, code->operand * UINT64_C(8)));
    case SAVE_FAR:
        return set_place(u, code->info, off_frame(u, code->operand));
    case MACHINE_FRAME:
        return pop_machine_frame(u, code->info);
    default:
        return SW_OK;
    }
}

static enum sw_status undo_codes(struct unwind *u)
{
    const uint32_t offset = u->rva - u->function.begin;
    for (unsigned at = 0; at < u->info.count && !u->machine_frame;) {
        struct code code;
        enum sw_status status = next_code(&u->info, &at, &code);
        if (status == SW_OK && offset >= code.offset)
            status = undo(u, &code);
        if (status)
            return status;
    }
    return SW_OK;
}

/*
 * The frame base F that SAVE_NONVOL counts from: rsp as it is, unless the frame register is set by now. An offset field
 * of 15 says that the true offset is in a SET_FPREG_LARGE.
 */
static enum sw_status find_frame(struct unwind *u)
{
    const struct info *info = &u->info;
    const uint32_t offset = u->rva - u->function.begin;
    uint64_t scaled = info->frame_offset * UINT64_C(16);
    bool is_set = offset >= info->prolog || (info->flags & FLAG_CHAIN);
    u->frame = u->sp;
    if (info->frame_register == 0)
        return SW_OK;
    for (unsigned at = 0; at < info->count;) {
        struct code code;
        enum sw_status status = next_code(info, &at, &code);
        if (status)
            return status;
        const bool large = code.how->effect == SET_FRAME_LARGE;
        if (!large && code.how->effect != SET_FRAME)
            continue;
        is_set = is_set || offset >= code.offset;
        if (large && info->frame_offset == OFFSET_ESCAPE)
            scaled = code.operand * UINT64_C(16);
    }
    if (is_set)
        u->frame = (struct place){ info->frame_register, -(int64_t)scaled };
    return SW_OK;
}

/* The entry that a chain begins with. */
static enum sw_status primary(const struct sw_pe_reader *reader, struct sw_pe_function *function)
{
    for (unsigned links = 0; links <= LINKS_MAX; links++) {
        uint8_t head[4];
        enum sw_status status = resolve(reader, function, &links);
        if (status)
            return status;
        if (reader->get(reader->arg, function->unwind, head, sizeof head) != sizeof head)
            return SW_E_TRUNCATED;
        if (!(head[0] >> 3 & FLAG_CHAIN))
            return SW_OK;
        status = get_function(reader, chain_rva(function->unwind, head[2]), function);
        if (status)
            return status;
    }
    return SW_E_LIMIT;
}

/* A jump ends the function unless it stays inside, in this entry or in another one of the same function. */
static bool jump_leaves(const struct unwind *u, uint32_t target)
{
    struct sw_pe_function mine = u->function;
    struct sw_pe_function other;
    if (target >= u->function.begin && target < u->function.end)
        return target == u->function.begin && !(u->info.flags & FLAG_CHAIN);
    if (!u->reader->find || !u->reader->find(u->reader->arg, target, &other))
        return true;
    if (primary(u->reader, &mine) || primary(u->reader, &other) || mine.begin != other.begin)
        return true;
    return target == mine.begin;
}

/* Bytes at rva, as the epilogue rule looks at them; `at` is the next one. Beyond `size` there are zeros. */
struct window {
    uint8_t bytes[EPILOGUE_WINDOW + 8];
    size_t size;
    size_t at;
};

static bool window_has(const struct window *w, size_t count)
{
    return w->at + count <= w->size;
}

/*
 * The terminators, first match decides. length: bytes that must be there; kind: what else is asked.
 * Section 4d of the facts.
 */
enum terminator { RETURN, JUMP8, JUMP32, JUMP_MEMORY };
static const struct {
    uint8_t mask[3];
    uint8_t bits[3];
    uint8_t length;
    uint8_t kind;
} terminators[] = {
    { { 0xff, 0, 0 }, { 0xc3, 0, 0 }, 1, RETURN },                /* ret                              */
    { { 0xff, 0, 0 }, { 0xc2, 0, 0 }, 3, RETURN },                /* ret imm16                        */
    { { 0xff, 0xff, 0 }, { 0xf3, 0xc3, 0 }, 2, RETURN },          /* rep ret                          */
    { { 0xff, 0, 0 }, { 0xeb, 0, 0 }, 2, JUMP8 },                 /* jmp rel8                         */
    { { 0xff, 0, 0 }, { 0xe9, 0, 0 }, 5, JUMP32 },                /* jmp rel32                        */
    { { 0xff, 0xff, 0 }, { 0xff, 0x25, 0 }, 6, JUMP_MEMORY },     /* jmp [rip + disp32]               */
    { { 0xf8, 0xff, 0x38 }, { 0x48, 0xff, 0x20 }, 3, JUMP_MEMORY }, /* rex.W jmp r/m64: a marked tail call */
};

static bool jump_ends(const struct unwind *u, const struct window *w, unsigned kind)
{
    const uint32_t at = u->rva + (uint32_t)w->at;
    if (kind == JUMP8)
        return jump_leaves(u, at + 2 + (uint32_t)sw_sign_extend(w->bytes[w->at + 1], 8));
    if (kind == JUMP32)
        return jump_leaves(u, at + 5 + sw_load32(w->bytes + w->at + 1));
    return true;
}

static bool at_terminator(const struct unwind *u, struct window *w)
{
    if (window_has(w, 1) && w->bytes[w->at] == 0xf2) /* bnd */
        w->at++;
    for (size_t i = 0; i < sizeof terminators / sizeof terminators[0]; i++) {
        const uint8_t *b = w->bytes + w->at;
        bool match = window_has(w, terminators[i].length);
        for (unsigned k = 0; match && k < 3; k++)
            match = (b[k] & terminators[i].mask[k]) == terminators[i].bits[k];
        if (match)
            return jump_ends(u, w, terminators[i].kind);
    }
    return false;
}

/* Section 4a: add rsp,imm or lea rsp,[frame + disp]; sp is what rsp is afterwards. */
static void take_release(const struct unwind *u, struct window *w, struct place *sp)
{
    const uint8_t *b = w->bytes + w->at;
    const uint8_t base = (uint8_t)((b[0] & 1) << 3 | (b[2] & 7));
    const bool wide = b[1] == 0x81 || (b[1] == 0x8d && (b[2] & 0xf8) == 0xa0);
    const bool add = b[0] == 0x48 && (b[1] == 0x83 || b[1] == 0x81) && b[2] == 0xc4;
    const bool lea = (b[0] & 0xfe) == 0x48 && b[1] == 0x8d && ((b[2] & 0xf8) == 0x60 || (b[2] & 0xf8) == 0xa0) &&
                     base != 0 && base == u->info.frame_register;
    if ((!add && !lea) || !window_has(w, wide ? 7 : 4))
        return;
    if (lea)
        *sp = (struct place){ base, 0 };
    sp->off += sw_sign_extend(wide ? sw_load32(b + 3) : b[3], wide ? 32 : 8);
    w->at += wide ? 7 : 4;
}

/* Section 4b: the register that a pop at this place restores, or none. No epilogue pops rsp. */
static bool take_pop(struct window *w, unsigned *reg)
{
    const uint8_t *b = w->bytes + w->at;
    const bool rex = (b[0] & 0xf0) == 0x40;
    if (!window_has(w, rex ? 2 : 1) || (b[rex ? 1 : 0] & 0xf8) != 0x58)
        return false;
    *reg = (b[rex ? 1 : 0] & 7u) | (rex ? (b[0] & 1u) << 3 : 0);
    if (*reg == SW_X64_RSP)
        return false;
    w->at += rex ? 2 : 1;
    return true;
}

/*
 * Version 1 has no epilogue codes: the system unwinder reads the code at rip, and so does this, byte for byte. The walk
 * over the bytes is made twice: to see whether it is an epilogue, and to undo it.
 */
static enum sw_status epilogue_by_bytes(struct unwind *u, bool *inside)
{
    struct window w = { { 0 }, 0, 0 };
    struct place sp = u->sp;
    unsigned reg;
    w.size = u->reader->get(u->reader->arg, u->rva, w.bytes, EPILOGUE_WINDOW);
    if (w.size > EPILOGUE_WINDOW)
        return SW_E_TRUNCATED;
    take_release(u, &w, &sp);
    const size_t pops = w.at;
    while (take_pop(&w, &reg))
        ;
    *inside = at_terminator(u, &w);
    if (!*inside)
        return SW_OK;
    u->sp = sp;
    w.at = pops;
    while (take_pop(&w, &reg)) {
        enum sw_status status = pop(u, reg);
        if (status)
            return status;
    }
    return SW_OK;
}

/* Version 2: EPILOG slots lead the array; see section 5. depth: bytes of the epilogue that have run. */
static bool in_listed_epilogue(const struct unwind *u, uint32_t *depth)
{
    const struct info *info = &u->info;
    const uint32_t size = info->slots[0];
    if (info->count < 2 || (info->slots[1] & 15) != OP_EPILOG)
        return false;
    *depth = u->rva - (u->function.end - size);
    if ((info->slots[1] >> 4 & 1) && *depth < size)
        return true;
    for (unsigned at = 1; at < info->count; at++) {
        const uint8_t *slot = info->slots + 2 * at;
        if (at % 2 == 0 && (slot[1] & 15) != OP_EPILOG)
            break;
        const uint32_t back = slot[0] | (slot[1] >> 4 & 15u) << 8;
        *depth = u->rva - (u->function.end - back);
        if (back && *depth < size)
            return true;
    }
    return false;
}

/* The pops that a listed epilogue still has to do, in this link of the chain. `passed`: bytes of code gone by. */
static enum sw_status undo_pushes(struct unwind *u, uint32_t depth, uint32_t *passed, bool *started, bool *finished)
{
    for (unsigned at = 0; at < u->info.count && !*finished;) {
        struct code code;
        enum sw_status status = next_code(&u->info, &at, &code);
        if (status)
            return status;
        if (code.op == OP_PUSH) {
            *started = true;
            if (*passed >= depth && (status = pop(u, code.info)))
                return status;
            *passed += code.info < 8 ? 1 : 2;
        } else if (code.op == OP_MACHINE_FRAME) {
            *finished = true;
            return pop_machine_frame(u, code.info);
        } else if (*started && code.op != OP_EPILOG) {
            const bool flags_pop = code.op == OP_ALLOC_SMALL && code.info == 0;
            if (flags_pop && *passed >= depth)
                u->sp.off += 8;
            *passed += 1;
            *finished = !flags_pop;
        }
    }
    return SW_OK;
}

static enum sw_status epilogue_by_codes(struct unwind *u, bool *inside)
{
    uint32_t depth = 0;
    uint32_t passed = 0;
    bool started = false;
    bool finished = false;
    *inside = in_listed_epilogue(u, &depth);
    enum sw_status status = *inside ? undo_pushes(u, depth, &passed, &started, &finished) : SW_OK;
    while (*inside && status == SW_OK && !finished && (u->info.flags & FLAG_CHAIN)) {
        status = follow_chain(u);
        if (status == SW_OK)
            status = undo_pushes(u, depth, &passed, &started, &finished);
    }
    return status;
}

static enum sw_status undo_prolog(struct unwind *u)
{
    enum sw_status status = find_frame(u);
    for (;;) {
        if (status == SW_OK)
            status = undo_codes(u);
        if (status || u->machine_frame || !(u->info.flags & FLAG_CHAIN))
            return status;
        status = follow_chain(u);
    }
}

/* Places that count from the register the CFA counts from become places in the frame. */
static enum sw_status finish(struct unwind *u)
{
    struct sw_rule *rule = u->rule;
    if (!u->machine_frame) {
        enum sw_status status = pop(u, SW_X64_RIP);
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

static void keep_only(struct sw_rule *rule, uint64_t nonvolatile)
{
    for (unsigned n = 0; n < SW_X64_RIP; n++)
        if (n != SW_X64_RSP)
            rule->r[n].kind = nonvolatile >> n & 1 ? SW_LOC_SAME : SW_LOC_UNKNOWN;
}

enum sw_status sw_pe_x64_rule(const struct sw_pe_reader *reader, const struct sw_pe_function *function, uint32_t rva,
                              bool exact, uint64_t nonvolatile, struct sw_rule *rule)
{
    struct unwind u;
    bool in_epilogue = false;
    if (rva < function->begin || rva >= function->end)
        return SW_E_NO_RULE;
    sw_rule_init(rule, SW_MACHINE_X64, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT);
    keep_only(rule, nonvolatile);
    memset(&u, 0, sizeof u);
    u.reader = reader;
    u.function = *function;
    u.rva = rva;
    u.sp.base = SW_X64_RSP;
    u.rule = rule;
    enum sw_status status = load_info(&u);
    if (status == SW_OK && exact)
        status = u.info.version == 1 ? epilogue_by_bytes(&u, &in_epilogue) : epilogue_by_codes(&u, &in_epilogue);
    if (status == SW_OK && !in_epilogue)
        status = undo_prolog(&u);
    return status == SW_OK ? finish(&u) : status;
}
