/*
 * Go's table of functions in a target's memory, from arbitrary bytes: as an image, and as what a sound header and
 * moduledata lead to. Holds: every question ends, texts end in a NUL, a caller's stack pointer rises, nothing is read
 * but by the reader.
 */
#include <runtimes/pclntab.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BASE = 0x400000, STACK = 0x8000, HEADER = 0x200, TABLE = 0x300, PARTS = 4, FUNCTIONS = 3, INPUT_LEAST = 64 };
enum { MODULE = 0x80 };

struct target {
    const uint8_t *bytes;
    size_t size;
};

static size_t read_bytes(void *arg, uint64_t address, void *to, size_t size)
{
    const struct target *t = arg;
    if (address < BASE || address - BASE >= t->size)
        return 0;
    const size_t left = t->size - (size_t)(address - BASE), got = size < left ? size : left;
    memcpy(to, t->bytes + (address - BASE), got);
    return got;
}

static size_t read_stack(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    memset(to, (int)(address >> 3 & 0x7f), size);
    return size;
}

static void check(const struct runtime_call *call)
{
    if (strnlen(call->function, sizeof call->function) == sizeof call->function || !*call->function ||
        strnlen(call->file, sizeof call->file) == sizeof call->file || call->line < 0)
        abort();
}

/* On ARM64 a leaf's caller has its stack pointer. */
static void step(const struct pclntab *table, enum sw_machine machine, uint64_t address)
{
    const bool is_x64 = machine == SW_MACHINE_X64;
    const struct sw_memory stack = { read_stack, NULL, { 0, 0, NULL } };
    struct sw_frame frame = { .regs = { .machine = machine }, .lookup = address, .exact = address & 1 };
    struct sw_regs caller;
    bool is_confirmed;
    sw_regs_set(&frame.regs, is_x64 ? SW_X64_RIP : SW_ARM64_PC, address);
    sw_regs_set(&frame.regs, is_x64 ? SW_X64_RSP : SW_ARM64_SP, STACK);
    sw_regs_set(&frame.regs, is_x64 ? SW_X64_RBX : SW_ARM64_LR, address + 4);
    if (pclntab_step(table, &stack, &frame, &caller, &is_confirmed) &&
        (caller.machine != machine || sw_regs_sp(&caller) < STACK ||
         (sw_regs_sp(&caller) == STACK && (is_x64 || !frame.exact))))
        abort();
    (void)pclntab_is_outermost(table, &frame);
}

static void ask_at(const struct pclntab *table, uint64_t address)
{
    static struct runtime_call calls[PCLNTAB_INLINED_MOST];
    uint64_t begin = 0;
    const size_t count = pclntab_name(table, address, calls, &begin);
    if (count > PCLNTAB_INLINED_MOST || (count && begin > address))
        abort();
    for (size_t i = 0; i < count; i++)
        check(&calls[i]);
    step(table, SW_MACHINE_X64, address);
    step(table, SW_MACHINE_ARM64, address);
}

static void ask(const uint8_t *bytes, size_t size)
{
    struct target target = { bytes, size };
    const struct sw_memory memory = { read_bytes, &target, { 0, 0, NULL } };
    struct pclntab *table;
    if (pclntab_open(&memory, &memory, BASE, &table) != SW_OK)
        return;
    for (uint64_t at = 0; at < 64; at++)
        ask_at(table, BASE + at * at);
    pclntab_close(table);
}

static void put(uint8_t *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size);
}

static void put_image(uint8_t *bytes, size_t size)
{
    const Elf64_Ehdr head = { .e_phoff = sizeof head, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
    const Elf64_Phdr row = { .p_type = PT_LOAD, .p_flags = PF_W, .p_vaddr = BASE, .p_filesz = size };
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, &row, sizeof row);
}

/* ORDER of parts: names, units, files, values, functions; moduledata has an address and two lengths of each. */
static void put_module(uint8_t *bytes, size_t size, bool is_later)
{
    const uint64_t table = BASE + HEADER;
    uint8_t *header = bytes + HEADER, *module = bytes + MODULE;
    const size_t inlined = is_later ? 40 : 38;
    put(header, is_later ? 0xfffffff1 : 0xfffffff0, 4);
    put(header + 6, 1, 1);
    put(header + 7, 8, 1);
    put(header + 8, FUNCTIONS, 8);
    put(module, table, 8);
    for (size_t part = 0; part < PARTS + 1; part++) {
        const uint64_t offset = part == PARTS ? TABLE - HEADER : TABLE - HEADER + 8 * FUNCTIONS + 8 + part;
        put(header + 32 + 8 * part, offset, 8);
        put(module + 8 + 24 * part, table + offset, 8);
        put(module + 16 + 24 * part, 1, 8);
        put(module + 24 + 24 * part, 1, 8);
    }
    put(module + 128, table + TABLE - HEADER, 8);
    put(module + 136, FUNCTIONS + 1, 8);
    put(module + 160, BASE, 8);
    put(module + 168, BASE + size, 8);
    put(module + 176, BASE, 8);
    put(module + 8 * inlined, BASE + TABLE, 8);
}

/* What functions are and where, names, files and values are the input. */
static void ask_with_heads(const uint8_t *data, size_t size)
{
    uint8_t *bytes = calloc(1, TABLE + size);
    if (!bytes || size < INPUT_LEAST) {
        free(bytes);
        return;
    }
    memcpy(bytes + TABLE, data, size);
    put(bytes + TABLE, 0, 4);
    put_image(bytes, TABLE + size);
    for (unsigned is_later = 0; is_later < 2; is_later++) {
        put_module(bytes, TABLE + size, is_later);
        ask(bytes, TABLE + size);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ask(data, size);
    ask_with_heads(data, size);
    return 0;
}
