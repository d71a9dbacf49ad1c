/* Which mapped files captured stacks can lead into. */
#ifndef SW_TARGET_LINUX_CAPTURED_SITES_H
#define SW_TARGET_LINUX_CAPTURED_SITES_H

#include "target/linux/process.h"

/*
 * For each row of the memory map whether it begins such a file. The caller frees it: one byte a row, and one more.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_captured_sites(const struct sw_process *process, const struct sw_alloc *alloc, bool **sites);

#endif
