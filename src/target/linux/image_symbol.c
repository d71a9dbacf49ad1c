/* Symbols of a target's files by their names. */
#include "code/images.h"
#include "elf/elf.h"

#include <snapwalk/names.h>

enum sw_status sw_images_symbol(struct sw_images *images, const char *name, uint64_t *address)
{
    const struct sw_image_entry *entry;
    uint64_t linked;
    if (!images || !name || !address)
        return SW_E_ARGUMENT;
    if (!*name)
        return SW_E_NOT_FOUND; /* section symbols have that name */
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    status = SW_E_NOT_FOUND;
    for (size_t n = 0; status == SW_E_NOT_FOUND && (entry = sw_images_at(images, n)) != NULL; n++)
        if (entry->elf && sw_elf_find(entry->elf, name, &linked) == SW_OK) {
            *address = entry->info.bias + linked;
            status = SW_OK;
        }
    sw_images_unlock(images);
    return status;
}
