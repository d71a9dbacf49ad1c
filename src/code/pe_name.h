/* Names of functions in PE images, for people. */
#ifndef SW_CODE_PE_NAME_H
#define SW_CODE_PE_NAME_H

#include "code/images.h"

/*
 * The method (ReadyToRun code) or the export around an address of a PE image's entry.
 *
 * name     Receives a NUL-terminated string, cut to size - 1 bytes. start: receives where the function begins.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND. Set-up time: looks at every export.
 */
enum sw_status sw_image_pe_name(const struct sw_image_entry *entry, uint64_t address, char *name, size_t size,
                                uint64_t *start);

#endif
