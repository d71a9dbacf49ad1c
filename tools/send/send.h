/*
 * Sends bytes to a collector, by libcurl: loaded when something is sent for the first time, since a process that is
 * profiled should not have it in vain.
 */
#ifndef SEND_H
#define SEND_H

#include <stdbool.h>
#include <stddef.h>

enum { SEND_MESSAGE = 200 };

/*
 * POSTs an OTLP request in protobuf, and waits for the answer, at most ten seconds.
 *
 * message  Receives what went wrong, one line.
 * Returns  true: the answer was 2xx. Threads: any. Signals: not safe.
 */
bool send_otlp(const char *url, const void *bytes, size_t size, char message[SEND_MESSAGE]);

#endif
