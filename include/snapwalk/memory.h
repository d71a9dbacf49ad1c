/*
 * A reader of target memory. A walk reads its target through one of these, and in no other way.
 */
#ifndef SNAPWALK_MEMORY_H
#define SNAPWALK_MEMORY_H

#include <snapwalk/status.h>

/* Bytes that may be loaded directly: bytes[0] is the byte at address `begin`. begin == end: none. */
struct sw_window {
    uint64_t begin;
    uint64_t end;
    const uint8_t *bytes;
};

/*
 * Reads the memory of one target.
 *
 * read    Copies up to `size` bytes from `address` to `to`. Returns how many bytes it copied, counted from the start:
 *         0 if the first byte is unreadable, fewer than `size` where readable memory ends. Must not fault at any
 *         address. May be null if the window is enough. Walks call it, so it must be signal safe if they must be.
 * arg     Passed to read. Borrowed.
 * window  Optional fast path. All of [begin, end) must stay directly loadable until the walk ends: the own stack inside
 *         its bounds, or a copy of another stack. Where both window and read can answer, they must agree.
 */
struct sw_memory {
    size_t (*read)(void *arg, uint64_t address, void *to, size_t size);
    void *arg;
    struct sw_window window;
};

#endif
