/* No image of this system has the list of objects for gdb that could be found by a symbol. */
#include <snapwalk/gdb_jit.h>

enum sw_status sw_gdb_jit_find(struct sw_images *images, uint64_t *descriptor)
{
    return images && descriptor ? SW_E_NOT_FOUND : SW_E_ARGUMENT;
}
