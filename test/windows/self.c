/*
 * This process as a target, on Windows: memory that is there or not, the calling thread's registers and stack,
 * modules that come and go, threads that are suspended at any instruction. A line "ok - NAME" or "not ok - NAME" for
 * each row; the last line counts the walks of suspended threads.
 *
 * The truth of a suspended thread's walk: it runs in a function that walked itself once, so the frames from that
 * function's caller on are known, with their sp, whatever the thread does further in.
 */
#include <windows.h> /* first: corprof.h has some of its names */

#include "target/windows/memory.h"

#include <snapwalk/snapwalk.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, FRAMES = 64, SAMPLES = 1000, RACES = 20000, PAINTED = 16384, SENTINEL = 0xa5 };

static int failed;

static void row(const char *name, bool good)
{
    printf("%s - %s\n", good ? "ok" : "not ok", name);
    fflush(stdout);
    failed += !good;
}

/* ---- memory ---- */

static size_t read_at(const void *address, void *to, size_t size)
{
    const struct sw_memory memory = sw_self_memory();
    return memory.read(memory.arg, (uint64_t)(uintptr_t)address, to, size);
}

/* Two pages, of which the first is committed with these rights. */
static uint8_t *page_with(DWORD rights)
{
    uint8_t *pages = VirtualAlloc(NULL, 2 * PAGE, MEM_RESERVE, PAGE_NOACCESS);
    if (!pages || !VirtualAlloc(pages, PAGE, MEM_COMMIT, PAGE_READWRITE))
        abort();
    memset(pages, SENTINEL, PAGE);
    DWORD before;
    if (!VirtualProtect(pages, PAGE, rights, &before))
        abort();
    return pages;
}

static void memory_rows(void)
{
    static const struct {
        const char *name;
        DWORD rights;
        size_t wanted;
    } rows[] = {
        { "a readable page is read up to its end", PAGE_READONLY, 16 },
        { "a page that may be executed and read is read", PAGE_EXECUTE_READ, 16 },
        { "a page without access is not read", PAGE_NOACCESS, 0 },
        { "a guard page is not read", PAGE_READWRITE | PAGE_GUARD, 0 },
    };
    static const uint64_t nowhere[] = { 0, 8, UINT64_C(0x0000800000000000), UINT64_C(0xffff800000000000), UINT64_MAX };
    uint8_t bytes[32];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t *pages = page_with(rows[i].rights);
        MEMORY_BASIC_INFORMATION now;
        const size_t got = read_at(pages + PAGE - 16, bytes, sizeof bytes);
        row(rows[i].name, got == rows[i].wanted && (got == 0 || bytes[got - 1] == SENTINEL));
        if (rows[i].rights & PAGE_GUARD)
            row("and it still is a guard page",
                VirtualQuery(pages, &now, sizeof now) == sizeof now && (now.Protect & PAGE_GUARD));
        VirtualFree(pages, 0, MEM_RELEASE);
    }
    bool good = true;
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++)
        good = good && read_at((const void *)(uintptr_t)nowhere[i], bytes, sizeof bytes) == 0;
    row("where no memory can be nothing is read", good);
}

static void fault_rows(void)
{
    uint8_t *pages = page_with(PAGE_READONLY);
    uint8_t bytes[32] = { 0 };
    row("a copy from memory that is gone ends at once", sw_windows_copy(bytes, pages + PAGE, sizeof bytes) == 0);
    row("a copy that runs into memory that is gone ends there",
        sw_windows_copy(bytes, pages + PAGE - 16, sizeof bytes) == 16 && bytes[15] == SENTINEL && bytes[16] == 0);
    VirtualFree(pages, 0, MEM_RELEASE);
}

struct race {
    uint8_t *page;
    atomic_bool done;
};

static DWORD WINAPI come_and_go(void *arg)
{
    struct race *race = arg;
    while (!atomic_load(&race->done)) {
        VirtualAlloc(race->page, PAGE, MEM_COMMIT, PAGE_READWRITE);
        VirtualFree(race->page, PAGE, MEM_DECOMMIT);
    }
    return 0;
}

static void race_row(void)
{
    struct race race = { .page = VirtualAlloc(NULL, PAGE, MEM_RESERVE, PAGE_READWRITE) };
    const HANDLE thread = CreateThread(NULL, 0, come_and_go, &race, 0, NULL);
    uint8_t bytes[PAGE];
    size_t whole = 0;
    size_t reads = 0;
    for (; reads < RACES || whole < RACES / 100 || reads - whole < RACES / 100; reads++) {
        whole += read_at(race.page, bytes, sizeof bytes) == sizeof bytes;
        Sleep((DWORD)(reads % RACES == RACES - 1));
    }
    atomic_store(&race.done, true);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    printf("# %zu of %zu reads saw the page\n", whole, reads);
    row("memory that comes and goes is read without a fault", true);
}

/* ---- the calling thread ---- */

static void __attribute__((noinline)) capture_row(void)
{
    struct sw_regs regs;
    CONTEXT context;
    RtlCaptureContext(&context);
    sw_self_capture(&regs);
    const struct {
        unsigned number;
        uint64_t wanted;
    } rows[] = {
        { SW_X64_RBX, context.Rbx }, { SW_X64_RSP, context.Rsp }, { SW_X64_RBP, context.Rbp },
        { SW_X64_RSI, context.Rsi }, { SW_X64_RDI, context.Rdi }, { SW_X64_R12, context.R12 },
        { SW_X64_R13, context.R13 }, { SW_X64_R14, context.R14 }, { SW_X64_R15, context.R15 },
    };
    bool good = sw_regs_pc(&regs) > context.Rip && sw_regs_pc(&regs) - context.Rip < 64;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        good = good && sw_regs_has(&regs, rows[i].number) && regs.r[rows[i].number] == rows[i].wanted;
    row("captured registers are those that Windows captures", good);
}

static void stack_rows(const struct sw_images *images)
{
    struct sw_walker walker;
    uint64_t begin, end;
    const uint64_t here = (uint64_t)(uintptr_t)&begin;
    row("the own stack is around a local variable",
        sw_self_stack(&begin, &end) == SW_OK && begin <= here && here < end);
    if (sw_self_walker(&walker, NULL, images) != SW_OK)
        abort();
    const struct sw_window window = walker.memory.window;
    row("the window is the stack's committed part, to its end",
        window.begin <= here && window.end == end && window.begin >= begin &&
            (uint64_t)(uintptr_t)window.bytes == window.begin &&
            sw_windows_readable(window.begin, window.end - window.begin) == window.end);
    row("the own thread has its id", sw_self_thread() == GetCurrentThreadId());
}

/* ---- walks ---- */

struct step {
    uint64_t pc;
    uint64_t sp;
};

struct chain {
    struct step steps[FRAMES];
    size_t count;
    enum sw_stop stop;
};

static struct sw_scratch scratch;

static bool note(void *arg, const struct sw_frame *frame)
{
    struct chain *chain = arg;
    if (chain->count < FRAMES)
        chain->steps[chain->count++] = (struct step){ sw_regs_pc(&frame->regs), sw_regs_sp(&frame->regs) };
    return chain->count < FRAMES;
}

static bool is_clean(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT || stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

static void walk_from(const struct sw_walker *walker, struct sw_scratch *work, const struct sw_regs *regs,
                      struct chain *chain)
{
    chain->count = 0;
    chain->stop = sw_walk_all(walker, work, regs, note, chain);
}

/* The frames of the system's own unwinder. */
static void walk_by_system(CONTEXT context, struct chain *chain)
{
    chain->count = 0;
    while (context.Rip != 0 && chain->count < FRAMES) {
        DWORD64 base, frame;
        void *data;
        chain->steps[chain->count++] = (struct step){ context.Rip, context.Rsp };
        RUNTIME_FUNCTION *function = RtlLookupFunctionEntry(context.Rip, &base, NULL);
        if (!function)
            return;
        RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, function, &context, &data, &frame, NULL);
    }
}

static void __attribute__((noinline)) own_walk_row(const struct sw_walker *walker)
{
    struct chain ours, theirs;
    struct sw_regs regs;
    CONTEXT context;
    RtlCaptureContext(&context);
    sw_self_capture(&regs);
    walk_from(walker, &scratch, &regs, &ours);
    walk_by_system(context, &theirs);
    row("a walk of the own thread ends at the root", is_clean(ours.stop) && ours.count > 3);
    row("its frames are those of RtlVirtualUnwind",
        ours.count == theirs.count &&
            memcmp(ours.steps + 1, theirs.steps + 1, (ours.count - 1) * sizeof ours.steps[0]) == 0);
}

/* Fills the stack below its caller's frame; returns where that begins. */
static uintptr_t __attribute__((noinline)) paint(void)
{
    volatile uint8_t room[PAINTED];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = SENTINEL;
    return (uintptr_t)room;
}

/* How much of the painted stack was used. */
static size_t __attribute__((noinline)) used(uintptr_t from)
{
    const volatile uint8_t *room = (const volatile uint8_t *)from;
    size_t untouched = 0;
    while (untouched < PAINTED && room[untouched] == SENTINEL)
        untouched++;
    return PAINTED - untouched;
}

/* Without a window each word is read by the reader, which asks the system. */
static void budget_row(const struct sw_walker *walker)
{
    static struct chain chain;
    struct sw_walker without = *walker;
    struct sw_regs regs;
    without.memory.window = (struct sw_window){ 0 };
    sw_self_capture(&regs);
    const uintptr_t room = paint();
    walk_from(&without, &scratch, &regs, &chain);
    const size_t bytes = used(room);
    printf("# a walk used %zu bytes of stack\n", bytes);
    row("a walk takes less than 4 KiB of stack", is_clean(chain.stop) && bytes > 256 && bytes < 4096);
}

/* ---- modules ---- */

static void module_rows(struct sw_images *images)
{
    struct sw_image image;
    char name[64];
    uint64_t start;
    const uint64_t generation = sw_images_generation(images);
    row("a second look at the same modules changes nothing",
        sw_images_add_self(images) == SW_OK && sw_images_generation(images) == generation);
    const HMODULE module = LoadLibraryA("version.dll");
    const FARPROC function = module ? GetProcAddress(module, "VerQueryValueA") : NULL;
    const uint64_t address = (uint64_t)(uintptr_t)function;
    row("a module that is loaded is found", function && sw_images_add_self(images) == SW_OK &&
                                                sw_images_find(images, address, &image) == SW_OK && image.is_pe &&
                                                image.begin == (uint64_t)(uintptr_t)module);
    FreeLibrary(module);
    row("and used without the loader's copy once it is unloaded",
        sw_windows_readable(address, 1) == address &&
            sw_images_name(images, address, name, sizeof name, &start) == SW_OK &&
            strcmp(name, "VerQueryValueA") == 0 && start == address);
    row("until the next look",
        sw_images_add_self(images) == SW_OK && sw_images_find(images, address, &image) == SW_E_NOT_FOUND);
}

static void file_rows(void)
{
    static const uint8_t elf[PAGE] = "\177ELF";
    const struct sw_memory memory = sw_self_memory();
    const uint64_t somewhere = UINT64_C(0x10000000000);
    struct sw_images *images;
    struct sw_image image;
    char path[MAX_PATH];
    if (sw_images_create(NULL, &images) != SW_OK || !GetModuleFileNameA(NULL, path, sizeof path))
        abort();
    row("a file is an image where it is said to be",
        sw_images_add_file(images, path, somewhere) == SW_OK && sw_images_find(images, somewhere, &image) == SW_OK);
    row("a file that is not there is none", sw_images_add_file(images, "Z:\\none\\at\\all", 0) == SW_E_OS);
    row("an ELF image is not supported",
        sw_images_add_memory(images, "elf", (uint64_t)(uintptr_t)elf, sizeof elf, &memory) == SW_E_UNSUPPORTED);
    sw_images_destroy(images);
}

/* ---- suspended threads ---- */

struct worker {
    const struct sw_images *images;
    struct sw_walker walker;
    struct chain known; /* from the frame of work_forever's caller on */
    struct sw_scratch scratch;
    atomic_uint rounds;
    atomic_bool is_ready;
    atomic_bool done;
};

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(int));
}

static unsigned __attribute__((noinline)) recurse(unsigned depth, unsigned seed)
{
    volatile char room[128];
    room[seed % sizeof room] = (char)seed;
    return depth ? recurse(depth - 1, seed * 2654435761u) + (unsigned)room[0] : seed;
}

static unsigned __attribute__((noinline)) use_stack(size_t size)
{
    volatile char *room = __builtin_alloca(size);
    for (size_t i = 0; i < size; i += PAGE)
        room[i] = (char)i;
    return (unsigned)room[0];
}

static unsigned __attribute__((noinline)) work(unsigned seed)
{
    int numbers[64];
    char text[64];
    for (unsigned i = 0; i < 64; i++)
        numbers[i] = (int)(seed = seed * 1664525u + 1013904223u);
    qsort(numbers, 64, sizeof numbers[0], compare);
    snprintf(text, sizeof text, "%d %.3f", numbers[0], (double)numbers[1]);
    void *block = malloc(seed % 5000 + 1);
    free(block);
    return recurse(seed % 20, seed) + use_stack(seed % 30000 + 16) + (unsigned)text[0];
}

static void __attribute__((noinline)) work_forever(struct worker *worker)
{
    struct sw_regs regs;
    struct chain chain;
    sw_self_capture(&regs);
    walk_from(&worker->walker, &worker->scratch, &regs, &chain);
    worker->known = (struct chain){ .count = chain.count - 1, .stop = chain.stop };
    memcpy(worker->known.steps, chain.steps + 1, worker->known.count * sizeof chain.steps[0]);
    atomic_store(&worker->is_ready, true);
    for (unsigned seed = 1; !atomic_load(&worker->done);) {
        seed = work(seed);
        atomic_fetch_add(&worker->rounds, 1);
    }
}

static DWORD WINAPI thread_main(void *arg)
{
    struct worker *worker = arg;
    if (sw_self_walker(&worker->walker, NULL, worker->images) != SW_OK)
        abort();
    work_forever(worker);
    return (DWORD)atomic_load(&worker->rounds); /* no tail call */
}

static HANDLE start_worker(struct worker *worker, const struct sw_images *images, DWORD *id)
{
    worker->images = images;
    const HANDLE thread = CreateThread(NULL, 0, thread_main, worker, 0, id);
    while (!atomic_load(&worker->is_ready))
        Sleep(1);
    return thread;
}

/* Whether the worker comes on within a while. */
static bool runs(struct worker *worker, DWORD milliseconds)
{
    const unsigned before = atomic_load(&worker->rounds);
    for (DWORD i = 0; i < milliseconds && atomic_load(&worker->rounds) == before; i++)
        Sleep(1);
    return atomic_load(&worker->rounds) != before;
}

static void suspend_rows(struct sw_self_suspender *self, struct worker *worker, DWORD id)
{
    const struct sw_suspender s = sw_self_get_suspender(self);
    struct sw_regs regs;
    row("the own thread is not suspended", s.suspend(s.arg, GetCurrentThreadId(), &regs) == SW_E_ARGUMENT);
    row("who is not suspended is not resumed", s.resume(s.arg, id) == SW_E_NOT_FOUND);
    const bool twice = s.suspend(s.arg, id, &regs) == SW_OK && s.suspend(s.arg, id, &regs) == SW_OK;
    row("a thread that is suspended twice stands", twice && !runs(worker, 50));
    row("a third time is more than the suspender has room for", s.suspend(s.arg, id, &regs) == SW_E_BUSY);
    row("resumed once it still stands", s.resume(s.arg, id) == SW_OK && !runs(worker, 50));
    row("resumed twice it runs", s.resume(s.arg, id) == SW_OK && runs(worker, 60000));
    row("and cannot be resumed once more", s.resume(s.arg, id) == SW_E_NOT_FOUND);
}

static void gone_row(struct sw_self_suspender *self, HANDLE thread, DWORD id)
{
    const struct sw_suspender s = sw_self_get_suspender(self);
    struct sw_regs regs;
    row("a thread that has ended is gone", s.suspend(s.arg, id, &regs) == SW_E_GONE);
    CloseHandle(thread);
    row("also when nobody holds it any more", s.suspend(s.arg, id, &regs) == SW_E_GONE);
}

static bool ends_as(const struct chain *chain, const struct chain *known)
{
    return chain->stop == known->stop && chain->count > known->count &&
           memcmp(chain->steps + chain->count - known->count, known->steps, known->count * sizeof known->steps[0]) == 0;
}

/* Nothing is printed, allocated or loaded while the thread stands. */
static bool sample(const struct sw_suspender *s, const struct worker *worker, const struct sw_walker *walker, DWORD id,
                   struct chain *chain)
{
    struct sw_regs regs;
    if (s->suspend(s->arg, id, &regs) != SW_OK)
        return false;
    /* Of its stack is committed what lies from its sp on; what it did not need at first came later. */
    struct sw_walker now = *walker;
    now.memory.window.begin = sw_regs_sp(&regs) & ~(uint64_t)(PAGE - 1);
    now.memory.window.bytes = (const uint8_t *)(uintptr_t)now.memory.window.begin;
    walk_from(&now, &scratch, &regs, chain);
    const bool is_resumed = s->resume(s->arg, id) == SW_OK;
    return is_resumed && is_clean(chain->stop) && ends_as(chain, &worker->known);
}

static int sample_all(struct sw_self_suspender *self, const struct worker *worker, DWORD id)
{
    const struct sw_suspender s = sw_self_get_suspender(self);
    struct sw_walker cached = worker->walker;
    struct chain chain;
    size_t frames = 0;
    int good = 0;
    if (sw_cache_create(NULL, 4096, &cached.cache) != SW_OK)
        abort();
    for (int i = 0; i < SAMPLES; i++) {
        const bool is_good = sample(&s, worker, i % 2 ? &cached : &worker->walker, id, &chain);
        if (!is_good && good == i)
            printf("# walk %d: %zu frames, pc %llx, %s\n", i, chain.count, (unsigned long long)chain.steps[0].pc,
                   sw_stop_name(chain.stop));
        frames += chain.count;
        good += is_good;
        Sleep((DWORD)(i % 16 == 0));
    }
    sw_cache_destroy(cached.cache);
    printf("# %zu frames in %d walks\n", frames, SAMPLES);
    row("walks of a suspended thread end in the frames that it has", good == SAMPLES);
    return good;
}

int main(void)
{
    static struct worker worker;
    struct sw_self_suspender *suspender;
    struct sw_images *images;
    struct sw_walker walker;
    DWORD id;
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_add_self(images) != SW_OK ||
        sw_self_walker(&walker, NULL, images) != SW_OK || sw_self_suspender_create(NULL, 0, 2, &suspender) != SW_OK)
        return 2;
    memory_rows();
    fault_rows();
    race_row();
    capture_row();
    stack_rows(images);
    own_walk_row(&walker);
    budget_row(&walker);
    module_rows(images);
    file_rows();
    const HANDLE thread = start_worker(&worker, images, &id);
    row("the worker knows its own frames", is_clean(worker.known.stop) && worker.known.count >= 2);
    suspend_rows(suspender, &worker, id);
    const int good = sample_all(suspender, &worker, id);
    atomic_store(&worker.done, true);
    WaitForSingleObject(thread, INFINITE);
    gone_row(suspender, thread, id);
    sw_self_suspender_destroy(suspender);
    sw_images_destroy(images);
    printf("windows: %d of %d walks as expected\n", good, SAMPLES);
    return failed != 0;
}
