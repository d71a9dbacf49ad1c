/*
 * Packed Windows ARM64 unwind data → the codes that a full record of the same function would have. Knows the one prolog
 * shape that a packed word can describe; refuses to know what a code does (undo_arm64.c). Follows "ARM64 exception
 * handling" (Microsoft Learn), "Packed unwind data"; win-arm64-unwind.md section 5.
 */
#include "pe/unwind_arm64.h"

enum { CODES_MAX = 24, INTEGERS_MAX = 10, CODE_SET_FP = 0xe1, CODE_NOP = 0xe3, CODE_END = 0xe4, CODE_PAC = 0xfc };

/* How the link register is saved. */
enum { LR_STAYS = 0, LR_SAVED = 1, CHAINED_SIGNED = 2, CHAINED = 3 };

/* A prolog in the order of its instructions. */
struct prolog {
    struct {
        uint16_t code;
        uint8_t size;
        bool only_prolog; /* an epilog does not undo it */
    } insns[CODES_MAX];
    unsigned count;
};

static void add(struct prolog *p, unsigned code, uint8_t size, bool only_prolog)
{
    p->insns[p->count].code = (uint16_t)code;
    p->insns[p->count].size = size;
    p->insns[p->count].only_prolog = only_prolog;
    p->count++;
}

/* The codes that save register `x` of a kind: at an offset, or as the first save, which allocates the whole area. */
struct save {
    uint16_t fixed;   /* offset / 8 in bits 5:0 */
    uint16_t indexed; /* room / 8 - 1, in as many bits as there are below the register */
    uint8_t fixed_shift;
    uint8_t indexed_shift;
};
static const struct save save_regp = { 0xc800, 0xcc00, 6, 6 };
static const struct save save_reg = { 0xd000, 0xd400, 6, 5 };
static const struct save save_fregp = { 0xd800, 0xda00, 6, 6 };
static const struct save save_freg = { 0xdc00, 0xde00, 6, 5 };

/* room: the size of the area, if this is the first save into it; 0: the area is allocated already. */
static void add_save(struct prolog *p, const struct save *save, unsigned x, uint32_t offset, uint32_t room)
{
    if (room)
        add(p, save->indexed | x << save->indexed_shift | (room / 8 - 1), 2, false);
    else
        add(p, save->fixed | x << save->fixed_shift | offset / 8, 2, false);
}

static void add_alloc(struct prolog *p, uint32_t size)
{
    if (size < 512)
        add(p, size / 16, 1, false);
    else
        add(p, 0xc000 | size / 16, 2, false);
}

/* An immediate reaches up to 4080; two instructions for more. */
static void add_locals(struct prolog *p, uint32_t size)
{
    if (size > 4080)
        add_alloc(p, 4080);
    if (size)
        add_alloc(p, size > 4080 ? size - 4080 : size);
}

/* x19 and up, then lr. An odd last register shares its instruction with lr, unless it is the first, which allocates. */
static void add_integers(struct prolog *p, uint32_t count, bool has_lr, uint32_t room)
{
    const unsigned lr_of_save_reg = 11;
    if (has_lr && count == 1) {
        add_alloc(p, room);
        add(p, 0xd600, 2, false);
        return;
    }
    for (uint32_t i = 0; i + 1 < count; i += 2)
        add_save(p, &save_regp, i, 8 * i, i == 0 ? room : 0);
    if (count % 2 && has_lr)
        add(p, 0xd600 | (count / 2) << 6 | (count - 1), 2, false);
    else if (count % 2)
        add_save(p, &save_reg, count - 1, 8 * (count - 1), count == 1 ? room : 0);
    else if (has_lr)
        add_save(p, &save_reg, lr_of_save_reg, 8 * count, count == 0 ? room : 0);
}

/* d8 and up, behind the integer registers. */
static void add_floats(struct prolog *p, uint32_t count, uint32_t integers, uint32_t room)
{
    for (uint32_t i = 0; i + 1 < count; i += 2)
        add_save(p, &save_fregp, i, integers + 8 * i, i == 0 && integers == 0 ? room : 0);
    if (count % 2)
        add_save(p, &save_freg, count - 1, integers + 8 * (count - 1), 0);
}

/* The frame record, which lies below everything else, and x29. */
static void add_chain(struct prolog *p, uint32_t locals)
{
    if (locals <= 512) {
        add(p, 0x80 | (locals / 8 - 1), 1, false);
    } else {
        add_locals(p, locals);
        add(p, 0x40, 1, false);
    }
    add(p, CODE_SET_FP, 1, true);
}

static enum sw_status make_prolog(uint32_t word, struct prolog *p)
{
    const uint32_t reg_f = word >> 13 & 7, reg_i = word >> 16 & 15, lr = word >> 21 & 3, frame = (word >> 23) * 16;
    const bool homes = word >> 20 & 1, is_chained = lr == CHAINED || lr == CHAINED_SIGNED;
    const uint32_t integers = 8 * (reg_i + (lr == LR_SAVED)), floats = reg_f ? reg_f + 1 : 0;
    /* If nothing else is saved, homed arguments lie in the local area. */
    const uint32_t home_size = homes && integers + floats ? 64 : 0;
    const uint32_t saved = (integers + 8 * floats + home_size + 15) & ~UINT32_C(15);
    const uint32_t locals = frame - saved;
    if (reg_i > INTEGERS_MAX || frame < saved || (is_chained && locals == 0))
        return SW_E_MALFORMED;
    p->count = 0;
    if (lr == CHAINED_SIGNED)
        add(p, CODE_PAC, 1, false);
    add_integers(p, reg_i, lr == LR_SAVED, saved);
    add_floats(p, floats, integers, saved);
    for (unsigned i = 0; homes && i < 4; i++)
        add(p, CODE_NOP, 1, true);
    if (is_chained)
        add_chain(p, locals);
    else
        add_locals(p, locals);
    return SW_OK;
}

/* The array begins with what is undone first. */
static void put_codes(const struct prolog *p, bool is_epilog, struct sw_pe_arm64_codes *codes)
{
    for (unsigned i = p->count; i-- > 0;) {
        if (is_epilog && p->insns[i].only_prolog)
            continue;
        if (p->insns[i].size == 2)
            codes->window[codes->size++] = (uint8_t)(p->insns[i].code >> 8);
        codes->window[codes->size++] = (uint8_t)p->insns[i].code;
    }
    codes->window[codes->size++] = CODE_END;
}

enum sw_status sw_pe_arm64_expand(uint32_t word, struct sw_pe_arm64_info *info)
{
    enum { FRAGMENT = 2 };
    struct prolog prolog;
    const enum sw_status status = make_prolog(word, &prolog);
    if (status)
        return status;
    info->is_fragment = (word & 3) == FRAGMENT;
    put_codes(&prolog, false, &info->codes);
    info->has_tail = true;
    info->tail = info->codes.size;
    put_codes(&prolog, true, &info->codes);
    info->codes.filled = info->codes.size;
    return SW_OK;
}
