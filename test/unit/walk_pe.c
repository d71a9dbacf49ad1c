/*
 * Walks through PE images that have no ReadyToRun code: a small image made here, in a simulated target, in a file, and
 * mapped into this process as Wine maps one. Every register that no frame saves holds distinct garbage.
 */
#include "../support/bytes.h"
#include "rows.h"
#include "cached_twice.h"
#include "host.h"

#include "code/images.h"

#include <snapwalk/image.h>
#include <snapwalk/self.h>
#include <snapwalk/sim.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/target.h" /* last: its names are short */

enum { BASE = 0x40000000, STACK = 0x700000, PAGE = 4096, TEXT = 0x1000, INFO = 0x2000, TABLE = 0x3000, SIZE = 0x4000 };
enum { FILE_TEXT = 0x1000, FILE_INFO = 0x1600, FILE_TABLE = 0x1800, FILE_SIZE = 0x1a00 };
enum { RBX = SW_X64_RBX, RSI = SW_X64_RSI, RDI = SW_X64_RDI, RSP = SW_X64_RSP };

/* Functions, by RVA. LEAF, THUNK, ASIDE and SERVICE have no entry in the exception directory. */
enum {
    MAIN = 0x1000,
    MIDDLE = 0x1100,
    PART = 0x1140,
    LEAF = 0x1200,
    THUNK = 0x1210,
    ASIDE = 0x1220,
    SERVICE = 0x1230,
    FAULT = 0x1300,
    TAIL = 0x1400,
    HOME = 0x1420
};

#define CODE(rva, text)                                                                                                \
    {                                                                                                                  \
        rva, text, sizeof text - 1                                                                                     \
    }
static const struct piece {
    uint32_t rva;
    const char *bytes;
    size_t size;
} code[] = {
    /* push rbx; sub rsp,0x20; call MIDDLE; add rsp,0x20; pop rbx; ret */
    CODE(MAIN, "\x53\x48\x83\xec\x20\xe8\xf6\x00\x00\x00\x48\x83\xc4\x20\x5b\xc3"),
    /* push rdi; sub rsp,0x30; call THUNK; add rsp,0x30; pop rdi; ret */
    CODE(MIDDLE, "\x57\x48\x83\xec\x30\xe8\x06\x01\x00\x00\x48\x83\xc4\x30\x5f\xc3"),
    /* mov [rsp+0x28],rsi; call LEAF; mov rsi,[rsp+0x28]; jmp MIDDLE+10 */
    CODE(PART, "\x48\x89\x74\x24\x28\xe8\xb6\x00\x00\x00\x48\x8b\x74\x24\x28\xeb\xb9"),
    /* mov eax,1; ret */
    CODE(LEAF, "\xb8\x01\x00\x00\x00\xc3"),
    /* jmp [rip+0xdf0] */
    CODE(THUNK, "\xff\x25\xf0\x0d\x00\x00"),
    /* push rcx; push rax; nop; pop rax; pop rcx; ret */
    CODE(ASIDE, "\x51\x50\x90\x58\x59\xc3"),
    /* mov r10,rcx; mov eax,0x32; syscall; ret; jmp +1; ret; push rax; ret */
    CODE(SERVICE, "\x49\x89\xca\xb8\x32\x00\x00\x00\x0f\x05\xc3\xeb\x01\xc3\x50\xc3"),
    /* nop; iretq */
    CODE(FAULT, "\x90\x48\xcf"),
    /* push rbx; sub rsp,0x20; jmp LEAF */
    CODE(TAIL, "\x53\x48\x83\xec\x20\xe9\xf6\xfd\xff\xff"),
    /* mov [rsp+8],rbx; mov [rsp+0x10],rsi; push rbp; push rdi; sub rsp,0x20; call HOME; nop */
    CODE(HOME, "\x48\x89\x5c\x24\x08\x48\x89\x74\x24\x10\x55\x57\x48\x83\xec\x20\xe8\xeb\xff\xff\xff\x90"),
    CODE(INFO + 0x00, "\x01\x05\x02\x00\x05\x32\x01\x30"),
    CODE(INFO + 0x10, "\x01\x05\x02\x00\x05\x52\x01\x70"),
    CODE(INFO + 0x20, "\x21\x05\x02\x00\x05\x64\x05\x00\x00\x11\x00\x00\x10\x11\x00\x00\x10\x20\x00\x00"),
    CODE(INFO + 0x40, "\x01\x00\x01\x00\x00\x0a\x00\x00"),
    CODE(INFO + 0xc0, "\x01\x10\x07\x00\x10\x32\x0c\x70\x0b\x50\x0a\x64\x08\x00\x05\x34\x07\x00\x00\x00"),
    /* exports: counts, tables of functions, names and ordinals */
    CODE(INFO + 0x60 + 20, "\x02\x00\x00\x00\x02\x00\x00\x00\x90\x20\x00\x00\x98\x20\x00\x00\xa0\x20\x00\x00"),
    CODE(INFO + 0x90, "\x00\x12\x00\x00\x00\x11\x00\x00"),
    CODE(INFO + 0x98, "\xa8\x20\x00\x00\xb0\x20\x00\x00\x00\x00\x01\x00"),
    CODE(INFO + 0xa8, "leaf\0\0\0\0middle\0"),
};

static const uint32_t table[][3] = {
    { MAIN, MAIN + 16, INFO },        { MIDDLE, MIDDLE + 16, INFO + 0x10 },
    { PART, PART + 17, INFO + 0x20 }, { FAULT, FAULT + 3, INFO + 0x40 },
    { TAIL, TAIL + 10, INFO },        { HOME, HOME + 22, INFO + 0xc0 },
};

static const struct section {
    uint32_t rva, size, in_file, in_file_size, characteristics;
} sections[] = {
    { TEXT, 0x500, FILE_TEXT, 0x600, 0x60000020 },
    { INFO, 0x100, FILE_INFO, 0x200, 0x40000040 },
    { TABLE, sizeof table, FILE_TABLE, 0x200, 0x40000040 },
};

static void put_header(uint8_t *image)
{
    uint8_t *pe = image + 0x80;
    uint8_t *optional = pe + 24;
    memcpy(image, "MZ", 2);
    put_le(image + 60, 0x80, 4);
    memcpy(pe, "PE\0\0\x64\x86\x03\0", 8);
    put_le(pe + 20, 0x202200f0, 4);
    memcpy(optional, "\x0b\x02", 2);
    put_le(optional + 56, SIZE, 4);
    put_le(optional + 60, 0x400, 4);
    put_le(optional + 108, 16, 4);
    put_le(optional + 112, INFO + 0x60, 4);
    put_le(optional + 112 + 4, 0x60, 4);
    put_le(optional + 112 + 8 * 3, TABLE, 4);
    put_le(optional + 112 + 8 * 3 + 4, sizeof table, 4);
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        uint8_t *row = optional + 0xf0 + 40 * i;
        put_le(row + 8, sections[i].size, 4);
        put_le(row + 12, sections[i].rva, 4);
        put_le(row + 16, sections[i].in_file_size, 4);
        put_le(row + 20, sections[i].in_file, 4);
        put_le(row + 36, sections[i].characteristics, 4);
    }
}

/* As it is mapped. */
static void make_image(uint8_t image[SIZE])
{
    memset(image, 0, SIZE);
    put_header(image);
    for (size_t i = 0; i < COUNT_OF(code); i++)
        memcpy(image + code[i].rva, code[i].bytes, code[i].size);
    memcpy(image + TABLE, table, sizeof table);
}

static void make_file(uint8_t file[FILE_SIZE])
{
    static uint8_t image[SIZE];
    make_image(image);
    memset(file, 0, FILE_SIZE);
    memcpy(file, image, 0x400);
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        memcpy(file + sections[i].in_file, image + sections[i].rva, sections[i].size);
}

/* ---- walks in a simulated target ---- */

static struct sw_scratch scratch;

/* damage: an RVA whose byte is made 0xff before the image is registered; 0: none. */
static void load(uint32_t damage)
{
    static uint8_t image[SIZE];
    const struct sw_memory memory = sw_sim_memory(sim);
    make_image(image);
    if (damage)
        image[damage] = 0xff;
    assert_int_equal(sw_sim_bytes(sim, BASE, image, SIZE), SW_OK);
    assert_int_equal(sw_images_add_memory(images, "a.dll", BASE, SIZE, &memory), SW_OK);
    sw_sim_walker(sim)->images = images;
}

/* One frame that is expected. */
struct expected {
    uint32_t rva;
    uint8_t source;
    uint8_t trust;
    bool exact;
};

/* Stack words below 0x10000 are RVAs of the image; the rest is as it stands. */
#define WORDS(...)                                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
enum { SAVED_RBX = 0x7b0b0b, SAVED_RSI = 0x751515, SAVED_RDI = 0x7d1d1d };
#define OF_MAIN   0, 0, 0, 0, SAVED_RBX, 0
#define OF_MIDDLE 0, 0, 0, 0, 0, SAVED_RSI, SAVED_RDI, MAIN + 10, OF_MAIN

static const struct row {
    const char *name;
    uint32_t pc;
    uint32_t flags;
    uint32_t damage;
    uint64_t words[24];
    struct expected frames[5];
    enum sw_stop stop;
    enum sw_status fault;
} rows[] = {
    { "a_chained_entry_restores_what_all_its_links_save",
      LEAF + 5,
      0,
      0,
      WORDS(PART + 10, OF_MIDDLE),
      { { PART + 10, SW_SOURCE_LEAF, SW_TRUST_EXACT, false },
        { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "a_leaf_that_was_just_called_is_confirmed",
      LEAF,
      0,
      0,
      WORDS(PART + 10, OF_MIDDLE),
      { { PART + 10, SW_SOURCE_LEAF, SW_TRUST_CONFIRMED, false },
        { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "a_leaf_without_analysis_is_likely",
      LEAF + 5,
      SW_WALK_NO_ANALYSIS,
      0,
      WORDS(PART + 10, OF_MIDDLE),
      { { PART + 10, SW_SOURCE_LEAF, SW_TRUST_LIKELY, false },
        { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "an_import_thunk_is_a_leaf",
      THUNK,
      0,
      0,
      WORDS(MIDDLE + 10, OF_MIDDLE),
      { { MIDDLE + 10, SW_SOURCE_LEAF, SW_TRUST_CONFIRMED, false },
        { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "pushes_without_an_entry_contradict_the_convention",
      ASIDE + 2,
      0,
      0,
      WORDS(MAIN + 10, 0, PART + 10, OF_MIDDLE),
      { { PART + 10, SW_SOURCE_FORWARD, SW_TRUST_GUESS, false },
        { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "an_epilogue_is_known_by_its_bytes",
      MIDDLE + 14,
      0,
      0,
      WORDS(SAVED_RDI, MAIN + 10, OF_MAIN),
      { { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "a_prolog_is_undone_as_far_as_it_went",
      MIDDLE + 1,
      0,
      0,
      WORDS(SAVED_RDI, MAIN + 10, OF_MAIN),
      { { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "a_machine_frame_leads_to_an_exact_pc",
      FAULT,
      0,
      0,
      WORDS(MIDDLE + 1, 0x33, 0x246, STACK + 0x30, 0x2b, 0, SAVED_RDI, MAIN + 10, OF_MAIN),
      { { MIDDLE + 1, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, true },
        { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "what_a_system_calls_frame_is_above_needs_no_call_in_front_of_its_pc",
      MIDDLE + 10,
      0,
      0,
      WORDS(0, 0, 0, 0, 0, SAVED_RSI, SAVED_RDI, SERVICE + 10, MAIN + 10, OF_MAIN),
      { { SERVICE + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false },
        { MAIN + 10, SW_SOURCE_LEAF, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "a_jump_out_with_the_frame_still_there_is_no_tail_call",
      TAIL + 5,
      0,
      0,
      WORDS(0x66, 0x66, 0x66, 0x66, SAVED_RBX, MAIN + 10, OF_MAIN),
      { { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_LIKELY, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "a_jump_out_with_the_frame_gone_is_a_tail_call",
      TAIL + 5,
      0,
      0,
      WORDS(MAIN + 10, OF_MAIN),
      { { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_ROOT_ZERO,
      SW_OK },
    { "broken_unwind_data_keeps_the_frames_found",
      LEAF + 5,
      SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER,
      INFO,
      WORDS(PART + 10, OF_MIDDLE),
      { { PART + 10, SW_SOURCE_LEAF, SW_TRUST_LIKELY, false },
        { MAIN + 10, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false } },
      SW_STOP_BAD_TABLE,
      SW_E_UNSUPPORTED },
    { "a_broken_directory_is_a_bad_table",
      MIDDLE + 14,
      SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER,
      TABLE + 1,
      WORDS(SAVED_RDI, MAIN + 10, OF_MAIN),
      { { 0 } },
      SW_STOP_BAD_TABLE,
      SW_E_MALFORMED },
    { "a_broken_directory_leaves_it_to_the_instructions",
      MIDDLE + 14,
      0,
      TABLE + 1,
      WORDS(SAVED_RDI, MAIN + 10, OF_MAIN),
      { { MAIN + 10, SW_SOURCE_FORWARD, SW_TRUST_CONFIRMED, false } },
      SW_STOP_BAD_TABLE,
      SW_E_MALFORMED },
};

static void put_stack(const uint64_t *words, size_t count)
{
    uint64_t stack[COUNT_OF(rows[0].words)];
    for (size_t i = 0; i < count; i++)
        stack[i] = words[i] >= TEXT && words[i] < 0x10000 ? BASE + words[i] : words[i];
    assert_int_equal(sw_sim_words(sim, STACK, stack, count), SW_OK);
}

static struct sw_regs start_at(uint32_t rva)
{
    struct sw_regs regs = garbage_regs(SW_MACHINE_X64);
    sw_regs_set(&regs, SW_X64_RIP, BASE + rva);
    sw_regs_set(&regs, RSP, STACK);
    return regs;
}

static void assert_frame(const struct sw_frame *frame, const struct expected *expected)
{
    assert_int_equal(sw_regs_pc(&frame->regs), BASE + expected->rva);
    assert_int_equal(frame->source, expected->source);
    assert_int_equal(frame->trust, expected->trust);
    assert_int_equal(frame->exact, expected->exact);
}

static void walk_is_as_expected(void **state)
{
    const struct row *row = *state;
    const struct expected *expected = row->frames;
    struct sw_walk walk;
    load(row->damage);
    put_stack(row->words, COUNT_OF(row->words));
    const struct sw_regs regs = start_at(row->pc);
    sw_sim_walker(sim)->flags = row->flags;
    if (HOST_STRIDE == 1 || !row->damage) /* which takes long: the whole image is searched */
        (void)walk_twice(sw_sim_walker(sim), &regs, true);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk));
    for (; expected->rva; expected++) {
        assert_true(sw_walk_next(&walk));
        assert_frame(&walk.frame, expected);
    }
    assert_false(sw_walk_next(&walk));
    assert_int_equal(walk.stop, row->stop);
    assert_int_equal(walk.fault.status, row->fault);
}

/* Windows keeps rsi and rdi over a call; what the walk restores of them is what the frames saved. */
static void registers_of_the_windows_convention_are_kept_and_restored(void **state)
{
    struct sw_walk walk;
    const struct row *row = &rows[0];
    const struct sw_regs regs = start_at(row->pc);
    (void)state;
    load(0);
    put_stack(row->words, COUNT_OF(row->words));
    (void)walk_twice(sw_sim_walker(sim), &regs, true);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk) && sw_walk_next(&walk));
    assert_true(sw_regs_has(&walk.frame.regs, RSI) && walk.frame.regs.r[RSI] == regs.r[RSI]);
    assert_true(sw_walk_next(&walk));
    assert_int_equal(walk.frame.regs.r[RSI], SAVED_RSI);
    assert_int_equal(walk.frame.regs.r[RDI], SAVED_RDI);
    assert_int_equal(walk.frame.regs.r[RBX], regs.r[RBX]);
    assert_false(sw_regs_has(&walk.frame.regs, SW_X64_RAX));
}

/*
 * Functions that save rdi and rbp below their CFA, and rbx and rsi above it, in the words of their caller: all their
 * frames come out of the cache, the interrupted one too, with these registers, however the stack is walked.
 */
static void frames_of_windows_functions_come_out_of_the_cache(void **state)
{
    enum { DEPTH = 16, FRAME = 7, RETURNED = HOME + 21 };
    uint64_t words[DEPTH * FRAME + 6] = { 0 };
    const struct sw_regs regs = start_at(HOME + 16);
    struct sw_walk walk;
    (void)state;
    load(0);
    for (unsigned i = 0; i < DEPTH; i++) {
        const uint64_t frame[FRAME] = { 0xb00 + i, 0x500 + i, 0, 0, 0xd00 + i, 0xf00 + i, BASE + RETURNED };
        memcpy(words + i * FRAME, frame, sizeof frame);
    }
    words[DEPTH * FRAME - 1] = BASE + MAIN + 10;
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    assert_int_equal(walk_twice(sw_sim_walker(sim), &regs, true), DEPTH + 1);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk));
    for (unsigned i = 0; i + 1 < DEPTH; i++) {
        assert_true(sw_walk_next(&walk));
        assert_int_equal(walk.frame.regs.r[RDI], 0xd00 + i);
        assert_int_equal(walk.frame.regs.r[SW_X64_RBP], 0xf00 + i);
        assert_int_equal(walk.frame.regs.r[RBX], 0xb00 + i + 1);
        assert_int_equal(walk.frame.regs.r[RSI], 0x500 + i + 1);
    }
}

/* What has made a call moves the stack, whatever the convention says of its missing entry. */
static void a_return_address_without_an_entry_is_no_leaf(void **state)
{
    struct sw_walk walk;
    const uint64_t words[] = { MAIN + 10, OF_MAIN };
    const struct sw_regs regs = start_at(LEAF + 5);
    (void)state;
    load(0);
    put_stack(words, COUNT_OF(words));
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    (void)walk_twice(sw_sim_walker(sim), &regs, false);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, false);
    assert_true(sw_walk_next(&walk));
    assert_false(sw_walk_next(&walk));
    assert_int_equal(walk.stop, SW_STOP_NO_RULE);
}

/* Wine's dispatcher of system calls is a frame on top of it. */
static void a_return_address_behind_a_system_call_may_be_a_leafs(void **state)
{
    static const struct {
        uint32_t pc, flags;
        struct expected expected;
    } ways[] = {
        { SERVICE + 10, 0, { MAIN + 10, SW_SOURCE_LEAF, SW_TRUST_EXACT, false } },
        { SERVICE + 10, SW_WALK_NO_ANALYSIS, { MAIN + 10, SW_SOURCE_LEAF, SW_TRUST_LIKELY, false } },
        { SERVICE + 8, SW_WALK_NO_ANALYSIS, { 0 } },
    };
    const uint64_t words[] = { MAIN + 10, OF_MAIN };
    (void)state;
    load(0);
    put_stack(words, COUNT_OF(words));
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct sw_walk walk;
        const struct sw_regs regs = start_at(ways[i].pc);
        sw_sim_walker(sim)->flags = ways[i].flags | SW_WALK_NO_FRAME_POINTER;
        (void)walk_twice(sw_sim_walker(sim), &regs, false);
        sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, false);
        assert_true(sw_walk_next(&walk));
        assert_int_equal(sw_walk_next(&walk), ways[i].expected.rva != 0);
        if (ways[i].expected.rva)
            assert_frame(&walk.frame, &ways[i].expected);
    }
}

/* The dispatcher runs on a stack of its own; who copies stacks must hear of the other one. */
static void a_leafs_stack_that_cannot_be_read_is_said_to_be_so(void **state)
{
    struct sw_walk walk;
    struct sw_regs regs = start_at(SERVICE + 10);
    (void)state;
    load(0);
    sw_regs_set(&regs, RSP, 2 * STACK);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, false);
    assert_true(sw_walk_next(&walk));
    assert_false(sw_walk_next(&walk));
    assert_int_equal(walk.stop, SW_STOP_UNREADABLE);
    assert_int_equal(walk.fault.address, 2 * STACK);
}

/* ---- images in memory, in a file, and as Wine maps them ---- */

static void holes_in_an_image_in_memory_are_zeros(void **state)
{
    static uint8_t image[SIZE];
    const struct sw_memory memory = sw_sim_memory(sim);
    struct sw_image found;
    (void)state;
    make_image(image);
    assert_int_equal(sw_sim_bytes(sim, BASE, image, SIZE), SW_OK);
    assert_int_equal(sw_sim_unmap(sim, BASE + INFO, PAGE), SW_OK);
    assert_int_equal(sw_images_add_memory(images, "a.dll", BASE, SIZE, &memory), SW_OK);
    assert_int_equal(sw_images_find(images, BASE + MAIN, &found), SW_OK);
    assert_true(found.is_pe && !found.is_ready_to_run && found.begin == BASE && found.end == BASE + SIZE);
    const struct sw_image_entry *entry = sw_images_entry(images, BASE);
    assert_int_equal(entry->exceptions_status, SW_OK);
    assert_int_equal(entry->exceptions.size, sizeof table);
    assert_int_equal(sw_images_remove(images, BASE), SW_OK);
    assert_int_equal(sw_sim_unmap(sim, BASE, PAGE), SW_OK);
    assert_int_equal(sw_images_add_memory(images, "a.dll", BASE, SIZE, &memory), SW_E_UNREADABLE);
}

static void write_file(char *path)
{
    uint8_t file[FILE_SIZE];
    make_file(file);
    const int out = mkstemp(path);
    assert_true(out >= 0);
    assert_int_equal(write(out, file, sizeof file), sizeof file);
    close(out);
}

static void a_file_is_walked_as_its_image_is(void **state)
{
    char path[] = "/tmp/snapwalk-walk-pe-XXXXXX";
    struct sw_walk walk;
    const struct row *row = &rows[0];
    const struct sw_regs regs = start_at(row->pc);
    (void)state;
    load(0); /* the bytes that calls are looked for in */
    assert_int_equal(sw_images_remove(images, BASE), SW_OK);
    write_file(path);
    assert_int_equal(sw_images_add_file(images, path, BASE), SW_OK);
    assert_false(sw_images_entry(images, BASE)->pe.mapped);
    put_stack(row->words, COUNT_OF(row->words));
    (void)walk_twice(sw_sim_walker(sim), &regs, true);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk));
    for (const struct expected *expected = row->frames; expected->rva; expected++) {
        assert_true(sw_walk_next(&walk));
        assert_frame(&walk.frame, expected);
    }
    unlink(path);
}

/* The header from the file; sections, which do not lie at whole pages of it, in memory of their own. */
static uint8_t *map_as_wine_does(const char *path, bool with_code)
{
    static uint8_t image[SIZE];
    make_image(image);
    uint8_t *base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(base != MAP_FAILED && file >= 0);
    assert_ptr_not_equal(mmap(base, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0), MAP_FAILED);
    close(file);
    memcpy(base + PAGE, image + PAGE, SIZE - PAGE);
    if (with_code)
        assert_int_equal(mprotect(base + TEXT, PAGE, PROT_READ | PROT_EXEC), 0);
    return base;
}

static void an_image_read_into_memory_is_found_by_its_header(void **state)
{
    char path[] = "/tmp/snapwalk-walk-pe-XXXXXX";
    struct sw_image image;
    (void)state;
    write_file(path);
    uint8_t *base = map_as_wine_does(path, true);
    uint8_t *data = map_as_wine_does(path, false);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_images_find(images, (uint64_t)(uintptr_t)base + MAIN, &image), SW_OK);
    assert_true(image.is_pe && image.begin == (uint64_t)(uintptr_t)base && image.end == image.begin + SIZE);
    assert_string_equal(image.path, path);
    assert_int_equal(sw_images_entry(images, image.begin)->exceptions_status, SW_OK);
    assert_int_equal(sw_images_find(images, (uint64_t)(uintptr_t)data + MAIN, &image), SW_E_NOT_FOUND);
    munmap(base, SIZE);
    munmap(data, SIZE);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_images_find(images, (uint64_t)(uintptr_t)base + MAIN, &image), SW_E_NOT_FOUND);
    unlink(path);
}

/* ---- names ---- */

static const struct name_row {
    const char *name;
    uint32_t rva;
    uint32_t begin; /* 0: it has no name */
    const char *expected;
} name_rows[] = {
    { "an_export_names_its_function", MIDDLE + 10, MIDDLE, "middle" },
    { "an_export_names_a_leaf", LEAF + 5, LEAF, "leaf" },
    { "a_name_ends_where_another_function_begins", PART, 0, "" },
    { "a_name_does_not_reach_far", THUNK, 0, "" },
    { "a_function_that_is_not_exported_has_no_name", MAIN, 0, "" },
};

static void name_is_found(void **state)
{
    const struct name_row *row = *state;
    uint64_t start = 0;
    char name[16];
    load(0);
    const enum sw_status status = sw_images_name(images, BASE + row->rva, name, sizeof name, &start);
    assert_int_equal(status, row->begin ? SW_OK : SW_E_NOT_FOUND);
    if (status)
        return;
    assert_string_equal(name, row->expected);
    assert_int_equal(start, BASE + row->begin);
    assert_int_equal(sw_images_name(images, BASE + row->rva, name, 3, NULL), SW_OK);
    assert_memory_equal(name, row->expected, 2);
    assert_int_equal(name[2], 0);
}

/* ---- the directory itself ---- */

static const struct directory_row {
    const char *name;
    uint32_t offset; /* in the table */
    uint32_t value;
    enum sw_status status;
} directory_rows[] = {
    { "a_sound_directory_is_taken", 0, MAIN, SW_OK },
    { "entries_may_touch", 4, MIDDLE, SW_OK },
    { "entries_that_overlap_are_refused", 4, MIDDLE + 1, SW_E_MALFORMED },
    { "an_empty_entry_is_refused", 4, MAIN, SW_E_MALFORMED },
    { "entries_that_descend_are_refused", 24, MAIN, SW_E_MALFORMED },
    { "an_entry_behind_the_image_is_refused", 12 * 4 + 4, SIZE + 1, SW_E_MALFORMED },
};

static void directory_is_judged(void **state)
{
    static uint8_t image[SIZE];
    const struct directory_row *row = *state;
    struct sw_pe pe;
    struct sw_bytes found;
    make_image(image);
    put_le(image + TABLE + row->offset, row->value, 4);
    assert_int_equal(sw_pe_open((struct sw_bytes){ image, SIZE, BASE }, true, &pe), SW_OK);
    assert_int_equal(sw_pe_exceptions(&pe, &found), row->status);
    assert_int_equal(found.size, row->status ? 0 : sizeof table);
}

static void a_directory_outside_its_section_is_truncated(void **state)
{
    static uint8_t image[SIZE];
    struct sw_pe pe;
    struct sw_bytes found;
    (void)state;
    make_image(image);
    const struct sw_bytes bytes = { image, SIZE, BASE };
    put_le(image + 0x80 + 24 + 112 + 8 * 3 + 4, sizeof table + 12, 4);
    assert_int_equal(sw_pe_open(bytes, true, &pe), SW_OK);
    assert_int_equal(sw_pe_exceptions(&pe, &found), SW_E_TRUNCATED);
    put_le(image + 0x80 + 24 + 112 + 8 * 3 + 4, 0, 4);
    assert_int_equal(sw_pe_open(bytes, true, &pe), SW_OK);
    assert_int_equal(sw_pe_exceptions(&pe, &found), SW_E_NOT_FOUND);
    assert_true(sw_pe_is_code(&pe, TEXT) && sw_pe_is_code(&pe, TEXT + 0x4ff));
    assert_false(sw_pe_is_code(&pe, TEXT - 1) || sw_pe_is_code(&pe, TEXT + 0x500) || sw_pe_is_code(&pe, INFO));
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test_setup_teardown(registers_of_the_windows_convention_are_kept_and_restored, set_up_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(frames_of_windows_functions_come_out_of_the_cache, set_up_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(a_return_address_without_an_entry_is_no_leaf, set_up_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(a_return_address_behind_a_system_call_may_be_a_leafs, set_up_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(a_leafs_stack_that_cannot_be_read_is_said_to_be_so, set_up_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(holes_in_an_image_in_memory_are_zeros, set_up_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(a_file_is_walked_as_its_image_is, set_up_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(an_image_read_into_memory_is_found_by_its_header, set_up_x64, tear_down_target),
        cmocka_unit_test(a_directory_outside_its_section_is_truncated),
    };
    struct CMUnitTest tests[COUNT_OF(rows) + COUNT_OF(name_rows) + COUNT_OF(directory_rows) + COUNT_OF(single)];
    struct CMUnitTest *next = tests;
    FILL_ROWS(next, rows, walk_is_as_expected);
    next += COUNT_OF(rows);
    FILL_ROWS(next, name_rows, name_is_found);
    next += COUNT_OF(name_rows);
    for (struct CMUnitTest *test = tests; test < next; test++) {
        test->setup_func = set_up_x64;
        test->teardown_func = tear_down_target;
    }
    FILL_ROWS(next, directory_rows, directory_is_judged);
    next += COUNT_OF(directory_rows);
    memcpy(next, single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
