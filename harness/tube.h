/*
 * What the rooms of the harness share: the world that a tube holds (modules, types, functions, threads), and the doors
 * between the rooms. Names of doors begin with sw_tube_ and are no part of the public header.
 *
 *   tube.c     the tube: its making and end, problems
 *   engine.c   the tube as a target of the library's engine; snapshot.c: walks as the profiler asks for them
 *   load.c     the profiler: loading, start, attach, shutdown
 *   world.c    modules, and all ids; types.c: types and functions
 *   text.c, list.c, hash.c  UTF-16, lists beside readers, looking up names
 *   code.c     machine code in .NET's prologue shapes; where it lies
 *   gate_*.S   where managed code asks what to do next
 *   lifetime.c threads, from their birth to their end; compile.c: compilations
 *   thread.c   steps of threads; stage_real.c, stage_simulated.c: who carries a step out
 *   runtime.c  suspension, collection, exceptions
 *   events.c   the callbacks of a profiler, by mask and version
 *   info.c     the ICorProfilerInfo object: context rules, answers set by the test, counts; info_*.c its slots
 *   metadata.c a module's metadata object; metadata_*.c its interfaces
 *   conduct.c  rules of conduct; signals.c what is left of signals
 *   record.c   the recording; json.c its lines, hresult.c names of answers, compare.c two recordings
 *   script.c   scenarios as text: words.c, heading.c, steps.c, expect.c, names.c (script.h)
 */
#ifndef SW_HARNESS_TUBE_H
#define SW_HARNESS_TUBE_H

#include <snapwalk/harness.h>
#include <snapwalk/profiler_info.h>
#include <snapwalk/suspend.h>

#include <pthread.h>
#include <stdatomic.h>

#include "hash.h"
#include "list.h"

/* ---- the world ---- */

/*
 * Ids are numbers of their kind, spread like addresses: (kind << 40) + 64 * (index + 1) above this base. So a foreign
 * one is told without reading it.
 */
enum sw_tube_kind {
    SW_ID_DOMAIN = 1,
    SW_ID_ASSEMBLY,
    SW_ID_MODULE,
    SW_ID_CLASS,
    SW_ID_FUNCTION,
    SW_ID_THREAD,
    SW_ID_OBJECT
};
UINT_PTR sw_tube_id(enum sw_tube_kind kind, size_t index);
/* The index behind an id, or SIZE_MAX if it is not one of that kind. */
size_t sw_tube_index(enum sw_tube_kind kind, UINT_PTR id);

/*
 * A module with its assembly (both have its index). Tokens are rows from 1: of types 1 is `<Module>`.
 *
 * types, functions  Indexes into the tube's lists, in the order of rows: row n of TypeDef is types[n - 1].
 * base     Address of its image: a page with PE headers, so that a profiler may read there.
 * loaded   ModuleLoadFinished is being or has been raised, and no unload.  unloaded  ModuleUnloadFinished has been.
 * metadata Of metadata.c, made when it is first asked for.
 */
struct sw_tube_module {
    struct sw_tube *tube;
    size_t index;
    char *name; /* "Demo.dll" */
    GUID mvid;
    uint64_t base;
    struct sw_list types;     /* of size_t */
    struct sw_list functions; /* of size_t; those with metadata */
    _Atomic bool loaded, unloaded;
    struct sw_metadata *_Atomic metadata;
};

/*
 * A type. Its ClassID has its index in the tube's list.
 *
 * name     Without namespace, "List`1", the end of `full`.  full  with its namespace if it is not nested, as
 *          GetTypeDefProps has it: "System.Collections.List`1".
 * outer    Index of the type it is nested in, or SIZE_MAX.
 * token    0x02000000 + row.  arity  how many generic parameters it has of its own.
 */
struct sw_tube_type {
    struct sw_tube_module *module;
    size_t index;
    char *full;
    char *name;
    size_t outer;
    mdTypeDef token;
    unsigned arity;
    _Atomic bool announced; /* ClassLoadFinished has been raised */
};

/* One version of a function's code. `at_gate`, `at_call`: return addresses of its two calls, see code.h. */
struct sw_tube_code {
    uint64_t begin, end, at_gate, at_call, spin;
    ReJITID rejit;
    uint32_t shape;
};

enum { SW_TUBE_VERSIONS = 8 };

struct sw_tube_function {
    struct sw_tube *tube;
    struct sw_tube_type *type;
    size_t index;
    char *name; /* "Run(int)" */
    mdMethodDef token;
    uint32_t flags;  /* SW_TUBE_* */
    UINT_PTR client; /* what a function id mapper answered; the id without one */
    bool hooked;
    struct sw_tube_code code[SW_TUBE_VERSIONS];
    _Atomic(const BYTE *) il;  /* what the profiler has set; null: nothing */
    _Atomic unsigned versions; /* 0: not compiled */
    _Atomic bool unloaded;
};

/* What is on a thread's stack, leaf last. */
enum sw_tube_frame_kind { SW_FRAME_MANAGED, SW_FRAME_NATIVE, SW_FRAME_HELPER };

/*
 * regs     Registers in that frame, at its pc: where it will go on. Of a managed frame that has called on, the pc is
 *          the return address of its call.
 * mark     For real threads: where the gate saved them (gate.h).
 */
struct sw_tube_frame {
    enum sw_tube_frame_kind kind;
    struct sw_tube_function *function; /* managed frames */
    const struct sw_tube_code *code;
    char name[48]; /* the others */
    struct sw_regs regs;
    void *mark;
    bool in_catch;
};

enum sw_tube_place { SW_PLACE_STANDS, SW_PLACE_SPINS, SW_PLACE_RUNS };

/*
 * A thread.
 *
 * place    Where it is now; the frames may be read while it stands or spins, or on the thread itself.
 * walks    How many walks of it are going on.
 */
struct sw_tube_thread {
    struct sw_tube *tube;
    size_t index;
    char *name;
    _Atomic uint64_t os_id;
    struct sw_tube_frame frames[SW_TUBE_DEPTH];
    _Atomic unsigned depth;
    _Atomic enum sw_tube_place place;
    _Atomic unsigned walks;
    _Atomic bool ended;
    _Atomic bool ran_managed;
    _Atomic unsigned signalled; /* how many of the walks have stopped it by a signal */
    _Atomic unsigned callbacks; /* how many callbacks of the profiler run on it: they nest */
    _Atomic bool dispatching;   /* a callback of the second pass runs, in which the CLR cannot walk */
    _Atomic unsigned unwound; /* an exception has unwound the frames from this index on; 0: no exception is in flight */
    void *stage;              /* of the stage that carries out its steps */
};

/* ---- the tube ---- */

enum { SW_TUBE_INFO_SLOTS = 115, SW_TUBE_CALLBACK_SLOTS = 98, SW_TUBE_OBJECTS = 4096 };

/* Who has the runtime suspended. */
#define SW_SUSPENDED_BY_PROFILER 1u
#define SW_SUSPENDED_BY_RUNTIME  2u

/* What the test set for a slot, and how often it was called. */
struct sw_tube_slot {
    _Atomic bool overridden;
    _Atomic HRESULT answer;
    _Atomic size_t calls;
};

/*
 * info     The object handed to the profiler: info.c. Its first member is its table.
 * inner    The library's own object, which answers walks and code look-ups.
 * profiler Null: none, or it refused. version: of ICorProfilerCallback, 2 to 11.
 * lock     Held by writers of the lists only, never in a callback.
 */
struct sw_tube {
    struct sw_tube_options options;
    unsigned version;
    enum sw_machine machine;
    pthread_mutex_t lock;
    char problem[512];

    /* Moves of threads and suspensions wait for each other: thread.c, runtime.c. */
    pthread_mutex_t moves;
    pthread_cond_t moved;
    unsigned moving;

    struct sw_list modules, types, functions, threads; /* of the structures above (threads: pointers to them) */
    struct sw_hash types_by_name, functions_by_name;   /* in their module or outer type; in their type */
    size_t core_object, core_canon; /* System.Object and System.__Canon of the core library; 0: there is none */
    struct sw_codemap *codemap;
    struct sw_images *images;
    struct sw_threads *table;
    struct sw_walker walker;
    struct sw_suspender suspender;
    struct sw_inspector inspector;
    struct sw_engine engine;
    struct sw_analysis_cache *analysis_cache;
    struct sw_self_suspender *self_suspender; /* null: threads are simulated */
    struct sw_suspender real;                 /* its functions */
    struct sw_tube_guard *guard;              /* of snapshot.c */
    _Atomic bool looking;                     /* the test itself walks */
    const struct sw_tube_stage *stage;
    void *arena; /* of code.c */

    struct sw_tube_info *info;
    ICorProfilerInfo2 *inner;
    struct sw_tube_slot slots[SW_TUBE_INFO_SLOTS];
    _Atomic DWORD mask_low, mask_high;

    ICorProfilerCallback11 *profiler;
    unsigned profiler_version;
    void *library;
    ULONG references;     /* that the tube holds of the profiler */
    _Atomic bool engaged; /* it is initialised: callbacks are raised */
    _Atomic bool started, initializing, shut_down, detaching, attached, notification_only;
    _Atomic size_t raised[SW_TUBE_CALLBACK_SLOTS];

    /* Enter, leave and tail call hooks, and the mappers of ids; 0: none. */
    unsigned hook_version; /* 1, 2, 3, or 4: 3WithInfo */
    UINT_PTR enter_hook, leave_hook, tailcall_hook;
    FunctionIDMapper *mapper;
    FunctionIDMapper2 *mapper2;
    void *mapper_data;

    _Atomic unsigned suspended; /* SW_SUSPENDED_* */
    _Atomic unsigned faults[SW_TUBE_FAULT_COUNT];

    struct sw_tube_conduct *conduct;
    struct sw_tube_record *record;
    struct sw_tube_signals *signals; /* null: no profiler is there */
    _Atomic size_t next_object;
    _Atomic size_t object_types[SW_TUBE_OBJECTS]; /* of the newest objects; older ones have been collected */
};

/* ---- doors ---- */

/* Each part of a tube is made and freed by its room; all of them can be freed when they were never made. */
enum sw_status sw_tube_engine_create(struct sw_tube *tube);  /* engine.c */
enum sw_status sw_tube_engine_refresh(struct sw_tube *tube); /* after a library was loaded */
void sw_tube_engine_destroy(struct sw_tube *tube);
enum sw_status sw_tube_guard_create(struct sw_tube *tube); /* snapshot.c */
void sw_tube_guard_destroy(struct sw_tube *tube);
void sw_tube_world_free(struct sw_tube *tube); /* world.c */
void sw_tube_unload(struct sw_tube *tube);     /* load.c: releases the profiler, and closes its library */

/*
 * runtime.c: a thread of the profiler that samples just now resumes soon: the runtime waits for that, for a second, as
 * .NET's own thread would. Returns  Whether it has not.
 */
bool sw_tube_is_left_suspended(const struct sw_tube *tube);

/* Writes an output that the caller may do without. */
#define SW_OUT(pointer, value)                                                                                         \
    do {                                                                                                               \
        if (pointer)                                                                                                   \
            *(pointer) = (value);                                                                                      \
    } while (0)

/* Notes the first problem, as printf; later ones are dropped. Returns `status`. */
enum sw_status sw_tube_problem_set(struct sw_tube *tube, enum sw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* world.c: a new object of a type; its type again: null for what is no object, or is too old. */
ObjectID sw_tube_object(struct sw_tube_type *type);
struct sw_tube_type *sw_tube_object_type(const struct sw_tube *tube, ObjectID id);
/* The elements by id; null: not one of them, or gone. */
struct sw_tube_module *sw_tube_module_of(const struct sw_tube *tube, ModuleID id);
struct sw_tube_type *sw_tube_type_of(const struct sw_tube *tube, ClassID id);
struct sw_tube_function *sw_tube_function_of(const struct sw_tube *tube, FunctionID id);
struct sw_tube_thread *sw_tube_thread_of(const struct sw_tube *tube, ThreadID id);
/* A type by its name in a module, made if it is not there; outer types too. */
struct sw_tube_type *sw_tube_type_named(struct sw_tube_module *module, const char *name);
/* The same for who holds tube->lock already. */
struct sw_tube_type *sw_tube_type_named_locked(struct sw_tube_module *module, const char *name);
/* ClassLoadStarted and ClassLoadFinished, the first time. */
void sw_tube_type_announce(struct sw_tube_type *type);
/* How many generic parameters it has, with those of its outer types. */
unsigned sw_tube_type_parameters(const struct sw_tube_type *type);
/* The type it is nested in, or derives from; null: none. */
struct sw_tube_type *sw_tube_type_outer(const struct sw_tube_type *type);
struct sw_tube_type *sw_tube_type_parent(const struct sw_tube_type *type);
/* By row, from 1; null: no such row. */
struct sw_tube_type *sw_tube_type_at(const struct sw_tube_module *module, uint32_t row);
struct sw_tube_function *sw_tube_function_at(const struct sw_tube_module *module, uint32_t row);
/* The name of a module's assembly, "Demo": without the extension. */
void sw_tube_assembly_name(const struct sw_tube_module *module, char *text, size_t size);
/* Writes "Demo.Program.Main" with a terminator, cut to size. */
void sw_tube_function_name(const struct sw_tube_function *function, char *text, size_t size);

/* thread.c: the tube's thread that makes this call; null: another. */
struct sw_tube_thread *sw_tube_current(const struct sw_tube *tube);

/*
 * events.c: raises a callback if the profiler has it, wants it and is not shut down; `id` is what the recording shows
 * of its arguments (0: nothing).
 *
 *     SW_RAISE(tube, JITCompilationStarted, id, id, TRUE);
 */
#define SW_CB(name) (offsetof(ICorProfilerCallback11Vtbl, name) / sizeof(void *))
#define SW_RAISE(tube, name, id, ...)                                                                                  \
    do {                                                                                                               \
        if (sw_tube_raise_begin(tube, SW_CB(name), id))                                                                \
            sw_tube_raise_end(tube, SW_CB(name),                                                                       \
                              (tube)->profiler->lpVtbl->name((tube)->profiler __VA_OPT__(, ) __VA_ARGS__));            \
    } while (0)
bool sw_tube_raise_begin(struct sw_tube *tube, size_t slot, UINT_PTR id);
void sw_tube_raise_end(struct sw_tube *tube, size_t slot, HRESULT hr);
/* The slot of the callback that runs on this OS thread, 0 for none; and its name. */
size_t sw_tube_in_callback(void);
const char *sw_tube_callback_name(size_t slot);
/* Whether calls that may trigger a GC are forbidden in a callback. */
bool sw_tube_forbids_gc(size_t slot);

/* info.c */
#define SW_SLOT(name) (offsetof(ICorProfilerInfo15Vtbl, name) / sizeof(void *))
enum sw_status sw_tube_info_create(struct sw_tube *tube);
void sw_tube_info_destroy(struct sw_tube *tube);
/* Reports enumerators and metadata that the profiler has not released. At shutdown, and after a detach. */
void sw_tube_report_leaks(struct sw_tube *tube);
const char *sw_tube_slot_name(size_t slot);
/* Whether this OS thread has called InitializeCurrentThread, which does what a first walk is for (D25, D26). */
bool sw_tube_is_initialized(const struct sw_tube *tube);

/*
 * metadata.c: GetModuleMetaData's object: one for each module, made when it is first asked for. As ICorProfilerInfo
 * answers (metadata-abi.md section 6). sw_tube_metadata_leaks: how many references of the profiler are left.
 */
HRESULT sw_tube_metadata(struct sw_tube_module *module, DWORD flags, const IID *iid, IUnknown **out);
size_t sw_tube_metadata_leaks(const struct sw_tube *tube);
void sw_tube_metadata_free(struct sw_tube *tube);

/*
 * snapshot.c: DoStackSnapshot, with faults, rules of conduct and guarded frames. frame_function: the function of a
 * frameInfo of the callback that runs on this OS thread; 0 with *live false: a stale or foreign one, which is reported.
 */
HRESULT sw_tube_snapshot(struct sw_tube *tube, ThreadID thread, StackSnapshotCallback *callback, ULONG32 info_flags,
                         void *client_data, BYTE context[], ULONG32 context_size);
FunctionID sw_tube_frame_function(struct sw_tube *tube, COR_PRF_FRAME_INFO frame_info, bool *live);

/* lifetime.c: ends all threads, and tells the profiler of the runtime's shutdown. */
void sw_tube_end_all(struct sw_tube *tube);

/*
 * hook.c: calls the enter or leave hook for the managed frame on top of a simulated thread; real code does it itself.
 * Slow ones, which get information, real code calls by sw_tube_slow_*; in_hook: this OS thread is in one.
 */
void sw_tube_hook(struct sw_tube_thread *thread, bool enters);
bool sw_tube_hooks_are_slow(const struct sw_tube *tube);
void sw_tube_slow_enter(UINT_PTR client, UINT_PTR info);
void sw_tube_slow_leave(UINT_PTR client, UINT_PTR info);
bool sw_tube_in_hook(void);

/* compile.c: makes a function's code, with the callbacks of a compilation, on this OS thread. */
HRESULT sw_tube_make_code(struct sw_tube_function *function, ReJITID rejit);

/* runtime.c: SuspendRuntime, ResumeRuntime and ForceGC as the profiler calls them. */
HRESULT sw_tube_force_gc(struct sw_tube *tube);
/* Whether a fault happens now: it is counted down. */
bool sw_tube_fault_takes(struct sw_tube *tube, enum sw_tube_fault fault);
HRESULT sw_tube_profiler_suspends(struct sw_tube *tube);
HRESULT sw_tube_profiler_resumes(struct sw_tube *tube);

/* conduct.c: notes a rule broken in the call that runs on this OS thread. Any thread; as printf. */
enum sw_status sw_tube_conduct_create(struct sw_tube *tube);
void sw_tube_conduct_destroy(struct sw_tube *tube);
void sw_tube_broke(struct sw_tube *tube, enum sw_tube_rule rule, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/*
 * signals.c: the mask of this OS thread, by signal - 1, and whether a call left it as it was; the handlers of the
 * signals that are the runtime's, before Initialize and after Shutdown.
 */
uint64_t sw_tube_signal_mask(void);
void sw_tube_check_mask(struct sw_tube *tube, const char *call, uint64_t before);
void sw_tube_signals_note(struct sw_tube *tube);
void sw_tube_signals_check(struct sw_tube *tube);
/* The annotated lock that this OS thread holds; null: none. */
const char *sw_tube_lock_held(void);
/* A rule by its name. Marks what was broken of it as expected; returns how often that was. */
bool sw_tube_rule_named(const char *name, enum sw_tube_rule *rule);
uint64_t sw_tube_conduct_expect(struct sw_tube *tube, enum sw_tube_rule rule);

/*
 * record.c: lines of the recording. Ids are written as names, so that two recordings can be compared: begin, any number
 * of fields, end. One at a time for each OS thread.
 */
enum sw_status sw_tube_record_create(struct sw_tube *tube);
void sw_tube_record_destroy(struct sw_tube *tube);
void sw_tube_record_begin(struct sw_tube *tube, const char *kind, const char *name);
void sw_tube_record_text(struct sw_tube *tube, const char *key, const char *text);
void sw_tube_record_number(struct sw_tube *tube, const char *key, uint64_t number);
void sw_tube_record_id(struct sw_tube *tube, const char *key, UINT_PTR id);
void sw_tube_record_hr(struct sw_tube *tube, HRESULT hr);
void sw_tube_record_end(struct sw_tube *tube);
/* A step, callback or call begins on this thread: options.entered. It is not a line of the recording. */
void sw_tube_entered(struct sw_tube *tube, const char *kind, const char *name);
/* The name of an id of any kind, also of what is gone; "unknown". Cut to size, with a terminator. */
void sw_tube_id_name(const struct sw_tube *tube, UINT_PTR id, char *text, size_t size);

/* The name of an HRESULT (sw_hresult_name), or "0x80131fff" in `text`. */
const char *sw_tube_hresult_text(HRESULT hr, char text[16]);

#endif
