/*
 * Names of functions where nothing may be allocated: in a crash handler, in a sampler. Symbols by their names.
 */
#ifndef SNAPWALK_NAMES_H
#define SNAPWALK_NAMES_H

#include <snapwalk/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads the symbols of all images that are registered, so that sw_names_find knows them. Call it after
 * sw_images_add_self, and again when images were added: what was read before stays.
 *
 * Returns  SW_OK (an image whose file cannot be read has no names); SW_E_ARGUMENT; SW_E_NO_MEMORY (some were read);
 *          SW_E_BUSY.
 * Memory   By malloc: what a file's symbols take, and 48 bytes a function, until the image is removed.
 * Threads  One writer at a time, and none in sw_images_name; walks and sw_names_find go on. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_names_load(struct sw_images *images);

/*
 * Finds the name of the function at an address, as sw_images_name does, but only among names that are loaded: of ELF
 * images by sw_names_load, of PE images always. For code without a name there is sw_names_module.
 *
 * address  Of a frame: its lookup.
 * name     Receives a NUL-terminated string, cut to size - 1 bytes.
 * start    Receives the address where the function begins. May be null.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_ARGUMENT.
 * Memory   None. Threads  Any, wait-free. Signals  Safe: no lock, no allocation, no system call.
 */
SW_API SW_NODISCARD enum sw_status sw_names_find(const struct sw_images *images, uint64_t address, char *name,
                                                 size_t size, uint64_t *start);

/*
 * Finds the module that an address is in, and where in its file: what `addr2line -e MODULE OFFSET` and debuggers take.
 * No names need be loaded.
 *
 * name     Receives the last part of the module's path, NUL-terminated, cut to size - 1 bytes.
 * offset   Receives the address as the file has it: in ELF files, addresses of symbols and of objdump; in PE files,
 *          relative to the base.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no image is there: JIT code has none); SW_E_ARGUMENT.
 * Memory   None. Threads  Any, wait-free. Signals  Safe: no lock, no allocation, no system call.
 */
SW_API SW_NODISCARD enum sw_status sw_names_module(const struct sw_images *images, uint64_t address, char *name,
                                                   size_t size, uint64_t *offset);

/*
 * Finds a symbol, code or data, by its name: in .symtab or .dynsym of the ELF images, in the order of the set. Of
 * images that are used where this process has them mapped, in .dynsym.
 *
 * address  Receives its address in the target.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no image has it; always on Windows); SW_E_ARGUMENT; SW_E_BUSY.
 * Memory   Allocates nothing. Threads  One writer. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_images_symbol(struct sw_images *images, const char *name, uint64_t *address);

#ifdef __cplusplus
}
#endif

#endif
