/*
 * The code map: the code that a runtime made or loaded, by address. Readers are wait-free, in signal handlers too,
 * while one writer adds and removes ranges.
 */
#ifndef SNAPWALK_CODEMAP_H
#define SNAPWALK_CODEMAP_H

#include <snapwalk/alloc.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sw_kind {
    SW_KIND_NONE = 0,
    SW_KIND_JIT,   /* managed code compiled at run time */
    SW_KIND_NGEN,  /* managed code precompiled: NGen or ReadyToRun */
    SW_KIND_STUB,  /* helper or trampoline of a runtime: neither managed nor in an image */
    SW_KIND_NATIVE /* anything else */
};

/*
 * The name of a kind for people: "jit", "native".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_kind_name(enum sw_kind kind);

/* Where the unwind data of a range is. This source is tried first; if its data is not valid, the others follow. */
enum sw_unwind {
    SW_UNWIND_AUTO = 0,   /* the tables of the image that holds it, else analysis from `begin` */
    SW_UNWIND_CLR_HEADER, /* CoreCLR's code header in front of `begin` (win-x64-unwind.md section 9) */
    SW_UNWIND_LEAF,       /* the code never moves the stack pointer: return address at [sp] / in lr */
    SW_UNWIND_ANALYSIS,   /* analysis from `begin`; tables are ignored */
    SW_UNWIND_FOREIGN,    /* as AUTO, for code with its own calling convention, which most JITs except CoreCLR's use: in
                             its callers' frames, the frame pointer is the only known nonvolatile register. Wrong for
                             code that keeps the nonvolatile registers of the platform: where callers find their frames
                             by one of those, 1,594 of 2,000 walks were wrong, and none with AUTO */
    SW_UNWIND_CLR_WINDOWS /* as CLR_HEADER, of a CoreCLR for Windows: rsi and rdi are nonvolatile, too (x64) */
};

/*
 * One piece of code, [begin, end). A function may have several (tiers, hot and cold parts), all with the same id.
 *
 * id      The FunctionID. Not 0 for JIT and NGEN ranges; any value for other kinds.
 * image   Any number of the user's (a module, an image). The library does not interpret it.
 * flags   SW_RANGE_*.
 */
struct sw_range {
    uint64_t begin;
    uint64_t end;
    uint64_t id;
    uint32_t image;
    uint8_t kind;   /* enum sw_kind, not NONE */
    uint8_t unwind; /* enum sw_unwind */
    uint16_t flags;
};

/* Managed code that the CLR does not report: IL stubs, DynamicMethod bodies. A valid seed, but never reported. */
#define SW_RANGE_HIDDEN UINT16_C(1)
/* Managed exception dispatch (System.Runtime.EH and the like). It is hidden, and so is the native run behind it. */
#define SW_RANGE_EH_DISPATCH UINT16_C(2)
/*
 * FUNCLET: a catch, finally or fault handler. FILTER: an exception filter. Its method or exception dispatch calls it.
 * The coreclr flavours report a handler as its method's frame, when the walk reaches that frame, and a filter as a
 * frame of its own. The walker sets these flags for code with CoreCLR's tables. A runtime that registers handlers as
 * ranges of their own may set them itself.
 */
#define SW_RANGE_FUNCLET UINT16_C(4)
#define SW_RANGE_FILTER  UINT16_C(8)
/* In frames only: the method is precompiled and not registered; the id is the address of its entry. */
#define SW_RANGE_ADDRESS_ID UINT16_C(16)
/* In frames only: the range is not in the code map; the walker's finder reported it. */
#define SW_RANGE_FROM_FINDER UINT16_C(32)

struct sw_codemap;

/*
 * Makes an empty code map.
 *
 * alloc    Copied. NULL means malloc and free.
 * map      Receives the map. The caller owns it and frees it with sw_codemap_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (map null); SW_E_NO_MEMORY.
 * Memory   A few KiB at first. Grows in pieces of up to 2 MiB, to at most 32 bytes per range for code as dense as a JIT
 *          writes it. An empty piece is freed.
 * Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_codemap_create(const struct sw_alloc *alloc, struct sw_codemap **map);

/*
 * Frees a map and everything in it. NULL is allowed.
 *
 * Threads  No reader or writer may be using the map. Signals  Not safe.
 */
SW_API void sw_codemap_destroy(struct sw_codemap *map);

/*
 * Adds one range.
 *
 * range    Copied. Its flags, unwind and kind must be values declared above.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, bad kind or unwind, id 0 for JIT or NGEN); SW_E_EMPTY; SW_E_WRAPS;
 *          SW_E_OVERLAP (nothing changed); SW_E_NO_MEMORY (nothing changed); SW_E_BUSY (another writer is active).
 * Memory   From the map's allocator. Also frees what earlier removals left, once no reader can still see it.
 * Threads  One writer at a time. A second one does no harm; it gets SW_E_BUSY. Readers are never blocked.
 * Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_codemap_add(struct sw_codemap *map, const struct sw_range *range);

/*
 * Removes the range that begins at `begin`.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (map null); SW_E_NOT_FOUND; SW_E_NO_MEMORY (nothing changed); SW_E_BUSY.
 *          After SW_OK, no later find sees the range.
 * Memory, Threads, Signals  As sw_codemap_add.
 */
SW_API SW_NODISCARD enum sw_status sw_codemap_remove(struct sw_codemap *map, uint64_t begin);

/*
 * Finds the range that holds `address`.
 *
 * range    Receives a copy; unchanged unless SW_OK. May be null, to ask only whether there is a range.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_ARGUMENT (map null). A range that is registered during the whole call is found.
 * Memory   Allocates nothing. Threads  Any number, wait-free, while one writer works. Signals  Safe.
 */
SW_API SW_NODISCARD enum sw_status sw_codemap_find(const struct sw_codemap *map, uint64_t address,
                                                   struct sw_range *range);

/*
 * Calls `each` with every range, by ascending address, until it returns false.
 *
 * each     Its range is valid during that call. It must not change the map.
 *
 * Returns  SW_OK; SW_E_ARGUMENT. A range added or removed meanwhile may be seen or not.
 * Memory   Allocates nothing. Threads  As sw_codemap_find. Signals  Safe if `each` is.
 */
SW_API SW_NODISCARD enum sw_status sw_codemap_each(const struct sw_codemap *map,
                                                   bool (*each)(void *arg, const struct sw_range *range), void *arg);

/*
 * How many ranges a map holds; how many bytes it has from the allocator now; and its generation, which changes with
 * every add and remove. An answer derived from the map holds while the generation is still the one read before the
 * find.
 *
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_API uint64_t sw_codemap_count(const struct sw_codemap *map);
SW_API uint64_t sw_codemap_bytes(const struct sw_codemap *map);
SW_API uint64_t sw_codemap_generation(const struct sw_codemap *map);

#ifdef __cplusplus
}

extern "C++" {
/* Of a byte, as structures hold it, too: C++ makes no enumeration of it. Threads  Any. Signals  Safe. */
inline const char *sw_kind_name(uint8_t kind)
{
    return sw_kind_name(static_cast<enum sw_kind>(kind));
}
}
#endif

#endif
