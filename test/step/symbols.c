/*
 * Symbols through libelf: see symbols.h. Apart from the library's own reader on purpose: the bounds that a test gives
 * must not come from what it tests.
 */
#include "symbols.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *grown(void *from, size_t *room, size_t need, size_t each)
{
    size_t wanted = *room ? *room : 256;
    while (wanted < need)
        wanted *= 2;
    if (wanted == *room)
        return from;
    *room = wanted;
    return realloc(from, wanted * each);
}

static bool add_text(struct symbols *s, const char *name, uint32_t *at)
{
    const size_t size = strlen(name) + 1;
    s->text = grown(s->text, &s->text_room, s->text_size + size, 1);
    if (!s->text)
        return false;
    memcpy(s->text + s->text_size, name, size);
    *at = (uint32_t)s->text_size;
    s->text_size += size;
    return true;
}

static bool add_row(struct symbols *s, const GElf_Sym *sym, const char *name, uint64_t bias)
{
    struct symbol row = { sym->st_value + bias, sym->st_value + sym->st_size + bias, 0, strstr(name, ".cold") != NULL };
    s->rows = grown(s->rows, &s->room, s->count + 1, sizeof *s->rows);
    if (!s->rows || !add_text(s, name, &row.name))
        return false;
    s->rows[s->count++] = row;
    return true;
}

static bool is_function(const GElf_Sym *sym)
{
    const int type = GELF_ST_TYPE(sym->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_size != 0 && sym->st_shndx != SHN_UNDEF;
}

static bool add_table(struct symbols *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t bias)
{
    Elf_Data *data = elf_getdata(section, NULL);
    const int count = data && header->sh_entsize ? (int)(header->sh_size / header->sh_entsize) : 0;
    for (int i = 0; i < count; i++) {
        GElf_Sym sym;
        if (!gelf_getsym(data, i, &sym) || !is_function(&sym))
            continue;
        const char *name = elf_strptr(elf, header->sh_link, sym.st_name);
        if (!add_row(s, &sym, name ? name : "?", bias))
            return false;
    }
    return true;
}

static void add_plt(struct symbols *s, const GElf_Shdr *header, uint64_t bias)
{
    if (s->plt_count < sizeof s->plts / sizeof s->plts[0])
        s->plts[s->plt_count++] = (struct plt){ header->sh_addr + bias, header->sh_addr + header->sh_size + bias };
}

/* What is added to the addresses in a file whose first page is mapped at an address. */
static uint64_t bias_of(Elf *elf, uint64_t address)
{
    GElf_Phdr header;
    size_t count = 0;
    (void)elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD)
            return address - (header.p_vaddr - header.p_offset);
    return address;
}

static bool add_elf(struct symbols *s, Elf *elf, uint64_t address)
{
    const uint64_t bias = bias_of(elf, address);
    size_t strings;
    Elf_Scn *section = NULL, *best = NULL;
    GElf_Shdr header, chosen = { 0 };
    if (elf_getshdrstrndx(elf, &strings) != 0)
        return false;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(elf, strings, header.sh_name);
        if (name && strncmp(name, ".plt", 4) == 0)
            add_plt(s, &header, bias);
        if (header.sh_type == SHT_SYMTAB || (header.sh_type == SHT_DYNSYM && !best)) {
            best = section;
            chosen = header;
        }
    }
    return !best || add_table(s, elf, best, &chosen, bias);
}

bool symbols_add(struct symbols *s, const char *path, uint64_t address)
{
    const int file = open(path, O_RDONLY);
    bool done = false;
    if (file < 0 || elf_version(EV_CURRENT) == EV_NONE)
        return false;
    Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
    if (elf)
        done = add_elf(s, elf, address);
    elf_end(elf);
    close(file);
    return done;
}

static int by_begin(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? 1 : x->end > y->end ? -1 : x->name < y->name ? -1 : 1;
}

void symbols_sort(struct symbols *s)
{
    size_t kept = 0;
    qsort(s->rows, s->count, sizeof *s->rows, by_begin);
    for (size_t i = 0; i < s->count;
         i++) /* aliases, and entries inside of functions, give way to what is around them */
        if (kept == 0 || s->rows[i].begin >= s->rows[kept - 1].end)
            s->rows[kept++] = s->rows[i];
    s->count = kept;
}

void symbols_free(struct symbols *s)
{
    free(s->rows);
    free(s->text);
    *s = (struct symbols){ 0 };
}

const struct symbol *symbols_find(const struct symbols *s, uint64_t address)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->rows[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->rows[low].begin <= address ? &s->rows[low] : NULL;
}

const char *symbols_name(const struct symbols *s, const struct symbol *symbol)
{
    return symbol ? s->text + symbol->name : "?";
}

bool symbols_in_plt(const struct symbols *s, uint64_t address)
{
    for (size_t i = 0; i < s->plt_count; i++)
        if (address >= s->plts[i].begin && address < s->plts[i].end)
            return true;
    return false;
}
