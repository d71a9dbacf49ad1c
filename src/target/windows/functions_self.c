/*
 * Function tables that this process's JIT compilers have given to the system, as images. Windows lists no such tables;
 * it tells of one address at a time. Refuses to know what becomes of them (src/unwind/function_table.c).
 *
 * Source: RtlLookupFunctionEntry, RtlAddFunctionTable, RtlInstallFunctionTableCallback, RtlAddGrowableFunctionTable,
 * Microsoft Learn.
 */
#include "code/images.h"
#include "target/windows/memory.h"

#include <snapwalk/follow.h>
#include <snapwalk/self.h>

#include <windows.h>

/* What was found from begin to end. entries: null while they are counted. is_mixed: they count from several bases. */
struct found {
    uint64_t base;
    RUNTIME_FUNCTION *entries;
    size_t count, room;
    bool is_mixed;
};

static void take(struct found *found, uint64_t base, const RUNTIME_FUNCTION *entry)
{
    found->is_mixed |= found->count != 0 && found->base != base;
    found->base = base;
    if (found->count < found->room)
        found->entries[found->count] = *entry;
    found->count++;
}

/*
 * The entry is the compiler's memory, not the system's: it may be freed when the system has answered, and is copied as
 * what may fault.
 */
static bool look_up(uint64_t address, uint64_t *base, RUNTIME_FUNCTION *entry)
{
    DWORD64 from;
    const RUNTIME_FUNCTION *found = RtlLookupFunctionEntry(address, &from, NULL);
    if (!found || sw_windows_copy(entry, found, sizeof *entry) != sizeof *entry)
        return false;
    *base = from;
    return from <= address && from + entry->EndAddress > address;
}

/* Every byte that no entry covers is asked for: nothing says where code begins. */
static void take_between(struct found *found, uint64_t at, uint64_t end)
{
    while (at < end) {
        RUNTIME_FUNCTION entry;
        uint64_t base;
        const bool is_there = look_up(at, &base, &entry);
        if (is_there)
            take(found, base, &entry);
        at = is_there ? base + entry.EndAddress : at + 1;
    }
}

/* Code can only be where memory may be executed. */
static void take_all(struct found *found, uint64_t begin, uint64_t end)
{
    enum { CODE = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY };
    MEMORY_BASIC_INFORMATION piece;
    for (uint64_t at = begin; at < end;) {
        if (VirtualQuery((const void *)(uintptr_t)at, &piece, sizeof piece) != sizeof piece)
            return;
        const uint64_t piece_end = (uint64_t)(uintptr_t)piece.BaseAddress + piece.RegionSize;
        const uint64_t next = piece_end < end ? piece_end : end;
        if (next <= at)
            return;
        if (piece.State == MEM_COMMIT && (piece.Protect & CODE))
            take_between(found, at, next);
        at = next;
    }
}

/* Tables may grow between counting and taking: then the new entries are left out. */
static enum sw_status add(struct sw_images *images, const char *name, uint64_t begin, uint64_t end, struct found *found)
{
    const struct sw_memory memory = sw_self_memory();
    found->room = found->count;
    found->count = 0;
    take_all(found, begin, end);
    const struct sw_function_table table = { .machine = SW_MACHINE_X64,
                                             .base = found->base,
                                             .begin = begin,
                                             .end = end,
                                             .entries = found->entries,
                                             .count = found->count < found->room ? found->count : found->room };
    return found->is_mixed ? SW_E_UNSUPPORTED : sw_images_add_functions(images, name, &table, &memory);
}

enum sw_status sw_self_add_functions(struct sw_images *images, const char *name, uint64_t begin, uint64_t end)
{
    struct found found = { 0 };
    if (!images || !name || begin >= end || end - begin > SW_FUNCTIONS_BYTES_MAX)
        return SW_E_ARGUMENT;
    take_all(&found, begin, end);
    if (found.count == 0)
        return SW_E_NOT_FOUND;
    const struct sw_alloc *alloc = sw_images_alloc(images);
    const size_t size = found.count * sizeof *found.entries;
    found.entries = alloc->get(alloc->arg, size);
    if (!found.entries)
        return SW_E_NO_MEMORY;
    const enum sw_status status = add(images, name, begin, end, &found);
    alloc->put(alloc->arg, found.entries, size);
    return status;
}
