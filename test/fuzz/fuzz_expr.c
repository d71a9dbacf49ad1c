/*
 * Any bytes as a DWARF expression: it ends, reads only through the reader, and gives a status.
 */
#include "base/expr.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_low(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    if (address >= 0x10000)
        return 0;
    memset(to, (int)(address & 0x7f), size);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct sw_regs regs = { .machine = data[0] & 1 ? SW_MACHINE_ARM64 : SW_MACHINE_X64,
                            .known = UINT64_C(0x1ffffefff) };
    const struct sw_memory memory = { .read = read_low };
    const uint64_t pushed = 0x7000;
    uint64_t value = 0;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        regs.r[n] = 0x100 * n;
    const enum sw_status status =
        sw_expr_eval(data + 1, size - 1, &regs, &memory, data[0] & 2 ? &pushed : NULL, &value);
    if (status >= SW_STATUS_COUNT)
        abort();
    return 0;
}
