/*
 * What the library asks of Zydis and Linux's own headers, answered "no": for programs that are linked with another C
 * library than those, beside lib/no_elf. Such a program walks itself by the tables that are mapped and by known bytes
 * only.
 */
#include "arch/x64/decode.h"
#include "base/bytes.h"
#include "target/linux/pin.h"

enum sw_status sw_x64_decode(const uint8_t *bytes, size_t size, uint64_t pc, struct sw_insn *insn)
{
    (void)bytes, (void)size, (void)pc, (void)insn;
    return SW_E_UNSUPPORTED;
}

/* call rel32, which is known by its bytes. */
bool sw_x64_call_before(const uint8_t *bytes, size_t size, uint64_t after, uint64_t *target, uint64_t *slot)
{
    enum { CALL = 5 };
    *target = *slot = 0;
    if (size < CALL || bytes[size - CALL] != 0xe8)
        return false;
    *target = after + (uint64_t)sw_sign_extend(sw_load32(bytes + size - CALL + 1), 32);
    return true;
}

enum sw_status sw_os_pin_file(const char *root, const char *name, struct sw_os_pin *pin)
{
    (void)root, (void)name, (void)pin;
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_os_open_regular(const char *name, int *file)
{
    (void)name, (void)file;
    return SW_E_UNSUPPORTED;
}

void sw_os_unpin(struct sw_os_pin *pin)
{
    (void)pin;
}
