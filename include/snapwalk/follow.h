/*
 * The modules of this process, followed as they come and go. Windows.
 */
#ifndef SNAPWALK_FOLLOW_H
#define SNAPWALK_FOLLOW_H

#include <snapwalk/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Keeps the images of this process in the set as modules are loaded and unloaded (LdrRegisterDllNotification). Windows.
 * Follow registers all that there are now, as sw_images_add_self does. From then on a module is registered, or removed,
 * by the thread that loads or unloads it, before its own code runs. So a set is complete without being asked for, as it
 * must not be while a thread stands suspended, which may hold the loader's lock. Unfollow ends it; NULL is allowed.
 *
 * images    Borrowed until unfollow. Its allocator is called by threads that load and unload, inside the loader's lock.
 * follower  Receives what unfollow takes.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_BUSY; SW_E_OS; SW_E_UNSUPPORTED (not on Windows).
 * Threads  Any. Where another writer is changing the set in the moment of a load, that module is registered at the next
 *          load, unload or sw_images_add_self. Unfollow waits for a notification that is going on.
 * Signals  Not safe.
 */
struct sw_images_follower;
SW_API SW_NODISCARD enum sw_status sw_images_follow_self(struct sw_images *images,
                                                         struct sw_images_follower **follower);
SW_API void sw_images_unfollow(struct sw_images_follower *follower);

/*
 * Code with Windows unwind data that is in no image: what a JIT compiler gives to RtlAddFunctionTable,
 * RtlAddGrowableFunctionTable, or the callback of RtlInstallFunctionTableCallback.
 *
 * base     What the entries count from. At most begin; end lies less than 4 GiB above it.
 * begin    The code, and the unwind data that the entries name, up to end; up to SW_FUNCTIONS_BYTES_MAX bytes.
 * entries  RUNTIME_FUNCTIONs as the machine has them (x64: begin, end, unwind data, 32 bits each; ARM64: two words),
 *          ascending and without overlap. count: 1 to 1,048,576 of them.
 */
#define SW_FUNCTIONS_BYTES_MAX (64 << 20)
struct sw_function_table {
    enum sw_machine machine; /* X64 or ARM64 */
    uint64_t base;
    uint64_t begin;
    uint64_t end;
    const void *entries;
    size_t count;
};

/*
 * Registers such code as an image from begin to end, of which walks know the frames exactly. Ranges of the code map may
 * lie in it, with SW_UNWIND_AUTO. When functions are added or freed, remove the image and register it again.
 *
 * name     Copied. For people.
 * table    Copied, and so is the code, through `memory`; what cannot be read counts as zeros.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_BUSY; SW_E_OVERLAP (with another image); SW_E_MALFORMED (entries
 *          that do not ascend, or overlap).
 * Memory   The code and its entries. Threads  One writer. Signals  Not safe.
 * Source   RtlAddFunctionTable, Microsoft Learn; win-x64-unwind.md section 3.
 */
SW_API SW_NODISCARD enum sw_status sw_images_add_functions(struct sw_images *images, const char *name,
                                                           const struct sw_function_table *table,
                                                           const struct sw_memory *memory);

/*
 * Windows: registers this process's code from begin to end by the function tables that JIT compilers have given to the
 * system for it (sw_images_add_functions). The system lists no tables, so it is asked for one address after another:
 * once for each function, and for each byte of executable memory that is in none. A compiler that knows its own table
 * should give it to sw_images_add_functions.
 *
 * begin, end   What one compiler has allocated: code and unwind data, up to SW_FUNCTIONS_BYTES_MAX bytes.
 *
 * Returns  As sw_images_add_functions; SW_E_NOT_FOUND (the system knows no function there); SW_E_UNSUPPORTED (entries
 *          that count from several bases; another system).
 * Threads  One writer. A callback that a compiler has installed is called. Signals  Not safe, nor while a thread stands
 *          suspended: the system has a lock around its tables.
 * Source   RtlLookupFunctionEntry, Microsoft Learn.
 */
SW_API SW_NODISCARD enum sw_status sw_self_add_functions(struct sw_images *images, const char *name, uint64_t begin,
                                                         uint64_t end);

#ifdef __cplusplus
}
#endif

#endif
