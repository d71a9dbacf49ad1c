/*
 * A runtime without code, for src/clr: an ICorProfilerInfo object that answers from tables, which a test fills. Slots
 * that src/clr does not need are null.
 */
#ifndef TEST_SUPPORT_RUNTIME_H
#define TEST_SUPPORT_RUNTIME_H

#include <snapwalk/corprof.h>

#include <stdbool.h>
#include <stddef.h>

enum { FAKE_MOST = 600 };

/* One region of code of one version of a function; a version is named by where its first region begins. */
struct fake_region {
    FunctionID function;
    ReJITID rejit;
    UINT_PTR version;
    COR_PRF_CODE_INFO at;
};

struct fake_thread {
    ThreadID id;
    DWORD os_id;
};

/*
 * newest      The newest interface that QueryInterface gives: 3 is ICorProfilerInfo3.
 * major       Of its version.
 * regions     What code there is. A function without any is not compiled yet.
 * code_answer What requests of code answer instead, if it is not S_OK: with counts, and with arrays full of scribble.
 * scribble    What it leaves in the rest of arrays that it fills.
 * functions   What EnumJITedFunctions lists; threads: what EnumThreads does, and what GetThreadInfo knows.
 * current     What GetCurrentThreadID answers; 0: that it is none.
 * dispatcher  The function that has metadata: its token, and where its module is, which is the module's id; its flags.
 * is_asynchronous  The calling thread is where GetFunctionFromIP refuses.
 * events      What GetEventMask answers; events_answer: its result.
 * has_started Whether DoStackSnapshot gets as far as to refuse a flag.
 * in_request  Called in each request about code.
 * requests    Of code; starts: calls of DoStackSnapshot; references: of enumerators.
 */
struct fake_runtime {
    ICorProfilerInfo15 com; /* first */
    unsigned newest;
    USHORT major;
    struct fake_region regions[FAKE_MOST];
    size_t region_count;
    HRESULT code_answer;
    COR_PRF_CODE_INFO scribble;
    COR_PRF_FUNCTION functions[FAKE_MOST];
    size_t function_count;
    HRESULT functions_answer;
    struct fake_thread threads[8];
    size_t thread_count;
    ThreadID current;
    HRESULT threads_answer;
    FunctionID dispatcher;
    mdToken token;
    LPCBYTE base;
    DWORD module_flags;
    bool is_asynchronous;
    DWORD events;
    HRESULT events_answer;
    bool has_started;
    void (*in_request)(void);
    unsigned requests, starts;
    int references;
};

/* The newest, started, with the events of a profiler that walks stacks, without code and threads. */
void fake_runtime_init(struct fake_runtime *runtime);

/* The first region of a version; another one of that version. */
void fake_runtime_compile(struct fake_runtime *runtime, FunctionID function, ReJITID rejit, UINT_PTR begin,
                          SIZE_T size);
void fake_runtime_add_region(struct fake_runtime *runtime, FunctionID function, ReJITID rejit, UINT_PTR version,
                             UINT_PTR begin, SIZE_T size);

/* Forgets all code of a function. */
void fake_runtime_free(struct fake_runtime *runtime, FunctionID function);

#endif
