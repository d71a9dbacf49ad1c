/*
 * Signal trampolines by their bytes: the code that a signal handler returns to, with the ucontext above sp. Each
 * machine's value (lib/arch) has those of its operating systems. Refuses to know what tables say of them.
 */
#include "unwind/trampoline.h"

#include "regs/offset.h"

#include <string.h>

/* Every register is taken from the ucontext above sp. */
static void signal_rule(enum sw_machine machine, const struct sw_trampoline *t, struct sw_rule *rule)
{
    const unsigned sp = sw_regs_sp_number(machine);
    sw_rule_init(rule, machine, SW_SOURCE_SIGNAL_FRAME, SW_TRUST_LIKELY);
    rule->flags = SW_RULE_SIGNAL;
    for (unsigned n = 0; n < sw_regs_count(machine); n++) {
        const int off = t->ucontext + (int)sw_context_offset(SW_CONTEXT_UCONTEXT, machine, n);
        rule->r[n] = (struct sw_loc){ SW_LOC_AT_REG, (uint8_t)sp, 0, off };
    }
    rule->cfa = rule->r[sp];
}

static bool holds_bytes(const struct sw_unwind_request *req, const struct sw_trampoline *t, uint64_t at)
{
    size_t size;
    const uint8_t *bytes = sw_fetch_code(&req->work->fetch, at, &size);
    return bytes && size >= t->size && memcmp(bytes, t->bytes, t->size) == 0;
}

/* The trampoline at an address, or null; inside: at its second instruction, too. */
static const struct sw_trampoline *trampoline_at(const struct sw_unwind_request *req, uint64_t at, bool inside)
{
    const struct sw_arch *arch = sw_arch_of(req->walker->machine);
    for (size_t i = 0; i < arch->trampoline_count; i++) {
        const struct sw_trampoline *t = &arch->trampolines[i];
        if (holds_bytes(req, t, at) || (inside && holds_bytes(req, t, at - t->first_size)))
            return t;
    }
    return NULL;
}

bool sw_is_trampoline(const struct sw_unwind_request *req, uint64_t address)
{
    return trampoline_at(req, address, false) != NULL;
}

enum sw_status sw_trampoline_source(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    const struct sw_trampoline *t = trampoline_at(req, sw_regs_pc(&req->frame->regs), req->frame->exact);
    if (!t)
        return SW_E_NO_RULE;
    signal_rule(req->walker->machine, t, &c->rule);
    return SW_OK;
}
