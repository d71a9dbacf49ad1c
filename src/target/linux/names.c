/*
 * Names of functions in images. The symbols of an ELF file are read and sorted once; behind that, a search only reads.
 * So has_names, which is set last, tells a signal handler that it may search. Knows when a name may be looked up;
 * refuses to know how names are stored (lib/elf, code/pe_name.c).
 */
#include "code/images.h"
#include "code/pe_name.h"
#include "elf/elf.h"

#include <snapwalk/names.h>

#include <string.h>

/* SW_E_NOT_FOUND: the image has no names. */
static enum sw_status load(struct sw_image_entry *entry)
{
    enum sw_status status = SW_OK;
    if (atomic_load_explicit(&entry->has_names, memory_order_acquire))
        return SW_OK;
    if (entry->no_names)
        return SW_E_NOT_FOUND;
    if (!entry->elf) /* its tables are used where they are mapped */
        status = sw_elf_open_names(entry->info.path, &entry->elf);
    entry->no_names = status != SW_OK && status != SW_E_NO_MEMORY;
    if (status == SW_OK)
        status = sw_elf_load_symbols(entry->elf);
    if (status == SW_OK)
        atomic_store_explicit(&entry->has_names, true, memory_order_release);
    return status == SW_OK || status == SW_E_NO_MEMORY ? status : SW_E_NOT_FOUND;
}

enum sw_status sw_names_load(struct sw_images *images)
{
    struct sw_image_entry *entry;
    enum sw_status status = images ? sw_images_lock(images) : SW_E_ARGUMENT;
    if (status != SW_OK)
        return status;
    for (size_t n = 0; (entry = sw_images_at(images, n)) != NULL; n++)
        if (!entry->info.is_pe && load(entry) == SW_E_NO_MEMORY)
            status = SW_E_NO_MEMORY;
    sw_images_unlock(images);
    return status;
}

static enum sw_status elf_name(const struct sw_image_entry *entry, uint64_t address, char *name, size_t size,
                               uint64_t *start)
{
    const char *symbol;
    uint64_t begin;
    if (!atomic_load_explicit(&entry->has_names, memory_order_acquire) ||
        sw_elf_symbol(entry->elf, address - entry->info.bias, &symbol, &begin, NULL) != SW_OK)
        return SW_E_NOT_FOUND;
    const size_t length = strnlen(symbol, size - 1);
    memcpy(name, symbol, length);
    name[length] = 0;
    *start = begin + entry->info.bias;
    return SW_OK;
}

static enum sw_status find(const struct sw_image_entry *entry, uint64_t address, char *name, size_t size,
                           uint64_t *start)
{
    uint64_t begin = 0;
    const enum sw_status status = !entry              ? SW_E_NOT_FOUND
                                  : entry->info.is_pe ? sw_image_pe_name(entry, address, name, size, &begin)
                                                      : elf_name(entry, address, name, size, &begin);
    if (status == SW_OK && start)
        *start = begin;
    return status;
}

enum sw_status sw_names_find(const struct sw_images *images, uint64_t address, char *name, size_t size, uint64_t *start)
{
    struct sw_section section;
    if (!images || !name || size == 0)
        return SW_E_ARGUMENT;
    sw_images_enter(images, &section);
    const enum sw_status status = find(sw_images_entry(images, address), address, name, size, start);
    sw_images_leave(images, &section);
    return status;
}

enum sw_status sw_images_name(const struct sw_images *images, uint64_t address, char *name, size_t size,
                              uint64_t *start)
{
    struct sw_section section;
    enum sw_status status = SW_OK;
    if (!images || !name || size == 0)
        return SW_E_ARGUMENT;
    sw_images_enter(images, &section);
    /* Only this call and sw_names_load change what belongs to names, and only one thread at a time may make them. */
    struct sw_image_entry *entry = (struct sw_image_entry *)(uintptr_t)sw_images_entry(images, address);
    if (entry && !entry->info.is_pe)
        status = load(entry);
    if (status == SW_OK)
        status = find(entry, address, name, size, start);
    sw_images_leave(images, &section);
    return status;
}
