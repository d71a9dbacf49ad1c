/*
 * Samples its own threads, as a profiler does. A signal interrupts each thread wherever it is. The handler finds the
 * seed (the first managed frame) and takes a snapshot from it. The "managed" code is a few bytes that the program
 * writes. All walkers share a rule cache and an analysis cache; what a handler's budget was too small for is done
 * between samples.
 */
#include <snapwalk/context.h>
#include <snapwalk/self.h>
#include <snapwalk/snapshot.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { WORKERS = 2, MANAGED = 42, SECONDS = 1, ENTRIES = 4096, ANALYSIS_BYTES = 4 << 20 };

#if defined(__aarch64__)
/* stp x29,x30,[sp,#-32]!; mov x29,sp; str x19,[sp,#16]; mov x19,x0; L: blr x19; cbnz w0,L; and back; ret */
static const uint32_t loop[] = { 0xa9be7bfd, 0x910003fd, 0xf9000bf3, 0xaa0003f3, 0xd63f0260,
                                 0x35ffffe0, 0xf9400bf3, 0xa8c27bfd, 0xd65f03c0 };
#else
/* push rbp; mov rbp,rsp; push rbx; push rax; mov rbx,rdi; L: call rbx; test eax,eax; jne L; pop rax, rbx, rbp; ret */
static const uint8_t loop[] = { 0x55, 0x48, 0x89, 0xe5, 0x53, 0x50, 0x48, 0x89, 0xfb, 0xff,
                                0xd3, 0x85, 0xc0, 0x75, 0xfa, 0x58, 0x5b, 0x5d, 0xc3 };
#endif
static uint8_t *code;

static struct worker {
    pthread_t thread;
    struct sw_walker walker;
    struct sw_engine engine;
    struct sw_scratch scratch;
    uint64_t os_id, samples, seeded, complete;
    bool seen;
} workers[WORKERS];
static struct sw_codemap *codemap;
static struct sw_images *images;
static struct sw_cache *cache;
static struct sw_analysis_cache *analysis_cache;
static struct sw_scratch scratch; /* of the thread that prepares */
static struct sw_threads *threads;
static struct sw_self_suspender *suspender_state;
static struct sw_suspender suspender;
static volatile sig_atomic_t running = 1;

static _Thread_local struct worker *own;

/* What the "managed" code calls in a loop. Where it was called once, there is a managed frame: samples may begin. */
static int still_running(void)
{
    if (__atomic_load_n(&own->os_id, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&own->os_id, sw_self_thread(), __ATOMIC_RELEASE);
    return running;
}

static HRESULT on_frame(FunctionID id, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 size, BYTE context[], void *worker)
{
    (void)ip, (void)info, (void)size, (void)context;
    ((struct worker *)worker)->seen |= id == MANAGED;
    return S_OK;
}

static void on_tick(int signal, siginfo_t *info, void *context)
{
    struct sw_regs here, seed;
    BYTE record[SW_CONTEXT_MAX_BYTES];
    (void)signal, (void)info;
    for (struct worker *w = workers; w < workers + WORKERS; w++) {
        if (w->os_id != sw_self_thread() ||
            sw_context_load(SW_CONTEXT_UCONTEXT, w->walker.machine, context, sizeof(ucontext_t), &here) != SW_OK)
            continue;
        w->samples++;
        w->seen = false;
        if (sw_walk_find_seed(&w->walker, &w->scratch, &here, &seed, NULL) != SW_OK ||
            sw_context_store(SW_CONTEXT_WIN32, &seed, record, sizeof record) != SW_OK)
            continue;
        w->seeded++;
        if (sw_snapshot(&w->engine, &w->scratch, 0, on_frame, 0, w, record, sizeof record) == S_OK && w->seen)
            w->complete++;
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    if (sw_self_walker(&w->walker, codemap, images) != SW_OK)
        return NULL;
    w->walker.cache = cache;
    w->walker.analysis_cache = analysis_cache;
    w->engine = (struct sw_engine){ .walker = &w->walker,
                                    .threads = threads,
                                    .suspender = &suspender,
                                    .runtime = SW_RUNTIME_READY,
                                    .event_mask = COR_PRF_ENABLE_STACK_SNAPSHOT };
    own = w;
    ((void (*)(int (*)(void)))(uintptr_t)code)(still_running);
    return NULL;
}

static int set_up(void)
{
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED || sw_codemap_create(NULL, &codemap) || sw_images_create(NULL, &images) ||
        sw_cache_create(NULL, ENTRIES, &cache) || sw_analysis_cache_create(NULL, ANALYSIS_BYTES, &analysis_cache) ||
        sw_threads_create(NULL, NULL, NULL, &threads) || sw_self_suspender_create(NULL, 0, WORKERS, &suspender_state))
        return 1;
    memcpy(code, loop, sizeof loop);
    __builtin___clear_cache((char *)code, (char *)code + sizeof loop);
    suspender = sw_self_get_suspender(suspender_state);
    const struct sw_range range = {
        .begin = (uintptr_t)code, .end = (uintptr_t)code + sizeof loop, .id = MANAGED, .kind = SW_KIND_JIT
    };
    return sw_codemap_add(codemap, &range) || sw_images_add_self(images);
}

int main(void)
{
    const struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
    const struct timespec tick = { 0, 1000000 };
    int bad = set_up() || sigaction(SIGPROF, &action, NULL);
    for (int i = 0; !bad && i < WORKERS; i++) {
        bad = pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0;
        while (!bad && __atomic_load_n(&workers[i].os_id, __ATOMIC_ACQUIRE) == 0)
            nanosleep(&tick, NULL);
        const struct sw_thread thread = { .id = (uint64_t)i + 1, .os_id = workers[i].os_id };
        bad = bad || sw_threads_add(threads, &thread) != SW_OK;
    }
    for (int n = 0; !bad && n < SECONDS * 500; n++, nanosleep(&tick, NULL)) {
        for (int i = 0; i < WORKERS; i++)
            pthread_kill(workers[i].thread, SIGPROF);
        (void)sw_walk_prepare(&workers[0].walker, &scratch, SW_WALK_BUDGET_UNLIMITED);
    }
    running = 0;
    for (int i = 0; !bad && i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        const struct worker *w = &workers[i];
        printf("thread %d: %llu samples, %llu seeded, %llu complete\n", i + 1, (unsigned long long)w->samples,
               (unsigned long long)w->seeded, (unsigned long long)w->complete);
        bad = w->samples == 0 || w->complete != w->samples;
    }
    return bad;
}
