/*
 * How a core's files are found, for the files that register them as images.
 */
#ifndef SW_OS_CORE_LINUX_H
#define SW_OS_CORE_LINUX_H

#include "target/core.h"

/*
 * Opens the files that may be images and are not open yet, where they are those that were mapped; lists them first, in
 * a core without NT_FILE.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_core_find_files(struct sw_core *core, const struct sw_core_files *files);

#endif
