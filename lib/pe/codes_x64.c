/*
 * What Windows x64 unwind data consists of: entries that may point to others, UNWIND_INFO versions 1 and 2, chains,
 * codes; and the undoing of a push, which prolog and epilogue share. Refuses to know what has run at an address
 * (unwind_x64.c, epilogue_x64.c). Follows "x64 exception handling" (Microsoft Learn) as checked in win-x64-unwind.md
 * sections 1-3.
 */
#include "pe/codes_x64.h"

enum { FLAG_HANDLERS = 3 };

/* Section 2 of the facts. */
static const struct sw_pe_operation operations[16] = {
    { 1, 1, 15, SW_PE_X64_PUSH },            /*  0 PUSH_NONVOL                          */
    { 2, 3, 1, SW_PE_X64_ALLOC_LARGE },      /*  1 ALLOC_LARGE                          */
    { 1, 1, 15, SW_PE_X64_ALLOC_SMALL },     /*  2 ALLOC_SMALL                          */
    { 1, 1, 15, SW_PE_X64_SET_FRAME },       /*  3 SET_FPREG                            */
    { 2, 2, 15, SW_PE_X64_SAVE },            /*  4 SAVE_NONVOL                          */
    { 3, 3, 15, SW_PE_X64_SAVE_FAR },        /*  5 SAVE_NONVOL_FAR                      */
    { 2, 2, 15, SW_PE_X64_PASS },            /*  6 v1 SAVE_XMM (obsolete); v2 EPILOG    */
    { 3, 3, 15, SW_PE_X64_PASS },            /*  7 v1 SAVE_XMM_FAR (obsolete); v2 spare */
    { 2, 2, 15, SW_PE_X64_PASS },            /*  8 SAVE_XMM128                          */
    { 3, 3, 15, SW_PE_X64_PASS },            /*  9 SAVE_XMM128_FAR                      */
    { 1, 1, 1, SW_PE_X64_MACHINE_FRAME },    /* 10 PUSH_MACHFRAME                       */
    { 3, 3, 15, SW_PE_X64_SET_FRAME_LARGE }, /* 11 SET_FPREG_LARGE (CoreCLR on Unix)    */
    { 1, 1, 0, SW_PE_X64_BAD },
    { 1, 1, 0, SW_PE_X64_BAD },
    { 1, 1, 0, SW_PE_X64_BAD },
    { 1, 1, 0, SW_PE_X64_BAD },
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

enum sw_status sw_pe_x64_load(struct sw_pe_unwind *u)
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
    return status ? status : sw_pe_x64_load(u);
}

enum sw_status sw_pe_x64_next_code(const struct sw_pe_info *info, unsigned *at, struct sw_pe_code *code)
{
    const uint8_t *slot = info->slots + 2 * *at;
    code->offset = slot[0];
    code->op = slot[1] & 15;
    code->info = slot[1] >> 4;
    code->operation = &operations[code->op];
    const unsigned slots = code->info == 1 ? code->operation->slots_info1 : code->operation->slots;
    if (code->operation->effect == SW_PE_X64_BAD || code->info > code->operation->info_max || slots > info->count - *at)
        return SW_E_MALFORMED;
    code->operand = slots == 1 ? 0 : (uint32_t)sw_load_le(slot + 2, 2 * (slots - 1));
    *at += slots;
    return SW_OK;
}

enum sw_status sw_pe_x64_save(struct sw_pe_unwind *u, unsigned reg, struct sw_pe_offset place)
{
    if (reg == SW_X64_RSP || place.off < INT32_MIN || place.off > INT32_MAX)
        return SW_E_MALFORMED;
    u->rule->r[reg] = (struct sw_loc){ SW_LOC_AT_REG, place.base, 0, (int32_t)place.off };
    u->restored |= UINT32_C(1) << reg;
    return SW_OK;
}

enum sw_status sw_pe_x64_pop(struct sw_pe_unwind *u, unsigned reg)
{
    enum sw_status status = sw_pe_x64_save(u, reg, u->sp);
    u->sp.off += 8;
    return status;
}

/* rip and rsp as the processor pushed them: rip, cs, eflags, rsp, ss. */
enum sw_status sw_pe_x64_pop_machine_frame(struct sw_pe_unwind *u, unsigned has_error_code)
{
    if (has_error_code)
        u->sp.off += 8;
    enum sw_status status = sw_pe_x64_save(u, SW_X64_RIP, u->sp);
    const int64_t off = u->sp.off + 24;
    if (status == SW_OK && !sw_fits_i32(off))
        status = SW_E_MALFORMED;
    u->rule->r[SW_X64_RSP] = (struct sw_loc){ SW_LOC_AT_REG, u->sp.base, 0, (int32_t)off };
    u->sp.off += 40;
    u->machine_frame = true;
    return status;
}
