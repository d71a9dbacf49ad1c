// A C++ file with our own corprof.h: C tables, references for IIDs.
extern "C" {
#include <snapwalk/profiler_info.h>
#include <snapwalk/sim.h>
}

#ifndef SNAPWALK_CORPROF_DECLARED
#error "not declared, and there is no real header"
#endif

int main()
{
    struct sw_sim *sim = nullptr;
    ICorProfilerInfo2 *info = nullptr;
    void *same = nullptr;
    if (sw_sim_create(nullptr, SW_MACHINE_X64, &sim) != SW_OK)
        return 1;
    if (sw_profiler_info_create(sw_sim_engine(sim), nullptr, nullptr, &info) != SW_OK)
        return 2;
    if (info->lpVtbl->QueryInterface(info, IID_ICorProfilerInfo15, &same) != S_OK || same != info)
        return 3;
    if (info->lpVtbl->DoStackSnapshot(info, 1, nullptr, COR_PRF_SNAPSHOT_DEFAULT, nullptr, nullptr, 0) == S_OK)
        return 4;
    sw_profiler_info_destroy(info);
    sw_sim_destroy(sim);
    return 0;
}
