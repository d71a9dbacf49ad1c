/*
 * Where a target keeps the list of objects for gdb: a symbol of one of its files. Source: GDB manual, "JIT Interface".
 */
#include "code/images.h"
#include "elf/elf.h"

#include <snapwalk/gdb_jit.h>

enum sw_status sw_gdb_jit_find(struct sw_images *images, uint64_t *descriptor)
{
    const struct sw_image_entry *entry;
    uint64_t address;
    if (!images || !descriptor)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    status = SW_E_NOT_FOUND;
    for (size_t n = 0; status == SW_E_NOT_FOUND && (entry = sw_images_at(images, n)) != NULL; n++)
        if (entry->elf && sw_elf_find(entry->elf, "__jit_debug_descriptor", &address) == SW_OK) {
            *descriptor = entry->info.bias + address;
            status = SW_OK;
        }
    sw_images_unlock(images);
    return status;
}
