/*
 * The loaded file that is a runtime, by what it exports. Its symbols are read in memory: the loader does not search a
 * library that was loaded for itself alone, and opens the main program, in which the runtime of a single-file program
 * is, only without a name. Refuses to know what the exported tables hold.
 */
#include "clr/host.h"

#include "clr/names/names.h"

#include <snapwalk/self.h>

#include <link.h>

struct search {
    uint64_t code;
    struct sw_clr_exports found;
};

/* first: what of it may be loaded, for as long as the loader holds it: the first segment has names and symbols. */
static bool is_file(const struct dl_phdr_info *info, struct sw_clr_exports *file, struct sw_window *first)
{
    file->begin = UINT64_MAX;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint64_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        if ((segment->p_flags & PF_R) && begin < file->begin)
            *first = (struct sw_window){ begin, begin + segment->p_filesz, (const uint8_t *)(uintptr_t)begin };
        file->begin = begin < file->begin ? begin : file->begin;
        file->end = end > file->end ? end : file->end;
    }
    return file->begin < file->end;
}

static uint64_t symbol(const struct sw_clr_exports *file, const struct sw_names_exports *exports, const char *name)
{
    uint64_t address;
    if (sw_names_exports_find(exports, name, &address) != SW_OK || address < file->begin || address >= file->end)
        return 0;
    return address;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    struct sw_clr_exports file = { 0 };
    struct sw_memory memory = sw_self_memory();
    struct sw_names_exports exports;
    (void)size;
    if (!is_file(info, &file, &memory.window) || sw_names_exports_open(&memory, file.begin, &exports) != SW_OK)
        return 0;
    file.table = symbol(&file, &exports, "g_dacTable");
    file.descriptor = symbol(&file, &exports, "DotNetRuntimeContractDescriptor");
    if (file.table == 0 && file.descriptor == 0)
        return 0;
    const bool is_it = search->code >= file.begin && search->code < file.end;
    if (is_it || search->found.begin == 0)
        search->found = file;
    return is_it;
}

struct sw_clr_exports sw_clr_host_exports(const void *code)
{
    struct search search = { .code = (uint64_t)(uintptr_t)code };
    dl_iterate_phdr(look_at, &search);
    return search.found;
}
