/*
 * .NET's diagnostics protocol, as much of it as attaches a profiler or has a perf map written. Source:
 * diagnostics-ipc.md sections 2 to 4.
 */
#ifndef COMMAND_IPC_H
#define COMMAND_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IPC_MAX = 65535, IPC_HEADER = 20 };

/*
 * The bytes of an attach of the library at `path`, a text in UTF-8, with `data` for its InitializeForAttach.
 *
 * timeout_ms  How long the runtime waits for a collection of its heap that is going on.
 * Returns     How many; 0: too long, or `path` is empty or no UTF-8. A message that is not whole would harm the
 *             process.
 */
size_t ipc_attach(uint8_t message[IPC_MAX], uint32_t timeout_ms, const char *path, const char *data);

/* The bytes that have a perf map begun, with the methods that are there, or ended. Returns  How many. */
size_t ipc_perf_map(uint8_t message[IPC_MAX], bool on);

/* The HRESULT of an answer. False: these bytes are none. */
bool ipc_answer(const uint8_t *bytes, size_t size, uint32_t *result);

/*
 * Sends a message to the socket at `path` and waits for the answer, at most so many seconds.
 *
 * Returns  0; or an errno: ETIMEDOUT, EPROTO (no answer of this protocol), of socket, connect, send, recv.
 */
int ipc_call(const char *path, const uint8_t *message, size_t size, unsigned seconds, uint32_t *result);

#endif
