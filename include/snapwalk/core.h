/*
 * An ELF core file as a target: the core of an x64 or ARM64 Linux process, written by the kernel, gdb or qemu. Any host
 * can read it.
 */
#ifndef SNAPWALK_CORE_H
#define SNAPWALK_CORE_H

#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_core;

/*
 * Opens a core by its path, or a core in memory.
 *
 * path     The file stays open until close, and is read as it is looked at. What is cut off meanwhile reads as zeros.
 * bytes    Borrowed until close.
 *
 * Returns  SW_OK, also for a core that ends early: the part that exists can be used; SW_E_ARGUMENT; SW_E_GONE,
 *          SW_E_PERMISSION, SW_E_OS (open or map failed); SW_E_NO_MEMORY; SW_E_TRUNCATED, SW_E_MALFORMED (not ELF);
 *          SW_E_UNSUPPORTED (not a core, 32-bit, or another machine).
 * Memory   In proportion to the number of segments, threads and mapped files, and to what is looked at.
 * Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_core_open(const struct sw_alloc *alloc, const char *path, struct sw_core **core);
SW_API SW_NODISCARD enum sw_status sw_core_open_bytes(const struct sw_alloc *alloc, const void *bytes, size_t size,
                                                      struct sw_core **core);

/*
 * Closes a core and the files that it opened. NULL is allowed. Image sets that sw_core_add_images filled use those
 * files, so first destroy these sets or remove the images.
 *
 * Threads  Any; no walk may be using the core. Signals  Not safe.
 */
SW_API void sw_core_close(struct sw_core *core);

/*
 * How many bytes a core lacks at its end: it was cut off as it was written or copied, by a full disk or a limit
 * (ulimit -c). What lay there cannot be read, and walks end at it.
 *
 * Returns  0 for a whole one, and for NULL.
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_API uint64_t sw_core_missing_bytes(const struct sw_core *core);

/*
 * Describes the process of a core. What the core does not contain is 0 or empty.
 *
 * crashed  The thread whose signal caused the core: the first thread in the core, if it has a signal.
 * entry    Where the program starts.
 * vdso     Where the kernel's own image is mapped.
 * name, arguments  As the process had them; they may contain any bytes except 0.
 */
struct sw_core_info {
    enum sw_machine machine;
    uint64_t pid;
    uint64_t crashed;
    uint64_t entry;
    uint64_t vdso;
    char name[17];
    char arguments[81];
};

/*
 * Describes one thread.
 *
 * pac_mask ARM64: the bits of a code address that hold its signature, as the kernel reported them. 0: not reported.
 * fault    The address that the faulting instruction used, if has_fault.
 * signal   The signal in the thread's record; 0: none. The kernel writes the signal that ended the process into the
 *          record of every thread.
 * code     The si_code of that signal, for the crashed thread.
 * has_fault  An instruction caused the signal, and the core has its address in `fault`.
 */
struct sw_core_thread {
    uint64_t tid;
    uint64_t pac_mask;
    uint64_t fault;
    int32_t signal;
    int32_t code;
    bool has_fault;
};

/*
 * sw_core_describe describes the process. sw_core_threads lists the thread ids: the main thread first, the others in
 * the order of the core, where the kernel writes the crashed thread first. sw_core_find_thread describes one thread.
 * sw_core_regs reads its registers.
 *
 * tids     Receives the first `capacity` ids.
 *
 * Returns  sw_core_threads: the number of threads, whatever the capacity. The others: SW_OK; SW_E_ARGUMENT;
 *          SW_E_NOT_FOUND (no such thread).
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 * Source   Linux NT_PRSTATUS, NT_PRPSINFO, NT_SIGINFO, NT_AUXV, NT_ARM_PAC_MASK.
 */
SW_API SW_NODISCARD enum sw_status sw_core_describe(const struct sw_core *core, struct sw_core_info *info);
SW_API size_t sw_core_threads(const struct sw_core *core, uint64_t *tids, size_t capacity);
SW_API SW_NODISCARD enum sw_status sw_core_find_thread(const struct sw_core *core, uint64_t tid,
                                                       struct sw_core_thread *thread);
SW_API SW_NODISCARD enum sw_status sw_core_regs(const struct sw_core *core, uint64_t tid, struct sw_regs *regs);

/*
 * Finds the files that the process had mapped. A core seldom contains their code.
 *
 * sysroot  The folder in which the core's paths begin. If it has no such file, the path itself is tried, and that file
 *          is taken only if it is proved to be the one that was mapped. NULL: the core's paths are paths of this
 *          machine.
 * open     Asked before the file system. Gives the bytes of a file, aligned to 8, which must stay until close; or
 *          returns false. May be null.
 * close    Takes the bytes back. May be null.
 * arg      Passed to open and close. Borrowed until the core is closed.
 */
struct sw_core_files {
    const char *sysroot;
    bool (*open)(void *arg, const char *path, const void **bytes, size_t *size);
    void (*close)(void *arg, const void *bytes, size_t size);
    void *arg;
};

/*
 * Registers the images that the process had mapped, and the vdso. They are listed in the note NT_FILE or, in a core
 * without it, by the dynamic linker.
 *
 * Each file is compared with its part in the core: by build id, else by its first page, else by its dynamic section. A
 * different file is refused. A file that cannot be compared is taken. From now on, memory of files that is not in the
 * core is read from the files. Call it again for other sets, or with other `files` for those that were missing.
 *
 * files    NULL: the core's paths are paths of this machine.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_BUSY (another writer is changing `images`); SW_E_NO_MEMORY. An image that could
 *          not be registered is left out; sw_core_get_file says why.
 * Memory   From the allocators of `core` and `images`. Files stay mapped until the core is closed.
 * Threads  One call at a time, and no walk of this core meanwhile. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_core_add_images(struct sw_core *core, const struct sw_core_files *files,
                                                      struct sw_images *images);

/* The result for one file. ORDER sw_core_file_state: src/target/core.c. */
enum sw_core_file_state {
    SW_CORE_FILE_MISSING = 0, /* not found, or not readable */
    SW_CORE_FILE_OTHER,       /* refused: it is another file than the one that was mapped */
    SW_CORE_FILE_BAD,         /* refused: not a valid ELF or PE file */
    SW_CORE_FILE_UNCHECKED,   /* taken: the core has nothing to compare it with */
    SW_CORE_FILE_CHECKED,     /* taken: it is the file that was mapped */
    SW_CORE_FILE_COUNT
};

/* A file that sw_core_add_images looked for, and what became of it. */
struct sw_core_file {
    const char *path; /* as in the core; borrowed until close */
    uint64_t address; /* where its first byte is mapped */
    enum sw_core_file_state state;
};

/*
 * sw_core_get_file describes a file that sw_core_add_images looked for, by its number from 0; not one that turned out
 * to be data: no image, and the core does not say that it was executed. sw_core_file_state_name is the name of a state
 * for people: "missing".
 *
 * Returns  sw_core_get_file: false past the last file. The other: a constant string; "?" out of range.
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_API bool sw_core_get_file(const struct sw_core *core, size_t number, struct sw_core_file *file);
SW_API const char *sw_core_file_state_name(enum sw_core_file_state state);

/*
 * Makes a walker for one thread. Its stack is the segment that holds sp, with those that touch it and have the same
 * rights; that segment is read from the core without a copy. The walker has the thread's pac_mask and
 * SW_WALK_BUDGET_UNLIMITED.
 *
 * regs     The thread's registers: its own, or others (from a signal frame or an exception record).
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no such thread).
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_core_walker(struct sw_core *core, uint64_t tid, const struct sw_regs *regs,
                                                  const struct sw_codemap *codemap, const struct sw_images *images,
                                                  struct sw_walker *walker);

/*
 * A reader of the memory in the core, and of memory of the files that were found, if it was not writable. `core` is
 * borrowed.
 *
 * Returns  A reader without a window. Threads  Any. Signals  Safe.
 */
SW_API struct sw_memory sw_core_memory(struct sw_core *core);

#ifdef __cplusplus
}
#endif

#endif
