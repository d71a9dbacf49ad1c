/*
 * A stack that goes on in another one, in the same block of memory and below it, as those of OCaml's fibers do: tables
 * say where. It works, or with an argument waits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 16 };
static unsigned char *block;
static int waits;

/* The word at rsp is the caller's rsp: DW_CFA_def_cfa_expression: DW_OP_breg7 0, DW_OP_deref, DW_OP_plus_uconst 16. */
void run_there(void *top, void (*function)(void));
__asm__(".text\n.globl run_there\n.type run_there, @function\nrun_there:\n"
        "\t.cfi_startproc\n\t.cfi_signal_frame\n\tpushq %rbx\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_offset %rbx, -16\n"
        "\tmovq %rsp, -16(%rdi)\n\tleaq -16(%rdi), %rsp\n\t.cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 16\n"
        "\tcall *%rsi\n\tmovq (%rsp), %rsp\n\t.cfi_def_cfa %rsp, 16\n\tpopq %rbx\n\t.cfi_def_cfa_offset 8\n\tret\n"
        "\t.cfi_endproc\n.size run_there, . - run_there\n");

__attribute__((noinline)) static void work(void)
{
    if (waits)
        pause();
    for (volatile int i = 0; i < 100000; i++)
        continue;
}

__attribute__((noinline)) static void on_upper(void)
{
    work();
    __asm__ volatile("");
}

__attribute__((noinline)) static void on_lower(void)
{
    for (;;)
        run_there(block + 2 * STACK_BYTES, on_upper);
}

int main(int count, char **arguments)
{
    (void)arguments;
    waits = count > 1;
    block = aligned_alloc(64, 2 * STACK_BYTES);
    if (!block)
        return 1;
    puts("ready");
    fflush(stdout);
    run_there(block + STACK_BYTES, on_lower);
    return 1;
}
