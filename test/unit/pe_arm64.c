/*
 * Windows ARM64 unwind data: every code, packed words beside what they stand for, every instruction of whole functions,
 * exception directories, and what is refused. A rule is compared as text: "sp+48 x29[-48] x30[-40] x19[-32]" is CFA =
 * sp + 48 and x29, the return address and x19 saved there; registers that are not named are unchanged, and without x30
 * the return address is in x30.
 */
#include "../support/bytes.h"
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "pe/pe.h"
#include "pe/unwind_arm64.h"

#define BYTES(text) text, sizeof text - 1
#define FP          SW_ARM64_FP
#define LR          SW_ARM64_LR

enum { CODE = 0x1000, INFO = 0x2000, LENGTH = 0x100, BODY = 0x80 };

/* ---- unwind data at RVA 0x2000 ---- */

enum { RECORD_MAX = 1100 };
struct world {
    uint8_t bytes[RECORD_MAX];
    size_t size;
    unsigned reads;
};

static size_t get(void *arg, uint32_t rva, void *to, size_t size)
{
    struct world *w = arg;
    w->reads++;
    if (rva < INFO || rva - INFO >= w->size)
        return 0;
    const size_t copied = size < w->size - (rva - INFO) ? size : w->size - (rva - INFO);
    memcpy(to, w->bytes + (rva - INFO), copied);
    return copied;
}

/* One epilog: its first instruction, its first code. */
struct scope {
    uint32_t start, index;
};

static void add_word(struct world *w, uint32_t word)
{
    put_le(w->bytes + w->size, word, 4);
    w->size += 4;
}

/* tail: the codes of the epilog at the end, or -1: those of the list. */
static void make_record(struct world *w, uint32_t length, int tail, const struct scope *scopes, uint32_t count,
                        const char *codes, size_t size)
{
    const uint32_t words = (uint32_t)(size + 3) / 4, epilogs = tail < 0 ? count : (uint32_t)tail;
    memset(w, 0, sizeof *w);
    const bool is_short = epilogs < 32 && words < 32 && epilogs + words != 0;
    add_word(w, length | (tail >= 0 ? 1u << 21 : 0) | (is_short ? epilogs << 22 | words << 27 : 0));
    if (!is_short)
        add_word(w, epilogs | words << 16);
    for (uint32_t i = 0; tail < 0 && i < count; i++)
        add_word(w, scopes[i].start | scopes[i].index << 22);
    memcpy(w->bytes + w->size, codes, size);
    w->size += 4 * (size_t)words;
}

static enum sw_status rule_of(struct world *w, uint32_t word, uint32_t length, uint32_t offset, struct sw_rule *rule)
{
    const struct sw_pe_reader reader = { get, NULL, w };
    const struct sw_pe_function function = { CODE, CODE + 4 * length, word };
    return sw_pe_arm64_rule(&reader, &function, CODE + offset, rule);
}

static const char *name_of(unsigned n, char text[8])
{
    snprintf(text, 8, n == SW_ARM64_SP ? "sp" : n == SW_ARM64_PC ? "pc" : "x%u", n);
    return text;
}

static int put_location(char *to, size_t size, unsigned n, struct sw_loc loc)
{
    char name[8], base[8];
    name_of(n, name);
    name_of(loc.reg, base);
    if (loc.kind == SW_LOC_AT_CFA)
        return snprintf(to, size, " %s[%+d]", name, (int)loc.off);
    if (loc.kind == SW_LOC_AT_REG)
        return snprintf(to, size, " %s[%s%+d]", name, base, (int)loc.off);
    if (loc.kind == SW_LOC_REG)
        return snprintf(to, size, " %s=%s%+d", name, base, (int)loc.off);
    return snprintf(to, size, " %s?%d", name, loc.kind);
}

static bool is_usual(const struct sw_rule *rule, unsigned n)
{
    const struct sw_loc loc = rule->r[n];
    if (n == SW_ARM64_SP)
        return loc.kind == SW_LOC_CFA && loc.off == 0;
    if (n == SW_ARM64_PC)
        return loc.kind == SW_LOC_REG && loc.reg == LR;
    return loc.kind == (SW_ARM64_NONVOLATILE >> n & 1 ? SW_LOC_SAME : SW_LOC_UNKNOWN);
}

static void render(const struct sw_rule *rule, char *text, size_t size)
{
    char base[8];
    int n = snprintf(text, size, "%s%+d", name_of(rule->cfa.reg, base), (int)rule->cfa.off);
    for (unsigned r = 0; r < SW_ARM64_COUNT; r++)
        if (!is_usual(rule, r))
            n += put_location(text + n, size - (size_t)n, r, rule->r[r]);
    if (rule->flags & SW_RULE_SIGNAL)
        snprintf(text + n, size - (size_t)n, " signal");
}

static void assert_text(const struct sw_rule *rule, const char *expected)
{
    char text[640];
    assert_int_equal(rule->cfa.kind, SW_LOC_REG);
    assert_int_equal(rule->source, SW_SOURCE_UNWIND_CODES);
    assert_int_equal(rule->trust, SW_TRUST_EXACT);
    render(rule, text, sizeof text);
    assert_string_equal(text, expected);
}

/* ---- codes: what each undoes, seen from the body ---- */

static const struct code_row {
    const char *name;
    const char *codes;
    size_t size;
    enum sw_status status;
    const char *rule;
} code_rows[] = {
    { "end_alone_is_a_leaf", BYTES("\xe4"), SW_OK, "sp+0" },
    { "alloc_s_least", BYTES("\x01\xe4"), SW_OK, "sp+16" },
    { "alloc_s_most", BYTES("\x1f\xe4"), SW_OK, "sp+496" },
    { "save_r19r20_x", BYTES("\x24\xe4"), SW_OK, "sp+32 x19[-32] x20[-24]" },
    { "save_r19r20_x_most", BYTES("\x3f\xe4"), SW_OK, "sp+248 x19[-248] x20[-240]" },
    { "save_fplr", BYTES("\x42\x04\xe4"), SW_OK, "sp+64 x29[-48] pc[-40]" },
    { "save_fplr_most", BYTES("\x7f\x1f\xe0\x00\x00\x02\xe4"), SW_OK, "sp+528 x29[-24] pc[-16]" },
    { "save_fplr_x", BYTES("\x81\xe4"), SW_OK, "sp+16 x29[-16] pc[-8]" },
    { "save_fplr_x_most", BYTES("\xbf\xe4"), SW_OK, "sp+512 x29[-512] pc[-504]" },
    { "alloc_m", BYTES("\xc0\x20\xe4"), SW_OK, "sp+512" },
    { "alloc_m_most", BYTES("\xc7\xff\xe4"), SW_OK, "sp+32752" },
    { "save_regp", BYTES("\xc8\x82\x04\xe4"), SW_OK, "sp+64 x21[-48] x22[-40]" },
    { "save_regp_of_a_high_pair", BYTES("\xca\x01\x04\xe4"), SW_OK, "sp+64 x27[-56] x28[-48]" },
    { "save_regp_behind_lr", BYTES("\xca\xc1\x04\xe4"), SW_E_MALFORMED, "" },
    { "save_regp_x", BYTES("\xcc\x83\xe4"), SW_OK, "sp+32 x21[-32] x22[-24]" },
    { "save_reg", BYTES("\xd0\x43\x04\xe4"), SW_OK, "sp+64 x20[-40]" },
    { "save_reg_of_lr", BYTES("\xd2\xc1\x01\xe4"), SW_OK, "sp+16 pc[-8]" },
    { "save_reg_of_sp", BYTES("\xd3\x01\x01\xe4"), SW_E_MALFORMED, "" },
    { "save_reg_x", BYTES("\xd4\x21\xe4"), SW_OK, "sp+16 x20[-16]" },
    { "save_reg_x_of_lr", BYTES("\xd5\x61\xe4"), SW_OK, "sp+16 pc[-16]" },
    { "save_reg_x_most", BYTES("\xd4\x1f\xe4"), SW_OK, "sp+256 x19[-256]" },
    { "save_lrpair", BYTES("\xd6\x42\x04\xe4"), SW_OK, "sp+64 x21[-48] pc[-40]" },
    { "save_lrpair_behind_x28", BYTES("\xd7\xc2\x04\xe4"), SW_E_MALFORMED, "" },
    { "save_fregp", BYTES("\xd8\x42\x04\xe4"), SW_OK, "sp+64" },
    { "save_fregp_x", BYTES("\xda\x43\xe4"), SW_OK, "sp+32" },
    { "save_freg", BYTES("\xdc\x42\x04\xe4"), SW_OK, "sp+64" },
    { "save_freg_x", BYTES("\xde\x41\xe4"), SW_OK, "sp+16" },
    { "alloc_z", BYTES("\xdf\x01\xe4"), SW_E_UNSUPPORTED, "" },
    { "alloc_z_of_none", BYTES("\xdf\x00\xe4"), SW_OK, "sp+0" },
    { "alloc_l", BYTES("\xe0\x01\x00\x00\xe4"), SW_OK, "sp+1048576" },
    { "alloc_l_is_big_endian", BYTES("\xe0\x00\x01\x02\xe4"), SW_OK, "sp+4128" },
    { "alloc_l_most", BYTES("\xe0\xff\xff\xff\xe4"), SW_OK, "sp+268435440" },
    { "set_fp", BYTES("\xe1\x85\xe4"), SW_OK, "x29+48 x29[-48] pc[-40]" },
    { "add_fp", BYTES("\xe2\x10\x50\x09\xe4"), SW_OK, "x29+16 x29[-16] pc[-8]" },
    { "saves_below_x29", BYTES("\xe2\x10\xc8\x06\x50\x09\xe4"), SW_OK, "x29+16 x19[-96] x20[-88] x29[-16] pc[-8]" },
    { "saves_after_x29_was_set_count_from_sp", BYTES("\xd0\x01\xe1\x81\xe4"), SW_OK,
      "x29+16 x19[sp+8] x29[-16] pc[-8]" },
    { "nop", BYTES("\xe3\x01\xe4"), SW_OK, "sp+16" },
    { "end_c_is_passed_through", BYTES("\x01\xe5\x02\xe4"), SW_OK, "sp+48" },
    { "nothing_behind_end", BYTES("\x01\xe4\x02\xe4"), SW_OK, "sp+16" },
    { "save_next", BYTES("\xe6\xc8\x02\x85\xe4"), SW_OK, "sp+48 x19[-32] x20[-24] x21[-16] x22[-8] x29[-48] pc[-40]" },
    { "save_next_twice_and_pre_indexed", BYTES("\xe6\xe6\xcc\x05\xe4"), SW_OK,
      "sp+48 x19[-48] x20[-40] x21[-32] x22[-24] x23[-16] x24[-8]" },
    { "save_next_of_save_r19r20_x", BYTES("\xe6\x24\xe4"), SW_OK, "sp+32 x19[-32] x20[-24] x21[-16] x22[-8]" },
    { "save_next_of_float_pairs", BYTES("\xe6\xd8\x02\xda\x05\xe4"), SW_OK, "sp+48" },
    { "save_next_reaches_x28_at_most", BYTES("\xe6\xe6\xe6\xe6\xe6\xc8\x00\xe4"), SW_OK,
      "sp+0 x19[+0] x20[+8] x21[+16] x22[+24] x23[+32] x24[+40] x25[+48] x26[+56] x27[+64] x28[+72] x29[+80] "
      "pc[+88]" },
    { "save_next_behind_lr", BYTES("\xe6\xe6\xe6\xe6\xe6\xe6\xc8\x00\xe4"), SW_E_MALFORMED, "" },
    { "save_next_of_a_single_register", BYTES("\xe6\xd0\x00\xe4"), SW_E_MALFORMED, "" },
    { "save_next_of_lr_and_another", BYTES("\xe6\xd6\x00\xe4"), SW_E_MALFORMED, "" },
    { "save_next_of_nothing", BYTES("\xe6\xe4"), SW_E_MALFORMED, "" },
    { "save_any_reg_one_x", BYTES("\xe7\x13\x02\x04\xe4"), SW_OK, "sp+64 x19[-48]" },
    { "save_any_reg_a_volatile_x", BYTES("\xe7\x05\x02\x04\xe4"), SW_OK, "sp+64 x5[-48]" },
    { "save_any_reg_two_x", BYTES("\xe7\x53\x01\x04\xe4"), SW_OK, "sp+64 x19[-48] x20[-40]" },
    { "save_any_reg_one_x_pre_indexed", BYTES("\xe7\x33\x01\xe4"), SW_OK, "sp+32 x19[-32]" },
    { "save_any_reg_two_x_pre_indexed", BYTES("\xe7\x7d\x02\xe4"), SW_OK, "sp+48 x29[-48] pc[-40]" },
    { "save_any_reg_with_save_next", BYTES("\xe6\xe7\x53\x01\x04\xe4"), SW_OK,
      "sp+64 x19[-48] x20[-40] x21[-32] x22[-24]" },
    { "save_any_reg_one_d", BYTES("\xe7\x08\x42\x04\xe4"), SW_OK, "sp+64" },
    { "save_any_reg_two_d_pre_indexed", BYTES("\xe7\x68\x41\xe4"), SW_OK, "sp+32" },
    { "save_any_reg_one_q_pre_indexed", BYTES("\xe7\x28\x80\xe4"), SW_OK, "sp+16" },
    { "save_any_reg_of_sve_registers", BYTES("\xe7\x78\xc1\x04\xe4"), SW_OK, "sp+64" },
    { "save_any_reg_of_sp", BYTES("\xe7\x1f\x02\xe4"), SW_E_MALFORMED, "" },
    { "save_any_reg_pair_behind_lr", BYTES("\xe7\x5e\x02\xe4"), SW_E_MALFORMED, "" },
    { "save_any_reg_of_a_reserved_form", BYTES("\xe7\x93\x02\xe4"), SW_E_UNSUPPORTED, "" },
    { "save_any_reg_single_with_save_next", BYTES("\xe6\xe7\x13\x02\xe4"), SW_E_MALFORMED, "" },
    { "trap_frame", BYTES("\xe8\xe4"), SW_E_UNSUPPORTED, "" },
    { "machine_frame", BYTES("\xe9\xe4"), SW_OK, "sp+16 x30?1 sp[-16] pc[-8] signal" },
    { "machine_frame_above_a_frame", BYTES("\xe1\x81\x02\xe9\xe4"), SW_OK,
      "x29+64 x29[-64] x30[-56] sp[-16] pc[-8] signal" },
    { "nothing_counts_from_a_loaded_sp", BYTES("\xe9\x01\xe4"), SW_E_UNSUPPORTED, "" },
    { "context", BYTES("\xea\xe4"), SW_OK,
      "sp+912 x0[-904] x1[-896] x2[-888] x3[-880] x4[-872] x5[-864] x6[-856] x7[-848] x8[-840] x9[-832] x10[-824] "
      "x11[-816] x12[-808] x13[-800] x14[-792] x15[-784] x16[-776] x17[-768] x18[-760] x19[-752] x20[-744] x21[-736] "
      "x22[-728] x23[-720] x24[-712] x25[-704] x26[-696] x27[-688] x28[-680] x29[-672] x30[-664] sp[-656] pc[-648] "
      "signal" },
    { "ec_context", BYTES("\xeb\xe4"), SW_E_UNSUPPORTED, "" },
    { "clear_unwound_to_call", BYTES("\x81\xec\xe4"), SW_OK, "sp+16 x29[-16] x30[-8] pc[-8] signal" },
    { "clear_unwound_to_call_of_a_leaf", BYTES("\xec\xe4"), SW_OK, "sp+0 x30?1 signal" },
    { "reserved_frame_ed", BYTES("\xed\xe4"), SW_E_UNSUPPORTED, "" },
    { "reserved_frame_f7", BYTES("\xf7\xe4"), SW_E_UNSUPPORTED, "" },
    { "reserved_of_two_bytes", BYTES("\xf8\xff\x01\xe4"), SW_OK, "sp+16" },
    { "reserved_of_three_bytes", BYTES("\xf9\xff\xff\x01\xe4"), SW_OK, "sp+16" },
    { "reserved_of_four_bytes", BYTES("\xfa\xff\xff\xff\x01\xe4"), SW_OK, "sp+16" },
    { "reserved_of_five_bytes", BYTES("\xfb\xff\xff\xff\xff\x01\xe4"), SW_OK, "sp+16" },
    { "pac_sign_lr_is_left_to_the_applier", BYTES("\x81\xfc\xe4"), SW_OK, "sp+16 x29[-16] pc[-8]" },
    { "reserved_fd", BYTES("\xfd\x01\xe4"), SW_OK, "sp+16" },
    { "reserved_ff", BYTES("\xff\x01\xe4"), SW_OK, "sp+16" },
    { "set_fp_after_x29_was_restored", BYTES("\x81\xe1\xe4"), SW_E_MALFORMED, "" },
    { "codes_without_end", BYTES("\x01\x01\x01\x01"), SW_E_MALFORMED, "" },
    { "code_cut_by_the_end_of_the_array", BYTES("\x01\x01\x01\xc8"), SW_E_MALFORMED, "" },
};

static void code_is_undone(void **state)
{
    const struct code_row *row = *state;
    struct world w;
    struct sw_rule rule;
    make_record(&w, LENGTH, -1, NULL, 0, row->codes, row->size);
    assert_int_equal(rule_of(&w, INFO, LENGTH, 4 * BODY, &rule), row->status);
    if (row->status == SW_OK)
        assert_text(&rule, row->rule);
}

/* Each first byte is one row's: all 256 are known, with a size and a count of instructions. */
static void every_first_byte_has_its_size_and_instructions(void **state)
{
    /* By bytes 0xe0..0xff; those below are told by their leading bits. Sizes and counts of win-arm64-unwind.md
     * section 3. */
    static const uint8_t high_sizes[32] = { 4, 1, 2, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1,
                                            1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 1, 1, 1, 1 };
    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        const unsigned size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : high_sizes[first - 0xe0];
        const unsigned insns = first >= 0xe8 && first <= 0xf7 ? 0 : 1;
        char codes[12] = { 0 };
        struct world w;
        struct sw_rule rule;
        if (first == 0xe4 || first == 0xe5)
            continue;
        /* In a prolog of this code and an alloc_s in front of it, just behind the alloc_s: only that is undone. */
        codes[0] = (char)first;
        codes[size] = 0x01;
        codes[size + 1] = (char)0xe4;
        make_record(&w, LENGTH, -1, NULL, 0, codes, size + 2);
        if (insns == 0)
            continue;
        assert_int_equal(rule_of(&w, INFO, LENGTH, 4, &rule), SW_OK);
        assert_text(&rule, "sp+16");
        assert_int_equal(rule_of(&w, INFO, LENGTH, 0, &rule), SW_OK);
        assert_text(&rule, "sp+0");
    }
    for (unsigned first = 0xe8; first <= 0xf7; first++) {
        const char codes[] = { 0x02, (char)first, 0x01, (char)0xe4 };
        struct world w;
        struct sw_rule rule;
        /* Two instructions, not three: at the second, the frame in between is to be undone, or refused. */
        make_record(&w, LENGTH, -1, NULL, 0, codes, sizeof codes);
        const enum sw_status status = rule_of(&w, INFO, LENGTH, 4, &rule);
        assert_int_equal(status, first == 0xec ? SW_OK : SW_E_UNSUPPORTED);
        assert_int_equal(rule_of(&w, INFO, LENGTH, 0, &rule), SW_OK);
        assert_text(&rule, "sp+0");
    }
}

/* ---- whole functions, instruction by instruction ---- */

enum what { STP, STPX, LDP, LDPX, STR, STRX, LDR, LDRX, SUB, ADD, SET, BACK, NOP, CALL, CLOBBER, RET, FORK, EPILOG };

/*
 * One instruction: STP a, b, [sp, n]; ..X with [sp, -n]! or [sp], n; SUB, ADD sp; SET x29 = sp + n; BACK sp = x29 - n;
 * CLOBBER x(a)..x(b) in one instruction, for all that a body does. No instructions: FORK, what follows up to the next
 * RET is done on one way only; EPILOG, a scope begins, n is its first code.
 */
struct op {
    uint8_t what, a, b;
    uint32_t n;
};

enum { OPS_MAX = 48, STACK = 0x700000, STACK_SIZE = 0x10000, CALLER_SP = STACK + 0xf000, CALLER = 0x40052c };

struct model {
    struct sw_regs regs;
    uint8_t stack[STACK_SIZE];
};

static size_t read_stack(void *arg, uint64_t address, void *to, size_t size)
{
    const struct model *m = arg;
    if (address < STACK || address >= STACK + STACK_SIZE)
        return 0;
    const size_t left = (size_t)(STACK + STACK_SIZE - address), copied = size < left ? size : left;
    memcpy(to, m->stack + (address - STACK), copied);
    return copied;
}

static void store(struct model *m, unsigned reg, uint64_t at)
{
    assert_true(at >= STACK && at + 8 <= STACK + STACK_SIZE);
    put_le(m->stack + (at - STACK), m->regs.r[reg], 8);
}

static void load(struct model *m, unsigned reg, uint64_t at)
{
    assert_true(at >= STACK && at + 8 <= STACK + STACK_SIZE);
    m->regs.r[reg] = sw_load64(m->stack + (at - STACK));
}

static void execute(struct model *m, const struct op *op)
{
    uint64_t *sp = &m->regs.r[SW_ARM64_SP];
    const bool is_pair = op->what <= LDPX, is_store = op->what == STPX || op->what == STRX;
    const bool is_indexed = is_store || op->what == LDPX || op->what == LDRX;
    if (op->what == SUB || is_store)
        *sp -= op->n;
    if (op->what <= LDRX) {
        const uint64_t at = *sp + (is_indexed ? 0 : op->n);
        void (*move)(struct model *, unsigned, uint64_t) =
            op->what == STP || op->what == STR || is_store ? store : load;
        move(m, op->a, at);
        if (is_pair)
            move(m, op->b, at + 8);
    }
    if (op->what == ADD || op->what == LDPX || op->what == LDRX)
        *sp += op->n;
    if (op->what == SET)
        m->regs.r[FP] = *sp + op->n;
    if (op->what == BACK)
        *sp = m->regs.r[FP] - op->n;
    if (op->what == CALL)
        m->regs.r[LR] = 0xbadca11;
    for (unsigned n = op->a; op->what == CLOBBER && n <= op->b; n++)
        m->regs.r[n] = 0xc10bbe20 + n;
}

static struct model *start(void)
{
    static struct model m;
    memset(&m, 0x5a, sizeof m);
    m.regs = (struct sw_regs){ .machine = SW_MACHINE_ARM64 };
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++)
        sw_regs_set(&m.regs, n, 0xca11e000 + n);
    sw_regs_set(&m.regs, SW_ARM64_SP, CALLER_SP);
    sw_regs_set(&m.regs, LR, CALLER);
    return &m;
}

static bool is_insn(const struct op *op)
{
    return op->what != FORK && op->what != EPILOG;
}

/* tail: as in make_record; packed: instead of a record. codes may be shared by scopes: EPILOG names its first. */
static const struct function_row {
    const char *name;
    uint32_t packed;
    int tail;
    const char *codes;
    size_t size;
    struct op ops[OPS_MAX];
    size_t count;
} function_rows[] = {
#define OPS(...) { __VA_ARGS__ }, sizeof((struct op[]){ __VA_ARGS__ }) / sizeof(struct op)
    { "net_method", 0, -1, BYTES("\xe1\xe6\xc8\x02\x85\xe4"),
      OPS({ STPX, FP, LR, 48 }, { STP, 19, 20, 16 }, { STP, 21, 22, 32 }, { SET, 0, 0, 0 }, { CALL, 0, 0, 0 },
          { CLOBBER, 19, 22, 0 }, { EPILOG, 0, 0, 1 }, { LDP, 21, 22, 32 }, { LDP, 19, 20, 16 }, { LDPX, FP, LR, 48 },
          { RET, 0, 0, 0 }) },
    { "net_method_with_two_epilogs", 0, -1, BYTES("\xe1\xe6\xc8\x02\x85\xe4"),
      OPS({ STPX, FP, LR, 48 }, { STP, 19, 20, 16 }, { STP, 21, 22, 32 }, { SET, 0, 0, 0 }, { CALL, 0, 0, 0 },
          { CLOBBER, 19, 22, 0 }, { FORK, 0, 0, 0 }, { EPILOG, 0, 0, 1 }, { LDP, 21, 22, 32 }, { LDP, 19, 20, 16 },
          { LDPX, FP, LR, 48 }, { RET, 0, 0, 0 }, { CALL, 0, 0, 0 }, { EPILOG, 0, 0, 1 }, { LDP, 21, 22, 32 },
          { LDP, 19, 20, 16 }, { LDPX, FP, LR, 48 }, { RET, 0, 0, 0 }) },
    { "net_method_that_goes_on_behind_its_epilog", 0, -1, BYTES("\xe1\x83\xe4"),
      OPS({ STPX, FP, LR, 32 }, { SET, 0, 0, 0 }, { FORK, 0, 0, 0 }, { EPILOG, 0, 0, 1 }, { LDPX, FP, LR, 32 },
          { RET, 0, 0, 0 }, { CALL, 0, 0, 0 }, { NOP, 0, 0, 0 }, { CALL, 0, 0, 0 }) },
    { "net_localloc_whose_epilog_mirrors_all_of_the_prolog", 0, 0, BYTES("\xe2\x06\xc8\x02\x46\x04\xe4"),
      OPS({ SUB, 0, 0, 64 }, { STP, FP, LR, 48 }, { STP, 19, 20, 16 }, { SET, 0, 0, 48 }, { SUB, 0, 0, 160 },
          { CLOBBER, 19, 20, 0 }, { CALL, 0, 0, 0 }, { BACK, 0, 0, 48 }, { LDP, 19, 20, 16 }, { LDP, FP, LR, 48 },
          { ADD, 0, 0, 64 }, { RET, 0, 0, 0 }) },
    { "net_funclet_keeps_x29", 0, 0, BYTES("\xc8\x02\x83\xe4"),
      OPS({ STPX, FP, LR, 32 }, { STP, 19, 20, 16 }, { CALL, 0, 0, 0 }, { CLOBBER, 19, 20, 0 }, { LDP, 19, 20, 16 },
          { LDPX, FP, LR, 32 }, { RET, 0, 0, 0 }) },
    { "large_frame_with_a_probe", 0, -1,
      BYTES("\xe1\x40\xc4\xe4\xe3\xd0\x01\x01\xe3\xe3\xe3\xe4\x40\xc4\xe4\xd0\x01\x01\xe4"),
      OPS({ NOP, 0, 0, 0 }, { NOP, 0, 0, 0 }, { NOP, 0, 0, 0 }, { SUB, 0, 0, 16 }, { STR, 19, 0, 8 }, { NOP, 0, 0, 0 },
          { SUB, 0, 0, 20032 }, { STP, FP, LR, 0 }, { SET, 0, 0, 0 }, { CLOBBER, 19, 19, 0 }, { CALL, 0, 0, 0 },
          { EPILOG, 0, 0, 12 }, { LDP, FP, LR, 0 }, { ADD, 0, 0, 20032 }, { LDR, 19, 0, 8 }, { ADD, 0, 0, 16 },
          { RET, 0, 0, 0 }) },
    { "signed_return_address", 0, 0, BYTES("\x81\xfc\xe4"),
      OPS({ NOP, 0, 0, 0 }, { STPX, FP, LR, 16 }, { CALL, 0, 0, 0 }, { LDPX, FP, LR, 16 }, { NOP, 0, 0, 0 },
          { RET, 0, 0, 0 }) },
    { "a_stack_probe_is_called_in_the_prolog", 0, 0, BYTES("\xc0\x80\xe3\xe3\x81\xe4"),
      OPS({ STPX, FP, LR, 16 }, { NOP, 0, 0, 0 }, { CALL, 0, 0, 0 }, { SUB, 0, 0, 2048 }, { NOP, 0, 0, 0 },
          { ADD, 0, 0, 2048 }, { NOP, 0, 0, 0 }, { NOP, 0, 0, 0 }, { LDPX, FP, LR, 16 }, { RET, 0, 0, 0 }) },
    { "functions_without_epilogs_end_in_a_call", 0, -1, BYTES("\xe1\x81\xe4"),
      OPS({ STPX, FP, LR, 16 }, { SET, 0, 0, 0 }, { NOP, 0, 0, 0 }, { CALL, 0, 0, 0 }) },
    { "packed_two_registers_and_lr", 0x0122002d, 0, NULL, 0,
      OPS({ STPX, 19, 20, 32 }, { STR, LR, 0, 16 }, { CLOBBER, 19, 20, 0 }, { CALL, 0, 0, 0 }, { NOP, 0, 0, 0 },
          { NOP, 0, 0, 0 }, { NOP, 0, 0, 0 }, { NOP, 0, 0, 0 }, { LDR, LR, 0, 16 }, { LDPX, 19, 20, 32 },
          { RET, 0, 0, 0 }) },
#define PACKED(flag, length, f, i, h, cr, frame)                                                                       \
    (uint32_t)(flag) | (length) << 2 | (f) << 13 | (i) << 16 | (uint32_t)(h) << 20 | (uint32_t)(cr) << 21 |            \
        (uint32_t)((frame) / 16) << 23
    { "packed_leaf_with_locals", PACKED(1, 4, 0, 0, 0, 0, 64), 0, NULL, 0,
      OPS({ SUB, 0, 0, 64 }, { NOP, 0, 0, 0 }, { ADD, 0, 0, 64 }, { RET, 0, 0, 0 }) },
    { "packed_two_allocations", PACKED(1, 6, 0, 0, 0, 0, 4096), 0, NULL, 0,
      OPS({ SUB, 0, 0, 4080 }, { SUB, 0, 0, 16 }, { NOP, 0, 0, 0 }, { ADD, 0, 0, 16 }, { ADD, 0, 0, 4080 },
          { RET, 0, 0, 0 }) },
    { "packed_frame_record", PACKED(1, 7, 0, 0, 0, 3, 512), 0, NULL, 0,
      OPS({ STPX, FP, LR, 512 }, { SET, 0, 0, 0 }, { CALL, 0, 0, 0 }, { SUB, 0, 0, 96 }, { BACK, 0, 0, 0 },
          { LDPX, FP, LR, 512 }, { RET, 0, 0, 0 }) },
    { "packed_frame_record_below_large_locals", PACKED(1, 13, 0, 3, 0, 3, 32 + 4096), 0, NULL, 0,
      OPS({ STPX, 19, 20, 32 }, { STR, 21, 0, 16 }, { SUB, 0, 0, 4080 }, { SUB, 0, 0, 16 }, { STP, FP, LR, 0 },
          { SET, 0, 0, 0 }, { CLOBBER, 19, 21, 0 }, { LDP, FP, LR, 0 }, { ADD, 0, 0, 16 }, { ADD, 0, 0, 4080 },
          { LDR, 21, 0, 16 }, { LDPX, 19, 20, 32 }, { RET, 0, 0, 0 }) },
    { "packed_frame_record_signed", PACKED(1, 8, 0, 0, 0, 2, 32), 0, NULL, 0,
      OPS({ NOP, 0, 0, 0 }, { STPX, FP, LR, 32 }, { SET, 0, 0, 0 }, { CALL, 0, 0, 0 }, { NOP, 0, 0, 0 },
          { LDPX, FP, LR, 32 }, { NOP, 0, 0, 0 }, { RET, 0, 0, 0 }) },
    { "packed_lr_alone", PACKED(1, 5, 0, 0, 0, 1, 16), 0, NULL, 0,
      OPS({ STRX, LR, 0, 16 }, { CALL, 0, 0, 0 }, { NOP, 0, 0, 0 }, { LDRX, LR, 0, 16 }, { RET, 0, 0, 0 }) },
    { "packed_one_register_and_lr", PACKED(1, 7, 0, 1, 0, 1, 16), 0, NULL, 0,
      OPS({ SUB, 0, 0, 16 }, { STP, 19, LR, 0 }, { CLOBBER, 19, 19, 0 }, { CALL, 0, 0, 0 }, { LDP, 19, LR, 0 },
          { ADD, 0, 0, 16 }, { RET, 0, 0, 0 }) },
    { "packed_three_registers_and_lr", PACKED(1, 9, 0, 3, 0, 1, 48), 0, NULL, 0,
      OPS({ STPX, 19, 20, 32 }, { STP, 21, LR, 16 }, { SUB, 0, 0, 16 }, { CLOBBER, 19, 21, 0 }, { CALL, 0, 0, 0 },
          { ADD, 0, 0, 16 }, { LDP, 21, LR, 16 }, { LDPX, 19, 20, 32 }, { RET, 0, 0, 0 }) },
    { "packed_one_register", PACKED(1, 4, 0, 1, 0, 0, 16), 0, NULL, 0,
      OPS({ STRX, 19, 0, 16 }, { CLOBBER, 19, 19, 0 }, { LDRX, 19, 0, 16 }, { RET, 0, 0, 0 }) },
    { "packed_ten_registers", PACKED(1, 13, 0, 10, 0, 0, 80), 0, NULL, 0,
      OPS({ STPX, 19, 20, 80 }, { STP, 21, 22, 16 }, { STP, 23, 24, 32 }, { STP, 25, 26, 48 }, { STP, 27, 28, 64 },
          { CLOBBER, 19, 28, 0 }, { NOP, 0, 0, 0 }, { LDP, 27, 28, 64 }, { LDP, 25, 26, 48 }, { LDP, 23, 24, 32 },
          { LDP, 21, 22, 16 }, { LDPX, 19, 20, 80 }, { RET, 0, 0, 0 }) },
    /* d8, d9, d10 behind x19: doubles are not in the model, their slots are. */
    { "packed_floats_behind_integers", PACKED(1, 8, 2, 1, 0, 0, 32), 0, NULL, 0,
      OPS({ STRX, 19, 0, 32 }, { NOP, 0, 0, 0 }, { NOP, 0, 0, 0 }, { CLOBBER, 19, 19, 0 }, { NOP, 0, 0, 0 },
          { NOP, 0, 0, 0 }, { LDRX, 19, 0, 32 }, { RET, 0, 0, 0 }) },
    { "packed_floats_alone_make_the_room", PACKED(1, 4, 1, 0, 0, 0, 16), 0, NULL, 0,
      OPS({ SUB, 0, 0, 16 }, { NOP, 0, 0, 0 }, { ADD, 0, 0, 16 }, { RET, 0, 0, 0 }) },
    { "packed_homes_behind_saves", PACKED(1, 10, 0, 2, 1, 0, 96), 0, NULL, 0,
      OPS({ STPX, 19, 20, 80 }, { NOP, 0, 0, 0 }, { NOP, 0, 0, 0 }, { NOP, 0, 0, 0 }, { NOP, 0, 0, 0 },
          { SUB, 0, 0, 16 }, { CLOBBER, 19, 20, 0 }, { ADD, 0, 0, 16 }, { LDPX, 19, 20, 80 }, { RET, 0, 0, 0 }) },
};

static void make_function(const struct function_row *row, struct world *w, uint32_t *word, uint32_t *length)
{
    struct scope scopes[4];
    uint32_t count = 0;
    *length = 0;
    for (size_t i = 0; i < row->count; i++) {
        if (row->ops[i].what == EPILOG)
            scopes[count++] = (struct scope){ *length, row->ops[i].n };
        *length += is_insn(&row->ops[i]);
    }
    memset(w, 0, sizeof *w);
    if (row->packed)
        assert_int_equal(row->packed >> 2 & 0x7ff, *length);
    else
        make_record(w, *length, row->tail, scopes, count, row->codes, row->size);
    *word = row->packed ? row->packed : INFO;
}

static void assert_caller(const struct model *m, const struct sw_rule *rule, const struct sw_regs *caller, size_t at)
{
    const struct sw_memory memory = { read_stack, (void *)(uintptr_t)m, { 0, 0, NULL } };
    struct sw_regs found;
    assert_int_equal(sw_rule_apply(rule, &m->regs, &memory, &found, NULL, NULL), SW_OK);
    for (unsigned n = 19; n <= SW_ARM64_PC; n++) {
        const uint64_t expected = n == SW_ARM64_PC ? CALLER : caller->r[n];
        if (n == LR)
            assert_false(sw_regs_has(&found, n));
        else if (!sw_regs_has(&found, n) || found.r[n] != expected)
            fail_msg("op %zu, register %u: %llx, not %llx", at, n, (unsigned long long)found.r[n],
                     (unsigned long long)expected);
    }
}

static void caller_is_the_same_at_every_instruction(void **state)
{
    const struct function_row *row = *state;
    struct world w;
    struct sw_rule rule, inside;
    uint32_t word, length, at = 0;
    struct model *m = start(), *forked = malloc(sizeof *forked);
    const struct sw_regs caller = m->regs;
    make_function(row, &w, &word, &length);
    for (size_t i = 0; i < row->count; i++) {
        const struct op *op = &row->ops[i];
        if (op->what == FORK)
            *forked = *m;
        if (!is_insn(op))
            continue;
        assert_int_equal(rule_of(&w, word, length, 4 * at, &rule), SW_OK);
        assert_caller(m, &rule, &caller, i);
        assert_int_equal(rule_of(&w, word, length, 4 * at + 3, &inside), SW_OK); /* a lookup pc: after - 1 */
        assert_memory_equal(&inside, &rule, sizeof rule);
        execute(m, op);
        if (op->what == RET && i + 1 < row->count)
            *m = *forked;
        at++;
    }
    free(forked);
    assert_int_equal(rule_of(&w, word, length, 4 * length, &rule), SW_E_NO_RULE);
}

/* ---- fragments: parts of a function that lie elsewhere ---- */

/* The phantom prolog of the parent, after end_c: it applies everywhere, whatever the offset; a prolog in front of it is
 * the part's own. */
static void phantom_prolog_applies_everywhere(void **state)
{
    struct world w;
    struct sw_rule rule;
    (void)state;
    make_record(&w, 8, -1, NULL, 0, BYTES("\xe5\xe1\xc8\x02\x83\xe4"));
    for (uint32_t at = 0; at < 8; at++) {
        assert_int_equal(rule_of(&w, INFO, 8, 4 * at, &rule), SW_OK);
        assert_text(&rule, "x29+32 x19[-16] x20[-8] x29[-32] pc[-24]");
    }
    make_record(&w, 8, -1, NULL, 0, BYTES("\x01\xe5\xc8\x02\x83\xe4"));
    assert_int_equal(rule_of(&w, INFO, 8, 0, &rule), SW_OK);
    assert_text(&rule, "sp+32 x19[-16] x20[-8] x29[-32] pc[-24]");
    assert_int_equal(rule_of(&w, INFO, 8, 4, &rule), SW_OK);
    assert_text(&rule, "sp+48 x19[-16] x20[-8] x29[-32] pc[-24]");
}

static void packed_fragment_has_all_of_its_frame_everywhere(void **state)
{
    const uint32_t word = PACKED(2, 8, 0, 2, 0, 3, 32);
    struct world w = { .size = 0 };
    struct sw_rule rule;
    (void)state;
    for (uint32_t at = 0; at < 8; at++) {
        assert_int_equal(rule_of(&w, word, 8, 4 * at, &rule), SW_OK);
        assert_text(&rule, "x29+32 x19[-16] x20[-8] x29[-32] pc[-24]");
    }
    assert_int_equal(w.reads, 0);
}

/* ---- packed words beside the codes they stand for ---- */

static const struct packed_row {
    const char *name;
    uint32_t word;
    enum sw_status status;
    const char *codes; /* of the prolog, with its end */
    size_t size;
} packed_rows[] = {
    /*
     * The example that .NET's unwinder documents, but for its local area: 7792 bytes are two instructions (an immediate
     * ends at 4095), as "ARM64 exception handling" has it, step 5c.
     */
    { "documented_example", PACKED(1, 100, 7, 10, 1, 2, 8000), SW_OK,
      BYTES("\xe1\x40\xc0\xe8\xc0\xff\xe3\xe3\xe3\xe3\xd9\x90\xd9\x0e\xd8\x8c\xd8\x0a\xca\x08\xc9\x86\xc9\x04\xc8\x82"
            "\xcc\x19\xfc\xe4") },
    { "two_registers_and_lr", 0x0122002d, SW_OK, BYTES("\xd2\xc2\xcc\x03\xe4") },
    { "homes_without_saves_lie_among_the_locals", PACKED(1, 20, 0, 0, 1, 0, 96), SW_OK,
      BYTES("\x06\xe3\xe3\xe3\xe3\xe4") },
    { "nothing_at_all", PACKED(1, 20, 0, 0, 0, 0, 0), SW_OK, BYTES("\xe4") },
    { "largest_frame", PACKED(1, 20, 0, 0, 0, 0, 8176), SW_OK, BYTES("\xc1\x00\xc0\xff\xe4") },
    { "floats_behind_one_register", PACKED(1, 20, 2, 1, 0, 0, 32), SW_OK, BYTES("\xdc\x83\xd8\x01\xd4\x03\xe4") },
    { "floats_alone", PACKED(1, 20, 2, 0, 0, 0, 32), SW_OK, BYTES("\xdc\x82\xda\x03\xe4") },
    { "more_than_ten_registers", PACKED(1, 20, 0, 11, 0, 0, 96), SW_E_MALFORMED, "", 0 },
    { "frame_smaller_than_its_saves", PACKED(1, 20, 0, 10, 0, 0, 64), SW_E_MALFORMED, "", 0 },
    { "frame_record_without_room", PACKED(1, 20, 0, 2, 0, 3, 16), SW_E_MALFORMED, "", 0 },
};

static void packed_word_is_expanded(void **state)
{
    const struct packed_row *row = *state;
    struct sw_pe_arm64_info info = { .length = 0 };
    assert_int_equal(sw_pe_arm64_expand(row->word, &info), row->status);
    if (row->status)
        return;
    assert_int_equal(info.tail, row->size);
    assert_memory_equal(info.codes.window, row->codes, row->size);
    assert_int_equal(info.codes.filled, info.codes.size);
}

/* ---- records: long headers, many epilogs, what is refused ---- */

static void long_header_counts_in_its_second_word(void **state)
{
    struct scope scopes[40];
    struct world w;
    struct sw_rule rule;
    (void)state;
    for (uint32_t i = 0; i < 40; i++)
        scopes[i] = (struct scope){ 4 + 4 * i, 0 };
    make_record(&w, 200, -1, scopes, 40, BYTES("\x81\xe4"));
    for (uint32_t at = 4; at < 4 + 4 * 40; at++) {
        assert_int_equal(rule_of(&w, INFO, 200, 4 * at, &rule), SW_OK);
        assert_text(&rule, at % 4 == 1 ? "sp+0" : "sp+16 x29[-16] pc[-8]");
    }
    make_record(&w, 200, 33, NULL, 0,
                BYTES("\x81\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"
                      "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\xe4\x81\xe4"));
    assert_int_equal(rule_of(&w, INFO, 200, 4 * 198, &rule), SW_OK);
    assert_text(&rule, "sp+16 x29[-16] pc[-8]");
    assert_int_equal(rule_of(&w, INFO, 200, 4 * 199, &rule), SW_OK);
    assert_text(&rule, "sp+0");
}

/* More codes than the window holds: they are read in pieces. */
static void codes_longer_than_the_window(void **state)
{
    char codes[1020];
    struct world w;
    struct sw_rule rule;
    (void)state;
    memset(codes, 0x01, sizeof codes);
    codes[sizeof codes - 1] = (char)0xe4;
    make_record(&w, 4000, -1, NULL, 0, codes, sizeof codes);
    for (uint32_t at = 0; at < 1200; at += 7) {
        char text[24];
        snprintf(text, sizeof text, "sp+%u", 16 * (at < 1019 ? at : 1019));
        assert_int_equal(rule_of(&w, INFO, 4000, 4 * at, &rule), SW_OK);
        assert_text(&rule, text);
    }
}

static const struct bad_row {
    const char *name;
    uint32_t word;
    uint32_t record[6];
    size_t size;
    enum sw_status status;
} bad_rows[] = {
    { "reserved_flag", 3, { 0 }, 0, SW_E_UNSUPPORTED },
    { "no_record", INFO, { 0 }, 0, SW_E_TRUNCATED },
    { "header_cut", INFO, { 0x08000040 }, 2, SW_E_TRUNCATED },
    { "second_word_missing", INFO, { 0x40 }, 4, SW_E_TRUNCATED },
    { "codes_missing", INFO, { 0x08000040 }, 4, SW_E_TRUNCATED },
    { "codes_cut", INFO, { 0x10000040, 0x01010101 }, 8, SW_E_TRUNCATED },
    { "another_version", INFO, { 0x08040040, 0xe4 }, 8, SW_E_UNSUPPORTED },
    { "no_codes_at_all", INFO, { 0x40, 0 }, 8, SW_E_MALFORMED },
    { "scopes_missing", INFO, { 0x88400040 }, 4, SW_E_TRUNCATED },
    { "epilog_without_codes", INFO, { 0x08400040, 4 | 9 << 22, 0xe4 }, 12, SW_E_MALFORMED },
    { "tail_without_codes", INFO, { 0x0a600040, 0xe4 }, 8, SW_E_MALFORMED },
};

static void bad_record_is_refused(void **state)
{
    const struct bad_row *row = *state;
    struct world w = { .size = row->size };
    struct sw_rule rule;
    for (unsigned i = 0; i < COUNT_OF(row->record); i++)
        put_le(w.bytes + 4 * i, row->record[i], 4);
    assert_int_equal(rule_of(&w, row->word, 0x40, 4 * 0x20, &rule), row->status);
}

/* 1,020 bytes of alloc_l are 68 GB. */
static void offset_beyond_a_rule_is_refused(void **state)
{
    char codes[1020];
    struct world w;
    struct sw_rule rule;
    (void)state;
    memset(codes, 0xff, sizeof codes);
    for (size_t i = 0; i < sizeof codes; i += 4)
        codes[i] = (char)0xe0;
    codes[sizeof codes - 4] = (char)0xe4;
    make_record(&w, 4000, -1, NULL, 0, codes, sizeof codes);
    assert_int_equal(rule_of(&w, INFO, 4000, 4 * 2000, &rule), SW_E_MALFORMED);
    codes[sizeof codes - 6] = (char)0xe4;
    codes[sizeof codes - 7] = (char)0x81;
    make_record(&w, 4000, -1, NULL, 0, codes, sizeof codes);
    assert_int_equal(rule_of(&w, INFO, 4000, 4 * 2000, &rule), SW_E_MALFORMED);
}

/* A list of 65,535 epilogs that all begin at once, with the most codes there can be: a bounded number of reads. */
static size_t get_hostile(void *arg, uint32_t rva, void *to, size_t size)
{
    unsigned *reads = arg;
    ++*reads;
    memset(to, 0, size);
    if (rva == INFO)
        put_le(to, 0x3ffff, 4);
    else if (rva == INFO + 4)
        put_le(to, 0xffff | 0xff << 16, 4);
    else if (size > 4)
        memset(to, 0x01, size);
    return size;
}

static void hostile_list_of_epilogs_is_bounded(void **state)
{
    unsigned reads = 0;
    struct sw_rule rule;
    const struct sw_pe_reader reader = { get_hostile, NULL, &reads };
    const struct sw_pe_function function = { CODE, CODE + 4 * 0x3ffff, INFO };
    (void)state;
    assert_int_equal(sw_pe_arm64_rule(&reader, &function, CODE + 0x80000, &rule), SW_E_MALFORMED);
    assert_true(reads < 64);
}

/* ---- the handler ---- */

static void handler_is_behind_the_codes(void **state)
{
    struct world w;
    uint32_t handler = 0;
    const struct sw_pe_reader reader = { get, NULL, &w };
    const struct sw_pe_function function = { CODE, CODE + 64, INFO }, packed = { CODE, CODE + 64, 0x0122002d };
    const struct scope scope = { 4, 0 };
    (void)state;
    make_record(&w, 16, -1, &scope, 1, BYTES("\x81\x01\x01\x01\xe4"));
    assert_int_equal(sw_pe_handler(SW_MACHINE_ARM64, &reader, &function, &handler), SW_E_NOT_FOUND);
    assert_int_equal(sw_pe_handler(SW_MACHINE_ARM64, &reader, &packed, &handler), SW_E_NOT_FOUND);
    w.bytes[2] |= 0x10;
    assert_int_equal(sw_pe_handler(SW_MACHINE_ARM64, &reader, &function, &handler), SW_E_TRUNCATED);
    add_word(&w, 0x12345678);
    assert_int_equal(sw_pe_handler(SW_MACHINE_ARM64, &reader, &function, &handler), SW_OK);
    assert_int_equal(handler, 0x12345678);
}

/* ---- exception directories ---- */

enum { IMAGE = 0x4000, TABLE = 0x3000 };

/* Two functions and a packed one, in a mapped image whose only section is all of it. */
static void make_image(uint8_t *image, struct sw_pe *pe, const uint32_t (*entries)[2], size_t count)
{
    memset(image, 0, IMAGE);
    memset(pe, 0, sizeof *pe);
    pe->bytes = (struct sw_bytes){ image, IMAGE, 0x40000000 };
    pe->mapped = true;
    pe->machine = SW_MACHINE_ARM64;
    pe->size_of_image = pe->size_of_headers = IMAGE;
    pe->pdata_rva = TABLE;
    pe->pdata_size = (uint32_t)(8 * count);
    put_le(image + INFO, 0x08200010, 4); /* 16 instructions, one word of codes, its epilog at the end */
    put_le(image + INFO + 4, 0xe481, 4);
    put_le(image + INFO + 0x20, 0x08040010, 4); /* another version */
    for (size_t i = 0; i < count; i++) {
        put_le(image + TABLE + 8 * i, entries[i][0], 4);
        put_le(image + TABLE + 8 * i + 4, entries[i][1], 4);
    }
}

static const struct directory_row {
    const char *name;
    uint32_t entries[3][2];
    enum sw_status status;
} directory_rows[] = {
#define SMALL PACKED(1, 4, 0, 0, 0, 0, 16)
    { "directory_in_order", { { 0x1000, INFO }, { 0x1040, SMALL }, { 0x1100, SMALL } }, SW_OK },
    { "directory_with_entries_of_unknown_ends",
      { { 0x1000, INFO + 0x20 }, { 0x1040, 3 }, { 0x1100, 0x7ffffff0 } },
      SW_OK },
    { "directory_out_of_order", { { 0x1000, INFO }, { 0x1100, SMALL }, { 0x1040, SMALL } }, SW_E_MALFORMED },
    { "directory_with_an_overlap", { { 0x1000, INFO }, { 0x103c, SMALL }, { 0x1100, SMALL } }, SW_E_MALFORMED },
    { "directory_with_an_empty_function",
      { { 0x1000, INFO }, { 0x1040, PACKED(1, 0, 0, 0, 0, 0, 16) }, { 0x1100, SMALL } },
      SW_E_MALFORMED },
    { "directory_that_leaves_the_image", { { 0x1000, INFO }, { 0x1040, SMALL }, { 0x3ffc, SMALL } }, SW_E_MALFORMED },
    { "directory_at_the_end_of_the_numbers",
      { { 0x1000, INFO }, { 0x1040, SMALL }, { 0xfffffff8, SMALL } },
      SW_E_MALFORMED },
    { "directory_with_the_same_function_twice",
      { { 0x1000, INFO }, { 0x1000, INFO }, { 0x1100, SMALL } },
      SW_E_MALFORMED },
};

static void directory_is_checked(void **state)
{
    static uint8_t image[IMAGE];
    const struct directory_row *row = *state;
    struct sw_pe pe;
    struct sw_bytes table;
    make_image(image, &pe, row->entries, 3);
    assert_int_equal(sw_pe_exceptions(&pe, &table), row->status);
    assert_int_equal(table.size, row->status ? 0 : 24);
    pe.pdata_size = 31;
    if (sw_pe_exceptions(&pe, &table) == SW_OK)
        assert_int_equal(table.size, 24);
    pe.pdata_size = 7;
    assert_int_equal(sw_pe_exceptions(&pe, &table), SW_E_NOT_FOUND);
}

static void entry_is_found_up_to_its_own_end(void **state)
{
    static uint8_t image[IMAGE];
    const uint32_t entries[][2] = { { 0x1000, INFO }, { 0x1040, SMALL }, { 0x1100, INFO + 0x20 }, { 0x1200, SMALL } };
    struct sw_pe pe;
    struct sw_bytes table;
    struct sw_rule rule;
    (void)state;
    make_image(image, &pe, entries, 4);
    assert_int_equal(sw_pe_exceptions(&pe, &table), SW_OK);
    for (uint32_t rva = 0xff0; rva < 0x1300; rva++) {
        struct sw_pe_function function;
        uint32_t index;
        const int expected = rva < 0x1000   ? -1
                             : rva < 0x1040 ? 0
                             : rva < 0x1050 ? 1
                             : rva < 0x1100 ? -1
                             : rva < 0x1200 ? 2
                             : rva < 0x1210 ? 3
                                            : -1;
        const enum sw_status status = sw_pe_find(&pe, table, rva, &function, &index);
        assert_int_equal(status, expected < 0 ? SW_E_NO_RULE : expected == 2 ? SW_E_UNSUPPORTED : SW_OK);
        assert_int_equal(sw_pe_image_rule(&pe, table, pe.bytes.address + rva, true, &rule), status);
        if (status == SW_OK)
            assert_true((int)index == expected && function.begin == entries[expected][0]);
    }
    assert_int_equal(sw_pe_image_rule(&pe, table, pe.bytes.address + 0x1008, true, &rule), SW_OK);
    assert_text(&rule, "sp+16 x29[-16] pc[-8]");
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(every_first_byte_has_its_size_and_instructions),
        cmocka_unit_test(phantom_prolog_applies_everywhere),
        cmocka_unit_test(packed_fragment_has_all_of_its_frame_everywhere),
        cmocka_unit_test(long_header_counts_in_its_second_word),
        cmocka_unit_test(codes_longer_than_the_window),
        cmocka_unit_test(offset_beyond_a_rule_is_refused),
        cmocka_unit_test(hostile_list_of_epilogs_is_bounded),
        cmocka_unit_test(handler_is_behind_the_codes),
        cmocka_unit_test(entry_is_found_up_to_its_own_end),
    };
    enum { CODES = COUNT_OF(code_rows), FUNCTIONS = COUNT_OF(function_rows), WORDS = COUNT_OF(packed_rows) };
    enum { BAD = COUNT_OF(bad_rows), DIRECTORIES = COUNT_OF(directory_rows), SINGLE = COUNT_OF(single) };
    struct CMUnitTest tests[CODES + FUNCTIONS + WORDS + BAD + DIRECTORIES + SINGLE], *t = tests;
    FILL_ROWS(t, code_rows, code_is_undone);
    t += CODES;
    FILL_ROWS(t, function_rows, caller_is_the_same_at_every_instruction);
    t += FUNCTIONS;
    FILL_ROWS(t, packed_rows, packed_word_is_expanded);
    t += WORDS;
    FILL_ROWS(t, bad_rows, bad_record_is_refused);
    t += BAD;
    FILL_ROWS(t, directory_rows, directory_is_checked);
    t += DIRECTORIES;
    memcpy(t, single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
