/*
 * Program headers as the dynamic linker shows them; notes are read where they are mapped. Source: elf(5),
 * dl_iterate_phdr(3).
 */
#include "modules.h"

#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct search {
    uint64_t address;
    struct module *module;
};

/* A GNU build id has at most 32 bytes that are kept. */
static void take_build_id(const uint8_t *at, size_t size, struct module *module)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const size_t name = (note.n_namesz + (size_t)3) & ~(size_t)3, data = (note.n_descsz + (size_t)3) & ~(size_t)3;
        if (name > size || data > size || sizeof note + name + data > size)
            return;
        const uint8_t *id = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(at + sizeof note, "GNU", 4))
            for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < MODULE_BUILD_ID; i++)
                snprintf(module->build_id + 2 * i, 3, "%02x", id[i]);
        at += sizeof note + name + data;
        size -= sizeof note + name + data;
    }
}

static bool take_segment(const struct dl_phdr_info *about, const struct search *search)
{
    for (size_t i = 0; i < about->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &about->dlpi_phdr[i];
        const uint64_t begin = about->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || search->address < begin ||
            search->address - begin >= segment->p_memsz)
            continue;
        search->module->begin = begin;
        search->module->end = begin + segment->p_memsz;
        search->module->file_offset = segment->p_offset;
        search->module->bias = about->dlpi_addr;
        return true;
    }
    return false;
}

static int look(struct dl_phdr_info *about, size_t size, void *arg)
{
    const struct search *search = arg;
    (void)size;
    if (!take_segment(about, search))
        return 0;
    snprintf(search->module->path, MODULE_PATH, "%s", about->dlpi_name);
    if (!about->dlpi_name[0]) {
        const ssize_t length = readlink("/proc/self/exe", search->module->path, MODULE_PATH - 1);
        search->module->path[length > 0 ? length : 0] = 0;
    }
    for (size_t i = 0; i < about->dlpi_phnum; i++)
        if (about->dlpi_phdr[i].p_type == PT_NOTE)
            take_build_id((const uint8_t *)(about->dlpi_addr + about->dlpi_phdr[i].p_vaddr),
                          about->dlpi_phdr[i].p_memsz, search->module);
    return 1;
}

bool module_find(uint64_t address, struct module *module)
{
    struct search search = { address, module };
    *module = (struct module){ 0 };
    return dl_iterate_phdr(look, &search) != 0;
}
