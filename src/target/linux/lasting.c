/*
 * See lasting.h. Goes by the dynamic sections: an object that was there at the program's start is needed by another
 * such object, by its name. Of two objects of one name the first is that one, since libraries that are opened later
 * come last. Refuses to know what is done with objects that do not stay (images_self.c).
 *
 * Source: System V gABI, chapter 5, "Dynamic Section"; dl_iterate_phdr(3); dlclose(3).
 */
#include "target/linux/lasting.h"

#include <string.h>
#include <sys/auxv.h>

/* What the dynamic section of an object says, as far as it is wanted here. */
struct dynamic {
    const ElfW(Dyn) * rows;
    size_t count;
    const char *strings;
    size_t strings_size;
    const char *name; /* null: it has none */
    bool stays;
};

static bool is_inside(const struct dl_phdr_info *object, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uint64_t at = address - object->dlpi_addr - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && at < segment->p_memsz &&
            size <= segment->p_memsz - at)
            return true;
    }
    return false;
}

static bool find_rows(const struct dl_phdr_info *object, struct dynamic *dynamic)
{
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uint64_t address = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_DYNAMIC || !is_inside(object, address, segment->p_memsz))
            continue;
        dynamic->rows = (const ElfW(Dyn) *)(uintptr_t)address;
        dynamic->count = segment->p_memsz / sizeof *dynamic->rows;
        return true;
    }
    return false;
}

static const char *string_at(const struct dynamic *dynamic, uint64_t offset)
{
    const bool is_there = offset < dynamic->strings_size &&
                          memchr(dynamic->strings + offset, 0, dynamic->strings_size - (size_t)offset) != NULL;
    return is_there ? dynamic->strings + offset : NULL;
}

/* Linkers differ in whether they have relocated the address of the strings where it stands. */
static bool find_strings(const struct dl_phdr_info *object, uint64_t address, struct dynamic *dynamic)
{
    if (!is_inside(object, address, dynamic->strings_size))
        address += object->dlpi_addr;
    dynamic->strings = (const char *)(uintptr_t)address;
    return is_inside(object, address, dynamic->strings_size);
}

static bool open_dynamic(const struct dl_phdr_info *object, struct dynamic *dynamic)
{
    uint64_t strings = 0, name = UINT64_MAX;
    *dynamic = (struct dynamic){ 0 };
    if (!find_rows(object, dynamic))
        return false;
    for (size_t i = 0; i < dynamic->count && dynamic->rows[i].d_tag != DT_NULL; i++) {
        const ElfW(Dyn) *row = &dynamic->rows[i];
        if (row->d_tag == DT_STRTAB)
            strings = row->d_un.d_ptr;
        else if (row->d_tag == DT_STRSZ)
            dynamic->strings_size = row->d_un.d_val;
        else if (row->d_tag == DT_SONAME)
            name = row->d_un.d_val;
        else if (row->d_tag == DT_FLAGS_1)
            dynamic->stays = (row->d_un.d_val & DF_1_NODELETE) != 0;
    }
    if (!find_strings(object, strings, dynamic))
        return false;
    dynamic->name = string_at(dynamic, name);
    return true;
}

/* FNV-1a of what stands behind the last slash. */
static uint64_t hash_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = slash ? slash + 1 : path; *at; at++)
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    return hash;
}

static size_t number_of(const struct sw_lasting *lasting, uint64_t hash)
{
    size_t n = 0;
    while (n < lasting->count && lasting->names[n].hash != hash)
        n++;
    return n;
}

/* Whether the object is one that is needed, and the first of its name. */
static bool is_needed(struct sw_lasting *lasting, const struct dl_phdr_info *object, const struct dynamic *dynamic)
{
    const char *name = dynamic->name ? dynamic->name : object->dlpi_name;
    const size_t n = name ? number_of(lasting, hash_of(name)) : lasting->count;
    if (n == lasting->count || lasting->names[n].is_met)
        return false;
    lasting->names[n].is_met = true;
    return true;
}

static void note_needs(struct sw_lasting *lasting, const struct dynamic *dynamic)
{
    for (size_t i = 0; i < dynamic->count && dynamic->rows[i].d_tag != DT_NULL; i++) {
        const ElfW(Dyn) *row = &dynamic->rows[i];
        const char *name = row->d_tag == DT_NEEDED ? string_at(dynamic, row->d_un.d_val) : NULL;
        const uint64_t hash = name ? hash_of(name) : 0;
        if (name && lasting->count < SW_LASTING_NAMES && number_of(lasting, hash) == lasting->count) {
            lasting->names[lasting->count].hash = hash;
            lasting->names[lasting->count++].is_met = false;
        }
    }
}

bool sw_lasting_is(struct sw_lasting *lasting, const struct dl_phdr_info *object, uint64_t staying)
{
    const uint64_t linker = getauxval(AT_BASE), here = (uint64_t)(uintptr_t)&sw_lasting_is;
    const bool is_first = !lasting->began;
    struct dynamic dynamic;
    lasting->began = true;
    const bool has_dynamic = open_dynamic(object, &dynamic);
    const bool is_one = has_dynamic && is_needed(lasting, object, &dynamic); /* asked in any case: it marks the name */
    if (!is_first && !is_one && !dynamic.stays && !(linker != 0 && object->dlpi_addr == linker) &&
        !is_inside(object, here, 1) && !(staying != 0 && is_inside(object, staying, 1)))
        return false;
    if (has_dynamic)
        note_needs(lasting, &dynamic);
    return true;
}
