/*
 * Symbol tables are searched as they lie in the mapped file, once for each address: no table of names is made of them.
 * Knows files by build ids, and libelf.
 */
#include "symbols.h"
#include "modules.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 32, PATH = 128 };

/* elf: NULL: there is none. */
static struct file {
    char build_id[MODULE_BUILD_ID];
    Elf *elf;
    Elf_Data *symbols;
    size_t count, strings; /* strings: the section of the names */
} files[FILES_MAX];
static size_t file_count;

/* A path says what a file should be; its own note says what it is. */
static bool is_right(Elf *elf, const char *build_id)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        GElf_Nhdr note;
        size_t name, id, at = 0;
        Elf_Data *data =
            gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE ? elf_getdata(section, NULL) : NULL;
        while (data && (at = gelf_getnote(data, at, &note, &name, &id))) {
            char text[MODULE_BUILD_ID] = "";
            const uint8_t *bytes = (const uint8_t *)data->d_buf + id;
            for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < sizeof text; i++)
                snprintf(text + 2 * i, 3, "%02x", bytes[i]);
            if (note.n_type == NT_GNU_BUILD_ID && !strcmp(text, build_id))
                return true;
        }
    }
    return false;
}

static bool find_symbols(struct file *file)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB || !header.sh_entsize)
            continue;
        file->symbols = elf_getdata(section, NULL);
        file->count = header.sh_size / header.sh_entsize;
        file->strings = header.sh_link;
        return file->symbols != NULL;
    }
    return false;
}

static void close_file(struct file *file)
{
    if (file->elf)
        elf_end(file->elf);
    file->elf = NULL;
}

/* What was read stays without the file: a program may need the last one that it may have open. */
static void open_file(struct file *file)
{
    char path[PATH];
    snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", file->build_id, file->build_id + 2);
    const int number = open(path, O_RDONLY | O_CLOEXEC);
    if (number >= 0 && elf_version(EV_CURRENT) != EV_NONE)
        file->elf = elf_begin(number, ELF_C_READ_MMAP, NULL);
    const bool whole = file->elf && elf_cntl(file->elf, ELF_C_FDREAD) == 0;
    if (number >= 0)
        close(number);
    if (!whole || !is_right(file->elf, file->build_id) || !find_symbols(file))
        close_file(file);
}

static struct file *find_file(const char *build_id)
{
    for (size_t i = 0; i < file_count; i++)
        if (!strcmp(files[i].build_id, build_id))
            return &files[i];
    if (file_count == FILES_MAX || strlen(build_id) < 4 || strlen(build_id) >= MODULE_BUILD_ID)
        return NULL;
    struct file *file = &files[file_count++];
    *file = (struct file){ 0 };
    memcpy(file->build_id, build_id, strlen(build_id) + 1);
    open_file(file);
    return file;
}

/* Of several names of a function: what others call it, with the fewest underscores in front. Less is better. */
static size_t rank_of(const GElf_Sym *symbol, const char *name)
{
    return (GELF_ST_BIND(symbol->st_info) == STB_LOCAL ? 100 : 0) + strspn(name, "_");
}

bool symbols_name(const char *build_id, uint64_t address, char *name, size_t size)
{
    const struct file *file = build_id[0] ? find_file(build_id) : NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; file && file->elf && i < file->count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(file->symbols, (int)i, &symbol))
            break;
        const unsigned type = GELF_ST_TYPE(symbol.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || address < symbol.st_value ||
            address - symbol.st_value >= symbol.st_size)
            continue;
        const char *text = elf_strptr(file->elf, file->strings, symbol.st_name);
        if (!text || !*text || rank_of(&symbol, text) >= best)
            continue;
        best = rank_of(&symbol, text);
        snprintf(name, size, "%s", text);
    }
    return best != SIZE_MAX;
}

void symbols_close(void)
{
    while (file_count)
        close_file(&files[--file_count]);
}
