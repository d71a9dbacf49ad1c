/* Knows ELF's dynamic section and relocations of x64, as the loader left them in memory. Source: elf(5), the psABI. */
#include "imports.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct object {
    uintptr_t base;
    const ElfW(Phdr) * headers;
    size_t count;
    const ElfW(Sym) * symbols;
    const char *names;
};

struct search {
    uintptr_t within;
    const char *name;
    void (*function)(void);
    bool found;
};

static const ElfW(Phdr) * header_of(const struct object *object, ElfW(Word) type, uintptr_t address)
{
    for (size_t i = 0; i < object->count; i++) {
        const ElfW(Phdr) *at = &object->headers[i];
        if (at->p_type == type && (!address || address - object->base - at->p_vaddr < at->p_memsz))
            return at;
    }
    return NULL;
}

/* glibc has made addresses of them, other loaders have not. */
static uintptr_t value_of(const struct object *object, ElfW(Sxword) tag)
{
    const ElfW(Phdr) *dynamic = header_of(object, PT_DYNAMIC, 0);
    if (!dynamic)
        return 0;
    for (const ElfW(Dyn) *at = (const void *)(object->base + dynamic->p_vaddr); at->d_tag != DT_NULL; at++)
        if (at->d_tag == tag)
            return at->d_un.d_ptr;
    return 0;
}

static const void *table_of(const struct object *object, ElfW(Sxword) tag)
{
    const uintptr_t at = value_of(object, tag);
    return (const void *)(at && at < object->base ? object->base + at : at);
}

/* A slot that the loader has made read-only is so again afterwards. */
static bool put(const struct object *object, uintptr_t slot, void (*function)(void))
{
    const uintptr_t page = slot & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
    const bool sealed = header_of(object, PT_GNU_RELRO, slot) != NULL;
    const size_t size = slot + sizeof function - page;
    if (sealed && mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n((uintptr_t *)slot, (uintptr_t)function, __ATOMIC_SEQ_CST);
    if (sealed)
        (void)mprotect((void *)page, size, PROT_READ);
    return true;
}

static bool replace(const struct object *object, const struct search *search, ElfW(Sxword) table, ElfW(Sxword) size)
{
    const ElfW(Rela) *rows = table_of(object, table);
    const size_t count = rows ? value_of(object, size) / sizeof *rows : 0;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        const ElfW(Xword) type = ELF64_R_TYPE(rows[i].r_info);
        const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(rows[i].r_info)];
        if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) &&
            !strcmp(object->names + symbol->st_name, search->name))
            found = put(object, object->base + rows[i].r_offset, search->function) || found;
    }
    return found;
}

static int on_object(struct dl_phdr_info *about, size_t size, void *arg)
{
    struct search *search = arg;
    struct object object = { about->dlpi_addr, about->dlpi_phdr, about->dlpi_phnum, NULL, NULL };
    (void)size;
    if (!header_of(&object, PT_LOAD, search->within))
        return 0;
    object.symbols = table_of(&object, DT_SYMTAB);
    object.names = table_of(&object, DT_STRTAB);
    if (object.symbols && object.names) {
        const bool called = replace(&object, search, DT_JMPREL, DT_PLTRELSZ);
        search->found = replace(&object, search, DT_RELA, DT_RELASZ) || called;
    }
    return 1;
}

bool imports_replace(const void *within, const char *name, void (*function)(void))
{
    struct search search = { (uintptr_t)within, name, function, false };
    if (within)
        (void)dl_iterate_phdr(on_object, &search);
    return search.found;
}
