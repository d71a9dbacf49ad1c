/*
 * jit_object OBJECT: loads a relocatable object twice, as a JIT compiler does, registers both for gdb, and calls the
 * jit_outer of one, which calls back from a depth of two; there it says "ready" and waits.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct jit_code_entry {
    struct jit_code_entry *next, *prev;
    const char *symfile_addr;
    uint64_t symfile_size;
};
struct jit_descriptor {
    uint32_t version, action_flag;
    struct jit_code_entry *relevant_entry, *first_entry;
};
extern struct jit_descriptor __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = { 1, 0, 0, 0 };
void __jit_debug_register_code(void);
__attribute__((noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

static int wait_here(int value)
{
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
    return value;
}

static char *read_object(const char *path, uint64_t *size)
{
    struct stat st;
    const int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &st) != 0)
        exit(1);
    char *bytes = malloc((size_t)st.st_size);
    *size = (uint64_t)st.st_size;
    if (read(file, bytes, (size_t)st.st_size) != st.st_size)
        exit(1);
    return bytes;
}

/* Copies what is allocated to executable memory, and writes into the section headers where it is. */
static char *load(char *bytes)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
    Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + header->e_shoff);
    char *memory = mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
         *at = memory;
    for (unsigned n = 1; n < header->e_shnum; n++)
        if ((sections[n].sh_flags & SHF_ALLOC) && sections[n].sh_size) {
            at += -(uintptr_t)at % 64;
            memcpy(at, bytes + sections[n].sh_offset, sections[n].sh_size);
            sections[n].sh_addr = (uintptr_t)at;
            at += sections[n].sh_size;
        }
    return bytes;
}

static void *find(const char *bytes, const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
    for (unsigned n = 1; n < header->e_shnum; n++) {
        const Elf64_Sym *symbols = (const Elf64_Sym *)(bytes + sections[n].sh_offset);
        const char *names = bytes + sections[sections[n].sh_link].sh_offset;
        for (size_t i = 0; sections[n].sh_type == SHT_SYMTAB && i < sections[n].sh_size / sizeof *symbols; i++)
            if (strcmp(names + symbols[i].st_name, name) == 0)
                return (void *)(uintptr_t)(sections[symbols[i].st_shndx].sh_addr + symbols[i].st_value);
    }
    exit(1);
}

int main(int argc, char **argv)
{
    static struct jit_code_entry entries[2];
    if (argc != 2)
        return 1;
    for (int i = 0; i < 2; i++) {
        uint64_t size;
        entries[i].symfile_addr = load(read_object(argv[1], &size));
        entries[i].symfile_size = size;
        entries[i].next = __jit_debug_descriptor.first_entry;
        __jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = &entries[i];
        __jit_debug_descriptor.action_flag = 1;
        __jit_debug_register_code();
    }
    int (*outer)(int (*)(int), int);
    *(void **)&outer = find(entries[1].symfile_addr, "jit_outer");
    return outer(wait_here, 3);
}
