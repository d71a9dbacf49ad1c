/*
 * Machine code of the tube's functions. Knows instructions, and no thread.
 *
 * Source: prologue-shapes.md section 2 (".NET JIT"); the registers of enter and leave hooks: r14, r15 and rdi, rsi on
 * x64 (dotnet/runtime jit/targetamd64.h, REG_PROFILER_*), x10, x11 on ARM64 (jit/targetarm64.h).
 */
#include "code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gate.h"

enum { ARENA_BYTES = 96 << 20, CODE_MAX = 256, ALIGNMENT = 16, LARGE_BYTES = 0x2000 };
#define SIMULATED_ARENA UINT64_C(0x20000000)

/* write: where it is filled; address: where threads see it. */
struct arena {
    uint8_t *write;
    uint64_t address;
    size_t used;
    int file;
    struct sw_code_native native;
    uint64_t probe;
};

/* ---- shapes ---- */

struct bytes {
    const char *at;
    unsigned size;
};
#define BYTES(text)                                                                                                    \
    {                                                                                                                  \
        (text), sizeof(text) - 1                                                                                       \
    }

struct made {
    struct sw_code_shape shape;
    struct bytes prologue, epilogue;
};

/* In LARGE of x64 a call of the probe stands between the two halves: see emit_x64. */
/* clang-format off */
static const struct made shapes_x64[] = {
    [SW_TUBE_SHAPE_FRAME] = { /* push rbp; sub rsp,32; lea rbp,[rsp+32] */
        { 0x28, 8, 1, { { SW_X64_RBP, 8 } } },
        BYTES("\x55\x48\x83\xec\x20\x48\x8d\x6c\x24\x20"),
        BYTES("\x48\x83\xc4\x20\x5d\xc3") },
    [SW_TUBE_SHAPE_SAVES] = { /* push rbp, r15, r14, rbx; sub rsp,24; lea rbp,[rsp+48]; lea rbx,[rip] */
        { 0x38, 8, 4, { { SW_X64_RBP, 8 }, { SW_X64_R15, 16 }, { SW_X64_R14, 24 }, { SW_X64_RBX, 32 } } },
        BYTES("\x55\x41\x57\x41\x56\x53\x48\x83\xec\x18\x48\x8d\x6c\x24\x30\x48\x8d\x1d\x00\x00\x00\x00"),
        BYTES("\x48\x83\xc4\x18\x5b\x41\x5e\x41\x5f\x5d\xc3") },
    [SW_TUBE_SHAPE_FRAMELESS] = { /* push rbx; sub rsp,16 */
        { 0x18, 0, 1, { { SW_X64_RBX, 8 } } },
        BYTES("\x53\x48\x83\xec\x10"),
        BYTES("\x48\x83\xc4\x10\x5b\xc3") },
    [SW_TUBE_SHAPE_LARGE] = { /* push rbp; lea r11,[rsp-0x2000]; (probe); mov rsp,r11; lea rbp,[rsp+0x2000] */
        { 8 + LARGE_BYTES, 8, 1, { { SW_X64_RBP, 8 } } },
        BYTES("\x55\x4c\x8d\x9c\x24\x00\xe0\xff\xff"),
        BYTES("\x48\x81\xc4\x00\x20\x00\x00\x5d\xc3") },
};
static const struct bytes large_x64_rest = BYTES("\x4c\x89\xdc\x48\x8d\xac\x24\x00\x20\x00\x00");

static const struct made shapes_arm64[] = {
    [SW_TUBE_SHAPE_FRAME] = { /* stp x29,x30,[sp,#-32]!; mov x29,sp */
        { 32, 32, 2, { { SW_ARM64_FP, 32 }, { SW_ARM64_LR, 24 } } },
        BYTES("\xfd\x7b\xbe\xa9\xfd\x03\x00\x91"),
        BYTES("\xfd\x7b\xc2\xa8\xc0\x03\x5f\xd6") },
    [SW_TUBE_SHAPE_SAVES] = { /* stp x29,x30,[sp,#-48]!; stp x19,x20,[sp,#16]; mov x29,sp; adr x19,. */
        { 48, 48, 4, { { SW_ARM64_FP, 48 }, { SW_ARM64_LR, 40 }, { SW_ARM64_X0 + 19, 32 }, { SW_ARM64_X0 + 20, 24 } } },
        BYTES("\xfd\x7b\xbd\xa9\xf3\x53\x01\xa9\xfd\x03\x00\x91\x13\x00\x00\x10"),
        BYTES("\xf3\x53\x41\xa9\xfd\x7b\xc3\xa8\xc0\x03\x5f\xd6") },
    [SW_TUBE_SHAPE_FRAMELESS] = { /* str x30,[sp,#-16]! */
        { 16, 0, 1, { { SW_ARM64_LR, 16 } } },
        BYTES("\xfe\x0f\x1f\xf8"),
        BYTES("\xfe\x07\x41\xf8\xc0\x03\x5f\xd6") },
    [SW_TUBE_SHAPE_LARGE] = { /* stp x29,x30,[sp,#-16]!; mov x29,sp; sub sp,sp,#2,lsl #12 */
        { 16 + LARGE_BYTES, 16, 2, { { SW_ARM64_FP, 16 }, { SW_ARM64_LR, 8 } } },
        BYTES("\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\xff\x0b\x40\xd1"),
        BYTES("\xff\x0b\x40\x91\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6") },
};

/* A native function with a frame pointer that calls once, then the page probe of x64 (test [r11],esp; ret). */
static const struct bytes native_x64 = BYTES("\x55\x48\x89\xe5\xff\xd0\x5d\xc3"),
                          native_arm64 = BYTES("\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\x00\x00\x3f\xd6\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6"),
                          probe_x64 = BYTES("\x41\x85\x23\xc3");
/* clang-format on */

static const struct made *made_of(enum sw_machine machine, uint32_t shape)
{
    return machine == SW_MACHINE_ARM64 ? &shapes_arm64[shape & SW_TUBE_SHAPES] : &shapes_x64[shape & SW_TUBE_SHAPES];
}

const struct sw_code_shape *sw_code_shape(enum sw_machine machine, uint32_t shape)
{
    return &made_of(machine, shape)->shape;
}

/* ---- writing code ---- */

/* One function on its way: offsets count from its begin. */
struct writer {
    uint8_t bytes[CODE_MAX];
    unsigned size;
};

static void put(struct writer *to, struct bytes bytes)
{
    memcpy(to->bytes + to->size, bytes.at, bytes.size);
    to->size += bytes.size;
}

static void put_number(struct writer *to, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to->bytes[to->size++] = (uint8_t)(number >> 8 * i);
}

#define PUT(to, text) put(to, (struct bytes)BYTES(text))

/* mov rax, target; call rax */
static void call_x64(struct writer *to, uint64_t target)
{
    PUT(to, "\x48\xb8");
    put_number(to, target, 8);
    PUT(to, "\xff\xd0");
}

/*
 * Hooks as the code generator calls them. Entering: mov r14, client; lea r15, [entry's sp]. Leaving, and with
 * information: mov rdi, client; lea rsi, [entry's sp]. SAVES keeps r14 and r15.
 */
static void hook_x64(struct writer *to, const struct sw_tube_function *function, bool enters)
{
    const struct sw_tube *tube = function->tube;
    const UINT_PTR hook = enters ? tube->enter_hook : tube->leave_hook;
    const bool is_slow = sw_tube_hooks_are_slow(tube);
    if (!function->hooked || hook == 0)
        return;
    if (enters && !is_slow)
        PUT(to, "\x49\xbe");
    else
        PUT(to, "\x48\xbf");
    put_number(to, function->client, 8);
    if (enters && !is_slow)
        PUT(to, "\x4c\x8d\x7d\x10\x31\xff"); /* lea r15,[rbp+16]; xor edi,edi */
    else
        PUT(to, "\x48\x8d\x75\x10"); /* lea rsi,[rbp+16] */
    if (is_slow)
        call_x64(to, enters ? (UINT_PTR)sw_tube_slow_enter : (UINT_PTR)sw_tube_slow_leave);
    else
        call_x64(to, hook);
}

static void emit_x64(struct writer *to, const struct sw_tube_function *function, const struct arena *arena,
                     struct sw_tube_code *code)
{
    const struct made *made = made_of(SW_MACHINE_X64, code->shape);
    put(to, made->prologue);
    if (code->shape == SW_TUBE_SHAPE_LARGE) {
        call_x64(to, arena->probe);
        put(to, large_x64_rest);
    }
    hook_x64(to, function, true);
    const unsigned again = to->size;
    call_x64(to, sw_gate_address());
    code->at_gate = to->size;
    PUT(to, "\x48\x85\xc0\x74\x18\x48\x83\xf8\x01\x74\x04\xff\xd0"); /* test; jz leave; cmp 1; je spin; call rax */
    code->at_call = to->size;
    PUT(to, "\xeb");
    put_number(to, (uint64_t)again - (to->size + 1), 1);
    PUT(to, "\xc7\x42\x04\x01\x00\x00\x00"); /* mov dword [rdx+4],1: the loop begins */
    code->spin = to->size;
    PUT(to, "\x83\x3a\x00\x74\xfb\xeb"); /* cmp dword [rdx],0; je spin; jmp again */
    put_number(to, (uint64_t)again - (to->size + 1), 1);
    hook_x64(to, function, false);
    put(to, made->epilogue);
}

/* One instruction with a distance in words: imm19 at bit 5, or imm26 at bit 0. */
static void branch19(struct writer *to, uint32_t bits, unsigned from, unsigned target)
{
    put_number(to, bits | (((target - from) / 4 & 0x7ffffu) << 5), 4);
}

static void branch_back(struct writer *to, unsigned target)
{
    put_number(to, 0x14000000u | ((target - to->size) / 4 & 0x3ffffffu), 4);
}

enum { ARM64_LEAVE = 44, ARM64_BEGIN_SPIN = 28, ARM64_SPIN = 32 }; /* from the body's begin */

static void emit_arm64(struct writer *to, const struct sw_tube_function *function, const struct arena *arena,
                       struct sw_tube_code *code)
{
    const struct made *made = made_of(SW_MACHINE_ARM64, code->shape);
    (void)function, (void)arena;
    put(to, made->prologue);
    const unsigned again = to->size, leave = again + ARM64_LEAVE, spin = again + ARM64_SPIN;
    const unsigned literal = (leave + made->epilogue.size + 7) / 8 * 8;
    branch19(to, 0x58000010u, to->size, literal); /* ldr x16, gate */
    put_number(to, 0xd63f0200u, 4);               /* blr x16 */
    code->at_gate = to->size;
    branch19(to, 0xb4000000u, to->size, leave);                    /* cbz x0 */
    put_number(to, 0xf100041fu, 4);                                /* cmp x0, #1 */
    branch19(to, 0x54000000u, to->size, again + ARM64_BEGIN_SPIN); /* b.eq */
    put_number(to, 0xd63f0000u, 4);                                /* blr x0 */
    code->at_call = to->size;
    branch_back(to, again);
    put_number(to, 0xb9000420u, 4); /* str w0, [x1, #4]: the loop begins */
    code->spin = to->size;
    put_number(to, 0xb9400022u, 4);            /* ldr w2, [x1] */
    branch19(to, 0x34000002u, to->size, spin); /* cbz w2 */
    branch_back(to, again);
    put(to, made->epilogue);
    put_number(to, 0, literal - to->size);
    put_number(to, sw_gate_address(), 8);
}

/* ---- the arena ---- */

static enum sw_status place(struct sw_tube *tube, const uint8_t *bytes, size_t size, uint64_t *address)
{
    struct arena *arena = tube->arena;
    if (arena->used + CODE_MAX > ARENA_BYTES)
        return SW_E_LIMIT;
    memcpy(arena->write + arena->used, bytes, size);
    *address = arena->address + arena->used;
    arena->used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return SW_OK;
}

/* One memory, mapped twice: never writable and executable at one address. */
static enum sw_status map_twice(struct arena *arena)
{
    arena->file = memfd_create("snapwalk-tube-code", MFD_CLOEXEC);
    if (arena->file < 0 || ftruncate(arena->file, ARENA_BYTES) != 0)
        return SW_E_OS;
    arena->write = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, arena->file, 0);
    void *run = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, arena->file, 0);
    if (arena->write == MAP_FAILED || run == MAP_FAILED)
        return SW_E_OS;
    arena->address = (uint64_t)(uintptr_t)run;
    return SW_OK;
}

static enum sw_status map_once(struct arena *arena)
{
    arena->file = -1;
    arena->address = SIMULATED_ARENA;
    arena->write = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return arena->write == MAP_FAILED ? SW_E_NO_MEMORY : SW_OK;
}

static enum sw_status add_native(struct sw_tube *tube, struct bytes bytes, enum sw_kind kind, uint64_t *begin)
{
    const enum sw_status status = place(tube, (const uint8_t *)bytes.at, bytes.size, begin);
    const struct sw_range range = {
        .begin = *begin, .end = *begin + bytes.size, .kind = (uint8_t)kind, .unwind = SW_UNWIND_ANALYSIS
    };
    return status == SW_OK ? sw_codemap_add(tube->codemap, &range) : status;
}

enum sw_status sw_code_arena_create(struct sw_tube *tube)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        return SW_E_NO_MEMORY;
    tube->arena = arena;
    arena->file = -1;
    enum sw_status status = tube->options.simulated ? map_once(arena) : map_twice(arena);
    const bool is_arm64 = tube->machine == SW_MACHINE_ARM64;
    const struct bytes native = is_arm64 ? native_arm64 : native_x64;
    if (status == SW_OK)
        status = add_native(tube, native, SW_KIND_NATIVE, &arena->native.begin);
    if (status == SW_OK && !is_arm64)
        status = add_native(tube, probe_x64, SW_KIND_STUB, &arena->probe);
    arena->native.end = arena->native.begin + native.size;
    arena->native.stands = arena->native.begin + (is_arm64 ? 8 : 4);
    arena->native.after = arena->native.begin + (is_arm64 ? 12 : 6);
    return status;
}

void sw_code_arena_destroy(struct sw_tube *tube)
{
    struct arena *arena = tube->arena;
    if (!arena)
        return;
    if (arena->write && arena->write != MAP_FAILED)
        (void)munmap(arena->write, ARENA_BYTES);
    if (arena->file >= 0 && arena->address != 0)
        (void)munmap((void *)(uintptr_t)arena->address, ARENA_BYTES);
    if (arena->file >= 0)
        (void)close(arena->file);
    free(arena);
    tube->arena = NULL;
}

struct sw_code_native sw_code_native(const struct sw_tube *tube)
{
    return ((const struct arena *)tube->arena)->native;
}

/* Hooked functions need the shape that keeps the hooks' registers. */
static uint32_t shape_of(const struct sw_tube_function *function)
{
    const struct sw_tube *tube = function->tube;
    const bool is_hooked = function->hooked && (tube->enter_hook != 0 || tube->leave_hook != 0);
    return is_hooked ? SW_TUBE_SHAPE_SAVES : function->flags & SW_TUBE_SHAPES;
}

enum sw_status sw_code_make(struct sw_tube_function *function, struct sw_tube_code *code)
{
    struct sw_tube *tube = function->tube;
    struct writer writer = { .size = 0 };
    code->shape = shape_of(function);
    (tube->machine == SW_MACHINE_ARM64 ? emit_arm64 : emit_x64)(&writer, function, tube->arena, code);
    const enum sw_status status = place(tube, writer.bytes, writer.size, &code->begin);
    if (status != SW_OK)
        return status;
    code->end = code->begin + writer.size;
    code->at_gate += code->begin;
    code->at_call += code->begin;
    code->spin += code->begin;
    if (!tube->options.simulated)
        __builtin___clear_cache((char *)(uintptr_t)code->begin, (char *)(uintptr_t)code->end);
    return SW_OK;
}

size_t sw_code_read(const struct sw_tube *tube, uint64_t address, void *to, size_t size)
{
    const struct arena *arena = tube->arena;
    if (address < arena->address || address - arena->address >= arena->used)
        return 0;
    const size_t at = (size_t)(address - arena->address), left = arena->used - at;
    const size_t part = size < left ? size : left;
    memcpy(to, arena->write + at, part);
    return part;
}
