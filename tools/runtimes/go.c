/*
 * Knows what stands behind the call in runtime.asmcgocall: g is loaded from the stack, the end of its stack from g, and
 * how deep the goroutine was is subtracted. Source: go, src/runtime/asm_amd64.s (asmcgocall), runtime2.go (g, stack).
 */
#include "go.h"

#include "peek.h"

#include <string.h>

enum { CODE_BYTES = 14, G_AT = 4, DEPTH_AT = 13, STACK_END = 8, DEEPEST = 1 << 30 };

/* mov d8(%rsp),%rdi; mov 8(%rdi),%rsi; sub d8(%rsp),%rsi */
static bool is_return(const uint8_t code[CODE_BYTES])
{
    return memcmp(code, "\x48\x8b\x7c\x24", 4) == 0 && memcmp(code + 5, "\x48\x8b\x77\x08\x48\x2b\x74\x24", 8) == 0 &&
           code[G_AT] < 0x80 && code[DEPTH_AT] < 0x80;
}

bool go_leave_c(const struct sw_memory *memory, const struct sw_memory *stack, const struct sw_frame *frame,
                struct sw_regs *caller, uint64_t *end)
{
    uint8_t code[CODE_BYTES];
    uint64_t g, depth, pc;
    const uint64_t sp = sw_regs_sp(&frame->regs);
    if (frame->regs.machine != SW_MACHINE_X64 || frame->exact ||
        !peek(memory, sw_regs_pc(&frame->regs), code, sizeof code) || !is_return(code) ||
        !peek(stack, sp + code[G_AT], &g, sizeof g) || !peek(stack, sp + code[DEPTH_AT], &depth, sizeof depth) || !g ||
        !peek(memory, g + STACK_END, end, sizeof *end) || depth < 8 || depth > DEEPEST || depth > *end || depth % 8 ||
        !peek(memory, *end - depth, &pc, sizeof pc))
        return false;
    *caller = frame->regs;
    sw_regs_set(caller, SW_X64_RIP, pc);
    sw_regs_set(caller, SW_X64_RSP, *end - depth + 8);
    return true;
}
