/*
 * Knows what stands behind the calls in those functions of Go's runtime that change stacks, by patterns of their code,
 * which tell at what offsets their structures have what. Refuses to know versions.
 *
 * A thread in Go code has a g in r14: its goroutine's, or g0 for its own stack. g has its stack's end and, once it was
 * left, where it goes on (gobuf: sp, pc). runtime.mcall goes to g0's for ever: g0's gobuf is that of mstart1's caller,
 * which is under everything that runs there. runtime.systemstack comes back to m.curg, whose gobuf has the sp at which
 * its own return address is. So both hold only if g0's gobuf has the sp that the frame has. runtime.morestack goes to
 * g0's stack, too, and comes back to m.curg's gobuf (pc, sp); where it ran another goroutine meanwhile, it is as mcall.
 * What m has at what offset only systemstack says, which is close in front of it.
 *
 * Source: go, src/runtime/asm_amd64.s (asmcgocall, mcall, systemstack, morestack, gosave_systemstack_switch), proc.go
 * (mstart1), stack.go (newstack), runtime2.go (g, gobuf, m, stack); traceback.go, which goes on behind systemstack and
 * morestack, and ends at mcall.
 */
#include "go.h"

#include "peek.h"

#include <string.h>

enum { CODE_BYTES = 48, BEFORE_BYTES = 16, NEAR_BYTES = 320, VALUES_MOST = 4 };
enum { GOBUF_PC = 8, STACK_END = 8, DEEPEST = 1 << 30 };

/* One that matches: values of its p and w, in their order. */
struct match {
    size_t size;
    uint64_t values[VALUES_MOST];
    unsigned count;
};

static unsigned digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

/* Bytes in hexadecimal; p: one byte, w: four, that are an offset, not below 0; "..": any byte. */
static bool is_match(const uint8_t *code, size_t size, const char *pattern, struct match *m)
{
    *m = (struct match){ 0 };
    for (const char *p = pattern; *p; p++) {
        const size_t bytes = *p == 'w' ? 4 : 1;
        uint32_t value = 0;
        if (*p == ' ')
            continue;
        if (m->size + bytes > size)
            return false;
        memcpy(&value, code + m->size, bytes);
        m->size += bytes;
        if (*p == 'p' || *p == 'w') {
            if (m->count == VALUES_MOST || value >> (8 * bytes - 1))
                return false;
            m->values[m->count++] = value;
            continue;
        }
        if (*p != '.' && value != (digit(p[0]) << 4 | digit(p[1])))
            return false;
        p++;
    }
    return true;
}

/* A frame at a call, with the code on both sides, and what is read of it. */
struct call {
    const struct sw_memory *memory, *stack;
    const struct sw_regs *thread;
    const struct sw_frame *frame;
    uint8_t before[BEFORE_BYTES], code[CODE_BYTES];
    struct sw_regs *caller;
    uint64_t *end;
};

static bool load(const struct sw_memory *memory, uint64_t address, uint64_t *value)
{
    return peek(memory, address, value, sizeof *value);
}

static bool go_on(const struct call *c, uint64_t pc, uint64_t sp)
{
    if (!pc || !sp || sp % 8)
        return false;
    *c->caller = c->frame->regs;
    sw_regs_set(c->caller, SW_X64_RIP, pc);
    sw_regs_set(c->caller, SW_X64_RSP, sp);
    return true;
}

/* The g of the thread's own stack, if it says that this stack was gone on with at `sp`. */
static bool find_g0(const struct call *c, uint64_t sched, uint64_t sp, uint64_t *g0)
{
    uint64_t value;
    *g0 = c->thread->r[SW_X64_R14];
    return sw_regs_has(c->thread, SW_X64_R14) && *g0 && load(c->memory, *g0 + sched, &value) && value == sp;
}

/* To the goroutine: g is in the frame, and how deep its stack was. */
static bool leave_c(const struct call *c, const struct match *m)
{
    uint64_t g, depth, pc;
    const uint64_t sp = sw_regs_sp(&c->frame->regs);
    return load(c->stack, sp + m->values[0], &g) && load(c->stack, sp + m->values[2], &depth) && g &&
           load(c->memory, g + m->values[1], c->end) && depth >= 8 && depth <= DEEPEST && depth <= *c->end &&
           load(c->memory, *c->end - depth, &pc) && go_on(c, pc, *c->end - depth + 8);
}

/* C was called on the thread's own stack: its sp is in the frame. */
static bool leave_c_here(const struct call *c, const struct match *m)
{
    uint64_t sp, pc;
    const uint64_t own = sw_regs_sp(&c->frame->regs);
    return load(c->stack, own + m->values[0], &sp) && sp > own && sp - own <= DEEPEST && load(c->stack, sp, &pc) &&
           go_on(c, pc, sp + 8);
}

static bool leave_mcall(const struct call *c, const struct match *m)
{
    uint64_t g0, pc;
    const uint64_t sp = sw_regs_sp(&c->frame->regs) + 8; /* behind the argument's place */
    return find_g0(c, m->values[0], sp, &g0) && load(c->memory, g0 + m->values[0] + GOBUF_PC, &pc) && go_on(c, pc, sp);
}

/* What systemstack's code says: where g has its m, m its goroutine, g its gobuf. */
enum { G_M, M_CURG, G_SCHED };

/* The goroutine of the thread whose g0 that is, and where its stack goes on; g: 0, it has none. */
static bool find_goroutine(const struct call *c, const struct match *m, uint64_t g0, uint64_t *g, uint64_t *sp)
{
    uint64_t thread;
    *sp = 0;
    return load(c->memory, g0 + m->values[G_M], &thread) && load(c->memory, thread + m->values[M_CURG], g) &&
           *g != g0 &&
           (!*g ||
            (load(c->memory, *g + m->values[G_SCHED], sp) && load(c->memory, *g + STACK_END, c->end) && *sp < *c->end));
}

static bool leave_systemstack(const struct call *c, const struct match *m)
{
    uint64_t g0, g, sp, pc;
    return find_g0(c, m->values[G_SCHED], sw_regs_sp(&c->frame->regs), &g0) && find_goroutine(c, m, g0, &g, &sp) && g &&
           load(c->memory, sp, &pc) && go_on(c, pc, sp + 8);
}

static bool find_systemstack(const struct call *c, struct match *m);

static bool leave_morestack(const struct call *c, const struct match *m)
{
    struct match near;
    uint64_t g0, g, sp, pc;
    const uint64_t own = sw_regs_sp(&c->frame->regs);
    if (!find_systemstack(c, &near) || near.values[G_SCHED] != m->values[0] || !find_g0(c, m->values[0], own, &g0) ||
        !find_goroutine(c, &near, g0, &g, &sp))
        return false;
    return load(c->memory, (g ? g : g0) + m->values[0] + GOBUF_PC, &pc) && go_on(c, pc, g ? sp : own);
}

/*
 * Code behind calls; the first of some lines is how position-independent code finds TLS. before: what is in front of
 * the call, as long as the pattern.
 */
static const struct {
    const char *before, *code;
    bool (*leave)(const struct call *c, const struct match *m);
} rows[] = {
    { "", "488b7c24p 488b77p 482b7424p", leave_c },
    { "", "48c7c1........ 488b7c24p 488b77p 482b7424p", leave_c },
    { "", "488b0d........ 488b7c24p 488b77p 482b7424p", leave_c },
    { "", "488b7424p 4889f4", leave_c_here },
    { "498b66p 50 4c8b22 41ffd4", "58e9", leave_mcall },
    { "498b66p 31ed 50 4c8b22 41ffd4", "58e9", leave_mcall },
    { "498b66p 31ed 50 4c8b22 41ffd4", "9058e9", leave_mcall },
    { "488b63p e8........", "e8........ c3", leave_morestack },
    { "", "64488b0425........ 488b58p 488b83w 6448890425........ 488b60p", leave_systemstack },
    { "", "48c7c1........ 64488b01 488b58p 488b83w 64488901 488b60p", leave_systemstack },
    { "", "488b0d........ 64488b01 488b58p 488b83w 64488901 488b60p", leave_systemstack },
};

/* What a pattern says of the code on one side of the call, or on both. */
static bool is_row(const struct call *c, const char *before, const char *code, struct match *m)
{
    struct match behind;
    size_t size = 0;
    for (const char *p = before; *p; p++)
        size += *p == 'p' ? 2 : *p != ' ';
    if (!is_match(c->code, sizeof c->code, code, &behind) ||
        !is_match(c->before + sizeof c->before - size / 2, size / 2, before, m))
        return false;
    if (!m->count)
        *m = behind;
    return true;
}

/* Where systemstack is close in front of the call: what its code says. */
static bool find_systemstack(const struct call *c, struct match *m)
{
    uint8_t code[NEAR_BYTES];
    if (!peek(c->memory, sw_regs_pc(&c->frame->regs) - sizeof code, code, sizeof code))
        return false;
    for (size_t at = 0; at < sizeof code; at++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            if (rows[i].leave == leave_systemstack && is_match(code + at, sizeof code - at, rows[i].code, m))
                return true;
    return false;
}

bool go_step(const struct sw_memory *memory, const struct sw_memory *stack, const struct sw_regs *thread,
             const struct sw_frame *frame, struct sw_regs *caller, uint64_t *end)
{
    struct call call = {
        .memory = memory, .stack = stack, .thread = thread, .frame = frame, .caller = caller, .end = end
    };
    struct match match;
    const uint64_t pc = sw_regs_pc(&frame->regs);
    *end = 0;
    if (frame->regs.machine != SW_MACHINE_X64 || frame->exact || frame->code.kind != SW_KIND_NATIVE ||
        !peek(memory, pc - BEFORE_BYTES, call.before, sizeof call.before) ||
        !peek(memory, pc, call.code, sizeof call.code))
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (is_row(&call, rows[i].before, rows[i].code, &match))
            return rows[i].leave(&call, &match);
    return false;
}
