/*
 * What the library asks of libelf, Zydis and Linux's own headers, answered "no": for programs that are linked with
 * another C library than those. Such a program walks itself by the tables that are mapped and by known bytes only.
 */
#include "elf/elf.h"
#include "arch/x64/decode.h"
#include "base/bytes.h"
#include "target/linux/pin.h"

enum sw_status sw_elf_open(const char *path, struct sw_elf **elf)
{
    (void)path;
    *elf = NULL;
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_elf_open_bytes(struct sw_bytes bytes, struct sw_elf **elf)
{
    (void)bytes;
    *elf = NULL;
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_elf_read(const char *path, enum sw_elf_what what, struct sw_bytes *bytes, uint64_t *room)
{
    (void)path, (void)what, (void)bytes, (void)room;
    return SW_E_UNSUPPORTED;
}

void sw_elf_set_room(struct sw_elf *elf, uint64_t room)
{
    (void)elf, (void)room;
}

void sw_elf_close(struct sw_elf *elf)
{
    (void)elf;
}

enum sw_machine sw_elf_machine(const struct sw_elf *elf)
{
    (void)elf;
    return SW_MACHINE_NONE;
}

bool sw_elf_segment(const struct sw_elf *elf, size_t n, struct sw_elf_segment *segment)
{
    (void)elf, (void)n, (void)segment;
    return false;
}

uint64_t sw_elf_start(const struct sw_elf *elf)
{
    (void)elf;
    return 0;
}

enum sw_status sw_elf_section(const struct sw_elf *elf, const char *name, struct sw_bytes *bytes)
{
    (void)elf, (void)name;
    *bytes = (struct sw_bytes){ 0 };
    return SW_E_NOT_FOUND;
}

enum sw_status sw_elf_symbol(struct sw_elf *elf, uint64_t address, const char **name, uint64_t *start, uint64_t *size)
{
    (void)elf, (void)address, (void)name, (void)start, (void)size;
    return SW_E_NOT_FOUND;
}

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

int sw_os_open_found(int found)
{
    (void)found;
    return -1;
}

void sw_os_unpin(struct sw_os_pin *pin)
{
    (void)pin;
}
