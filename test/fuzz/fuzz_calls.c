/*
 * The readers of Ruby's and PHP's calls, over a sound world in which words were changed: an input is the release and
 * then pairs of a place and a word. Holds: without changes the names are right; with any, every question ends, texts
 * end in a NUL, nothing is read but by the reader.
 */
#include <runtimes/functions.h>
#include <runtimes/php.h>
#include <runtimes/ruby.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BASE = 0x100000, BYTES = 4096, COMPILED = 0x900000, CHANGE_BYTES = 10 };

/* Places in the world. */
enum {
    TABLE = 0x100,
    LOOP = 0x400,
    RUNNER = 0x480,
    VERSION = 0x500,
    CONTEXT = 0x520,
    STACK = 0x600,
    STACK_WORDS = 64,
    STACK_END = STACK + 8 * STACK_WORDS,
    ENVIRONMENT = 0x540,
    CODE = 0x560,
    BODY = 0x800,
    WORDS = 0x900,
    LINES = 0x940,
    INDEX = 0x980,
    LABEL = 0xa00,
    FILE_TEXT = 0xa40,
    MODULES = 0xb00,
    MODULE = 0xb40,
    CALL = 0xc00,
    CALLER = 0xc60,
    FUNCTION = 0xd00,
    CLASS = 0xe00,
    INSTRUCTIONS = 0xe40,
    NAME = 0xf00
};
enum { SIZE_OF_CALL_INSTRUCTION = 5 };

static uint8_t world[BYTES];

static void put(size_t at, uint64_t value, size_t size)
{
    memcpy(world + at, &value, size);
}

static void put_address(size_t at, size_t place)
{
    put(at, BASE + place, 8);
}

static size_t read_world(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    if (address < BASE || address - BASE >= sizeof world)
        return 0;
    const size_t left = sizeof world - (size_t)(address - BASE), got = size < left ? size : left;
    memcpy(to, world + (address - BASE), got);
    return got;
}

/* Two functions, the first of which the second calls. */
static void put_file(void)
{
    static const uint8_t encodings[] = { 1, 0x1b, 0x03, 0x3b };
    const Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', 2, 1, 1 },
                              .e_type = ET_DYN,
                              .e_machine = EM_X86_64,
                              .e_ehsize = sizeof head,
                              .e_phoff = sizeof head,
                              .e_phentsize = sizeof(Elf64_Phdr),
                              .e_phnum = 2 };
    const Elf64_Phdr rows[] = { { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = BYTES, .p_memsz = BYTES },
                                { .p_type = PT_GNU_EH_FRAME,
                                  .p_flags = PF_R,
                                  .p_offset = TABLE,
                                  .p_vaddr = TABLE,
                                  .p_filesz = 28,
                                  .p_memsz = 28 } };
    memcpy(world, &head, sizeof head);
    memcpy(world + sizeof head, rows, sizeof rows);
    memcpy(world + TABLE, encodings, sizeof encodings);
    put(TABLE + 4, 28, 4);
    put(TABLE + 8, 2, 4);
    put(TABLE + 12, LOOP - TABLE, 4);
    put(TABLE + 20, RUNNER - TABLE, 4);
    world[RUNNER] = 0xe8;
    put(RUNNER + 1, (uint64_t)(LOOP - (RUNNER + SIZE_OF_CALL_INSTRUCTION)), 4);
}

/* Two control frames of one method, of which the outer one was begun by the loop. */
static void put_ruby(bool is_later)
{
    const size_t control = is_later ? 56 : 64, lines = BODY + (is_later ? 112 : 120), text = is_later ? 24 : 16;
    memcpy(world + VERSION, is_later ? "3.3.8" : "3.1.2", 6);
    put_address(CONTEXT, STACK);
    put(CONTEXT + 8, STACK_WORDS, 8);
    put_address(CONTEXT + 16, STACK_END - 2 * control);
    for (size_t i = 1; i <= 2; i++) {
        const size_t at = STACK_END - i * control;
        put_address(at, WORDS + 8 * i);
        put_address(at + 16, CODE);
        put_address(at + 32, ENVIRONMENT + 8 * (i - 1));
    }
    put(ENVIRONMENT, 0x11110021, 8);
    put(ENVIRONMENT + 8, 0x11110001, 8);
    put(CODE, 0x701a, 8);
    put_address(CODE + 16, BODY);
    put_address(BODY + 8, WORDS);
    put_address(BODY + 64, FILE_TEXT);
    put_address(BODY + 80, LABEL);
    put_address(lines, LINES);
    put(lines + 16, 2, 4);
    put_address(lines + 24, INDEX);
    put_address(WORDS, LOOP + 8);
    put(LINES, 7, 4);
    put(LINES + 12, 8, 4);
    put(INDEX, 1 | 2 << 7, 8);
    for (size_t i = 0; i < 2; i++) {
        const size_t at = i ? FILE_TEXT : LABEL;
        put(at, is_later ? 5 : 5 | 4 << 14, 8);
        put(at + 16, 4, 8);
        memcpy(world + at + text, i ? "a.rb" : "work", 4);
    }
}

/* A method, called by what a file says outside of functions. */
static void put_php(bool is_later)
{
    const size_t instructions = is_later ? 96 : 80;
    put_address(MODULES + 16, MODULES + 32);
    put_address(MODULES + 32, MODULE);
    put(MODULE, 168, 2);
    put(MODULE + 4, is_later ? 20240924 : 20220829, 4);
    put_address(CALL + 24, FUNCTION);
    put_address(CALL + 48, CALLER);
    put_address(CALLER, INSTRUCTIONS + 32);
    put_address(CALLER + 24, FUNCTION + 0x100 - 0x80);
    put(CALLER + 40, 1 << 17, 4);
    for (size_t i = 0; i < 2; i++) {
        const size_t at = FUNCTION + 0x80 * i;
        put(at, 2, 1);
        if (i == 0) {
            put_address(at + 8, NAME);
            put_address(at + 16, CLASS);
        }
        put(at + instructions, 2, 4);
        put_address(at + instructions + 8, INSTRUCTIONS);
    }
    put_address(CLASS + 8, NAME);
    put(INSTRUCTIONS + 24, 3, 4);
    put(INSTRUCTIONS + 56, 9, 4);
    put(NAME + 16, 4, 8);
    memcpy(world + NAME + 24, "Work", 4);
}

static void check(const struct runtime_call *call)
{
    if (strnlen(call->function, sizeof call->function) == sizeof call->function || !*call->function ||
        strnlen(call->file, sizeof call->file) == sizeof call->file || call->line < 0)
        abort();
}

static void expect(bool is_sound, const struct runtime_call *call, const char *function, const char *file, int line)
{
    if (is_sound && (strcmp(call->function, function) != 0 || strcmp(call->file, file) != 0 || call->line != line))
        abort();
}

static struct sw_frame frame_at(uint64_t pc, uint64_t r14, uint64_t r15)
{
    struct sw_frame frame = { .regs = { .machine = SW_MACHINE_X64 }, .lookup = pc - 1 };
    sw_regs_set(&frame.regs, SW_X64_RIP, pc);
    sw_regs_set(&frame.regs, SW_X64_RBX, BASE + CONTEXT);
    sw_regs_set(&frame.regs, SW_X64_R12, BASE + CONTEXT);
    sw_regs_set(&frame.regs, SW_X64_R13, r15);
    sw_regs_set(&frame.regs, SW_X64_R14, r14);
    sw_regs_set(&frame.regs, SW_X64_R15, r15);
    return frame;
}

/* Compiled code that the loop calls, the loop, and what calls that. */
static void ask_ruby(struct sw_images *images, const struct sw_memory *memory, bool is_later, bool is_sound)
{
    const size_t control = is_later ? 56 : 64;
    const uint64_t inner = BASE + STACK_END - 2 * control;
    const struct sw_frame frames[] = { frame_at(COMPILED, 0, inner), frame_at(BASE + LOOP + 16, 0, inner + control),
                                       frame_at(BASE + RUNNER + SIZE_OF_CALL_INSTRUCTION, 0, 0) };
    struct ruby_walk walk = { 0 };
    struct runtime_call call;
    struct ruby *ruby;
    uint64_t calls = 0, hash = 0;
    unsigned count = 0;
    if (ruby_open_at(images, memory, BASE + VERSION, &ruby) != SW_OK) {
        expect(is_sound, &(struct runtime_call){ "", "", 0 }, "it opens", "", 0);
        return;
    }
    for (size_t i = 0; i < sizeof frames / sizeof frames[0] && !hash; i++)
        hash = ruby_identify(ruby, &frames[i], &walk, &calls);
    bool has_more = hash != 0;
    while (has_more && count++ < CALLS_MOST) {
        has_more = ruby_name(ruby, &calls, &call);
        check(&call);
        expect(is_sound, &call, "work", "a.rb", count == 1 ? 8 : 7);
    }
    if (is_sound && count != 2)
        abort();
    ruby_close(ruby);
}

static void ask_php(struct sw_images *images, const struct sw_memory *memory, bool is_sound)
{
    const struct sw_frame frame = frame_at(COMPILED, BASE + CALL, BASE + INSTRUCTIONS);
    struct php_walk walk = { 0 };
    struct runtime_call call;
    struct php *php;
    uint64_t calls = 0;
    unsigned count = 0;
    if (php_open_at(images, memory, BASE + MODULES, 0, &php) != SW_OK) {
        expect(is_sound, &(struct runtime_call){ "", "", 0 }, "it opens", "", 0);
        return;
    }
    bool has_more = php_identify(php, &frame, &walk, &calls) != 0;
    while (has_more && count++ < CALLS_MOST) {
        has_more = php_name(php, &frame, &calls, &call);
        check(&call);
        expect(is_sound, &call, count == 1 ? "Work::Work" : "{main}", "", count == 1 ? 3 : 9);
    }
    if ((is_sound && count != 2) || php_identify(php, &frame, &walk, &calls))
        abort();
    php_close(php);
}

/* The file is known as it is on the disk; what is read of it is the target's. */
static struct sw_images *open_images(const struct sw_memory *memory)
{
    struct sw_images *images;
    put_file();
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_add_memory(images, "world", BASE, BYTES, memory) != SW_OK)
        abort();
    return images;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sw_memory memory = { read_world, NULL, { 0, 0, NULL } };
    static struct sw_images *images;
    const bool is_later = size && data[0] & 1;
    uint16_t place;
    if (!images)
        images = open_images(&memory);
    memset(world, 0, sizeof world);
    put_file();
    put_ruby(is_later);
    put_php(is_later);
    const bool is_sound = size < 1 + CHANGE_BYTES;
    for (size_t at = 1; at + CHANGE_BYTES <= size; at += CHANGE_BYTES) {
        memcpy(&place, data + at, sizeof place);
        memcpy(world + place % (BYTES - 8), data + at + sizeof place, 8);
    }
    ask_ruby(images, &memory, is_later, is_sound);
    ask_php(images, &memory, is_sound);
    return 0;
}
