/*
 * What this profiler needs of the .NET profiling interface, written down anew: nothing of snapwalk's headers is used, so
 * that what the overlay presents is checked against another reading. Interfaces are abstract classes, as real profilers
 * have them. Slots that are not called are counted only; their order and number are what matters.
 *
 * Source: public documentation of ICorProfilerInfo*, ICorProfilerCallback*; slot numbers of dotnet/runtime corprof.idl.
 */
#ifndef VENDOR_PROFILING_H
#define VENDOR_PROFILING_H

#include <cstdint>

typedef std::int32_t HResult;
typedef std::uintptr_t Id;

struct Guid {
    std::uint32_t a;
    std::uint16_t b, c;
    std::uint8_t d[8];
};

enum : std::uint32_t {
    MonitorModuleLoads = 0x4,
    MonitorJit = 0x20,
    MonitorExceptions = 0x40,
    MonitorThreads = 0x200,
    EnableStackSnapshot = 0x10000000,
};

const HResult Ok = 0;
const HResult NoInterface = static_cast<HResult>(0x80004002);
const HResult NotImplemented = static_cast<HResult>(0x80004001);
const HResult CancelActivation = static_cast<HResult>(0x80131375);
const HResult ClassNotAvailable = static_cast<HResult>(0x80040111);

typedef HResult FrameCallback(Id function, std::uintptr_t ip, std::uintptr_t frame, std::uint32_t contextSize,
                              unsigned char *context, void *data);

class Unknown
{
  public:
    virtual HResult QueryInterface(const Guid &iid, void **object) = 0;
    virtual std::uint32_t AddRef() = 0;
    virtual std::uint32_t Release() = 0;
};

class ClassFactory : public Unknown
{
  public:
    virtual HResult CreateInstance(Unknown *outer, const Guid &iid, void **object) = 0;
    virtual HResult LockServer(int lock) = 0;
};

class ThreadEnumerator : public Unknown
{
  public:
    virtual HResult Skip(std::uint32_t count) = 0;
    virtual HResult Reset() = 0;
    virtual HResult Clone(ThreadEnumerator **copy) = 0;
    virtual HResult GetCount(std::uint32_t *count) = 0;
    virtual HResult Next(std::uint32_t count, Id *threads, std::uint32_t *got) = 0;
};

#define UNUSED(n) virtual HResult unused##n() = 0;
#define UNUSED10(n) \
    UNUSED(n##0) UNUSED(n##1) UNUSED(n##2) UNUSED(n##3) UNUSED(n##4) UNUSED(n##5) UNUSED(n##6) UNUSED(n##7) \
    UNUSED(n##8) UNUSED(n##9)

class Info : public Unknown
{
  public:
    UNUSED(3) UNUSED(4) UNUSED(5)
    virtual HResult GetEventMask(std::uint32_t *events) = 0;
    virtual HResult GetFunctionFromIP(const unsigned char *ip, Id *function) = 0;
    UNUSED(8) UNUSED(9) UNUSED(10) UNUSED(11)
    virtual HResult GetThreadInfo(Id thread, std::uint32_t *osThread) = 0;
    virtual HResult GetCurrentThreadID(Id *thread) = 0;
    UNUSED(14)
    virtual HResult GetFunctionInfo(Id function, Id *type, Id *module, std::uint32_t *token) = 0;
    virtual HResult SetEventMask(std::uint32_t events) = 0;
    UNUSED(17) UNUSED(18) UNUSED(19)
    virtual HResult GetModuleInfo(Id module, const unsigned char **base, std::uint32_t size, std::uint32_t *length,
                                  char16_t *name, Id *assembly) = 0;
    UNUSED(21) UNUSED(22) UNUSED(23) UNUSED(24) UNUSED(25) UNUSED(26) UNUSED(27) UNUSED(28) UNUSED(29)
    UNUSED(30) UNUSED(31) UNUSED(32) UNUSED(33) UNUSED(34) UNUSED(35)
};

class Info2 : public Info
{
  public:
    virtual HResult DoStackSnapshot(Id thread, FrameCallback *callback, std::uint32_t flags, void *data,
                                    unsigned char *context, std::uint32_t contextSize) = 0;
    UNUSED(37) UNUSED(38) UNUSED(39) UNUSED10(4)
    UNUSED(50) UNUSED(51) UNUSED(52) UNUSED(53) UNUSED(54) UNUSED(55) UNUSED(56)
};

class Info10 : public Info2
{
  public:
    UNUSED(57)
    virtual HResult RequestProfilerDetach(std::uint32_t milliseconds) = 0; /* of ICorProfilerInfo3 */
    UNUSED(59) UNUSED10(6)
    UNUSED(70)
    virtual HResult EnumThreads(ThreadEnumerator **threads) = 0; /* of ICorProfilerInfo4 */
    UNUSED(72) UNUSED(73) UNUSED(74) UNUSED(75) UNUSED(76) UNUSED(77) UNUSED(78) UNUSED(79) UNUSED(80)
    virtual HResult GetEventMask2(std::uint32_t *low, std::uint32_t *high) = 0; /* of ICorProfilerInfo5 */
    virtual HResult SetEventMask2(std::uint32_t low, std::uint32_t high) = 0;
    UNUSED(83) UNUSED(84) UNUSED(85) UNUSED(86) UNUSED(87) UNUSED(88) UNUSED(89)
    UNUSED(90) UNUSED(91) UNUSED(92) UNUSED(93) UNUSED(94) UNUSED(95) UNUSED(96)
    virtual HResult SuspendRuntime() = 0;
    virtual HResult ResumeRuntime() = 0;
};

/* Callbacks that were not asked for, or that nothing is done in. */
#define IGNORED(n) \
    virtual HResult ignored##n() \
    { \
        return Ok; \
    }
#define UNASKED(n) \
    virtual HResult unasked##n() \
    { \
        unasked++; \
        return Ok; \
    }

/* ICorProfilerCallback to ICorProfilerCallback9: 95 slots. */
class Callback : public Unknown
{
  public:
    virtual HResult Initialize(Unknown *info) = 0;
    virtual HResult Shutdown() = 0;
    UNASKED(5) UNASKED(6) UNASKED(7) UNASKED(8) UNASKED(9) UNASKED(10) UNASKED(11) UNASKED(12)
    IGNORED(13)
    virtual HResult ModuleLoadFinished(Id module, HResult status) = 0;
    IGNORED(15) IGNORED(16) IGNORED(17)
    UNASKED(18) UNASKED(19) UNASKED(20) UNASKED(21) UNASKED(22)
    virtual HResult JitStarted(Id function, int safe) = 0;
    virtual HResult JitFinished(Id function, HResult status, int safe) = 0;
    UNASKED(25) UNASKED(26)
    IGNORED(27)
    virtual HResult JitInlining(Id caller, Id callee, int *allow) = 0;
    virtual HResult ThreadCreated(Id thread) = 0;
    virtual HResult ThreadDestroyed(Id thread) = 0;
    virtual HResult ThreadAssigned(Id thread, std::uint32_t osThread) = 0;
    UNASKED(32) UNASKED(33) UNASKED(34) UNASKED(35) UNASKED(36) UNASKED(37) UNASKED(38) UNASKED(39) UNASKED(40)
    UNASKED(41) UNASKED(42) UNASKED(43) UNASKED(44) UNASKED(45) UNASKED(46) UNASKED(47) UNASKED(48) UNASKED(49)
    UNASKED(50) UNASKED(51) UNASKED(52) UNASKED(53)
    virtual HResult ExceptionThrown(Id object) = 0;
    virtual HResult SearchFunctionEnter(Id function) = 0;
    virtual HResult SearchFunctionLeave() = 0;
    virtual HResult SearchFilterEnter(Id function) = 0;
    virtual HResult SearchFilterLeave() = 0;
    virtual HResult SearchCatcherFound(Id function) = 0;
    UNASKED(60) UNASKED(61)
    virtual HResult UnwindFunctionEnter(Id function) = 0;
    virtual HResult UnwindFunctionLeave() = 0;
    virtual HResult UnwindFinallyEnter(Id function) = 0;
    virtual HResult UnwindFinallyLeave() = 0;
    virtual HResult CatcherEnter(Id function, Id object) = 0;
    virtual HResult CatcherLeave() = 0;
    UNASKED(68) UNASKED(69) UNASKED(70) UNASKED(71)
    virtual HResult ThreadNameChanged(Id thread, std::uint32_t length, char16_t *name) = 0;
    UNASKED(73) UNASKED(74) UNASKED(75) UNASKED(76) UNASKED(77) UNASKED(78) UNASKED(79)
    virtual HResult InitializeForAttach(Unknown *info, void *data, std::uint32_t size) = 0;
    virtual HResult AttachComplete() = 0;
    virtual HResult DetachSucceeded() = 0;
    IGNORED(83) UNASKED(84) IGNORED(85) UNASKED(86) UNASKED(87) UNASKED(88)
    UNASKED(89) UNASKED(90) UNASKED(91)
    IGNORED(92) IGNORED(93)
    UNASKED(94)

    std::uint32_t unasked = 0;
};

#endif
