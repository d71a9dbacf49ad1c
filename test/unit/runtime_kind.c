/*
 * Which runtime a mapped file is: small ELF files that export one symbol each, or have a note, in memory and mapped by
 * another process; files that are damaged.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host.h"

#include <snapwalk/process.h>
#include <snapwalk/runtime_kind.h>

enum {
    NOTE_AT = 600,
    NOTE_BYTES = 36,
    DYNAMIC_AT = 256,
    HASH_AT = 384,
    SYMBOLS_AT = 416,
    STRINGS_AT = 528,
    FILE_BYTES = 640
};
#define BASE UINT64_C(0x7f0000000000)

static uint8_t file[FILE_BYTES];

static void put(size_t at, uint64_t value, size_t size)
{
    memcpy(file + at, &value, size);
}

static void put_segment(unsigned number, uint32_t type, uint64_t at)
{
    const size_t row = 64 + number * 56;
    put(row, type, 4);
    put(row + 8, at, 8);
    put(row + 16, at, 8);
    put(row + 32, type == 4 ? NOTE_BYTES : 64, 8);
}

static void put_tag(unsigned number, uint64_t tag, uint64_t at)
{
    put(DYNAMIC_AT + number * 16, tag, 8);
    put(DYNAMIC_AT + number * 16 + 8, at, 8);
}

/* Three segments, a hash table of one bucket, one symbol. note: of its owner, if there is one; it is the second. */
static void make(const char *symbol, const char *note)
{
    memset(file, 0, sizeof file);
    memcpy(file, "\177ELF\2\1\1", 7);
    put(32, 64, 8);
    put(54, 56, 2);
    put(56, 3, 2);
    put_segment(0, 1, 0);
    put_segment(1, 2, DYNAMIC_AT);
    put_segment(2, note ? 4 : 0, NOTE_AT);
    put_tag(0, 4, HASH_AT);
    put_tag(1, 5, STRINGS_AT);
    put_tag(2, 6, SYMBOLS_AT);
    put(HASH_AT, 1, 4);
    put(HASH_AT + 4, 2, 4);
    put(HASH_AT + 8, 1, 4);
    put(SYMBOLS_AT + 24, 1, 4);
    put(SYMBOLS_AT + 24 + 6, 1, 2);
    put(SYMBOLS_AT + 24 + 8, 0x1000, 8);
    memcpy(file + STRINGS_AT + 1, symbol, strlen(symbol));
    if (note) { /* behind one of another kind */
        put(NOTE_AT, 4, 4);
        put(NOTE_AT + 4, 3, 4);
        put(NOTE_AT + 8, 1, 4);
        memcpy(file + NOTE_AT + 12, "GNU", 3);
        put(NOTE_AT + 20, 4, 4);
        put(NOTE_AT + 28, 4, 4);
        memcpy(file + NOTE_AT + 32, note, strlen(note));
    }
}

/* What is behind `arg` bytes of the file cannot be read. */
static size_t read_file(void *arg, uint64_t address, void *to, size_t size)
{
    const size_t limit = *(const size_t *)arg;
    if (address < BASE || address - BASE >= limit)
        return 0;
    const size_t left = limit - (size_t)(address - BASE), part = size < left ? size : left;
    memcpy(to, file + (address - BASE), part);
    return part;
}

static enum sw_status look(size_t limit, enum sw_runtime_kind *kind)
{
    const struct sw_memory memory = { .read = read_file, .arg = &limit };
    return sw_runtime_at(&memory, BASE, kind);
}

static const struct row {
    const char *symbol, *note;
    enum sw_runtime_kind kind;
} rows[] = {
    { "g_dacTable", NULL, SW_RUNTIME_CLR },
    { "gHotSpotVMStructs", NULL, SW_RUNTIME_HOTSPOT },
    { "mono_get_root_domain", NULL, SW_RUNTIME_MONO },
    { "_ZN2v82V810GetVersionEv", NULL, SW_RUNTIME_V8 },
    { "_PyRuntime", NULL, SW_RUNTIME_PYTHON },
    { "DotNetRuntimeDebugHeader", NULL, SW_RUNTIME_NATIVE_AOT },
    { "ruby_api_version", NULL, SW_RUNTIME_RUBY },
    { "zend_execute_ex", NULL, SW_RUNTIME_PHP },
    { "main.main", "Go", SW_RUNTIME_GO },
    { "main.main", "GNU", SW_RUNTIME_NATIVE },
    { "main", NULL, SW_RUNTIME_NATIVE },
    { "_PyRuntime", "Go", SW_RUNTIME_PYTHON },
};

static void each_is_known_by_what_it_exports(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum sw_runtime_kind kind = SW_RUNTIME_KINDS;
        make(rows[i].symbol, rows[i].note);
        if (look(FILE_BYTES, &kind) != SW_OK || kind != rows[i].kind)
            fail_msg("%s: %s", rows[i].symbol, sw_runtime_kind_name(kind));
    }
}

static void a_symbol_that_is_imported_is_none(void **state)
{
    enum sw_runtime_kind kind;
    (void)state;
    make("g_dacTable", NULL);
    put(SYMBOLS_AT + 24 + 6, 0, 2);
    assert_int_equal(look(FILE_BYTES, &kind), SW_OK);
    assert_int_equal(kind, SW_RUNTIME_NATIVE);
}

/* Cut at each byte, and with each byte changed: an answer, and no read behind the end (sanitizers watch). */
static void damaged_files_have_an_answer(void **state)
{
    enum sw_runtime_kind kind;
    (void)state;
    make("_PyRuntime", "Go");
    for (size_t limit = 0; limit <= FILE_BYTES; limit++) {
        const enum sw_status status = look(limit, &kind);
        assert_int_equal(status, limit < 64 ? SW_E_MALFORMED : SW_OK);
        assert_true(limit < 64 || kind == SW_RUNTIME_NATIVE || kind == SW_RUNTIME_GO || kind == SW_RUNTIME_PYTHON);
    }
    for (size_t at = 0; at < FILE_BYTES; at++) {
        file[at] = (uint8_t)~file[at];
        const enum sw_status status = look(FILE_BYTES, &kind);
        assert_int_equal(status, at < 6 ? SW_E_MALFORMED : SW_OK);
        file[at] = (uint8_t)~file[at];
    }
    assert_int_equal(sw_runtime_at(NULL, BASE, &kind), SW_E_ARGUMENT);
    assert_string_equal(sw_runtime_kind_name(SW_RUNTIME_KINDS), "?");
}

/* rights: of what is mapped; a runtime has code. */
static void map_file(int rights)
{
    char path[] = "/tmp/runtime-test-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, file, sizeof file), sizeof file);
    assert_true(mmap(NULL, sizeof file, rights, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    close(fd);
}

/* The child has what this process has mapped, and stays until it is ended. */
static size_t of_child(struct sw_runtime *runtimes, size_t capacity)
{
    struct sw_process *process;
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    assert_int_equal(sw_process_open(NULL, child, &process), SW_OK);
    const size_t count = sw_process_runtimes(process, runtimes, capacity);
    sw_process_close(process);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return count;
}

static void a_process_lists_them_by_rank(void **state)
{
    HOST_NEEDS(host_can_trace(), "a memory map of a child that is not an emulator's");
    struct sw_runtime found[2] = { { SW_RUNTIME_KINDS, 0 }, { SW_RUNTIME_KINDS, 0 } };
    (void)state;
    assert_int_equal(of_child(found, 2), 0);
    make("", "Go");
    map_file(PROT_READ | PROT_EXEC);
    make("_PyRuntime", NULL);
    map_file(PROT_READ | PROT_EXEC);
    map_file(PROT_READ | PROT_EXEC);
    make("g_dacTable", NULL);
    map_file(PROT_READ | PROT_EXEC);
    make("gHotSpotVMStructs", NULL);
    map_file(PROT_READ); /* data: no runtime */
    assert_int_equal(of_child(NULL, 0), 3);
    assert_int_equal(of_child(found, 2), 3);
    assert_int_equal(found[0].kind, SW_RUNTIME_CLR);
    assert_int_equal(found[1].kind, SW_RUNTIME_PYTHON);
    assert_true(found[0].address && found[1].address);
    assert_int_equal(sw_process_runtimes(NULL, NULL, 0), 0);
    assert_int_equal(sw_core_runtimes(NULL, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_known_by_what_it_exports),
        cmocka_unit_test(a_symbol_that_is_imported_is_none),
        cmocka_unit_test(damaged_files_have_an_answer),
        cmocka_unit_test(a_process_lists_them_by_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
