/* This system's files have no symbols that could be found by their names. */
#include <snapwalk/names.h>

enum sw_status sw_images_symbol(struct sw_images *images, const char *name, uint64_t *address)
{
    return images && name && address ? SW_E_NOT_FOUND : SW_E_ARGUMENT;
}
