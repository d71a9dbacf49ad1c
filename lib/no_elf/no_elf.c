/*
 * lib/elf's functions where there is no libelf, on Windows and in a minimal build: no file is an ELF file that could be
 * read. Unwind tables of this process are read where they are mapped, all the same.
 */
#include "elf/elf.h"

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

enum sw_status sw_elf_open(const char *path, struct sw_elf **elf)
{
    (void)path;
    *elf = NULL;
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_elf_open_file(int fd, struct sw_elf **elf)
{
    (void)fd;
    *elf = NULL;
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_elf_open_names(const char *path, struct sw_elf **elf)
{
    return sw_elf_open(path, elf);
}

enum sw_status sw_elf_read(const char *path, enum sw_elf_what what, struct sw_bytes *bytes, uint64_t *room)
{
    (void)path, (void)what;
    *bytes = (struct sw_bytes){ 0 };
    *room = 0;
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_elf_open_stored(struct sw_bytes bytes, const struct sw_store *store, struct sw_elf **elf)
{
    (void)store;
    return sw_elf_open_bytes(bytes, elf);
}

void sw_elf_populate(uint8_t *begin, uint64_t size)
{
    (void)begin, (void)size;
}

bool sw_elf_is_stored(int fd, uint64_t size, uint64_t *room)
{
    (void)fd, (void)size;
    if (room)
        *room = 0;
    return true;
}

void sw_elf_set_room(struct sw_elf *elf, uint64_t room)
{
    (void)elf, (void)room;
}

uint64_t sw_elf_start(const struct sw_elf *elf, bool is_first)
{
    (void)elf, (void)is_first;
    return 0;
}

enum sw_status sw_elf_load_symbols(struct sw_elf *elf)
{
    (void)elf;
    return SW_E_UNSUPPORTED;
}

enum sw_status sw_elf_find(const struct sw_elf *elf, const char *name, uint64_t *address)
{
    (void)elf, (void)name, (void)address;
    return SW_E_UNSUPPORTED;
}
