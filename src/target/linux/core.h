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

/*
 * core_relocate.c. note_writable: of rows that the core has nothing of, the file says whether they were writable.
 * relocate: writes into a file's bytes what the dynamic linker would, mapped at that address: relative addresses.
 */
void sw_core_note_writable(struct sw_core *core, size_t file, struct sw_bytes bytes);
void sw_core_relocate(uint8_t *bytes, uint64_t size, uint64_t address);

/*
 * core_behind.c. Completes the bytes of an ELF file that was read (SW_ELF_WHOLE) with what the core's rows of it map
 * behind its segments. path: opens this very file.
 */
void sw_core_read_behind(const struct sw_core *core, size_t file, const char *path, struct sw_bytes bytes);

#endif
