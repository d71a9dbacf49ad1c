/* Source: Intel SDM, volume 2, CALL and "ModR/M and SIB bytes"; Arm ARM C6.2, BL and BLR. */
#include "callsite.h"

#include "peek.h"

enum { CALL_MOST = 7 };

/* FF /2 with these operand bytes takes so many in all; 0: it is no call. */
static size_t indirect_call_size(uint8_t operand)
{
    const unsigned mode = operand >> 6, base = operand & 7;
    if ((operand >> 3 & 7) != 2)
        return 0;
    if (mode == 3)
        return 2;
    const size_t displacement = mode == 1 ? 1 : mode == 2 || base == 5 ? 4 : 0;
    return (base == 4 ? 3 : 2) + displacement;
}

bool is_behind_call(const struct sw_memory *memory, uint64_t address)
{
    uint8_t code[CALL_MOST];
    if (!peek(memory, address - CALL_MOST, code, sizeof code))
        return false;
    if (code[CALL_MOST - 5] == 0xe8)
        return true;
    for (size_t size = 2; size <= CALL_MOST; size++)
        if (code[CALL_MOST - size] == 0xff && indirect_call_size(code[CALL_MOST - size + 1]) == size)
            return true;
    return false;
}

bool is_behind_branch_with_link(const struct sw_memory *memory, uint64_t address)
{
    uint32_t code;
    return address % sizeof code == 0 && peek(memory, address - sizeof code, &code, sizeof code) &&
           ((code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000);
}
