/*
 * The machines that there are, a row each. Knows nothing else of them.
 */
#include "arch/arch.h"

const struct sw_arch *const sw_archs[SW_ARCHS] = {
    [SW_MACHINE_X64] = &sw_x64_arch,
    [SW_MACHINE_ARM64] = &sw_a64_arch,
};

const struct sw_arch *sw_arch_of_elf(unsigned number)
{
    for (unsigned i = 0; i < SW_ARCHS; i++)
        if (sw_archs[i] && sw_archs[i]->elf == number)
            return sw_archs[i];
    return NULL;
}
