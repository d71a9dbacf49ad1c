/*
 * Names of managed methods, read from the memory of a process that runs CoreCLR, or of its core: no perf map, no event,
 * no debugger interface of the runtime. Versions 10 (x64; ARM64 by its own description), 9 and 8 (x64).
 *
 *     sw_clr_names_create(NULL, &memory, 0, &names);
 *     sw_clr_names_attach(names, address_of_libcoreclr);      // or of a single-file program
 *     sw_clr_names_find(names, pc, 0, &range);                // range.id: the method
 *     sw_clr_names_method(names, range.id, 0, text, sizeof text, &name);
 */
#ifndef SNAPWALK_CLR_NAMES_H
#define SNAPWALK_CLR_NAMES_H

#include <snapwalk/alloc.h>
#include <snapwalk/codemap.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_clr_names;

/*
 * Makes a reader of names; frees one (NULL is allowed).
 *
 * memory   The target's: copied; its arg is borrowed until destroy.
 * bytes    The most memory it may use for copies of the target's pages and for tables; 0: 4 MiB. At least 256 KiB.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (also: too few bytes); SW_E_NO_MEMORY.
 * Memory   All of it now; sw_clr_names_attach takes more for the time being, at most 1 MiB.
 * Threads  Any. Destroy: no call may be using it. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_names_create(const struct sw_alloc *alloc, const struct sw_memory *memory,
                                                       size_t bytes, struct sw_clr_names **names);
SW_API void sw_clr_names_destroy(struct sw_clr_names *names);

/*
 * Looks whether the ELF file that is mapped at an address is the runtime: libcoreclr.so, or a single-file program.
 * Replaces the runtime found before, if it is one.
 *
 * address  Of file offset 0.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (not a runtime); SW_E_MALFORMED (no ELF file there, or a broken
 *          description); SW_E_UNREADABLE; SW_E_UNSUPPORTED (a version of which too little is known); SW_E_NO_MEMORY.
 * Threads  One call at a time. Signals  Not safe.
 * Source   clr-names.md section 1; dotnet/runtime docs/design/datacontracts/contract-descriptor.md.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_names_attach(struct sw_clr_names *names, uint64_t address);

/* The major version of the runtime found; 0: none is. Threads  Any. Signals  Safe. */
SW_API unsigned sw_clr_names_release(const struct sw_clr_names *names);

/*
 * Forgets what was read of the target: call it when the target has run since. Names of a stopped target, and of a core,
 * need it never.
 *
 * Memory   None. Threads  One call at a time. Signals  Safe.
 */
SW_API void sw_clr_names_renew(struct sw_clr_names *names);

/*
 * Finds the managed code at a pc (of a return address: pc - 1), as the runtime does.
 *
 * entry    Where its precompiled method begins, if that is known (sw_images_find_method gives it as id); 0: it is not.
 * range    Receives kind JIT: begin, end, and in id the method (its MethodDesc); image 1: collectible code. Kind NGEN:
 *          id, and begin = entry.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no managed code, a stub, a precompiled method that was never prepared
 *          or whose entry is not given, one of version 8 or 9, or what was read does not fit together).
 * Memory   Allocates nothing. Threads  One call at a time. Signals  Not safe.
 * Source   clr-names.md section 2.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_names_find(struct sw_clr_names *names, uint64_t pc, uint64_t entry,
                                                     struct sw_range *range);

/*
 * Tells a set that nobody needs to know which parts of ReadyToRun images make up a method: to find out reads much of a
 * large file, for the core library some 30 million instructions. Walks have the same frames. The ranges of methods in
 * images that are registered from now on begin and end as before, but of a funclet or cold part the id is its own
 * address, no part has a flag, and sw_images_name and sw_names_find know none of them. A set of whole images, made
 * later, can be asked for single ones, or sw_clr_names_find_precompiled.
 *
 * Memory  None. Threads  One writer. Signals  Not safe.
 */
SW_API void sw_images_skip_methods(struct sw_images *images);

/*
 * Finds the precompiled method at a pc without its entry, as the runtime does: for sets of images that do not know
 * methods (sw_images_skip_methods).
 *
 * range    Receives kind NGEN, id, and begin: its entry; end: behind the pc.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (as sw_clr_names_find; code of composite images, cold parts).
 * Memory   Allocates nothing. Threads  One call at a time. Signals  Not safe.
 * Source   clr-names.md section 2; dotnet/runtime docs/design/datacontracts/ExecutionManager.md.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_names_find_precompiled(struct sw_clr_names *names, uint64_t pc,
                                                                 struct sw_range *range);

/*
 * Finds where the precompiled image around a pc is mapped, as the runtime has it: also an image inside a single-file
 * program, which no file's first page tells of. sw_images_add_memory registers it, and checks what is there.
 *
 * begin, end  Receive [begin, end), which is unchecked data of the target.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (none, or what was read does not fit together).
 * Memory   Allocates nothing. Threads  One call at a time. Signals  Not safe.
 * Source   clr-names.md section 2.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_names_image(struct sw_clr_names *names, uint64_t pc, uint64_t *begin,
                                                      uint64_t *end);

/*
 * A method's name, in parts: strings in the caller's buffer, never null.
 *
 * module       "System.Private.CoreLib"
 * type         "Namespace.Outer+Type<int, System.__Canon>". References share code: __Canon stands for all of them.
 *              "dynamicClass" for dynamic methods and the runtime's own stubs.
 * method       "Method<int>". Of a state machine, lambda or local function: the one that was written.
 * parameters   "(int, string)"; empty for state machines, and if SW_CLR_NAMES_BARE was asked for.
 * result       The return type; empty likewise.
 * is_dynamic   It has no metadata. Its MethodDesc may become another method's: do not keep the name by it.
 * is_resumed   A state machine stood for the method.
 * is_cut       The buffer was too small.
 */
struct sw_clr_name {
    const char *module, *type, *method, *parameters, *result;
    bool is_dynamic, is_resumed, is_cut;
};

/* RAW: compilers' names as they are. BARE: no signature. RUNTIME: written as in the runtime's perf map; RAW, too. */
enum { SW_CLR_NAMES_RAW = 1, SW_CLR_NAMES_BARE = 2, SW_CLR_NAMES_RUNTIME = 4 };

/*
 * Names a method.
 *
 * method   Its MethodDesc (a FunctionID).
 * buffer   Receives the parts, one behind the other; 2 KiB are enough for nearly all.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no runtime was found, or no metadata); SW_E_UNREADABLE; SW_E_MALFORMED
 *          (what was read does not fit together); SW_E_LIMIT (a signature over 2 KiB, or too many parts).
 * Memory   Allocates nothing; about 24 KiB of stack. Threads  One call at a time. Signals  Not safe.
 * Source   clr-names.md sections 3 to 5; ECMA-335 II.22 to II.24.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_names_method(struct sw_clr_names *names, uint64_t method, unsigned flags,
                                                       char *buffer, size_t size, struct sw_clr_name *name);

/*
 * What an instruction was made from.
 *
 * image      Where the module's PE image is mapped, by sections or as its file: unchecked data of the target.
 * token      The MethodDef, of what the compiler made: of a state machine its MoveNext.
 * il_offset  Of the instruction in IL. In a portable PDB the sequence point at or in front of it has the line.
 */
struct sw_clr_place {
    uint64_t image;
    uint32_t token, il_offset;
};

/*
 * Finds what an address in managed code was made from, by what the JIT noted. Code of methods that were inlined is
 * where they were called.
 *
 * pc       Of a return address: pc - 1.
 * range    Around it: kind JIT, begin and id; kind NGEN, id. From sw_clr_names_find, or made from another source.
 *
 * place    Also where the answer is not SW_OK, image and token are what was found; else 0.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no runtime was found, code without metadata, of composite images, or
 *          of which nothing was noted; what was read does not fit together).
 * Memory   Allocates nothing. Threads  One call at a time. Signals  Not safe.
 * Source   clr-names.md section 10.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_names_place(struct sw_clr_names *names, uint64_t pc,
                                                      const struct sw_range *range, struct sw_clr_place *place);

/*
 * Finds where a method's module was loaded from.
 *
 * method   Its MethodDesc (a FunctionID).
 * image    Receives where the module's PE image is mapped, as in struct sw_clr_place.
 * path     Receives the file's path in UTF-8, as the target has it: unchecked data. Empty: it was loaded from bytes. Of
 *          a single-file program it is where the file would be. May be null.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no runtime was found, no such method, or code without metadata).
 * Memory   Allocates nothing. Threads  One call at a time. Signals  Not safe.
 * Source   clr-names.md section 4.
 */
SW_API SW_NODISCARD enum sw_status sw_clr_names_file(struct sw_clr_names *names, uint64_t method, uint64_t *image,
                                                     char *path, size_t size);

#ifdef __cplusplus
}
#endif

#endif
