/*
 * All of snapwalk. Include this header, or only the ones below that you need: each includes what it uses.
 *
 * Core: what it takes to walk a stack of this process, some 45 functions. Read these first, from top to bottom.
 *
 *   status.h          what calls return; the version of the library
 *   alloc.h           the allocator that set-up calls use
 *   memory.h          how the memory of a target is read
 *   regs.h            the registers of a frame, known or unknown
 *   codemap.h         code without an image: the ranges that a JIT or another runtime made
 *   image.h           ELF and PE files with their unwind tables
 *   limits.h          what a file may cost
 *   frame.h           a frame, how it was found, how sure that is; why a walk ended
 *   walk.h            the walker: registers in, frames out
 *   self.h            this process as a target
 *
 * Extra: other targets.
 *
 *   process.h         another process
 *   core.h            a core file
 *   capsule.h         a small core with what a walk needs, written from a process or a core
 *   sim.h             a simulated process, for unit tests
 *   follow.h          modules of this process that come and go (Windows)
 *   fork.h            a child of fork() that goes on with what its parent had
 *   jit.h             a compiler's own unwind data for code that it wrote
 *   context.h         register records of operating systems: ucontext_t, CONTEXT, core notes
 *
 * Extra: faster walks, more names, checks.
 *
 *   here.h            the stack of the caller in one call
 *   names.h           names of functions in a signal handler; symbols by their names
 *   summary.h         a whole walk in one call: pc, sp, source and trust of each frame
 *   cache.h           the rule cache: frames met before take nanoseconds
 *   replay.h          the replay memory: an unchanged stack is compared, not walked
 *   analysis_cache.h  the analysis cache: a function without tables is analysed once
 *   jitdump.h         jitdump files: names, ranges, unwind data
 *   gdb_jit.h         objects that JIT compilers register for gdb: names, ranges, unwind data
 *   perfmap.h         perf maps: names and ranges of JIT code
 *   runtime_kind.h    which runtimes a process or a core has
 *   clr_names.h       names of managed methods, out of the memory of a process that runs CoreCLR
 *   audit.h           the unwind tables of a file, compared with its instructions
 *
 * Extra: the contract of DoStackSnapshot.
 *
 *   snapshot.h        the engine, which answers as ICorProfilerInfo2::DoStackSnapshot does
 *   thread.h          the thread table of an engine
 *   suspend.h         how an engine stops threads; the threads of this process
 *   profiler_info.h   an engine as a COM object, ICorProfilerInfo to ICorProfilerInfo15
 *   clr.h             the CLR of this process, followed by its profiling events
 *   corprof.h         the names, values and tables of the .NET profiling interface
 *   harness.h         a CLR in a test tube, to test profilers against (an archive of its own)
 *
 * Every declaration has a card: what it does, its arguments with units, ranges and owners, and then
 *
 *   Returns  its results and errors        Memory   what it allocates or writes
 *   Threads  which threads may call it     Signals  whether a signal handler may call it
 *   Source   the documents it follows
 */
#ifndef SNAPWALK_SNAPWALK_H
#define SNAPWALK_SNAPWALK_H

/* Core. */
#include <snapwalk/status.h>
#include <snapwalk/alloc.h>
#include <snapwalk/memory.h>
#include <snapwalk/regs.h>
#include <snapwalk/codemap.h>
#include <snapwalk/image.h>
#include <snapwalk/limits.h>
#include <snapwalk/frame.h>
#include <snapwalk/walk.h>
#include <snapwalk/self.h>

/* Extra: targets. */
#include <snapwalk/process.h>
#include <snapwalk/core.h>
#include <snapwalk/capsule.h>
#include <snapwalk/sim.h>
#include <snapwalk/follow.h>
#include <snapwalk/fork.h>
#include <snapwalk/jit.h>
#include <snapwalk/context.h>

/* Extra: speed, names, checks. */
#include <snapwalk/here.h>
#include <snapwalk/names.h>
#include <snapwalk/summary.h>
#include <snapwalk/cache.h>
#include <snapwalk/replay.h>
#include <snapwalk/analysis_cache.h>
#include <snapwalk/gdb_jit.h>
#include <snapwalk/jitdump.h>
#include <snapwalk/perfmap.h>
#include <snapwalk/runtime_kind.h>
#include <snapwalk/clr_names.h>
#include <snapwalk/audit.h>

/* Extra: the contract. */
#include <snapwalk/snapshot.h>
#include <snapwalk/thread.h>
#include <snapwalk/suspend.h>
#include <snapwalk/profiler_info.h>
#include <snapwalk/clr.h>
#include <snapwalk/corprof.h>
#include <snapwalk/harness.h>

#endif
