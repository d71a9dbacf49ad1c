/* FunctionID → "Type.Method", by the CLR's metadata. Not for signal handlers. */
#ifndef NAMES_H
#define NAMES_H

#include <snapwalk/corprof.h>

/* name: receives a NUL-terminated string of at most size - 1 bytes; "?" if the CLR does not know it. */
void function_name(ICorProfilerInfo3 *info, FunctionID function, char *name, size_t size);

#endif
