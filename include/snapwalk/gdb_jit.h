/*
 * Code that a JIT compiler tells gdb of: LLVM's compilers (Julia, PostgreSQL, numba), Wasmtime and others register an
 * ELF object in memory for what they compile. Such objects are found in a process or a core: functions with names, and
 * their call frame information, by which walks know the frames exactly.
 *
 *     sw_gdb_jit_create(NULL, &jit);
 *     if (sw_gdb_jit_find(images, &descriptor) == SW_OK)
 *         sw_gdb_jit_read(jit, &memory, descriptor, images, codemap);
 */
#ifndef SNAPWALK_GDB_JIT_H
#define SNAPWALK_GDB_JIT_H

#include <snapwalk/image.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_gdb_jit;

/*
 * Makes an empty reader; frees a reader (NULL is allowed). What it has registered stays where it is.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY. Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_gdb_jit_create(const struct sw_alloc *alloc, struct sw_gdb_jit **jit);
SW_API void sw_gdb_jit_destroy(struct sw_gdb_jit *jit);

/*
 * Finds the list: the symbol __jit_debug_descriptor of an ELF image.
 *
 * descriptor  Receives its address in the target.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no image has it; always on Windows); SW_E_ARGUMENT; SW_E_BUSY.
 * Memory   Allocates nothing. Threads  One writer. Signals  Not safe.
 * Source   GDB manual, "JIT Interface".
 */
SW_API SW_NODISCARD enum sw_status sw_gdb_jit_find(struct sw_images *images, uint64_t *descriptor);

/*
 * Reads the list and the objects in it. Code of an object becomes an image, if it has call frame information, and its
 * functions ranges of kind JIT, whose id is their address. Objects that were seen before stay; those that are gone are
 * removed. The target must not change its list meanwhile: it is stopped, or a core; of a running process what was read
 * may be cut, and the next call reads it again.
 *
 * memory   The target's. images, codemap: borrowed; the same ones in every call.
 *
 * Returns  SW_OK, also if an object in the list was broken and left out (sw_gdb_jit_objects); SW_E_ARGUMENT;
 *          SW_E_UNREADABLE (the descriptor); SW_E_UNSUPPORTED (its version is not 1); SW_E_LIMIT (over 32,768 objects,
 *          one over 64 MiB, or over 512 MiB of them; the first ones are there); SW_E_NO_MEMORY; SW_E_BUSY.
 * Memory   A copy of each object. Threads  One call at a time; walks go on. Signals  Not safe.
 * Source   GDB manual, "JIT Interface"; jit-interfaces.md section 4.
 */
SW_API SW_NODISCARD enum sw_status sw_gdb_jit_read(struct sw_gdb_jit *jit, const struct sw_memory *memory,
                                                   uint64_t descriptor, struct sw_images *images,
                                                   struct sw_codemap *codemap);

/*
 * How many objects the last read has taken, and how many it left out: no ELF object for this machine, or without code.
 *
 * bad      Receives the latter; may be null.
 *
 * Returns  Their number. Threads  Any. Signals  Safe.
 */
SW_API size_t sw_gdb_jit_objects(const struct sw_gdb_jit *jit, size_t *bad);

/*
 * Names the function at an address.
 *
 * start    Receives where it begins; may be null.
 *
 * Returns  Its name, valid until the next read; null: none is known. Threads  Any, while no read is going on.
 * Signals  Safe.
 */
SW_API const char *sw_gdb_jit_name(const struct sw_gdb_jit *jit, uint64_t address, uint64_t *start);

#ifdef __cplusplus
}
#endif

#endif
