/*
 * The audit over any bytes: it ends, every verdict and name is in range, and what it shows lies inside of its entry.
 */
#include <snapwalk/audit.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SHOWN_MAX = 20000 }; /* so that a run stays short; the audit itself is linear in code and tables */

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static bool look(void *arg, const struct sw_audit_insn *insn)
{
    unsigned *left = arg;
    const enum sw_machine machine = (enum sw_machine)insn->function->machine;
    char text[64];
    expect(insn->verdict < SW_AUDIT_VERDICT_COUNT && insn->after < SW_AUDIT_AFTER_COUNT);
    expect(insn->trust < SW_TRUST_COUNT && insn->reg < SW_REGS_MAX && insn->length > 0);
    expect(insn->address >= insn->function->begin && insn->address < insn->function->end);
    expect(insn->length <= insn->function->end - insn->address);
    expect(strlen(sw_audit_text(machine, insn->table, text, sizeof text)) < sizeof text);
    expect(strlen(sw_audit_text(machine, insn->analysis, text, sizeof text)) < sizeof text);
    return --*left > 0;
}

/*
 * The audit's work area is megabytes, which AddressSanitizer maps anew each time: the largest block is kept for the
 * next input, if it is of just that size.
 */
static struct {
    void *block;
    size_t size;
} kept;

static void *get(void *arg, size_t size)
{
    void *block = kept.block;
    (void)arg;
    if (!block || kept.size != size)
        return malloc(size);
    kept.block = NULL;
    return block;
}

static void put(void *arg, void *block, size_t size)
{
    (void)arg;
    if (kept.block && kept.size >= size) {
        free(block);
        return;
    }
    free(kept.block);
    kept.block = block;
    kept.size = size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sw_alloc alloc = { get, put, NULL };
    for (uint32_t flags = 0; flags <= SW_AUDIT_END_UNKNOWN; flags++) {
        unsigned left = SHOWN_MAX;
        expect((unsigned)sw_audit_file(data, size, &alloc, flags, look, &left) < SW_STATUS_COUNT);
    }
    return 0;
}
