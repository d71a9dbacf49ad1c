/*
 * An ELF core file as a target: of an x64 or ARM64 Linux process, on any host. Written by the kernel, gdb or qemu.
 */
#ifndef SNAPWALK_CORE_H
#define SNAPWALK_CORE_H

#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_core;

/*
 * Opens a core by its path, or one that lies in memory.
 *
 * path     Mapped read-only until close, however large: who cuts it short meanwhile brings SIGBUS on its readers.
 * bytes    Borrowed until close.
 *
 * Returns  SW_OK, also for a core that ends too early: what it does hold is there; SW_E_ARGUMENT; SW_E_GONE,
 *          SW_E_PERMISSION, SW_E_OS (open or map failed); SW_E_NO_MEMORY; SW_E_TRUNCATED, SW_E_MALFORMED (no ELF);
 *          SW_E_UNSUPPORTED (no core file, 32-bit, another machine).
 * Memory   In proportion to the number of segments, threads and mapped files, never to their size.
 * Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_core_open(const struct sw_alloc *alloc, const char *path, struct sw_core **core);
SW_NODISCARD enum sw_status sw_core_open_bytes(const struct sw_alloc *alloc, const void *bytes, size_t size,
                                               struct sw_core **core);

/*
 * Gives a core back, and the files that it opened. Image sets that sw_core_add_images filled use those: destroy these
 * first, or remove the images.
 *
 * core     NULL is allowed.
 *
 * Threads  Any; no walk may be inside. Signals  Not safe.
 */
void sw_core_close(struct sw_core *core);

/*
 * The process that the core was made of. What the core does not tell is 0 or empty.
 *
 * name, arguments  As the process had them: any bytes but 0.
 * crashed  The thread whose signal made the core: the first one in it, if that has a signal.
 * entry    Where the program begins. vdso: where the kernel's own image is mapped.
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
 * One thread.
 *
 * signal   As its record says; 0: none. The kernel writes the one that ended the process into every thread's. code: its
 *          si_code, of the crashed thread.
 * has_fault  The signal is a faulting instruction's and names `fault`.
 * pac_mask ARM64: the bits of a code address that hold a signature, as the kernel told; 0: not told.
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
 * The process; the thread ids, main thread first, the others as they stand in the core (the kernel writes the one that
 * crashed first); one thread; its registers.
 *
 * Returns  The number of threads, whatever the capacity. / SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no such thread).
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 * Source   Linux NT_PRSTATUS, NT_PRPSINFO, NT_SIGINFO, NT_AUXV, NT_ARM_PAC_MASK.
 */
SW_NODISCARD enum sw_status sw_core_describe(const struct sw_core *core, struct sw_core_info *about);
size_t sw_core_threads(const struct sw_core *core, uint64_t *tids, size_t capacity);
SW_NODISCARD enum sw_status sw_core_find_thread(const struct sw_core *core, uint64_t tid,
                                                struct sw_core_thread *thread);
SW_NODISCARD enum sw_status sw_core_regs(const struct sw_core *core, uint64_t tid, struct sw_regs *regs);

/*
 * Where the files come from that the process had mapped: a core seldom holds their code.
 *
 * sysroot  A folder that the paths of the core begin in; NULL: they are paths of this machine, or there are none but
 *          those that `open` knows. Where it has no such file, the path as it stands is tried, and taken only when it
 *          is found to be the very file.
 * open     Asked before the file system, may be null: gives the bytes of a file, aligned to 8, which stay until
 *          close; or false.
 * close    Gives them back; may be null.
 * arg      Borrowed, as long as the core.
 */
struct sw_core_files {
    const char *sysroot;
    bool (*open)(void *arg, const char *path, const void **bytes, size_t *size);
    void (*close)(void *arg, const void *bytes, size_t size);
    void *arg;
};

/*
 * Registers the images that the process had mapped: those of NT_FILE or, where a core has no such note, those that the
 * dynamic linker lists; and the vdso. A file is compared with what the core holds of it, by the build id, else by its
 * first page, else by its dynamic section; one that is another file is refused, one that cannot be compared is taken.
 * Memory of files that were not written into the core is read from them from now on. May be called again, for
 * other sets, or with other `files` for those that were missing.
 *
 * files    NULL: paths of this machine.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_BUSY (another writer is inside `images`); SW_E_NO_MEMORY. What could not be
 *          registered is left out: sw_core_file tells.
 * Memory   From the allocators of `core` and `images`; files are mapped until the core is closed.
 * Threads  One at a time, and no walk of this core meanwhile. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_core_add_images(struct sw_core *core, const struct sw_core_files *files,
                                               struct sw_images *images);

/* What came of a file. ORDER sw_core_file_state: src/core.c names them. */
enum sw_core_file_state {
    SW_CORE_FILE_MISSING = 0, /* there is no such file, or it could not be read */
    SW_CORE_FILE_OTHER,       /* refused: it is not the file that was mapped */
    SW_CORE_FILE_BAD,         /* refused: no ELF or PE file that makes sense */
    SW_CORE_FILE_UNCHECKED,   /* taken; the core holds nothing of it to compare it with */
    SW_CORE_FILE_CHECKED,     /* taken: it is the file that was mapped */
    SW_CORE_FILE_COUNT
};

struct sw_core_file {
    const char *path; /* as the core has it; borrowed until close */
    uint64_t address; /* where its first byte is mapped */
    enum sw_core_file_state state;
};

/*
 * The files that sw_core_add_images looked for, by number; the name of a state: "missing".
 *
 * Returns  False past the last. / A constant string, "?" for what is none.
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
bool sw_core_get_file(const struct sw_core *core, size_t number, struct sw_core_file *file);
const char *sw_core_file_state_name(enum sw_core_file_state state);

/*
 * A walker for one thread: its stack is the segment around sp, served from the core without a copy; a thread's pac_mask
 * is the walker's.
 *
 * regs     The thread's own, or others of it (from a signal frame, an exception record).
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no such thread).
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_core_walker(struct sw_core *core, uint64_t tid, const struct sw_regs *regs,
                                           const struct sw_codemap *codemap, const struct sw_images *images,
                                           struct sw_walker *walker);

/*
 * The memory that the core holds, and that of the files found, where it was not writable. `core` is borrowed.
 *
 * Returns  A reader without a window. Threads  Any. Signals  Safe.
 */
struct sw_memory sw_core_memory(struct sw_core *core);

#ifdef __cplusplus
}
#endif

#endif
