/*
 * The machines that there are, a row each. Knows nothing else of them.
 */
#include "arch/arch.h"

#define ROWS (sizeof rows / sizeof rows[0])

static const struct sw_arch *const rows[] = {
    /* ORDER sw_machine */
    [SW_MACHINE_X64] = &sw_x64_arch,
    [SW_MACHINE_ARM64] = &sw_a64_arch,
};

const struct sw_arch *sw_arch_of(enum sw_machine machine)
{
    return (unsigned)machine < ROWS ? rows[machine] : NULL;
}

const struct sw_arch *sw_arch_of_elf(unsigned number)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (rows[i] && rows[i]->elf == number)
            return rows[i];
    return NULL;
}
