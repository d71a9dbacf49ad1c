/* Finds a core's files, for the files that register them as images. */
#ifndef SW_TARGET_LINUX_CORE_H
#define SW_TARGET_LINUX_CORE_H

#include "target/core.h"

/*
 * Opens the files that may be images and are not open yet, if they are the files that were mapped. In a core without
 * NT_FILE, lists them first.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_core_find_files(struct sw_core *core, const struct sw_core_files *files);

#endif
