/*
 * A simulated runtime in a few lines: code bytes, a stack and a thread. Then DoStackSnapshot, as a profiler under test
 * would call it. Main (JIT) calls a native function, which calls Work (JIT), which calls a runtime helper.
 */
#include <snapwalk/context.h>
#include <snapwalk/sim.h>

#include <stdio.h>

enum { MAIN = 0x10000, NATIVE = 0x20000, WORK = 0x30000, HELPER = 0x40000, START = 0x50000, STACK = 0x700000 };
enum { MAIN_ID = 1001, WORK_ID = 1002, THREAD = 7 };

/* push rbp; mov rbp,rsp; call x; pop rbp; ret: the return address of its call is 9 bytes from its start. */
static const uint8_t function[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 1, 0, 0x5d, 0xc3 };
enum { AFTER_CALL = 9 };

static HRESULT print_frame(FunctionID id, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 size, BYTE context[],
                           void *data)
{
    (void)info, (void)size, (void)context, (void)data;
    if (id == 0)
        printf("  native run    ip %#llx\n", (unsigned long long)ip);
    else
        printf("  function %-4llu ip %#llx\n", (unsigned long long)id, (unsigned long long)ip);
    return S_OK;
}

static void check(enum sw_status status)
{
    if (status != SW_OK)
        fprintf(stderr, "simulated: %s\n", sw_status_name(status));
}

static void add_function(struct sw_sim *sim, enum sw_kind kind, uint64_t begin, uint64_t id)
{
    check(sw_sim_bytes(sim, begin, function, sizeof function));
    check(sw_sim_range(sim, kind, begin, begin + sizeof function, id));
}

int main(void)
{
    /* Each frame is {caller's rbp, return address}, leaf first. The last return address is 0: the end. */
    const uint64_t stack[] = { STACK + 16, WORK + AFTER_CALL,
                               STACK + 32, NATIVE + AFTER_CALL,
                               STACK + 48, MAIN + AFTER_CALL,
                               STACK + 64, START + AFTER_CALL,
                               0,          0 };
    static struct sw_scratch scratch;
    struct sw_sim *sim;
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    BYTE seed[SW_CONTEXT_X64_BYTES];

    if (sw_sim_create(NULL, SW_MACHINE_X64, &sim) != SW_OK)
        return 1;
    add_function(sim, SW_KIND_JIT, MAIN, MAIN_ID);
    add_function(sim, SW_KIND_NATIVE, NATIVE, 0);
    add_function(sim, SW_KIND_JIT, WORK, WORK_ID);
    add_function(sim, SW_KIND_STUB, HELPER, 0);
    add_function(sim, SW_KIND_NATIVE, START, 0);
    check(sw_sim_words(sim, STACK, stack, sizeof stack / sizeof stack[0]));

    sw_regs_set(&regs, SW_X64_RIP, HELPER + 4); /* after push rbp; mov rbp,rsp */
    sw_regs_set(&regs, SW_X64_RSP, STACK);
    sw_regs_set(&regs, SW_X64_RBP, STACK);
    check(sw_sim_thread(sim, THREAD, &regs));

    printf("another thread, suspended by the engine:\n");
    HRESULT hr = sw_snapshot(sw_sim_engine(sim), &scratch, THREAD, print_frame, 0, NULL, NULL, 0);
    printf("  answer %#010x\n", (unsigned)hr);

    printf("seeded with the helper's own registers:\n");
    check(sw_context_store(SW_CONTEXT_WIN32, &regs, seed, sizeof seed));
    const HRESULT refused = sw_snapshot(sw_sim_engine(sim), &scratch, THREAD, print_frame, 0, NULL, seed, sizeof seed);
    printf("  answer %#010x, a seed would be at %#llx\n", (unsigned)refused,
           (unsigned long long)sw_regs_pc(&sw_sim_engine(sim)->refusal.nearest_seed));
    sw_sim_destroy(sim);
    return hr != S_OK || refused != CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
}
