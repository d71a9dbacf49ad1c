/*
 * lib/elf's functions where there is no libelf: no file is an ELF file that could be read. So the audit of a PE image
 * works, and that of an ELF file says that it is not supported. Nothing else here asks for ELF files.
 */
#include "elf/elf.h"

#include <snapwalk/gdb_jit.h>

enum sw_status sw_elf_open_bytes(struct sw_bytes bytes, struct sw_elf **elf)
{
    (void)bytes;
    *elf = NULL;
    return SW_E_UNSUPPORTED;
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

enum sw_status sw_elf_section(const struct sw_elf *elf, const char *name, struct sw_bytes *bytes)
{
    (void)elf, (void)name;
    *bytes = (struct sw_bytes){ 0 };
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_elf_symbol(struct sw_elf *elf, uint64_t address, const char **name, uint64_t *start, uint64_t *size)
{
    (void)elf, (void)address, (void)name, (void)start, (void)size;
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_gdb_jit_find(struct sw_images *images, uint64_t *descriptor)
{
    return images && descriptor ? SW_E_NOT_FOUND : SW_E_ARGUMENT;
}
