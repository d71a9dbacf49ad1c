/*
 * Compressed sections, through libelf, which gets nothing but the section: a file that is made around it here. Refuses
 * to believe a size that exceeds the file's room. Source: System V gABI, chapter 4, "Section Compression".
 */
#include "elf/internal.h"

#include <libelf.h>
#include <stdlib.h>
#include <string.h>

/* libelf's error for no memory, whose number its header keeps to itself. Source: libelf/libelfP.h, ELF_E_NOMEM. */
enum { LIBELF_NO_MEMORY = 8 };

/* No deflate stream is longer than 1,032 times its size. */
enum { RATIO_MAX = 1100 };

struct around {
    Elf64_Ehdr header;
    Elf64_Shdr sections[2];
};

/* A file of one section. */
static uint8_t *wrap(const Elf64_Shdr *section, struct sw_bytes compressed)
{
    struct around a = { .header = { .e_ident = ELFMAG "\2\1\1",
                                    .e_type = ET_DYN,
                                    .e_machine = EM_X86_64,
                                    .e_version = EV_CURRENT,
                                    .e_shoff = offsetof(struct around, sections),
                                    .e_ehsize = sizeof(Elf64_Ehdr),
                                    .e_shentsize = sizeof(Elf64_Shdr),
                                    .e_shnum = 2 } };
    a.sections[1] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
                                  .sh_flags = SHF_COMPRESSED,
                                  .sh_offset = sizeof a,
                                  .sh_size = compressed.size,
                                  .sh_addralign = section->sh_addralign };
    uint8_t *bytes = malloc(sizeof a + (size_t)compressed.size);
    if (!bytes)
        return NULL;
    memcpy(bytes, &a, sizeof a);
    memcpy(bytes + sizeof a, compressed.bytes, (size_t)compressed.size);
    return bytes;
}

static enum sw_status status_of_libelf(void)
{
    return elf_errno() == LIBELF_NO_MEMORY ? SW_E_NO_MEMORY : SW_E_MALFORMED;
}

/* libelf inflates in place, headers too. */
static enum sw_status take_inflated(Elf *over, uint8_t *to, uint64_t size)
{
    Elf_Scn *section = over ? elf_getscn(over, 1) : NULL;
    if (!section || elf_compress(section, 0, 0) != 1)
        return status_of_libelf();
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data)
        return status_of_libelf();
    if (!data->d_buf || data->d_size != size)
        return SW_E_MALFORMED;
    memcpy(to, data->d_buf, (size_t)size);
    return SW_OK;
}

static enum sw_status inflate(uint8_t *file, uint64_t file_size, uint8_t *to, uint64_t size)
{
    (void)elf_version(EV_CURRENT);
    (void)elf_errno(); /* of an earlier call */
    Elf *over = elf_memory((char *)file, (size_t)file_size);
    const enum sw_status status = take_inflated(over, to, size);
    if (over)
        (void)elf_end(over);
    return status;
}

enum sw_status sw_elf_inflate(const struct sw_elf *elf, const Elf64_Shdr *header, struct sw_bytes compressed,
                              struct sw_bytes *inflated)
{
    uint8_t *bytes;
    if (compressed.size < sizeof(Elf64_Chdr))
        return SW_E_MALFORMED;
    const uint64_t size = sw_load64(compressed.bytes + offsetof(Elf64_Chdr, ch_size));
    if (size == 0 || size / RATIO_MAX > compressed.size)
        return SW_E_MALFORMED;
    enum sw_status status = sw_elf_room(elf, size, &bytes);
    if (status != SW_OK)
        return status;
    uint8_t *file = wrap(header, compressed);
    status = file ? inflate(file, sizeof(struct around) + compressed.size, bytes, size) : SW_E_NO_MEMORY;
    free(file);
    if (status == SW_OK)
        *inflated = (struct sw_bytes){ bytes, size, 0 };
    else
        sw_elf_give_back(elf, size, bytes);
    return status;
}
