/*
 * The code map: which code a runtime has made or loaded, by address. Readers are wait-free, also in a signal
 * handler, while one writer adds and removes.
 */
#ifndef SNAPWALK_CODEMAP_H
#define SNAPWALK_CODEMAP_H

#include <snapwalk/alloc.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sw_kind {
    SW_KIND_NONE = 0,
    SW_KIND_JIT,   /* managed code made at run time */
    SW_KIND_NGEN,  /* managed code precompiled: NGen or ReadyToRun */
    SW_KIND_STUB,  /* helper or trampoline made by a runtime: not managed, not in an image */
    SW_KIND_NATIVE /* anything else */
};

/*
 * The name of a kind for people: "jit", "native".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
const char *sw_kind_name(enum sw_kind kind);

/* Where the unwind data of a range is. What is named here is tried first; if it does not validate, the rest follows. */
enum sw_unwind {
    SW_UNWIND_AUTO = 0,   /* the tables of the image around it, else analysis from `begin` */
    SW_UNWIND_CLR_HEADER, /* CoreCLR's code header in front of `begin` (win-x64-unwind.md section 9) */
    SW_UNWIND_LEAF,       /* the code never moves the stack pointer: return address at [sp] / in lr */
    SW_UNWIND_ANALYSIS,   /* analysis from `begin`, tables ignored */
    SW_UNWIND_FOREIGN     /* as AUTO, for code with a calling convention of its own, as most JITs but CoreCLR's make it:
                             its callers know of their nonvolatile registers the frame pointer alone */
};

/*
 * One piece of code, [begin, end). A function may have several (tiers, hot and cold parts), all with its id.
 *
 * id      FunctionID. Non-zero for JIT and NGEN ranges; anything for the others.
 * image   Any number the user likes (a module, an image); not interpreted.
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

/* Managed code that the CLR does not report: IL stubs, DynamicMethod bodies. A valid seed, never a frame of its own. */
#define SW_RANGE_HIDDEN UINT16_C(1)
/* Managed exception dispatch (System.Runtime.EH and its like): hidden together with the native run that follows it. */
#define SW_RANGE_EH_DISPATCH UINT16_C(2)
/*
 * A catch, finally or fault handler, called by its method or by exception dispatch; an exception filter likewise. The
 * coreclr flavours report the first as its method's frame, where that is reached, and the second as a frame of its own.
 * Set by the walker for what carries CoreCLR's tables; a runtime that registers handlers apart may set them itself.
 */
#define SW_RANGE_FUNCLET UINT16_C(4)
#define SW_RANGE_FILTER  UINT16_C(8)
/* Of frames only: the id is the address of a precompiled method's entry, because nobody has registered the method. */
#define SW_RANGE_ADDRESS_ID UINT16_C(16)
/* Of frames only: the range is in no code map, a walker's finder told of it. */
#define SW_RANGE_FROM_FINDER UINT16_C(32)

struct sw_codemap;

/*
 * Makes an empty code map.
 *
 * alloc    Copied; NULL for malloc and free.
 * map      Receives the map; the caller owns it and gives it back with sw_codemap_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (map null); SW_E_NO_MEMORY.
 * Memory   A few KiB; grows with the ranges, at most 32 bytes a range for code as dense as a JIT writes it, in pieces of
 *          up to 2 MiB; a piece is given back when nothing is left in it.
 * Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_codemap_create(const struct sw_alloc *alloc, struct sw_codemap **map);

/*
 * Gives back a map and everything in it. NULL is allowed.
 *
 * Threads  No reader or writer may be inside. Signals  Not safe.
 */
void sw_codemap_destroy(struct sw_codemap *map);

/*
 * Adds one range.
 *
 * range    Copied. flags, unwind and kind must be values declared above.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, bad kind or unwind, id 0 for JIT or NGEN); SW_E_EMPTY; SW_E_WRAPS;
 *          SW_E_OVERLAP (nothing changed); SW_E_NO_MEMORY (nothing changed); SW_E_BUSY (another writer is inside).
 * Memory   From the map's allocator; also reclaims what earlier removals left, when no reader can still see it.
 * Threads  One writer at a time: two at once are not harmful, the second gets SW_E_BUSY. Readers are never blocked.
 * Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_codemap_add(struct sw_codemap *map, const struct sw_range *range);

/*
 * Removes the range that begins at `begin`.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (map null); SW_E_NOT_FOUND; SW_E_NO_MEMORY (nothing changed); SW_E_BUSY.
 *          After SW_OK no find that starts later sees the range.
 * Memory, Threads, Signals  As sw_codemap_add.
 */
SW_NODISCARD enum sw_status sw_codemap_remove(struct sw_codemap *map, uint64_t begin);

/*
 * Finds the range that holds `address`.
 *
 * range    Receives a copy; untouched unless SW_OK. May be null to ask only whether there is one.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND; SW_E_ARGUMENT (map null). A range that is registered during the whole call is found.
 * Memory   Allocates nothing. Threads  Any number, wait-free, beside one writer. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_codemap_find(const struct sw_codemap *map, uint64_t address, struct sw_range *range);

/*
 * Calls `each` with every range, ascending, until it answers false.
 *
 * each     Its range is valid during the call. It must not change the map.
 *
 * Returns  SW_OK; SW_E_ARGUMENT. Ranges added or removed meanwhile may or may not be seen.
 * Memory   Allocates nothing. Threads  As sw_codemap_find. Signals  Safe if `each` is.
 */
SW_NODISCARD enum sw_status sw_codemap_each(const struct sw_codemap *map,
                                            bool (*each)(void *arg, const struct sw_range *range), void *arg);

/*
 * Counters of a map: ranges in it, bytes got from the allocator and not given back, and the generation, which
 * changes with every add and remove. An answer derived from the map holds as long as the generation read before the find
 * stands.
 *
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
uint64_t sw_codemap_count(const struct sw_codemap *map);
uint64_t sw_codemap_bytes(const struct sw_codemap *map);
uint64_t sw_codemap_generation(const struct sw_codemap *map);

#ifdef __cplusplus
}
#endif

#endif
