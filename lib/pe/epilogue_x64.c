/*
 * Epilogues of Windows x64 functions. Version 1 unwind data does not describe them, so the bytes at rip are read;
 * version 2 lists them. Knows where an epilogue is and what it still has to do; refuses to know the prolog. Follows
 * win-x64-unwind.md sections 4 and 5.
 */
#include "pe/unwind_x64.h"

enum { EPILOGUE_WINDOW = 64 };
enum { OP_PUSH = 0, OP_ALLOC_SMALL = 2, OP_EPILOG = 6, OP_MACHINE_FRAME = 10 };

/* Follows a chain to the entry with which it begins. */
static enum sw_status first_entry(const struct sw_pe_reader *reader, struct sw_pe_function *function)
{
    for (unsigned links = 0; links <= SW_PE_LINKS_MAX; links++) {
        uint8_t head[4];
        enum sw_status status = sw_pe_x64_resolve(reader, function, &links);
        if (status)
            return status;
        if (reader->get(reader->arg, function->unwind, head, sizeof head) != sizeof head)
            return SW_E_TRUNCATED;
        if (!(head[0] >> 3 & SW_PE_FLAG_CHAIN))
            return SW_OK;
        status = sw_pe_x64_function(reader, sw_pe_x64_chain_rva(function->unwind, head[2]), function);
        if (status)
            return status;
    }
    return SW_E_LIMIT;
}

/*
 * Whether a function can begin at the target: an entry begins there, and there is no frame yet. gcc's cold parts are
 * entries of their own, without a chain; they have codes and no prolog.
 */
static bool may_begin_function(const struct sw_pe_unwind *u, struct sw_pe_function function, uint32_t target)
{
    uint8_t head[4];
    unsigned links = 0;
    if (target != function.begin)
        return false;
    if (sw_pe_x64_resolve(u->reader, &function, &links) ||
        u->reader->get(u->reader->arg, function.unwind, head, sizeof head) != sizeof head)
        return true;
    const bool is_continuation =
        (head[0] >> 3 & SW_PE_FLAG_CHAIN) || ((head[0] & 7) == 1 && head[1] == 0 && head[2] != 0);
    return !is_continuation;
}

/*
 * Whether a jump leaves the function. It does not if it stays in this entry or in another one of the same function. If
 * nothing was released in front of it, it must lead to the beginning of something: only parts of one function jump into
 * the middle of another entry, or to where a frame is already in place. (The system unwinder does not check this.)
 */
static bool jump_leaves(const struct sw_pe_unwind *u, uint32_t target, bool released)
{
    struct sw_pe_function mine = u->function;
    struct sw_pe_function other;
    if (target >= u->function.begin && target < u->function.end)
        return target == u->function.begin && !(u->info.flags & SW_PE_FLAG_CHAIN);
    if (!u->reader->find || !u->reader->find(u->reader->arg, target, &other))
        return true;
    const struct sw_pe_function there = other;
    if (first_entry(u->reader, &mine) || first_entry(u->reader, &other) || mine.begin != other.begin)
        return released || may_begin_function(u, there, target);
    return target == mine.begin;
}

/* Bytes at rva, as the epilogue rule reads them. at: the next one. Behind `size` there are zeros. */
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
 * The terminators; the first match decides. length: bytes that must be there. kind: what else is checked. Section 4d of
 * the facts.
 */
enum terminator { RETURN, JUMP8, JUMP32, JUMP_MEMORY };
static const struct {
    uint8_t mask[3];
    uint8_t bits[3];
    uint8_t length;
    uint8_t kind;
} terminators[] = {
    { { 0xff, 0, 0 }, { 0xc3, 0, 0 }, 1, RETURN },                  /* ret                              */
    { { 0xff, 0, 0 }, { 0xc2, 0, 0 }, 3, RETURN },                  /* ret imm16                        */
    { { 0xff, 0xff, 0 }, { 0xf3, 0xc3, 0 }, 2, RETURN },            /* rep ret                          */
    { { 0xff, 0, 0 }, { 0xeb, 0, 0 }, 2, JUMP8 },                   /* jmp rel8                         */
    { { 0xff, 0, 0 }, { 0xe9, 0, 0 }, 5, JUMP32 },                  /* jmp rel32                        */
    { { 0xff, 0xff, 0 }, { 0xff, 0x25, 0 }, 6, JUMP_MEMORY },       /* jmp [rip + disp32]               */
    { { 0xf8, 0xff, 0x38 }, { 0x48, 0xff, 0x20 }, 3, JUMP_MEMORY }, /* rex.W jmp r/m64: a marked tail call */
};

/* What stands in front of terminators, or of a part of them, by the same bytes. */
static const struct beginning {
    uint8_t mask[SW_PE_BODY_BYTES];
    uint8_t bits[SW_PE_BODY_BYTES];
} beginnings[] = {
    { { 0xff, 0xfd, 0xff }, { 0x48, 0x81, 0xc4 } }, /* add rsp, imm          */
    { { 0xfe, 0xff, 0x38 }, { 0x48, 0x8d, 0x20 } }, /* lea rsp, [frame + disp] */
    { { 0xf8, 0, 0 }, { 0x58, 0, 0 } },             /* pop                   */
    { { 0xf0, 0xf8, 0 }, { 0x40, 0x58, 0 } },       /* pop, with rex         */
    { { 0xff, 0, 0 }, { 0xf2, 0, 0 } },             /* bnd                   */
};

static bool matches(const uint8_t *bytes, const uint8_t *mask, const uint8_t *bits)
{
    return (bytes[0] & mask[0]) == bits[0] && (bytes[1] & mask[1]) == bits[1] && (bytes[2] & mask[2]) == bits[2];
}

bool sw_pe_may_begin_epilogue(const uint8_t bytes[SW_PE_BODY_BYTES])
{
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (matches(bytes, beginnings[i].mask, beginnings[i].bits))
            return true;
    for (size_t i = 0; i < sizeof terminators / sizeof terminators[0]; i++)
        if (matches(bytes, terminators[i].mask, terminators[i].bits))
            return true;
    return false;
}

static bool jump_ends(const struct sw_pe_unwind *u, const struct window *w, unsigned kind, bool released)
{
    const uint32_t at = u->rva + (uint32_t)w->at;
    if (kind == JUMP8)
        return jump_leaves(u, at + 2 + (uint32_t)sw_sign_extend(w->bytes[w->at + 1], 8), released);
    if (kind == JUMP32)
        return jump_leaves(u, at + 5 + sw_load32(w->bytes + w->at + 1), released);
    return true;
}

static bool at_terminator(const struct sw_pe_unwind *u, struct window *w)
{
    const bool released = w->at != 0;
    if (window_has(w, 1) && w->bytes[w->at] == 0xf2) /* bnd */
        w->at++;
    for (size_t i = 0; i < sizeof terminators / sizeof terminators[0]; i++) {
        const uint8_t *b = w->bytes + w->at;
        if (window_has(w, terminators[i].length) && matches(b, terminators[i].mask, terminators[i].bits))
            return jump_ends(u, w, terminators[i].kind, released);
    }
    return false;
}

/* Section 4a: add rsp,imm or lea rsp,[frame + disp]. sp: what rsp is afterwards. */
static void skip_release(const struct sw_pe_unwind *u, struct window *w, struct sw_pe_offset *sp)
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
        *sp = (struct sw_pe_offset){ base, 0 };
    sp->off += sw_sign_extend(wide ? sw_load32(b + 3) : b[3], wide ? 32 : 8);
    w->at += wide ? 7 : 4;
}

/* Section 4b: the register that a pop at this point restores. False: there is no pop. No epilogue pops rsp. */
static bool skip_pop(struct window *w, unsigned *reg)
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
 * Version 1 has no epilogue codes. The system unwinder reads the code at rip, and so does this function, byte for byte.
 * It goes over the bytes twice: to see whether they are an epilogue, and to undo it.
 */
enum sw_status sw_pe_x64_epilogue_by_bytes(struct sw_pe_unwind *u, bool *inside)
{
    struct window w = { { 0 }, 0, 0 };
    struct sw_pe_offset sp = u->sp;
    unsigned reg;
    w.size = u->reader->get(u->reader->arg, u->rva, w.bytes, EPILOGUE_WINDOW);
    if (w.size > EPILOGUE_WINDOW)
        return SW_E_TRUNCATED;
    skip_release(u, &w, &sp);
    const size_t pops = w.at;
    while (skip_pop(&w, &reg))
        ;
    *inside = at_terminator(u, &w);
    if (!*inside)
        return SW_OK;
    u->sp = sp;
    w.at = pops;
    while (skip_pop(&w, &reg)) {
        enum sw_status status = sw_pe_x64_pop(u, reg);
        if (status)
            return status;
    }
    return SW_OK;
}

/* Version 2: EPILOG slots come first in the array; see section 5. depth: bytes of the epilogue that have run. */
static bool in_listed_epilogue(const struct sw_pe_unwind *u, uint32_t *depth)
{
    const struct sw_pe_info *info = &u->info;
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

/*
 * Undoes the pops that a listed epilogue still has to do, in this link of the chain. passed: bytes of its code so far.
 */
static enum sw_status undo_pushes(struct sw_pe_unwind *u, uint32_t depth, uint32_t *passed, bool *started,
                                  bool *finished)
{
    for (unsigned at = 0; at < u->info.count && !*finished;) {
        struct sw_pe_code code;
        enum sw_status status = sw_pe_x64_next_code(&u->info, &at, &code);
        if (status)
            return status;
        if (code.op == OP_PUSH) {
            *started = true;
            if (*passed >= depth && (status = sw_pe_x64_pop(u, code.info)))
                return status;
            *passed += code.info < 8 ? 1 : 2;
        } else if (code.op == OP_MACHINE_FRAME) {
            *finished = true;
            return sw_pe_x64_pop_machine_frame(u, code.info);
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

enum sw_status sw_pe_x64_epilogue_by_codes(struct sw_pe_unwind *u, bool *inside)
{
    uint32_t depth = 0;
    uint32_t passed = 0;
    bool started = false;
    bool finished = false;
    *inside = in_listed_epilogue(u, &depth);
    enum sw_status status = *inside ? undo_pushes(u, depth, &passed, &started, &finished) : SW_OK;
    while (*inside && status == SW_OK && !finished && (u->info.flags & SW_PE_FLAG_CHAIN)) {
        status = sw_pe_x64_follow_chain(u);
        if (status == SW_OK)
            status = undo_pushes(u, depth, &passed, &started, &finished);
    }
    return status;
}
