/*
 * A JIT compiler that gives its own unwind data. It writes one function twice: once it registers call frame information
 * for it, once one fixed frame. The function moves its stack pointer by an amount that only the processor knows, so
 * that its frame is found by a register. A callback inside of both prints the stack.
 */
#include <snapwalk/jit.h>
#include <snapwalk/self.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef int (*callback_fn)(void);
typedef int (*jit_fn)(callback_fn);

/*
 * What the compiler knows of the function: its code; rules, in DWARF's instructions, from its first instruction on; and
 * the part in which one frame holds throughout.
 */
#if defined(__aarch64__)
static const enum sw_machine machine = SW_MACHINE_ARM64;
enum { DWARF_RA = 30, BODY = 12, BODY_END = 20, BASE = SW_ARM64_X19, SIZE = 32 };
/* stp x29, x30, [sp, #-32]!; str x19, [sp, #16]; mov x19, sp; blr x0; mov sp, x19; ldr x19; ldp x29, x30; ret */
static const uint32_t code[] = { 0xa9be7bfd, 0xf9000bf3, 0x910003f3, 0xd63f0000,
                                 0x9100027f, 0xf9400bf3, 0xa8c27bfd, 0xd65f03c0 };
static const uint8_t at_entry[] = { 0x0c, 31, 0 };
static const uint8_t rules[] = { 0x44, 0x0e, 32,   0x9d, 4,    0x9e, 3,    0x44, 0x93, 2,    0x44, 0x0d,
                                 19,   0x48, 0x0d, 31,   0x44, 0xd3, 0x44, 0x0e, 0,    0xdd, 0xde };
static const struct sw_saved saved[] = { { SW_ARM64_FP, 0 }, { SW_ARM64_LR, 8 }, { SW_ARM64_X19, 16 } };
#else
static const enum sw_machine machine = SW_MACHINE_X64;
enum { DWARF_RA = 16, BODY = 4, BODY_END = 13, BASE = SW_X64_RBX, SIZE = 16 };
/* push rbx; mov rbx, rsp; and rsp, -64; call rdi; mov rsp, rbx; pop rbx; ret */
static const uint8_t code[] = {
    0x53, 0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xc0, 0xff, 0xd7, 0x48, 0x89, 0xdc, 0x5b, 0xc3
};
static const uint8_t at_entry[] = { 0x0c, 7, 8, 0x90, 1 };
static const uint8_t rules[] = { 0x41, 0x0e, 16, 0x83, 2, 0x43, 0x0d, 3, 0x49, 0x0d, 7, 0x41, 0x0e, 8, 0xc3 };
static const struct sw_saved saved[] = { { SW_X64_RBX, 0 } };
#endif
enum { PAGE = 4096, BY_CFI = 1, BY_FRAME = 2, RECORD = 48, CODE_SIZE = sizeof code };

static struct sw_codemap *codemap;
static struct sw_images *images;
static struct sw_scratch scratch;
static jit_fn by_cfi, by_frame;
static unsigned exact_frames;
static volatile unsigned calls;

/* ---- the compiler ---- */

static void put(uint8_t *to, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(number >> 8 * i);
}

/* What __register_frame takes, too: a CIE and an FDE of RECORD bytes each. No-operations, 0, fill them. */
static struct sw_cfi_table make_table(uint8_t records[2 * RECORD], uint64_t begin)
{
    const uint8_t heading[] = { 1, 0, 1, 0x78, DWARF_RA }; /* version, no augmentation, units of 1 and -8 */
    memset(records, 0, 2 * RECORD);
    put(records, RECORD - 4, 4);
    memcpy(records + 8, heading, sizeof heading);
    memcpy(records + 8 + sizeof heading, at_entry, sizeof at_entry);
    put(records + RECORD, RECORD - 4, 4);
    put(records + RECORD + 4, RECORD + 4, 4); /* back to the CIE */
    put(records + RECORD + 8, begin, 8);
    put(records + RECORD + 16, CODE_SIZE, 8);
    memcpy(records + RECORD + 24, rules, sizeof rules);
    return (struct sw_cfi_table){ machine, begin, begin + CODE_SIZE, records, 2 * RECORD, (uintptr_t)records };
}

static enum sw_status add_range(uint64_t begin, uint64_t id)
{
    const struct sw_range range = { .begin = begin, .end = begin + CODE_SIZE, .id = id, .kind = SW_KIND_JIT };
    return sw_codemap_add(codemap, &range);
}

static int compile(void)
{
    uint8_t records[2 * RECORD];
    uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    const uint64_t first = (uintptr_t)page, second = first + PAGE / 2;
    memcpy(page, code, CODE_SIZE);
    memcpy(page + PAGE / 2, code, CODE_SIZE);
    __builtin___clear_cache((char *)page, (char *)page + PAGE);
    by_cfi = (jit_fn)(uintptr_t)first;
    by_frame = (jit_fn)(uintptr_t)second;
    const struct sw_cfi_table table = make_table(records, first);
    const struct sw_fixed_frame frame = {
        machine, second + BODY, second + BODY_END, BASE, SIZE, saved, sizeof saved / sizeof saved[0], 0
    };
    return sw_images_add_cfi(images, "by_cfi", &table) || sw_images_add_frame(images, "by_frame", &frame) ||
           add_range(first, BY_CFI) || add_range(second, BY_FRAME);
}

/* ---- the callbacks ---- */

__attribute__((noinline)) static int print_stack(void)
{
    struct sw_walker walker;
    struct sw_regs here;
    struct sw_walk walk;
    if (sw_self_walker(&walker, codemap, images) != SW_OK)
        return 1;
    sw_self_capture(&here);
    sw_walk_start(&walk, &walker, &scratch, &here, false);
    while (sw_walk_next(&walk)) {
        const struct sw_frame *frame = &walk.frame;
        struct sw_image image;
        const bool has_image = sw_images_find(images, frame->lookup, &image) == SW_OK;
        const char *slash = has_image ? strrchr(image.path, '/') : NULL;
        printf("%-6s  %s\n", sw_kind_name(frame->code.kind), !has_image ? "?" : slash ? slash + 1 : image.path);
        exact_frames += frame->code.kind == SW_KIND_JIT && frame->trust == SW_TRUST_EXACT;
    }
    printf("ended: %s\n", sw_stop_name(walk.stop));
    return walk.stop != SW_STOP_ROOT;
}

__attribute__((noinline)) static int call_again(void)
{
    const int status = by_frame(print_stack);
    calls++; /* so that it is no tail call */
    return status;
}

int main(void)
{
    if (sw_codemap_create(NULL, &codemap) || sw_images_create(NULL, &images) || sw_images_add_self(images) || compile())
        return 1;
    return by_cfi(call_again) || exact_frames != 2;
}
