/*
 * ELF files: this program and its C library as they are loaded, the same cut off and stripped, and small images made
 * here with lying headers, symbols of every kind and a compressed section.
 */
#include "../support/bytes.h"
#include "rows.h"
#include "host.h"

#include "elf/elf.h"

#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- real files ---- */

/* One loaded ELF file: where it is, and where its .eh_frame_hdr is mapped. */
struct loaded {
    const char *wanted; /* a part of the path; "" is the program */
    char path[256];
    uint64_t bias;
    const uint8_t *header;
    size_t header_size;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct loaded *l = arg;
    if (*l->wanted ? !strstr(info->dlpi_name, l->wanted) : *info->dlpi_name)
        return 0;
    snprintf(l->path, sizeof l->path, "%s", *l->wanted ? info->dlpi_name : "/proc/self/exe");
    l->bias = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
            l->header = (const uint8_t *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            l->header_size = info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static struct loaded find_loaded(const char *wanted)
{
    struct loaded l = { .wanted = wanted };
    assert_int_equal(dl_iterate_phdr(look, &l), 1);
    return l;
}

static void check_same_as_in_memory(const struct loaded *l)
{
    struct sw_elf *elf;
    struct sw_bytes bytes;
    assert_int_equal(sw_elf_open(l->path, &elf), SW_OK);
    assert_int_equal(sw_elf_section(elf, ".eh_frame_hdr", &bytes), SW_OK);
    assert_int_equal(bytes.size, l->header_size);
    assert_ptr_equal((const uint8_t *)(uintptr_t)(bytes.address + l->bias), l->header);
    assert_memory_equal(bytes.bytes, l->header, l->header_size);
    assert_int_equal(sw_elf_section(elf, ".eh_frame", &bytes), SW_OK);
    assert_memory_equal(bytes.bytes, (const uint8_t *)(uintptr_t)(bytes.address + l->bias), bytes.size);
    assert_int_equal(sw_elf_section(elf, ".no_such_section", &bytes), SW_E_NOT_FOUND);
    assert_int_equal(bytes.size, 0);
    sw_elf_close(elf);
}

/* The same names, and nothing that unwinds. */
static void a_file_opened_for_its_names_has_no_tables(void **state)
{
    const struct loaded l = find_loaded("libc.so");
    struct sw_elf *whole, *names;
    struct sw_bytes bytes;
    const char *of_whole, *of_names;
    uint64_t begin[2], size[2], found = 0;
    (void)state;
    assert_int_equal(sw_elf_open(l.path, &whole), SW_OK);
    assert_int_equal(sw_elf_open_names(l.path, &names), SW_OK);
    assert_int_equal(sw_elf_section(names, ".eh_frame", &bytes), SW_OK);
    for (uint64_t i = 0; i < bytes.size; i++)
        assert_int_equal(bytes.bytes[i], 0);
    assert_int_equal(sw_elf_load_symbols(whole), SW_OK);
    assert_int_equal(sw_elf_load_symbols(names), SW_OK);
    for (uint64_t address = 0; address < 1 << 21; address += 256) {
        const enum sw_status status = sw_elf_symbol(whole, address, &of_whole, &begin[0], &size[0]);
        assert_int_equal(sw_elf_symbol(names, address, &of_names, &begin[1], &size[1]), status);
        if (status != SW_OK)
            continue;
        found++;
        assert_string_equal(of_whole, of_names);
        assert_true(begin[0] == begin[1] && size[0] == size[1]);
    }
    assert_true(found > 100);
    sw_elf_close(names);
    sw_elf_close(whole);
}

static void sections_of_libc_are_those_in_memory(void **state)
{
    (void)state;
    const struct loaded l = find_loaded("libc.so");
    check_same_as_in_memory(&l);
}

static void sections_of_this_program_are_those_in_memory(void **state)
{
    (void)state;
    const struct loaded l = find_loaded("");
    check_same_as_in_memory(&l);
}

static void function_of_this_program_has_its_name(void **state)
{
    (void)state;
    struct sw_elf *elf;
    const char *name;
    uint64_t start, size;
    const struct loaded l = find_loaded("");
    const uint64_t begin = (uint64_t)(uintptr_t)function_of_this_program_has_its_name - l.bias;
    assert_int_equal(sw_elf_open(l.path, &elf), SW_OK);
    for (uint64_t at = begin; at < begin + 8; at++) {
        assert_int_equal(sw_elf_symbol(elf, at, &name, &start, &size), SW_OK);
        assert_string_equal(name, "function_of_this_program_has_its_name");
        assert_int_equal(start, begin);
        assert_true(size > 8);
    }
    sw_elf_close(elf);
}

static void function_of_libc_has_its_name(void **state)
{
    (void)state;
    struct sw_elf *elf;
    const char *name;
    const struct loaded l = find_loaded("libc.so");
    uint64_t start;
    assert_int_equal(sw_elf_open(l.path, &elf), SW_OK);
    assert_int_equal(sw_elf_symbol(elf, (uint64_t)(uintptr_t)gnu_get_libc_version - l.bias + 1, &name, &start, NULL),
                     SW_OK);
    assert_string_equal(name, "gnu_get_libc_version");
    assert_int_equal(start + l.bias, (uint64_t)(uintptr_t)gnu_get_libc_version);
    sw_elf_close(elf);
}

static void code_of_this_program_is_in_an_executable_segment(void **state)
{
    (void)state;
    struct sw_elf *elf;
    struct sw_elf_segment s;
    const struct loaded l = find_loaded("");
    const uint64_t here = (uint64_t)(uintptr_t)code_of_this_program_is_in_an_executable_segment - l.bias;
    unsigned found = 0;
    size_t n = 0;
    assert_int_equal(sw_elf_open(l.path, &elf), SW_OK);
    assert_int_equal(sw_elf_machine(elf), sizeof(void *) == 8 ? host_machine() : SW_MACHINE_NONE);
    for (; sw_elf_segment(elf, n, &s); n++)
        found += s.executable && here >= s.address && here - s.address < s.size;
    assert_int_equal(found, 1);
    assert_true(n > 1);
    assert_false(sw_elf_segment(elf, n, &s));
    assert_false(sw_elf_segment(elf, SIZE_MAX, &s));
    sw_elf_close(elf);
}

static void without_section_headers_the_segments_lead_to_the_same(void **state)
{
    (void)state;
    size_t size;
    struct sw_elf *whole, *bare;
    struct sw_bytes a, b;
    uint8_t *bytes = read_whole(find_loaded("libc.so").path, &size);
    assert_int_equal(sw_elf_open(find_loaded("libc.so").path, &whole), SW_OK);
    Elf64_Ehdr *ehdr = (Elf64_Ehdr *)bytes;
    ehdr->e_shoff = ehdr->e_shnum = ehdr->e_shstrndx = 0;
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ bytes, size, 0 }, &bare), SW_OK);
    assert_int_equal(sw_elf_section(whole, ".eh_frame_hdr", &a), SW_OK);
    assert_int_equal(sw_elf_section(bare, ".eh_frame_hdr", &b), SW_OK);
    assert_int_equal(a.address, b.address);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    assert_int_equal(sw_elf_section(whole, ".eh_frame", &a), SW_OK);
    assert_int_equal(sw_elf_section(bare, ".eh_frame", &b), SW_OK);
    assert_int_equal(a.address, b.address);
    assert_true(a.size <= b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    assert_int_equal(sw_elf_section(bare, ".debug_frame", &b), SW_E_NOT_FOUND);
    sw_elf_close(whole);
    sw_elf_close(bare);
    free(bytes);
}

/* Reads all that a file gives, so that ASan sees what is not there. */
static void ask_everything(struct sw_elf *elf)
{
    static const char *const names[] = { ".eh_frame", ".eh_frame_hdr", ".debug_frame" };
    struct sw_elf_segment s;
    struct sw_bytes bytes;
    const char *name;
    uint64_t start, size, sum = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (sw_elf_section(elf, names[i], &bytes) == SW_OK)
            for (uint64_t at = 0; at < bytes.size; at += 97)
                sum += bytes.bytes[at] + bytes.bytes[bytes.size - 1];
    for (size_t n = 0; sw_elf_segment(elf, n, &s); n++)
        if (sw_elf_symbol(elf, s.address + s.size / 2, &name, &start, &size) == SW_OK)
            sum += strlen(name);
    assert_true(sum != 1);
}

static void cut_off_anywhere_is_harmless(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = read_whole(find_loaded("libc.so").path, &size);
    unsigned opened = 0;
    for (size_t cut = 0; cut < size; cut += cut < 1200 ? 1 : size / 61) {
        struct sw_elf *elf;
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        const enum sw_status status = sw_elf_open_bytes((struct sw_bytes){ copy, cut, 0 }, &elf);
        assert_true(status == (cut < sizeof(Elf64_Ehdr) ? SW_E_TRUNCATED : SW_OK) || status == SW_E_MALFORMED);
        if (status == SW_OK) {
            opened++;
            ask_everything(elf);
            sw_elf_close(elf);
        }
        free(copy);
    }
    assert_true(opened > 50);
    free(bytes);
}

static void what_is_no_elf_file_is_refused(void **state)
{
    (void)state;
    struct sw_elf *elf = (struct sw_elf *)(uintptr_t)1;
    assert_int_equal(sw_elf_open(NULL, &elf), SW_E_ARGUMENT);
    assert_int_equal(sw_elf_open("/proc/self/exe", NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_elf_open("/no/such/file", &elf), SW_E_OS);
    assert_null(elf);
    assert_int_equal(sw_elf_open("/", &elf), SW_E_UNSUPPORTED);
    assert_int_equal(sw_elf_open("/dev/zero", &elf), SW_E_UNSUPPORTED);
    assert_int_equal(sw_elf_open("/proc/self/status", &elf), SW_E_TRUNCATED);
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ 0 }, &elf), SW_E_TRUNCATED);
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ NULL, 100, 0 }, &elf), SW_E_ARGUMENT);
    sw_elf_close(NULL);
}

/* ---- images made here ---- */

enum { ADDRESS = 0x400000, CODE_SIZE = 0x1000, SECTIONS = 6, FILE_SIZE = 4096 };

/* Header, one executable segment, and the sections: none, names, symbols, their names, .debug_frame, one of code. */
struct image {
    _Alignas(Elf64_Ehdr) uint8_t bytes[FILE_SIZE];
    size_t used;
};

static Elf64_Ehdr *elf_header(struct image *m)
{
    return (Elf64_Ehdr *)(void *)m->bytes;
}

static Elf64_Shdr *section_header(struct image *m, unsigned n)
{
    return (Elf64_Shdr *)(m->bytes + elf_header(m)->e_shoff) + n;
}

static Elf64_Phdr *program_header(struct image *m)
{
    return (Elf64_Phdr *)(m->bytes + elf_header(m)->e_phoff);
}

/* Kept out of line: gcc mistakes the bytes behind the header for a part of it. */
__attribute__((noinline)) static void add_section(struct image *m, unsigned n, uint32_t name, uint32_t type,
                                                  const void *bytes, size_t size)
{
    Elf64_Shdr *s = section_header(m, n);
    s->sh_name = name;
    s->sh_type = type;
    s->sh_offset = m->used;
    s->sh_size = size;
    memcpy(m->bytes + m->used, bytes, size);
    m->used = (m->used + size + 7) & ~(size_t)7;
}

#define SYMBOL(name, type, bind, value, size)                                                                          \
    {                                                                                                                  \
        name, ELF64_ST_INFO(bind, type), 0, 1, ADDRESS + value, size                                                   \
    }
static const char symbol_names[] = "\0outer\0inner\0alias\0label\0$x\0data\0last\0after\0stub\0__tail";
static const Elf64_Sym symbols[] = {
    { 0 },
    SYMBOL(25, STT_NOTYPE, STB_LOCAL, 0x120, 0),     /* "$x" inside of outer */
    SYMBOL(13, STT_FUNC, STB_LOCAL, 0x100, 0x100),   /* alias of outer, local */
    SYMBOL(1, STT_FUNC, STB_GLOBAL, 0x100, 0x100),   /* outer */
    SYMBOL(7, STT_FUNC, STB_LOCAL, 0x140, 0x10),     /* inner, inside of outer */
    SYMBOL(19, STT_NOTYPE, STB_GLOBAL, 0x300, 0),    /* label: ends where the next begins */
    SYMBOL(19, STT_NOTYPE, STB_GLOBAL, 0x1f0, 0),    /* a label inside of outer, which names no function */
    SYMBOL(19, STT_NOTYPE, STB_GLOBAL, 0x200, 0),    /* and one right behind it */
    SYMBOL(28, STT_OBJECT, STB_GLOBAL, 0x310, 0x10), /* data: names no code */
    SYMBOL(33, STT_FUNC, STB_GLOBAL, 0x400, 0x20),   /* last */
    SYMBOL(38, STT_FUNC, STB_GLOBAL, 0x2000, 0x20),  /* after: outside of the code */
    SYMBOL(44, STT_FUNC, STB_LOCAL, 0x600, 0),       /* stub: ends with its section */
    SYMBOL(49, STT_FUNC, STB_LOCAL, 0x440, 0x10),    /* __tail, */
    SYMBOL(51, STT_FUNC, STB_LOCAL, 0x440, 0x10),    /* and tail: the end of the same text */
    SYMBOL(9999, STT_FUNC, STB_GLOBAL, 0x500, 0x20), /* its name is nowhere */
};

static const char section_names[] = "\0.names\0.symtab\0.strtab\0.debug_frame";

/* zlib's form of 10 bytes in one stored block, behind ELF's header of a compressed section. */
static const uint8_t packed[] = {
    1, 0,    0,    0,    0,  0, 0,    0,    10,  0,   0,   0,   0,   0,   0,   0,   1,   0,   0,    0,    0,    0,    0,
    0, 0x78, 0x01, 0x01, 10, 0, 0xf5, 0xff, 's', 'n', 'a', 'p', 'w', 'a', 'l', 'k', '-', '1', 0x16, 0xa9, 0x03, 0xc0,
};

static void make_image(struct image *m)
{
    memset(m, 0, sizeof *m);
    memcpy(elf_header(m)->e_ident, ELFMAG "\2\1\1", 7);
    elf_header(m)->e_type = ET_DYN;
    elf_header(m)->e_machine = EM_X86_64;
    elf_header(m)->e_version = EV_CURRENT;
    elf_header(m)->e_ehsize = sizeof *elf_header(m);
    elf_header(m)->e_phoff = sizeof *elf_header(m);
    elf_header(m)->e_phentsize = sizeof(Elf64_Phdr);
    elf_header(m)->e_phnum = 1;
    elf_header(m)->e_shoff = elf_header(m)->e_phoff + sizeof(Elf64_Phdr);
    elf_header(m)->e_shentsize = sizeof(Elf64_Shdr);
    elf_header(m)->e_shnum = SECTIONS;
    elf_header(m)->e_shstrndx = 1;
    *program_header(m) = (Elf64_Phdr){ PT_LOAD, PF_R | PF_X, 0, ADDRESS, ADDRESS, FILE_SIZE, CODE_SIZE, 4096 };
    m->used = elf_header(m)->e_shoff + SECTIONS * sizeof(Elf64_Shdr);
    add_section(m, 1, 1, SHT_STRTAB, section_names, sizeof section_names);
    add_section(m, 2, 8, SHT_SYMTAB, symbols, sizeof symbols);
    section_header(m, 2)->sh_link = 3;
    section_header(m, 2)->sh_entsize = sizeof(Elf64_Sym);
    add_section(m, 3, 16, SHT_STRTAB, symbol_names, sizeof symbol_names);
    add_section(m, 4, 24, SHT_PROGBITS, packed, sizeof packed);
    section_header(m, 4)->sh_flags = SHF_COMPRESSED;
    section_header(m, 4)->sh_addralign = 1;
    *section_header(m, 5) = (Elf64_Shdr){
        .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = ADDRESS + 0x600, .sh_size = 0x80
    };
}

static struct sw_elf *open_image(const struct image *m)
{
    struct sw_elf *elf = NULL;
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ m->bytes, sizeof m->bytes, 0 }, &elf), SW_OK);
    return elf;
}

static const struct symbol_row {
    const char *name;
    uint64_t at;
    const char *expected; /* null: nothing is there */
    uint64_t start;
    uint64_t size;
} symbol_rows[] = {
    { "symbol_before_the_first", 0xff, NULL, 0, 0 },
    { "symbol_global_goes_before_local", 0x100, "outer", 0x100, 0x100 },
    { "symbol_of_mapping_is_none", 0x120, "outer", 0x100, 0x100 },
    { "symbol_inside_another", 0x140, "inner", 0x140, 0x10 },
    { "symbol_inside_another_ends", 0x150, "outer", 0x100, 0x100 },
    { "symbol_contains_its_last_byte", 0x1ff, "outer", 0x100, 0x100 },
    { "symbol_without_size_inside_another", 0x1f0, "outer", 0x100, 0x100 },
    { "symbol_without_size_behind_another", 0x200, "label", 0x200, 0 },
    { "symbol_ends", 0x420, NULL, 0, 0 },
    { "symbol_without_size", 0x300, "label", 0x300, 0 },
    { "symbol_without_size_reaches_to_the_next", 0x3ff, "label", 0x300, 0 },
    { "symbol_last", 0x41f, "last", 0x400, 0x20 },
    { "symbol_of_fewest_underscores", 0x44f, "tail", 0x440, 0x10 },
    { "symbol_without_size_in_a_section", 0x67f, "stub", 0x600, 0 },
    { "symbol_without_size_ends_with_its_section", 0x680, NULL, 0, 0 },
    { "symbol_without_name", 0x500, NULL, 0, 0 },
    { "symbol_outside_of_code", 0x2000, NULL, 0, 0 },
};

static void symbol_is(void **state)
{
    const struct symbol_row *row = *state;
    struct image m;
    const char *name;
    uint64_t start, size;
    make_image(&m);
    struct sw_elf *elf = open_image(&m);
    const enum sw_status status = sw_elf_symbol(elf, ADDRESS + row->at, &name, &start, &size);
    assert_int_equal(status, row->expected ? SW_OK : SW_E_NOT_FOUND);
    if (row->expected) {
        assert_string_equal(name, row->expected);
        assert_int_equal(start, ADDRESS + row->start);
        assert_int_equal(size, row->size);
    }
    sw_elf_close(elf);
}

static void compressed_debug_frame_is_inflated(void **state)
{
    (void)state;
    struct image m;
    struct image before;
    struct sw_bytes bytes, again;
    make_image(&m);
    before = m;
    struct sw_elf *elf = open_image(&m);
    assert_int_equal(sw_elf_section(elf, ".debug_frame", &bytes), SW_OK);
    assert_int_equal(bytes.size, 10);
    assert_memory_equal(bytes.bytes, "snapwalk-1", 10);
    assert_int_equal(sw_elf_section(elf, ".debug_frame", &again), SW_OK);
    assert_ptr_equal(again.bytes, bytes.bytes);
    assert_memory_equal(&m, &before, sizeof m);
    sw_elf_close(elf);
}

static void compressed_section_that_lies_is_malformed(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 0, 11, 100000, UINT64_C(1) << 40, UINT64_MAX };
    for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
        struct image m;
        struct sw_bytes bytes;
        make_image(&m);
        memcpy(m.bytes + section_header(&m, 4)->sh_offset + 8, &sizes[i], 8);
        struct sw_elf *elf = open_image(&m);
        assert_int_equal(sw_elf_section(elf, ".debug_frame", &bytes), SW_E_MALFORMED);
        sw_elf_close(elf);
    }
}

static void section_outside_of_the_file_is_malformed(void **state)
{
    (void)state;
    static const uint64_t offsets[] = { FILE_SIZE - 1, FILE_SIZE, UINT64_MAX - 3, UINT64_C(1) << 63 };
    for (unsigned i = 0; i < COUNT_OF(offsets); i++) {
        struct image m;
        struct sw_bytes bytes;
        make_image(&m);
        section_header(&m, 4)->sh_flags = 0;
        section_header(&m, 4)->sh_offset = offsets[i];
        struct sw_elf *elf = open_image(&m);
        assert_int_equal(sw_elf_section(elf, ".debug_frame", &bytes), SW_E_MALFORMED);
        sw_elf_close(elf);
    }
}

/* A field of a header, and what a lie in it leads to. */
static const struct lie {
    const char *name;
    size_t at; /* in the file */
    uint64_t value;
    size_t size;
    enum sw_status open;
    enum sw_status frame;  /* .debug_frame */
    enum sw_status symbol; /* at 0x100 */
} lies[] = {
#define EHDR(field)    offsetof(Elf64_Ehdr, field)
#define PHDR(field)    sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, field)
#define SHDR(n, field) sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + n * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, field)
#define CLOSED(status) status, 0, 0
    { "lie_nowhere", EHDR(e_flags), 0, 4, SW_OK, SW_OK, SW_OK },
    { "lie_of_magic", EHDR(e_ident), 0x7f, 2, CLOSED(SW_E_MALFORMED) },
    { "lie_of_class", EI_CLASS, 1, 1, CLOSED(SW_E_UNSUPPORTED) },
    { "lie_of_byte_order", EI_DATA, 2, 1, CLOSED(SW_E_UNSUPPORTED) },
    { "lie_of_version", EI_VERSION, 9, 1, CLOSED(SW_E_UNSUPPORTED) },
    { "lie_of_machine", EHDR(e_machine), EM_386, 2, CLOSED(SW_E_UNSUPPORTED) },
    { "lie_of_program_headers_place", EHDR(e_phoff), UINT64_MAX - 8, 8, CLOSED(SW_E_MALFORMED) },
    { "lie_of_section_headers_place", EHDR(e_shoff), UINT64_MAX - 64, 8, SW_OK, SW_E_NOT_FOUND, SW_E_NOT_FOUND },
    { "lie_of_section_headers_number", EHDR(e_shnum), 0xfeff, 2, SW_OK, SW_E_NOT_FOUND, SW_E_NOT_FOUND },
    { "lie_of_names_section", EHDR(e_shstrndx), 77, 2, SW_OK, SW_E_NOT_FOUND, SW_OK },
    { "lie_of_names_place", SHDR(1, sh_offset), UINT64_MAX, 8, SW_OK, SW_E_NOT_FOUND, SW_OK },
    { "lie_of_names_size", SHDR(1, sh_size), UINT64_MAX, 8, SW_OK, SW_E_NOT_FOUND, SW_OK },
    { "lie_of_a_name", SHDR(4, sh_name), UINT32_MAX, 4, SW_OK, SW_E_NOT_FOUND, SW_OK },
    { "lie_of_nobits", SHDR(4, sh_type), SHT_NOBITS, 4, SW_OK, SW_E_NOT_FOUND, SW_OK },
    { "lie_of_compression", SHDR(4, sh_flags), 0, 8, SW_OK, SW_OK, SW_OK },
    { "lie_of_compressed_size", SHDR(4, sh_size), 23, 8, SW_OK, SW_E_MALFORMED, SW_OK },
    { "lie_of_symbols_place", SHDR(2, sh_offset), UINT64_MAX - 1, 8, SW_OK, SW_OK, SW_E_NOT_FOUND },
    { "lie_of_symbols_size", SHDR(2, sh_size), UINT64_MAX, 8, SW_OK, SW_OK, SW_E_NOT_FOUND },
    { "lie_of_symbol_names_section", SHDR(2, sh_link), 99, 4, SW_OK, SW_OK, SW_E_NOT_FOUND },
    { "lie_of_symbol_names_size", SHDR(3, sh_size), 5, 8, SW_OK, SW_OK, SW_E_NOT_FOUND },
    { "lie_of_segment_size_in_file", PHDR(p_filesz), UINT64_MAX, 8, SW_OK, SW_OK, SW_E_NOT_FOUND },
    { "lie_of_segment_size", PHDR(p_memsz), UINT64_MAX, 8, SW_OK, SW_OK, SW_E_NOT_FOUND },
    { "lie_of_segment_place", PHDR(p_offset), UINT64_MAX, 8, SW_OK, SW_OK, SW_OK },
};

static void lie_leads_to(void **state)
{
    const struct lie *lie = *state;
    struct image m;
    struct sw_elf *elf;
    struct sw_bytes bytes;
    const char *name;
    make_image(&m);
    memcpy(m.bytes + lie->at, &lie->value, lie->size);
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ m.bytes, sizeof m.bytes, 0 }, &elf), lie->open);
    if (lie->open != SW_OK) {
        assert_null(elf);
        return;
    }
    ask_everything(elf);
    assert_int_equal(sw_elf_section(elf, ".debug_frame", &bytes), lie->frame);
    assert_int_equal(sw_elf_symbol(elf, ADDRESS + 0x100, &name, NULL, NULL), lie->symbol);
    sw_elf_close(elf);
}

static void segment_ends_with_the_file(void **state)
{
    (void)state;
    struct image m;
    struct sw_elf_segment s;
    make_image(&m);
    program_header(&m)->p_offset = FILE_SIZE - 100;
    struct sw_elf *elf = open_image(&m);
    assert_true(sw_elf_segment(elf, 0, &s));
    assert_int_equal(s.file_size, 100);
    assert_int_equal(s.size, CODE_SIZE);
    assert_true(s.executable);
    sw_elf_close(elf);
}

/* What a linker writes beside the section .sframe; the only way to it in files without section headers. */
static void sframe_is_where_its_segment_says(void **state)
{
    (void)state;
    struct image m;
    struct sw_bytes bytes;
    make_image(&m);
    elf_header(&m)->e_shoff = elf_header(&m)->e_shnum = elf_header(&m)->e_shstrndx = 0;
    struct sw_elf *elf = open_image(&m);
    assert_int_equal(sw_elf_section(elf, ".sframe", &bytes), SW_E_NOT_FOUND);
    sw_elf_close(elf);

    elf_header(&m)->e_phnum = 2;
    program_header(&m)[1] = (Elf64_Phdr){ 0x6474e554, PF_R, 600, ADDRESS + 600, ADDRESS + 600, 40, 40, 8 };
    elf = open_image(&m);
    assert_int_equal(sw_elf_section(elf, ".sframe", &bytes), SW_OK);
    assert_true(bytes.bytes == m.bytes + 600 && bytes.size == 40 && bytes.address == ADDRESS + 600);
    sw_elf_close(elf);

    program_header(&m)[1].p_offset = FILE_SIZE;
    elf = open_image(&m);
    assert_int_equal(sw_elf_section(elf, ".sframe", &bytes), SW_E_NOT_FOUND);
    sw_elf_close(elf);
}

static const struct CMUnitTest single[] = {
    cmocka_unit_test(a_file_opened_for_its_names_has_no_tables),
    cmocka_unit_test(sections_of_libc_are_those_in_memory),
    cmocka_unit_test(sections_of_this_program_are_those_in_memory),
    cmocka_unit_test(function_of_this_program_has_its_name),
    cmocka_unit_test(function_of_libc_has_its_name),
    cmocka_unit_test(code_of_this_program_is_in_an_executable_segment),
    cmocka_unit_test(without_section_headers_the_segments_lead_to_the_same),
    cmocka_unit_test(cut_off_anywhere_is_harmless),
    cmocka_unit_test(what_is_no_elf_file_is_refused),
    cmocka_unit_test(compressed_debug_frame_is_inflated),
    cmocka_unit_test(compressed_section_that_lies_is_malformed),
    cmocka_unit_test(section_outside_of_the_file_is_malformed),
    cmocka_unit_test(segment_ends_with_the_file),
    cmocka_unit_test(sframe_is_where_its_segment_says),
};

int main(void)
{
    static struct CMUnitTest tests[COUNT_OF(symbol_rows) + COUNT_OF(lies) + COUNT_OF(single)];
    const size_t table = COUNT_OF(symbol_rows) + COUNT_OF(lies);
    FILL_ROWS(tests, symbol_rows, symbol_is);
    FILL_ROWS(tests + COUNT_OF(symbol_rows), lies, lie_leads_to);
    memcpy(tests + table, single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
