/*
 * jitdump FOLDER: two functions that are written at run time, x64, and FOLDER/jit-PID.dump, which says so. The outer
 * one takes as much of the stack as it is told; the inner one, which it calls, calls back: "ready" is said there.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOAD = 0, UNWIND = 4, HEADER_SIZE = 20, FRAMES_SIZE = 56, ROOM = 300 };

/* push rbx; mov rbx, rsp; sub rsp, rdx; call rsi; mov rsp, rbx; pop rbx; ret */
static const uint8_t outer[] = { 0x53, 0x48, 0x89, 0xe3, 0x48, 0x29, 0xd4, 0xff, 0xd6, 0x48, 0x89, 0xdc, 0x5b, 0xc3 };
/* sub rsp, 0x48; call rdi; add rsp, 0x48; ret */
static const uint8_t inner[] = { 0x48, 0x83, 0xec, 0x48, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x48, 0xc3 };

/* Call frame information up to the calls. After the push rbx is below the return address; then it holds the stack. */
static const uint8_t outer_rules[] = { 0x41, 0x0e, 16, 0x83, 2, 0x43, 0x0d, 3 };
static const uint8_t inner_rules[] = { 0x44, 0x0e, 0x50 };

static FILE *dump;

static void put(uint64_t value, size_t size)
{
    fwrite(&value, size, 1, dump);
}

static void put_prefix(uint32_t kind, size_t size)
{
    put(kind, 4);
    put(16 + size, 4);
    put(1, 8);
}

/* rules: 15 bytes at most. */
static void put_unwind(uint64_t code, size_t size, const uint8_t *rules, size_t rules_size)
{
    static const uint8_t entry[] = { 20,   0,    0, 0, 0,    0, 0, 0, 1,  'z', 'R', 0, 1,  0x78, 16, 1,
                                     0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0, 28, 0,   0,   0, 28, 0,    0,  0 };
    uint8_t frames[FRAMES_SIZE + HEADER_SIZE] = { 0 };
    const uint64_t at = (code + size + 7) / 8 * 8 + sizeof entry;
    const int32_t begin = (int32_t)(code - at), length = (int32_t)size;
    memcpy(frames, entry, sizeof entry);
    memcpy(frames + sizeof entry, &begin, 4);
    memcpy(frames + sizeof entry + 4, &length, 4);
    memcpy(frames + sizeof entry + 9, rules, rules_size);
    put_prefix(UNWIND, 24 + sizeof frames);
    put(sizeof frames, 8);
    put(HEADER_SIZE, 8);
    put(0, 8);
    fwrite(frames, sizeof frames, 1, dump);
}

static void put_load(const char *name, uint64_t code, size_t size)
{
    put_prefix(LOAD, 40 + strlen(name) + 1 + size);
    put((uint64_t)getpid() << 32 | (uint32_t)getpid(), 8);
    put(code, 8);
    put(code, 8);
    put(size, 8);
    put(1, 8);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite((void *)(uintptr_t)code, size, 1, dump);
}

static void *write_code(uint8_t *to, const char *name, const uint8_t *code, size_t size, const uint8_t *rules,
                        size_t rules_size)
{
    memcpy(to, code, size);
    put_unwind((uintptr_t)to, size, rules, rules_size);
    put_load(name, (uintptr_t)to, size);
    return to;
}

static void begin_dump(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
    const int file = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0 || mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
        exit(1);
    dump = fdopen(file, "w");
    put(0x4a695444, 4);
    put(1, 4);
    put(40, 4);
    put(62, 4);
    put(0, 4);
    put((uint32_t)getpid(), 4);
    put(1, 8);
    put(0, 8);
}

static int wait_here(void)
{
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
    return 1;
}

int main(int argc, char **argv)
{
    uint8_t *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*call)(int (*)(void), void *, size_t);
    if (argc != 2 || memory == MAP_FAILED)
        return 1;
    begin_dump(argv[1]);
    void *called = write_code(memory + 64, "jit_inner", inner, sizeof inner, inner_rules, sizeof inner_rules);
    *(void **)&call = write_code(memory, "jit_outer", outer, sizeof outer, outer_rules, sizeof outer_rules);
    fflush(dump);
    return call(wait_here, called, (size_t)argc * 16 * ROOM);
}
