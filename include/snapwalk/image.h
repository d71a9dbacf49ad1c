/*
 * Images: ELF and PE files mapped in a target, with the unwind tables they carry. Registered outside signal
 * handlers; walks see a consistent set.
 */
#ifndef SNAPWALK_IMAGE_H
#define SNAPWALK_IMAGE_H

#include <snapwalk/codemap.h>
#include <snapwalk/memory.h>
#include <snapwalk/regs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_images;

/* What an image is, for messages and names. `path` belongs to the set and lives until the image is removed. */
struct sw_image {
    uint64_t begin;   /* lowest mapped address */
    uint64_t end;     /* behind the highest mapped address */
    uint64_t bias;    /* address in the target - address in the file (ELF); the base address (PE) */
    const char *path; /* as it was given; "[vdso]" for the vdso */
    enum sw_machine machine;
    bool is_pe;
    bool is_ready_to_run;
};

/*
 * Makes an empty set of images; gives it back (NULL is allowed).
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Threads  Any; destroy: no walk may be inside. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_images_create(const struct sw_alloc *alloc, struct sw_images **images);
void sw_images_destroy(struct sw_images *images);

/*
 * Registers every image that this process has loaded now (ELF through the dynamic linker, the vdso, PE images from the
 * memory map), and forgets those that are gone. Unwind tables are used where they are mapped,
 * without a copy, so call it again after dlopen and dlclose, and let no walk meet code of a library that is being
 * unloaded. What .eh_frame does not cover is looked up in the .debug_frame of the file, or of the MiniDebugInfo in it;
 * such a file stays mapped for the life of its image.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_BUSY; SW_E_OS. An image whose headers are bad is left out.
 * Threads  One writer at a time, walks go on meanwhile. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_images_add_self(struct sw_images *images);

/*
 * Registers one ELF or PE file that is mapped in a target.
 *
 * path     The file to read; copied.
 * address  ELF: the address at which file offset 0 is mapped. PE: the base address.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_BUSY; SW_E_OVERLAP; SW_E_OS (open or map failed);
 *          SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED (not a file of these kinds).
 * Memory   Maps the file read-only for the life of the image: who cuts it short meanwhile brings SIGBUS on its readers.
 * Threads  One writer. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_images_add_file(struct sw_images *images, const char *path, uint64_t address);

/*
 * Registers an image that exists only in the target's memory: it is read through `memory` and kept. ELF: the vdso. PE: as
 * it is mapped; pages of it that cannot be read count as zeros.
 *
 * address  ELF: where file offset 0 is mapped. PE: the base address.
 * size     1 to 64 MiB. PE: what lies behind it is not seen.
 *
 * Returns  As sw_images_add_file; SW_E_UNREADABLE. Threads  One writer. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_images_add_memory(struct sw_images *images, const char *name, uint64_t address,
                                                 uint64_t size, const struct sw_memory *memory);

/*
 * Removes the image that begins at `begin`.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND; SW_E_NO_MEMORY; SW_E_BUSY. Threads  One writer. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_images_remove(struct sw_images *images, uint64_t begin);

/*
 * The image around an address, and for a ReadyToRun image the method there: its range (kind NGEN, id = the address of
 * the method's entry, funclets carry their method's id).
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_ARGUMENT.
 * Memory   Allocates nothing; image->path is borrowed. Threads  Any, wait-free. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_images_find(const struct sw_images *images, uint64_t address, struct sw_image *image);
SW_NODISCARD enum sw_status sw_images_find_method(const struct sw_images *images, uint64_t address,
                                                  struct sw_range *method);

/*
 * The name of the function at an address: an ELF symbol, Type::Method of a ReadyToRun method, or what another PE image
 * exports there. For people; slow.
 *
 * name     Receives a NUL-terminated string of at most size - 1 bytes, cut where it does not fit.
 * start    Receives the address at which the function begins; may be null.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_ARGUMENT. Threads  One at a time. Signals  Not safe (libelf).
 */
SW_NODISCARD enum sw_status sw_images_name(const struct sw_images *images, uint64_t address, char *name, size_t size,
                                           uint64_t *start);

/* Changes with every change of the set. Threads  Any. Signals  Safe. */
uint64_t sw_images_generation(const struct sw_images *images);

#ifdef __cplusplus
}
#endif

#endif
