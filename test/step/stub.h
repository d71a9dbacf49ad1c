/*
 * The gdb remote serial protocol, as much of it as qemu 7.2's stub for user programs takes: commands, answers, memory
 * not at all. Source: the GDB manual, appendix "Remote Protocol".
 */
#ifndef STEP_STUB_H
#define STEP_STUB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STUB_PACKET = 16384 };

/*
 * A connection. in: what has come and was not taken yet, [begin, end). over: set by a signal handler to end a wait; may
 * be null. answer: the last packet that came, terminated; binary data unescaped.
 */
struct stub {
    int socket;
    const volatile sig_atomic_t *over;
    uint8_t in[STUB_PACKET];
    size_t begin, end;
    char answer[STUB_PACKET];
    size_t size;
};

/* Connects to a socket's path. False: nobody listens there yet. */
bool stub_connect(struct stub *stub, const char *path);
void stub_close(struct stub *stub);

/* Sends a command; waits for the next packet and acknowledges it. False: the other side is gone, or the wait is over.
 */
bool stub_send(struct stub *stub, const char *command);
bool stub_receive(struct stub *stub);

/* Both; and whether the answer is "OK". */
bool stub_ask(struct stub *stub, const char *command);
bool stub_do(struct stub *stub, const char *command);

/* Whether something comes within so many milliseconds. */
bool stub_wait(const struct stub *stub, int milliseconds);

/* `count` numbers of 64 bits, little end first, from hexadecimal digits. False: there are fewer. */
bool stub_words(const char *digits, uint64_t *words, size_t count);

#endif
