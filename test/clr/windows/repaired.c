/*
 * For a profiler that knows nothing of Wine: as its library is loaded, Wine is repaired (../probe/windows/repair.c).
 */
#include <windows.h>

#include "../probe/probe.h"

BOOL WINAPI DllMain(HINSTANCE library, DWORD reason, void *reserved);
BOOL WINAPI DllMain(HINSTANCE library, DWORD reason, void *reserved)
{
    (void)library, (void)reserved;
    return reason != DLL_PROCESS_ATTACH || prepare_system();
}
