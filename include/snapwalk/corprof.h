/*
 * corprof.h, compatible: the names, values, types and COM tables of the .NET profiling interface, for C and C++.
 * A profiler's source compiles against this header or the real one.
 *
 * Beside the real headers: include <corprof.h> first (or define SNAPWALK_USE_REAL_CORPROF and include it yourself);
 * then this header declares nothing. The PAL base types, IUnknown, IClassFactory and the metadata types are left out
 * likewise where their own headers came first. On Windows windows.h and unknwn.h go before this header or behind it;
 * IUnknown and IClassFactory, which are classes there in C++, are only named here: <unknwn.h> defines them. A source
 * that never includes those may define SNAPWALK_WITHOUT_WINDOWS_H; then all is declared here, as on other systems.
 *
 * Interfaces have the plain C form in both languages: an object begins with a pointer to a table of functions,
 * `info->lpVtbl->DoStackSnapshot(info, ...)`. IIDs are constants of each source file, no library needs to define them.
 * Each interface's own slots are written once, as SW_OWN_SLOTS_<interface>; SW_SLOTS_<interface> is the whole table.
 * Both can be expanded to make tables of one's own (SLOT(Self, result, name, parameters)).
 *
 * Memory   Declares only. Threads, Signals  Not concerned.
 * Source   dotnet/runtime src/coreclr/inc/corprof.idl and corerror.xml, pal/inc/pal_mstypes.h, pal/inc/rt/palrt.h and
 *          unknwn.h (names, numbers, orders); ECMA-335 II.23.1.16 (element types). Slots up to ICorProfilerInfo15 and
 *          ICorProfilerCallback11.
 */
#ifndef SNAPWALK_CORPROF_H
#define SNAPWALK_CORPROF_H

#include <snapwalk/status.h>

#if !defined(SNAPWALK_USE_REAL_CORPROF) && !defined(__corprof_h__)
/* Set when the declarations below are ours. */
#define SNAPWALK_CORPROF_DECLARED 1

/* guiddef.h declares more beside GUID than is declared here, and needs no windows.h. */
#if defined(_WIN32) && !defined(SNAPWALK_WITHOUT_WINDOWS_H)
#define SW_COM_BESIDE_WINDOWS 1
#include <guiddef.h>
#endif

#ifdef __cplusplus
extern "C" {
#define SW_COM_ASSERT(what, text) static_assert(what, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SW_COM_ASSERT(what, text) _Static_assert(what, text)
#else
#define SW_COM_ASSERT(what, text) extern char sw_com_assert[(what) ? 1 : -1]
#endif

/* Enumerators above INT_MAX are what MIDL and every C compiler accept, but not ISO C11. */
#ifdef __GNUC__
#define SW_COM_EXTENSION __extension__
#else
#define SW_COM_EXTENSION
#endif

/* Interface methods and callbacks are __stdcall on 32-bit Windows only; elsewhere they are plain C functions. */
#if defined(_WIN32) && (defined(__i386__) || defined(_M_IX86))
#define SW_COM_CALL __stdcall
#else
#define SW_COM_CALL
#endif
#if !defined(STDMETHODCALLTYPE) && !defined(SW_COM_BESIDE_WINDOWS)
#define STDMETHODCALLTYPE SW_COM_CALL
#endif

/* Base types. A ULONG has 32 bits everywhere, a WCHAR 16. */
#if !defined(_MINWINDEF_) && !defined(_WINDEF_) && !defined(__PAL_MSTYPES_H__)
#ifdef _WIN32
typedef unsigned long DWORD, ULONG;
typedef long HRESULT, LONG;
typedef wchar_t WCHAR;
#else
typedef uint32_t DWORD, ULONG;
typedef int32_t HRESULT, LONG;
#ifdef __cplusplus
typedef char16_t WCHAR;
#else
typedef uint16_t WCHAR;
#endif
#endif
typedef unsigned char BYTE, UINT8;
typedef unsigned short USHORT, WORD;
typedef int BOOL;
typedef int32_t LONG32;
typedef uint32_t UINT, UINT32, ULONG32;
#ifdef _WIN32
typedef unsigned long long UINT64, ULONGLONG, DWORD64;
#else
typedef uint64_t UINT64, ULONGLONG, DWORD64;
#endif
typedef uintptr_t UINT_PTR, SIZE_T;
typedef void *HANDLE, *PVOID;
typedef WCHAR *LPWSTR;
typedef const WCHAR *LPCWSTR;
#ifndef TRUE
#define TRUE  1
#define FALSE 0
#endif
#endif
typedef BYTE *LPBYTE;
typedef const BYTE *LPCBYTE;

#if !defined(GUID_DEFINED) && !defined(__PAL_MSTYPES_H__) && !defined(__PALRT_H__)
#define GUID_DEFINED
typedef struct _GUID {
    uint32_t Data1;
    uint16_t Data2;
    uint16_t Data3;
    uint8_t Data4[8];
} GUID;
#endif
#if !defined(__IID_DEFINED__) && !defined(__PALRT_H__)
#define __IID_DEFINED__
typedef GUID IID, CLSID;
#endif
#if !defined(REFIID) && !defined(_REFIID_DEFINED)
#ifdef __cplusplus
typedef const GUID &REFGUID;
typedef const IID &REFIID;
#else
typedef const GUID *REFGUID, *REFIID;
#endif
#endif
typedef const GUID *LPCGUID;

/* Results. */
#ifndef SUCCEEDED
#define SUCCEEDED(hr) ((HRESULT)(hr) >= 0)
#define FAILED(hr)    ((HRESULT)(hr) < 0)
#endif
#ifndef S_OK
#define S_OK                      ((HRESULT)0x00000000u)
#define S_FALSE                   ((HRESULT)0x00000001u)
#define E_NOTIMPL                 ((HRESULT)0x80004001u)
#define E_NOINTERFACE             ((HRESULT)0x80004002u)
#define E_POINTER                 ((HRESULT)0x80004003u)
#define E_ABORT                   ((HRESULT)0x80004004u)
#define E_FAIL                    ((HRESULT)0x80004005u)
#define E_UNEXPECTED              ((HRESULT)0x8000FFFFu)
#define E_ACCESSDENIED            ((HRESULT)0x80070005u)
#define E_HANDLE                  ((HRESULT)0x80070006u)
#define E_OUTOFMEMORY             ((HRESULT)0x8007000Eu)
#define E_INVALIDARG              ((HRESULT)0x80070057u)
#define CLASS_E_NOAGGREGATION     ((HRESULT)0x80040110u)
#define CLASS_E_CLASSNOTAVAILABLE ((HRESULT)0x80040111u)
#endif
#ifndef CORPROF_E_FUNCTION_NOT_COMPILED
#define CORPROF_E_FUNCTION_NOT_COMPILED                ((HRESULT)0x80131350u)
#define CORPROF_E_DATAINCOMPLETE                       ((HRESULT)0x80131351u)
#define CORPROF_E_FUNCTION_NOT_IL                      ((HRESULT)0x80131354u)
#define CORPROF_E_NOT_MANAGED_THREAD                   ((HRESULT)0x80131355u)
#define CORPROF_E_CALL_ONLY_FROM_INIT                  ((HRESULT)0x80131356u)
#define CORPROF_E_NOT_YET_AVAILABLE                    ((HRESULT)0x8013135Bu)
#define CORPROF_E_TYPE_IS_PARAMETERIZED                ((HRESULT)0x8013135Cu)
#define CORPROF_E_FUNCTION_IS_PARAMETERIZED            ((HRESULT)0x8013135Du)
#define CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD     ((HRESULT)0x8013135Eu)
#define CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX          ((HRESULT)0x8013135Fu)
#define CORPROF_E_STACKSNAPSHOT_UNSAFE                 ((HRESULT)0x80131360u)
#define CORPROF_E_STACKSNAPSHOT_ABORTED                ((HRESULT)0x80131361u)
#define CORPROF_E_LITERALS_HAVE_NO_ADDRESS             ((HRESULT)0x80131362u)
#define CORPROF_E_UNSUPPORTED_CALL_SEQUENCE            ((HRESULT)0x80131363u)
#define CORPROF_E_ASYNCHRONOUS_UNSAFE                  ((HRESULT)0x80131364u)
#define CORPROF_E_CLASSID_IS_ARRAY                     ((HRESULT)0x80131365u)
#define CORPROF_E_CLASSID_IS_COMPOSITE                 ((HRESULT)0x80131366u)
#define CORPROF_E_PROFILER_DETACHING                   ((HRESULT)0x80131367u)
#define CORPROF_E_PROFILER_NOT_ATTACHABLE              ((HRESULT)0x80131368u)
#define CORPROF_E_UNRECOGNIZED_PIPE_MSG_FORMAT         ((HRESULT)0x80131369u)
#define CORPROF_E_PROFILER_ALREADY_ACTIVE              ((HRESULT)0x8013136Au)
#define CORPROF_E_PROFILEE_INCOMPATIBLE_WITH_TRIGGER   ((HRESULT)0x8013136Bu)
#define CORPROF_E_IPC_FAILED                           ((HRESULT)0x8013136Cu)
#define CORPROF_E_PROFILEE_PROCESS_NOT_FOUND           ((HRESULT)0x8013136Du)
#define CORPROF_E_CALLBACK3_REQUIRED                   ((HRESULT)0x8013136Eu)
#define CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER   ((HRESULT)0x8013136Fu)
#define CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT ((HRESULT)0x80131370u)
#define CORPROF_E_RUNTIME_UNINITIALIZED                ((HRESULT)0x80131371u)
#define CORPROF_E_IMMUTABLE_FLAGS_SET                  ((HRESULT)0x80131372u)
#define CORPROF_E_PROFILER_NOT_YET_INITIALIZED         ((HRESULT)0x80131373u)
#define CORPROF_E_INCONSISTENT_WITH_FLAGS              ((HRESULT)0x80131374u)
#define CORPROF_E_PROFILER_CANCEL_ACTIVATION           ((HRESULT)0x80131375u)
#define CORPROF_E_CONCURRENT_GC_NOT_PROFILABLE         ((HRESULT)0x80131376u)
#define CORPROF_E_DEBUGGING_DISABLED                   ((HRESULT)0x80131378u)
#define CORPROF_E_TIMEOUT_WAITING_FOR_CONCURRENT_GC    ((HRESULT)0x80131379u)
#define CORPROF_E_MODULE_IS_DYNAMIC                    ((HRESULT)0x8013137Au)
#define CORPROF_E_CALLBACK4_REQUIRED                   ((HRESULT)0x8013137Bu)
#define CORPROF_E_REJIT_NOT_ENABLED                    ((HRESULT)0x8013137Cu)
#define CORPROF_E_FUNCTION_IS_COLLECTIBLE              ((HRESULT)0x8013137Eu)
#define CORPROF_E_CALLBACK6_REQUIRED                   ((HRESULT)0x80131380u)
#define CORPROF_E_CALLBACK7_REQUIRED                   ((HRESULT)0x80131382u)
#define CORPROF_E_REJIT_INLINING_DISABLED              ((HRESULT)0x80131383u)
#define CORDIAGIPC_E_BAD_ENCODING                      ((HRESULT)0x80131384u)
#define CORDIAGIPC_E_UNKNOWN_COMMAND                   ((HRESULT)0x80131385u)
#define CORDIAGIPC_E_UNKNOWN_MAGIC                     ((HRESULT)0x80131386u)
#define CORDIAGIPC_E_UNKNOWN_ERROR                     ((HRESULT)0x80131387u)
#define CORPROF_E_SUSPENSION_IN_PROGRESS               ((HRESULT)0x80131388u)
#define CORPROF_E_NOT_GC_OBJECT                        ((HRESULT)0x80131389u)
#define CORPROF_E_MODULE_IS_ENC                        ((HRESULT)0x8013138Au)
#endif

/* Metadata. */
typedef ULONG32 mdToken, mdModule, mdTypeDef, mdMethodDef, mdFieldDef;
typedef BYTE COR_SIGNATURE;
typedef const COR_SIGNATURE *PCCOR_SIGNATURE;
#if !defined(__CORHDR_H__) && !defined(_CORHDR_H_)
typedef enum {
    ELEMENT_TYPE_END = 0x00,
    ELEMENT_TYPE_VOID = 0x01,
    ELEMENT_TYPE_BOOLEAN = 0x02,
    ELEMENT_TYPE_CHAR = 0x03,
    ELEMENT_TYPE_I1 = 0x04,
    ELEMENT_TYPE_U1 = 0x05,
    ELEMENT_TYPE_I2 = 0x06,
    ELEMENT_TYPE_U2 = 0x07,
    ELEMENT_TYPE_I4 = 0x08,
    ELEMENT_TYPE_U4 = 0x09,
    ELEMENT_TYPE_I8 = 0x0a,
    ELEMENT_TYPE_U8 = 0x0b,
    ELEMENT_TYPE_R4 = 0x0c,
    ELEMENT_TYPE_R8 = 0x0d,
    ELEMENT_TYPE_STRING = 0x0e,
    ELEMENT_TYPE_PTR = 0x0f,
    ELEMENT_TYPE_BYREF = 0x10,
    ELEMENT_TYPE_VALUETYPE = 0x11,
    ELEMENT_TYPE_CLASS = 0x12,
    ELEMENT_TYPE_VAR = 0x13,
    ELEMENT_TYPE_ARRAY = 0x14,
    ELEMENT_TYPE_GENERICINST = 0x15,
    ELEMENT_TYPE_TYPEDBYREF = 0x16,
    ELEMENT_TYPE_I = 0x18,
    ELEMENT_TYPE_U = 0x19,
    ELEMENT_TYPE_FNPTR = 0x1b,
    ELEMENT_TYPE_OBJECT = 0x1c,
    ELEMENT_TYPE_SZARRAY = 0x1d,
    ELEMENT_TYPE_MVAR = 0x1e,
    ELEMENT_TYPE_CMOD_REQD = 0x1f,
    ELEMENT_TYPE_CMOD_OPT = 0x20,
    ELEMENT_TYPE_INTERNAL = 0x21,
    ELEMENT_TYPE_MODIFIER = 0x40,
    ELEMENT_TYPE_SENTINEL = 0x41,
    ELEMENT_TYPE_PINNED = 0x45
} CorElementType;

typedef struct {
    DWORD dwOSPlatformId, dwOSMajorVersion, dwOSMinorVersion;
} OSINFO;

typedef struct {
    USHORT usMajorVersion, usMinorVersion, usBuildNumber, usRevisionNumber;
    LPWSTR szLocale;
    ULONG cbLocale;
    DWORD *rProcessor;
    ULONG ulProcessor;
    OSINFO *rOS;
    ULONG ulOS;
} ASSEMBLYMETADATA;
#endif

#ifndef _COR_FIELD_OFFSET_
#define _COR_FIELD_OFFSET_
typedef struct {
    mdFieldDef ridOfField;
    ULONG ulOffset;
} COR_FIELD_OFFSET;
#endif

#ifndef _COR_IL_MAP
#define _COR_IL_MAP
typedef struct {
    ULONG32 oldOffset;
    ULONG32 newOffset;
    BOOL fAccurate;
} COR_IL_MAP;
#endif

#ifndef _COR_DEBUG_IL_TO_NATIVE_MAP_
#define _COR_DEBUG_IL_TO_NATIVE_MAP_
typedef enum { NO_MAPPING = -1, PROLOG = -2, EPILOG = -3 } CorDebugIlToNativeMappingTypes;

typedef struct {
    ULONG32 ilOffset;
    ULONG32 nativeStartOffset;
    ULONG32 nativeEndOffset;
} COR_DEBUG_IL_TO_NATIVE_MAP;
#endif

/* Identifiers: opaque numbers as wide as a pointer, but for EVENTPIPE_SESSION. */
typedef UINT_PTR ProcessID, AssemblyID, AppDomainID, ModuleID, ClassID, ThreadID, ContextID, FunctionID, ObjectID,
    GCHandleID, ReJITID, COR_PRF_ELT_INFO, COR_PRF_FRAME_INFO, EVENTPIPE_PROVIDER, EVENTPIPE_EVENT;
typedef UINT64 EVENTPIPE_SESSION;
typedef void **ObjectHandleID;
typedef union {
    FunctionID functionID;
    UINT_PTR clientID;
} FunctionIDOrClientID;

/* Enumerations. */
typedef enum {
    COR_PRF_SNAPSHOT_DEFAULT = 0,
    COR_PRF_SNAPSHOT_REGISTER_CONTEXT = 1,
    COR_PRF_SNAPSHOT_X86_OPTIMIZED = 2
} COR_PRF_SNAPSHOT_INFO;

typedef enum {
    COR_PRF_FIELD_NOT_A_STATIC = 0,
    COR_PRF_FIELD_APP_DOMAIN_STATIC = 1,
    COR_PRF_FIELD_THREAD_STATIC = 2,
    COR_PRF_FIELD_CONTEXT_STATIC = 4,
    COR_PRF_FIELD_RVA_STATIC = 8
} COR_PRF_STATIC_TYPE;

SW_COM_EXTENSION typedef enum {
    COR_PRF_MONITOR_NONE = 0x00000000,
    COR_PRF_MONITOR_FUNCTION_UNLOADS = 0x00000001,
    COR_PRF_MONITOR_CLASS_LOADS = 0x00000002,
    COR_PRF_MONITOR_MODULE_LOADS = 0x00000004,
    COR_PRF_MONITOR_ASSEMBLY_LOADS = 0x00000008,
    COR_PRF_MONITOR_APPDOMAIN_LOADS = 0x00000010,
    COR_PRF_MONITOR_JIT_COMPILATION = 0x00000020,
    COR_PRF_MONITOR_EXCEPTIONS = 0x00000040,
    COR_PRF_MONITOR_GC = 0x00000080,
    COR_PRF_MONITOR_OBJECT_ALLOCATED = 0x00000100,
    COR_PRF_MONITOR_THREADS = 0x00000200,
    COR_PRF_MONITOR_REMOTING = 0x00000400,
    COR_PRF_MONITOR_CODE_TRANSITIONS = 0x00000800,
    COR_PRF_MONITOR_ENTERLEAVE = 0x00001000,
    COR_PRF_MONITOR_CCW = 0x00002000,
    COR_PRF_MONITOR_REMOTING_COOKIE = 0x00004400,
    COR_PRF_MONITOR_REMOTING_ASYNC = 0x00008400,
    COR_PRF_MONITOR_SUSPENDS = 0x00010000,
    COR_PRF_MONITOR_CACHE_SEARCHES = 0x00020000,
    COR_PRF_ENABLE_REJIT = 0x00040000,
    COR_PRF_ENABLE_INPROC_DEBUGGING = 0x00080000,
    COR_PRF_ENABLE_JIT_MAPS = 0x00100000,
    COR_PRF_DISABLE_INLINING = 0x00200000,
    COR_PRF_DISABLE_OPTIMIZATIONS = 0x00400000,
    COR_PRF_ENABLE_OBJECT_ALLOCATED = 0x00800000,
    COR_PRF_MONITOR_CLR_EXCEPTIONS = 0x01000000,
    COR_PRF_MONITOR_ALL = 0x0107FFFF,
    COR_PRF_ENABLE_FUNCTION_ARGS = 0x02000000,
    COR_PRF_ENABLE_FUNCTION_RETVAL = 0x04000000,
    COR_PRF_ENABLE_FRAME_INFO = 0x08000000,
    COR_PRF_ENABLE_STACK_SNAPSHOT = 0x10000000,
    COR_PRF_USE_PROFILE_IMAGES = 0x20000000,
    COR_PRF_DISABLE_TRANSPARENCY_CHECKS_UNDER_FULL_TRUST = 0x40000000,
    COR_PRF_DISABLE_ALL_NGEN_IMAGES = 0x80000000u,
    COR_PRF_ALL = 0x8FFFFFFFu,
    COR_PRF_REQUIRE_PROFILE_IMAGE = 0x20001800,
    COR_PRF_ALLOWABLE_AFTER_ATTACH = 0x100502FE,
    COR_PRF_ALLOWABLE_NOTIFICATION_PROFILER = 0xB1E32B7Fu,
    COR_PRF_MONITOR_IMMUTABLE = 0xEEF8CC00u
} COR_PRF_MONITOR;

typedef enum {
    COR_PRF_HIGH_MONITOR_NONE = 0x00000000,
    COR_PRF_HIGH_ADD_ASSEMBLY_REFERENCES = 0x00000001,
    COR_PRF_HIGH_IN_MEMORY_SYMBOLS_UPDATED = 0x00000002,
    COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS = 0x00000004,
    COR_PRF_HIGH_DISABLE_TIERED_COMPILATION = 0x00000008,
    COR_PRF_HIGH_BASIC_GC = 0x00000010,
    COR_PRF_HIGH_MONITOR_GC_MOVED_OBJECTS = 0x00000020,
    COR_PRF_HIGH_REQUIRE_PROFILE_IMAGE = 0x00000000,
    COR_PRF_HIGH_MONITOR_LARGEOBJECT_ALLOCATED = 0x00000040,
    COR_PRF_HIGH_MONITOR_EVENT_PIPE = 0x00000080,
    COR_PRF_HIGH_MONITOR_PINNEDOBJECT_ALLOCATED = 0x00000100,
    COR_PRF_HIGH_ALLOWABLE_AFTER_ATTACH = 0x000000F6,
    COR_PRF_HIGH_ALLOWABLE_NOTIFICATION_PROFILER = 0x000000FE,
    COR_PRF_HIGH_MONITOR_IMMUTABLE = 0x00000008
} COR_PRF_HIGH_MONITOR;

SW_COM_EXTENSION typedef enum {
    PROFILER_PARENT_UNKNOWN = 0xFFFFFFFDu,
    PROFILER_GLOBAL_CLASS = 0xFFFFFFFEu,
    PROFILER_GLOBAL_MODULE = 0xFFFFFFFFu
} COR_PRF_MISC;

typedef enum { COR_PRF_CACHED_FUNCTION_FOUND = 0, COR_PRF_CACHED_FUNCTION_NOT_FOUND = 1 } COR_PRF_JIT_CACHE;

typedef enum { COR_PRF_TRANSITION_CALL = 0, COR_PRF_TRANSITION_RETURN = 1 } COR_PRF_TRANSITION_REASON;

typedef enum {
    COR_PRF_SUSPEND_OTHER = 0,
    COR_PRF_SUSPEND_FOR_GC = 1,
    COR_PRF_SUSPEND_FOR_APPDOMAIN_SHUTDOWN = 2,
    COR_PRF_SUSPEND_FOR_CODE_PITCHING = 3,
    COR_PRF_SUSPEND_FOR_SHUTDOWN = 4,
    COR_PRF_SUSPEND_FOR_INPROC_DEBUGGER = 6,
    COR_PRF_SUSPEND_FOR_GC_PREP = 7,
    COR_PRF_SUSPEND_FOR_REJIT = 8,
    COR_PRF_SUSPEND_FOR_PROFILER = 9
} COR_PRF_SUSPEND_REASON;

typedef enum { COR_PRF_DESKTOP_CLR = 1, COR_PRF_CORE_CLR = 2 } COR_PRF_RUNTIME_TYPE;

typedef enum { COR_PRF_REJIT_BLOCK_INLINING = 1, COR_PRF_REJIT_INLINING_CALLBACKS = 2 } COR_PRF_REJIT_FLAGS;

typedef enum {
    COR_PRF_EVENTPIPE_OBJECT = 1,
    COR_PRF_EVENTPIPE_BOOLEAN = 3,
    COR_PRF_EVENTPIPE_CHAR = 4,
    COR_PRF_EVENTPIPE_SBYTE = 5,
    COR_PRF_EVENTPIPE_BYTE = 6,
    COR_PRF_EVENTPIPE_INT16 = 7,
    COR_PRF_EVENTPIPE_UINT16 = 8,
    COR_PRF_EVENTPIPE_INT32 = 9,
    COR_PRF_EVENTPIPE_UINT32 = 10,
    COR_PRF_EVENTPIPE_INT64 = 11,
    COR_PRF_EVENTPIPE_UINT64 = 12,
    COR_PRF_EVENTPIPE_SINGLE = 13,
    COR_PRF_EVENTPIPE_DOUBLE = 14,
    COR_PRF_EVENTPIPE_DECIMAL = 15,
    COR_PRF_EVENTPIPE_DATETIME = 16,
    COR_PRF_EVENTPIPE_GUID = 17,
    COR_PRF_EVENTPIPE_STRING = 18,
    COR_PRF_EVENTPIPE_ARRAY = 19
} COR_PRF_EVENTPIPE_PARAM_TYPE;

typedef enum {
    COR_PRF_EVENTPIPE_LOGALWAYS = 0,
    COR_PRF_EVENTPIPE_CRITICAL = 1,
    COR_PRF_EVENTPIPE_ERROR = 2,
    COR_PRF_EVENTPIPE_WARNING = 3,
    COR_PRF_EVENTPIPE_INFORMATIONAL = 4,
    COR_PRF_EVENTPIPE_VERBOSE = 5
} COR_PRF_EVENTPIPE_LEVEL;

typedef enum {
    COR_PRF_HANDLE_TYPE_WEAK = 1,
    COR_PRF_HANDLE_TYPE_STRONG = 2,
    COR_PRF_HANDLE_TYPE_PINNED = 3
} COR_PRF_HANDLE_TYPE;

typedef enum {
    COR_PRF_GC_ROOT_STACK = 1,
    COR_PRF_GC_ROOT_FINALIZER = 2,
    COR_PRF_GC_ROOT_HANDLE = 3,
    COR_PRF_GC_ROOT_OTHER = 0
} COR_PRF_GC_ROOT_KIND;

typedef enum {
    COR_PRF_GC_ROOT_PINNING = 1,
    COR_PRF_GC_ROOT_WEAKREF = 2,
    COR_PRF_GC_ROOT_INTERIOR = 4,
    COR_PRF_GC_ROOT_REFCOUNTED = 8
} COR_PRF_GC_ROOT_FLAGS;

typedef enum { COR_PRF_FINALIZER_CRITICAL = 1 } COR_PRF_FINALIZER_FLAGS;

typedef enum {
    COR_PRF_GC_GEN_0 = 0,
    COR_PRF_GC_GEN_1 = 1,
    COR_PRF_GC_GEN_2 = 2,
    COR_PRF_GC_LARGE_OBJECT_HEAP = 3,
    COR_PRF_GC_PINNED_OBJECT_HEAP = 4
} COR_PRF_GC_GENERATION;

typedef enum {
    COR_PRF_CLAUSE_NONE = 0,
    COR_PRF_CLAUSE_FILTER = 1,
    COR_PRF_CLAUSE_CATCH = 2,
    COR_PRF_CLAUSE_FINALLY = 3
} COR_PRF_CLAUSE_TYPE;

typedef enum { COR_PRF_GC_INDUCED = 1, COR_PRF_GC_OTHER = 0 } COR_PRF_GC_REASON;

typedef enum {
    COR_PRF_MODULE_DISK = 1,
    COR_PRF_MODULE_NGEN = 2,
    COR_PRF_MODULE_DYNAMIC = 4,
    COR_PRF_MODULE_COLLECTIBLE = 8,
    COR_PRF_MODULE_RESOURCE = 16,
    COR_PRF_MODULE_FLAT_LAYOUT = 32,
    COR_PRF_MODULE_WINDOWS_RUNTIME = 64
} COR_PRF_MODULE_FLAGS;

typedef enum {
    COR_PRF_CODEGEN_DISABLE_INLINING = 1,
    COR_PRF_CODEGEN_DISABLE_ALL_OPTIMIZATIONS = 2,
    COR_PRF_CODEGEN_DEBUG_INFO = 3
} COR_PRF_CODEGEN_FLAGS;

/* Structures. */
typedef struct {
    UINT_PTR startAddress;
    SIZE_T size;
} COR_PRF_CODE_INFO;

typedef struct {
    FunctionID functionId;
    ReJITID reJitId;
} COR_PRF_FUNCTION;

typedef struct {
    ModuleID moduleId;
    mdMethodDef methodId;
} COR_PRF_METHOD;

typedef struct {
    UINT_PTR startAddress;
    ULONG length;
} COR_PRF_FUNCTION_ARGUMENT_RANGE;

typedef struct {
    ULONG numRanges;
    ULONG totalArgumentSize;
    COR_PRF_FUNCTION_ARGUMENT_RANGE ranges[1];
} COR_PRF_FUNCTION_ARGUMENT_INFO;

typedef struct {
    COR_PRF_GC_GENERATION generation;
    ObjectID rangeStart;
    UINT_PTR rangeLength;
    UINT_PTR rangeLengthReserved;
} COR_PRF_GC_GENERATION_RANGE;

typedef struct {
    ObjectID rangeStart;
    UINT_PTR rangeLength;
    UINT_PTR rangeLengthReserved;
} COR_PRF_NONGC_HEAP_RANGE;

typedef struct {
    COR_PRF_CLAUSE_TYPE clauseType;
    UINT_PTR programCounter;
    UINT_PTR framePointer;
    UINT_PTR shadowStackPointer;
} COR_PRF_EX_CLAUSE_INFO;

typedef struct {
    void *pbPublicKeyOrToken;
    ULONG cbPublicKeyOrToken;
    LPCWSTR szName;
    ASSEMBLYMETADATA *pMetaData;
    void *pbHashValue;
    ULONG cbHashValue;
    DWORD dwAssemblyRefFlags;
} COR_PRF_ASSEMBLY_REFERENCE_INFO;

typedef struct {
    const WCHAR *providerName;
    UINT64 keywords;
    UINT32 loggingLevel;
    const WCHAR *filterData;
} COR_PRF_EVENTPIPE_PROVIDER_CONFIG;

typedef struct {
    UINT32 type;
    UINT32 elementType;
    const WCHAR *name;
} COR_PRF_EVENTPIPE_PARAM_DESC;

typedef struct {
    UINT64 ptr;
    UINT32 size;
    UINT32 reserved;
} COR_PRF_EVENT_DATA;

typedef struct {
    UINT64 Ptr;
    UINT32 Size;
    UINT32 Type;
} COR_PRF_FILTER_DATA;

/* Functions that a profiler hands in. */
typedef HRESULT SW_COM_CALL StackSnapshotCallback(FunctionID funcId, UINT_PTR ip, COR_PRF_FRAME_INFO frameInfo,
                                                  ULONG32 contextSize, BYTE context[], void *clientData);
typedef BOOL ObjectReferenceCallback(ObjectID root, ObjectID *reference, void *clientData);
typedef BOOL (*ObjectCallback)(ObjectID object, void *callbackState);
typedef UINT_PTR SW_COM_CALL FunctionIDMapper(FunctionID funcId, BOOL *pbHookFunction);
typedef UINT_PTR SW_COM_CALL FunctionIDMapper2(FunctionID funcId, void *clientData, BOOL *pbHookFunction);
typedef void FunctionEnter(FunctionID funcID);
typedef void FunctionLeave(FunctionID funcID);
typedef void FunctionTailcall(FunctionID funcID);
typedef void FunctionEnter2(FunctionID funcId, UINT_PTR clientData, COR_PRF_FRAME_INFO func,
                            COR_PRF_FUNCTION_ARGUMENT_INFO *argumentInfo);
typedef void FunctionLeave2(FunctionID funcId, UINT_PTR clientData, COR_PRF_FRAME_INFO func,
                            COR_PRF_FUNCTION_ARGUMENT_RANGE *retvalRange);
typedef void FunctionTailcall2(FunctionID funcId, UINT_PTR clientData, COR_PRF_FRAME_INFO func);
typedef void FunctionEnter3(FunctionIDOrClientID functionIDOrClientID);
typedef void FunctionLeave3(FunctionIDOrClientID functionIDOrClientID);
typedef void FunctionTailcall3(FunctionIDOrClientID functionIDOrClientID);
typedef void FunctionEnter3WithInfo(FunctionIDOrClientID functionIDOrClientID, COR_PRF_ELT_INFO eltInfo);
typedef void FunctionLeave3WithInfo(FunctionIDOrClientID functionIDOrClientID, COR_PRF_ELT_INFO eltInfo);
typedef void FunctionTailcall3WithInfo(FunctionIDOrClientID functionIDOrClientID, COR_PRF_ELT_INFO eltInfo);
typedef void EventPipeProviderCallback(const UINT8 *source_id, UINT32 is_enabled, UINT8 level,
                                       UINT64 match_any_keywords, UINT64 match_all_keywords,
                                       COR_PRF_FILTER_DATA *filter_data, void *callback_data);

/* How the lists of slots below become tables. The count is the length of the whole table, IUnknown included. */
#define SW_COM_SLOT(Self, result, name, parameters) result(SW_COM_CALL *name) parameters;
#define SW_COM_INTERFACE(Name, slots)                                                                                  \
    typedef struct Name##Vtbl {                                                                                        \
        SW_SLOTS_##Name(SW_COM_SLOT, Name)                                                                             \
    } Name##Vtbl;                                                                                                      \
    struct Name {                                                                                                      \
        const Name##Vtbl *lpVtbl;                                                                                      \
    };                                                                                                                 \
    SW_COM_ASSERT(sizeof(Name##Vtbl) == (slots) * sizeof(void *), "slots of " #Name)

typedef struct ICorProfilerObjectEnum ICorProfilerObjectEnum;
typedef struct ICorProfilerFunctionEnum ICorProfilerFunctionEnum;
typedef struct ICorProfilerModuleEnum ICorProfilerModuleEnum;
typedef struct IMethodMalloc IMethodMalloc;
typedef struct ICorProfilerFunctionControl ICorProfilerFunctionControl;
typedef struct ICorProfilerMethodEnum ICorProfilerMethodEnum;
typedef struct ICorProfilerThreadEnum ICorProfilerThreadEnum;
typedef struct ICorProfilerAssemblyReferenceProvider ICorProfilerAssemblyReferenceProvider;
typedef struct ICorProfilerInfo ICorProfilerInfo;
typedef struct ICorProfilerInfo2 ICorProfilerInfo2;
typedef struct ICorProfilerInfo3 ICorProfilerInfo3;
typedef struct ICorProfilerInfo4 ICorProfilerInfo4;
typedef struct ICorProfilerInfo5 ICorProfilerInfo5;
typedef struct ICorProfilerInfo6 ICorProfilerInfo6;
typedef struct ICorProfilerInfo7 ICorProfilerInfo7;
typedef struct ICorProfilerInfo8 ICorProfilerInfo8;
typedef struct ICorProfilerInfo9 ICorProfilerInfo9;
typedef struct ICorProfilerInfo10 ICorProfilerInfo10;
typedef struct ICorProfilerInfo11 ICorProfilerInfo11;
typedef struct ICorProfilerInfo12 ICorProfilerInfo12;
typedef struct ICorProfilerInfo13 ICorProfilerInfo13;
typedef struct ICorProfilerInfo14 ICorProfilerInfo14;
typedef struct ICorProfilerInfo15 ICorProfilerInfo15;
typedef struct ICorProfilerCallback ICorProfilerCallback;
typedef struct ICorProfilerCallback2 ICorProfilerCallback2;
typedef struct ICorProfilerCallback3 ICorProfilerCallback3;
typedef struct ICorProfilerCallback4 ICorProfilerCallback4;
typedef struct ICorProfilerCallback5 ICorProfilerCallback5;
typedef struct ICorProfilerCallback6 ICorProfilerCallback6;
typedef struct ICorProfilerCallback7 ICorProfilerCallback7;
typedef struct ICorProfilerCallback8 ICorProfilerCallback8;
typedef struct ICorProfilerCallback9 ICorProfilerCallback9;
typedef struct ICorProfilerCallback10 ICorProfilerCallback10;
typedef struct ICorProfilerCallback11 ICorProfilerCallback11;

/* slots 0 to 2 */
#define SW_SLOTS_IUnknown(SLOT, Self)                                                                                  \
    SLOT(Self, HRESULT, QueryInterface, (Self * This, REFIID riid, void **ppvObject))                                  \
    SLOT(Self, ULONG, AddRef, (Self * This))                                                                           \
    SLOT(Self, ULONG, Release, (Self * This))
typedef struct IUnknown IUnknown;
#if !defined(__IUnknown_INTERFACE_DEFINED__) && !defined(SW_COM_BESIDE_WINDOWS)
#define __IUnknown_INTERFACE_DEFINED__
SW_COM_INTERFACE(IUnknown, 3);
#define SW_COM_IID_IUNKNOWN 1
#endif

typedef struct IClassFactory IClassFactory;
#if !defined(__IClassFactory_INTERFACE_DEFINED__) && !defined(SW_COM_BESIDE_WINDOWS)
#define __IClassFactory_INTERFACE_DEFINED__
/* slots 3 and 4 */
#define SW_OWN_SLOTS_IClassFactory(SLOT, Self)                                                                         \
    SLOT(Self, HRESULT, CreateInstance, (Self * This, IUnknown * pUnkOuter, REFIID riid, void **ppvObject))            \
    SLOT(Self, HRESULT, LockServer, (Self * This, BOOL fLock))
#define SW_SLOTS_IClassFactory(SLOT, Self) SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_IClassFactory(SLOT, Self)
SW_COM_INTERFACE(IClassFactory, 5);
#define SW_COM_IID_ICLASSFACTORY 1
#endif

/*
 * Enumerators and helpers.
 */
/* slots 3 to 7 */
#define SW_OWN_SLOTS_ICorProfilerObjectEnum(SLOT, Self)                                                                \
    SLOT(Self, HRESULT, Skip, (Self * This, ULONG celt))                                                               \
    SLOT(Self, HRESULT, Reset, (Self * This))                                                                          \
    SLOT(Self, HRESULT, Clone, (Self * This, ICorProfilerObjectEnum * *ppEnum))                                        \
    SLOT(Self, HRESULT, GetCount, (Self * This, ULONG * pcelt))                                                        \
    SLOT(Self, HRESULT, Next, (Self * This, ULONG celt, ObjectID objects[], ULONG * pceltFetched))
#define SW_SLOTS_ICorProfilerObjectEnum(SLOT, Self)                                                                    \
    SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerObjectEnum(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerObjectEnum, 8);

/* slots 3 to 7 */
#define SW_OWN_SLOTS_ICorProfilerFunctionEnum(SLOT, Self)                                                              \
    SLOT(Self, HRESULT, Skip, (Self * This, ULONG celt))                                                               \
    SLOT(Self, HRESULT, Reset, (Self * This))                                                                          \
    SLOT(Self, HRESULT, Clone, (Self * This, ICorProfilerFunctionEnum * *ppEnum))                                      \
    SLOT(Self, HRESULT, GetCount, (Self * This, ULONG * pcelt))                                                        \
    SLOT(Self, HRESULT, Next, (Self * This, ULONG celt, COR_PRF_FUNCTION ids[], ULONG * pceltFetched))
#define SW_SLOTS_ICorProfilerFunctionEnum(SLOT, Self)                                                                  \
    SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerFunctionEnum(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerFunctionEnum, 8);

/* slots 3 to 7 */
#define SW_OWN_SLOTS_ICorProfilerModuleEnum(SLOT, Self)                                                                \
    SLOT(Self, HRESULT, Skip, (Self * This, ULONG celt))                                                               \
    SLOT(Self, HRESULT, Reset, (Self * This))                                                                          \
    SLOT(Self, HRESULT, Clone, (Self * This, ICorProfilerModuleEnum * *ppEnum))                                        \
    SLOT(Self, HRESULT, GetCount, (Self * This, ULONG * pcelt))                                                        \
    SLOT(Self, HRESULT, Next, (Self * This, ULONG celt, ModuleID ids[], ULONG * pceltFetched))
#define SW_SLOTS_ICorProfilerModuleEnum(SLOT, Self)                                                                    \
    SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerModuleEnum(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerModuleEnum, 8);

/* slot 3 */
#define SW_OWN_SLOTS_IMethodMalloc(SLOT, Self) SLOT(Self, PVOID, Alloc, (Self * This, ULONG cb))
#define SW_SLOTS_IMethodMalloc(SLOT, Self)     SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_IMethodMalloc(SLOT, Self)
SW_COM_INTERFACE(IMethodMalloc, 4);

/* slots 3 to 5 */
#define SW_OWN_SLOTS_ICorProfilerFunctionControl(SLOT, Self)                                                           \
    SLOT(Self, HRESULT, SetCodegenFlags, (Self * This, DWORD flags))                                                   \
    SLOT(Self, HRESULT, SetILFunctionBody, (Self * This, ULONG cbNewILMethodHeader, LPCBYTE pbNewILMethodHeader))      \
    SLOT(Self, HRESULT, SetILInstrumentedCodeMap, (Self * This, ULONG cILMapEntries, COR_IL_MAP rgILMapEntries[]))
#define SW_SLOTS_ICorProfilerFunctionControl(SLOT, Self)                                                               \
    SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerFunctionControl(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerFunctionControl, 6);

/* slots 3 to 7 */
#define SW_OWN_SLOTS_ICorProfilerMethodEnum(SLOT, Self)                                                                \
    SLOT(Self, HRESULT, Skip, (Self * This, ULONG celt))                                                               \
    SLOT(Self, HRESULT, Reset, (Self * This))                                                                          \
    SLOT(Self, HRESULT, Clone, (Self * This, ICorProfilerMethodEnum * *ppEnum))                                        \
    SLOT(Self, HRESULT, GetCount, (Self * This, ULONG * pcelt))                                                        \
    SLOT(Self, HRESULT, Next, (Self * This, ULONG celt, COR_PRF_METHOD elements[], ULONG * pceltFetched))
#define SW_SLOTS_ICorProfilerMethodEnum(SLOT, Self)                                                                    \
    SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerMethodEnum(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerMethodEnum, 8);

/* slots 3 to 7 */
#define SW_OWN_SLOTS_ICorProfilerThreadEnum(SLOT, Self)                                                                \
    SLOT(Self, HRESULT, Skip, (Self * This, ULONG celt))                                                               \
    SLOT(Self, HRESULT, Reset, (Self * This))                                                                          \
    SLOT(Self, HRESULT, Clone, (Self * This, ICorProfilerThreadEnum * *ppEnum))                                        \
    SLOT(Self, HRESULT, GetCount, (Self * This, ULONG * pcelt))                                                        \
    SLOT(Self, HRESULT, Next, (Self * This, ULONG celt, ThreadID ids[], ULONG * pceltFetched))
#define SW_SLOTS_ICorProfilerThreadEnum(SLOT, Self)                                                                    \
    SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerThreadEnum(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerThreadEnum, 8);

/* slot 3 */
#define SW_OWN_SLOTS_ICorProfilerAssemblyReferenceProvider(SLOT, Self)                                                 \
    SLOT(Self, HRESULT, AddAssemblyReference, (Self * This, const COR_PRF_ASSEMBLY_REFERENCE_INFO *pAssemblyRefInfo))
#define SW_SLOTS_ICorProfilerAssemblyReferenceProvider(SLOT, Self)                                                     \
    SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerAssemblyReferenceProvider(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerAssemblyReferenceProvider, 4);

/*
 * What the runtime offers: ICorProfilerInfo to ICorProfilerInfo15. DoStackSnapshot is slot 36 of Info2 and later.
 */
/* slots 3 to 35 */
#define SW_OWN_SLOTS_ICorProfilerInfo(SLOT, Self)                                                                      \
    SLOT(Self, HRESULT, GetClassFromObject, (Self * This, ObjectID objectId, ClassID * pClassId))                      \
    SLOT(Self, HRESULT, GetClassFromToken, (Self * This, ModuleID moduleId, mdTypeDef typeDef, ClassID * pClassId))    \
    SLOT(Self, HRESULT, GetCodeInfo, (Self * This, FunctionID functionId, LPCBYTE * pStart, ULONG * pcSize))           \
    SLOT(Self, HRESULT, GetEventMask, (Self * This, DWORD * pdwEvents))                                                \
    SLOT(Self, HRESULT, GetFunctionFromIP, (Self * This, LPCBYTE ip, FunctionID * pFunctionId))                        \
    SLOT(Self, HRESULT, GetFunctionFromToken,                                                                          \
         (Self * This, ModuleID moduleId, mdToken token, FunctionID * pFunctionId))                                    \
    SLOT(Self, HRESULT, GetHandleFromThread, (Self * This, ThreadID threadId, HANDLE * phThread))                      \
    SLOT(Self, HRESULT, GetObjectSize, (Self * This, ObjectID objectId, ULONG * pcSize))                               \
    SLOT(Self, HRESULT, IsArrayClass,                                                                                  \
         (Self * This, ClassID classId, CorElementType * pBaseElemType, ClassID * pBaseClassId, ULONG * pcRank))       \
    SLOT(Self, HRESULT, GetThreadInfo, (Self * This, ThreadID threadId, DWORD * pdwWin32ThreadId))                     \
    SLOT(Self, HRESULT, GetCurrentThreadID, (Self * This, ThreadID * pThreadId))                                       \
    SLOT(Self, HRESULT, GetClassIDInfo,                                                                                \
         (Self * This, ClassID classId, ModuleID * pModuleId, mdTypeDef * pTypeDefToken))                              \
    SLOT(Self, HRESULT, GetFunctionInfo,                                                                               \
         (Self * This, FunctionID functionId, ClassID * pClassId, ModuleID * pModuleId, mdToken * pToken))             \
    SLOT(Self, HRESULT, SetEventMask, (Self * This, DWORD dwEvents))                                                   \
    SLOT(Self, HRESULT, SetEnterLeaveFunctionHooks,                                                                    \
         (Self * This, FunctionEnter * pFuncEnter, FunctionLeave * pFuncLeave, FunctionTailcall * pFuncTailcall))      \
    SLOT(Self, HRESULT, SetFunctionIDMapper, (Self * This, FunctionIDMapper * pFunc))                                  \
    SLOT(Self, HRESULT, GetTokenAndMetaDataFromFunction,                                                               \
         (Self * This, FunctionID functionId, REFIID riid, IUnknown * *ppImport, mdToken * pToken))                    \
    SLOT(Self, HRESULT, GetModuleInfo,                                                                                 \
         (Self * This, ModuleID moduleId, LPCBYTE * ppBaseLoadAddress, ULONG cchName, ULONG * pcchName,                \
          WCHAR szName[], AssemblyID * pAssemblyId))                                                                   \
    SLOT(Self, HRESULT, GetModuleMetaData,                                                                             \
         (Self * This, ModuleID moduleId, DWORD dwOpenFlags, REFIID riid, IUnknown * *ppOut))                          \
    SLOT(Self, HRESULT, GetILFunctionBody,                                                                             \
         (Self * This, ModuleID moduleId, mdMethodDef methodId, LPCBYTE * ppMethodHeader, ULONG * pcbMethodSize))      \
    SLOT(Self, HRESULT, GetILFunctionBodyAllocator, (Self * This, ModuleID moduleId, IMethodMalloc * *ppMalloc))       \
    SLOT(Self, HRESULT, SetILFunctionBody,                                                                             \
         (Self * This, ModuleID moduleId, mdMethodDef methodid, LPCBYTE pbNewILMethodHeader))                          \
    SLOT(Self, HRESULT, GetAppDomainInfo,                                                                              \
         (Self * This, AppDomainID appDomainId, ULONG cchName, ULONG * pcchName, WCHAR szName[],                       \
          ProcessID * pProcessId))                                                                                     \
    SLOT(Self, HRESULT, GetAssemblyInfo,                                                                               \
         (Self * This, AssemblyID assemblyId, ULONG cchName, ULONG * pcchName, WCHAR szName[],                         \
          AppDomainID * pAppDomainId, ModuleID * pModuleId))                                                           \
    SLOT(Self, HRESULT, SetFunctionReJIT, (Self * This, FunctionID functionId))                                        \
    SLOT(Self, HRESULT, ForceGC, (Self * This))                                                                        \
    SLOT(Self, HRESULT, SetILInstrumentedCodeMap,                                                                      \
         (Self * This, FunctionID functionId, BOOL fStartJit, ULONG cILMapEntries, COR_IL_MAP rgILMapEntries[]))       \
    SLOT(Self, HRESULT, GetInprocInspectionInterface, (Self * This, IUnknown * *ppicd))                                \
    SLOT(Self, HRESULT, GetInprocInspectionIThisThread, (Self * This, IUnknown * *ppicd))                              \
    SLOT(Self, HRESULT, GetThreadContext, (Self * This, ThreadID threadId, ContextID * pContextId))                    \
    SLOT(Self, HRESULT, BeginInprocDebugging, (Self * This, BOOL fThisThreadOnly, DWORD * pdwProfilerContext))         \
    SLOT(Self, HRESULT, EndInprocDebugging, (Self * This, DWORD dwProfilerContext))                                    \
    SLOT(Self, HRESULT, GetILToNativeMapping,                                                                          \
         (Self * This, FunctionID functionId, ULONG32 cMap, ULONG32 * pcMap, COR_DEBUG_IL_TO_NATIVE_MAP map[]))
#define SW_SLOTS_ICorProfilerInfo(SLOT, Self) SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo, 36);

/* slots 36 to 56 */
#define SW_OWN_SLOTS_ICorProfilerInfo2(SLOT, Self)                                                                     \
    SLOT(Self, HRESULT, DoStackSnapshot,                                                                               \
         (Self * This, ThreadID thread, StackSnapshotCallback * callback, ULONG32 infoFlags, void *clientData,         \
          BYTE context[], ULONG32 contextSize))                                                                        \
    SLOT(Self, HRESULT, SetEnterLeaveFunctionHooks2,                                                                   \
         (Self * This, FunctionEnter2 * pFuncEnter, FunctionLeave2 * pFuncLeave, FunctionTailcall2 * pFuncTailcall))   \
    SLOT(Self, HRESULT, GetFunctionInfo2,                                                                              \
         (Self * This, FunctionID funcId, COR_PRF_FRAME_INFO frameInfo, ClassID * pClassId, ModuleID * pModuleId,      \
          mdToken * pToken, ULONG32 cTypeArgs, ULONG32 * pcTypeArgs, ClassID typeArgs[]))                              \
    SLOT(Self, HRESULT, GetStringLayout,                                                                               \
         (Self * This, ULONG * pBufferLengthOffset, ULONG * pStringLengthOffset, ULONG * pBufferOffset))               \
    SLOT(Self, HRESULT, GetClassLayout,                                                                                \
         (Self * This, ClassID classID, COR_FIELD_OFFSET rFieldOffset[], ULONG cFieldOffset, ULONG * pcFieldOffset,    \
          ULONG * pulClassSize))                                                                                       \
    SLOT(Self, HRESULT, GetClassIDInfo2,                                                                               \
         (Self * This, ClassID classId, ModuleID * pModuleId, mdTypeDef * pTypeDefToken, ClassID * pParentClassId,     \
          ULONG32 cNumTypeArgs, ULONG32 * pcNumTypeArgs, ClassID typeArgs[]))                                          \
    SLOT(Self, HRESULT, GetCodeInfo2,                                                                                  \
         (Self * This, FunctionID functionID, ULONG32 cCodeInfos, ULONG32 * pcCodeInfos,                               \
          COR_PRF_CODE_INFO codeInfos[]))                                                                              \
    SLOT(Self, HRESULT, GetClassFromTokenAndTypeArgs,                                                                  \
         (Self * This, ModuleID moduleID, mdTypeDef typeDef, ULONG32 cTypeArgs, ClassID typeArgs[],                    \
          ClassID * pClassID))                                                                                         \
    SLOT(Self, HRESULT, GetFunctionFromTokenAndTypeArgs,                                                               \
         (Self * This, ModuleID moduleID, mdMethodDef funcDef, ClassID classId, ULONG32 cTypeArgs, ClassID typeArgs[], \
          FunctionID * pFunctionID))                                                                                   \
    SLOT(Self, HRESULT, EnumModuleFrozenObjects, (Self * This, ModuleID moduleID, ICorProfilerObjectEnum * *ppEnum))   \
    SLOT(Self, HRESULT, GetArrayObjectInfo,                                                                            \
         (Self * This, ObjectID objectId, ULONG32 cDimensions, ULONG32 pDimensionSizes[], int pDimensionLowerBounds[], \
          BYTE **ppData))                                                                                              \
    SLOT(Self, HRESULT, GetBoxClassLayout, (Self * This, ClassID classId, ULONG32 * pBufferOffset))                    \
    SLOT(Self, HRESULT, GetThreadAppDomain, (Self * This, ThreadID threadId, AppDomainID * pAppDomainId))              \
    SLOT(Self, HRESULT, GetRVAStaticAddress, (Self * This, ClassID classId, mdFieldDef fieldToken, void **ppAddress))  \
    SLOT(Self, HRESULT, GetAppDomainStaticAddress,                                                                     \
         (Self * This, ClassID classId, mdFieldDef fieldToken, AppDomainID appDomainId, void **ppAddress))             \
    SLOT(Self, HRESULT, GetThreadStaticAddress,                                                                        \
         (Self * This, ClassID classId, mdFieldDef fieldToken, ThreadID threadId, void **ppAddress))                   \
    SLOT(Self, HRESULT, GetContextStaticAddress,                                                                       \
         (Self * This, ClassID classId, mdFieldDef fieldToken, ContextID contextId, void **ppAddress))                 \
    SLOT(Self, HRESULT, GetStaticFieldInfo,                                                                            \
         (Self * This, ClassID classId, mdFieldDef fieldToken, COR_PRF_STATIC_TYPE * pFieldInfo))                      \
    SLOT(Self, HRESULT, GetGenerationBounds,                                                                           \
         (Self * This, ULONG cObjectRanges, ULONG * pcObjectRanges, COR_PRF_GC_GENERATION_RANGE ranges[]))             \
    SLOT(Self, HRESULT, GetObjectGeneration, (Self * This, ObjectID objectId, COR_PRF_GC_GENERATION_RANGE * range))    \
    SLOT(Self, HRESULT, GetNotifiedExceptionClauseInfo, (Self * This, COR_PRF_EX_CLAUSE_INFO * pinfo))
#define SW_SLOTS_ICorProfilerInfo2(SLOT, Self)                                                                         \
    SW_SLOTS_ICorProfilerInfo(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo2(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo2, 57);

/* slots 57 to 70 */
#define SW_OWN_SLOTS_ICorProfilerInfo3(SLOT, Self)                                                                     \
    SLOT(Self, HRESULT, EnumJITedFunctions, (Self * This, ICorProfilerFunctionEnum * *ppEnum))                         \
    SLOT(Self, HRESULT, RequestProfilerDetach, (Self * This, DWORD dwExpectedCompletionMilliseconds))                  \
    SLOT(Self, HRESULT, SetFunctionIDMapper2, (Self * This, FunctionIDMapper2 * pFunc, void *clientData))              \
    SLOT(Self, HRESULT, GetStringLayout2, (Self * This, ULONG * pStringLengthOffset, ULONG * pBufferOffset))           \
    SLOT(                                                                                                              \
        Self, HRESULT, SetEnterLeaveFunctionHooks3,                                                                    \
        (Self * This, FunctionEnter3 * pFuncEnter3, FunctionLeave3 * pFuncLeave3, FunctionTailcall3 * pFuncTailcall3)) \
    SLOT(Self, HRESULT, SetEnterLeaveFunctionHooks3WithInfo,                                                           \
         (Self * This, FunctionEnter3WithInfo * pFuncEnter3WithInfo, FunctionLeave3WithInfo * pFuncLeave3WithInfo,     \
          FunctionTailcall3WithInfo * pFuncTailcall3WithInfo))                                                         \
    SLOT(Self, HRESULT, GetFunctionEnter3Info,                                                                         \
         (Self * This, FunctionID functionId, COR_PRF_ELT_INFO eltInfo, COR_PRF_FRAME_INFO * pFrameInfo,               \
          ULONG * pcbArgumentInfo, COR_PRF_FUNCTION_ARGUMENT_INFO * pArgumentInfo))                                    \
    SLOT(Self, HRESULT, GetFunctionLeave3Info,                                                                         \
         (Self * This, FunctionID functionId, COR_PRF_ELT_INFO eltInfo, COR_PRF_FRAME_INFO * pFrameInfo,               \
          COR_PRF_FUNCTION_ARGUMENT_RANGE * pRetvalRange))                                                             \
    SLOT(Self, HRESULT, GetFunctionTailcall3Info,                                                                      \
         (Self * This, FunctionID functionId, COR_PRF_ELT_INFO eltInfo, COR_PRF_FRAME_INFO * pFrameInfo))              \
    SLOT(Self, HRESULT, EnumModules, (Self * This, ICorProfilerModuleEnum * *ppEnum))                                  \
    SLOT(Self, HRESULT, GetRuntimeInformation,                                                                         \
         (Self * This, USHORT * pClrInstanceId, COR_PRF_RUNTIME_TYPE * pRuntimeType, USHORT * pMajorVersion,           \
          USHORT * pMinorVersion, USHORT * pBuildNumber, USHORT * pQFEVersion, ULONG cchVersionString,                 \
          ULONG * pcchVersionString, WCHAR szVersionString[]))                                                         \
    SLOT(Self, HRESULT, GetThreadStaticAddress2,                                                                       \
         (Self * This, ClassID classId, mdFieldDef fieldToken, AppDomainID appDomainId, ThreadID threadId,             \
          void **ppAddress))                                                                                           \
    SLOT(                                                                                                              \
        Self, HRESULT, GetAppDomainsContainingModule,                                                                  \
        (Self * This, ModuleID moduleId, ULONG32 cAppDomainIds, ULONG32 * pcAppDomainIds, AppDomainID appDomainIds[])) \
    SLOT(Self, HRESULT, GetModuleInfo2,                                                                                \
         (Self * This, ModuleID moduleId, LPCBYTE * ppBaseLoadAddress, ULONG cchName, ULONG * pcchName,                \
          WCHAR szName[], AssemblyID * pAssemblyId, DWORD * pdwModuleFlags))
#define SW_SLOTS_ICorProfilerInfo3(SLOT, Self)                                                                         \
    SW_SLOTS_ICorProfilerInfo2(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo3(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo3, 71);

/* slots 71 to 80 */
#define SW_OWN_SLOTS_ICorProfilerInfo4(SLOT, Self)                                                                     \
    SLOT(Self, HRESULT, EnumThreads, (Self * This, ICorProfilerThreadEnum * *ppEnum))                                  \
    SLOT(Self, HRESULT, InitializeCurrentThread, (Self * This))                                                        \
    SLOT(Self, HRESULT, RequestReJIT, (Self * This, ULONG cFunctions, ModuleID moduleIds[], mdMethodDef methodIds[]))  \
    SLOT(Self, HRESULT, RequestRevert,                                                                                 \
         (Self * This, ULONG cFunctions, ModuleID moduleIds[], mdMethodDef methodIds[], HRESULT status[]))             \
    SLOT(Self, HRESULT, GetCodeInfo3,                                                                                  \
         (Self * This, FunctionID functionID, ReJITID reJitId, ULONG32 cCodeInfos, ULONG32 * pcCodeInfos,              \
          COR_PRF_CODE_INFO codeInfos[]))                                                                              \
    SLOT(Self, HRESULT, GetFunctionFromIP2, (Self * This, LPCBYTE ip, FunctionID * pFunctionId, ReJITID * pReJitId))   \
    SLOT(Self, HRESULT, GetReJITIDs,                                                                                   \
         (Self * This, FunctionID functionId, ULONG cReJitIds, ULONG * pcReJitIds, ReJITID reJitIds[]))                \
    SLOT(Self, HRESULT, GetILToNativeMapping2,                                                                         \
         (Self * This, FunctionID functionId, ReJITID reJitId, ULONG32 cMap, ULONG32 * pcMap,                          \
          COR_DEBUG_IL_TO_NATIVE_MAP map[]))                                                                           \
    SLOT(Self, HRESULT, EnumJITedFunctions2, (Self * This, ICorProfilerFunctionEnum * *ppEnum))                        \
    SLOT(Self, HRESULT, GetObjectSize2, (Self * This, ObjectID objectId, SIZE_T * pcSize))
#define SW_SLOTS_ICorProfilerInfo4(SLOT, Self)                                                                         \
    SW_SLOTS_ICorProfilerInfo3(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo4(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo4, 81);

/* slots 81 to 82 */
#define SW_OWN_SLOTS_ICorProfilerInfo5(SLOT, Self)                                                                     \
    SLOT(Self, HRESULT, GetEventMask2, (Self * This, DWORD * pdwEventsLow, DWORD * pdwEventsHigh))                     \
    SLOT(Self, HRESULT, SetEventMask2, (Self * This, DWORD dwEventsLow, DWORD dwEventsHigh))
#define SW_SLOTS_ICorProfilerInfo5(SLOT, Self)                                                                         \
    SW_SLOTS_ICorProfilerInfo4(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo5(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo5, 83);

/* slot 83 */
#define SW_OWN_SLOTS_ICorProfilerInfo6(SLOT, Self)                                                                     \
    SLOT(Self, HRESULT, EnumNgenModuleMethodsInliningThisMethod,                                                       \
         (Self * This, ModuleID inlinersModuleId, ModuleID inlineeModuleId, mdMethodDef inlineeMethodId,               \
          BOOL * incompleteData, ICorProfilerMethodEnum * *ppEnum))
#define SW_SLOTS_ICorProfilerInfo6(SLOT, Self)                                                                         \
    SW_SLOTS_ICorProfilerInfo5(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo6(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo6, 84);

/* slots 84 to 86 */
#define SW_OWN_SLOTS_ICorProfilerInfo7(SLOT, Self)                                                                     \
    SLOT(Self, HRESULT, ApplyMetaData, (Self * This, ModuleID moduleId))                                               \
    SLOT(Self, HRESULT, GetInMemorySymbolsLength, (Self * This, ModuleID moduleId, DWORD * pCountSymbolBytes))         \
    SLOT(Self, HRESULT, ReadInMemorySymbols,                                                                           \
         (Self * This, ModuleID moduleId, DWORD symbolsReadOffset, BYTE * pSymbolBytes, DWORD countSymbolBytes,        \
          DWORD * pCountSymbolBytesRead))
#define SW_SLOTS_ICorProfilerInfo7(SLOT, Self)                                                                         \
    SW_SLOTS_ICorProfilerInfo6(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo7(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo7, 87);

/* slots 87 to 89 */
#define SW_OWN_SLOTS_ICorProfilerInfo8(SLOT, Self)                                                                     \
    SLOT(Self, HRESULT, IsFunctionDynamic, (Self * This, FunctionID functionId, BOOL * isDynamic))                     \
    SLOT(Self, HRESULT, GetFunctionFromIP3, (Self * This, LPCBYTE ip, FunctionID * functionId, ReJITID * pReJitId))    \
    SLOT(Self, HRESULT, GetDynamicFunctionInfo,                                                                        \
         (Self * This, FunctionID functionId, ModuleID * moduleId, PCCOR_SIGNATURE * ppvSig, ULONG * pbSig,            \
          ULONG cchName, ULONG * pcchName, WCHAR wszName[]))
#define SW_SLOTS_ICorProfilerInfo8(SLOT, Self)                                                                         \
    SW_SLOTS_ICorProfilerInfo7(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo8(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo8, 90);

/* slots 90 to 92 */
#define SW_OWN_SLOTS_ICorProfilerInfo9(SLOT, Self)                                                                     \
    SLOT(Self, HRESULT, GetNativeCodeStartAddresses,                                                                   \
         (Self * This, FunctionID functionID, ReJITID reJitId, ULONG32 cCodeStartAddresses,                            \
          ULONG32 * pcCodeStartAddresses, UINT_PTR codeStartAddresses[]))                                              \
    SLOT(Self, HRESULT, GetILToNativeMapping3,                                                                         \
         (Self * This, UINT_PTR pNativeCodeStartAddress, ULONG32 cMap, ULONG32 * pcMap,                                \
          COR_DEBUG_IL_TO_NATIVE_MAP map[]))                                                                           \
    SLOT(Self, HRESULT, GetCodeInfo4,                                                                                  \
         (Self * This, UINT_PTR pNativeCodeStartAddress, ULONG32 cCodeInfos, ULONG32 * pcCodeInfos,                    \
          COR_PRF_CODE_INFO codeInfos[]))
#define SW_SLOTS_ICorProfilerInfo9(SLOT, Self)                                                                         \
    SW_SLOTS_ICorProfilerInfo8(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo9(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo9, 93);

/* slots 93 to 98 */
#define SW_OWN_SLOTS_ICorProfilerInfo10(SLOT, Self)                                                                    \
    SLOT(Self, HRESULT, EnumerateObjectReferences,                                                                     \
         (Self * This, ObjectID objectId, ObjectReferenceCallback callback, void *clientData))                         \
    SLOT(Self, HRESULT, IsFrozenObject, (Self * This, ObjectID objectId, BOOL * pbFrozen))                             \
    SLOT(Self, HRESULT, GetLOHObjectSizeThreshold, (Self * This, DWORD * pThreshold))                                  \
    SLOT(Self, HRESULT, RequestReJITWithInliners,                                                                      \
         (Self * This, DWORD dwRejitFlags, ULONG cFunctions, ModuleID moduleIds[], mdMethodDef methodIds[]))           \
    SLOT(Self, HRESULT, SuspendRuntime, (Self * This))                                                                 \
    SLOT(Self, HRESULT, ResumeRuntime, (Self * This))
#define SW_SLOTS_ICorProfilerInfo10(SLOT, Self)                                                                        \
    SW_SLOTS_ICorProfilerInfo9(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo10(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo10, 99);

/* slots 99 to 100 */
#define SW_OWN_SLOTS_ICorProfilerInfo11(SLOT, Self)                                                                    \
    SLOT(Self, HRESULT, GetEnvironmentVariable,                                                                        \
         (Self * This, const WCHAR *szName, ULONG cchValue, ULONG *pcchValue, WCHAR szValue[]))                        \
    SLOT(Self, HRESULT, SetEnvironmentVariable, (Self * This, const WCHAR *szName, const WCHAR *szValue))
#define SW_SLOTS_ICorProfilerInfo11(SLOT, Self)                                                                        \
    SW_SLOTS_ICorProfilerInfo10(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo11(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo11, 101);

/* slots 101 to 107 */
#define SW_OWN_SLOTS_ICorProfilerInfo12(SLOT, Self)                                                                    \
    SLOT(Self, HRESULT, EventPipeStartSession,                                                                         \
         (Self * This, UINT32 cProviderConfigs, COR_PRF_EVENTPIPE_PROVIDER_CONFIG pProviderConfigs[],                  \
          BOOL requestRundown, EVENTPIPE_SESSION * pSession))                                                          \
    SLOT(Self, HRESULT, EventPipeAddProviderToSession,                                                                 \
         (Self * This, EVENTPIPE_SESSION session, COR_PRF_EVENTPIPE_PROVIDER_CONFIG providerConfig))                   \
    SLOT(Self, HRESULT, EventPipeStopSession, (Self * This, EVENTPIPE_SESSION session))                                \
    SLOT(Self, HRESULT, EventPipeCreateProvider,                                                                       \
         (Self * This, const WCHAR *providerName, EVENTPIPE_PROVIDER *pProvider))                                      \
    SLOT(Self, HRESULT, EventPipeGetProviderInfo,                                                                      \
         (Self * This, EVENTPIPE_PROVIDER provider, ULONG cchName, ULONG * pcchName, WCHAR providerName[]))            \
    SLOT(Self, HRESULT, EventPipeDefineEvent,                                                                          \
         (Self * This, EVENTPIPE_PROVIDER provider, const WCHAR *eventName, UINT32 eventID, UINT64 keywords,           \
          UINT32 eventVersion, UINT32 level, UINT8 opcode, BOOL needStack, UINT32 cParamDescs,                         \
          COR_PRF_EVENTPIPE_PARAM_DESC pParamDescs[], EVENTPIPE_EVENT *pEvent))                                        \
    SLOT(Self, HRESULT, EventPipeWriteEvent,                                                                           \
         (Self * This, EVENTPIPE_EVENT event, UINT32 cData, COR_PRF_EVENT_DATA data[], LPCGUID pActivityId,            \
          LPCGUID pRelatedActivityId))
#define SW_SLOTS_ICorProfilerInfo12(SLOT, Self)                                                                        \
    SW_SLOTS_ICorProfilerInfo11(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo12(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo12, 108);

/* slots 108 to 110 */
#define SW_OWN_SLOTS_ICorProfilerInfo13(SLOT, Self)                                                                    \
    SLOT(Self, HRESULT, CreateHandle,                                                                                  \
         (Self * This, ObjectID object, COR_PRF_HANDLE_TYPE type, ObjectHandleID * pHandle))                           \
    SLOT(Self, HRESULT, DestroyHandle, (Self * This, ObjectHandleID handle))                                           \
    SLOT(Self, HRESULT, GetObjectIDFromHandle, (Self * This, ObjectHandleID handle, ObjectID * pObject))
#define SW_SLOTS_ICorProfilerInfo13(SLOT, Self)                                                                        \
    SW_SLOTS_ICorProfilerInfo12(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo13(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo13, 111);

/* slots 111 to 113 */
#define SW_OWN_SLOTS_ICorProfilerInfo14(SLOT, Self)                                                                    \
    SLOT(Self, HRESULT, EnumerateNonGCObjects, (Self * This, ICorProfilerObjectEnum * *ppEnum))                        \
    SLOT(Self, HRESULT, GetNonGCHeapBounds,                                                                            \
         (Self * This, ULONG cObjectRanges, ULONG * pcObjectRanges, COR_PRF_NONGC_HEAP_RANGE ranges[]))                \
    SLOT(                                                                                                              \
        Self, HRESULT, EventPipeCreateProvider2,                                                                       \
        (Self * This, const WCHAR *providerName, EventPipeProviderCallback *pCallback, EVENTPIPE_PROVIDER *pProvider))
#define SW_SLOTS_ICorProfilerInfo14(SLOT, Self)                                                                        \
    SW_SLOTS_ICorProfilerInfo13(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo14(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo14, 114);

/* slot 114 */
#define SW_OWN_SLOTS_ICorProfilerInfo15(SLOT, Self)                                                                    \
    SLOT(Self, HRESULT, EnumerateGCHeapObjects, (Self * This, ObjectCallback callback, void *callbackState))
#define SW_SLOTS_ICorProfilerInfo15(SLOT, Self)                                                                        \
    SW_SLOTS_ICorProfilerInfo14(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo15(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerInfo15, 115);

SW_COM_ASSERT(offsetof(ICorProfilerInfo2Vtbl, DoStackSnapshot) == 36 * sizeof(void *), "DoStackSnapshot is slot 36");

/*
 * What a profiler implements: ICorProfilerCallback to ICorProfilerCallback11.
 */
/* slots 3 to 71 */
#define SW_OWN_SLOTS_ICorProfilerCallback(SLOT, Self)                                                                  \
    SLOT(Self, HRESULT, Initialize, (Self * This, IUnknown * pICorProfilerInfoUnk))                                    \
    SLOT(Self, HRESULT, Shutdown, (Self * This))                                                                       \
    SLOT(Self, HRESULT, AppDomainCreationStarted, (Self * This, AppDomainID appDomainId))                              \
    SLOT(Self, HRESULT, AppDomainCreationFinished, (Self * This, AppDomainID appDomainId, HRESULT hrStatus))           \
    SLOT(Self, HRESULT, AppDomainShutdownStarted, (Self * This, AppDomainID appDomainId))                              \
    SLOT(Self, HRESULT, AppDomainShutdownFinished, (Self * This, AppDomainID appDomainId, HRESULT hrStatus))           \
    SLOT(Self, HRESULT, AssemblyLoadStarted, (Self * This, AssemblyID assemblyId))                                     \
    SLOT(Self, HRESULT, AssemblyLoadFinished, (Self * This, AssemblyID assemblyId, HRESULT hrStatus))                  \
    SLOT(Self, HRESULT, AssemblyUnloadStarted, (Self * This, AssemblyID assemblyId))                                   \
    SLOT(Self, HRESULT, AssemblyUnloadFinished, (Self * This, AssemblyID assemblyId, HRESULT hrStatus))                \
    SLOT(Self, HRESULT, ModuleLoadStarted, (Self * This, ModuleID moduleId))                                           \
    SLOT(Self, HRESULT, ModuleLoadFinished, (Self * This, ModuleID moduleId, HRESULT hrStatus))                        \
    SLOT(Self, HRESULT, ModuleUnloadStarted, (Self * This, ModuleID moduleId))                                         \
    SLOT(Self, HRESULT, ModuleUnloadFinished, (Self * This, ModuleID moduleId, HRESULT hrStatus))                      \
    SLOT(Self, HRESULT, ModuleAttachedToAssembly, (Self * This, ModuleID moduleId, AssemblyID AssemblyId))             \
    SLOT(Self, HRESULT, ClassLoadStarted, (Self * This, ClassID classId))                                              \
    SLOT(Self, HRESULT, ClassLoadFinished, (Self * This, ClassID classId, HRESULT hrStatus))                           \
    SLOT(Self, HRESULT, ClassUnloadStarted, (Self * This, ClassID classId))                                            \
    SLOT(Self, HRESULT, ClassUnloadFinished, (Self * This, ClassID classId, HRESULT hrStatus))                         \
    SLOT(Self, HRESULT, FunctionUnloadStarted, (Self * This, FunctionID functionId))                                   \
    SLOT(Self, HRESULT, JITCompilationStarted, (Self * This, FunctionID functionId, BOOL fIsSafeToBlock))              \
    SLOT(Self, HRESULT, JITCompilationFinished,                                                                        \
         (Self * This, FunctionID functionId, HRESULT hrStatus, BOOL fIsSafeToBlock))                                  \
    SLOT(Self, HRESULT, JITCachedFunctionSearchStarted,                                                                \
         (Self * This, FunctionID functionId, BOOL * pbUseCachedFunction))                                             \
    SLOT(Self, HRESULT, JITCachedFunctionSearchFinished,                                                               \
         (Self * This, FunctionID functionId, COR_PRF_JIT_CACHE result))                                               \
    SLOT(Self, HRESULT, JITFunctionPitched, (Self * This, FunctionID functionId))                                      \
    SLOT(Self, HRESULT, JITInlining, (Self * This, FunctionID callerId, FunctionID calleeId, BOOL * pfShouldInline))   \
    SLOT(Self, HRESULT, ThreadCreated, (Self * This, ThreadID threadId))                                               \
    SLOT(Self, HRESULT, ThreadDestroyed, (Self * This, ThreadID threadId))                                             \
    SLOT(Self, HRESULT, ThreadAssignedToOSThread, (Self * This, ThreadID managedThreadId, DWORD osThreadId))           \
    SLOT(Self, HRESULT, RemotingClientInvocationStarted, (Self * This))                                                \
    SLOT(Self, HRESULT, RemotingClientSendingMessage, (Self * This, GUID * pCookie, BOOL fIsAsync))                    \
    SLOT(Self, HRESULT, RemotingClientReceivingReply, (Self * This, GUID * pCookie, BOOL fIsAsync))                    \
    SLOT(Self, HRESULT, RemotingClientInvocationFinished, (Self * This))                                               \
    SLOT(Self, HRESULT, RemotingServerReceivingMessage, (Self * This, GUID * pCookie, BOOL fIsAsync))                  \
    SLOT(Self, HRESULT, RemotingServerInvocationStarted, (Self * This))                                                \
    SLOT(Self, HRESULT, RemotingServerInvocationReturned, (Self * This))                                               \
    SLOT(Self, HRESULT, RemotingServerSendingReply, (Self * This, GUID * pCookie, BOOL fIsAsync))                      \
    SLOT(Self, HRESULT, UnmanagedToManagedTransition,                                                                  \
         (Self * This, FunctionID functionId, COR_PRF_TRANSITION_REASON reason))                                       \
    SLOT(Self, HRESULT, ManagedToUnmanagedTransition,                                                                  \
         (Self * This, FunctionID functionId, COR_PRF_TRANSITION_REASON reason))                                       \
    SLOT(Self, HRESULT, RuntimeSuspendStarted, (Self * This, COR_PRF_SUSPEND_REASON suspendReason))                    \
    SLOT(Self, HRESULT, RuntimeSuspendFinished, (Self * This))                                                         \
    SLOT(Self, HRESULT, RuntimeSuspendAborted, (Self * This))                                                          \
    SLOT(Self, HRESULT, RuntimeResumeStarted, (Self * This))                                                           \
    SLOT(Self, HRESULT, RuntimeResumeFinished, (Self * This))                                                          \
    SLOT(Self, HRESULT, RuntimeThreadSuspended, (Self * This, ThreadID threadId))                                      \
    SLOT(Self, HRESULT, RuntimeThreadResumed, (Self * This, ThreadID threadId))                                        \
    SLOT(Self, HRESULT, MovedReferences,                                                                               \
         (Self * This, ULONG cMovedObjectIDRanges, ObjectID oldObjectIDRangeStart[], ObjectID newObjectIDRangeStart[], \
          ULONG cObjectIDRangeLength[]))                                                                               \
    SLOT(Self, HRESULT, ObjectAllocated, (Self * This, ObjectID objectId, ClassID classId))                            \
    SLOT(Self, HRESULT, ObjectsAllocatedByClass,                                                                       \
         (Self * This, ULONG cClassCount, ClassID classIds[], ULONG cObjects[]))                                       \
    SLOT(Self, HRESULT, ObjectReferences,                                                                              \
         (Self * This, ObjectID objectId, ClassID classId, ULONG cObjectRefs, ObjectID objectRefIds[]))                \
    SLOT(Self, HRESULT, RootReferences, (Self * This, ULONG cRootRefs, ObjectID rootRefIds[]))                         \
    SLOT(Self, HRESULT, ExceptionThrown, (Self * This, ObjectID thrownObjectId))                                       \
    SLOT(Self, HRESULT, ExceptionSearchFunctionEnter, (Self * This, FunctionID functionId))                            \
    SLOT(Self, HRESULT, ExceptionSearchFunctionLeave, (Self * This))                                                   \
    SLOT(Self, HRESULT, ExceptionSearchFilterEnter, (Self * This, FunctionID functionId))                              \
    SLOT(Self, HRESULT, ExceptionSearchFilterLeave, (Self * This))                                                     \
    SLOT(Self, HRESULT, ExceptionSearchCatcherFound, (Self * This, FunctionID functionId))                             \
    SLOT(Self, HRESULT, ExceptionOSHandlerEnter, (Self * This, UINT_PTR unused))                                       \
    SLOT(Self, HRESULT, ExceptionOSHandlerLeave, (Self * This, UINT_PTR unused))                                       \
    SLOT(Self, HRESULT, ExceptionUnwindFunctionEnter, (Self * This, FunctionID functionId))                            \
    SLOT(Self, HRESULT, ExceptionUnwindFunctionLeave, (Self * This))                                                   \
    SLOT(Self, HRESULT, ExceptionUnwindFinallyEnter, (Self * This, FunctionID functionId))                             \
    SLOT(Self, HRESULT, ExceptionUnwindFinallyLeave, (Self * This))                                                    \
    SLOT(Self, HRESULT, ExceptionCatcherEnter, (Self * This, FunctionID functionId, ObjectID objectId))                \
    SLOT(Self, HRESULT, ExceptionCatcherLeave, (Self * This))                                                          \
    SLOT(Self, HRESULT, COMClassicVTableCreated,                                                                       \
         (Self * This, ClassID wrappedClassId, REFGUID implementedIID, void *pVTable, ULONG cSlots))                   \
    SLOT(Self, HRESULT, COMClassicVTableDestroyed,                                                                     \
         (Self * This, ClassID wrappedClassId, REFGUID implementedIID, void *pVTable))                                 \
    SLOT(Self, HRESULT, ExceptionCLRCatcherFound, (Self * This))                                                       \
    SLOT(Self, HRESULT, ExceptionCLRCatcherExecute, (Self * This))
#define SW_SLOTS_ICorProfilerCallback(SLOT, Self)                                                                      \
    SW_SLOTS_IUnknown(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback, 72);

/* slots 72 to 79 */
#define SW_OWN_SLOTS_ICorProfilerCallback2(SLOT, Self)                                                                 \
    SLOT(Self, HRESULT, ThreadNameChanged, (Self * This, ThreadID threadId, ULONG cchName, WCHAR name[]))              \
    SLOT(Self, HRESULT, GarbageCollectionStarted,                                                                      \
         (Self * This, int cGenerations, BOOL generationCollected[], COR_PRF_GC_REASON reason))                        \
    SLOT(Self, HRESULT, SurvivingReferences,                                                                           \
         (Self * This, ULONG cSurvivingObjectIDRanges, ObjectID objectIDRangeStart[], ULONG cObjectIDRangeLength[]))   \
    SLOT(Self, HRESULT, GarbageCollectionFinished, (Self * This))                                                      \
    SLOT(Self, HRESULT, FinalizeableObjectQueued, (Self * This, DWORD finalizerFlags, ObjectID objectID))              \
    SLOT(Self, HRESULT, RootReferences2,                                                                               \
         (Self * This, ULONG cRootRefs, ObjectID rootRefIds[], COR_PRF_GC_ROOT_KIND rootKinds[],                       \
          COR_PRF_GC_ROOT_FLAGS rootFlags[], UINT_PTR rootIds[]))                                                      \
    SLOT(Self, HRESULT, HandleCreated, (Self * This, GCHandleID handleId, ObjectID initialObjectId))                   \
    SLOT(Self, HRESULT, HandleDestroyed, (Self * This, GCHandleID handleId))
#define SW_SLOTS_ICorProfilerCallback2(SLOT, Self)                                                                     \
    SW_SLOTS_ICorProfilerCallback(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback2(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback2, 80);

/* slots 80 to 82 */
#define SW_OWN_SLOTS_ICorProfilerCallback3(SLOT, Self)                                                                 \
    SLOT(Self, HRESULT, InitializeForAttach,                                                                           \
         (Self * This, IUnknown * pCorProfilerInfoUnk, void *pvClientData, UINT cbClientData))                         \
    SLOT(Self, HRESULT, ProfilerAttachComplete, (Self * This))                                                         \
    SLOT(Self, HRESULT, ProfilerDetachSucceeded, (Self * This))
#define SW_SLOTS_ICorProfilerCallback3(SLOT, Self)                                                                     \
    SW_SLOTS_ICorProfilerCallback2(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback3(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback3, 83);

/* slots 83 to 88 */
#define SW_OWN_SLOTS_ICorProfilerCallback4(SLOT, Self)                                                                 \
    SLOT(Self, HRESULT, ReJITCompilationStarted,                                                                       \
         (Self * This, FunctionID functionId, ReJITID rejitId, BOOL fIsSafeToBlock))                                   \
    SLOT(Self, HRESULT, GetReJITParameters,                                                                            \
         (Self * This, ModuleID moduleId, mdMethodDef methodId, ICorProfilerFunctionControl * pFunctionControl))       \
    SLOT(Self, HRESULT, ReJITCompilationFinished,                                                                      \
         (Self * This, FunctionID functionId, ReJITID rejitId, HRESULT hrStatus, BOOL fIsSafeToBlock))                 \
    SLOT(Self, HRESULT, ReJITError,                                                                                    \
         (Self * This, ModuleID moduleId, mdMethodDef methodId, FunctionID functionId, HRESULT hrStatus))              \
    SLOT(Self, HRESULT, MovedReferences2,                                                                              \
         (Self * This, ULONG cMovedObjectIDRanges, ObjectID oldObjectIDRangeStart[], ObjectID newObjectIDRangeStart[], \
          SIZE_T cObjectIDRangeLength[]))                                                                              \
    SLOT(Self, HRESULT, SurvivingReferences2,                                                                          \
         (Self * This, ULONG cSurvivingObjectIDRanges, ObjectID objectIDRangeStart[], SIZE_T cObjectIDRangeLength[]))
#define SW_SLOTS_ICorProfilerCallback4(SLOT, Self)                                                                     \
    SW_SLOTS_ICorProfilerCallback3(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback4(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback4, 89);

/* slot 89 */
#define SW_OWN_SLOTS_ICorProfilerCallback5(SLOT, Self)                                                                 \
    SLOT(Self, HRESULT, ConditionalWeakTableElementReferences,                                                         \
         (Self * This, ULONG cRootRefs, ObjectID keyRefIds[], ObjectID valueRefIds[], GCHandleID rootIds[]))
#define SW_SLOTS_ICorProfilerCallback5(SLOT, Self)                                                                     \
    SW_SLOTS_ICorProfilerCallback4(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback5(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback5, 90);

/* slot 90 */
#define SW_OWN_SLOTS_ICorProfilerCallback6(SLOT, Self)                                                                 \
    SLOT(Self, HRESULT, GetAssemblyReferences,                                                                         \
         (Self * This, const WCHAR *wszAssemblyPath, ICorProfilerAssemblyReferenceProvider *pAsmRefProvider))
#define SW_SLOTS_ICorProfilerCallback6(SLOT, Self)                                                                     \
    SW_SLOTS_ICorProfilerCallback5(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback6(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback6, 91);

/* slot 91 */
#define SW_OWN_SLOTS_ICorProfilerCallback7(SLOT, Self)                                                                 \
    SLOT(Self, HRESULT, ModuleInMemorySymbolsUpdated, (Self * This, ModuleID moduleId))
#define SW_SLOTS_ICorProfilerCallback7(SLOT, Self)                                                                     \
    SW_SLOTS_ICorProfilerCallback6(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback7(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback7, 92);

/* slots 92 to 93 */
#define SW_OWN_SLOTS_ICorProfilerCallback8(SLOT, Self)                                                                 \
    SLOT(Self, HRESULT, DynamicMethodJITCompilationStarted,                                                            \
         (Self * This, FunctionID functionId, BOOL fIsSafeToBlock, LPCBYTE pILHeader, ULONG cbILHeader))               \
    SLOT(Self, HRESULT, DynamicMethodJITCompilationFinished,                                                           \
         (Self * This, FunctionID functionId, HRESULT hrStatus, BOOL fIsSafeToBlock))
#define SW_SLOTS_ICorProfilerCallback8(SLOT, Self)                                                                     \
    SW_SLOTS_ICorProfilerCallback7(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback8(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback8, 94);

/* slot 94 */
#define SW_OWN_SLOTS_ICorProfilerCallback9(SLOT, Self)                                                                 \
    SLOT(Self, HRESULT, DynamicMethodUnloaded, (Self * This, FunctionID functionId))
#define SW_SLOTS_ICorProfilerCallback9(SLOT, Self)                                                                     \
    SW_SLOTS_ICorProfilerCallback8(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback9(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback9, 95);

/* slots 95 to 96 */
#define SW_OWN_SLOTS_ICorProfilerCallback10(SLOT, Self)                                                                \
    SLOT(Self, HRESULT, EventPipeEventDelivered,                                                                       \
         (Self * This, EVENTPIPE_PROVIDER provider, DWORD eventId, DWORD eventVersion, ULONG cbMetadataBlob,           \
          LPCBYTE metadataBlob, ULONG cbEventData, LPCBYTE eventData, LPCGUID pActivityId, LPCGUID pRelatedActivityId, \
          ThreadID eventThread, ULONG numStackFrames, UINT_PTR stackFrames[]))                                         \
    SLOT(Self, HRESULT, EventPipeProviderCreated, (Self * This, EVENTPIPE_PROVIDER provider))
#define SW_SLOTS_ICorProfilerCallback10(SLOT, Self)                                                                    \
    SW_SLOTS_ICorProfilerCallback9(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback10(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback10, 97);

/* slot 97 */
#define SW_OWN_SLOTS_ICorProfilerCallback11(SLOT, Self)                                                                \
    SLOT(Self, HRESULT, LoadAsNotificationOnly, (Self * This, BOOL * pbNotificationOnly))
#define SW_SLOTS_ICorProfilerCallback11(SLOT, Self)                                                                    \
    SW_SLOTS_ICorProfilerCallback10(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback11(SLOT, Self)
SW_COM_INTERFACE(ICorProfilerCallback11, 98);

/* Interface identifiers. */
#ifdef SW_COM_IID_IUNKNOWN
static const IID IID_IUnknown = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
#endif
#ifdef SW_COM_IID_ICLASSFACTORY
static const IID IID_IClassFactory = { 1, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
#endif
static const IID IID_ICorProfilerInfo = {
    0x28b5557d, 0x3f3f, 0x48b4, { 0x90, 0xb2, 0x5f, 0x9e, 0xea, 0x2f, 0x6c, 0x48 }
};
static const IID IID_ICorProfilerInfo2 = {
    0xcc0935cd, 0xa518, 0x487d, { 0xb0, 0xbb, 0xa9, 0x32, 0x14, 0xe6, 0x54, 0x78 }
};
static const IID IID_ICorProfilerInfo3 = {
    0xb555ed4f, 0x452a, 0x4e54, { 0x8b, 0x39, 0xb5, 0x36, 0x0b, 0xad, 0x32, 0xa0 }
};
static const IID IID_ICorProfilerInfo4 = {
    0x0d8fdcaa, 0x6257, 0x47bf, { 0xb1, 0xbf, 0x94, 0xda, 0xc8, 0x84, 0x66, 0xee }
};
static const IID IID_ICorProfilerInfo5 = {
    0x07602928, 0xce38, 0x4b83, { 0x81, 0xe7, 0x74, 0xad, 0xaf, 0x78, 0x12, 0x14 }
};
static const IID IID_ICorProfilerInfo6 = {
    0xf30a070d, 0xbffb, 0x46a7, { 0xb1, 0xd8, 0x87, 0x81, 0xef, 0x7b, 0x69, 0x8a }
};
static const IID IID_ICorProfilerInfo7 = {
    0x9aeecc0d, 0x63e0, 0x4187, { 0x8c, 0x00, 0xe3, 0x12, 0xf5, 0x03, 0xf6, 0x63 }
};
static const IID IID_ICorProfilerInfo8 = {
    0xc5ac80a6, 0x782e, 0x4716, { 0x80, 0x44, 0x39, 0x59, 0x8c, 0x60, 0xcf, 0xbf }
};
static const IID IID_ICorProfilerInfo9 = {
    0x008170db, 0xf8cc, 0x4796, { 0x9a, 0x51, 0xdc, 0x8a, 0xa0, 0xb4, 0x70, 0x12 }
};
static const IID IID_ICorProfilerInfo10 = {
    0x2f1b5152, 0xc869, 0x40c9, { 0xaa, 0x5f, 0x3a, 0xbe, 0x02, 0x6b, 0xd7, 0x20 }
};
static const IID IID_ICorProfilerInfo11 = {
    0x06398876, 0x8987, 0x4154, { 0xb6, 0x21, 0x40, 0xa0, 0x0d, 0x6e, 0x4d, 0x04 }
};
static const IID IID_ICorProfilerInfo12 = {
    0x27b24ccd, 0x1cb1, 0x47c5, { 0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59 }
};
static const IID IID_ICorProfilerInfo13 = {
    0x6e6c7ee2, 0x0701, 0x4ec2, { 0x9d, 0x29, 0x2e, 0x87, 0x33, 0xb6, 0x69, 0x34 }
};
static const IID IID_ICorProfilerInfo14 = {
    0xf460e352, 0xd76d, 0x4fe9, { 0x83, 0x5f, 0xf6, 0xaf, 0x9d, 0x6e, 0x86, 0x2d }
};
static const IID IID_ICorProfilerInfo15 = {
    0xb446462d, 0xbd22, 0x41dd, { 0x87, 0x2d, 0xdc, 0x71, 0x4c, 0x49, 0xeb, 0x56 }
};
static const IID IID_ICorProfilerCallback = {
    0x176fbed1, 0xa55c, 0x4796, { 0x98, 0xca, 0xa9, 0xda, 0x0e, 0xf8, 0x83, 0xe7 }
};
static const IID IID_ICorProfilerCallback2 = {
    0x8a8cc829, 0xccf2, 0x49fe, { 0xbb, 0xae, 0x0f, 0x02, 0x22, 0x28, 0x07, 0x1a }
};
static const IID IID_ICorProfilerCallback3 = {
    0x4fd2ed52, 0x7731, 0x4b8d, { 0x94, 0x69, 0x03, 0xd2, 0xcc, 0x30, 0x86, 0xc5 }
};
static const IID IID_ICorProfilerCallback4 = {
    0x7b63b2e3, 0x107d, 0x4d48, { 0xb2, 0xf6, 0xf6, 0x1e, 0x22, 0x94, 0x70, 0xd2 }
};
static const IID IID_ICorProfilerCallback5 = {
    0x8dfba405, 0x8c9f, 0x45f8, { 0xbf, 0xfa, 0x83, 0xb1, 0x4c, 0xef, 0x78, 0xb5 }
};
static const IID IID_ICorProfilerCallback6 = {
    0xfc13df4b, 0x4448, 0x4f4f, { 0x95, 0x0c, 0xba, 0x8d, 0x19, 0xd0, 0x0c, 0x36 }
};
static const IID IID_ICorProfilerCallback7 = {
    0xf76a2dba, 0x1d52, 0x4539, { 0x86, 0x6c, 0x2a, 0xa5, 0x18, 0xf9, 0xef, 0xc3 }
};
static const IID IID_ICorProfilerCallback8 = {
    0x5bed9b15, 0xc079, 0x4d47, { 0xbf, 0xe2, 0x21, 0x5a, 0x14, 0x0c, 0x07, 0xe0 }
};
static const IID IID_ICorProfilerCallback9 = {
    0x27583ec3, 0xc8f5, 0x482f, { 0x80, 0x52, 0x19, 0x4b, 0x8c, 0xe4, 0x70, 0x5a }
};
static const IID IID_ICorProfilerCallback10 = {
    0xcec5b60e, 0xc69c, 0x495f, { 0x87, 0xf6, 0x84, 0xd2, 0x8e, 0xe1, 0x6f, 0xfb }
};
static const IID IID_ICorProfilerCallback11 = {
    0x42350846, 0xaaed, 0x47f7, { 0xb1, 0x28, 0xfd, 0x0c, 0x98, 0x88, 0x1c, 0xde }
};
static const IID IID_ICorProfilerObjectEnum = {
    0x2c6269bd, 0x2d13, 0x4321, { 0xae, 0x12, 0x66, 0x86, 0x36, 0x5f, 0xd6, 0xaf }
};
static const IID IID_ICorProfilerFunctionEnum = {
    0xff71301a, 0xb994, 0x429d, { 0xa1, 0x0b, 0xb3, 0x45, 0xa6, 0x52, 0x80, 0xef }
};
static const IID IID_ICorProfilerModuleEnum = {
    0xb0266d75, 0x2081, 0x4493, { 0xaf, 0x7f, 0x02, 0x8b, 0xa3, 0x4d, 0xb8, 0x91 }
};
static const IID IID_IMethodMalloc = { 0xa0efb28b, 0x6ee2, 0x4d7b, { 0xb9, 0x83, 0xa7, 0x5e, 0xf7, 0xbe, 0xed, 0xb8 } };
static const IID IID_ICorProfilerFunctionControl = {
    0xf0963021, 0xe1ea, 0x4732, { 0x85, 0x81, 0xe0, 0x1b, 0x0b, 0xd3, 0xc0, 0xc6 }
};
static const IID IID_ICorProfilerMethodEnum = {
    0xfccee788, 0x0088, 0x454b, { 0xa8, 0x11, 0xc9, 0x9f, 0x29, 0x8d, 0x19, 0x42 }
};
static const IID IID_ICorProfilerThreadEnum = {
    0x571194f7, 0x25ed, 0x419f, { 0xaa, 0x8b, 0x70, 0x16, 0xb3, 0x15, 0x97, 0x01 }
};
static const IID IID_ICorProfilerAssemblyReferenceProvider = {
    0x66a78c24, 0x2eef, 0x4f65, { 0xb4, 0x5f, 0xdd, 0x1d, 0x80, 0x38, 0xbf, 0x3c }
};

#ifdef __cplusplus
}
#endif
#endif

#endif
