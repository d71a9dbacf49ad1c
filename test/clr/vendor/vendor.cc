/*
 * A profiler as vendors write them: a C++ class that implements ICorProfilerCallback9 beside another base, made by a
 * class factory, in a shared library of its own. It looks at stacks in callbacks, from native code that managed code
 * called, and from a thread of its own. It knows nothing of snapwalk.
 */
#include "vendor.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

Info10 *info;

static const Guid unknown_iid = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
static const Guid factory_iid = { 1, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
static const Guid info10_iid = { 0x2f1b5152, 0xc869, 0x40c9, { 0xaa, 0x5f, 0x3a, 0xbe, 0x02, 0x6b, 0xd7, 0x20 } };
static const Guid class_id = { 0x5a1d2b3c, 0x0000, 0x4000, { 0x80, 0, 0, 0, 0, 0, 0, 0x77 } };

/* ICorProfilerCallback to ICorProfilerCallback9. */
static const Guid callback_iids[] = {
    { 0x176fbed1, 0xa55c, 0x4796, { 0x98, 0xca, 0xa9, 0xda, 0x0e, 0xf8, 0x83, 0xe7 } },
    { 0x8a8cc829, 0xccf2, 0x49fe, { 0xbb, 0xae, 0x0f, 0x02, 0x22, 0x28, 0x07, 0x1a } },
    { 0x4fd2ed52, 0x7731, 0x4b8d, { 0x94, 0x69, 0x03, 0xd2, 0xcc, 0x30, 0x86, 0xc5 } },
    { 0x7b63b2e3, 0x107d, 0x4d48, { 0xb2, 0xf6, 0xf6, 0x1e, 0x22, 0x94, 0x70, 0xd2 } },
    { 0x8dfba405, 0x8c9f, 0x45f8, { 0xbf, 0xfa, 0x83, 0xb1, 0x4c, 0xef, 0x78, 0xb5 } },
    { 0xfc13df4b, 0x4448, 0x4f4f, { 0x95, 0x0c, 0xba, 0x8d, 0x19, 0xd0, 0x0c, 0x36 } },
    { 0xf76a2dba, 0x1d52, 0x4539, { 0x86, 0x6c, 0x2a, 0xa5, 0x18, 0xf9, 0xef, 0xc3 } },
    { 0x5bed9b15, 0xc079, 0x4d47, { 0xbf, 0xe2, 0x21, 0x5a, 0x14, 0x0c, 0x07, 0xe0 } },
    { 0x27583ec3, 0xc8f5, 0x482f, { 0x80, 0x52, 0x19, 0x4b, 0x8c, 0xe4, 0x70, 0x5a } },
};

/* How often DllMain was called for the process and for threads. */
static std::atomic<int> attached, threads;

static bool is(const Guid &a, const Guid &b)
{
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

/* Functions of the target: the framework's are compiled at times that differ. */
static bool is_targets(Id function, std::string *name)
{
    *name = function_name(function);
    return name->compare(0, 11, "target.dll!") == 0;
}

static void look_in(const char *callback, Id function)
{
    std::string name;
    if (is_targets(function, &name))
        look(std::string(callback) + " " + name);
}

/* A base of its own in front, so that the interface is not where the object begins. */
class Counted
{
  public:
    virtual ~Counted() = default;
    std::atomic<std::uint32_t> references{ 1 };
};

class Profiler : public Counted, public Callback
{
  public:
    HResult QueryInterface(const Guid &iid, void **object) override
    {
        bool known = is(iid, unknown_iid);
        for (const Guid &version : callback_iids)
            known = known || is(iid, version);
        *object = known ? static_cast<Callback *>(this) : nullptr;
        if (!known)
            return NoInterface;
        AddRef();
        return Ok;
    }
    std::uint32_t AddRef() override
    {
        return ++references;
    }
    std::uint32_t Release() override
    {
        const std::uint32_t left = --references;
        if (left == 0)
            delete this;
        return left;
    }

    HResult Initialize(Unknown *unknown) override
    {
        void *version10 = nullptr;
        const HResult hr = unknown->QueryInterface(info10_iid, &version10);
        if (hr != Ok)
            return hr;
        info = static_cast<Info10 *>(version10);
        record_mask("before");
        look("Initialize, without flag");
        const HResult set = info->SetEventMask2(Mask, 0);
        record_mask("after");
        look("Initialize");
        record("same object\t" + std::to_string(static_cast<void *>(info) == static_cast<void *>(unknown)));
        if (std::getenv("VENDOR_REFUSES")) {
            info = nullptr;
            return CancelActivation;
        }
        record("references\t" + std::to_string(info->AddRef()) + " " + std::to_string(info->Release()));
        sampler_start();
        return set;
    }

    HResult InitializeForAttach(Unknown *unknown, void *, std::uint32_t size) override
    {
        record("attached\t" + std::to_string(size));
        return Initialize(unknown);
    }
    HResult AttachComplete() override
    {
        look("ProfilerAttachComplete");
        return Ok;
    }
    /* Shutdown is not called behind this. */
    HResult DetachSucceeded() override
    {
        record_pause(false);
        record("detached");
        record_end();
        detached();
        return Ok;
    }

    HResult Shutdown() override
    {
        record_pause(false);
        look("Shutdown");
        sampler_end();
        record_mask("end");
        record("refused mask\t" + hex(static_cast<std::uint32_t>(info->SetEventMask2(Mask | Immutable, 0))));
        record_mask("refused");
        info->SetEventMask(Mask & ~EnableStackSnapshot);
        look("Shutdown, without flag");
        record("callbacks not asked for\t" + std::to_string(unasked));
        record("DllMain\t" + std::to_string(attached) + (threads > 0 ? " and threads" : ""));
        record_end();
        return Ok;
    }

    HResult ModuleLoadFinished(Id, HResult) override
    {
        look("ModuleLoadFinished");
        return Ok;
    }
    HResult JitStarted(Id function, int) override
    {
        look_in("JITCompilationStarted", function);
        return Ok;
    }
    HResult JitFinished(Id function, HResult, int) override
    {
        look_in("JITCompilationFinished", function);
        return Ok;
    }
    HResult JitInlining(Id, Id callee, int *) override
    {
        look_in("JITInlining", callee);
        return Ok;
    }
    HResult ThreadCreated(Id thread) override
    {
        thread_new(thread);
        look("ThreadCreated");
        return Ok;
    }
    HResult ThreadDestroyed(Id thread) override
    {
        look("ThreadDestroyed");
        thread_gone(thread);
        return Ok;
    }
    HResult ThreadAssigned(Id, std::uint32_t) override
    {
        look("ThreadAssignedToOSThread");
        return Ok;
    }
    /* The framework names its own threads at times that differ. */
    HResult ThreadNameChanged(Id, std::uint32_t length, char16_t *name) override
    {
        if (length > 6 && std::char_traits<char16_t>::compare(name, u"parked", 6) == 0)
            look("ThreadNameChanged");
        return Ok;
    }

    HResult ExceptionThrown(Id) override
    {
        return in_exception("ExceptionThrown");
    }
    HResult SearchFunctionEnter(Id) override
    {
        return in_exception("ExceptionSearchFunctionEnter");
    }
    HResult SearchFunctionLeave() override
    {
        return in_exception("ExceptionSearchFunctionLeave");
    }
    HResult SearchFilterEnter(Id) override
    {
        return in_exception("ExceptionSearchFilterEnter");
    }
    HResult SearchFilterLeave() override
    {
        return in_exception("ExceptionSearchFilterLeave");
    }
    HResult SearchCatcherFound(Id) override
    {
        return in_exception("ExceptionSearchCatcherFound");
    }
    HResult UnwindFunctionEnter(Id) override
    {
        return in_exception("ExceptionUnwindFunctionEnter");
    }
    HResult UnwindFunctionLeave() override
    {
        return in_exception("ExceptionUnwindFunctionLeave");
    }
    HResult UnwindFinallyEnter(Id) override
    {
        return in_exception("ExceptionUnwindFinallyEnter");
    }
    HResult UnwindFinallyLeave() override
    {
        return in_exception("ExceptionUnwindFinallyLeave");
    }
    HResult CatcherEnter(Id, Id) override
    {
        return in_exception("ExceptionCatcherEnter");
    }
    HResult CatcherLeave() override
    {
        return in_exception("ExceptionCatcherLeave");
    }

  private:
    static constexpr std::uint32_t Mask =
        MonitorModuleLoads | MonitorJit | MonitorExceptions | MonitorThreads | EnableStackSnapshot;
    static constexpr std::uint32_t Immutable = 0x00800000; /* COR_PRF_ENABLE_OBJECT_ALLOCATED */

    HResult in_exception(const char *callback)
    {
        look(callback);
        return Ok;
    }

    static void record_mask(const char *when)
    {
        std::uint32_t events = 0, low = 0, high = 0;
        info->GetEventMask(&events);
        info->GetEventMask2(&low, &high);
        record(std::string("mask ") + when + "\t" + hex(events) + " " + hex(low) + " " + hex(high));
    }
};

class Factory final : public ClassFactory
{
  public:
    HResult QueryInterface(const Guid &iid, void **object) override
    {
        const bool known = is(iid, unknown_iid) || is(iid, factory_iid);
        *object = known ? this : nullptr;
        return known ? Ok : NoInterface;
    }
    std::uint32_t AddRef() override
    {
        return 1;
    }
    std::uint32_t Release() override
    {
        return 1;
    }
    HResult CreateInstance(Unknown *, const Guid &iid, void **object) override
    {
        Profiler *profiler = new Profiler;
        const HResult hr = profiler->QueryInterface(iid, object);
        profiler->Release();
        return hr;
    }
    HResult LockServer(int) override
    {
        return Ok;
    }
};

/* The runtime's loader calls this for the process, then for its threads. */
EXPORT int DllMain(void *, std::uint32_t reason, void *)
{
    attached += reason == 1;
    threads += reason == 2;
    return 1;
}

EXPORT HResult DllGetClassObject(const Guid &clsid, const Guid &iid, void **object)
{
    static Factory factory;
    if (!is(clsid, class_id))
        return ClassNotAvailable;
    return factory.QueryInterface(iid, object);
}
