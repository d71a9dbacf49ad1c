/*
 * The structures of .NET 8 and 9 in arbitrary memory, by a layout some of whose offsets are wrong: explicit frames,
 * exceptions in flight, the search for a method's beginning in nibble maps without pointers, the frames' vtables in the
 * runtime's table, and where prepared entries are. The first bytes say which and change offsets. Holds: chains end,
 * those on the stack rise, what is found holds what was asked for, a layout that is recognised has every kind of frame.
 */
#include "clr/runtime.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TARGET = 0x10000, CHANGES = 4, HEAD_BYTES = 2 + 3 * CHANGES, EXCEPTIONS_MAX = 64 };

struct target {
    const uint8_t *bytes;
    size_t size;
};

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    const struct target *t = arg;
    if (address < TARGET || address - TARGET >= t->size)
        return 0;
    const size_t there = t->size - (size_t)(address - TARGET), copied = size < there ? size : there;
    memcpy(to, t->bytes + (address - TARGET), copied);
    return copied;
}

/* Kinds of frames are 1 and so on. A changed offset may be any, and none. */
static struct sw_clr_layout layout_of(const uint8_t *data)
{
    const enum sw_clr_system system = data[0] & 2 ? SW_CLR_WINDOWS : SW_CLR_UNIX;
    const struct sw_clr_runtime runtime = { data[0] & 1 ? 9 : 8, SW_MACHINE_X64, system, 0 };
    struct sw_clr_layout layout;
    if (!sw_clr_layout_known(&runtime, &layout))
        abort();
    for (unsigned i = 0; i < SW_CLR_FIELDS; i++)
        if (layout.at[i] == SW_CLR_DESCRIBED)
            layout.at[i] = (uint16_t)(8 * i);
    for (unsigned i = 0; i < CHANGES; i++)
        if (data[2 + 3 * i] < SW_CLR_FIELDS)
            layout.at[data[2 + 3 * i]] = (uint16_t)(data[3 + 3 * i] | data[4 + 3 * i] << 8);
    for (unsigned i = 0; i < SW_CLR_FRAMES; i++)
        layout.frames[layout.frame_count++] = (struct sw_clr_frame_word){ 1 + i, (enum sw_clr_frame)i };
    layout.code = TARGET;
    return layout;
}

static void read_frames(const struct sw_clr_layout *layout, const struct sw_memory *memory, size_t size)
{
    struct sw_transition record;
    uint64_t cursor = 0, before = 0;
    size_t count = 0;
    uint32_t native;
    for (; sw_clr_thread_record(layout, memory, memory, TARGET, &cursor, &record, &native); before = cursor)
        if (cursor <= before || cursor % 8 != 0 || ++count > size / 8 || native > SW_CLR_ALL_NATIVE ||
            record.regs.known >> SW_X64_COUNT != 0)
            abort();
    (void)sw_clr_thread_fits(layout, memory, TARGET, TARGET, TARGET + size);
}

static void read_exceptions(const struct sw_clr_layout *layout, const struct sw_memory *memory, size_t size)
{
    struct sw_clr_exception exception;
    uint64_t cursor = 0;
    size_t count = 0;
    while (sw_clr_thread_exception(layout, memory, memory, TARGET, &cursor, &exception))
        if (exception.low > exception.high || ++count > (layout->native_dispatch ? EXCEPTIONS_MAX : size / 8))
            abort();
}

static void find_code(const struct sw_clr_layout *layout, const struct sw_memory *memory, size_t size)
{
    for (uint64_t at = TARGET; at < TARGET + size; at += 1 + size / 16) {
        struct sw_range range;
        uint64_t method;
        if (sw_clr_find_code(layout, memory, at, &range) && (at < range.begin || at >= range.end))
            abort();
        if (sw_clr_find_entry(layout, memory, at, &method) && method == 0)
            abort();
    }
}

static void recognise(struct sw_clr_layout *layout, const struct sw_memory *memory, size_t size)
{
    const struct sw_clr_library library = { TARGET, TARGET + size, TARGET };
    unsigned kinds = 0;
    if (sw_clr_layout_recognise(memory, &library, layout) != SW_OK)
        return;
    for (unsigned i = 0; i < layout->frame_count; i++)
        kinds |= 1u << layout->frames[i].kind;
    if (layout->frame_count > SW_CLR_FRAME_WORDS ||
        kinds != ((1u << SW_CLR_FRAMES) - 1) - (1u << SW_CLR_FRAME_SOFTWARE))
        abort();
}

static void learn(struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t entry, uint64_t method)
{
    uint64_t found;
    layout->has_entries = false;
    if (sw_clr_learn_entries(layout, memory, entry, method) &&
        (!sw_clr_find_entry(layout, memory, entry, &found) || found != method))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES)
        return 0;
    struct target target = { data + HEAD_BYTES, size - HEAD_BYTES };
    const struct sw_memory memory = { read_target, &target, { 0, 0, NULL } };
    struct sw_clr_layout layout = layout_of(data);
    switch (data[1] % 5) {
    case 0:
        read_frames(&layout, &memory, target.size);
        break;
    case 1:
        read_exceptions(&layout, &memory, target.size);
        break;
    case 2:
        find_code(&layout, &memory, target.size);
        break;
    case 3:
        recognise(&layout, &memory, target.size);
        break;
    default:
        learn(&layout, &memory, TARGET + 16u * data[2], TARGET + 8u * data[3]);
        break;
    }
    return 0;
}
