/*
 * The profiler from its start to its end: what has to be opened, in which order, and closed again. Calls take turns;
 * not in a handler.
 */
#ifndef PROFILER_LIFE_H
#define PROFILER_LIFE_H

#include <snapwalk/corprof.h>

#include <stdbool.h>
#include <stddef.h>

/* What the command is told. ORDER life_answer: tools/profiler-command/tell.c. */
enum life_answer { LIFE_DONE = 0, LIFE_FAILED = 1, LIFE_UNKNOWN = 2, LIFE_UNWRITABLE = 3 };

/* Starts at the runtime's start, with options from the environment. */
HRESULT life_start(IUnknown *info);

/*
 * Starts in a running process, with options as text. life_attached: ProfilerAttachComplete.
 *
 * problem  Receives LIFE_UNWRITABLE: no file could be written later. Else LIFE_DONE.
 */
HRESULT life_attach(IUnknown *info, const char *text, size_t size, enum life_answer *problem);
void life_attached(void);

/* It was started, and has not ended. */
bool life_is_on(void);

/* A precompiled method was announced: as soon as they are found without, no more of them are. */
void life_searched(void);

/* What the command asks of a running profiler: "start", "stop", "dump", "detach". */
enum life_answer life_command(const char *text, size_t size);

/* The process ends: the last file is written. */
void life_end(void);

/* No event comes any more: what is left is freed. */
void life_detached(void);

/* The runtime's interface; NULL before the start. */
ICorProfilerInfo12 *life_info(void);

#endif
