/*
 * The registers of a frame, for both machines. Registers are numbered as the hardware numbers them; the program counter
 * comes last. x64: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 to r15, as in a Win32 UNWIND_CODE.
 * ARM64: x0 to x30, sp 31. A register is known or unknown; an unknown one is never silently 0.
 */
#ifndef SNAPWALK_REGS_H
#define SNAPWALK_REGS_H

#include <snapwalk/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sw_machine { SW_MACHINE_NONE = 0, SW_MACHINE_X64 = 1, SW_MACHINE_ARM64 = 2 };

enum sw_x64_reg {
    SW_X64_RAX,
    SW_X64_RCX,
    SW_X64_RDX,
    SW_X64_RBX,
    SW_X64_RSP,
    SW_X64_RBP,
    SW_X64_RSI,
    SW_X64_RDI,
    SW_X64_R8,
    SW_X64_R9,
    SW_X64_R10,
    SW_X64_R11,
    SW_X64_R12,
    SW_X64_R13,
    SW_X64_R14,
    SW_X64_R15,
    SW_X64_RIP,
    SW_X64_COUNT
};

enum sw_arm64_reg {
    SW_ARM64_X0 = 0,
    SW_ARM64_X18 = 18,
    SW_ARM64_X19 = 19,
    SW_ARM64_X28 = 28,
    SW_ARM64_FP = 29,
    SW_ARM64_LR = 30,
    SW_ARM64_SP = 31,
    SW_ARM64_PC = 32,
    SW_ARM64_COUNT = 33
};

enum { SW_REGS_MAX = 33 };

/*
 * The registers of one frame.
 *
 * known   Bit n: r[n] holds the register's value. Where the bit is clear, r[n] must not be used.
 * r       The values, by register number.
 */
struct sw_regs {
    enum sw_machine machine;
    uint32_t reserved;
    uint64_t known;
    uint64_t r[SW_REGS_MAX];
};

/* The registers that a callee preserves, except sp and pc. SysV x64: rbx, rbp, r12-r15. ARM64: x19-x28, x29. */
#define SW_X64_NONVOLATILE   UINT64_C(0xf028)
#define SW_ARM64_NONVOLATILE UINT64_C(0x3ff80000)

/*
 * The registers of one machine by their roles: one constant a machine.
 *
 * pc, sp, fp    Their numbers.
 * link          The register that a call leaves the return address in; SW_REGS_MAX: a call pushes it.
 * count         How many registers there are.
 * nonvolatile   Bit n is set when a callee preserves register n; without sp and pc.
 */
struct sw_regs_roles {
    uint8_t pc, sp, fp, link, count;
    uint64_t nonvolatile;
};
static const struct sw_regs_roles sw_x64_roles = { SW_X64_RIP,  SW_X64_RSP,   SW_X64_RBP,
                                                   SW_REGS_MAX, SW_X64_COUNT, SW_X64_NONVOLATILE };
static const struct sw_regs_roles sw_arm64_roles = { SW_ARM64_PC, SW_ARM64_SP,    SW_ARM64_FP,
                                                     SW_ARM64_LR, SW_ARM64_COUNT, SW_ARM64_NONVOLATILE };

/*
 * The constant of a machine, and its members one by one. The compiler folds them: nothing is loaded.
 *
 * Returns  Constants; for a machine that does not exist those of x64. sw_regs_link_number: SW_REGS_MAX where a call
 *          pushes the return address. All other numbers are below SW_REGS_MAX.
 * Memory   None. Threads  Any. Signals  Safe.
 * Source   contexts.md section 9; SysV AMD64 psABI; AAPCS64.
 */
static inline const struct sw_regs_roles *sw_regs_roles_of(enum sw_machine m)
{
    return m == SW_MACHINE_ARM64 ? &sw_arm64_roles : &sw_x64_roles;
}
static inline unsigned sw_regs_pc_number(enum sw_machine m)
{
    return sw_regs_roles_of(m)->pc;
}
static inline unsigned sw_regs_sp_number(enum sw_machine m)
{
    return sw_regs_roles_of(m)->sp;
}
static inline unsigned sw_regs_fp_number(enum sw_machine m)
{
    return sw_regs_roles_of(m)->fp;
}
static inline unsigned sw_regs_link_number(enum sw_machine m)
{
    return sw_regs_roles_of(m)->link;
}
static inline unsigned sw_regs_count(enum sw_machine m)
{
    return sw_regs_roles_of(m)->count;
}
static inline uint64_t sw_regs_nonvolatile(enum sw_machine m)
{
    return sw_regs_roles_of(m)->nonvolatile;
}

/*
 * The name of a register for people: "rbx", "x19".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_regs_name(enum sw_machine machine, unsigned number);

/*
 * sw_regs_has says whether a register is known. sw_regs_set gives it a value and makes it known. The other three return
 * the values of pc, sp and fp, which mean something only if the register is known.
 *
 * A number of SW_REGS_MAX or more is never known, and sw_regs_set ignores it.
 *
 * Memory   None. Threads  Any. Signals  Safe.
 */
static inline bool sw_regs_has(const struct sw_regs *regs, unsigned number)
{
    /* No &&: gcc 12 -O1 for x64 gets a loop over "has(a, n) != has(b, n) || ..." wrong (-fno-ssa-phiopt: right). */
    return (number < SW_REGS_MAX) & (regs->known >> number % 64 & 1u);
}
static inline void sw_regs_set(struct sw_regs *regs, unsigned number, uint64_t value)
{
    if (number < SW_REGS_MAX) {
        regs->r[number] = value;
        regs->known |= UINT64_C(1) << number;
    }
}
static inline uint64_t sw_regs_pc(const struct sw_regs *regs)
{
    return regs->r[sw_regs_pc_number(regs->machine)];
}
static inline uint64_t sw_regs_sp(const struct sw_regs *regs)
{
    return regs->r[sw_regs_sp_number(regs->machine)];
}
static inline uint64_t sw_regs_fp(const struct sw_regs *regs)
{
    return regs->r[sw_regs_fp_number(regs->machine)];
}

#ifdef __cplusplus
}
#endif

#endif
