/*
 * Knows what stands behind the calls in those functions of Go's runtime that change stacks, by patterns of their code,
 * which tell at what offsets their structures have what. Refuses to know versions.
 *
 * A thread in Go code has a g in r14: its goroutine's, or g0 for its own stack. g has its stack's end and, once it was
 * left, where it goes on (gobuf: sp, pc). runtime.mcall goes to g0's for ever: g0's gobuf is that of mstart1's caller,
 * which is under everything that runs there. runtime.systemstack comes back to m.curg, whose gobuf has the sp at which
 * its own return address is. So both hold only if g0's gobuf has the sp that the frame has. runtime.morestack goes to
 * g0's stack, too, and comes back to m.curg's gobuf (pc, sp); where it ran another goroutine meanwhile, it is as mcall.
 * What m has at what offset only systemstack says, which is close in front of it. The clock is asked on g0's stack as
 * well: r12 has the goroutine's stack pointer meanwhile. Between the instruction that loads sp and the call, and
 * between the call and the load back, a thread executes on the one stack in the name of the other; so it does in gogo,
 * which goes to a gobuf: their tables say nothing of it.
 *
 * Source: go, src/runtime/asm_amd64.s (asmcgocall, mcall, systemstack, morestack, gosave_systemstack_switch), proc.go
 * (mstart1), sys_linux_amd64.s (nanotime1), time_linux_amd64.s (time.now), stack.go (newstack), runtime2.go (g, gobuf,
 * m, stack); traceback.go, which goes on behind systemstack and morestack, and ends at mcall.
 */
#include "go.h"

#include "callsite.h"
#include "peek.h"

#include <string.h>

enum { CODE_BYTES = 64, BEFORE_BYTES = 16, NEAR_BYTES = 320, WINDOW_BYTES = 96, VALUES_MOST = 8 };
enum { GOBUF_PC = 8, STACK_END = 8, DEEPEST = 1 << 30 };

/* One that matches: values of its p and w, in their order. */
struct match {
    size_t size;
    uint64_t values[VALUES_MOST];
    unsigned count, pushed; /* pushed: see `rows` */
    bool is_last;           /* pc is at the last instruction */
};

static unsigned digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

/* Hexadecimal; p: one byte, w: four, that are an offset, not below 0; "..": any byte; |: between instructions. */
static bool is_match(const uint8_t *code, size_t size, const char *pattern, struct match *m)
{
    *m = (struct match){ 0 };
    for (const char *p = pattern; *p; p++) {
        const size_t bytes = *p == 'w' ? 4 : 1;
        uint32_t value = 0;
        if (*p == ' ' || *p == '|')
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

/* As the function returns when its own stack pointer is that. */
static bool return_to(const struct call *c, const struct match *m, uint64_t sp)
{
    uint64_t pc;
    return load(c->memory, sp + m->pushed, &pc) && go_on(c, pc, sp + m->pushed + 8);
}

/* To the goroutine: g is in the frame, and how deep its stack was. */
static bool leave_c(const struct call *c, const struct match *m)
{
    uint64_t g, depth;
    const uint64_t sp = sw_regs_sp(&c->frame->regs);
    return load(c->stack, sp + m->values[0], &g) && load(c->stack, sp + m->values[2], &depth) && g &&
           load(c->memory, g + m->values[1], c->end) && depth >= 8 && depth <= DEEPEST && depth <= *c->end &&
           return_to(c, m, *c->end - depth);
}

/* C was called on the thread's own stack: its sp is in the frame. */
static bool leave_c_here(const struct call *c, const struct match *m)
{
    uint64_t sp;
    const uint64_t own = sw_regs_sp(&c->frame->regs);
    return load(c->stack, own + m->values[0], &sp) && sp > own && sp - own <= DEEPEST && return_to(c, m, sp);
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
    uint64_t g0, g, sp;
    return find_g0(c, m->values[G_SCHED], sw_regs_sp(&c->frame->regs), &g0) && find_goroutine(c, m, g0, &g, &sp) && g &&
           return_to(c, m, sp);
}

/* The time was asked for on the thread's own stack: r12 has the stack pointer of the function that did. */
static bool leave_clock(const struct call *c, const struct match *m)
{
    const struct sw_regs *regs = &c->frame->regs;
    if (!sw_regs_has(regs, SW_X64_R12) || !sw_regs_has(regs, SW_X64_R14) ||
        !load(c->memory, regs->r[SW_X64_R14] + STACK_END, c->end) || regs->r[SW_X64_R12] >= *c->end)
        return false;
    return return_to(c, m, regs->r[SW_X64_R12]);
}

static bool find_systemstack(const struct call *c, struct match *m);

/* The g of the thread's own stack, where r14 is still or already a goroutine's: m begins with its g0. */
static bool find_g0_of_thread(const struct call *c, const struct match *m, uint64_t sp, uint64_t *g0)
{
    uint64_t thread, value;
    return sw_regs_has(c->thread, SW_X64_R14) && load(c->memory, c->thread->r[SW_X64_R14] + m->values[G_M], &thread) &&
           load(c->memory, thread, g0) && load(c->memory, *g0 + m->values[G_SCHED], &value) && value == sp;
}

/* Where g has its m, as mcall's code says in front of the call, and its gobuf. */
static bool find_parts_of_g(const struct call *c, uint64_t sched, struct match *parts)
{
    uint8_t code[WINDOW_BYTES];
    if (!peek(c->memory, sw_regs_pc(&c->frame->regs) - sizeof code, code, sizeof code))
        return false;
    for (size_t at = 0; at < sizeof code; at++)
        if (is_match(code + at, sizeof code - at, "498b5ep 488b33", parts)) {
            parts->values[G_SCHED] = sched;
            return true;
        }
    return false;
}

static bool leave_mcall(const struct call *c, const struct match *m)
{
    struct match parts;
    uint64_t g0, pc;
    const uint64_t sp = sw_regs_sp(&c->frame->regs) + 8; /* behind the argument's place */
    const bool is_found = find_g0(c, m->values[0], sp, &g0) ||
                          (find_parts_of_g(c, m->values[0], &parts) && find_g0_of_thread(c, &parts, sp, &g0));
    return is_found && load(c->memory, g0 + m->values[0] + GOBUF_PC, &pc) && go_on(c, pc, sp);
}

static bool leave_morestack(const struct call *c, const struct match *m)
{
    struct match near;
    uint64_t g0, g, sp, pc;
    const uint64_t own = sw_regs_sp(&c->frame->regs);
    if (!find_systemstack(c, &near) || near.values[G_SCHED] != m->values[0] ||
        !(find_g0(c, m->values[0], own, &g0) || find_g0_of_thread(c, &near, own, &g0)) ||
        !find_goroutine(c, &near, g0, &g, &sp))
        return false;
    return load(c->memory, (g ? g : g0) + m->values[0] + GOBUF_PC, &pc) && go_on(c, pc, g ? sp : own);
}

/* ---- between two stacks ---- */

/* The argument's place may be pushed already. */
static bool enter_mcall(const struct call *c, const struct match *m)
{
    uint64_t g0, pc;
    const uint64_t sp = sw_regs_sp(&c->frame->regs), sched = m->values[0];
    const bool is_pushed = find_g0(c, sched, sp + 8, &g0);
    return (is_pushed || find_g0(c, sched, sp, &g0)) && load(c->memory, g0 + sched + GOBUF_PC, &pc) &&
           go_on(c, pc, is_pushed ? sp + 8 : sp);
}

/* g0's gobuf is told once in front of the call, and the rest behind it. */
static bool enter_systemstack(const struct call *c, const struct match *m)
{
    const struct match behind = {
        .size = m->size, .values = { m->values[1], m->values[2], m->values[3] }, .count = 3, .pushed = m->pushed
    };
    return m->values[0] == m->values[3] && leave_systemstack(c, &behind);
}

/* To where the gobuf says. A function that has not begun has its caller's address on the stack. */
static bool enter_gogo(const struct call *c, const struct match *m)
{
    const struct sw_regs *regs = &c->frame->regs;
    uint64_t sp = sw_regs_sp(regs), pc = regs->r[SW_X64_RBX];
    if (!sw_regs_has(regs, SW_X64_RBX) || !sw_regs_has(c->thread, SW_X64_R14) ||
        !load(c->memory, c->thread->r[SW_X64_R14] + STACK_END, c->end) || sp >= *c->end || m->count < 7)
        return false;
    if (!m->is_last && !load(c->memory, pc + GOBUF_PC, &pc))
        return false;
    if (is_behind_call(c->memory, pc))
        return go_on(c, pc, sp);
    return load(c->memory, sp, &pc) && go_on(c, pc, sp + 8);
}

/* How Go's functions end from 1.21 on that come back to a stack: gobuf is cleared; results of C are stored. */
#define TO_POP "48c740..00000000 48c740..00000000 5dc3"
#define FROM_C "4889f4 894424.. 5dc3"

/* What the clock has said is taken from the thread's own stack; then r12 is the stack pointer. */
#define ONE_TIME  "488b0424|488b542408|4c89e4"
#define TWO_TIMES "488b442410|488b7c2418|488b0c24|4869c9........|488b542408|4c89e4"

/*
 * Code in which a thread is between two stacks. first: the number of instructions in front of that. pushed: see `rows`.
 */
static const struct {
    const char *code;
    unsigned first, pushed;
    bool (*enter)(const struct call *c, const struct match *m);
} windows[] = {
    { "498b66p|50|4c8b22|41ffd4", 1, 0, enter_mcall },
    { "498b66p|31ed|50|4c8b22|41ffd4", 1, 0, enter_mcall },
    { "488b63p|e8........", 1, 0, leave_morestack },
    { "488b63p|488b6bp|e8........", 1, 0, leave_morestack },
    { "488b5ap|4889dc|4889fa|488b3f|ffd7|64488b0425........|488b58p|488b83w|6448890425........|488b60p", 2, 0,
      enter_systemstack },
    { "488b5ap|4889dc|4889fa|488b3f|ffd7|48c7c1........|64488b01|488b58p|488b83w|64488901|488b60p", 2, 0,
      enter_systemstack },
    { "488b5ap|4889dc|4889fa|488b3f|ffd7|488b0d........|64488b01|488b58p|488b83w|64488901|488b60p", 2, 0,
      enter_systemstack },
    { "488b62p|4889fa|488b3f|ffd7|64488b0425........|488b58p|488b83w|6448890425........|488b60p 488b68.. " TO_POP, 1, 8,
      enter_systemstack },
    { "488b62p|4889fa|488b3f|ffd7|48c7c1........|64488b01|488b58p|488b83w|64488901|488b60p 488b68.. " TO_POP, 1, 8,
      enter_systemstack },
    { "488b62p|4889fa|488b3f|ffd7|488b0d........|64488b01|488b58p|488b83w|64488901|488b60p 488b68.. " TO_POP, 1, 8,
      enter_systemstack },
    { "488b23|488b43p|488b53p|488b6bp|48c703........|48c743p........|48c743p........|48c743p........|488b5bp|ffe3", 1,
      0, enter_gogo },
    { "488b62..|4883ec10|4883e4f0|bf01000000|488d3424|488b05........|4883f800|74..|ffd0|" ONE_TIME, 1, 24,
      leave_clock },
    { "488b62..|4883ec20|4883e4f0|bf00000000|488d742410|488b05........|4883f800|74..|ffd0|bf01000000|488d3424|"
      "488b05........|ffd0|" TWO_TIMES,
      1, 24, leave_clock },
};

static size_t size_of(const char *pattern, const char *end)
{
    size_t size = 0;
    for (; pattern < end; pattern++)
        size += *pattern == 'p' ? 2 : *pattern == 'w' ? 8 : *pattern != ' ' && *pattern != '|';
    return size / 2;
}

/* An executing frame: pc is at an instruction of a window. near: the code around it, as much on both sides. */
static bool enter(const struct call *c, const uint8_t near[2 * WINDOW_BYTES])
{
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        const char *code = windows[i].code;
        unsigned n = 0;
        for (const char *at = strchr(code, '|'); at; at = strchr(at + 1, '|')) {
            const size_t before = size_of(code, at);
            struct match match;
            if (++n < windows[i].first || !is_match(near + WINDOW_BYTES - before, WINDOW_BYTES + before, code, &match))
                continue;
            match.is_last = !strchr(at + 1, '|');
            match.pushed = windows[i].pushed;
            return windows[i].enter(c, &match);
        }
    }
    return false;
}

/*
 * Code behind calls; the first of some lines is how position-independent code finds TLS. before: what is in front of
 * the call, as long as the pattern. pushed: bytes: room of the function's own, and the frame pointer that it keeps,
 * from Go 1.21 on.
 */
static const struct row {
    const char *before, *code;
    unsigned pushed;
    bool (*leave)(const struct call *c, const struct match *m);
} rows[] = {
    { "", "488b7c24p 488b77p 482b7424p", 0, leave_c },
    { "", "48c7c1........ 488b7c24p 488b77p 482b7424p", 0, leave_c },
    { "", "488b0d........ 488b7c24p 488b77p 482b7424p", 0, leave_c },
    { "", "488b7c24p 488b77p 482b3424 6448893c25........ " FROM_C, 8, leave_c },
    { "", "48c7c1........ 488b7c24p 488b77p 482b3424 64488939 " FROM_C, 8, leave_c },
    { "", "488b0d........ 488b7c24p 488b77p 482b3424 64488939 " FROM_C, 8, leave_c },
    { "", "488b7424p 4889f4", 0, leave_c_here },
    { "", "488b3424 " FROM_C, 8, leave_c_here },
    { "", ONE_TIME, 24, leave_clock },
    { "", TWO_TIMES, 24, leave_clock },
    { "", "bf01000000 488d3424 488b05........ ffd0 " TWO_TIMES, 24, leave_clock },
    { "498b66p 50 4c8b22 41ffd4", "58e9", 0, leave_mcall },
    { "498b66p 50 4c8b22 41ffd4", "9058e9", 0, leave_mcall },
    { "498b66p 31ed 50 4c8b22 41ffd4", "58e9", 0, leave_mcall },
    { "498b66p 31ed 50 4c8b22 41ffd4", "9058e9", 0, leave_mcall },
    { "488b63p e8........", "e8........ c3", 0, leave_morestack },
    { "488b63p 488b6bp e8........", "e8........ c3", 0, leave_morestack },
    { "", "64488b0425........ 488b58p 488b83w 6448890425........ 488b60p 488b68.. " TO_POP, 8, leave_systemstack },
    { "", "48c7c1........ 64488b01 488b58p 488b83w 64488901 488b60p 488b68.. " TO_POP, 8, leave_systemstack },
    { "", "488b0d........ 64488b01 488b58p 488b83w 64488901 488b60p 488b68.. " TO_POP, 8, leave_systemstack },
    { "", "64488b0425........ 488b58p 488b83w 6448890425........ 488b60p", 0, leave_systemstack },
    { "", "48c7c1........ 64488b01 488b58p 488b83w 64488901 488b60p", 0, leave_systemstack },
    { "", "488b0d........ 64488b01 488b58p 488b83w 64488901 488b60p", 0, leave_systemstack },
};

/* What a pattern says of the code on one side of the call, or on both. */
static bool is_row(const struct call *c, const struct row *row, struct match *m)
{
    struct match behind;
    const size_t size = size_of(row->before, row->before + strlen(row->before));
    if (!is_match(c->code, sizeof c->code, row->code, &behind) ||
        !is_match(c->before + sizeof c->before - size, size, row->before, m))
        return false;
    if (!m->count)
        *m = behind;
    m->pushed = row->pushed;
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
    uint8_t near[2 * WINDOW_BYTES];
    *end = 0;
    if (frame->regs.machine != SW_MACHINE_X64 || frame->code.kind != SW_KIND_NATIVE)
        return false;
    if (frame->exact)
        return peek(memory, pc - WINDOW_BYTES, near, sizeof near) && enter(&call, near);
    if (!peek(memory, pc - BEFORE_BYTES, call.before, sizeof call.before) ||
        !peek(memory, pc, call.code, sizeof call.code))
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (is_row(&call, &rows[i], &match))
            return rows[i].leave(&call, &match);
    return false;
}
