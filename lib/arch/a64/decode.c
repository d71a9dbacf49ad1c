/*
 * A64 words → effects, each by its row. Control flow is here, the rest in decode_arithmetic.c and decode_memory.c; the
 * rows are in decode_rows.c.
 */
#include "arch/a64/decode.h"
#include "arch/a64/decode_word.h"

enum { LR = SW_ARM64_LR, PC = SW_ARM64_PC, WORD = 4, MOST_STUB = 5 };

/* What a call does not preserve: x0-x18 and lr. */
#define VOLATILE (UINT64_C(0x7ffff) | UINT64_C(1) << LR)

static enum sw_when when(unsigned condition)
{
    switch (condition) {
    case 0:
        return SW_WHEN_EQUAL;
    case 1:
        return SW_WHEN_DIFFERENT;
    case 2:
        return SW_WHEN_NOT_BELOW;
    case 3:
        return SW_WHEN_BELOW;
    case 8:
        return SW_WHEN_ABOVE;
    case 9:
        return SW_WHEN_NOT_ABOVE;
    default:
        return SW_WHEN_ANY;
    }
}

static void go(const struct sw_a64_word *w, enum sw_flow flow, int64_t words)
{
    w->insn->flow = (uint8_t)flow;
    w->insn->target = w->pc + (uint64_t)(words * WORD);
}

static bool control(const struct sw_a64_word *w)
{
    const unsigned condition = field(w, 0, 4);
    switch (w->row->does) {
    case SW_A64_BRANCH_19: /* conditions 14 and 15 are always true: a jump */
        go(w, w->row->arg && condition >= 14 ? SW_FLOW_JUMP : SW_FLOW_BRANCH, signed_field(w, 5, 19));
        w->insn->when = w->row->arg ? (uint8_t)when(condition) : SW_WHEN_ANY;
        break;
    case SW_A64_BRANCH_14:
        go(w, SW_FLOW_BRANCH, signed_field(w, 5, 14));
        break;
    case SW_A64_JUMP:
        go(w, SW_FLOW_JUMP, signed_field(w, 0, 26));
        break;
    case SW_A64_CALL:
        go(w, SW_FLOW_CALL, signed_field(w, 0, 26));
        clobber(w, VOLATILE);
        break;
    case SW_A64_CALL_REGISTER:
        w->insn->flow = SW_FLOW_CALL;
        clobber(w, VOLATILE);
        break;
    case SW_A64_JUMP_REGISTER:
        w->insn->flow = SW_FLOW_INDIRECT;
        if (rn(w) != SW_A64_31)
            (void)emit(w, SW_EFFECT_SET, PC, rn(w), 0);
        break;
    case SW_A64_RETURN:
    case SW_A64_RETURN_SIGNED:
        w->insn->flow = SW_FLOW_RETURN;
        if (w->row->does == SW_A64_RETURN_SIGNED)
            (void)emit(w, SW_EFFECT_SET, PC, LR, 0);
        else if (rn(w) != SW_A64_31)
            (void)emit(w, SW_EFFECT_SET, PC, rn(w), 0);
        break;
    case SW_A64_SYSTEM_CALL:
        clobber(w, bit_of(0));
        break;
    default:
        w->insn->flow = SW_FLOW_TRAP;
        break;
    }
    return true;
}

static bool nothing(const struct sw_a64_word *w)
{
    (void)w;
    return true;
}

static sw_a64_fn *const does[SW_A64_DOES_COUNT] = {
    [SW_A64_NOTHING] = nothing,
    [SW_A64_WRITES] = sw_a64_writes,
    [SW_A64_WRITES_SP] = sw_a64_writes,
    [SW_A64_ADD_IMMEDIATE] = sw_a64_add_immediate,
    [SW_A64_ADD_SHIFTED] = sw_a64_add_shifted,
    [SW_A64_ADD_EXTENDED] = sw_a64_add_extended,
    [SW_A64_AND_IMMEDIATE] = sw_a64_logical_immediate,
    [SW_A64_OR_IMMEDIATE] = sw_a64_logical_immediate,
    [SW_A64_XOR_IMMEDIATE] = sw_a64_logical_immediate,
    [SW_A64_OR_SHIFTED] = sw_a64_or_shifted,
    [SW_A64_MOVE_WIDE] = sw_a64_move_wide,
    [SW_A64_NEAR] = sw_a64_near,
    [SW_A64_NEAR_PAGE] = sw_a64_near,
    [SW_A64_ADD_VECTOR] = sw_a64_add_vector,
    [SW_A64_SIGN] = sw_a64_sign,
    [SW_A64_SIGN_17] = sw_a64_sign,
    [SW_A64_LOAD] = sw_a64_load,
    [SW_A64_STORE] = sw_a64_store,
    [SW_A64_LOAD_PAIR] = sw_a64_load_pair,
    [SW_A64_STORE_PAIR] = sw_a64_store_pair,
    [SW_A64_EXCHANGE] = sw_a64_exchange,
    [SW_A64_LOAD_SIGNED] = sw_a64_load_signed,
    [SW_A64_STRUCTURES] = sw_a64_structures,
    [SW_A64_TAGS] = sw_a64_tags,
    [SW_A64_BRANCH_19] = control,
    [SW_A64_BRANCH_14] = control,
    [SW_A64_JUMP] = control,
    [SW_A64_CALL] = control,
    [SW_A64_JUMP_REGISTER] = control,
    [SW_A64_CALL_REGISTER] = control,
    [SW_A64_RETURN] = control,
    [SW_A64_RETURN_SIGNED] = control,
    [SW_A64_SYSTEM_CALL] = control,
    [SW_A64_TRAP] = control,
};

enum sw_status sw_a64_decode(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn)
{
    insn->length = WORD;
    insn->flow = SW_FLOW_NEXT;
    insn->when = SW_WHEN_ANY;
    insn->count = 0;
    insn->target = insn->slot = 0;
    if (size < WORD)
        return SW_E_TRUNCATED;
    const uint32_t bits = sw_load32(bytes);
    const struct sw_a64_word w = { bits, pc, sw_a64_match(bits), insn };
    return w.row && does[w.row->does](&w) ? SW_OK : SW_E_MALFORMED;
}

/*
 * By effects, not by encodings: one address is made, one word is loaded from it, and a jump leads to what was loaded.
 * Code that stores changes the stack: it is the first entry of a PLT, which leads to the resolver.
 */
bool sw_a64_goes_through(const uint8_t *bytes, size_t size, uint64_t pc, uint64_t *slot)
{
    uint64_t near_at[SW_REGS_MAX] = { 0 }, slot_of[SW_REGS_MAX] = { 0 };
    struct sw_insn insn;
    for (unsigned i = 0; i < MOST_STUB && sw_a64_decode(bytes, size, pc, &insn) == SW_OK; i++) {
        for (unsigned n = 0; n < insn.count; n++) {
            const struct sw_effect *e = &insn.effects[n];
            if (e->kind == SW_EFFECT_STORE || e->dst >= SW_REGS_MAX ||
                (e->src >= SW_REGS_MAX && e->kind != SW_EFFECT_NEAR))
                return false;
            const uint64_t base = e->kind == SW_EFFECT_NEAR ? pc : near_at[e->src];
            const uint64_t loaded = e->kind == SW_EFFECT_SET && e->imm == 0 ? slot_of[e->src] : 0;
            slot_of[e->dst] = e->kind == SW_EFFECT_LOAD && base ? base + (uint64_t)e->imm : loaded;
            near_at[e->dst] = base && e->kind != SW_EFFECT_LOAD ? base + (uint64_t)e->imm : 0;
        }
        if (insn.flow == SW_FLOW_INDIRECT) {
            *slot = slot_of[PC];
            return *slot != 0;
        }
        if (insn.flow != SW_FLOW_NEXT)
            return false;
        bytes += WORD;
        size -= WORD;
        pc += WORD;
    }
    return false;
}
