/*
 * What a running CoreCLR tells of itself, on x64 or ARM64, from arbitrary bytes: its descriptor (the text alone, or all
 * of it), the state and explicit frames of a thread, exceptions in flight, JIT code by map. The first byte says which.
 * Holds: chains rise and end within the bytes, code that is found holds the address asked for, the same question has
 * the same answer, nothing stays allocated.
 */
#include "clr/runtime.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TARGET = 0x10000, HEAD = 0x1000, HEAD_BYTES = 64, FIRST_KIND = 1 };

struct target {
    const uint8_t *bytes;
    size_t size;
    uint8_t head[HEAD_BYTES];
};

static size_t copy(const uint8_t *from, size_t room, uint64_t skip, void *to, size_t size)
{
    if (skip >= room)
        return 0;
    const size_t copied = size < room - skip ? size : room - (size_t)skip;
    memcpy(to, from + skip, copied);
    return copied;
}

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    const struct target *t = arg;
    if (address >= TARGET)
        return copy(t->bytes, t->size, address - TARGET, to, size);
    return address >= HEAD ? copy(t->head, sizeof t->head, address - HEAD, to, size) : 0;
}

static void become_arm64(struct sw_clr_layout *layout)
{
    layout->at[SW_CLR_THREAD_HIJACK] = SW_CLR_NONE; /* the object is searched */
    layout->at[SW_CLR_THREAD_FORBID] = SW_CLR_NONE;
    layout->at[SW_CLR_THREAD_EXCEPTION] = 392;
    layout->at[SW_CLR_BLOCK_SIZE] = 176;
    layout->at[SW_CLR_BLOCK_RETURN] = 8;
    layout->at[SW_CLR_SOFTWARE_CONTEXT] = 192;
    layout->at[SW_CLR_HIJACK_SIZE] = 192;
    layout->block = (struct sw_clr_saved){ 3, { { 0, SW_ARM64_FP }, { 16, SW_ARM64_X19 }, { 88, SW_ARM64_X28 } } };
    layout->hijack = (struct sw_clr_saved){ 2, { { 0, SW_ARM64_FP }, { 88, SW_ARM64_X28 } } };
    layout->context_size = 992;
}

/*
 * Offsets of .NET 10; kinds of explicit frames from 1 on. ARM64: what differs (docs/facts/clr-arm64-observed.md,
 * section 6).
 */
static struct sw_clr_layout layout_of_net_10(enum sw_machine machine)
{
    struct sw_clr_layout layout = {
        .machine = machine,
        .map_search = 1,
        .at = { [SW_CLR_THREAD_MODE] = 4,         [SW_CLR_THREAD_FRAME] = 8,
                [SW_CLR_THREAD_EXCEPTION] = 352,  [SW_CLR_THREAD_HIJACK] = 152,
                [SW_CLR_FRAME_NEXT] = 8,          [SW_CLR_INLINED_SP] = 24,
                [SW_CLR_INLINED_RETURN] = 32,     [SW_CLR_INLINED_FP] = 40,
                [SW_CLR_METHOD_BLOCK] = 16,       [SW_CLR_BLOCK_SIZE] = 104,
                [SW_CLR_BLOCK_RETURN] = 96,       [SW_CLR_RESUMABLE_CONTEXT] = 16,
                [SW_CLR_FAULT_CONTEXT] = 32,      [SW_CLR_SOFTWARE_CONTEXT] = 288,
                [SW_CLR_SOFTWARE_PLACES] = 176,   [SW_CLR_HIJACK_RETURN] = 16,
                [SW_CLR_HIJACK_ARGS] = 32,        [SW_CLR_HIJACK_SIZE] = 80,
                [SW_CLR_HIJACK_SP] = SW_CLR_NONE, [SW_CLR_EXCEPTION_THREAD] = SW_CLR_NONE,
                [SW_CLR_EXCEPTION_LOW] = 128,     [SW_CLR_EXCEPTION_HIGH] = 136,
                [SW_CLR_EXCEPTION_FLAGS] = 64,    [SW_CLR_EXCEPTION_ENTERED] = 60,
                [SW_CLR_EXCEPTION_CLAUSE] = 56,   [SW_CLR_EXCEPTION_KIND] = 184,
                [SW_CLR_EXCEPTION_PASS] = 185,    [SW_CLR_FRAGMENT_BEGIN] = 8,
                [SW_CLR_FRAGMENT_END] = 16,       [SW_CLR_FRAGMENT_SECTION] = 24,
                [SW_CLR_SECTION_FLAGS] = 16,      [SW_CLR_SECTION_HEAP] = 40,
                [SW_CLR_HEAP_BEGIN] = 16,         [SW_CLR_HEAP_END] = 24,
                [SW_CLR_HEAP_BASE] = 32,          [SW_CLR_HEAP_MAP] = 40,
                [SW_CLR_METHOD_FLAGS] = 6 },
        .block = { 2, { { 80, SW_X64_RBX }, { 88, SW_X64_RBP } } },
        .hijack = { 2, { { 24, SW_X64_R12 }, { 64, SW_X64_RBP } } },
        .frame_count = SW_CLR_FRAMES,
        .code = TARGET,
    };
    if (machine == SW_MACHINE_ARM64)
        become_arm64(&layout);
    for (unsigned i = 0; i < SW_CLR_FRAMES; i++)
        layout.frames[i] = (struct sw_clr_frame_word){ FIRST_KIND + i, (enum sw_clr_frame)i };
    return layout;
}

static void *get(void *arg, size_t size)
{
    ++*(int *)arg;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)size;
    --*(int *)arg;
    free(block);
}

static void store(uint8_t *to, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

/* A head around the bytes as text. */
static void make_head(struct target *t)
{
    store(t->head, UINT64_C(0x0043414443434e44), 8);
    store(t->head + 12, t->size, 4);
    store(t->head + 16, TARGET, 8);
    store(t->head + 24, 3, 4);
    store(t->head + 32, HEAD + 40, 8);
}

static void read_layout(const struct sw_memory *memory, enum sw_machine machine, uint64_t descriptor)
{
    int out = 0;
    const struct sw_alloc alloc = { get, put, &out };
    struct sw_clr_layout layout;
    const struct sw_clr_runtime runtime = { 10, machine, SW_CLR_UNIX, descriptor };
    const enum sw_status status = sw_clr_layout_read(memory, &runtime, &alloc, &layout);
    if (out != 0 ||
        (status != SW_OK && status != SW_E_MALFORMED && status != SW_E_UNSUPPORTED && status != SW_E_UNREADABLE))
        abort();
}

static bool is_odd(void *arg, uint64_t address)
{
    (void)arg;
    return (address & 1) != 0;
}

static void read_state(const struct sw_memory *memory, enum sw_machine machine)
{
    const struct sw_clr_layout layout = layout_of_net_10(machine);
    enum sw_mode mode;
    uint64_t at, by;
    if (sw_clr_thread_mode(&layout, memory, TARGET, &mode) && mode == SW_MODE_UNKNOWN)
        abort();
    if (sw_clr_thread_hijack(&layout, memory, TARGET, TARGET, TARGET + 0x1000, is_odd, NULL, &at, &by) &&
        (at < TARGET || at >= TARGET + 0x1000 || at % 8 != 0 || !is_odd(NULL, by)))
        abort();
}

static void read_frames(const struct sw_memory *memory, enum sw_machine machine, size_t size)
{
    const struct sw_clr_layout layout = layout_of_net_10(machine);
    struct sw_transition record;
    uint64_t cursor = 0;
    size_t count = 0;
    uint32_t native;
    for (uint64_t before = 0; sw_clr_thread_record(&layout, memory, memory, TARGET, &cursor, &record, &native);
         before = cursor)
        if (cursor <= before || record.address != cursor || cursor % 8 != 0 || ++count > (HEAD_BYTES + size) / 8 ||
            record.regs.machine != machine || record.regs.known >> sw_regs_count(machine) != 0)
            abort();
}

static void read_exceptions(const struct sw_memory *memory, enum sw_machine machine, size_t size)
{
    const struct sw_clr_layout layout = layout_of_net_10(machine);
    struct sw_clr_exception exception;
    uint64_t cursor = 0;
    size_t count = 0;
    for (uint64_t before = 0; sw_clr_thread_exception(&layout, memory, memory, TARGET, &cursor, &exception);
         before = cursor)
        if (cursor <= before || exception.low > exception.high || ++count > size / 8)
            abort();
}

static void find_code(const struct sw_memory *memory, enum sw_machine machine, size_t size)
{
    const struct sw_clr_layout layout = layout_of_net_10(machine);
    const uint64_t step = 1 + size / 64;
    for (uint64_t at = TARGET; at < TARGET + size; at += step) {
        struct sw_range range, again;
        uint64_t begin, end;
        if (sw_clr_find_precompiled(&layout, memory, at, &begin, &end) && (at < begin || at >= end))
            abort();
        if (!sw_clr_find_code(&layout, memory, at, &range))
            continue;
        if (at < range.begin || at >= range.end || range.id == 0 || range.kind != SW_KIND_JIT || range.image > 1 ||
            (range.flags & ~SW_RANGE_HIDDEN) != 0)
            abort();
        /* A hostile map may say of a method's begin that none begins there. */
        if (sw_clr_find_code(&layout, memory, range.begin, &again) && again.begin == range.begin &&
            (again.end != range.end || again.id != range.id))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct target target = { data + 1, size - 1, { 0 } };
    const struct sw_memory memory = { read_target, &target, { 0, 0, NULL } };
    make_head(&target);
    const enum sw_machine machine = data[0] / 5 % 2 ? SW_MACHINE_ARM64 : SW_MACHINE_X64;
    switch (data[0] % 5) {
    case 0:
        read_layout(&memory, machine, HEAD);
        break;
    case 1:
        read_layout(&memory, machine, TARGET);
        break;
    case 2:
        read_state(&memory, machine);
        read_frames(&memory, machine, target.size);
        break;
    case 3:
        read_exceptions(&memory, machine, target.size);
        break;
    default:
        find_code(&memory, machine, target.size);
        break;
    }
    return 0;
}
