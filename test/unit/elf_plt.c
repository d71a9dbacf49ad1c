/*
 * Names of stubs, "puts@plt": in small files made here, as linkers of x64 and ARM64 lay out stubs, with relocations
 * that lie; and in this program.
 */
#include "../support/bytes.h"
#include "rows.h"

#include "host.h"

#include "elf/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 2048, STUBS = 0x1000, DIRECT = 0x1100, SECOND = 0x1200, SLOTS = 0x3000, CHOOSER = 0x1300 };

/* Sections in the order of their headers. */
enum { NONE, NAMES, SYMBOLS, TEXTS, RELOCATIONS, DYNAMIC, PLT, GOT, SEC, TABLE, TABLE_TEXTS, SECTIONS };
static const char names[] = "\0.rela.plt\0.rela.dyn\0.plt\0.plt.got\0.plt.sec\0";
static const char texts[] = "\0puts\0qsort\0abort";
enum { RELA_PLT = 1, RELA_DYN = 11, NAME_PLT = 21, NAME_GOT = 26, NAME_SEC = 35 };

struct file {
    uint8_t bytes[FILE_BYTES];
    size_t used;
    Elf64_Shdr rows[SECTIONS];
};

static void add_section(struct file *f, int number, Elf64_Shdr row, const void *bytes, size_t size)
{
    assert_true(f->used + size <= FILE_BYTES - sizeof f->rows);
    row.sh_offset = f->used;
    row.sh_size = size;
    memcpy(f->bytes + f->used, bytes, size);
    f->used += size + (8 - size % 8) % 8;
    f->rows[number] = row;
}

static Elf64_Rela fills(uint64_t slot, uint64_t type, uint64_t symbol, int64_t addend)
{
    return (Elf64_Rela){ slot, ELF64_R_INFO(symbol, type), addend };
}

static void add_header(struct file *f, uint16_t machine)
{
    Elf64_Ehdr h = { .e_type = ET_DYN, .e_machine = machine, .e_version = EV_CURRENT, .e_phoff = sizeof h };
    Elf64_Phdr code = { PT_LOAD, PF_R | PF_X, 0, STUBS, STUBS, 0x800, 0x800, 0x1000 };
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_phentsize = sizeof code;
    h.e_phnum = 1;
    h.e_shoff = FILE_BYTES - sizeof f->rows;
    h.e_shentsize = sizeof f->rows[0];
    h.e_shnum = SECTIONS;
    h.e_shstrndx = NAMES;
    memcpy(f->bytes, &h, sizeof h);
    memcpy(f->bytes + sizeof h, &code, sizeof code);
    f->used = sizeof h + sizeof code;
}

static void add_symbols(struct file *f)
{
    const Elf64_Sym symbols[] = { { 0 }, { .st_name = 1 }, { .st_name = 6 }, { .st_name = 12 }, { .st_name = 9999 } };
    const Elf64_Sym chooser[] = { { 0 }, { .st_name = 1, .st_info = STT_GNU_IFUNC, .st_shndx = PLT } };
    Elf64_Sym table[2];
    memcpy(table, chooser, sizeof table);
    table[1].st_value = CHOOSER;
    table[1].st_size = 16;
    add_section(f, NAMES, (Elf64_Shdr){ .sh_type = SHT_STRTAB }, names, sizeof names);
    add_section(f, SYMBOLS, (Elf64_Shdr){ .sh_type = SHT_DYNSYM, .sh_link = TEXTS }, symbols, sizeof symbols);
    add_section(f, TEXTS, (Elf64_Shdr){ .sh_type = SHT_STRTAB }, texts, sizeof texts);
    add_section(f, TABLE, (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = TABLE_TEXTS }, table, sizeof table);
    add_section(f, TABLE_TEXTS, (Elf64_Shdr){ .sh_type = SHT_STRTAB }, "\0memcpy", 8);
}

static Elf64_Shdr code_at(uint32_t name, uint64_t address, uint64_t entry)
{
    return (Elf64_Shdr){ .sh_name = name,
                         .sh_type = SHT_PROGBITS,
                         .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                         .sh_addr = address,
                         .sh_entsize = entry };
}

/* A jump by a slot at a place in code that will be at `address`. */
static void put_jump(uint8_t *code, uint64_t address, uint64_t at, uint64_t slot)
{
    code[at] = 0xff;
    code[at + 1] = 0x25;
    put_le(code + at + 2, slot - (address + at + 6), 4);
}

static struct file made_x64(void)
{
    static struct file f;
    uint8_t plt[0x90] = { 0 }, direct[16] = { 0 }, second[32] = { 0 };
    const Elf64_Rela plt_rows[] = {
        fills(SLOTS + 24, R_X86_64_JUMP_SLOT, 1, 0),       fills(SLOTS + 16, R_X86_64_JUMP_SLOT, 2, 0),
        fills(SLOTS + 32, R_X86_64_IRELATIVE, 0, CHOOSER), fills(SLOTS + 40, R_X86_64_IRELATIVE, 0, 0xabc0),
        fills(SLOTS + 48, R_X86_64_JUMP_SLOT, 4, 0),       fills(SLOTS + 56, R_X86_64_JUMP_SLOT, 99, 0),
        fills(UINT64_MAX, R_X86_64_JUMP_SLOT, 1, 0),       fills(SLOTS + 80, R_X86_64_IRELATIVE, 0, CHOOSER + 4),
    };
    const Elf64_Rela other_rows[] = { fills(SLOTS + 64, R_X86_64_GLOB_DAT, 3, 0),
                                      fills(SLOTS + 72, R_X86_64_64, 1, 0) };
    f = (struct file){ .used = 0 };
    add_header(&f, EM_X86_64);
    add_symbols(&f);
    put_jump(plt, STUBS, 6, SLOTS + 8); /* the first one leads to the loader */
    for (uint64_t i = 1; i < 7; i++)
        put_jump(plt, STUBS, 16 * i, SLOTS + 8 + 8 * i);
    put_jump(plt, STUBS, 0x70, SLOTS + 80);
    put_jump(plt, STUBS, 0x80, SLOTS + 84); /* not where the slot begins */
    put_jump(direct, DIRECT, 0, SLOTS + 64);
    put_jump(direct, DIRECT, 8, SLOTS + 72);
    put_jump(second, SECOND, 5, SLOTS + 24); /* endbr64; bnd jmp */
    put_jump(second, SECOND, 16 + 10, SLOTS + 16);
    const Elf64_Shdr relocations = { .sh_name = RELA_PLT, .sh_type = SHT_RELA, .sh_link = SYMBOLS };
    Elf64_Shdr dynamic = relocations;
    dynamic.sh_name = RELA_DYN;
    add_section(&f, RELOCATIONS, relocations, plt_rows, sizeof plt_rows);
    add_section(&f, DYNAMIC, dynamic, other_rows, sizeof other_rows);
    add_section(&f, PLT, code_at(NAME_PLT, STUBS, 0), plt, sizeof plt); /* as lld has it, without a size */
    add_section(&f, GOT, code_at(NAME_GOT, DIRECT, 8), direct, sizeof direct);
    add_section(&f, SEC, code_at(NAME_SEC, SECOND, 16), second, sizeof second);
    memcpy(f.bytes + FILE_BYTES - sizeof f.rows, f.rows, sizeof f.rows);
    return f;
}

/* adrp x16, slot; ldr x17, [x16, low]; add x16, x16, low; br x17 */
static void put_a64(uint8_t *code, uint64_t address, uint64_t at, uint64_t slot)
{
    const uint64_t pages = (slot >> 12) - ((address + at) >> 12), low = slot & 0xfff;
    put_le(code + at, 0x90000010 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5, 4);
    put_le(code + at + 4, 0xf9400211 | low / 8 << 10, 4);
    put_le(code + at + 8, 0x91000210 | low << 10, 4);
    put_le(code + at + 12, 0xd61f0220, 4);
}

static struct file made_a64(void)
{
    static struct file f;
    uint8_t plt[0x68] = { 0 };
    const Elf64_Rela rows[] = { fills(SLOTS + 24, R_AARCH64_JUMP_SLOT, 1, 0),
                                fills(SLOTS + 32, R_AARCH64_IRELATIVE, 0, CHOOSER),
                                fills(STUBS - 0x800, R_AARCH64_GLOB_DAT, 2, 0) };
    f = (struct file){ .used = 0 };
    add_header(&f, EM_AARCH64);
    add_symbols(&f);
    put_a64(plt, STUBS, 4, SLOTS + 16);
    put_a64(plt, STUBS, 0x20, SLOTS + 24);
    put_le(plt + 0x30, 0xd503245f, 4); /* bti c */
    put_a64(plt, STUBS, 0x34, SLOTS + 32);
    put_a64(plt, STUBS, 0x48, STUBS - 0x800);
    add_section(&f, RELOCATIONS, (Elf64_Shdr){ .sh_name = RELA_PLT, .sh_type = SHT_RELA, .sh_link = SYMBOLS }, rows,
                sizeof rows);
    add_section(&f, PLT, code_at(NAME_PLT, STUBS, 16), plt, sizeof plt);
    memcpy(f.bytes + FILE_BYTES - sizeof f.rows, f.rows, sizeof f.rows);
    return f;
}

static const struct row {
    const char *name;
    bool is_a64;
    uint64_t address, begin, size;
    const char *symbol; /* null: none */
} rows[] = {
    { "x64_first_stub_leads_to_the_loader", false, STUBS, 0, 0, NULL },
    { "x64_stub", false, STUBS + 0x10, STUBS + 0x10, 16, "qsort@plt" },
    { "x64_last_byte_of_a_stub", false, STUBS + 0x1f, STUBS + 0x10, 16, "qsort@plt" },
    { "x64_next_stub", false, STUBS + 0x20, STUBS + 0x20, 16, "puts@plt" },
    { "x64_slot_of_a_chosen_function", false, STUBS + 0x30, STUBS + 0x30, 16, "memcpy@plt" },
    { "x64_slot_of_a_nameless_function", false, STUBS + 0x40, STUBS + 0x40, 16, "*ABS*+0xabc0@plt" },
    { "x64_name_outside_of_its_table", false, STUBS + 0x50, 0, 0, NULL },
    { "x64_symbol_that_is_not_there", false, STUBS + 0x60, 0, 0, NULL },
    { "x64_slot_of_a_function_within_another", false, STUBS + 0x70, STUBS + 0x70, 16, "*ABS*+0x1304@plt" },
    { "x64_jump_into_a_slot", false, STUBS + 0x80, 0, 0, NULL },
    { "x64_short_stub", false, DIRECT + 7, DIRECT, 8, "abort@plt" },
    { "x64_slot_of_data", false, DIRECT + 8, 0, 0, NULL },
    { "x64_second_table", false, SECOND, SECOND, 16, "puts@plt" },
    { "x64_jump_at_the_end_of_its_stub", false, SECOND + 0x1f, SECOND + 16, 16, "qsort@plt" },
    { "x64_symbols_come_first", false, CHOOSER + 1, CHOOSER, 16, "memcpy" },
    { "a64_first_stub_leads_to_the_loader", true, STUBS + 4, 0, 0, NULL },
    { "a64_stub", true, STUBS + 0x20, STUBS + 0x20, 16, "puts@plt" },
    { "a64_last_byte_of_a_stub", true, STUBS + 0x2f, STUBS + 0x20, 16, "puts@plt" },
    { "a64_marked_stub", true, STUBS + 0x30, STUBS + 0x30, 0x18, "memcpy@plt" },
    { "a64_last_byte_of_a_marked_stub", true, STUBS + 0x47, STUBS + 0x30, 0x18, "memcpy@plt" },
    { "a64_slot_in_front_of_its_stub", true, STUBS + 0x48, STUBS + 0x48, 0x20, "qsort@plt" },
};

static void stub_has_the_name_of_its_function(void **state)
{
    const struct row *row = *state;
    const struct file f = row->is_a64 ? made_a64() : made_x64();
    struct sw_elf *elf;
    const char *name;
    uint64_t begin, size;
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ f.bytes, FILE_BYTES, 0 }, &elf), SW_OK);
    assert_int_equal(sw_elf_symbol(elf, row->address, &name, &begin, &size), row->symbol ? SW_OK : SW_E_NOT_FOUND);
    if (row->symbol) {
        assert_string_equal(name, row->symbol);
        assert_int_equal(begin, row->begin);
        assert_int_equal(size, row->size);
    }
    sw_elf_close(elf);
}

static void ask_everywhere(const uint8_t *bytes, size_t size)
{
    struct sw_elf *elf;
    const char *name;
    uint64_t begin, length;
    if (sw_elf_open_bytes((struct sw_bytes){ bytes, size, 0 }, &elf) != SW_OK)
        return;
    for (uint64_t at = STUBS; at < CHOOSER + 16; at += 8)
        if (sw_elf_symbol(elf, at, &name, &begin, &length) == SW_OK)
            assert_true(strlen(name) < FILE_BYTES + 8 && begin <= at && at - begin < 1 << 20);
    sw_elf_close(elf);
}

static void any_changed_bit_is_harmless(void **state)
{
    (void)state;
    for (int machine = 0; machine < 2; machine++) {
        struct file f = machine ? made_a64() : made_x64();
        for (size_t bit = 0; bit < 8 * (size_t)FILE_BYTES; bit++) {
            f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            ask_everywhere(f.bytes, FILE_BYTES);
            f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

static void any_cut_is_harmless(void **state)
{
    (void)state;
    const struct file f = made_x64();
    for (size_t size = 0; size < FILE_BYTES; size++) {
        uint8_t *copy = malloc(size + 1);
        memcpy(copy, f.bytes, size);
        ask_everywhere(copy, size);
        free(copy);
    }
}

/* Of the file only parts are read: among them what names stubs. */
static void stubs_of_this_program_have_names(void **state)
{
    (void)state;
    struct sw_elf *elf;
    struct sw_bytes code;
    const char *name;
    uint64_t begin, size;
    unsigned found = 0, others = 0;
    assert_int_equal(sw_elf_open("/proc/self/exe", &elf), SW_OK);
    HOST_NEEDS(sw_elf_section(elf, ".plt.sec", &code) == SW_OK || sw_elf_section(elf, ".plt", &code) == SW_OK,
               "a linker that makes stubs");
    for (uint64_t at = code.address; at < code.address + code.size; at += 16)
        if (sw_elf_symbol(elf, at, &name, &begin, &size) == SW_OK)
            strstr(name, "@plt") ? found++ : others++;
    assert_true(found > 3 && others == 0);
    sw_elf_close(elf);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 3] = {
        cmocka_unit_test(any_changed_bit_is_harmless),
        cmocka_unit_test(any_cut_is_harmless),
        cmocka_unit_test(stubs_of_this_program_have_names),
    };
    size_t count = 3;
    ADD_ROWS(tests, count, rows, stub_has_the_name_of_its_function);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
