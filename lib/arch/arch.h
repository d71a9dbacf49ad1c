/*
 * What a machine is to this library: one value a machine, one folder a machine. The folders have the same files: arch.c
 * (the value), code_patterns.c, decode.c and decode.h; decode_*.c are a decoder's own. Whoever has a struct sw_arch
 * need not ask which machine it is. Includes nothing of the machines' folders.
 */
#ifndef SW_ARCH_ARCH_H
#define SW_ARCH_ARCH_H

#include "base/effect.h"
#include "base/memory.h"

/*
 * Code of a target.
 *
 * fetch    Bytes at pc: at least one; null when there are none. The answer is valid until the next fetch.
 */
struct sw_code {
    const struct sw_arch *arch;
    const uint8_t *(*fetch)(void *arg, uint64_t pc, size_t *size);
    void *arg;
};

enum { SW_LOADED_MOST = 8, SW_LOADED_BYTES = 64, SW_START_BYTES = 4, SW_JUMP_BYTES = 5, SW_TRAMPOLINE_MOST = 9 };

/*
 * What code looks like from outside, before anything is decoded in order.
 *
 * call_before   Whether a call ends at `after`, which is 8 at least. target: what it calls, when the call says so; slot:
 *               the address of the word that holds the target. Both are 0 before.
 * goes_through  Whether the code at `at` does nothing but go on through a word in memory, whose address is `slot`: PLT
 *               entries and import stubs do.
 * loaded        Addresses that SW_LOADED_BYTES of code at `begin` load, at most SW_LOADED_MOST; those that only look so
 *               are among them. Returns how many.
 * may_start     Whether a function may start at `address`. front: its bytes, SW_START_BYTES of them, and as many more
 *               in front of those.
 * jump_at       Whether a direct jump, no call, is at bytes[at], which has `address`. SW_JUMP_BYTES are there, and all
 *               bytes in front of them. from: where the jump begins, to: where it leads.
 * plt_header    Whether pc is in the first entry of a PLT, which pushes and goes on to the resolver. pushed: how many
 *               bytes the stack has grown by at pc; the return address is the last word of those. Null: tables tell.
 * is_filler     Whether the instruction at `bytes`, of a function's last `size` bytes, only fills up.
 */
struct sw_code_patterns {
    bool (*call_before)(const struct sw_code *code, uint64_t after, uint64_t *target, uint64_t *slot);
    bool (*goes_through)(const struct sw_code *code, uint64_t at, uint64_t *slot);
    size_t (*loaded)(const struct sw_memory *memory, const uint8_t *bytes, uint64_t begin,
                     uint64_t addresses[SW_LOADED_MOST]);
    bool (*may_start)(const uint8_t *front, uint64_t address);
    bool (*jump_at)(const uint8_t *bytes, size_t at, uint64_t address, uint64_t *from, uint64_t *to);
    bool (*plt_header)(const struct sw_code *code, uint64_t pc, unsigned *pushed);
    bool (*is_filler)(const uint8_t *bytes, size_t size);
};

/*
 * A signal trampoline: two instructions, the second one the system call. A handler returns to the first; the second can
 * be stopped at.
 *
 * size, bytes   Of both. first_size: of the first one.
 * ucontext      Where the ucontext is above sp.
 */
struct sw_trampoline {
    uint8_t size;
    uint8_t bytes[SW_TRAMPOLINE_MOST];
    uint8_t first_size;
    int16_t ucontext;
};

/*
 * Bits of a code address that say nothing of the place.
 *
 * half      The bit that says which half of the address space it is: without signature and tag all bits above the
 *           address are as this one.
 * tag       Bits that no address uses.
 * usual     Bits that nearly no address uses.  fewest  Bits that few targets' addresses do not use.
 */
struct sw_pointer_auth {
    uint64_t half, tag, usual, fewest;
};

/* Where call frame information was found to be wrong; each is mended in src/unwind. */
enum sw_cfi_quirk {
    SW_CFI_EPILOGUES = 1, /* pops of a realigned frame's epilogue are left out */
    SW_CFI_SILENCE = 2,   /* hand-written code pushes and writes registers, and the table does not say so */
    SW_CFI_PUSHED = 4,    /* what other code pushed before it jumped here is left out */
    SW_CFI_TRAMPOLINE = 8 /* the trampoline is described by a frame record that holds lr in the place of the pc */
};

/*
 * One machine.
 *
 * elf             Its number in ELF headers (e_machine).
 * roles           Its registers' roles. A call pushes the return address, or leaves it in roles->link.
 * names           Of registers, by number: roles->count of them.
 * frame_makers    Registers that a frame is made with beside the nonvolatile ones, as bits, sp among them.
 * probe_unit      Stack probes that are called take a frame's size in units of so many bytes.
 * insn_bytes      Instructions begin at multiples of so many bytes; none is shorter.
 * decode          Its decoder.
 * pointer_auth    Null: code addresses have neither signature nor tag.
 * cfi_quirks      Of enum sw_cfi_quirk, as bits.
 * trampolines     trampoline_count of them.
 *
 * The rule codec of src/fast gets its member here.
 */
struct sw_arch {
    enum sw_machine machine;
    uint16_t elf;
    uint8_t insn_bytes;
    uint8_t probe_unit;
    uint8_t cfi_quirks;
    uint8_t trampoline_count;
    const struct sw_regs_roles *roles;
    const char *const *names;
    uint64_t frame_makers;
    sw_decode_fn *decode;
    const struct sw_code_patterns *patterns;
    const struct sw_pointer_auth *pointer_auth;
    const struct sw_trampoline *trampolines;
};

/* The machines' values, each in the arch.c of its folder. */
extern const struct sw_arch sw_x64_arch, sw_a64_arch;
extern const struct sw_code_patterns sw_x64_code_patterns, sw_a64_code_patterns;

/*
 * The value of a machine, or of the machine with a number of ELF; null: there is none.
 *
 * Memory   Static. Threads  Any. Signals  Safe.
 */
const struct sw_arch *sw_arch_of(enum sw_machine machine);
const struct sw_arch *sw_arch_of_elf(unsigned number);

/* Whether a call leaves the return address in a register, not on the stack. */
static inline bool sw_arch_has_link(const struct sw_arch *arch)
{
    return arch->roles->link != SW_REGS_MAX;
}

#endif
