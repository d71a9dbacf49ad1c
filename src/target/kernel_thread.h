/*
 * Threads of the kernel that are a process's own, as io_uring has: they have run no code of the program, and where they
 * are in it is not known. Observed: Linux 6.18 says 0 of pc and sp, and of the others what its maker had; gcore and
 * capsules store that.
 */
#ifndef SW_TARGET_KERNEL_THREAD_H
#define SW_TARGET_KERNEL_THREAD_H

#include <snapwalk/regs.h>

static inline void sw_forget_pc_of_kernel_thread(struct sw_regs *regs)
{
    if (sw_regs_pc(regs) == 0 && sw_regs_sp(regs) == 0)
        regs->known &= ~(UINT64_C(1) << sw_regs_pc_number(regs->machine));
}

#endif
