/*
 * Names of addresses: the symbols of a file that can name code, sorted at the first request. Knows .symtab and .dynsym,
 * and that the MiniDebugInfo's .symtab completes the latter; refuses to know demangling and debug information. Source:
 * System V gABI, chapter 4, "Symbol Table"; AAELF64 (mapping symbols).
 */
#include "elf/internal.h"

#include <stdlib.h>
#include <string.h>

struct table {
    struct sw_bytes symbols;
    struct sw_bytes strings; /* ends in a NUL, so every name in it does */
};

struct extent {
    uint64_t begin;
    uint64_t end;
};

static bool find_section_of_type(const struct sw_elf *elf, uint32_t type, Elf64_Shdr *header)
{
    for (uint64_t n = 1; sw_elf_section_header(elf, n, header); n++)
        if (header->sh_type == type && header->sh_size > 0)
            return true;
    return false;
}

/* From the lowest to the highest executable byte: enough to tell functions from data with one comparison per symbol. */
static struct extent code_extent(const struct sw_elf *elf)
{
    struct extent code = { UINT64_MAX, 0 };
    for (size_t n = 0; n < elf->segment_count; n++) {
        const struct sw_elf_segment *s = &elf->segments[n];
        if (!s->executable)
            continue;
        code.begin = s->address < code.begin ? s->address : code.begin;
        code.end = s->address + s->size > code.end ? s->address + s->size : code.end;
    }
    return code;
}

/* Sections of code, as many as are usual in a file; of all others nothing is known. */
enum { SECTIONS_MOST = 32 };
struct sections {
    struct extent rows[SECTIONS_MOST];
    size_t count;
};

static void find_code_sections(const struct sw_elf *elf, struct sections *to)
{
    Elf64_Shdr header;
    to->count = 0;
    for (uint64_t n = 1; to->count < SECTIONS_MOST && sw_elf_section_header(elf, n, &header); n++)
        if ((header.sh_flags & SHF_EXECINSTR) && header.sh_size <= UINT64_MAX - header.sh_addr)
            to->rows[to->count++] = (struct extent){ header.sh_addr, header.sh_addr + header.sh_size };
}

/* Where a symbol without a size ends at the latest: behind _init come entries of .plt, which are not its. */
static uint64_t end_of_section(const struct sections *sections, uint64_t address, uint64_t otherwise)
{
    for (size_t i = 0; i < sections->count; i++)
        if (address >= sections->rows[i].begin && address < sections->rows[i].end)
            return sections->rows[i].end;
    return otherwise;
}

/* Functions come before labels, symbols with a size before those without, global symbols before local ones. */
enum { RANK_LOCAL = 1, RANK_SIZELESS = 2, RANK_LABEL = 4 };
static uint8_t rank_of(const Elf64_Sym *sym)
{
    const unsigned type = ELF64_ST_TYPE(sym->st_info);
    const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    return (uint8_t)((is_function ? 0u : RANK_LABEL) | (sym->st_size == 0 ? RANK_SIZELESS : 0u) |
                     (ELF64_ST_BIND(sym->st_info) == STB_LOCAL ? RANK_LOCAL : 0u));
}

static unsigned underscores_of(const struct sw_elf *elf, const struct sw_elf_name *symbol)
{
    enum { MOST = 15, LOOKED_AT = 64 };
    const char *name = sw_elf_text_of(elf, symbol);
    unsigned count = 0;
    for (size_t i = 0; i < LOOKED_AT && name[i] && count < MOST; i++)
        count += name[i] == '_';
    return count;
}

/* A symbol that can name code: it is defined, and its name is not that of an ARM64 mapping symbol ("$x"). */
static bool can_name(struct sw_bytes strings, struct extent code, const Elf64_Sym *sym)
{
    const unsigned type = ELF64_ST_TYPE(sym->st_info);
    uint64_t end;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return false;
    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_name >= strings.size)
        return false;
    if (sym->st_value < code.begin || sym->st_value >= code.end || !sw_add_u64(sym->st_value, sym->st_size, &end))
        return false;
    const uint8_t first = strings.bytes[sym->st_name];
    return first != 0 && first != '$';
}

static bool is_before(const void *left, const void *right)
{
    const struct sw_elf_name *a = left;
    const struct sw_elf_name *b = right;
    if (a->start != b->start)
        return a->start < b->start;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->table != b->table ? a->table < b->table : a->name < b->name;
}

static struct sw_intervals intervals_of(const struct sw_elf *elf)
{
    return (struct sw_intervals){ elf->symbols, elf->symbol_count, sizeof *elf->symbols };
}

/*
 * Of sorted symbols, one per start. Of aliases that are alike it is that with the fewest underscores, which is the one
 * that programs are written with (clone3, __clone3, __GI___clone3). A label inside of a function names a place, not a
 * function (glibc 2.41's __syscall_cancel_arch_end, where threads wait).
 */
static size_t keep_preferred(const struct sw_elf *elf)
{
    const uint8_t bare_label = RANK_LABEL | RANK_SIZELESS;
    struct sw_elf_name *s = elf->symbols;
    uint64_t end_of_functions = 0;
    size_t unique = 0;
    for (size_t n = 0; n < elf->symbol_count; n++) {
        if ((s[n].rank & bare_label) == bare_label && s[n].start < end_of_functions)
            continue;
        if (s[n].end > end_of_functions)
            end_of_functions = s[n].end;
        if (unique == 0 || s[unique - 1].start != s[n].start)
            s[unique++] = s[n];
        else if (s[unique - 1].rank == s[n].rank && underscores_of(elf, &s[n]) < underscores_of(elf, &s[unique - 1]))
            s[unique - 1] = s[n];
    }
    return unique;
}

/* Of rows that ascend by start, those with one start. */
static void sort_aliases(const struct sw_elf *elf)
{
    struct sw_elf_name *s = elf->symbols;
    for (size_t begin = 0, end; begin < elf->symbol_count; begin = end) {
        for (end = begin + 1; end < elf->symbol_count && s[end].start == s[begin].start; end++)
            continue;
        const struct sw_intervals aliases = { s + begin, end - begin, sizeof *s };
        if (end - begin > 1)
            sw_intervals_sort(&aliases, is_before);
    }
}

/* Keeps one symbol per start, and sets ends. */
static void finish_symbols(struct sw_elf *elf, struct extent code)
{
    struct sw_elf_name *s = elf->symbols;
    struct sw_intervals all = intervals_of(elf);
    struct sections sections;
    sort_aliases(elf);
    const size_t unique = keep_preferred(elf);
    elf->symbol_count = all.count = unique;
    find_code_sections(elf, &sections);
    for (size_t n = 0; n < unique; n++) {
        if (s[n].size != 0)
            continue;
        const uint64_t next = n + 1 < unique ? s[n + 1].start : code.end;
        const uint64_t end = end_of_section(&sections, s[n].start, next);
        s[n].end = end < next ? end : next;
    }
    sw_intervals_link(&all);
}

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* Where a symbol starts, and which one it is: less is moved to sort these than to sort rows. */
struct key {
    uint64_t start;
    uint32_t number, table;
};

/* next: in ascending order, by one digit of the start; in which order it was, where that does not differ. */
static void put_by_digit(const struct key *keys, struct key *next, size_t count, unsigned shift)
{
    size_t places[DIGITS] = { 0 }, sum = 0;
    for (size_t n = 0; n < count; n++)
        places[keys[n].start >> shift & (DIGITS - 1)]++;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        const size_t of_digit = places[digit];
        places[digit] = sum;
        sum += of_digit;
    }
    for (size_t n = 0; n < count; n++)
        next[places[keys[n].start >> shift & (DIGITS - 1)]++] = keys[n];
}

/* Ascending by start; other: room for as many. Returns  Which of the two they are in then. */
static struct key *sort_keys(struct key *keys, struct key *other, size_t count)
{
    uint64_t differing = 0;
    for (size_t n = 1; n < count; n++)
        differing |= keys[n].start ^ keys[0].start;
    for (unsigned shift = 0; shift < 64 && differing >> shift; shift += DIGIT_BITS) {
        struct key *const from = keys;
        put_by_digit(from, other, count, shift);
        keys = other;
        other = from;
    }
    return keys;
}

static Elf64_Sym symbol_at(const struct table *table, size_t number)
{
    Elf64_Sym sym;
    memcpy(&sym, table->symbols.bytes + number * sizeof sym, sizeof sym);
    return sym;
}

static size_t count_of(const struct table *table)
{
    const uint64_t count = table->symbols.size / sizeof(Elf64_Sym);
    return count < UINT32_MAX ? (size_t)count : UINT32_MAX;
}

/* Returns  How many keys there are then. */
static size_t read_keys(const struct table *table, uint8_t number, struct extent code, struct key *keys, size_t count)
{
    for (size_t n = 0, most = count_of(table); n < most; n++) {
        const Elf64_Sym sym = symbol_at(table, n);
        if (can_name(table->strings, code, &sym))
            keys[count++] = (struct key){ sym.st_value, (uint32_t)n, number };
    }
    return count;
}

static void read_rows(struct sw_elf *elf, const struct table *tables, const struct key *keys, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const Elf64_Sym sym = symbol_at(&tables[keys[n].table], keys[n].number);
        elf->symbols[n] = (struct sw_elf_name){ .start = sym.st_value,
                                                .end = sym.st_value + sym.st_size,
                                                .size = sym.st_size,
                                                .name = sym.st_name,
                                                .table = (uint8_t)keys[n].table,
                                                .rank = rank_of(&sym) };
    }
    elf->symbol_count = count;
}

static enum sw_status read_tables(struct sw_elf *elf, const struct table *tables, uint8_t count)
{
    const struct extent code = code_extent(elf);
    size_t most = 1, found = 0;
    for (uint8_t n = 0; n < count; n++)
        most += count_of(&tables[n]);
    struct key *keys = malloc(most * sizeof *keys), *other = NULL;
    elf->symbols = NULL;
    for (uint8_t n = 0; keys && n < count; n++) {
        elf->strings[n] = tables[n].strings;
        found = read_keys(&tables[n], n, code, keys, found);
    }
    if (keys)
        other = malloc((found + 1) * sizeof *other);
    if (other)
        elf->symbols = malloc((found + 1) * sizeof *elf->symbols); /* at most twice the file */
    if (other && elf->symbols) {
        read_rows(elf, tables, sort_keys(keys, other, found), found);
        finish_symbols(elf, code);
    }
    free(keys);
    free(other);
    return other && elf->symbols ? SW_OK : SW_E_NO_MEMORY;
}

/* The first table of a type, with its names. */
static bool find_table(const struct sw_elf *elf, uint32_t type, struct table *table)
{
    Elf64_Shdr header;
    Elf64_Shdr strings;
    if (!find_section_of_type(elf, type, &header) || !sw_elf_section_header(elf, header.sh_link, &strings) ||
        ((header.sh_flags | strings.sh_flags) & SHF_COMPRESSED) != 0)
        return false;
    if (strings.sh_type == SHT_NOBITS || !sw_elf_section_bytes(elf, &strings, &table->strings) ||
        !sw_elf_section_bytes(elf, &header, &table->symbols))
        return false;
    const uint64_t size = table->strings.size;
    return size > 0 && table->strings.bytes[size - 1] == 0;
}

/* Without memory it is tried again at the next request. */
static enum sw_status load_symbols(struct sw_elf *elf)
{
    struct table tables[SW_ELF_STRINGS];
    enum sw_status ignored;
    uint8_t count = find_table(elf, SHT_SYMTAB, &tables[0]);
    enum sw_status status = count ? read_tables(elf, tables, count) : SW_OK;
    if (status == SW_OK && elf->symbol_count == 0) { /* of qemu's vdso it has other addresses than the file */
        free(elf->symbols);
        const struct sw_elf *mini = sw_elf_mini_file(elf, &ignored);
        count = find_table(elf, SHT_DYNSYM, &tables[0]);
        count = (uint8_t)(count + (mini && find_table(mini, SHT_SYMTAB, &tables[count])));
        status = read_tables(elf, tables, count);
    }
    if (status == SW_OK)
        status = sw_elf_load_stubs(elf);
    elf->has_symbols = status == SW_OK;
    if (status != SW_OK) {
        free(elf->symbols);
        elf->symbols = NULL;
        elf->symbol_count = 0;
    }
    return status;
}

enum sw_status sw_elf_load_symbols(struct sw_elf *elf)
{
    if (!elf)
        return SW_E_ARGUMENT;
    return elf->has_symbols ? SW_OK : load_symbols(elf);
}

enum sw_status sw_elf_symbol(struct sw_elf *elf, uint64_t address, const char **name, uint64_t *start, uint64_t *size)
{
    const enum sw_status status = name ? sw_elf_load_symbols(elf) : SW_E_ARGUMENT;
    if (status != SW_OK)
        return status;
    const struct sw_elf_name *found = sw_elf_find_row(elf->symbols, elf->symbol_count, address);
    if (!found)
        found = sw_elf_find_row(elf->stubs, elf->stub_count, address);
    if (!found)
        return SW_E_NOT_FOUND;
    *name = sw_elf_text_of(elf, found);
    if (start)
        *start = found->start;
    if (size)
        *size = found->size;
    return SW_OK;
}

static bool find_in(const struct table *table, const char *name, uint64_t *address)
{
    const size_t size = strlen(name) + 1;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table->symbols.size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym sym;
        memcpy(&sym, table->symbols.bytes + at, sizeof sym);
        if (sym.st_shndx == SHN_UNDEF || sym.st_name >= table->strings.size ||
            table->strings.size - sym.st_name < size || memcmp(table->strings.bytes + sym.st_name, name, size) != 0)
            continue;
        *address = sym.st_value;
        return true;
    }
    return false;
}

enum sw_status sw_elf_find(const struct sw_elf *elf, const char *name, uint64_t *address)
{
    struct table table;
    if (!elf || !name || !address)
        return SW_E_ARGUMENT;
    const bool found = (find_table(elf, SHT_SYMTAB, &table) && find_in(&table, name, address)) ||
                       (find_table(elf, SHT_DYNSYM, &table) && find_in(&table, name, address));
    return found ? SW_OK : SW_E_NOT_FOUND;
}
