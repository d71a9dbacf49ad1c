/*
 * Steps through the frames of Java's code. No table tells of their layouts, which are those of x64.
 *
 * Source: OpenJDK 17, src/hotspot: cpu/x86/frame_x86.hpp, cpu/x86/stubGenerator_x86_64.cpp (the call stub's frame),
 * share/code/codeBlob.hpp (frames of one size), share/runtime/frame.cpp (deoptimization).
 */
#include "hotspot_parts.h"

enum { FRAME_WORDS_MOST = 1 << 16 };

/* A word of an interpreted frame, from rbp. */
enum { SENDER_SP = -1 };

/* The words of a frame of C's shape: rbp, then the return address. */
static bool step_by_rbp(const struct sw_memory *stack, const struct sw_regs *regs, struct sw_regs *caller)
{
    uint64_t words[2];
    if (!sw_regs_has(regs, SW_X64_RBP) || !peek(stack, regs->r[SW_X64_RBP], words, sizeof words))
        return false;
    sw_regs_set(caller, SW_X64_RBP, words[0]);
    sw_regs_set(caller, SW_X64_RIP, words[1]);
    sw_regs_set(caller, SW_X64_RSP, regs->r[SW_X64_RBP] + sizeof words);
    return true;
}

/* Where the call stub has saved what C++ expects to be kept, in words from rbp. */
static bool step_call_stub(const struct sw_memory *stack, const struct sw_regs *regs, struct sw_regs *caller)
{
    static const struct {
        int word;
        unsigned reg;
    } saved[] = {
        { -7, SW_X64_RBX }, { -8, SW_X64_R12 }, { -9, SW_X64_R13 }, { -10, SW_X64_R14 }, { -11, SW_X64_R15 }
    };
    uint64_t value;
    if (!step_by_rbp(stack, regs, caller))
        return false;
    for (size_t i = 0; i < sizeof saved / sizeof saved[0]; i++)
        if (peek(stack, regs->r[SW_X64_RBP] + 8 * (uint64_t)(int64_t)saved[i].word, &value, sizeof value))
            sw_regs_set(caller, saved[i].reg, value);
    return true;
}

/* An interpreted method's caller may be compiled: its sp is what it was before the arguments were moved. */
static bool step_interpreted(const struct sw_memory *stack, const struct sw_regs *regs, struct sw_regs *caller)
{
    uint64_t sp;
    if (!step_by_rbp(stack, regs, caller) ||
        !peek(stack, regs->r[SW_X64_RBP] + 8 * (uint64_t)SENDER_SP, &sp, sizeof sp) || sp <= regs->r[SW_X64_RBP])
        return false;
    sw_regs_set(caller, SW_X64_RSP, sp);
    return true;
}

/* Compiled code and stubs have frames of one size, with rbp and the return address at their end. */
static bool step_sized(const struct sw_memory *stack, const struct sw_regs *regs, uint32_t frame_words,
                       struct sw_regs *caller)
{
    uint64_t words[2];
    const uint64_t end = sw_regs_sp(regs) + 8 * (uint64_t)frame_words;
    if (frame_words < 2 || frame_words > FRAME_WORDS_MOST || !peek(stack, end - 16, words, sizeof words))
        return false;
    sw_regs_set(caller, SW_X64_RBP, words[0]);
    sw_regs_set(caller, SW_X64_RIP, words[1]);
    sw_regs_set(caller, SW_X64_RSP, end);
    return true;
}

/* Code that is to be left for the interpreter has another return address: the true one is in its frame. */
static void undo_deoptimization(struct hotspot *h, const struct sw_memory *stack, struct sw_regs *regs)
{
    struct blob blob;
    struct method_parts parts;
    uint64_t pc;
    uint32_t at;
    if (hotspot_find_blob(h, sw_regs_pc(regs), &blob) && blob.kind == BLOB_METHOD &&
        hotspot_method_parts(h, &blob, &parts) && parts.deopt == sw_regs_pc(regs) &&
        get_int(h, blob.address + field_of(h, HOTSPOT_NMETHOD_ORIGINAL_PC), &at) &&
        peek(stack, sw_regs_sp(regs) + at, &pc, sizeof pc) && pc > blob.begin && pc < blob.end)
        sw_regs_set(regs, SW_X64_RIP, pc);
}

/* Executing compiled code: behind the prologue its frame is there. In an epilogue the caller found so is no code. */
static bool step_executing(struct hotspot *h, const struct sw_memory *stack, const struct sw_frame *frame,
                           const struct blob *blob, struct sw_regs *caller)
{
    struct blob behind;
    uint32_t complete;
    return blob->kind == BLOB_METHOD && hotspot_complete(h, blob, &complete) &&
           frame->lookup - blob->begin >= complete && step_sized(stack, &frame->regs, blob->frame_words, caller) &&
           hotspot_find_blob(h, sw_regs_pc(caller) - 1, &behind);
}

bool hotspot_step(struct hotspot *h, const struct sw_memory *stack, const struct sw_frame *frame,
                  struct sw_regs *caller)
{
    struct blob blob;
    uint64_t method;
    bool stepped = false;
    *caller = (struct sw_regs){ .machine = frame->regs.machine };
    if (!is_in_cache(frame) || !hotspot_find_blob(h, frame->lookup, &blob))
        return false;
    if (blob.kind == BLOB_INTERPRETER)
        stepped = hotspot_interpreted(h, stack, &frame->regs, &method) && step_interpreted(stack, &frame->regs, caller);
    else if (!frame->exact && sw_regs_pc(&frame->regs) == h->call_stub_return)
        stepped = step_call_stub(stack, &frame->regs, caller);
    else if (!frame->exact)
        stepped = step_sized(stack, &frame->regs, blob.frame_words, caller);
    else
        stepped = step_executing(h, stack, frame, &blob, caller);
    if (!stepped || sw_regs_sp(caller) <= sw_regs_sp(&frame->regs))
        return false;
    undo_deoptimization(h, stack, caller);
    return true;
}

bool hotspot_leave_interpreter(const struct sw_memory *stack, const struct sw_frame *frame, struct sw_regs *caller)
{
    *caller = (struct sw_regs){ .machine = frame->regs.machine };
    return frame->regs.machine == SW_MACHINE_X64 && step_interpreted(stack, &frame->regs, caller) &&
           sw_regs_sp(caller) > sw_regs_sp(&frame->regs);
}
