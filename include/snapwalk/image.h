/*
 * Images: the ELF and PE files that a target has mapped, with their unwind tables. They are registered outside of
 * signal handlers. A walk sees a consistent set.
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

/* Describes an image, for messages and names. The set owns `path`, which lives until the image is removed. */
struct sw_image {
    uint64_t begin;   /* lowest mapped address */
    uint64_t end;     /* one past the highest mapped address */
    uint64_t bias;    /* ELF: address in the target - address in the file; PE: the base address */
    const char *path; /* as given; "[vdso]" for the vdso */
    enum sw_machine machine;
    bool is_pe;
    bool is_ready_to_run;
};

/*
 * Makes an empty set of images; frees a set (NULL is allowed).
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Threads  Any. Destroy: no walk may be using the set. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_images_create(const struct sw_alloc *alloc, struct sw_images **images);
SW_API void sw_images_destroy(struct sw_images *images);

/*
 * Registers every image that this process has loaded now, and removes images that are gone. ELF images come from the
 * dynamic linker, PE images from the memory map; the vdso is included.
 *
 * Unwind tables and code of the program, and of the libraries that it needs, are used where they are mapped, without
 * a copy: should their file be cut short, this process ends in its own code anyway. Those of libraries that were opened
 * later, and of PE images, are copied from their files; where the file is not the mapped one any more, from where they
 * are mapped. Their code is read by the walker's reader. So a walk that meets an address in a library that was closed
 * or cut short does not fault: it ends, in a wrong or a cut frame at worst. Call this again after dlopen and dlclose.
 * Code that .eh_frame does not cover is looked up in the .debug_frame of the file, or of its MiniDebugInfo.
 *
 * It also notes which memory is executable (as sw_process_add_images and sw_core_add_images do): a return address
 * elsewhere is none. Memory of which nothing is known, since it came later or is anonymous, counts behind a call.
 *
 * On Windows these are the modules of the loader's list. The program, ntdll, kernel32, kernelbase and the module that
 * this library is in are used where they are mapped; others are copied whole, with their code, as they are mapped, so
 * that they may be unloaded. Call this again after LoadLibrary and FreeLibrary, or sw_images_follow_self (follow.h)
 * once; while it runs it holds a reference to every module.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_BUSY; SW_E_OS. An image with bad headers is left out.
 * Threads  One writer at a time; walks go on meanwhile. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_images_add_self(struct sw_images *images);

/*
 * Registers one ELF or PE file that a target has mapped. Built for Windows, the library knows PE files only: an ELF
 * file is SW_E_UNSUPPORTED, here and everywhere.
 *
 * path     The file to read; on Windows in UTF-8. Copied.
 * address  ELF: the address of file offset 0. PE: the base address.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_BUSY; SW_E_OVERLAP; SW_E_OS (open or map failed);
 *          SW_E_TRUNCATED, SW_E_MALFORMED, SW_E_UNSUPPORTED (not a file of these kinds); SW_E_LIMIT (nearly all of it
 *          is holes: snapwalk/limits.h).
 * Memory   Of an ELF file, headers, symbols and unwind tables are copied, of a PE file all; the file may change or be
 *          cut short afterwards. Several mappings of one file share that, and take about a kilobyte each.
 * Threads  One writer. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_images_add_file(struct sw_images *images, const char *path, uint64_t address);

/*
 * Registers an image that exists only in the target's memory. It is read through `memory`, and what was read is kept.
 * ELF: the vdso. PE: the image as it is mapped; its unreadable pages count as zeros.
 *
 * address  ELF: the address of file offset 0. PE: the base address.
 * size     In bytes, 1 to 64 MiB. Nothing of a PE image beyond it is seen.
 *
 * Returns  As sw_images_add_file; SW_E_UNREADABLE. Threads  One writer. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_images_add_memory(struct sw_images *images, const char *name, uint64_t address,
                                                        uint64_t size, const struct sw_memory *memory);

/*
 * Removes the image that begins at `begin`.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND; SW_E_NO_MEMORY; SW_E_BUSY. Threads  One writer. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_images_remove(struct sw_images *images, uint64_t begin);

/*
 * Finds the image at an address; or the method there, in a ReadyToRun image. The method's range has kind NGEN, and its
 * id is the address of the method's entry. A funclet has the id of its method.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_ARGUMENT.
 * Memory   Allocates nothing; image->path is borrowed. Threads  Any, wait-free. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_images_find(const struct sw_images *images, uint64_t address,
                                                  struct sw_image *image);
SW_API SW_NODISCARD enum sw_status sw_images_find_method(const struct sw_images *images, uint64_t address,
                                                         struct sw_range *method);

/*
 * Finds the name of the function at an address: an ELF symbol, "puts@plt" for the stub by which an ELF file calls that
 * function of another, Type::Method of a ReadyToRun method, or an export of another PE image. For people; slow.
 *
 * name     Receives a NUL-terminated string, cut to size - 1 bytes.
 * start    Receives the address where the function begins. May be null.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_ARGUMENT; SW_E_NO_MEMORY. Threads  One at a time. Signals  Not safe (allocates).
 */
SW_API SW_NODISCARD enum sw_status sw_images_name(const struct sw_images *images, uint64_t address, char *name,
                                                  size_t size, uint64_t *start);

/* The generation of the set: it changes with every change of the set. Threads  Any. Signals  Safe. */
SW_API uint64_t sw_images_generation(const struct sw_images *images);

#ifdef __cplusplus
}
#endif

#endif
