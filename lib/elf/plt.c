/*
 * Names of the stubs by which a file calls functions of others: "puts@plt". A stub jumps by a slot; a relocation fills
 * the slot, and says with which function. Knows the jumps of x64 and ARM64, whichever linker made the stub around them;
 * refuses to know what a slot holds.
 *
 * Source: System V psABI for x86-64, "Procedure Linkage Table" and "Relocation"; AAELF64, "Dynamic relocations".
 */
#include "elf/internal.h"

#include <snapwalk/regs.h>

#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 4096, STUB_X64 = 16, STUB_X64_SHORT = 8, STUB_A64_MOST = 32, HEX_MOST = 16 };
static const char suffix[] = "@plt", nameless[] = "*ABS*+0x";

/* A slot that a relocation fills. name null: by what the function at addend chooses. */
struct slot {
    uint64_t begin, end, reach;
    const char *name;
    uint64_t addend;
};

struct slots {
    struct slot *rows;
    size_t count;
};

/* ---- slots ---- */

/* Relocations that fill a slot: by a function's address, or by what a function chooses. */
static bool is_wanted(enum sw_machine machine, uint64_t type, bool *is_chosen)
{
    const bool is_x64 = machine == SW_MACHINE_X64;
    *is_chosen = type == (is_x64 ? (uint64_t)R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE);
    return *is_chosen || type == (is_x64 ? (uint64_t)R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT) ||
           type == (is_x64 ? (uint64_t)R_X86_64_GLOB_DAT : R_AARCH64_GLOB_DAT);
}

/* The symbols that relocations name, and the texts of these. */
struct symbols {
    struct sw_bytes rows, texts;
};

static const char *name_of(const struct symbols *symbols, uint64_t number)
{
    Elf64_Sym symbol;
    if (number >= symbols->rows.size / sizeof symbol)
        return NULL;
    memcpy(&symbol, symbols->rows.bytes + number * sizeof symbol, sizeof symbol);
    const struct sw_bytes left =
        symbol.st_name < symbols->texts.size
            ? sw_bytes_part(symbols->texts, symbol.st_name, symbols->texts.size - symbol.st_name)
            : (struct sw_bytes){ 0 };
    const uint64_t most = left.size < NAME_MOST ? left.size : NAME_MOST;
    return most && *left.bytes && memchr(left.bytes, 0, (size_t)most) ? (const char *)left.bytes : NULL;
}

/* Rows null: they are counted. */
static void read_slots(const struct sw_elf *elf, struct sw_bytes relocations, const struct symbols *symbols,
                       struct slots *slots)
{
    Elf64_Rela row;
    bool is_chosen;
    for (uint64_t at = 0; relocations.size - at >= sizeof row; at += sizeof row) {
        memcpy(&row, relocations.bytes + at, sizeof row);
        if (!is_wanted(elf->machine, ELF64_R_TYPE(row.r_info), &is_chosen) || row.r_offset > UINT64_MAX - 8)
            continue;
        const char *name = is_chosen ? NULL : name_of(symbols, ELF64_R_SYM(row.r_info));
        if (!is_chosen && !name)
            continue;
        if (slots->rows)
            slots->rows[slots->count] =
                (struct slot){ row.r_offset, row.r_offset + 8, 0, name, (uint64_t)row.r_addend };
        slots->count++;
    }
}

static struct symbols symbols_of(const struct sw_elf *elf, const Elf64_Shdr *relocations)
{
    struct symbols symbols = { 0 };
    Elf64_Shdr rows, texts;
    if (!sw_elf_section_header(elf, relocations->sh_link, &rows) || rows.sh_type != SHT_DYNSYM ||
        !sw_elf_section_bytes(elf, &rows, &symbols.rows) || !sw_elf_section_header(elf, rows.sh_link, &texts) ||
        texts.sh_type != SHT_STRTAB || !sw_elf_section_bytes(elf, &texts, &symbols.texts))
        return (struct symbols){ 0 };
    return symbols;
}

static void visit_relocations(const struct sw_elf *elf, const struct sw_elf_plt *plt, struct slots *slots)
{
    Elf64_Shdr header;
    uint64_t skipped;
    struct sw_bytes bytes;
    slots->count = 0;
    for (uint64_t n = 1; sw_elf_section_header(elf, n, &header); n++) {
        if (sw_elf_plt_part(plt, &header, &skipped) != SW_ELF_RELOCATIONS ||
            !sw_elf_section_place(elf, &header, &bytes))
            continue;
        const struct symbols symbols = symbols_of(elf, &header);
        bytes = sw_bytes_part(bytes, skipped, bytes.size - skipped);
        sw_store_want(elf->store, bytes.bytes, bytes.size);
        read_slots(elf, bytes, &symbols, slots);
    }
}

static bool is_slot_before(const void *left, const void *right)
{
    return ((const struct slot *)left)->begin < ((const struct slot *)right)->begin;
}

static enum sw_status find_slots(const struct sw_elf *elf, const struct sw_elf_plt *plt, struct slots *slots)
{
    *slots = (struct slots){ 0 };
    visit_relocations(elf, plt, slots);
    if (slots->count == 0)
        return SW_E_NOT_FOUND;
    slots->rows = calloc(slots->count, sizeof *slots->rows);
    if (!slots->rows)
        return SW_E_NO_MEMORY;
    visit_relocations(elf, plt, slots);
    const struct sw_intervals all = { slots->rows, slots->count, sizeof *slots->rows };
    sw_intervals_sort(&all, is_slot_before);
    sw_intervals_link(&all);
    return SW_OK;
}

static bool find_slot(const struct slots *slots, uint64_t address, size_t *at)
{
    const struct sw_intervals all = { slots->rows, slots->count, sizeof *slots->rows };
    *at = sw_intervals_find(&all, address);
    return *at < slots->count && slots->rows[*at].begin == address;
}

/* ---- stubs ---- */

/* A stub of x64 has as many bytes as its section says, or 16, and one jump by a slot: ff 25, distance from its end. */
static bool find_stub_x64(const struct slots *slots, struct sw_bytes code, uint64_t size, size_t *slot)
{
    enum { JUMP_BYTES = 6 };
    const struct sw_bytes stub = sw_bytes_part(code, 0, size);
    for (uint64_t i = 0; i + JUMP_BYTES <= stub.size; i++) {
        const int64_t distance = sw_sign_extend(sw_load32(stub.bytes + i + 2), 32);
        if (stub.bytes[i] == 0xff && stub.bytes[i + 1] == 0x25 &&
            find_slot(slots, stub.address + i + JUMP_BYTES + (uint64_t)distance, slot))
            return true;
    }
    return false;
}

/* adrp x16, page; ldr x17, [x16, #low]. Behind "bti c" in files that mark where branches may go. */
static bool find_stub_a64(const struct slots *slots, struct sw_bytes code, size_t *slot, bool *is_marked)
{
    enum { WORD = 4 };
    const struct sw_bytes start = sw_bytes_part(code, 0, WORD);
    *is_marked = start.size && sw_load32(start.bytes) == 0xd503245f;
    const struct sw_bytes pair = sw_bytes_part(code, *is_marked ? WORD : 0, 2 * WORD);
    if (!pair.size)
        return false;
    const uint32_t adrp = sw_load32(pair.bytes), load = sw_load32(pair.bytes + WORD);
    if ((adrp & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
        return false;
    const uint64_t pages = (adrp >> 29 & 3) | (adrp >> 5 & 0x7ffff) << 2;
    const uint64_t page = (pair.address & ~UINT64_C(0xfff)) + ((uint64_t)sw_sign_extend(pages, 21) << 12);
    return find_slot(slots, page + (load >> 10 & 0xfff) * 8, slot);
}

/*
 * If a stub begins here its row is taken, with its slot's number in place of a name. Returns how far on the next may
 * begin.
 */
static uint64_t take_stub(struct sw_elf *elf, const struct slots *slots, struct sw_bytes code, uint64_t entry_size)
{
    size_t slot;
    bool is_marked;
    const bool is_x64 = elf->machine == SW_MACHINE_X64;
    const uint64_t size = is_x64 ? (entry_size == STUB_X64_SHORT ? STUB_X64_SHORT : STUB_X64) : STUB_A64_MOST;
    const bool is_stub =
        is_x64 ? find_stub_x64(slots, code, size, &slot) : find_stub_a64(slots, code, &slot, &is_marked);
    if (is_stub && slot <= UINT32_MAX && elf->stubs) {
        const uint64_t most = code.size < size ? code.size : size;
        elf->stubs[elf->stub_count] = (struct sw_elf_name){
            .start = code.address, .end = code.address + most, .name = (uint32_t)slot, .table = SW_ELF_STUBS
        };
    }
    elf->stub_count += is_stub && slot <= UINT32_MAX;
    return is_x64 ? size : is_stub ? 16 : 4;
}

/* Rows null: they are counted. */
static void visit_stubs(struct sw_elf *elf, const struct sw_elf_plt *plt, const struct slots *slots)
{
    Elf64_Shdr header;
    struct sw_bytes code;
    uint64_t skipped;
    elf->stub_count = 0;
    for (uint64_t n = 1; sw_elf_section_header(elf, n, &header); n++) {
        if (sw_elf_plt_part(plt, &header, &skipped) != SW_ELF_CODE || !sw_elf_section_bytes(elf, &header, &code) ||
            code.address > UINT64_MAX - code.size)
            continue;
        while (code.size) {
            const uint64_t step = take_stub(elf, slots, code, header.sh_entsize);
            code = step < code.size ? sw_bytes_part(code, step, code.size - step) : (struct sw_bytes){ 0 };
        }
    }
}

static bool is_stub_before(const void *left, const void *right)
{
    return ((const struct sw_elf_name *)left)->start < ((const struct sw_elf_name *)right)->start;
}

/* None reaches into the next one. */
static void finish_stubs(struct sw_elf *elf)
{
    const struct sw_intervals all = { elf->stubs, elf->stub_count, sizeof *elf->stubs };
    sw_intervals_sort(&all, is_stub_before);
    for (size_t n = 0; n < elf->stub_count; n++) {
        struct sw_elf_name *stub = &elf->stubs[n];
        if (n + 1 < elf->stub_count && stub->end > stub[1].start)
            stub->end = stub[1].start;
        stub->size = stub->end - stub->start;
    }
    sw_intervals_link(&all);
}

/* ---- names ---- */

/* The name of the symbol that begins there, or null. */
static const char *symbol_at(const struct sw_elf *elf, uint64_t address)
{
    const struct sw_elf_name *found = sw_elf_find_row(elf->symbols, elf->symbol_count, address);
    return found && found->start == address ? sw_elf_text_of(elf, found) : NULL;
}

/* This room does without stdio. */
static size_t write_hex(char to[HEX_MOST], uint64_t value)
{
    size_t digits = 1;
    while (digits < HEX_MOST && value >> (4 * digits))
        digits++;
    for (size_t i = 0; i < digits; i++)
        to[i] = "0123456789abcdef"[value >> (4 * (digits - 1 - i)) & 15];
    return digits;
}

/*
 * That of the function which chooses is what the file calls; without one it is written as objdump does. to: may be
 * null. Returns its size with the NUL.
 */
static size_t write_name(const struct sw_elf *elf, const struct slot *slot, uint8_t *to)
{
    char number[sizeof nameless - 1 + HEX_MOST];
    const char *name = slot->name ? slot->name : symbol_at(elf, slot->addend);
    size_t length = name ? strnlen(name, NAME_MOST) : 0;
    if (!name) {
        memcpy(number, nameless, sizeof nameless - 1);
        length = sizeof nameless - 1 + write_hex(number + sizeof nameless - 1, slot->addend);
    }
    if (to) {
        memcpy(to, name ? name : number, length);
        memcpy(to + length, suffix, sizeof suffix);
    }
    return length + sizeof suffix;
}

/* Texts in one piece: how long it is, and then what is in it. */
static enum sw_status write_names(struct sw_elf *elf, const struct slots *slots)
{
    uint64_t size = 0;
    uint8_t *bytes;
    for (size_t n = 0; n < elf->stub_count && size <= UINT32_MAX; n++)
        size += write_name(elf, &slots->rows[elf->stubs[n].name], NULL);
    const enum sw_status status = size <= UINT32_MAX ? sw_elf_room(elf, size, &bytes) : SW_E_LIMIT;
    if (status != SW_OK)
        return status;
    elf->strings[SW_ELF_STUBS] = (struct sw_bytes){ bytes, size, 0 };
    size = 0;
    for (size_t n = 0; n < elf->stub_count; n++) {
        const struct slot *slot = &slots->rows[elf->stubs[n].name];
        elf->stubs[n].name = (uint32_t)size;
        size += write_name(elf, slot, bytes + size);
    }
    return SW_OK;
}

static enum sw_status make_stubs(struct sw_elf *elf, const struct sw_elf_plt *plt, const struct slots *slots)
{
    visit_stubs(elf, plt, slots);
    if (elf->stub_count == 0)
        return SW_OK;
    elf->stubs = calloc(elf->stub_count, sizeof *elf->stubs);
    if (!elf->stubs)
        return SW_E_NO_MEMORY;
    visit_stubs(elf, plt, slots);
    finish_stubs(elf);
    return write_names(elf, slots);
}

enum sw_status sw_elf_load_stubs(struct sw_elf *elf)
{
    Elf64_Shdr header;
    struct sw_bytes names;
    struct slots slots;
    if (!sw_elf_section_header(elf, elf->names, &header) || !sw_elf_section_bytes(elf, &header, &names))
        return SW_OK;
    const struct sw_elf_plt plt = sw_elf_plt_look(elf, names);
    enum sw_status status = find_slots(elf, &plt, &slots);
    if (status == SW_OK)
        status = make_stubs(elf, &plt, &slots);
    free(slots.rows);
    if (status != SW_OK) {
        free(elf->stubs);
        elf->stubs = NULL;
        elf->stub_count = 0;
    }
    return status == SW_E_NO_MEMORY ? status : SW_OK;
}
