/*
 * The A64 decoder beside Capstone: random words of the whole space, and random words of each row's form. Where Capstone
 * knows a word, both say the same of it: how control goes on and where to, which general registers it writes, sp above
 * all, and which words of memory it stores and loads general registers at. Words that only one of them knows are
 * counted; of forms newer than Capstone's, by name.
 *
 * a64_capstone MILLIONS
 */
#include "arch/a64/decode.h"
#include "arch/a64/decode_rows.h"

#include "base/bytes.h"

#include <capstone/capstone.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PC = 0x7000000, SP = SW_ARM64_SP, NO_BASE = 255, MOST_SHOWN = 40 };

#define GENERAL  UINT64_C(0xffffffff) /* x0-x30 and sp */
#define VOLATILE UINT64_C(0x4007ffff)

/* What both say of a word. */
struct said {
    uint8_t flow;
    uint64_t target;
    uint64_t written;
    unsigned moves; /* words of memory from which or to which general registers go whole */
    struct move {
        bool is_store;
        uint8_t reg;
        uint8_t base; /* NO_BASE: the word is at the address `off` */
        int64_t off;
    } move[2];
};

static uint64_t random_word(void)
{
    static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * UINT64_C(0x2545f4914f6cdd1d) >> 32;
}

/* ---- ours ---- */

static void note_move(struct said *said, bool is_store, uint8_t reg, uint8_t base, int64_t off)
{
    if (said->moves < 2)
        said->move[said->moves++] = (struct move){ is_store, reg, base, off };
}

static bool ours(uint32_t word, struct said *said)
{
    const uint8_t bytes[4] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24) };
    struct sw_insn insn;
    memset(said, 0, sizeof *said);
    if (sw_a64_decode(bytes, 4, PC, &insn) != SW_OK)
        return false;
    said->flow = insn.flow;
    said->target = insn.target;
    for (unsigned i = 0; i < insn.count; i++) {
        const struct sw_effect *e = &insn.effects[i];
        if (e->kind == SW_EFFECT_CLOBBER)
            said->written |= (uint64_t)e->imm;
        else if (e->kind != SW_EFFECT_STORE && e->kind != SW_EFFECT_COMPARE && e->dst < 32)
            said->written |= UINT64_C(1) << e->dst;
        if (e->kind == SW_EFFECT_STORE && e->size == 8 && e->src != SW_NOREG)
            note_move(said, true, e->src, e->dst, e->imm);
        const struct sw_effect *before = i ? e - 1 : e;
        if (e->kind == SW_EFFECT_LOAD && before->kind == SW_EFFECT_NEAR && before->dst == e->src)
            note_move(said, false, e->dst, NO_BASE, PC + before->imm + e->imm);
        else if (e->kind == SW_EFFECT_LOAD && e->src != SW_NOREG)
            note_move(said, false, e->dst, e->src, e->imm);
    }
    if (insn.flow == SW_FLOW_CALL)
        said->written = 0;
    return true;
}

/* ---- Capstone's ---- */

/* x and w registers by number, sp as 31; else 255. */
static uint8_t number_of(unsigned reg)
{
    if (reg == ARM64_REG_SP || reg == ARM64_REG_WSP)
        return SP;
    if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
        return (uint8_t)(reg - ARM64_REG_X0);
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
        return (uint8_t)(reg - ARM64_REG_W0);
    return reg == ARM64_REG_X29 ? 29 : reg == ARM64_REG_X30 ? 30 : 255;
}

static bool is_x(unsigned reg)
{
    return (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28) || reg == ARM64_REG_X29 || reg == ARM64_REG_X30;
}

static uint8_t flow_of(unsigned id)
{
    switch (id) {
    case ARM64_INS_B:
        return SW_FLOW_JUMP;
    case ARM64_INS_BL:
    case ARM64_INS_BLR:
        return SW_FLOW_CALL;
    case ARM64_INS_BR:
        return SW_FLOW_INDIRECT;
    case ARM64_INS_RET:
        return SW_FLOW_RETURN;
    case ARM64_INS_CBZ:
    case ARM64_INS_CBNZ:
    case ARM64_INS_TBZ:
    case ARM64_INS_TBNZ:
        return SW_FLOW_BRANCH;
    case ARM64_INS_BRK:
    case ARM64_INS_HLT:
    case ARM64_INS_ERET:
    case ARM64_INS_DRPS:
    case ARM64_INS_DCPS1:
    case ARM64_INS_DCPS2:
    case ARM64_INS_DCPS3:
        return SW_FLOW_TRAP;
    default:
        return SW_FLOW_NEXT;
    }
}

enum transfer { NO_TRANSFER, STORES, LOADS };

static enum transfer transfer_of(unsigned id)
{
    switch (id) {
    case ARM64_INS_STP:
    case ARM64_INS_STNP:
    case ARM64_INS_STR:
    case ARM64_INS_STUR:
    case ARM64_INS_STTR:
    case ARM64_INS_STLR:
        return STORES;
    case ARM64_INS_LDP:
    case ARM64_INS_LDNP:
    case ARM64_INS_LDR:
    case ARM64_INS_LDUR:
    case ARM64_INS_LDTR:
    case ARM64_INS_LDAR:
    case ARM64_INS_LDXR:
    case ARM64_INS_LDAXR:
        return LOADS;
    default:
        return NO_TRANSFER;
    }
}

static const cs_arm64_op *memory_of(const cs_arm64 *a)
{
    for (unsigned i = 0; i < a->op_count; i++)
        if (a->operands[i].type == ARM64_OP_MEM)
            return &a->operands[i];
    return NULL;
}

static void note_moves(const cs_insn *insn, struct said *said)
{
    const cs_arm64 *a = &insn->detail->arm64;
    const cs_arm64_op *memory = memory_of(a);
    const enum transfer transfer = transfer_of(insn->id);
    if (transfer == LOADS && a->op_count == 2 && is_x(a->operands[0].reg) && a->operands[1].type == ARM64_OP_IMM)
        note_move(said, false, number_of(a->operands[0].reg), NO_BASE, a->operands[1].imm);
    if (transfer == NO_TRANSFER || !memory || memory->mem.index != ARM64_REG_INVALID)
        return;
    const bool is_post = a->writeback && a->operands[a->op_count - 1].type == ARM64_OP_IMM;
    for (unsigned i = 0; i < 2 && a->operands[i].type == ARM64_OP_REG; i++)
        if (is_x(a->operands[i].reg))
            note_move(said, transfer == STORES, number_of(a->operands[i].reg), number_of(memory->mem.base),
                      (is_post ? 0 : memory->mem.disp) + 8 * (int64_t)i);
}

/*
 * Which operands are written, where Capstone 4 is mistaken: it takes the first operand of comparisons and of system
 * registers' writes, and the step of st1, for written, and that of adds, for not.
 */
static bool is_written(const cs_insn *insn, unsigned operand)
{
    const cs_arm64_op *op = &insn->detail->arm64.operands[operand];
    switch (insn->id) {
    case ARM64_INS_CMP:
    case ARM64_INS_CMN:
    case ARM64_INS_TST:
    case ARM64_INS_MSR:
    case ARM64_INS_SYS:
        return false;
    case ARM64_INS_ADD: /* adds, too */
    case ARM64_INS_SUB:
        return operand == 0;
    default:
        return strncmp(insn->mnemonic, "st", 2) != 0 || insn->mnemonic[2] < '1' || insn->mnemonic[2] > '4'
                   ? op->access & CS_AC_WRITE
                   : false;
    }
}

/* A base that moves by nothing is not written. */
static bool is_moved(const cs_arm64 *a, const cs_arm64_op *memory)
{
    const cs_arm64_op *last = &a->operands[a->op_count - 1];
    return a->writeback &&
           (last->type == ARM64_OP_IMM ? last->imm != 0 : last->type == ARM64_OP_REG || memory->mem.disp != 0);
}

static bool theirs(csh capstone, cs_insn *insn, uint32_t word, struct said *said)
{
    const uint8_t bytes[4] = { (uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24) };
    const uint8_t *code = bytes;
    size_t size = 4;
    uint64_t address = PC;
    memset(said, 0, sizeof *said);
    if (!cs_disasm_iter(capstone, &code, &size, &address, insn))
        return false;
    const cs_arm64 *a = &insn->detail->arm64;
    said->flow = flow_of(insn->id);
    if (insn->id == ARM64_INS_B && a->cc != ARM64_CC_INVALID && a->cc != ARM64_CC_AL && a->cc != ARM64_CC_NV)
        said->flow = SW_FLOW_BRANCH;
    for (unsigned i = 0; i < a->op_count; i++) {
        const cs_arm64_op *op = &a->operands[i];
        if (op->type == ARM64_OP_REG && is_written(insn, i) && number_of(op->reg) < 32)
            said->written |= UINT64_C(1) << number_of(op->reg);
        if (op->type == ARM64_OP_MEM && is_moved(a, op) && number_of(op->mem.base) < 32)
            said->written |= UINT64_C(1) << number_of(op->mem.base);
        if (op->type == ARM64_OP_IMM &&
            (said->flow == SW_FLOW_BRANCH || said->flow == SW_FLOW_JUMP || insn->id == ARM64_INS_BL))
            said->target = (uint64_t)op->imm; /* the last one: tbz has a bit's number in front */
    }
    note_moves(insn, said);
    if (said->flow == SW_FLOW_CALL)
        said->written = 0;
    if (insn->id == ARM64_INS_SVC || insn->id == ARM64_INS_HVC || insn->id == ARM64_INS_SMC)
        said->written = 1; /* the result */
    return true;
}

/* ---- comparison ---- */

static bool has_move(const struct said *said, const struct move *move)
{
    for (unsigned i = 0; i < said->moves; i++) {
        const struct move *m = &said->move[i];
        if (m->is_store == move->is_store && m->reg == move->reg && m->base == move->base && m->off == move->off)
            return true;
    }
    return false;
}

static bool same_moves(const struct said *a, const struct said *b)
{
    bool same = a->moves == b->moves;
    for (unsigned i = 0; i < a->moves; i++)
        same = same && has_move(b, &a->move[i]);
    return same;
}

static struct counts {
    uint64_t words, both, only_ours, only_theirs, differ;
    uint64_t control, sp, moves; /* of both */
} counts;

static void complain(const char *what, uint32_t word, const cs_insn *insn, const struct said *a, const struct said *b)
{
    static unsigned shown;
    counts.differ++;
    if (shown++ < MOST_SHOWN)
        printf("# %s: %08x %s %s: flow %u/%u target %llx/%llx written %llx/%llx moves %u/%u\n", what, word,
               insn->mnemonic, insn->op_str, a->flow, b->flow, (unsigned long long)a->target,
               (unsigned long long)b->target, (unsigned long long)a->written, (unsigned long long)b->written, a->moves,
               b->moves);
}

static void compare(csh capstone, cs_insn *insn, uint32_t word)
{
    struct said a, b;
    const bool we = ours(word, &a), they = theirs(capstone, insn, word, &b);
    counts.words++;
    counts.only_ours += we && !they;
    counts.only_theirs += they && !we;
    if (they && !we) {
        static unsigned shown;
        if (shown++ < MOST_SHOWN)
            printf("# only Capstone: %08x %s %s\n", word, insn->mnemonic, insn->op_str);
    }
    if (!we || !they)
        return;
    counts.both++;
    counts.control += a.flow != SW_FLOW_NEXT;
    counts.sp += a.written >> SP & 1;
    counts.moves += a.moves != 0;
    if (insn->id == ARM64_INS_HINT)
        a.written = 0; /* which of them sign x17 it does not know */
    if (a.flow != b.flow || a.target != b.target)
        complain("control", word, insn, &a, &b);
    else if (a.written != b.written)
        complain("written", word, insn, &a, &b);
    else if (!same_moves(&a, &b))
        complain("moves", word, insn, &a, &b);
}

int main(int argc, char **argv)
{
    csh capstone;
    const uint64_t wanted = (argc > 1 ? strtoull(argv[1], NULL, 10) : 50) * 1000000;
    if (cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &capstone) != CS_ERR_OK ||
        cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
        return 1;
    cs_insn *insn = cs_malloc(capstone);
    for (uint64_t n = 0; n < wanted / 2; n++)
        compare(capstone, insn, (uint32_t)random_word());
    const struct sw_a64_row *row;
    int is_field;
    size_t rows = 0;
    while (sw_a64_row_at(rows, &is_field))
        rows++;
    for (size_t i = 0; (row = sw_a64_row_at(i, &is_field)) != NULL; i++)
        for (uint64_t n = 0; n < wanted / 2 / rows + 1; n++)
            compare(capstone, insn, row->bits | ((uint32_t)random_word() & ~row->mask));
    cs_free(insn, 1);
    (void)cs_close(&capstone);
    printf("# %llu words: %llu known to both (%llu of control, %llu write sp, %llu move registers), %llu to Capstone "
           "only, "
           "%llu to us only\n",
           (unsigned long long)counts.words, (unsigned long long)counts.both, (unsigned long long)counts.control,
           (unsigned long long)counts.sp, (unsigned long long)counts.moves, (unsigned long long)counts.only_theirs,
           (unsigned long long)counts.only_ours);
    printf("a64: %llu of %llu words alike\n", (unsigned long long)(counts.both - counts.differ),
           (unsigned long long)counts.both);
    return counts.differ != 0;
}
