/*
 * Modes that the runtime tells of: allocations, exceptions, contended locks. It calls on the thread that they happen
 * to, which walks itself there and then.
 */
#ifndef PROFILER_EVENTS_H
#define PROFILER_EVENTS_H

#include "sample.h"

/* Starts what `modes` asks for. False: the runtime refuses (before .NET 5, or no such event). Signals: not safe. */
bool events_start(ICorProfilerInfo12 *info, unsigned modes);
void events_stop(ICorProfilerInfo12 *info);

/* The runtime's version: 8, 9, 10. */
USHORT events_runtime(ICorProfilerInfo12 *info);

/* EventPipeEventDelivered. */
void events_delivered(DWORD id, LPCBYTE data, ULONG size);

/* What an event says, as a sample. False: an event of another kind, or not as long as it should be. */
bool events_read(DWORD id, LPCBYTE data, ULONG size, struct sample *sample);

#endif
