/*
 * What a running CoreCLR publishes about itself: the offsets in its structures (its data contract descriptor, and what
 * is known beforehand of each version), and from these a thread's state, its transition records, and JIT code by
 * address.
 */
#ifndef SW_CLR_RUNTIME_H
#define SW_CLR_RUNTIME_H

#include "base/memory.h"

#include <snapwalk/alloc.h>
#include <snapwalk/codemap.h>
#include <snapwalk/thread.h>

/*
 * Offsets in the runtime's structures, and sizes of some. Read from the runtime's descriptor or known beforehand.
 * SW_CLR_NONE: this runtime has no such field, or it is not known. ORDER sw_clr_field: lib/clr/layout.c, known.c.
 */
enum sw_clr_field {
    SW_CLR_THREAD_MODE,  /* u32; not 0: cooperative */
    SW_CLR_THREAD_FRAME, /* the top explicit frame */
    SW_CLR_THREAD_EXCEPTION,
    SW_CLR_THREAD_STATE,  /* u32 */
    SW_CLR_THREAD_HIJACK, /* the return address that was replaced; the next word: where it was */
    SW_CLR_THREAD_FORBID, /* u32: how many regions the thread is in that forbid to suspend it */
    SW_CLR_FRAME_NEXT,
    SW_CLR_INLINED_SP,
    SW_CLR_INLINED_RETURN,
    SW_CLR_INLINED_FP,
    SW_CLR_METHOD_BLOCK, /* in a frame that stands for a call of a method: its transition block */
    SW_CLR_BLOCK_SIZE,
    SW_CLR_BLOCK_RETURN,
    SW_CLR_RESUMABLE_CONTEXT, /* pointer to a CONTEXT */
    SW_CLR_FAULT_CONTEXT,     /* the CONTEXT itself */
    SW_CLR_SOFTWARE_CONTEXT,  /* likewise */
    SW_CLR_SOFTWARE_PLACES,   /* pointers to where nonvolatile registers were saved; that of the lowest number */
    SW_CLR_HIJACK_RETURN,
    SW_CLR_HIJACK_ARGS, /* pointer to the registers that the hijack stub pushed */
    SW_CLR_HIJACK_SIZE,
    SW_CLR_HIJACK_SP,          /* among these registers: the caller's sp; without it, that is behind them */
    SW_CLR_EXCEPTION_PREVIOUS, /* in the record of an exception in flight */
    SW_CLR_EXCEPTION_THREAD,
    SW_CLR_EXCEPTION_LOW,
    SW_CLR_EXCEPTION_HIGH,
    SW_CLR_EXCEPTION_FLAGS,
    SW_CLR_EXCEPTION_ENTERED, /* u32 */
    SW_CLR_EXCEPTION_CLAUSE,  /* u32: the type of the clause being run, 0 to 3 */
    SW_CLR_EXCEPTION_KIND,    /* u8: 1 thrown, 2 fault; bits above for rethrown ones */
    SW_CLR_EXCEPTION_PASS,    /* u8 */
    SW_CLR_MAP_TOP,           /* the top level of the map of code ranges */
    SW_CLR_FRAGMENT_NEXT,     /* in a fragment of that map, which is a part of the address space */
    SW_CLR_FRAGMENT_BEGIN,
    SW_CLR_FRAGMENT_END,
    SW_CLR_FRAGMENT_SECTION,
    SW_CLR_SECTION_FLAGS,
    SW_CLR_SECTION_HEAP,
    SW_CLR_HEAP_BEGIN,
    SW_CLR_HEAP_END,
    SW_CLR_HEAP_BASE,
    SW_CLR_HEAP_MAP,
    SW_CLR_METHOD_FLAGS, /* u16 */
    SW_CLR_HELPER_FLAGS, /* u32; in a frame of native code that managed code calls directly */
    SW_CLR_HELPER_ENTRY, /* 0: a helper of the JIT's, else of a method */
    SW_CLR_HELPER_STATE, /* the registers of both */
    SW_CLR_FIELDS
};

/* In place of an offset. SW_CLR_DESCRIBED: the runtime's descriptor has to say it; in no layout that is in use. */
enum { SW_CLR_NONE = UINT16_MAX, SW_CLR_DESCRIBED = UINT16_MAX - 1 };

/* Explicit frames, by what they restore. ORDER sw_clr_frame: lib/clr/explicit_frames.c. */
enum sw_clr_frame {
    SW_CLR_FRAME_NOWHERE, /* leads to no caller */
    SW_CLR_FRAME_INLINED,
    SW_CLR_FRAME_CONTEXT, /* resumable, redirected */
    SW_CLR_FRAME_FAULT,
    SW_CLR_FRAME_SOFTWARE,
    SW_CLR_FRAME_HIJACK,
    SW_CLR_FRAME_BLOCK,  /* a call of a method: the stub has pushed the registers */
    SW_CLR_FRAME_HELPER, /* native code that managed code calls directly; the caller's registers may not be known yet */
    SW_CLR_FRAMES
};

/* Of the table of prepared entries, which a runtime may keep to itself. ORDER sw_clr_entry_field: lib/clr/layout.c. */
enum sw_clr_entry_field {
    SW_CLR_SECTION_MODULE, /* in a range section of a precompiled image */
    SW_CLR_MODULE_READY,   /* a module's ReadyToRun data */
    SW_CLR_READY_COMPOSITE,
    SW_CLR_READY_ENTRIES, /* the table itself */
    SW_CLR_MAP_BUCKETS,
    SW_CLR_BUCKET_KEYS,
    SW_CLR_BUCKET_VALUES,
    SW_CLR_BUCKET_SIZE,
    SW_CLR_ENTRY_FIELDS
};

/* The system for which the runtime was built. */
enum sw_clr_system { SW_CLR_UNIX, SW_CLR_WINDOWS };

/* What ranges of its JIT code have for unwind. */
static inline uint8_t sw_clr_unwind_of(enum sw_clr_system system)
{
    return system == SW_CLR_WINDOWS ? SW_UNWIND_CLR_WINDOWS : SW_UNWIND_CLR_HEADER;
}

/* Where a stub has saved registers: bytes from where it began, and their numbers. */
enum { SW_CLR_SAVED_MAX = 16 };
struct sw_clr_saved {
    uint16_t count;
    struct sw_clr_saved_register {
        uint16_t offset;
        uint16_t number;
    } at[SW_CLR_SAVED_MAX];
};

/*
 * One layout for every runtime.
 *
 * at       Offsets, by enum sw_clr_field.
 * entry    Offsets, by enum sw_clr_entry_field, if has_entries, which may become true while others read.
 * block, hijack  The registers in a transition block, and in what the hijack stub pushed. helper: their order in the
 *          registers of a helper's frame.
 * frames   The first word of each kind of explicit frame: a number, or the address of the kind's virtual functions.
 * closed   A frame that is not in `frames` is not a frame: the chain ends. Else it leads nowhere.
 * native_dispatch  Exceptions are dispatched by native code, whose records do not lie on the stack.
 * map_search    How many entries of a nibble map are searched backwards for the beginning of a method.
 * context_size  The size of a CONTEXT that the runtime hands out. context_hidden: the part of its ContextFlags that the
 *          runtime's walks do not hand on.
 * code     The map of code ranges.
 */
enum { SW_CLR_FRAME_WORDS = 96 };
struct sw_clr_layout {
    enum sw_machine machine;
    enum sw_clr_system system;
    uint16_t at[SW_CLR_FIELDS];
    uint16_t entry[SW_CLR_ENTRY_FIELDS];
    struct sw_clr_saved block;
    struct sw_clr_saved hijack;
    struct sw_clr_saved helper;
    struct sw_clr_frame_word {
        uint64_t word;
        enum sw_clr_frame kind;
    } frames[SW_CLR_FRAME_WORDS];
    unsigned frame_count;
    _Atomic bool has_entries;
    bool closed;
    bool native_dispatch;
    uint32_t map_search;
    uint32_t context_size;
    uint32_t context_hidden;
    uint64_t code;
};

/*
 * What can be known of a runtime before its structures are.
 *
 * major    Of its version.
 * machine, system  For which it was built.
 * descriptor  The address of what it exports as DotNetRuntimeContractDescriptor; 0: it does not.
 */
struct sw_clr_runtime {
    uint32_t major;
    enum sw_machine machine;
    enum sw_clr_system system;
    uint64_t descriptor;
};

/*
 * What is known beforehand of the runtimes of a major version: whatever its descriptor does not say. known.c has the
 * table.
 *
 * Returns  False: nothing is. Memory  Allocates nothing. Threads  Any. Signals  Safe.
 */
bool sw_clr_layout_known(const struct sw_clr_runtime *runtime, struct sw_clr_layout *layout);

/*
 * Fills a layout: from the runtime's descriptor, and what that omits from what is known beforehand.
 *
 * alloc       Not null. Holds the descriptor's text during the call.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (without a descriptor not enough is known); SW_E_UNREADABLE; SW_E_MALFORMED (no such
 *          descriptor); SW_E_UNSUPPORTED (another machine or system than `runtime` says; a version of which nothing is
 *          known; or a field is missing, which means another version); SW_E_NO_MEMORY.
 * Threads  Any. Signals  Not safe.
 * Source   dotnet/runtime docs/design/datacontracts/contract-descriptor.md, data_descriptor.md; .NET 10.0.12 for Linux
 *          on x64 and ARM64 and for Windows on x64.
 */
SW_NODISCARD enum sw_status sw_clr_layout_read(const struct sw_memory *memory, const struct sw_clr_runtime *runtime,
                                               const struct sw_alloc *alloc, struct sw_clr_layout *layout);

/*
 * The file that holds a runtime: a library, or a program.
 *
 * begin, end  Where it is mapped.
 * table       The address of what it exports as g_dacTable, its table for debuggers.
 */
struct sw_clr_library {
    uint64_t begin, end;
    uint64_t table;
};

/*
 * Completes the layout of a runtime that describes neither code nor explicit frames (`closed`), on x64: where its map
 * of code is, and the kinds of explicit frames, which are recognised by what their functions do.
 *
 * layout   As sw_clr_layout_read has filled it.
 *
 * Returns  SW_OK; SW_E_UNREADABLE; SW_E_UNSUPPORTED (they are not the kinds that are known).
 * Memory   Allocates nothing; some 2,500 reads at most. Threads  Any. Signals  Safe when memory->read is.
 * Source   clr-frames-by-version.md sections 4 and 5; seen in .NET 8.0.0 to 8.0.33 and 9.0.18 to 9.0.22.
 */
SW_NODISCARD enum sw_status sw_clr_layout_recognise(const struct sw_memory *memory,
                                                    const struct sw_clr_library *library, struct sw_clr_layout *layout);

/*
 * Other parts of the descriptor than a layout has: `use` is called once, and asks for fields, contracts and the
 * machine. about is valid until it returns; false from it makes the answer SW_E_UNSUPPORTED.
 *
 * Returns  SW_OK; SW_E_UNREADABLE; SW_E_MALFORMED; SW_E_UNSUPPORTED; SW_E_NO_MEMORY; the others: false: it is not
 *          there. Threads  Any. Signals  Not safe.
 */
struct sw_clr_description {
    const void *text;
    void *types;
};
SW_NODISCARD enum sw_status sw_clr_layout_describe(const struct sw_memory *memory, uint64_t descriptor,
                                                   const struct sw_alloc *alloc,
                                                   bool (*use)(void *arg, const struct sw_clr_description *about),
                                                   void *arg);
bool sw_clr_described_field(const struct sw_clr_description *about, const char *type, const char *field,
                            uint16_t *offset);
bool sw_clr_described_contract(const struct sw_clr_description *about, const char *name, uint64_t *version);
bool sw_clr_described_machine(const struct sw_clr_description *about, const char *name);

/*
 * Whether a layout fits a thread: its mode is one of the two, and its top explicit frame is none, or lies on the stack
 * and is of a kind that is known.
 *
 * thread     A thread that runs, as the calling one.
 * low, high  The part of its stack that may hold its frames.
 *
 * Memory  Allocates nothing. Threads  Any. Signals  Safe when memory->read is.
 */
bool sw_clr_thread_fits(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t thread,
                        uint64_t low, uint64_t high);

/*
 * The mode of a thread.
 *
 * memory   Reads the runtime's data.
 * thread   Its ThreadID, which is the address of the runtime's object.
 *
 * Returns  False: unreadable. Memory  Allocates nothing. Threads  Any. Signals  Safe when memory->read is.
 */
bool sw_clr_thread_mode(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t thread,
                        enum sw_mode *mode);

/*
 * Whether a thread is in a region in which it must not be suspended, as one that holds a lock of the runtime's tables.
 *
 * Returns  False: not known of this runtime, or no such count. Otherwise as sw_clr_thread_mode.
 */
bool sw_clr_thread_forbids(const struct sw_clr_layout *layout, const struct sw_memory *object, uint64_t thread,
                           bool *forbids);

/*
 * The return address that the runtime has replaced on a thread's stack, to intercept the thread when it returns. The
 * position of this note in the thread's object is private: two adjacent words, the original address and where it was,
 * that fit together.
 *
 * low, high  The part of the stack that may hold it.
 * is_code    Whether an address is managed code: the original must be.
 * at, by     Receive the stack word's address and the original.
 *
 * Returns  False: the thread's state says that none is replaced, or no two words fit.
 * Memory   Allocates nothing; about 2 KiB of stack. Threads  Any. Signals  Safe when the reader and is_code are.
 * Source   dotnet/runtime vm/threads.h (TS_Hijacked; m_pvHJRetAddr in front of m_ppvHJRetAddrPtr).
 */
bool sw_clr_thread_hijack(const struct sw_clr_layout *layout, const struct sw_memory *object, uint64_t thread,
                          uint64_t low, uint64_t high, bool (*is_code)(void *arg, uint64_t address), void *arg,
                          uint64_t *at, uint64_t *by);

/*
 * The explicit frame of a thread behind `*cursor`, as a transition record; leaf first. *cursor: 0 for the first.
 *
 * object, stack  Readers of the runtime's data and of the thread's stack; may be the same.
 * record   regs.known is 0 if the frame leads to no caller. exact: its pc was being executed.
 * native   How many frames of native code lie between record->regs and the managed frame that is meant: to be unwound,
 *          as the runtime itself does it when it comes to the frame. SW_CLR_ALL_NATIVE: all up to managed code. Mostly
 *          0.
 *
 * Returns  False: no more, or the next one is invalid (unreadable, not at a higher address, misaligned).
 * Memory   Allocates nothing; about 0.5 KiB of stack. Threads  Any. Signals  Safe when memory->read is.
 * Source   dotnet/runtime docs/design/datacontracts/StackWalk.md (what each kind of frame restores).
 */
bool sw_clr_thread_record(const struct sw_clr_layout *layout, const struct sw_memory *object,
                          const struct sw_memory *stack, uint64_t thread, uint64_t *cursor,
                          struct sw_transition *record, uint32_t *native);
enum { SW_CLR_ALL_NATIVE = 64 };

/* An exception in flight on a thread. */
struct sw_clr_exception {
    bool second_pass;
    bool entered;       /* a managed handler has been entered for it */
    uint64_t low, high; /* the stack that it has unwound: frames with sp in [low, high) no longer exist */
};

/*
 * The exception in flight on a thread behind `*cursor`, innermost first. *cursor: 0 for the first.
 *
 * Returns  False: no more, or the next one is invalid.
 * Memory   Allocates nothing. Threads  Any. Signals  Safe when the readers are.
 * Source   dotnet/runtime vm/exinfo.h, vm/exstate.h, AsmOffsets.cs (pass number); the rest was seen in .NET 10.0.12.
 *          The layout is private: a record is believed only if all of it fits together.
 */
bool sw_clr_thread_exception(const struct sw_clr_layout *layout, const struct sw_memory *object,
                             const struct sw_memory *stack, uint64_t thread, uint64_t *cursor,
                             struct sw_clr_exception *exception);

/*
 * The JIT code around an address, found as the runtime itself does: kind JIT, unwind CLR_HEADER, id the FunctionID,
 * HIDDEN for dynamic methods and IL stubs, image 1 if the code is collectible (freed with its module). Needs no event
 * and no perf map.
 *
 * Returns  False: no JIT code there, a stub, or the data read does not fit together.
 * Memory   Allocates nothing; some 15 reads. Threads  Any. Signals  Safe when memory->read is.
 * Source   dotnet/runtime docs/design/datacontracts/ExecutionManager.md (version 2: range section map, nibble map).
 */
bool sw_clr_find_code(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t address,
                      struct sw_range *range);

/*
 * The piece of address space around an address that the runtime has set aside for JIT code.
 *
 * image  As in the ranges of code in it: 1 if the code is collectible.
 *
 * Returns  False: the runtime has no JIT code there, or the data read does not fit together.
 * Memory   Allocates nothing; some 9 reads. Threads  Any. Signals  Safe when memory->read is.
 * Source   As sw_clr_find_code.
 */
struct sw_clr_heap {
    uint64_t begin, end;
    uint32_t image;
};
bool sw_clr_find_heap(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t address,
                      struct sw_clr_heap *heap);

/*
 * Where the precompiled image around an address is mapped: a section that is neither JIT code nor stubs. What is there
 * has to be looked at: nothing but the map was read.
 *
 * Returns  False: there is none, or the data read does not fit together.
 * Memory   Allocates nothing; some 7 reads. Threads  Any. Signals  Safe when memory->read is.
 * Source   As sw_clr_find_code; the flags, clr-names.md section 2.
 */
bool sw_clr_find_precompiled(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t address,
                             uint64_t *begin, uint64_t *end);

/*
 * The FunctionID of the precompiled method that begins at `entry`, if the runtime has prepared it: looked up in the
 * runtime's own table. The runtime itself cannot be asked about methods that it has not prepared: it crashes.
 *
 * Returns  False: it has not, no method begins there, or the data read does not fit together.
 * Memory   Allocates nothing; at most some 350 reads, mostly 15. Threads  Any. Signals  Safe when memory->read is.
 * Source   dotnet/runtime docs/design/datacontracts/ExecutionManager.md (version 2: ReadyToRun, hash map lookup).
 */
bool sw_clr_find_entry(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t entry,
                       uint64_t *method);

/*
 * Finds out where a runtime that does not describe it has the table of prepared entries, by one method that it has
 * prepared: what leads to a table that knows this method is what leads to all. True: has_entries is set.
 *
 * Memory   Allocates nothing; 3 KiB of stack; some 3,000 reads, more where much looks like a table, at most 2,000,000.
 * Threads  One at a time; others may look up meanwhile. Signals  Not safe.
 * Source   .NET 8.0.31 and 9.0.20; the table as in sw_clr_find_entry.
 */
bool sw_clr_learn_entries(struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t entry,
                          uint64_t method);

#endif
