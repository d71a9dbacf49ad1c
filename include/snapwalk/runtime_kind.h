/*
 * Which runtimes a process or a core has: CoreCLR, HotSpot, mono, V8, CPython, .NET's NativeAOT, Go, CRuby, PHP. They
 * are known by what their files export, in the target's memory, whatever the files are called.
 *
 *     count = sw_process_runtimes(process, &runtime, 1);      // count 0: plain native code
 *     sw_runtime_kind_name(runtime.kind);
 */
#ifndef SNAPWALK_RUNTIME_KIND_H
#define SNAPWALK_RUNTIME_KIND_H

#include <snapwalk/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_process;
struct sw_core;

/* By rank: the first one in a process is what its threads are about. CLR: in a single-file program, too. */
enum sw_runtime_kind {
    SW_RUNTIME_NATIVE = 0, /* none that is known */
    SW_RUNTIME_CLR,
    SW_RUNTIME_HOTSPOT,
    SW_RUNTIME_MONO,
    SW_RUNTIME_V8, /* Node, and what else has V8 and exports its functions */
    SW_RUNTIME_PYTHON,
    SW_RUNTIME_NATIVE_AOT,
    SW_RUNTIME_GO,
    SW_RUNTIME_RUBY,
    SW_RUNTIME_PHP,
    SW_RUNTIME_KINDS
};

/* address: where the first byte of its file is mapped; for CLR what sw_clr_names_attach takes. */
struct sw_runtime {
    enum sw_runtime_kind kind;
    uint64_t address;
};

/* "CLR", "native"; "?" for what is no kind. Threads  Any. Signals  Safe. */
SW_API const char *sw_runtime_kind_name(enum sw_runtime_kind kind);

/*
 * Looks which runtime the ELF file is that is mapped at an address: by its exported symbols, or Go's note.
 *
 * memory   The target's.
 * address  Of file offset 0.
 *
 * Returns  SW_OK (NATIVE: none that is known); SW_E_ARGUMENT; SW_E_MALFORMED (no ELF file of 64 bits is there).
 * Memory   Allocates nothing; some 20 small reads. Threads  Any. Signals  Safe when memory->read is.
 * Source   clr-names.md section 1; jit-interfaces.md section 6; Go, cmd/internal/buildid (the note).
 */
SW_API SW_NODISCARD enum sw_status sw_runtime_at(const struct sw_memory *memory, uint64_t address,
                                                 enum sw_runtime_kind *kind);

/*
 * The runtimes of a process, as its memory map was in the last capture, else is now, or of a core: by rank, one of each
 * kind.
 *
 * runtimes  Receives the first `capacity`. May be null if that is 0.
 *
 * Returns  How many there are; 0: plain native code, or nothing can be read.
 * Memory   sw_process_runtimes: the memory map. Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API size_t sw_process_runtimes(struct sw_process *process, struct sw_runtime *runtimes, size_t capacity);
SW_API size_t sw_core_runtimes(struct sw_core *core, struct sw_runtime *runtimes, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
