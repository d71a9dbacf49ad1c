/*
 * What a machine is to this library: one value a machine, one folder a machine. All folders have the same files: arch.c
 * (the value), code_patterns.c, codec.c, decode.c, decode.h; the files decode_* are parts of the decoder. Code that has
 * a struct sw_arch need not ask which machine it is. Includes nothing of the folders.
 */
#ifndef SW_ARCH_ARCH_H
#define SW_ARCH_ARCH_H

#include "base/effect.h"
#include "base/memory.h"
#include "base/meter.h"
#include "base/packed_rule.h"

/*
 * Code of a target.
 *
 * fetch    Bytes at pc: at least one; null when there are none. The answer is valid until the next fetch.
 * meter    What may be spent on it. May be null.
 */
struct sw_code {
    const struct sw_arch *arch;
    const uint8_t *(*fetch)(void *arg, uint64_t pc, size_t *size);
    void *arg;
    struct sw_meter *meter;
};

enum { SW_LOADED_MOST = 8, SW_LOADED_BYTES = 64, SW_START_BYTES = 4, SW_JUMP_BYTES = 5, SW_TRAMPOLINE_MOST = 9 };
enum { SW_ENDING_BYTES = 8, SW_SYSCALL_BYTES = 160 };

/*
 * What code looks like from outside, before anything is decoded in order.
 *
 * call_before   Whether a call ends at `after`; below 8 none does. target: what it calls; slot: the address of the
 *               word that holds the target. Both are 0 before, and stay so where the call does not say it.
 * goes_through  Whether the code at `at` only jumps through a word in memory, as PLT entries and import stubs do. slot:
 *               the address of that word.
 * loaded        Addresses that SW_LOADED_BYTES of code at `begin` load, and some that only look so. Returns how many.
 * may_start     Whether a function may start at `address`. front: SW_START_BYTES of code there, with as many in front.
 * may_end       Whether code in front of `address` may end there: it goes elsewhere, or calls what may never return.
 *               SW_ENDING_BYTES of code are at front, and as many in front.
 * opens_frame   Whether the instruction there is one that functions begin their frames with.
 * next_opening  The first place from `at` on, below `end`, with such an instruction; else end. SW_START_BYTES are there
 *               behind each place. On machines whose instructions are aligned, so is `at`.
 * jump_at       Whether a direct jump, no call, is at bytes[at], which has `address`. SW_JUMP_BYTES are there, and all
 *               bytes in front of them. from: where the jump begins, to: where it leads.
 * plt_header    Whether pc is in the first entry of a PLT, which pushes and goes on to the resolver. pushed: bytes that
 *               it has pushed; the return address is the topmost word of them. Null: the entry needs no care.
 * exits         Whether code at pc goes straight to the system call that ends a thread or a process.
 * syscall_ahead Whether a system call stands in SW_SYSCALL_BYTES of code from pc on: costs little.
 * new_stack     The register with the second argument of a system call, clone's stack.
 * is_filler     Whether the instruction at `bytes` only fills up. size: bytes up to the function's end, 1 or more.
 * is_thunk      Whether the code at `at` does nothing but jump through a register: what compilers call and jump to in
 *               place of such a jump, where it is not to be predicted. Null: nobody has seen why one should ask.
 * joined        Where the instruction begins that decode makes of two, of which pc is at the second; else pc. May be
 *               null.
 * behind_system_call  Whether a system call instruction ends at `after`. Null: nobody has seen why one should ask.
 */
struct sw_code_patterns {
    bool (*call_before)(const struct sw_code *code, uint64_t after, uint64_t *target, uint64_t *slot);
    bool (*goes_through)(const struct sw_code *code, uint64_t at, uint64_t *slot);
    size_t (*loaded)(const struct sw_memory *memory, const uint8_t *bytes, uint64_t begin,
                     uint64_t addresses[SW_LOADED_MOST]);
    bool (*may_start)(const uint8_t *front, uint64_t address);
    bool (*may_end)(const uint8_t *front, uint64_t address);
    bool (*opens_frame)(const uint8_t *front);
    size_t (*next_opening)(const uint8_t *bytes, size_t at, size_t end);
    bool (*jump_at)(const uint8_t *bytes, size_t at, uint64_t address, uint64_t *from, uint64_t *to);
    bool (*plt_header)(const struct sw_code *code, uint64_t pc, unsigned *pushed);
    bool (*exits)(const struct sw_code *code, uint64_t pc);
    bool (*syscall_ahead)(const struct sw_code *code, uint64_t pc);
    unsigned new_stack;
    bool (*is_filler)(const uint8_t *bytes, size_t size);
    bool (*is_thunk)(const struct sw_code *code, uint64_t at);
    uint64_t (*joined)(const struct sw_code *code, uint64_t pc);
    bool (*behind_system_call)(const struct sw_code *code, uint64_t after);
};

/*
 * Rules as the rule cache stores them.
 *
 * pack     Fills all of *to. False: the rule has no such form.
 * unpack   The same back.
 */
struct sw_rule_codec {
    bool (*pack)(const struct sw_rule *rule, struct sw_packed_rule *to);
    void (*unpack)(const struct sw_packed_rule *from, struct sw_rule *rule);
};

/*
 * A signal trampoline: two instructions, of which the second is the system call. A handler returns to the first; a
 * thread can be stopped at the second.
 *
 * size, bytes   Of both instructions.
 * first_size    Bytes of the first one.
 * ucontext      How far the ucontext is above sp.
 */
struct sw_trampoline {
    uint8_t size;
    uint8_t bytes[SW_TRAMPOLINE_MOST];
    uint8_t first_size;
    int16_t ucontext;
};

/*
 * Bits of a code address that are not of the address.
 *
 * half     The bit that says which half of the address space it is. Without signature and tag all bits above the
 *          address are as this one.
 * tag      Bits that are never of an address.
 * usual    Bits that a signature usually has.
 * fewest   Bits that every signature has; the other usual ones may be of an address.
 */
struct sw_pointer_auth {
    uint64_t half, tag, usual, fewest;
};

/* How call frame information was seen to be wrong; src/unwind mends it. */
enum sw_cfi_quirk {
    SW_CFI_EPILOGUES = 1,  /* leaves out the pops in the epilogue of a realigned frame */
    SW_CFI_SILENCE = 2,    /* leaves out pushes and written registers of hand-written code */
    SW_CFI_PUSHED = 4,     /* leaves out what was pushed by code that jumped here */
    SW_CFI_TRAMPOLINE = 8, /* finds a trampoline's caller by a frame record, which holds lr in the place of the pc */
    SW_CFI_BARE = 16       /* tells how large frames are, and nothing of registers */
};

/*
 * One machine.
 *
 * elf             The machine's number in ELF headers (e_machine).
 * insn_bytes      Instructions begin at multiples of so many bytes; none is shorter.
 * probe_unit      Stack probes that are called take the frame's size in units of so many bytes.
 * cfi_quirks      Bits of enum sw_cfi_quirk.
 * roles           Which registers have which role. A call pushes the return address, or puts it into roles->link.
 * names           Of the registers, by number: roles->count of them.
 * frame_makers    Registers that a frame is made with beside the nonvolatile ones, as bits; sp is among them.
 * pointer_auth    Null: code addresses have neither signature nor tag.
 * user_cs, user_ss  Selectors of programs in what an interrupt leaves: pc, cs, flags, sp, ss. 0: it leaves none.
 * flags_set, flags_clear  Bits of a program's flags as an instruction pushes them. Both 0: none does.
 * trampolines     Signal trampolines, trampoline_count of them.
 */
struct sw_arch {
    enum sw_machine machine;
    uint16_t elf;
    uint8_t insn_bytes;
    uint8_t probe_unit;
    uint8_t cfi_quirks;
    uint8_t trampoline_count;
    uint8_t user_cs, user_ss;
    const struct sw_regs_roles *roles;
    const char *const *names;
    uint64_t frame_makers;
    uint64_t flags_set, flags_clear;
    sw_decode_fn *decode;
    const struct sw_code_patterns *patterns;
    const struct sw_rule_codec *codec;
    const struct sw_pointer_auth *pointer_auth;
    const struct sw_trampoline *trampolines;
};

/* The machines' values, each in its folder: arch.c, code_patterns.c, codec.c. */
extern const struct sw_arch sw_x64_arch, sw_a64_arch;
extern const struct sw_code_patterns sw_x64_code_patterns, sw_a64_code_patterns;
extern const struct sw_rule_codec sw_x64_codec, sw_a64_codec;

/* ORDER sw_machine */
enum { SW_ARCHS = SW_MACHINE_ARM64 + 1 };
extern const struct sw_arch *const sw_archs[SW_ARCHS];

/*
 * The value of a machine, or of the machine with a number of ELF; null: there is none.
 *
 * Memory   Static. Threads  Any. Signals  Safe.
 */
static inline const struct sw_arch *sw_arch_of(enum sw_machine machine)
{
    return (unsigned)machine < SW_ARCHS ? sw_archs[machine] : NULL;
}
const struct sw_arch *sw_arch_of_elf(unsigned number);

/* Whether a call leaves the return address in a register, not on the stack. */
static inline bool sw_arch_has_link(const struct sw_arch *arch)
{
    return arch->roles->link != SW_REGS_MAX;
}

#endif
