// A profiler in C++ that includes the real corprof.h first: our headers declare nothing twice, and its virtual calls reach
// the slots that they mean. Ends with the number of the first line that is wrong, or 0.
#include <corprof.h>

extern "C" {
#include <snapwalk/profiler_info.h>
#include <snapwalk/sim.h>
}

#ifdef SNAPWALK_CORPROF_DECLARED
#error "declared beside the real header"
#endif

static HRESULT on_frame(FunctionID, UINT_PTR, COR_PRF_FRAME_INFO, ULONG32, BYTE[], void *count)
{
    ++*static_cast<int *>(count);
    return 0;
}

#define EXPECT(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what))                                                                                                   \
            return __LINE__ % 256;                                                                                     \
    } while (0)

int main()
{
    static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3 }; // push rbp; mov rbp, rsp; nop; pop; ret
    static const uint64_t words[] = { 0, 0 };
    static const IID info2 = { 0xcc0935cd, 0xa518, 0x487d, { 0xb0, 0xbb, 0xa9, 0x32, 0x14, 0xe6, 0x54, 0x78 } };
    struct sw_sim *sim = nullptr;
    ICorProfilerInfo2 *info = nullptr;
    struct sw_regs regs = {};
    regs.machine = SW_MACHINE_X64;
    sw_regs_set(&regs, SW_X64_RIP, 0x1004);
    sw_regs_set(&regs, SW_X64_RSP, 0x7000);
    sw_regs_set(&regs, SW_X64_RBP, 0x7000);
    EXPECT(sw_sim_create(nullptr, SW_MACHINE_X64, &sim) == SW_OK);
    EXPECT(sw_sim_bytes(sim, 0x1000, code, sizeof code) == SW_OK);
    EXPECT(sw_sim_words(sim, 0x7000, words, 2) == SW_OK);
    EXPECT(sw_sim_range(sim, SW_KIND_JIT, 0x1000, 0x1007, 42) == SW_OK);
    EXPECT(sw_sim_thread(sim, 7, &regs) == SW_OK);
    EXPECT(sw_profiler_info_create(sw_sim_engine(sim), nullptr, nullptr, &info) == SW_OK);

    void *same = nullptr;
    EXPECT(static_cast<IUnknown *>(info)->QueryInterface(info2, &same) == 0 && same == info);
    EXPECT(info->AddRef() == 1 && info->Release() == 1);
    LPCBYTE start = nullptr;
    ULONG size = 0;
    EXPECT(info->GetCodeInfo(42, &start, &size) == 0 && size == 7 && start == reinterpret_cast<LPCBYTE>(0x1000));
    DWORD mask = 0, os_id = 0;
    EXPECT(info->GetEventMask(&mask) == 0 && mask == COR_PRF_ENABLE_STACK_SNAPSHOT);
    FunctionID function = 0;
    EXPECT(info->GetFunctionFromIP(reinterpret_cast<LPCBYTE>(0x1006), &function) == 0 && function == 42);
    EXPECT(info->GetThreadInfo(7, &os_id) == 0 && os_id == 7);
    ThreadID thread = 0;
    sw_sim_run_as(sim, 7);
    EXPECT(info->GetCurrentThreadID(&thread) == 0 && thread == 7);
    EXPECT(info->ForceGC() == static_cast<HRESULT>(0x80004001));
    sw_sim_run_as(sim, 0);
    int count = 0;
    EXPECT(info->DoStackSnapshot(7, on_frame, 0, &count, nullptr, 0) == 0 && count == 1);
    sw_profiler_info_destroy(info);
    sw_sim_destroy(sim);
    return 0;
}
