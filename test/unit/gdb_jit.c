/*
 * Objects that a compiler registers for gdb: a list in a target, what walks and names make of it, what is gone again,
 * and lists and objects that lie.
 */
#include <snapwalk/gdb_jit.h>
#include <snapwalk/names.h>
#include <snapwalk/sim.h>

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/random.h"

enum { TEXT_AT = 0x400, FRAMES_AT = 0x500, RELA_AT = 0x600, SYMBOLS_AT = 0x700, NAMES_AT = 0x800, SECTIONS_AT = 0x900 };
enum { SECTIONS = 7, OBJECT_BYTES = SECTIONS_AT + SECTIONS * 64, FUNCTION_BYTES = 32 };
#define DESCRIPTOR UINT64_C(0x10000)
#define ENTRIES    UINT64_C(0x11000)
#define OBJECTS    UINT64_C(0x20000)
#define CODE       UINT64_C(0x7000000)
#define CODE_STEP  UINT64_C(0x1000)

/* A flat piece of a target. */
struct target {
    uint8_t bytes[1 << 17];
};
static struct target target;

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    struct target *t = arg;
    const uint64_t at = address - DESCRIPTOR;
    if (at >= sizeof t->bytes)
        return 0;
    const size_t part = sizeof t->bytes - (size_t)at < size ? sizeof t->bytes - (size_t)at : size;
    memcpy(to, t->bytes + at, part);
    return part;
}
static const struct sw_memory memory = { .read = read_target, .arg = &target };

static uint8_t *at(uint64_t address)
{
    return target.bytes + (address - DESCRIPTOR);
}

static void put(uint64_t address, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at(address)[i] = (uint8_t)(value >> (8 * i));
}

/* A CIE (return address in register 16 at cfa - 8) and an FDE whose cfa is rsp + 48: begin and length are relocated. */
static const uint8_t frames[] = {
    20,   0,    0,  0, 0,  0, 0, 0, 1,  'z', 'R', 0, 1, 0x78, 16, 1, 0x1b /* pcrel, sdata4 */, 0x0c, 7, 8,
    0x90, 1,    0,  0, 20, 0, 0, 0, 28, 0,   0,   0, 0, 0,    0,  0, FUNCTION_BYTES,           0,    0, 0,
    0,    0x0e, 48, 0, 0,  0, 0, 0,
};

/* A relocatable object for one function of that name at `code`. */
static void put_object(uint64_t object, uint64_t code, const char *name)
{
    static const char names[] = "\0.text\0.eh_frame\0.rela.eh_frame\0.symtab\0.strtab\0";
    const Elf64_Ehdr header = { .e_ident = ELFMAG "\2\1\1",
                                .e_type = ET_REL,
                                .e_machine = EM_X86_64,
                                .e_shoff = SECTIONS_AT,
                                .e_shentsize = 64,
                                .e_shnum = SECTIONS,
                                .e_shstrndx = 5 };
    const Elf64_Shdr sections[SECTIONS] = {
        { 0 },
        { .sh_name = 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, TEXT_AT, FUNCTION_BYTES, 0, 0, 16, 0 },
        { .sh_name = 7, SHT_PROGBITS, SHF_ALLOC, code + 0x100, FRAMES_AT, sizeof frames, 0, 0, 8, 0 },
        { .sh_name = 17, SHT_RELA, 0, 0, RELA_AT, sizeof(Elf64_Rela), 4, 2, 8, sizeof(Elf64_Rela) },
        { .sh_name = 32, SHT_SYMTAB, 0, 0, SYMBOLS_AT, 3 * sizeof(Elf64_Sym), 5, 1, 8, sizeof(Elf64_Sym) },
        { .sh_name = 40, SHT_STRTAB, 0, 0, NAMES_AT, 0x100, 0, 0, 1, 0 },
        { .sh_name = 0, SHT_NOBITS, SHF_ALLOC, code + 0x800, 0, 64, 0, 0, 1, 0 },
    };
    const Elf64_Sym symbols[3] = {
        { 0 },
        { .st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = 1 },
        { .st_name = 64, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_size = FUNCTION_BYTES }
    };
    const Elf64_Rela rela = { .r_offset = 32, .r_info = ELF64_R_INFO(1, R_X86_64_PC32), .r_addend = 0 };
    uint8_t *to = at(object);
    memset(to, 0, OBJECT_BYTES);
    memcpy(to, &header, sizeof header);
    memset(to + TEXT_AT, 0x90, FUNCTION_BYTES);
    memcpy(to + FRAMES_AT, frames, sizeof frames);
    memcpy(to + RELA_AT, &rela, sizeof rela);
    memcpy(to + SYMBOLS_AT, symbols, sizeof symbols);
    memcpy(to + NAMES_AT, names, sizeof names);
    strcpy((char *)to + NAMES_AT + 64, name);
    memcpy(to + SECTIONS_AT, sections, sizeof sections);
}

/* Entry n is for object n; `next` is its follower's number, 0: none. */
static uint64_t entry_of(unsigned n)
{
    return ENTRIES + n * 64;
}
static void put_entry(unsigned n, uint64_t next, uint64_t size)
{
    put(entry_of(n), next, 8);
    put(entry_of(n) + 8, 0, 8);
    put(entry_of(n) + 16, OBJECTS + n * 0x1000, 8);
    put(entry_of(n) + 24, size, 8);
}

static void put_list(uint64_t first)
{
    put(DESCRIPTOR, 1, 4);
    put(DESCRIPTOR + 16, first, 8);
}

/* Two functions, "first" and "second", at CODE and a step behind it. */
static void make_target(void)
{
    memset(&target, 0, sizeof target);
    put_object(OBJECTS, CODE, "first");
    put_object(OBJECTS + 0x1000, CODE + CODE_STEP, "second");
    put_entry(0, entry_of(1), OBJECT_BYTES);
    put_entry(1, 0, OBJECT_BYTES);
    put_list(entry_of(0));
}

struct seen {
    struct sw_gdb_jit *jit;
    struct sw_images *images;
    struct sw_codemap *codemap;
};

static struct seen begin(void)
{
    struct seen seen;
    make_target();
    assert_int_equal(sw_gdb_jit_create(NULL, &seen.jit), SW_OK);
    assert_int_equal(sw_images_create(NULL, &seen.images), SW_OK);
    assert_int_equal(sw_codemap_create(NULL, &seen.codemap), SW_OK);
    return seen;
}

static void end(struct seen *seen)
{
    sw_gdb_jit_destroy(seen->jit);
    sw_images_destroy(seen->images);
    sw_codemap_destroy(seen->codemap);
}

static enum sw_status read_list(const struct seen *seen)
{
    return sw_gdb_jit_read(seen->jit, &memory, DESCRIPTOR, seen->images, seen->codemap);
}

static bool is_known(const struct seen *seen, uint64_t address)
{
    struct sw_range range;
    struct sw_image image;
    const bool in_map = sw_codemap_find(seen->codemap, address, &range) == SW_OK;
    assert_true(in_map == (sw_images_find(seen->images, address, &image) == SW_OK));
    return in_map;
}

/* ---- rows ---- */

static void functions_have_names_and_ranges(void **state)
{
    struct seen seen = begin();
    uint64_t start = 0;
    size_t bad = 9;
    (void)state;
    assert_int_equal(read_list(&seen), SW_OK);
    assert_int_equal(sw_gdb_jit_objects(seen.jit, &bad), 2);
    assert_int_equal(bad, 0);
    assert_string_equal(sw_gdb_jit_name(seen.jit, CODE + 5, &start), "first");
    assert_true(start == CODE);
    assert_string_equal(sw_gdb_jit_name(seen.jit, CODE + CODE_STEP + FUNCTION_BYTES - 1, NULL), "second");
    assert_null(sw_gdb_jit_name(seen.jit, CODE + FUNCTION_BYTES, NULL));
    assert_true(is_known(&seen, CODE) && is_known(&seen, CODE + CODE_STEP) && !is_known(&seen, CODE + FUNCTION_BYTES));
    end(&seen);
}

static bool keep_sp(void *arg, const struct sw_frame *frame)
{
    uint64_t *last = arg;
    last[0] = last[1];
    last[1] = sw_regs_sp(&frame->regs);
    return true;
}

/* The FDE says cfa = rsp + 48, by a relocated address: so the caller's sp is. */
static void walks_go_by_the_relocated_frames(void **state)
{
    static struct sw_scratch scratch;
    static uint64_t stack[64];
    struct seen seen = begin();
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    uint64_t sp[2] = { 0 };
    (void)state;
    assert_int_equal(read_list(&seen), SW_OK);
    const uint64_t base = 0x7fff0000;
    stack[5] = CODE + CODE_STEP + 9; /* first returns into second, which returns to 0 */
    const struct sw_walker walker = { .machine = SW_MACHINE_X64,
                                      .memory = { .window = { base, base + sizeof stack, (const uint8_t *)stack } },
                                      .images = seen.images,
                                      .codemap = seen.codemap,
                                      .stack_begin = base,
                                      .stack_end = base + sizeof stack,
                                      .flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER };
    sw_regs_set(&regs, SW_X64_RIP, CODE + 9);
    sw_regs_set(&regs, SW_X64_RSP, base);
    (void)!sw_walk_all(&walker, &scratch, &regs, keep_sp, sp);
    assert_true(sp[0] == base && sp[1] == base + 48);
    end(&seen);
}

static void what_is_gone_is_removed(void **state)
{
    struct seen seen = begin();
    (void)state;
    assert_int_equal(read_list(&seen), SW_OK);
    put_list(entry_of(1));
    assert_int_equal(read_list(&seen), SW_OK);
    assert_int_equal(sw_gdb_jit_objects(seen.jit, NULL), 1);
    assert_true(!is_known(&seen, CODE) && is_known(&seen, CODE + CODE_STEP));
    put_object(OBJECTS + 0x1000, CODE + 2 * CODE_STEP, "third"); /* another one in its place */
    assert_int_equal(read_list(&seen), SW_OK);
    assert_true(is_known(&seen, CODE + 2 * CODE_STEP));
    assert_string_equal(sw_gdb_jit_name(seen.jit, CODE + 2 * CODE_STEP, NULL), "third");
    put_list(0);
    assert_int_equal(read_list(&seen), SW_OK);
    assert_int_equal(sw_gdb_jit_objects(seen.jit, NULL), 0);
    end(&seen);
}

static void lists_that_lie_end(void **state)
{
    struct seen seen = begin();
    size_t bad;
    (void)state;
    put_entry(1, entry_of(0), OBJECT_BYTES); /* a circle */
    assert_int_equal(read_list(&seen), SW_E_LIMIT);
    assert_int_equal(sw_gdb_jit_objects(seen.jit, NULL), 2);
    put_entry(1, UINT64_MAX - 3, OBJECT_BYTES);
    assert_int_equal(read_list(&seen), SW_OK);
    put_entry(0, entry_of(1), UINT64_MAX);
    assert_int_equal(read_list(&seen), SW_E_LIMIT);
    put_entry(0, entry_of(1), 63);
    assert_int_equal(read_list(&seen), SW_OK);
    assert_int_equal(sw_gdb_jit_objects(seen.jit, &bad), 1);
    assert_true(bad >= 1);
    put(DESCRIPTOR, 2, 4);
    assert_int_equal(read_list(&seen), SW_E_UNSUPPORTED);
    assert_int_equal(sw_gdb_jit_read(seen.jit, &memory, 8, seen.images, seen.codemap), SW_E_UNREADABLE);
    assert_int_equal(sw_gdb_jit_read(seen.jit, NULL, DESCRIPTOR, seen.images, seen.codemap), SW_E_ARGUMENT);
    assert_int_equal(sw_gdb_jit_find(seen.images, NULL), SW_E_ARGUMENT);
    uint64_t descriptor;
    assert_int_equal(sw_gdb_jit_find(seen.images, &descriptor), SW_E_NOT_FOUND);
    end(&seen);
}

/* Of this program's file: a function and a variable, and names that no file has. */
extern const char __ehdr_start; /* the linker's: file offset 0 */
int sw_test_variable = 5;
void sw_test_function(void);
void sw_test_function(void)
{
}

static void symbols_are_found_by_name(void **state)
{
    struct sw_images *images;
    uint64_t address = 0;
    (void)state;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_symbol(images, "sw_test_variable", &address), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_add_file(images, "/proc/self/exe", (uintptr_t)&__ehdr_start), SW_OK);
    assert_int_equal(sw_images_symbol(images, "sw_test_variable", &address), SW_OK);
    assert_int_equal(address, (uintptr_t)&sw_test_variable);
    assert_int_equal(sw_images_symbol(images, "sw_test_function", &address), SW_OK);
    assert_int_equal(address, (uintptr_t)&sw_test_function);
    assert_int_equal(sw_images_symbol(images, "sw_test_functio", &address), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_symbol(images, "", &address), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_symbol(images, NULL, &address), SW_E_ARGUMENT);
    assert_int_equal(sw_images_symbol(images, "main", NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_images_symbol(NULL, "main", &address), SW_E_ARGUMENT);
    sw_images_destroy(images);
}

static void changed_bytes_do_no_harm(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (unsigned round = 0; round < 4000; round++) {
        struct seen seen = begin();
        for (unsigned n = 0; n < 6; n++) {
            const uint64_t where =
                round % 4 ? OBJECTS + next_random(&seed) % OBJECT_BYTES : ENTRIES + next_random(&seed) % 128;
            *at(where) = (uint8_t)next_random(&seed);
        }
        (void)!read_list(&seen);
        (void)sw_gdb_jit_name(seen.jit, CODE + 3, NULL);
        (void)sw_gdb_jit_name(seen.jit, CODE + CODE_STEP, NULL);
        make_target();
        (void)!read_list(&seen);
        end(&seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_have_names_and_ranges), cmocka_unit_test(walks_go_by_the_relocated_frames),
        cmocka_unit_test(what_is_gone_is_removed),         cmocka_unit_test(lists_that_lie_end),
        cmocka_unit_test(symbols_are_found_by_name),       cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
