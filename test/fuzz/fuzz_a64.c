/*
 * Any words as A64 instructions and as a function: the decoder keeps its bounds and names registers that there are,
 * stubs are looked for within the bytes, analysis ends.
 */
#include "arch/a64/decode.h"
#include "analyze/analyze.h"

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

static bool is_register(uint8_t reg)
{
    return reg < SW_REGS_MAX || reg == SW_NOREG;
}

static void check_insn(const uint8_t *bytes, size_t size, uint64_t pc)
{
    struct sw_insn insn;
    uint64_t slot;
    if (sw_a64_decode(bytes, size, pc, &insn) == SW_OK) {
        if (insn.length != 4 || size < 4 || insn.count > SW_EFFECTS_MAX || insn.flow > SW_FLOW_TRAP)
            abort();
        for (unsigned i = 0; i < insn.count; i++)
            if (!is_register(insn.effects[i].dst) || !is_register(insn.effects[i].src))
                abort();
    }
    (void)!sw_a64_goes_through(bytes, size, pc, &slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sw_analysis work;
    struct input in = { data, size };
    const struct sw_code code = { &sw_a64_arch, fetch, &in, NULL };
    struct sw_rule rule;
    unsigned shown = 0;
    if (size == 0)
        return 0;
    for (size_t at = 0; at < size; at += 4)
        check_insn(data + at, size - at, BEGIN + at);
    struct sw_fp_distance fp = { (int32_t)data[0] * 8, true, false };
    const uint64_t pc = BEGIN + data[size - 1] % size;
    if (sw_analyze_function(&code, BEGIN, BEGIN + size, pc, &work, &rule) == SW_OK && rule.cfa.reg >= SW_REGS_MAX)
        abort();
    (void)!sw_analyze_function(&code, BEGIN, 0, pc, &work, &rule);
    (void)sw_analyze_is_piece(&code, pc, &work);
    (void)sw_analyze_from_call(&code, pc, &work);
    (void)!sw_analyze_forward(&code, pc, data[0] & 1 ? &fp : NULL, &work, never, &shown);
    return 0;
}
