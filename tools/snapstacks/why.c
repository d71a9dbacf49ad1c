/* One sentence for each end of a walk: what was missing, and where. */
#include "why.h"

#include <inttypes.h>
#include <stdio.h>

/* Which number stands between the two parts of a text. */
enum value { VALUE_NONE, VALUE_PC, VALUE_ADDRESS };
struct end {
    const char *before;
    enum value value;
    const char *after;
};

/* ORDER sw_stop. */
static const struct end ends[SW_STOP_COUNT] = {
    [SW_STOP_NONE] = { "", VALUE_NONE, "" },
    [SW_STOP_ROOT] = { "", VALUE_NONE, "" },
    [SW_STOP_ROOT_ZERO] = { "", VALUE_NONE, "" },
    [SW_STOP_ROOT_BASE] = { "", VALUE_NONE, "" },
    [SW_STOP_ABORTED] = { "the walk was ended", VALUE_NONE, "" },
    [SW_STOP_FRAME_LIMIT] = { "it has more frames than are walked", VALUE_NONE, "" },
    [SW_STOP_NO_RULE] = { "no table describes the code at ", VALUE_PC,
                          ", and its instructions do not say where it returns" },
    [SW_STOP_UNREADABLE] = { "the stack cannot be read at ", VALUE_ADDRESS, "" },
    [SW_STOP_BAD_PC] = { "what was taken for the return address of the code at ", VALUE_PC, " is in no code" },
    [SW_STOP_SP_NOT_RISING] = { "the caller of the code at ", VALUE_PC,
                                " would lie below it: the stack is damaged, or goes on elsewhere" },
    [SW_STOP_OUTSIDE_STACK] = { "the caller of the code at ", VALUE_PC, " would lie outside of the stack" },
    [SW_STOP_BAD_TABLE] = { "the table of the code at ", VALUE_PC, " contradicts itself" },
    [SW_STOP_LOST_REGISTER] = { "the table of the code at ", VALUE_PC, " needs a register that is not known here" },
    [SW_STOP_BAD_START] = { "its registers are not known, as of a thread of the kernel (io_uring)", VALUE_NONE, "" },
    [SW_STOP_BUDGET] = { "the code at ", VALUE_PC, " takes more work than a walk may do" },
};
static const struct end untold = {
    "no table describes the code at ", VALUE_PC,
    ", which is in no file, as of a JIT compiler that tells neither perf nor gdb of it"
};

static bool is_in_no_file(const struct stack *stack)
{
    const struct frame *last = stack->count ? &stack->frames[stack->count - 1] : NULL;
    return last && last->kind == SW_KIND_NATIVE && !*last->place->module;
}

const char *why_cut(const struct stack *stack, char text[WHY_BYTES])
{
    char value[24] = "";
    const enum sw_stop stop = stack->stop < SW_STOP_COUNT ? stack->stop : SW_STOP_NONE;
    const struct end *end = stop == SW_STOP_NO_RULE && is_in_no_file(stack) ? &untold : &ends[stop];
    if (end->value != VALUE_NONE)
        snprintf(value, sizeof value, "%" PRIx64, end->value == VALUE_PC ? stack->fault.pc : stack->fault.address);
    snprintf(text, WHY_BYTES, "%s%s%s", end->before, value, end->after);
    return text;
}
