/*
 * Stands in for the real corprof.h where a profiler in C++ is built: its include guard, its base types, its interfaces
 * as abstract classes with the same slots. Only what the check calls has its name. Slots: corprof-abi.md section 7.1.
 */
#ifndef __corprof_h__
#define __corprof_h__

#include <stdint.h>

typedef int32_t HRESULT;
typedef int BOOL;
typedef unsigned short USHORT;
typedef uint32_t DWORD, ULONG, ULONG32;
typedef unsigned char BYTE;
typedef const BYTE *LPCBYTE;
typedef uintptr_t UINT_PTR, SIZE_T, ThreadID, FunctionID, COR_PRF_FRAME_INFO;
struct GUID {
    uint32_t Data1;
    uint16_t Data2;
    uint16_t Data3;
    uint8_t Data4[8];
};
typedef GUID IID;
#define REFIID const IID &
#define __IUnknown_INTERFACE_DEFINED__

struct COR_PRF_CODE_INFO {
    UINT_PTR startAddress;
    SIZE_T size;
};
enum COR_PRF_MONITOR { COR_PRF_ENABLE_STACK_SNAPSHOT = 0x10000000 };
typedef HRESULT StackSnapshotCallback(FunctionID, UINT_PTR, COR_PRF_FRAME_INFO, ULONG32, BYTE[], void *);

#define SLOT(number) virtual HRESULT slot##number() = 0;
struct IUnknown {
    virtual HRESULT QueryInterface(REFIID riid, void **object) = 0;
    virtual ULONG AddRef() = 0;
    virtual ULONG Release() = 0;
};
struct ICorProfilerInfo : IUnknown {
    SLOT(3) SLOT(4)
    virtual HRESULT GetCodeInfo(FunctionID function, LPCBYTE *start, ULONG *size) = 0; /* 5 */
    virtual HRESULT GetEventMask(DWORD *events) = 0;                                   /* 6 */
    virtual HRESULT GetFunctionFromIP(LPCBYTE ip, FunctionID *function) = 0;           /* 7 */
    SLOT(8) SLOT(9) SLOT(10) SLOT(11)
    virtual HRESULT GetThreadInfo(ThreadID thread, DWORD *os_id) = 0; /* 12 */
    virtual HRESULT GetCurrentThreadID(ThreadID *thread) = 0;         /* 13 */
    SLOT(14) SLOT(15) SLOT(16) SLOT(17) SLOT(18) SLOT(19) SLOT(20) SLOT(21) SLOT(22) SLOT(23) SLOT(24) SLOT(25)
    SLOT(26) SLOT(27)
    virtual HRESULT ForceGC() = 0; /* 28 */
    SLOT(29) SLOT(30) SLOT(31) SLOT(32) SLOT(33) SLOT(34) SLOT(35)
};
struct ICorProfilerInfo2 : ICorProfilerInfo {
    virtual HRESULT DoStackSnapshot(ThreadID thread, StackSnapshotCallback *callback, ULONG32 flags, void *client_data,
                                    BYTE context[], ULONG32 context_size) = 0; /* 36 */
};
#undef SLOT

#endif
