/* libunwind in this process: step by step from given registers, and its cached trace of the own stack. */
#define UNW_LOCAL_ONLY
#include "ours.h"

#include <libunwind.h>

unsigned walk_unw_step(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t pc;
    unsigned count = 0;
    (void)arg;
    unw_getcontext(&context);
    context.uc_mcontext.gregs[REG_RIP] = (long long)s->ends[stack].leaf;
    context.uc_mcontext.gregs[REG_RSP] = (long long)stack_sp(s, stack, 0);
    context.uc_mcontext.gregs[REG_RBP] = (long long)stack_sp(s, stack, 0) + 16;
    must(unw_init_local(&cursor, &context) == 0, "unw_init_local");
    do {
        (void)unw_get_reg(&cursor, UNW_REG_IP, &pc);
        out[count++] = pc;
    } while (count < s->scene.depth && unw_step(&cursor) > 0);
    return count;
}

unsigned take_unw_backtrace(uint64_t *out)
{
    return (unsigned)unw_backtrace((void **)out, OUT);
}
