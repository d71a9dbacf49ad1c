/*
 * How the memory of a target is read. Everything that a walk reads of its target goes through one of these.
 */
#ifndef SNAPWALK_MEMORY_H
#define SNAPWALK_MEMORY_H

#include <snapwalk/status.h>

/*
 * A reader of target memory.
 *
 * read    Copies up to `size` bytes at `address` to `to` and returns how many bytes from the start were copied
 *         (0 when the first is unreadable; fewer than size when readable memory ends). Must not fault, whatever
 *         the address. May be null when the window is enough. Called from walks: signal safe if they are to be.
 * arg     Borrowed; handed to read.
 * window  Optional: bytes[0] is the byte at address `begin`, and all of [begin, end) may be loaded directly as
 *         long as the walk lasts (own stack inside its bounds, or a bulk copy of another one's). Empty when
 *         begin == end. It is a fast path only: where both could answer they must agree.
 */
struct sw_memory {
    size_t (*read)(void *arg, uint64_t address, void *to, size_t size);
    void *arg;
    struct sw_window {
        uint64_t begin;
        uint64_t end;
        const uint8_t *bytes;
    } window;
};

#endif
