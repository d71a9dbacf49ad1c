/* Makes the stacks. Knows the functions' machine code, and nobody who walks them. */
#include "stacks.h"

#include <stdio.h>
#include <stdlib.h>

/* Zeros between two stacks, and around all: a walk without tables that guesses finds nothing behind a stack's end. */
enum { SLACK = 4096, GAP = 512, MIXES = 4 };

/* Functions that call what rdi points to, and hand on what follows it. */
__asm__(".text\n.p2align 6\n"
        "bench_framed:\n.rept 50000\n.p2align 5\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "sub $16, %rsp\nadd $8, %rdi\ncall *-8(%rdi)\nleave\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n.endr\n"
        ".p2align 6\n"
        "bench_plain:\n.rept 50000\n.p2align 5\n.cfi_startproc\n"
        "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\nsub $16, %rsp\n.cfi_def_cfa_offset 32\n"
        "add $8, %rdi\ncall *-8(%rdi)\nadd $16, %rsp\n.cfi_def_cfa_offset 16\npop %rbx\n.cfi_def_cfa_offset 8\nret\n"
        ".cfi_endproc\n.endr\n");
extern const uint8_t bench_framed[], bench_plain[];

const struct code codes[CODES] = {
    { "CFI, frame pointers", bench_framed, 15, BY_CFI },        { "CFI, none", bench_plain, 12, BY_CFI },
    { "no CFI, frame pointers", bench_framed, 15, BY_NOTHING }, { "no CFI, none", bench_plain, 12, BY_NOTHING },
    { "JIT, frame pointers", bench_framed, 15, BY_RANGE },      { "JIT, none", bench_plain, 12, BY_RANGE },
};

void scene_name(const struct scene *scene, char name[SCENE_BYTES])
{
    static const char *const orders[ORDERS] = { "", ", 1 caller each", ", 4 callers each" };
    snprintf(name, SCENE_BYTES, "%s, depth %u, %u pcs%s", scene->code->name, scene->depth, scene->pcs,
             orders[scene->order]);
}

uint64_t stack_sp(const struct stacks *s, unsigned stack, unsigned frame)
{
    return (uint64_t)(uintptr_t)s->words + SLACK + stack * (s->scene.depth * (uint64_t)FRAME + GAP) +
           frame * (uint64_t)FRAME;
}

static uint64_t address_of(const struct stacks *s, unsigned stack, unsigned frame)
{
    const uint32_t function = s->functions[(size_t)stack * s->scene.depth + frame];
    return (uint64_t)(uintptr_t)s->scene.code->functions + (uint64_t)SLOT * function;
}

uint64_t stack_pc(const struct stacks *s, unsigned stack, unsigned frame)
{
    return address_of(s, stack, frame) + s->scene.code->behind_call;
}

/* All frames of all stacks, one after the other: whose they are. */
static void choose_functions(struct stacks *s)
{
    const size_t frames = (size_t)s->count * s->scene.depth, pcs = s->scene.pcs;
    uint64_t seed = BENCH_SEED;
    for (size_t i = 0; i < frames; i++)
        s->functions[i] = (uint32_t)((s->scene.order == IN_ORDER ? i * 7 : i) % pcs);
    for (size_t begin = 0; s->scene.order != IN_ORDER && begin + pcs <= frames; begin += pcs)
        for (size_t i = pcs - 1; i > 0; i--) {
            uint32_t *a = &s->functions[begin + i], *b = &s->functions[begin + next_random(&seed) % (i + 1)];
            const uint32_t swapped = *a;
            *a = *b;
            *b = swapped;
        }
}

/* In each frame: two words of its own, what was in rbp (or, as good as any, in rbx), where it returns to. */
static void write_frame(struct stacks *s, unsigned stack, unsigned frame)
{
    uint64_t *words = (uint64_t *)(uintptr_t)stack_sp(s, stack, frame);
    const bool is_last = frame + 1 == s->scene.depth;
    words[2] = is_last ? 0 : stack_sp(s, stack, frame + 1) + 16;
    words[3] = is_last ? 0 : stack_pc(s, stack, frame + 1);
}

void stacks_make_some(struct stacks *s, const struct scene *scene, unsigned count)
{
    *s = (struct stacks){ .scene = *scene, .count = count };
    s->bytes = 2 * SLACK + count * ((size_t)scene->depth * FRAME + GAP);
    s->words = get(s->bytes);
    s->functions = get((size_t)count * scene->depth * sizeof *s->functions);
    s->ends = get(count * sizeof *s->ends);
    choose_functions(s);
    for (unsigned stack = 0; stack < count; stack++) {
        for (unsigned frame = 0; frame < scene->depth; frame++)
            write_frame(s, stack, frame);
        s->ends[stack] = (struct ends){ stack_pc(s, stack, 0), stack_pc(s, stack, scene->depth - 1) };
    }
}

void stacks_make(struct stacks *s, const struct scene *scene)
{
    const unsigned once = scene->pcs > scene->depth ? scene->pcs / scene->depth : 1;
    stacks_make_some(s, scene, scene->order == MIXED ? MIXES * once : once);
}

void stacks_free(struct stacks *s)
{
    free(s->words);
    free(s->functions);
    free(s->ends);
    *s = (struct stacks){ 0 };
}

void stack_change(struct stacks *s, unsigned stack, unsigned frames, unsigned by)
{
    for (unsigned i = 0; i < frames; i++) {
        uint32_t *function = &s->functions[(size_t)stack * s->scene.depth + i];
        uint64_t *words = (uint64_t *)(uintptr_t)stack_sp(s, stack, i);
        *function = (*function + by) % s->scene.pcs;
        words[0] = words[1] = *function;
        if (i)
            write_frame(s, stack, i - 1);
    }
    s->ends[stack].leaf = stack_pc(s, stack, 0);
}

bool stack_is(const struct stacks *s, unsigned stack, const uint64_t *out, unsigned count)
{
    unsigned at = 0;
    while (at < count && out[at] != s->ends[stack].leaf)
        at++;
    for (unsigned frame = 0; frame < s->scene.depth; frame++)
        if (at + frame >= count || out[at + frame] != stack_pc(s, stack, frame))
            return false;
    return true;
}

unsigned stack_chase(const struct stacks *s, unsigned stack, uint64_t *out)
{
    unsigned count = 0;
    const uint64_t *fp = (const uint64_t *)(uintptr_t)(stack_sp(s, stack, 0) + 16);
    out[count++] = s->ends[stack].leaf;
    while (fp[0] > (uint64_t)(uintptr_t)fp && count < DEEPEST) {
        out[count++] = fp[1];
        fp = (const uint64_t *)(uintptr_t)fp[0];
    }
    return count;
}

struct call {
    void (*leaf)(void *arg);
    void *arg;
};

static void at_leaf(uint64_t *rest)
{
    const struct call *call = (const struct call *)(uintptr_t)*rest;
    call->leaf(call->arg);
}

void stack_call(const struct stacks *s, unsigned stack, void (*leaf)(void *arg), void *arg)
{
    uint64_t called[DEEPEST + 2];
    struct call call = { leaf, arg };
    for (unsigned frame = 0; frame < s->scene.depth; frame++)
        called[s->scene.depth - 1 - frame] = address_of(s, stack, frame); /* the last of the stack is called first */
    called[s->scene.depth] = (uint64_t)(uintptr_t)at_leaf;
    called[s->scene.depth + 1] = (uint64_t)(uintptr_t)&call;
    ((void (*)(uint64_t *))(uintptr_t)called[0])(called + 1);
}
