/* Any bytes as x64 instructions and as a function: the decoder keeps its bounds, its readers agree, analysis ends. */
#include "analyze/analyze.h"
#include "arch/x64/decode_insn.h"
#include "arch/x64/decode.h"

#include <stdlib.h>

enum { BEGIN = 0x1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

static const uint8_t *fetch(void *arg, uint64_t pc, size_t *size)
{
    const struct input *in = arg;
    if (pc < BEGIN || pc - BEGIN >= in->size)
        return NULL;
    *size = in->size - (pc - BEGIN);
    return in->data + (pc - BEGIN);
}

static bool never(void *arg, const struct sw_rule *rule)
{
    if (rule->source != SW_SOURCE_FORWARD)
        abort();
    ++*(unsigned *)arg;
    return false;
}

static bool same(const struct sw_insn *a, const struct sw_insn *b)
{
    bool good = a->length == b->length && a->flow == b->flow && a->when == b->when && a->count == b->count &&
                a->target == b->target && a->slot == b->slot;
    for (unsigned i = 0; good && i < a->count; i++) {
        const struct sw_effect *e = &a->effects[i], *f = &b->effects[i];
        good = e->kind == f->kind && e->dst == f->dst && e->src == f->src && e->size == f->size && e->imm == f->imm;
    }
    return good;
}

/* Whatever the tables answer, from each byte on, is what Zydis' answer leads to. */
static void check_readers(const struct input *in)
{
    for (size_t at = 0; at < in->size; at++) {
        struct sw_x64_decoded quick, zydis;
        struct sw_insn a, b;
        if (!sw_x64_quick(in->data + at, in->size - at, BEGIN + at, &quick))
            continue;
        if (sw_x64_zydis(in->data + at, in->size - at, BEGIN + at, &zydis) != SW_OK)
            abort();
        sw_x64_effects(&quick, &a);
        sw_x64_effects(&zydis, &b);
        if (!same(&a, &b))
            abort();
    }
}

static void check_insn(const struct input *in)
{
    struct sw_insn insn;
    uint64_t target, slot;
    if (sw_x64_decode(in->data, in->size, BEGIN, &insn) == SW_OK &&
        (insn.length == 0 || insn.length > in->size || insn.count > SW_EFFECTS_MAX || insn.flow > SW_FLOW_TRAP))
        abort();
    (void)!sw_x64_call_before(in->data, in->size < 8 ? in->size : 8, BEGIN, &target, &slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sw_analysis work;
    struct input in = { data, size };
    const struct sw_code code = { &sw_x64_arch, fetch, &in, NULL };
    struct sw_rule rule;
    unsigned shown = 0;
    if (size == 0)
        return 0;
    check_insn(&in);
    check_readers(&in);
    struct sw_fp_distance fp = { (int32_t)data[0] * 8, true, false };
    const uint64_t pc = BEGIN + data[size - 1] % size;
    if (sw_analyze_function(&code, BEGIN, BEGIN + size, pc, &work, &rule) == SW_OK && rule.cfa.reg >= SW_REGS_MAX)
        abort();
    (void)!sw_analyze_function(&code, BEGIN, 0, pc, &work, &rule);
    (void)!sw_analyze_forward(&code, pc, data[0] & 1 ? &fp : NULL, &work, never, &shown);
    return 0;
}
