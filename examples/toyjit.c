/*
 * A toy JIT: a target for `stacks` where there is no .NET. It writes x64 or ARM64 functions with the prologues of real
 * compilers, registers them in a perf map only (without unwind data), and blocks threads deep inside them.
 *
 *     toyjit [SECONDS]      prints "ready PID"; ends when standard input is closed, or after SECONDS
 *
 * The prologues are those of gcc, clang and .NET on Linux, as disassembled. At calls the stack pointer is a multiple of
 * 16.
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The code before and after the body of a function. In `frameless` the frame pointer holds something else. */
struct shape {
    const char *name;
    struct piece {
        size_t size;
        const void *bytes;
    } prologue, epilogue;
};

#if defined(__aarch64__)
#define CODE(...)                                                                                                      \
    {                                                                                                                  \
        sizeof(const uint32_t[]){ __VA_ARGS__ }, (const uint32_t[])                                                    \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
static const struct shape shapes[] = {
    /* stp x29, x30, [sp, #-32]!; mov x29, sp; str x19, [sp, #16] ... and back; ret */
    { "gcc", CODE(0xa9be7bfd, 0x910003fd, 0xf9000bf3), CODE(0xf9400bf3, 0xa8c27bfd, 0xd65f03c0) },
    /* stp x29, x30, [sp, #-48]!; stp x19, x20, [sp, #32]; mov x29, sp ... and back; ret */
    { "dotnet", CODE(0xa9bd7bfd, 0xa90253f3, 0x910003fd), CODE(0xa94253f3, 0xa8c37bfd, 0xd65f03c0) },
    /* sub sp, sp, #48; stp x29, x30, [sp, #32]; str x19, [sp, #16]; mov x29, #0x1234 ... and back; ret */
    { "frameless", CODE(0xd100c3ff, 0xa9027bfd, 0xf9000bf3, 0xd282469d),
      CODE(0xf9400bf3, 0xa9427bfd, 0x9100c3ff, 0xd65f03c0) },
    /* paciasp; stp x29, x30, [sp, #-16]!; mov x29, sp ... ldp x29, x30, [sp], #16; autiasp; ret */
    { "signed", CODE(0xd503233f, 0xa9bf7bfd, 0x910003fd), CODE(0xa8c17bfd, 0xd50323bf, 0xd65f03c0) },
    /* cbnz w0, L; mov w0, #1; ret; L: str x30, [sp, #-16]! ... ldr x30, [sp], #16; ret */
    { "shrinkwrap", CODE(0x35000060, 0x52800020, 0xd65f03c0, 0xf81f0ffe), CODE(0xf84107fe, 0xd65f03c0) },
};
#else
#define CODE(text)                                                                                                     \
    {                                                                                                                  \
        sizeof(text) - 1, text                                                                                         \
    }
static const struct shape shapes[] = {
    /* push rbp; mov rbp, rsp; push rbx; sub rsp, 24 ... mov rbx, [rbp - 8]; leave; ret */
    { "gcc", CODE("\x55\x48\x89\xe5\x53\x48\x83\xec\x18"), CODE("\x48\x8b\x5d\xf8\xc9\xc3") },
    /* push rbp, r15, r14, rbx; sub rsp, 24; lea rbp, [rsp + 48] ... add rsp, 24; pop rbx, r14, r15, rbp; ret */
    { "dotnet", CODE("\x55\x41\x57\x41\x56\x53\x48\x83\xec\x18\x48\x8d\x6c\x24\x30"),
      CODE("\x48\x83\xc4\x18\x5b\x41\x5e\x41\x5f\x5d\xc3") },
    /* push rbp; push rbx; sub rsp, 40; mov ebp, 0x1234 ... add rsp, 40; pop rbx; pop rbp; ret */
    { "frameless", CODE("\x55\x53\x48\x83\xec\x28\xbd\x34\x12\x00\x00"), CODE("\x48\x83\xc4\x28\x5b\x5d\xc3") },
    /* push rax ... pop rcx; ret */
    { "clang", CODE("\x50"), CODE("\x59\xc3") },
    /* test edi, edi; jne L; mov eax, 1; ret; L: push rbx ... pop rbx; ret */
    { "shrinkwrap", CODE("\x85\xff\x75\x06\xb8\x01\x00\x00\x00\xc3\x53"), CODE("\x5b\xc3") },
};
#endif

enum { SHAPES = sizeof shapes / sizeof shapes[0], CHAIN = 15, CODE_BYTES = 1 << 16 };

typedef int (*entry_fn)(int);
static struct jit {
    uint8_t *code;
    size_t used;
    FILE *map;
} jit;
static atomic_int arrived;
static int silent_pipe[2];

/* The native ends of the chains. */
static int in_pause(int depth)
{
    atomic_fetch_add(&arrived, 1);
    return pause() + depth;
}

static int in_read(int depth)
{
    char byte;
    atomic_fetch_add(&arrived, 1);
    return (int)read(silent_pipe[0], &byte, 1) + depth;
}

static int in_spin(int depth);
static int in_callback(int depth);

static struct thread {
    const char *name;
    entry_fn end;
    entry_fn chain;
} threads[] = {
    { "toy-pause", in_pause, NULL },
    { "toy-read", in_read, NULL },
    { "toy-spin", in_spin, NULL },
    { "toy-callback", in_callback, NULL },
};
enum { THREADS = sizeof threads / sizeof threads[0] };

static entry_fn spin_code;

static int in_spin(int depth)
{
    atomic_fetch_add(&arrived, 1);
    return spin_code(depth);
}

/* Native code between two managed chains. The second chain is that of the first thread. */
static int in_callback(int depth)
{
    return threads[0].chain(depth) + 1;
}

static void emit(const void *bytes, size_t size)
{
    if (size > CODE_BYTES - jit.used)
        abort();
    memcpy(jit.code + jit.used, bytes, size);
    jit.used += size;
}

#if defined(__aarch64__)
static void emit_word(uint32_t word)
{
    emit(&word, sizeof word);
}

/* mov w0, #depth; then the call. Half of the calls inside the JIT's code are direct. depth is not 0 (shrinkwrap). */
static void emit_call(int depth, entry_fn callee)
{
    const uint64_t target = (uint64_t)(uintptr_t)callee;
    emit_word(0x52800000 | (uint32_t)depth << 5);
    const int64_t words = ((intptr_t)callee - (intptr_t)(jit.code + jit.used)) / 4;
    if (words > -0x2000000 && words < 0x2000000 && depth % 2 == 0) {
        emit_word(0x94000000 | ((uint32_t)words & 0x3ffffff)); /* bl callee */
        return;
    }
    for (uint32_t part = 0; part < 4; part++) /* movz, movk x16, callee; blr x16 */
        emit_word((part ? 0xf2800010 : 0xd2800010) | part << 21 | (uint32_t)(target >> (16 * part) & 0xffff) << 5);
    emit_word(0xd63f0200);
}

static void emit_spin(void)
{
    emit_word(0x91000400); /* L: add x0, x0, #1; b L */
    emit_word(0x17ffffff);
}
#else
/* mov edi, depth; then the call. Half of the calls inside the JIT's code are direct. depth is not 0 (shrinkwrap). */
static void emit_call(int depth, entry_fn callee)
{
    const intptr_t away = (intptr_t)callee - (intptr_t)(jit.code + jit.used + 10);
    const int32_t near = (int32_t)away;
    emit("\xbf", 1);
    emit(&depth, 4);
    if (near == away && depth % 2 == 0) {
        emit("\xe8", 1); /* call callee */
        emit(&near, 4);
        return;
    }
    emit("\x48\xb8", 2); /* mov rax, callee; call rax */
    emit(&callee, 8);
    emit("\xff\xd0", 2);
}

static void emit_spin(void)
{
    emit("\x48\xff\xc0\xeb\xfb", 5); /* L: inc rax; jmp L */
}
#endif

/* Writes one function and its line of the perf map. It calls `callee`, or counts for ever if callee is null. */
static entry_fn write_function(const struct shape *shape, const char *chain, int depth, entry_fn callee)
{
    uint8_t *begin = jit.code + jit.used;
    emit(shape->prologue.bytes, shape->prologue.size);
    if (callee)
        emit_call(depth, callee);
    else
        emit_spin();
    emit(shape->epilogue.bytes, shape->epilogue.size);
    fprintf(jit.map, "%lx %zx int Toy.%s::%s%d(int)\n", (unsigned long)(uintptr_t)begin,
            (size_t)(jit.code + jit.used - begin), chain, shape->name, depth);
    jit.used = (jit.used + 15) & ~(size_t)15;
    entry_fn entry;
    memcpy(&entry, &begin, sizeof entry);
    return entry;
}

static entry_fn write_chain(const char *name, entry_fn end)
{
    for (int depth = 1; depth <= CHAIN; depth++)
        end = write_function(&shapes[depth % SHAPES], name, depth, end);
    return end;
}

static int write_code(void)
{
    char path[40];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    jit.map = fopen(path, "w");
    jit.code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!jit.map || jit.code == MAP_FAILED)
        return -1;
    spin_code = write_function(&shapes[2], "spin", 0, NULL);
    for (int i = 0; i < THREADS; i++)
        threads[i].chain = write_chain(threads[i].name + 4, threads[i].end);
    __builtin___clear_cache((char *)jit.code, (char *)jit.code + jit.used);
    return fclose(jit.map) | mprotect(jit.code, CODE_BYTES, PROT_READ | PROT_EXEC);
}

static void *run_thread(void *arg)
{
    const struct thread *thread = arg;
    pthread_setname_np(pthread_self(), thread->name);
    return thread->chain(CHAIN) ? arg : NULL;
}

/* Threads that run: at least this one, and the one that spins; those that are about to block, too. Source: proc(5). */
static int running(void)
{
    int count = 0;
    char path[300], line[256] = "";
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *stat = fopen(path, "r");
        count += stat && fgets(line, sizeof line, stat) && strstr(line, ") R ") != NULL;
        if (stat)
            fclose(stat);
    }
    if (tasks)
        closedir(tasks);
    return count;
}

static int start_threads(void)
{
    pthread_t id;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&id, NULL, run_thread, &threads[i]) != 0)
            return -1;
    for (int tries = 0; (atomic_load(&arrived) < THREADS || running() > 2) && tries < 1000; tries++)
        usleep(10000);
    return atomic_load(&arrived) == THREADS ? 0 : -1;
}

static void wait_for_end(int seconds)
{
    char bytes[64];
    struct pollfd input = { .fd = 0, .events = POLLIN };
    while (poll(&input, 1, seconds * 1000) > 0 && read(0, bytes, sizeof bytes) > 0)
        continue;
}

int main(int argc, char **argv)
{
    if (pipe(silent_pipe) != 0 || write_code() != 0 || start_threads() != 0) {
        fprintf(stderr, "toyjit: the threads could not be started\n");
        return 1;
    }
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    wait_for_end(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 60);
    _exit(0);
}
