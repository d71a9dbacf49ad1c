/*
 * The module that an address is in, for reports that are read later, elsewhere. Knows images; refuses to know symbols.
 */
#include "code/images.h"

#include <snapwalk/names.h>

#include <string.h>

/* Behind the last folder. A backslash separates folders in paths of Windows only. */
static const char *last_part(const struct sw_image *image)
{
    const char *part = image->path;
    for (const char *at = image->path; *at; at++)
        if (*at == '/' || (image->is_pe && *at == '\\'))
            part = at + 1;
    return part;
}

static void copy_name(char *to, size_t size, const char *name)
{
    const size_t length = strlen(name), part = length < size ? length : size - 1;
    memcpy(to, name, part);
    to[part] = 0;
}

enum sw_status sw_names_module(const struct sw_images *images, uint64_t address, char *name, size_t size,
                               uint64_t *offset)
{
    struct sw_section section;
    if (!images || !name || size == 0 || !offset)
        return SW_E_ARGUMENT;
    sw_images_enter(images, &section);
    const struct sw_image_entry *entry = sw_images_entry(images, address);
    if (entry) {
        copy_name(name, size, last_part(&entry->info));
        *offset = address - entry->info.bias;
    }
    sw_images_leave(images, &section);
    return entry ? SW_OK : SW_E_NOT_FOUND;
}
