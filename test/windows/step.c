/*
 * Each instruction of a program, single-stepped by EFLAGS.TF and a vectored handler: the walk from there gives what was
 * called. The referee is a shadow stack: what each call pushed, until the stack pointer is above it; so it knows
 * nothing of unwind data. Code of other modules is run through, to where it returns to.
 *
 *     step ROUNDS
 */
#include <windows.h>

#include <snapwalk/snapwalk.h>

#include <stdlib.h>
#include <string.h>

#include "row.h"
#include "step.h"
#include "system_walk.h"

enum { DEPTH = 512, TRAP = 0x100, INT3 = 0xcc, SHOWN = 10, SHOWN_BYTES = 12, LONGEST = 15, PAGE = 4096 };

/* A call that has not returned: what it pushed, and where. */
struct call {
    uint64_t back;
    uint64_t slot;
};

static struct {
    struct call calls[DEPTH];
    size_t count;
} shadow;

/* The instruction that was looked at last. */
static struct {
    uint64_t pc, sp;
    uint8_t code[LONGEST + 1];
} last;

/* A breakpoint where code of another module returns to. */
static struct {
    uint8_t *at;
    uint8_t byte;
} brk;

static struct {
    size_t steps, right, arms, missing;
} sums;

static struct {
    uint64_t begin, end;
} program;

static struct sw_walker walker;
static struct sw_scratch scratch;

__asm__(".globl arm, disarm\narm: int3\nret\ndisarm: int3\nret\n");

/* ---- the shadow stack ---- */

static uint64_t word_at(uint64_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

/* What the stack pointer is above has returned, or was left. */
static void drop(uint64_t sp)
{
    while (shadow.count != 0 && shadow.calls[shadow.count - 1].slot < sp)
        shadow.count--;
}

static void push(uint64_t slot)
{
    drop(slot + 1);
    if (shadow.count < DEPTH)
        shadow.calls[shadow.count++] = (struct call){ word_at(slot), slot };
    else
        sums.missing++;
}

/* call rel32, or call through a register or memory, with prefixes. */
static bool is_call(const uint8_t *code)
{
    while ((code[0] & 0xf0) == 0x40 || code[0] == 0x65 || code[0] == 0x66)
        code++;
    return code[0] == 0xe8 || (code[0] == 0xff && (code[1] & 0x38) == 0x10);
}

static void follow(uint64_t sp)
{
    if (is_call(last.code) && sp == last.sp - 8 && word_at(sp) - last.pc <= LONGEST)
        push(sp);
    else
        drop(sp);
}

/* ---- the walk ---- */

/* Whether the walk goes through all calls, to a clean root. */
static bool is_right(const CONTEXT *context)
{
    static struct chain seen;
    struct sw_walker from = walker;
    struct sw_regs regs;
    seen.count = 0;
    if (sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, context, sizeof *context, &regs) != SW_OK)
        return false;
    from.memory.window = sw_self_window(&regs, walker.stack_begin, walker.stack_end);
    const enum sw_stop stop = sw_walk_all(&from, &scratch, &regs, note_frame, &seen);
    bool right = is_clean(stop) && seen.count > shadow.count;
    for (size_t i = 1; right && i <= shadow.count; i++) {
        const struct call *call = &shadow.calls[shadow.count - i];
        right = seen.pc[i] == call->back && seen.sp[i] == call->slot + 8;
    }
    if (!right && sums.steps - sums.right < SHOWN) {
        printf("# wrong: rva %llx, stop %d, %zu frames, %zu calls, code", context->Rip - program.begin, (int)stop,
               seen.count, shadow.count);
        for (unsigned i = 0; i < SHOWN_BYTES; i++)
            printf(" %02x", ((const uint8_t *)(uintptr_t)context->Rip)[i]);
        printf("\n");
    }
    return right;
}

/* ---- stepping ---- */

static void put(uint8_t *at, uint8_t byte)
{
    *(volatile uint8_t *)at = byte;
    FlushInstructionCache(GetCurrentProcess(), at, 1);
}

static void take_breakpoint(void)
{
    if (brk.at)
        put(brk.at, brk.byte);
    brk.at = NULL;
}

/* From an instruction of another module, just called: on to where that returns to. */
static void run_through(CONTEXT *context)
{
    brk.at = (uint8_t *)(uintptr_t)word_at(context->Rsp);
    brk.byte = *brk.at;
    put(brk.at, INT3);
    context->EFlags &= ~(DWORD)TRAP;
}

static void look(CONTEXT *context)
{
    follow(context->Rsp);
    if (context->Rip - program.begin >= program.end - program.begin) {
        run_through(context);
        last.code[0] = 0;
        return;
    }
    sums.right += is_right(context);
    sums.steps++;
    last.pc = context->Rip;
    last.sp = context->Rsp;
    memcpy(last.code, (const void *)(uintptr_t)context->Rip, LONGEST);
    context->EFlags |= TRAP;
}

static LONG CALLBACK handle(EXCEPTION_POINTERS *info)
{
    CONTEXT *context = info->ContextRecord;
    const DWORD code = info->ExceptionRecord->ExceptionCode;
    const uint64_t at = (uint64_t)(uintptr_t)info->ExceptionRecord->ExceptionAddress;
    if (code != EXCEPTION_SINGLE_STEP && code != EXCEPTION_BREAKPOINT)
        return EXCEPTION_CONTINUE_SEARCH;
    if (code == EXCEPTION_BREAKPOINT) {
        const bool is_back = at == (uint64_t)(uintptr_t)brk.at;
        take_breakpoint();
        context->Rip = is_back ? at : at + 1;
        last.code[0] = 0;
        if (!is_back) {
            sums.arms += at == (uint64_t)(uintptr_t)arm;
            push(context->Rsp);
            context->EFlags &= ~(DWORD)TRAP;
            if (at != (uint64_t)(uintptr_t)arm)
                return EXCEPTION_CONTINUE_EXECUTION;
        }
    }
    look(context);
    return EXCEPTION_CONTINUE_EXECUTION;
}

/* rounds: with another seed each. */
static void __attribute__((noinline)) step(void (*work)(unsigned), unsigned rounds)
{
    const uint64_t cfa = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
    shadow.count = 0;
    push(cfa - 8);
    for (unsigned seed = 1; seed <= rounds; seed++) {
        arm();
        work(seed);
    }
    disarm();
}

static void step_row(const char *name, void (*work)(unsigned), unsigned rounds, unsigned arms)
{
    memset(&sums, 0, sizeof sums);
    step(work, rounds);
    printf("# %s: %zu instructions, %zu right\n", name, sums.steps, sums.right);
    row(name, sums.steps > 100 * rounds && sums.right == sums.steps && sums.missing == 0 && sums.arms == arms);
}

int main(int argc, char **argv)
{
    const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
    struct sw_images *images;
    struct sw_images_follower *follower;
    struct sw_image own;
    MEMORY_BASIC_INFORMATION code;
    DWORD before;
    if (sw_images_create(NULL, &images) || sw_images_follow_self(images, &follower) ||
        sw_self_walker(&walker, NULL, images) || sw_cache_create(NULL, 1 << 14, &walker.cache) ||
        sw_analysis_cache_create(NULL, 4 << 20, &walker.analysis_cache) ||
        sw_images_find(images, (uint64_t)(uintptr_t)main, &own))
        return 2;
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    program.begin = own.begin;
    program.end = own.end;
    if (!VirtualQuery((const void *)(uintptr_t)(own.begin + PAGE), &code, sizeof code) ||
        !VirtualProtect(code.BaseAddress, code.RegionSize, PAGE_EXECUTE_READWRITE, &before) ||
        !AddVectoredExceptionHandler(1, handle))
        return 2;
    step_row("each instruction of C leads to what was called", work_in_c, rounds, 2 * rounds);
    step_row("each instruction of C++ leads to what was called", work_in_cc, rounds, 2 * rounds);
    sw_images_unfollow(follower);
    return failed != 0;
}
