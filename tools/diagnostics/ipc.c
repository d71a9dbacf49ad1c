/* Little endian throughout. Knows bytes and one socket; nothing of profilers or processes. */
#include "ipc.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { SET_PROFILER = 3, ATTACH = 1, SET_PROCESS = 4, ENABLE_PERF_MAP = 5, DISABLE_PERF_MAP = 6 };
enum { SET_ANSWER = 0xff, ANSWER_OK = 0, ANSWER_ERROR = 0xff, PERF_MAP_ALONE = 3 };

static const char magic[14] = "DOTNET_IPC_V1";

struct writer {
    uint8_t *bytes;
    size_t used;
    bool bad;
};

static void put(struct writer *w, uint64_t value, size_t size)
{
    if (size > IPC_MAX - w->used) {
        w->bad = true;
        return;
    }
    for (size_t i = 0; i < size; i++)
        w->bytes[w->used++] = (uint8_t)(value >> 8 * i);
}

/* A character of UTF-8; at its end *at. -1: it is none. */
static int32_t take_character(const char **at)
{
    static const struct {
        uint8_t mask, lead, more;
        int32_t least;
    } rows[] = { { 0x80, 0, 0, 0 }, { 0xe0, 0xc0, 1, 0x80 }, { 0xf0, 0xe0, 2, 0x800 }, { 0xf8, 0xf0, 3, 0x10000 } };
    const uint8_t *byte = (const uint8_t *)*at;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((*byte & rows[i].mask) != rows[i].lead)
            continue;
        int32_t c = *byte++ & ~rows[i].mask & 0xff;
        for (size_t more = rows[i].more; more > 0; more--, byte++) {
            if ((*byte & 0xc0) != 0x80)
                return -1;
            c = c << 6 | (*byte & 0x3f);
        }
        *at = (const char *)byte;
        return c < rows[i].least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? -1 : c;
    }
    return -1;
}

/* The number of units, with their end, then the units. */
static void put_text(struct writer *w, const char *text)
{
    const size_t count_at = w->used;
    uint32_t units = 1;
    put(w, 0, 4);
    while (*text && !w->bad) {
        const int32_t c = take_character(&text);
        w->bad = w->bad || c < 0;
        if (c >= 0x10000) {
            put(w, 0xd800 | (uint64_t)(c - 0x10000) >> 10, 2);
            put(w, 0xdc00 | (uint64_t)(c & 0x3ff), 2);
            units += 2;
        } else if (c >= 0) {
            put(w, (uint64_t)c, 2);
            units++;
        }
    }
    put(w, 0, 2);
    if (!w->bad)
        for (size_t i = 0; i < 4; i++)
            w->bytes[count_at + i] = (uint8_t)(units >> 8 * i);
}

static struct writer begin(uint8_t message[IPC_MAX], uint8_t set, uint8_t command)
{
    struct writer w = { message, 0, false };
    for (size_t i = 0; i < sizeof magic; i++)
        put(&w, (uint8_t)magic[i], 1);
    put(&w, 0, 2); /* the size, at the end */
    put(&w, set, 1);
    put(&w, command, 1);
    put(&w, 0, 2);
    return w;
}

static size_t end(const struct writer *w)
{
    if (w->bad)
        return 0;
    w->bytes[sizeof magic] = (uint8_t)w->used;
    w->bytes[sizeof magic + 1] = (uint8_t)(w->used >> 8);
    return w->used;
}

size_t ipc_attach(uint8_t message[IPC_MAX], uint32_t timeout_ms, const char *path, const char *data)
{
    struct writer w = begin(message, SET_PROFILER, ATTACH);
    const size_t length = strlen(data);
    w.bad = !*path;
    put(&w, timeout_ms, 4);
    put(&w, 0, 8), put(&w, 0, 8); /* the CLSID, which the runtime only hands on */
    put_text(&w, path);
    put(&w, length, 4);
    for (size_t i = 0; i < length && !w.bad; i++)
        put(&w, (uint8_t)data[i], 1);
    return end(&w);
}

size_t ipc_perf_map(uint8_t message[IPC_MAX], bool on)
{
    struct writer w = begin(message, SET_PROCESS, on ? ENABLE_PERF_MAP : DISABLE_PERF_MAP);
    if (on)
        put(&w, PERF_MAP_ALONE, 4);
    return end(&w);
}

bool ipc_answer(const uint8_t *bytes, size_t size, uint32_t *result)
{
    if (size < IPC_HEADER + 4 || memcmp(bytes, magic, sizeof magic) != 0 || bytes[16] != SET_ANSWER ||
        (bytes[17] != ANSWER_OK && bytes[17] != ANSWER_ERROR) || (bytes[14] | bytes[15] << 8) < IPC_HEADER + 4)
        return false;
    *result = bytes[20] | (uint32_t)bytes[21] << 8 | (uint32_t)bytes[22] << 16 | (uint32_t)bytes[23] << 24;
    return true;
}

/* The runtime closes behind its answer. */
static int receive(int file, uint32_t *result)
{
    uint8_t bytes[IPC_HEADER + 4];
    size_t got = 0;
    while (got < sizeof bytes) {
        const ssize_t more = recv(file, bytes + got, sizeof bytes - got, 0);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return errno == EAGAIN ? ETIMEDOUT : errno;
        if (more == 0)
            return EPROTO;
        got += (size_t)more;
    }
    return ipc_answer(bytes, got, result) ? 0 : EPROTO;
}

/* In one piece: the runtime waits for the rest of a message, and serves nobody meanwhile. */
static int exchange(int file, const char *path, const uint8_t *message, size_t size, unsigned seconds, uint32_t *result)
{
    const struct timeval limit = { (time_t)seconds, 0 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const int room = IPC_MAX * 2;
    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
        setsockopt(file, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0 ||
        connect(file, (const struct sockaddr *)&address, sizeof address) != 0)
        return errno;
    const ssize_t sent = send(file, message, size, MSG_NOSIGNAL);
    if (sent != (ssize_t)size)
        return sent < 0 && errno != EAGAIN ? errno : ETIMEDOUT;
    return receive(file, result);
}

int ipc_call(const char *path, const uint8_t *message, size_t size, unsigned seconds, uint32_t *result)
{
    const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return errno;
    const int problem = exchange(file, path, message, size, seconds, result);
    close(file);
    return problem;
}
