/*
 * ELF files of sections, made of a short description: what each is called and holds, a few bytes over and over, and
 * what its header claims. Added as a file, walked into and named as a whole. Holds: what is added and asked takes time
 * and memory in proportion to the file, also where all of it is looked at by a sanitizer.
 *
 * A section is SECTION_BYTES of input: [0] its name, [1] its type, [2] how many bytes it has, [3] its flags and
 * alignment, [4] what is added to its header's size, [5] the section it links to, [6..] where its bytes begin in the
 * input, and how many are repeated.
 */
#include "code/images.h"

#include <snapwalk/limits.h>

#include <elf.h>
#include <sanitizer/allocator_interface.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SECTION_BYTES = 8, SECTIONS = 6, NAMES = 256, HEADS = 4096, ROOM = 1 << 18, ADDRESS = 0x100000, LOOK_UPS = 64 };

/* A second and 64 MiB for 1 MiB, and ten times the time for the sanitizers; what is free at first besides. */
enum { NS_A_BYTE = 10000, NS_AT_FIRST = 200000000, BYTES_A_BYTE = 64, BYTES_AT_FIRST = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static _Atomic uint64_t held, most;

static void note_malloc(const volatile void *block, size_t size)
{
    (void)block;
    const uint64_t now = atomic_fetch_add(&held, size) + size;
    if (now > atomic_load(&most))
        atomic_store(&most, now);
}

static void note_free(const volatile void *block)
{
    if (block)
        atomic_fetch_sub(&held, __sanitizer_get_allocated_size(block));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    if (!__sanitizer_install_malloc_and_free_hooks(note_malloc, note_free))
        abort();
    return 0;
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

static const char *const names[] = { ".eh_frame", ".eh_frame_hdr",  ".debug_frame", ".symtab",
                                     ".strtab",   ".gnu_debugdata", ".dynamic",     ".text" };
static const uint32_t types[] = { SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_DYNSYM, SHT_NOBITS, SHT_NULL };
enum { KINDS = sizeof names / sizeof names[0], TYPES = sizeof types / sizeof types[0] };

struct file {
    uint8_t bytes[ROOM];
    size_t size;
    Elf64_Shdr sections[SECTIONS + 2];
    unsigned count;
};

/* A byte of 2^n or of little less. */
static size_t length_of(uint8_t byte)
{
    const size_t power = (size_t)1 << byte % 17;
    return power - power / 16 * (byte / 17 % 16);
}

static void add_section(struct file *f, const uint8_t *data, size_t size, const uint8_t *row)
{
    const size_t from = row[6] * 4u % size, step = 1 + row[7] % (size - from);
    const size_t wanted = length_of(row[2]), room = ROOM - f->size, length = wanted < room ? wanted : room;
    const bool is_compressed = (row[3] & 3) == 3;
    f->sections[f->count++] = (Elf64_Shdr){ .sh_name = 1 + 16u * (row[0] % KINDS),
                                            .sh_type = types[row[1] % TYPES],
                                            .sh_flags = is_compressed ? SHF_COMPRESSED : 0,
                                            .sh_addr = ADDRESS + f->size,
                                            .sh_offset = f->size,
                                            .sh_size = length + (row[4] < 240 ? 0 : row[4]),
                                            .sh_link = row[5] % (SECTIONS + 2),
                                            .sh_addralign = 1u << row[3] % 5 };
    for (size_t i = 0; i < length; i++)
        f->bytes[f->size + i] = data[from + i % step];
    f->size += (length + 7) & ~(size_t)7;
    f->size = f->size < ROOM ? f->size : ROOM;
}

static void make(struct file *f, const uint8_t *data, size_t size)
{
    enum { NAMES_AT = 512, SEGMENTS_AT = 1024, SECTIONS_AT = 2048 };
    const unsigned segments = 1 + data[0] % 16;
    memset(f, 0, sizeof *f);
    f->size = HEADS;
    f->count = 1;
    for (size_t at = 1; at + SECTION_BYTES <= size && f->count <= SECTIONS; at += SECTION_BYTES)
        add_section(f, data, size, data + at);
    for (unsigned i = 0; i < KINDS; i++)
        memcpy(f->bytes + NAMES_AT + 1 + 16 * i, names[i], strlen(names[i]));
    f->sections[f->count] =
        (Elf64_Shdr){ .sh_name = 0, .sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = NAMES };
    const Elf64_Ehdr header = { .e_ident = ELFMAG "\2\1\1",
                                .e_type = data[0] & 32 ? ET_EXEC : ET_DYN,
                                .e_machine = data[0] & 64 ? EM_AARCH64 : EM_X86_64,
                                .e_version = EV_CURRENT,
                                .e_entry = ADDRESS,
                                .e_phoff = SEGMENTS_AT,
                                .e_shoff = SECTIONS_AT,
                                .e_ehsize = sizeof(Elf64_Ehdr),
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = (uint16_t)segments,
                                .e_shentsize = sizeof(Elf64_Shdr),
                                .e_shnum = (uint16_t)(f->count + 1),
                                .e_shstrndx = (uint16_t)f->count };
    memcpy(f->bytes, &header, sizeof header);
    memcpy(f->bytes + SECTIONS_AT, f->sections, (f->count + 1) * sizeof *f->sections);
    for (unsigned i = 0; i < segments; i++) {
        const bool is_dynamic = i > 0 && (data[0] & 128);
        const Elf64_Phdr segment = {
            is_dynamic ? PT_DYNAMIC : PT_LOAD, PF_R | PF_X, 0, ADDRESS, ADDRESS, f->size, f->size, 4096
        };
        memcpy(f->bytes + SEGMENTS_AT + i * sizeof segment, &segment, sizeof segment);
    }
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void ask(struct sw_images *images, uint64_t size)
{
    static struct sw_cfi_work work;
    const struct sw_image_entry *entry = sw_images_entry(images, ADDRESS);
    struct sw_rule rule;
    char name[64];
    for (uint64_t i = 0; entry && i < LOOK_UPS; i++) {
        const uint64_t address = ADDRESS + i * (size / LOOK_UPS);
        if (entry->has_cfi && sw_cfi_rule(&entry->cfi, address, &work, &rule, NULL) == SW_OK)
            must(rule.source == SW_SOURCE_CFI);
        if (sw_images_name(images, address, name, sizeof name, NULL) == SW_OK)
            must(strlen(name) < sizeof name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct file f;
    struct sw_images *images;
    char path[40];
    if (size < 1 + SECTION_BYTES)
        return 0;
    make(&f, data, size);
    const int fd = memfd_create("elf", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, f.bytes, f.size) == (ssize_t)f.size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const uint64_t before = atomic_load(&held), begin = now();
    atomic_store(&most, before);
    must(sw_images_create(NULL, &images) == SW_OK);
    if (sw_images_add_file(images, path, ADDRESS) == SW_OK)
        ask(images, f.size);
    sw_images_destroy(images);
    must(now() - begin <= NS_AT_FIRST + NS_A_BYTE * (uint64_t)f.size);
    must(atomic_load(&most) - before <= BYTES_AT_FIRST + BYTES_A_BYTE * (uint64_t)f.size);
    close(fd);
    return 0;
}
