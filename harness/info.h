/*
 * The rooms behind info.c: the object that the profiler gets, the gateway that each of its methods goes through, and
 * the methods by subject. A method that serves a slot is sw_info_<slot>, with the slot's own parameters; it may rely on
 * the gateway's checks, and leaves outputs alone where it fails, as the CLR does.
 */
#ifndef SW_HARNESS_INFO_H
#define SW_HARNESS_INFO_H

#include "text.h"
#include "tube.h"

#define SW_E_INSUFFICIENT_BUFFER ((HRESULT)0x8007007au) /* HRESULT_FROM_WIN32(ERROR_INSUFFICIENT_BUFFER) */
#define SW_E_ENVVAR_NOT_FOUND    ((HRESULT)0x800700cbu) /* HRESULT_FROM_WIN32(ERROR_ENVVAR_NOT_FOUND) */

/* ---- the object ---- */

/*
 * lock         Held by writers of the lists and of `enumerators`.
 * enumerators  Those that have references.
 * variables    Of struct sw_variable: the runtime's own copy of the environment, as far as it has been changed. The
 *              newest of a name counts.
 * providers    Of char *: EventPipe providers' names.  events  of char *: null; they are only counted.
 * sessions     Of _Atomic bool: whether it goes on.
 * lenient      Of pid_t: OS threads that have forced a GC.
 * bodies       Of void *: IL that the profiler allocated.
 */
struct sw_tube_info {
    ICorProfilerInfo15 com; /* first: the object's address is the interface's */
    struct sw_tube *tube;
    pthread_mutex_t lock;
    struct sw_enumerator *enumerators;
    struct sw_list variables, providers, events, sessions, bodies, lenient;
    IMethodMalloc allocator; /* of bodies: info_il.c */
    _Atomic bool rejit_was_enabled;
};

struct sw_variable {
    char *name, *value; /* value null: removed */
};

static inline struct sw_tube_info *sw_info_of(ICorProfilerInfo15 *com)
{
    return (struct sw_tube_info *)com;
}
static inline struct sw_tube *sw_info_tube(ICorProfilerInfo15 *com)
{
    return sw_info_of(com)->tube;
}

/* ---- the gateway: info_call.c ---- */

/* Where a slot may be called. Source: dotnet/runtime src/coreclr/vm/proftoeeinterfaceimpl.cpp, the entry macros. */
#define SW_RULE_SYNC    1u  /* not on a managed thread outside all callbacks */
#define SW_RULE_GC      2u  /* may trigger a GC */
#define SW_RULE_INIT    4u  /* in Initialize only */
#define SW_RULE_START   8u  /* not for a profiler that was attached */
#define SW_RULE_REFUSED 16u /* where a GC is forbidden it is refused; without this it is only reported */
#define SW_RULE_NOWHERE 32u /* E_NOTIMPL in the CLR too */
#define SW_RULE_MAIN    64u /* not for a profiler that only listens (LoadAsNotificationOnly) */

/* What an argument is: info_slots.h. */
enum sw_argument_kind {
    SW_ARG_NONE,
    SW_ARG_ID,
    SW_ARG_NUMBER,
    SW_ARG_TEXT,
    SW_ARG_GUID,
    SW_ARG_OUT,
    SW_ARG_OUT_ID,
    SW_ARG_OUT_POINTER,
    SW_ARG_BUFFER,
    SW_ARG_ARRAY
};

/*
 * id       Of ids: their kind.
 * value    Of ids and numbers.  pointer  of the others.
 * size     Of outputs: of one element, in bytes.  capacity: how many there is room for.
 */
struct sw_argument {
    const char *name;
    enum sw_argument_kind kind;
    enum sw_tube_kind id;
    uint64_t value;
    const void *pointer;
    size_t size, capacity;
};

/* One call of a slot. The arguments end with one without a name. */
struct sw_call {
    struct sw_tube *tube;
    size_t slot;
    uint32_t rules;
    const struct sw_argument *arguments;
};

/* Counts and checks a call. False: it is answered, with *hr and cleared outputs. */
bool sw_call_begin(struct sw_call *call, HRESULT *hr);
/* Nobody serves the slot: E_NOTIMPL with cleared outputs, reported the first time. */
HRESULT sw_call_unserved(struct sw_call *call);
/* Records the call. Returns hr. */
HRESULT sw_call_end(const struct sw_call *call, HRESULT hr);
/* ForceGC has succeeded on this OS thread: what is SYNC may be called on it anywhere. */
void sw_call_lenient(struct sw_tube_info *info);

/* ---- enumerators: info_enum.c ---- */

enum sw_enumerator_kind { SW_ENUM_MODULES, SW_ENUM_FUNCTIONS, SW_ENUM_THREADS, SW_ENUM_OBJECTS };

/* Makes one for `count` elements, with one reference, and finds where they go. Null: no memory. */
struct sw_enumerator *sw_enumerator_create(struct sw_tube_info *info, enum sw_enumerator_kind kind, size_t count,
                                           void **items);
/* Fewer than it was made for. */
void sw_enumerator_shorten(struct sw_enumerator *enumerator, size_t count);
/* Reports each that has references left; frees all. */
void sw_enumerators_report(struct sw_tube_info *info);
void sw_enumerators_free(struct sw_tube_info *info);

/* Frees what the allocator of IL bodies gave: info_il.c. */
void sw_info_free_bodies(struct sw_tube_info *info);

/* ---- names ---- */

/* How names are given: the count is the whole need; what does not fit is cut, or refused with an empty name. */
HRESULT sw_info_name_cut(const char *name, WCHAR *to, ULONG size, ULONG *count);
HRESULT sw_info_name_whole(const char *name, WCHAR *to, ULONG size, ULONG *count);

/* ---- what serves the slots ---- */

#define SW_EVERY_INFO_SLOT(SLOT, Self)                                                                                 \
    SW_OWN_SLOTS_ICorProfilerInfo(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo2(SLOT, Self)                               \
        SW_OWN_SLOTS_ICorProfilerInfo3(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo4(SLOT, Self)                          \
            SW_OWN_SLOTS_ICorProfilerInfo5(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo6(SLOT, Self)                      \
                SW_OWN_SLOTS_ICorProfilerInfo7(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo8(SLOT, Self)                  \
                    SW_OWN_SLOTS_ICorProfilerInfo9(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo10(SLOT, Self)             \
                        SW_OWN_SLOTS_ICorProfilerInfo11(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo12(SLOT, Self)        \
                            SW_OWN_SLOTS_ICorProfilerInfo13(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo14(SLOT, Self)    \
                                SW_OWN_SLOTS_ICorProfilerInfo15(SLOT, Self)

/* Declared for all slots; written for those in the table of info.c. */
#define SW_DECLARE_SERVED(Self, result, name, parameters) result STDMETHODCALLTYPE sw_info_##name parameters;
SW_EVERY_INFO_SLOT(SW_DECLARE_SERVED, ICorProfilerInfo15)

#endif
