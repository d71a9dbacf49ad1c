/* HotSpot's attach protocol, as much of it as has a perf map written. Source: diagnostics-ipc.md section 8. */
#ifndef DIAGNOSTICS_HOTSPOT_H
#define DIAGNOSTICS_HOTSPOT_H

#include <sys/types.h>

/*
 * Has a JVM write /tmp/perf-PID.map, with the code that it has now. That makes it open its attach socket, and start the
 * thread that listens there, unless it has done so before: both stay.
 *
 * folder   Its /tmp, of process_tmp.
 * seconds  How long it may take.
 *
 * Returns  Null; or why not, and what to do.
 */
const char *hotspot_perf_map(pid_t pid, int folder, unsigned seconds);

#endif
