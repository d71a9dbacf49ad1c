/*
 * What is known beforehand of the runtimes of each major version: the offsets that its descriptor omits, and how it
 * does what differs between versions. Knows numbers; refuses to read anything.
 *
 * Within one major version nothing in this table differed between the builds that were run (8.0.0 to 8.0.33, 9.0.18 to
 * 9.0.22, 10.0.11 to 10.0.14). All of it is private to the runtime, so what is read with it is believed only if it fits
 * together.
 *
 * Source: clr-frames-by-version.md, row by row; clr-arm64-observed.md section 6; clr-windows-observed.md W19b, W19d,
 * W93.
 */
#include "clr/runtime.h"

#include <string.h>

enum { A_RUNTIME = 7, D = SW_CLR_DESCRIBED, N = SW_CLR_NONE };
enum { X64_XSTATE = 0x40, ARM64_XSTATE = 0x20 }; /* in ContextFlags */

/*
 * One column for each. D: its descriptor has to say it. described: the descriptor has explicit frames, saved registers
 * and code; saved registers otherwise: where those of x64 begin in a block and in what the hijack stub pushed.
 */
static const struct runtime {
    uint32_t major;
    enum sw_machine machine;
    enum sw_clr_system system;
    bool described;
    bool native_dispatch;
    uint32_t map_search;
    uint32_t context_size, context_hidden;
    uint16_t block_saved, hijack_saved;
} runtimes[A_RUNTIME] = {
    { 10, SW_MACHINE_X64, SW_CLR_UNIX, true, false, 1, 3232, X64_XSTATE, N, N },
    { 10, SW_MACHINE_ARM64, SW_CLR_UNIX, true, false, 1, 992, ARM64_XSTATE, N, N },
    { 10, SW_MACHINE_X64, SW_CLR_WINDOWS, true, false, 1, 1232, X64_XSTATE, N, N },
    { 9, SW_MACHINE_X64, SW_CLR_UNIX, false, false, 4096, 3104, 0, 48, 16 },
    { 8, SW_MACHINE_X64, SW_CLR_UNIX, false, true, 4096, 3104, 0, 48, 16 },
    { 9, SW_MACHINE_X64, SW_CLR_WINDOWS, false, false, 4096, 1232, 0, 0, 8 },
    { 8, SW_MACHINE_X64, SW_CLR_WINDOWS, false, true, 4096, 1232, 0, 0, 8 },
};

/*
 * ORDER sw_clr_field. Columns as in runtimes: 10 on x64, on ARM64, on Windows; 9; 8; 9 and 8 on Windows.
 */
static const uint16_t offsets[SW_CLR_FIELDS][A_RUNTIME] = {
    { D, D, D, D, 12, D, 12 },             /* THREAD_MODE */
    { D, D, D, D, 16, D, 16 },             /* THREAD_FRAME */
    { D, D, D, D, 480, D, 496 },           /* THREAD_EXCEPTION */
    { D, D, D, D, 8, D, 8 },               /* THREAD_STATE */
    { 152, 192, 160, 152, 280, 160, 296 }, /* THREAD_HIJACK */
    { 56, N, 64, 56, 160, 64, 176 },       /* THREAD_FORBID */
    { D, D, D, 8, 8, 8, 8 },               /* FRAME_NEXT */
    { D, D, D, 24, 32, 24, 32 },           /* INLINED_SP */
    { D, D, D, 32, 40, 32, 40 },           /* INLINED_RETURN */
    { D, D, D, 40, 48, 40, 48 },           /* INLINED_FP */
    { D, D, D, 16, 16, 16, 16 },           /* METHOD_BLOCK */
    { D, D, D, 104, 104, 72, 72 },         /* BLOCK_SIZE */
    { D, D, D, 96, 96, 64, 64 },           /* BLOCK_RETURN */
    { D, D, D, 16, 16, 16, 16 },           /* RESUMABLE_CONTEXT */
    { D, D, D, 32, 32, 32, 32 },           /* FAULT_CONTEXT */
    { D, D, D, N, N, N, N },               /* SOFTWARE_CONTEXT */
    { 176, 24, N, N, N, N, N },            /* SOFTWARE_PLACES */
    { D, D, D, 16, 16, 16, 16 },           /* HIJACK_RETURN */
    { D, D, D, 32, 32, 32, 32 },           /* HIJACK_ARGS */
    { D, D, D, 72, 72, 88, 88 },           /* HIJACK_SIZE */
    { N, N, D, N, N, 72, 72 },             /* HIJACK_SP */
    { D, D, D, D, 8, D, 24 },              /* EXCEPTION_PREVIOUS */
    { N, N, N, N, 16, N, 32 },             /* EXCEPTION_THREAD */
    { 128, 128, 128, 128, 24, 128, 40 },   /* EXCEPTION_LOW */
    { 136, 136, 136, 136, 32, 136, 48 },   /* EXCEPTION_HIGH */
    { 64, 64, 64, 64, 200, 64, 208 },      /* EXCEPTION_FLAGS */
    { 60, 60, 60, 60, 292, 60, 300 },      /* EXCEPTION_ENTERED */
    { 56, 56, 56, 56, 288, 56, 296 },      /* EXCEPTION_CLAUSE */
    { 184, 184, 184, 184, N, 184, N },     /* EXCEPTION_KIND */
    { 185, 185, 185, 185, N, 185, N },     /* EXCEPTION_PASS */
    { D, D, D, 0, 0, 0, 0 },               /* MAP_TOP */
    { D, D, D, 0, 0, 0, 0 },               /* FRAGMENT_NEXT */
    { D, D, D, 8, 8, 8, 8 },               /* FRAGMENT_BEGIN */
    { D, D, D, 16, 16, 16, 16 },           /* FRAGMENT_END */
    { D, D, D, 24, 24, 24, 24 },           /* FRAGMENT_SECTION */
    { D, D, D, 16, 16, 16, 16 },           /* SECTION_FLAGS */
    { D, D, D, 40, 40, 40, 40 },           /* SECTION_HEAP */
    { D, D, D, 16, 16, 16, 16 },           /* HEAP_BEGIN */
    { D, D, D, 24, 24, 24, 24 },           /* HEAP_END */
    { D, D, D, 32, 32, 32, 32 },           /* HEAP_BASE */
    { D, D, D, 40, 40, 40, 40 },           /* HEAP_MAP */
    { D, D, D, D, 6, D, 6 },               /* METHOD_FLAGS */
    { N, N, N, 24, 24, 24, 24 },           /* HELPER_FLAGS */
    { N, N, N, 40, 40, 40, 40 },           /* HELPER_ENTRY */
    { N, N, N, 48, 48, 48, 48 },           /* HELPER_STATE */
};

/* ORDER sw_clr_entry_field. Columns as in runtimes. */
static const uint16_t entries[SW_CLR_ENTRY_FIELDS][A_RUNTIME] = {
    { D, D, D, 32, 32, 32, 32 },      /* SECTION_MODULE */
    { D, D, D, 984, 1152, 600, 672 }, /* MODULE_READY */
    { D, D, D, 40, 40, 40, 40 },      /* READY_COMPOSITE */
    { D, D, D, 432, 432, 336, 336 },  /* READY_ENTRIES */
    { D, D, D, 16, 16, 16, 16 },      /* MAP_BUCKETS */
    { D, D, D, 0, 0, 0, 0 },          /* BUCKET_KEYS */
    { D, D, D, 32, 32, 32, 32 },      /* BUCKET_VALUES */
    { D, D, D, 64, 64, 64, 64 },      /* BUCKET_SIZE */
};

/* The order in which a stub on x64 saves the registers. */
static const struct order {
    uint8_t count;
    uint8_t numbers[8];
} orders[] = {
    [SW_CLR_UNIX] = { 6, { SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15, SW_X64_RBX, SW_X64_RBP } },
    [SW_CLR_WINDOWS] = { 8,
                         { SW_X64_RDI, SW_X64_RSI, SW_X64_RBX, SW_X64_RBP, SW_X64_R12, SW_X64_R13, SW_X64_R14,
                           SW_X64_R15 } },
};

static void save(struct sw_clr_saved *saved, enum sw_clr_system system, uint16_t from)
{
    const struct order *order = &orders[system];
    saved->count = 0;
    if (from == SW_CLR_NONE)
        return;
    for (; saved->count < order->count; saved->count++)
        saved->at[saved->count] =
            (struct sw_clr_saved_register){ (uint16_t)(from + 8 * saved->count), order->numbers[saved->count] };
}

/* A later version is tried as the latest that is known: its descriptor says whether that may do. */
static unsigned find(const struct sw_clr_runtime *runtime)
{
    for (unsigned i = 0; i < A_RUNTIME; i++)
        if (runtimes[i].machine == runtime->machine && runtimes[i].system == runtime->system &&
            (runtimes[i].major == runtime->major || (runtimes[i].described && runtime->major > runtimes[i].major)))
            return i;
    return A_RUNTIME;
}

bool sw_clr_layout_known(const struct sw_clr_runtime *runtime, struct sw_clr_layout *layout)
{
    const unsigned column = find(runtime);
    if (column == A_RUNTIME)
        return false;
    const struct runtime *known = &runtimes[column];
    *layout = (struct sw_clr_layout){ .machine = known->machine,
                                      .system = known->system,
                                      .closed = !known->described,
                                      .native_dispatch = known->native_dispatch,
                                      .map_search = known->map_search,
                                      .context_size = known->context_size,
                                      .context_hidden = known->context_hidden };
    for (unsigned i = 0; i < SW_CLR_FIELDS; i++)
        layout->at[i] = offsets[i][column];
    save(&layout->block, known->system, known->block_saved);
    save(&layout->hijack, known->system, known->hijack_saved);
    save(&layout->helper, known->system, 0);
    for (unsigned i = 0; i < SW_CLR_ENTRY_FIELDS; i++)
        layout->entry[i] = entries[i][column];
    layout->has_entries = !known->described;
    return true;
}
