/*
 * CoreCLR's header of a piece of JIT code → rule. It is the only description of funclets and of code that was entered
 * in the middle of a running method (OSR). The layout is private to the runtime, so nothing is believed before all of
 * it fits together; otherwise the answer is SW_E_NO_RULE and analysis takes over. Follows win-x64-unwind.md section 9
 * (seen in .NET 10); ARM64: win-arm64-unwind.md section 7 and dotnet/runtime's vm/codeman.h, vm/jitinterface.cpp,
 * vm/arm64/cgencpu.h (not seen in a process).
 *
 *   method start - 8   → header: +8 EH clauses, +24 MethodDesc, +32 u32 n, +36 n RUNTIME_FUNCTIONs (the method, then
 *                      its funclets)
 *   EH clauses         u64 count in front, 8 bytes, then 32 bytes each: u32 flags (1: filter), try begin, try end,
 *                      handler begin, handler end, and at +24 the filter's begin: offsets from the method's start
 *   code heap base     = method start - first entry's begin; RVAs count from it. It is 64 KiB aligned, except in heaps
 *                      of dynamic methods, which begin 16 bytes later (seen in .NET 10). In both, RVA 0 holds the
 *                      personality: a jump to an address in its own bytes. Unwind data is never packed.
 */
#include "clr/clr.h"

#include <string.h>

enum {
    FUNCTIONS_MAX = 64,
    BATCH = 8,
    FUNCTION_SIZE_MAX = 12,
    HEAP_ALIGNMENT = 65536,
    CLAUSES_MAX = 4096,
    CLAUSE_SIZE = 32,
    CLAUSE_FILTER = 1
};

/*
 * What the JIT's code manager writes. Unwind data has a handler at RVA 0; the bytes there begin with `load`, and `jump`
 * follows at jump_at. x64: UNWIND_INFO version 1, flags 3; mov rax, imm64; jmp rax. ARM64: a record of version 0 with X
 * set; ldr x16, [pc, #8]; br x16.
 */
struct heap_code {
    uint32_t head_mask, head;
    uint8_t load_size, load[4];
    uint8_t jump_at, jump_size, jump[4];
};
static const struct heap_code heap_codes[] = {
    [SW_MACHINE_X64] = { 0xff, 0x19, 2, { 0x48, 0xb8 }, 10, 2, { 0xff, 0xe0 } },
    [SW_MACHINE_ARM64] = { 0x1c0000, 0x100000, 4, { 0x50, 0, 0, 0x58 }, 4, 4, { 0, 0x02, 0x1f, 0xd6 } },
};

/*
 * What was read last, and what stands behind it: header and entries follow each other, and so do the parts of unwind
 * data. A read of another target, or of one's own memory without a fault, is a system call, which costs more than all
 * the decoding.
 */
enum { WINDOW = 128 };
struct window {
    uint64_t at;
    size_t size;
    uint8_t bytes[WINDOW];
};

struct header {
    enum sw_machine machine;
    bool linux_code;
    const struct sw_memory *memory;
    struct window table_window, data_window;
    uint64_t begin;
    uint64_t end;
    uint64_t base;
    uint64_t table; /* address of the first entry */
    uint64_t method;
    uint64_t clauses; /* 0: no EH clauses */
    uint32_t count;
    uint32_t functions_end; /* RVA behind the last entry's code */
};

static size_t read_by(struct window *window, const struct sw_memory *memory, uint64_t at, void *to, size_t size)
{
    if (size > WINDOW)
        return sw_memory_read(memory, at, to, size);
    if (at - window->at > window->size || size > window->size - (at - window->at)) {
        window->at = at;
        window->size = sw_memory_read(memory, at, window->bytes, WINDOW);
    }
    const size_t offset = (size_t)(at - window->at);
    if (size > window->size - offset) /* a reader may give all or nothing */
        return sw_memory_read(memory, at, to, size);
    memcpy(to, window->bytes + offset, size);
    return size;
}

static size_t read_table(struct header *h, uint64_t at, void *to, size_t size)
{
    return read_by(&h->table_window, h->memory, at, to, size);
}

static bool read_header(struct header *h)
{
    uint8_t bytes[28];
    uint64_t at;
    if (h->begin < 8 || !sw_memory_word(h->memory, h->begin - 8, &at))
        return false;
    if (at % 8 || at > UINT64_MAX - 1024 || read_table(h, at + 8, bytes, sizeof bytes) != sizeof bytes)
        return false;
    h->clauses = sw_load64(bytes);
    h->method = sw_load64(bytes + 16);
    h->count = sw_load32(bytes + 24);
    h->table = at + 36;
    return true;
}

static size_t get(void *arg, uint32_t rva, void *to, size_t size)
{
    struct header *h = arg;
    const uint64_t at = h->base + rva;
    return at < h->base ? 0 : read_by(&h->data_window, h->memory, at, to, size);
}

static struct sw_pe_reader reader_of(struct header *h)
{
    return (struct sw_pe_reader){ get, NULL, h };
}

/* Functions follow each other inside the range, and their unwind data follows all of them. */
static bool entry_fits(const struct header *h, struct sw_pe_function entry, uint32_t previous_end)
{
    const uint64_t limit = h->end - h->base;
    return entry.begin < entry.end && entry.begin >= previous_end && entry.end <= limit && entry.unwind % 4 == 0 &&
           entry.unwind >= entry.end;
}

/*
 * Checks every entry, picks the one around rva, and notes where the last one ends. On Windows the runtime makes room
 * for more functions than the JIT may have: behind the last one stand zeros, or whatever that memory held before.
 *
 * Returns  SW_OK; SW_E_NO_RULE; SW_E_UNREADABLE.
 */
static enum sw_status scan_entries(struct header *h, uint32_t rva, struct sw_pe_function *found)
{
    uint8_t batch[BATCH * FUNCTION_SIZE_MAX];
    const struct sw_pe_reader reader = reader_of(h);
    const uint32_t entry_size = sw_pe_entry_size(h->machine);
    uint32_t previous_end = (uint32_t)(h->begin - h->base);
    found->end = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        const uint32_t in_batch = i % BATCH;
        const uint32_t left = h->count - i < BATCH ? h->count - i : BATCH;
        const size_t size = (size_t)left * entry_size;
        struct sw_pe_function entry;
        if (in_batch == 0 && read_table(h, h->table + (uint64_t)i * entry_size, batch, size) != size)
            return SW_E_UNREADABLE;
        const enum sw_status status = sw_pe_entry(h->machine, &reader, batch + in_batch * entry_size, &entry);
        if (status)
            return status == SW_E_TRUNCATED ? SW_E_UNREADABLE : SW_E_NO_RULE;
        if (!entry_fits(h, entry, previous_end)) {
            if (i == 0 || h->linux_code)
                return SW_E_NO_RULE;
            break;
        }
        previous_end = entry.end;
        if (rva >= entry.begin && rva < entry.end)
            *found = entry;
    }
    h->functions_end = previous_end;
    return found->end ? SW_OK : SW_E_NO_RULE;
}

static enum sw_status check_info(struct header *h, struct sw_pe_function function)
{
    const struct heap_code *heap_code = &heap_codes[h->machine];
    const struct sw_pe_reader reader = reader_of(h);
    uint8_t head[4];
    uint32_t handler;
    if (get(h, function.unwind, head, sizeof head) != sizeof head)
        return SW_E_UNREADABLE;
    if ((sw_load32(head) & heap_code->head_mask) != heap_code->head)
        return SW_E_NO_RULE;
    const enum sw_status status = sw_pe_handler(h->machine, &reader, &function, &handler);
    if (status)
        return status == SW_E_TRUNCATED ? SW_E_UNREADABLE : SW_E_NO_RULE;
    return handler == 0 ? SW_OK : SW_E_NO_RULE;
}

static bool is_heap(const struct header *h)
{
    const struct heap_code *heap_code = &heap_codes[h->machine];
    uint8_t bytes[12];
    if (h->base % HEAP_ALIGNMENT == 0)
        return true;
    return sw_memory_read(h->memory, h->base, bytes, sizeof bytes) == sizeof bytes &&
           memcmp(bytes, heap_code->load, heap_code->load_size) == 0 &&
           memcmp(bytes + heap_code->jump_at, heap_code->jump, heap_code->jump_size) == 0;
}

static enum sw_status open_header(struct header *h)
{
    uint8_t first[4];
    if (h->end <= h->begin || !read_header(h))
        return h->end <= h->begin ? SW_E_NO_RULE : SW_E_UNREADABLE;
    if (h->count == 0 || h->count > FUNCTIONS_MAX || h->method == 0 || h->method % 8)
        return SW_E_NO_RULE;
    if (read_table(h, h->table, first, sizeof first) != sizeof first)
        return SW_E_UNREADABLE;
    const uint32_t offset = sw_load32(first);
    h->base = h->begin - offset;
    if (offset > h->begin || h->end - h->base > UINT32_MAX || !is_heap(h))
        return SW_E_NO_RULE;
    return SW_OK;
}

/* Whether a filter begins there, by the EH clauses. Unreadable clauses count as no. */
static bool is_filter(const struct header *h, uint64_t begin)
{
    uint8_t batch[BATCH * CLAUSE_SIZE];
    uint64_t count;
    if (h->clauses < 8 || h->clauses % 8 || !sw_memory_word(h->memory, h->clauses - 8, &count) || count > CLAUSES_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t left = count - i < BATCH ? count - i : BATCH;
        const uint8_t *clause = batch + i % BATCH * CLAUSE_SIZE;
        const uint64_t at = h->clauses + 8 + i * CLAUSE_SIZE;
        if (i % BATCH == 0 && sw_memory_read(h->memory, at, batch, left * CLAUSE_SIZE) != left * CLAUSE_SIZE)
            return false;
        if ((sw_load32(clause) & CLAUSE_FILTER) != 0 && sw_load32(clause + 24) == begin)
            return true;
    }
    return false;
}

/* Not more than the window has, which is of the unwind data still. */
static void note_main(const struct header *h, struct sw_pe_function function, struct sw_clr_jit_main *main)
{
    const struct window *window = &h->data_window;
    const uint64_t offset = h->base + function.unwind - window->at;
    const uint64_t left = offset <= window->size ? window->size - offset : 0;
    *main = (struct sw_clr_jit_main){ .method = h->method, .base = h->base, .function = function };
    main->info_size = left < SW_CLR_JIT_INFO ? (uint32_t)left : SW_CLR_JIT_INFO;
    if (main->info_size)
        memcpy(main->info, window->bytes + offset, main->info_size);
}

static enum sw_status rule_by(enum sw_machine machine, bool linux_code, const struct sw_pe_reader *reader,
                              const struct sw_pe_function *function, uint32_t rva, bool exact, struct sw_rule *rule)
{
    const enum sw_status status = sw_pe_rule(machine, linux_code, reader, function, rva, exact, rule);
    if (status)
        return status == SW_E_TRUNCATED ? SW_E_UNREADABLE : SW_E_NO_RULE;
    rule->source = SW_SOURCE_CLR_HEADER;
    return SW_OK;
}

enum sw_status sw_clr_jit_rule(enum sw_machine machine, bool linux_code, const struct sw_memory *memory, uint64_t begin,
                               uint64_t end, uint64_t pc, bool exact, struct sw_rule *rule,
                               struct sw_clr_jit_code *code)
{
    struct header h = { .machine = machine, .linux_code = linux_code, .memory = memory, .begin = begin, .end = end };
    struct sw_pe_function entry = { 0, 0, 0 };
    const struct sw_pe_reader reader = reader_of(&h);
    if (pc < begin || pc >= end)
        return SW_E_NO_RULE;
    enum sw_status status = open_header(&h);
    if (status == SW_OK)
        status = scan_entries(&h, (uint32_t)(pc - h.base), &entry);
    if (status == SW_OK)
        status = check_info(&h, entry);
    if (status)
        return status;
    const uint64_t offset = h.base + entry.begin - begin;
    if (code)
        *code = (struct sw_clr_jit_code){ .function = h.method };
    if (code && offset == 0)
        note_main(&h, entry, &code->main);
    status = rule_by(machine, linux_code, &reader, &entry, (uint32_t)(pc - h.base), exact, rule);
    if (status == SW_OK && code && offset != 0)
        code->flags = is_filter(&h, offset) ? SW_RANGE_FILTER : SW_RANGE_FUNCLET;
    return status;
}

/* ---- a header that was read before ---- */

struct known {
    struct header h;
    const struct sw_clr_jit_main *main;
};

static size_t get_known(void *arg, uint32_t rva, void *to, size_t size)
{
    struct known *known = arg;
    const struct sw_clr_jit_main *main = known->main;
    const uint32_t offset = rva - main->function.unwind;
    if (offset > main->info_size || size > main->info_size - offset)
        return get(&known->h, rva, to, size);
    memcpy(to, main->info + offset, size);
    return size;
}

enum sw_status sw_clr_jit_main_rule(enum sw_machine machine, bool linux_code, const struct sw_memory *memory,
                                    const struct sw_clr_jit_main *main, uint64_t pc, bool exact, struct sw_rule *rule)
{
    struct known known = { { .machine = machine, .linux_code = linux_code, .memory = memory, .base = main->base },
                           main };
    const struct sw_pe_reader reader = { get_known, NULL, &known };
    if (pc < main->base || pc - main->base > UINT32_MAX || main->info_size > SW_CLR_JIT_INFO)
        return SW_E_NO_RULE;
    return rule_by(machine, linux_code, &reader, &main->function, (uint32_t)(pc - main->base), exact, rule);
}

enum sw_status sw_clr_jit_main_body(enum sw_machine machine, const struct sw_memory *memory,
                                    const struct sw_clr_jit_main *main, uint64_t *begin, uint64_t *end)
{
    struct known known = { { .machine = machine, .memory = memory, .base = main->base }, main };
    const struct sw_pe_reader reader = { get_known, NULL, &known };
    uint32_t body;
    if (main->info_size == 0 || main->info_size > SW_CLR_JIT_INFO)
        return SW_E_NO_RULE;
    const enum sw_status status = sw_pe_body(machine, &reader, &main->function, &body);
    *begin = main->base + body;
    *end = main->base + main->function.end;
    return status;
}

enum sw_status sw_clr_jit_extent(enum sw_machine machine, bool linux_code, const struct sw_memory *memory,
                                 uint64_t begin, uint64_t limit, uint64_t *end, uint64_t *function)
{
    struct header h = { .machine = machine, .linux_code = linux_code, .memory = memory, .begin = begin, .end = limit };
    struct sw_pe_function first = { 0, 0, 0 };
    enum sw_status status = open_header(&h);
    if (status == SW_OK)
        status = scan_entries(&h, (uint32_t)(begin - h.base), &first);
    if (status == SW_OK)
        status = check_info(&h, first);
    if (status)
        return status;
    *end = h.base + h.functions_end;
    *function = h.method;
    return SW_OK;
}
