/*
 * Names of functions in PE images: methods of ReadyToRun code, exports of others. Knows which of the two an image has;
 * refuses to know how they are stored (lib/clr, lib/pe).
 */
#include "code/pe_name.h"

static enum sw_status method_name(const struct sw_image_entry *entry, uint64_t address, char *name, size_t size,
                                  uint64_t *start)
{
    struct sw_range method;
    if (sw_clr_image_method(&entry->clr, address, &method) != SW_OK ||
        sw_clr_image_name(&entry->clr, address, name, size) != SW_OK)
        return SW_E_NOT_FOUND;
    *start = method.id;
    return SW_OK;
}

static enum sw_status export_name(const struct sw_image_entry *entry, uint64_t address, char *name, size_t size,
                                  uint64_t *start)
{
    const uint64_t rva = address - entry->info.bias;
    uint32_t begin;
    if (rva > UINT32_MAX ||
        sw_pe_export_around(&entry->pe, entry->exceptions, (uint32_t)rva, name, size, &begin) != SW_OK)
        return SW_E_NOT_FOUND;
    *start = entry->info.bias + begin;
    return SW_OK;
}

enum sw_status sw_image_pe_name(const struct sw_image_entry *entry, uint64_t address, char *name, size_t size,
                                uint64_t *start)
{
    return entry->has_clr ? method_name(entry, address, name, size, start)
                          : export_name(entry, address, name, size, start);
}
