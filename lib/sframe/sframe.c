#include "sframe/sframe.h"

#include "base/expr.h"

enum { MAGIC = 0xdee2, HEADER_BYTES = 28, SORTED = 1, ALL_KEEP_FP = 2, START_IS_OWN = 4 };
enum { ABI_ARM64 = 2, ABI_X64 = 3, ENTRY_V2 = 20, ENTRY_V3 = 16, ATTRIBUTE_BYTES = 5, BLOCK_DEFAULT = 16 };
enum { ROWS_MOST = 1 << 16, WORDS_MOST = 15, IS_SIGNAL = 0x80, IS_MASKED = 0x10, IS_FLEXIBLE = 1 };

/* What versions say differently. */
static const struct version {
    uint8_t entry_bytes, start_bytes, flags;
} versions[] = {
    [2] = { ENTRY_V2, 4, SORTED | ALL_KEEP_FP | START_IS_OWN }, [3] = { ENTRY_V3, 8, SORTED | START_IS_OWN }
};
enum { VERSIONS = sizeof versions / sizeof versions[0] };

enum sw_status sw_sframe_open(struct sw_bytes section, struct sw_sframe *sframe)
{
    struct sw_cursor c = sw_cursor_over(section);
    if (sw_cursor_u(&c, 2) != MAGIC)
        return section.size < 2 ? SW_E_TRUNCATED : SW_E_MALFORMED;
    const unsigned version = (unsigned)sw_cursor_u(&c, 1), flags = (unsigned)sw_cursor_u(&c, 1);
    const unsigned abi = (unsigned)sw_cursor_u(&c, 1);
    *sframe = (struct sw_sframe){ .version = (uint8_t)version };
    sframe->fixed_fp = (int8_t)sw_cursor_u(&c, 1);
    sframe->fixed_ra = (int8_t)sw_cursor_u(&c, 1);
    const uint64_t base = HEADER_BYTES + sw_cursor_u(&c, 1);
    sframe->count = (uint32_t)sw_cursor_u(&c, 4);
    (void)sw_cursor_u(&c, 4); /* rows of all functions */
    const uint64_t row_bytes = sw_cursor_u(&c, 4);
    const uint64_t functions = base + sw_cursor_u(&c, 4), rows = base + sw_cursor_u(&c, 4);
    if (!sw_cursor_ok(&c))
        return SW_E_TRUNCATED;
    if (version >= VERSIONS || versions[version].entry_bytes == 0 || (flags & ~(unsigned)versions[version].flags) ||
        !(flags & SORTED) || (abi != ABI_X64 && abi != ABI_ARM64))
        return SW_E_UNSUPPORTED;
    sframe->machine = abi == ABI_X64 ? SW_MACHINE_X64 : SW_MACHINE_ARM64;
    sframe->is_own = (flags & START_IS_OWN) != 0;
    sframe->start = section.address;
    const uint64_t size = (uint64_t)sframe->count * versions[version].entry_bytes;
    sframe->functions = sw_bytes_part(section, functions, size);
    sframe->rows = sw_bytes_part(section, rows, row_bytes);
    return sframe->functions.size == size && sframe->rows.size == row_bytes ? SW_OK : SW_E_TRUNCATED;
}

/* ---- functions ---- */

struct function {
    uint64_t begin;
    uint32_t size;
    uint32_t row_count;
    uint64_t rows_at;
    uint8_t info, info2, block;
};

static void read_function(const struct sw_sframe *sframe, uint32_t number, struct function *f)
{
    const struct version *version = &versions[sframe->version];
    const uint64_t at = (uint64_t)number * version->entry_bytes;
    struct sw_cursor c = sw_cursor_over(sw_bytes_part(sframe->functions, at, version->entry_bytes));
    const uint64_t start = (uint64_t)sw_sign_extend(sw_cursor_u(&c, version->start_bytes), 8u * version->start_bytes);
    *f = (struct function){ .begin = start + (sframe->is_own ? sframe->functions.address + at : sframe->start) };
    f->size = (uint32_t)sw_cursor_u(&c, 4);
    f->rows_at = sw_cursor_u(&c, 4);
    if (sframe->version != 2)
        return;
    f->row_count = (uint32_t)sw_cursor_u(&c, 4);
    f->info = (uint8_t)sw_cursor_u(&c, 1);
    f->block = (uint8_t)sw_cursor_u(&c, 1);
}

/* Version 3 has the rest in front of the rows. */
static bool read_attribute(const struct sw_sframe *sframe, struct function *f)
{
    if (sframe->version == 2)
        return true;
    struct sw_cursor c = sw_cursor_over(sw_bytes_part(sframe->rows, f->rows_at, ATTRIBUTE_BYTES));
    f->row_count = (uint32_t)sw_cursor_u(&c, 2);
    f->info = (uint8_t)sw_cursor_u(&c, 1);
    f->info2 = (uint8_t)sw_cursor_u(&c, 1);
    f->block = (uint8_t)sw_cursor_u(&c, 1);
    f->rows_at += ATTRIBUTE_BYTES;
    return sw_cursor_ok(&c);
}

/* The last that starts at or below pc. Starts ascend, whatever the fields say. */
static bool find_function(const struct sw_sframe *sframe, uint64_t pc, struct function *f)
{
    uint32_t low = 0, high = sframe->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        read_function(sframe, middle, f);
        if (f->begin <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    read_function(sframe, low - 1, f);
    return pc - f->begin < f->size;
}

/* ---- rows ---- */

struct row {
    uint8_t info;
    unsigned count;
    int64_t words[WORDS_MOST];
};

/* False: the row is cut off, or of no known width. */
static bool read_row(struct sw_cursor *c, unsigned start_bytes, uint64_t *start, struct row *row)
{
    *start = sw_cursor_u(c, start_bytes);
    row->info = (uint8_t)sw_cursor_u(c, 1);
    row->count = row->info >> 1 & 15;
    const unsigned width = 1u << (row->info >> 5 & 3);
    if (width > 4)
        return false;
    for (unsigned i = 0; i < row->count; i++)
        row->words[i] = sw_sign_extend(sw_cursor_u(c, width), 8 * width);
    return sw_cursor_ok(c);
}

/* The last row that starts at or below the offset. */
static enum sw_status find_row(const struct sw_sframe *sframe, const struct function *f, uint64_t offset,
                               struct row *found)
{
    const unsigned start_bytes = 1u << (f->info & 15);
    struct row row;
    uint64_t start;
    bool has_one = false;
    if (f->rows_at > sframe->rows.size)
        return SW_E_TRUNCATED;
    struct sw_cursor c = sw_cursor_over(sw_bytes_part(sframe->rows, f->rows_at, sframe->rows.size - f->rows_at));
    for (uint32_t n = 0; n < f->row_count && n < ROWS_MOST; n++) {
        if (!read_row(&c, start_bytes, &start, &row))
            return SW_E_TRUNCATED;
        if (start > offset)
            break;
        *found = row;
        has_one = true;
    }
    return has_one ? SW_OK : SW_E_NO_RULE;
}

/* ---- rules ---- */

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static struct sw_loc location(enum sw_loc_kind kind, unsigned reg, int64_t offset)
{
    return (struct sw_loc){ (uint8_t)kind, (uint8_t)reg, 0, (int32_t)offset };
}

static enum sw_status default_rule(const struct sw_sframe *sframe, const struct row *row, struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(sframe->machine);
    unsigned next = 1;
    rule->cfa = location(SW_LOC_REG, row->info & 1 ? roles->sp : roles->fp, row->words[0]);
    if (sframe->fixed_ra)
        rule->r[roles->pc] = location(SW_LOC_AT_CFA, 0, sframe->fixed_ra);
    else if (next < row->count)
        rule->r[roles->pc] = location(SW_LOC_AT_CFA, 0, row->words[next++]);
    else if (roles->link < SW_REGS_MAX)
        rule->r[roles->pc] = location(SW_LOC_REG, roles->link, 0);
    else
        return SW_E_MALFORMED;
    if (sframe->fixed_fp)
        rule->r[roles->fp] = location(SW_LOC_AT_CFA, 0, sframe->fixed_fp);
    else if (next < row->count)
        rule->r[roles->fp] = location(SW_LOC_AT_CFA, 0, row->words[next++]);
    return next == row->count ? SW_OK : SW_E_MALFORMED;
}

/*
 * A control word and an offset: a register by DWARF's number, or the CFA, and whether memory there is meant. A control
 * word 0 takes one word and says nothing.
 */
static bool flexible(const struct sw_sframe *sframe, const struct row *row, unsigned *next, struct sw_loc *to)
{
    const unsigned mask_bits = 8u << (row->info >> 5 & 3);
    if (*next >= row->count)
        return true;
    const uint64_t control = (uint64_t)row->words[*next] & (UINT64_MAX >> (64 - mask_bits));
    ++*next;
    if (control == 0)
        return true;
    if (*next >= row->count)
        return false;
    const unsigned reg = control & 1 ? sw_dwarf_reg(sframe->machine, control >> 3) : 0;
    const int64_t offset = row->words[(*next)++];
    const bool is_memory = (control & 2) != 0;
    *to = control & 1 ? location(is_memory ? SW_LOC_AT_REG : SW_LOC_REG, reg, offset)
                      : location(is_memory ? SW_LOC_AT_CFA : SW_LOC_CFA, 0, offset);
    return reg < SW_REGS_MAX;
}

static enum sw_status flexible_rule(const struct sw_sframe *sframe, const struct row *row, struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(sframe->machine);
    struct sw_loc cfa = { 0 };
    unsigned next = 0;
    rule->r[roles->pc] = sframe->fixed_ra            ? location(SW_LOC_AT_CFA, 0, sframe->fixed_ra)
                         : roles->link < SW_REGS_MAX ? location(SW_LOC_REG, roles->link, 0)
                                                     : location(SW_LOC_UNKNOWN, 0, 0);
    if (!flexible(sframe, row, &next, &cfa) || (cfa.kind != SW_LOC_REG && cfa.kind != SW_LOC_AT_REG) ||
        !flexible(sframe, row, &next, &rule->r[roles->pc]) || !flexible(sframe, row, &next, &rule->r[roles->fp]))
        return SW_E_MALFORMED;
    rule->cfa = cfa;
    return next == row->count ? SW_OK : SW_E_MALFORMED;
}

/* What the table does not tell of. */
static void forget_others(enum sw_machine machine, struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(machine);
    const uint64_t others = roles->nonvolatile & ~(UINT64_C(1) << roles->fp);
    for (unsigned n = 0; n < roles->count; n++)
        if (others >> n & 1)
            rule->r[n] = location(SW_LOC_UNKNOWN, 0, 0);
    rule->initial = 0;
}

static bool are_words_sane(const struct row *row)
{
    for (unsigned i = 0; i < row->count; i++)
        if (!fits(row->words[i]))
            return false;
    return true;
}

enum sw_status sw_sframe_rule(const struct sw_sframe *sframe, uint64_t pc, struct sw_rule *rule)
{
    struct function f;
    struct row row = { 0 };
    if (!find_function(sframe, pc, &f))
        return SW_E_NO_RULE;
    if (!read_attribute(sframe, &f))
        return SW_E_TRUNCATED;
    if ((f.info & 15) > 2 || f.info2 > IS_FLEXIBLE)
        return SW_E_UNSUPPORTED;
    if (sframe->version == 3 && (f.info & IS_SIGNAL))
        return SW_E_NO_RULE; /* no row can say where an interrupted context is */
    const uint64_t block = f.block ? f.block : BLOCK_DEFAULT, offset = pc - f.begin;
    const bool is_flexible = f.info2 == IS_FLEXIBLE;
    sw_rule_init(rule, sframe->machine, SW_SOURCE_SFRAME, SW_TRUST_EXACT);
    forget_others(sframe->machine, rule);
    enum sw_status status = find_row(sframe, &f, f.info & IS_MASKED ? offset % block : offset, &row);
    const bool is_empty = status == SW_E_NO_RULE && f.row_count == 0 && sframe->version == 3 && !is_flexible;
    if (is_empty || (status == SW_OK && row.count == 0)) {
        rule->flags = SW_RULE_END;
        return SW_OK;
    }
    if (status != SW_OK)
        return status;
    if (!are_words_sane(&row))
        return SW_E_MALFORMED;
    return is_flexible ? flexible_rule(sframe, &row, rule) : default_rule(sframe, &row, rule);
}
