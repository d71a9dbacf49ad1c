/* zlib's deflate with a gzip header (RFC 1952), without a name and a time: equal profiles are equal files. */
#include "gzip.h"

#include <stdlib.h>
#include <zlib.h>

enum { OUT_BYTES = 16384, IN_BYTES = 16384, GZIP_HEADER = 16, MEMORY_LEVEL = 8 };

struct sw_profile_gzip {
    z_stream stream;
    FILE *file;
    bool failed;
    size_t waiting; /* bytes in `in`: small pieces are compressed together */
    uint8_t in[IN_BYTES], out[OUT_BYTES];
};

struct sw_profile_gzip *sw_profile_gzip_open(FILE *file)
{
    struct sw_profile_gzip *gzip = calloc(1, sizeof *gzip);
    if (!gzip)
        return NULL;
    gzip->file = file;
    if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_HEADER, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return gzip;
    free(gzip);
    return NULL;
}

static void compress_waiting(struct sw_profile_gzip *gzip, int flush)
{
    gzip->stream.next_in = gzip->in;
    gzip->stream.avail_in = (uInt)gzip->waiting;
    gzip->waiting = 0;
    do {
        gzip->stream.next_out = gzip->out;
        gzip->stream.avail_out = OUT_BYTES;
        gzip->failed = deflate(&gzip->stream, flush) == Z_STREAM_ERROR || gzip->failed;
        fwrite(gzip->out, 1, OUT_BYTES - gzip->stream.avail_out, gzip->file);
    } while (gzip->stream.avail_out == 0);
}

void sw_profile_gzip_write(struct sw_profile_gzip *gzip, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gzip->in[gzip->waiting++] = bytes[i];
        if (gzip->waiting == IN_BYTES)
            compress_waiting(gzip, Z_NO_FLUSH);
    }
}

bool sw_profile_gzip_close(struct sw_profile_gzip *gzip)
{
    compress_waiting(gzip, Z_FINISH);
    const bool whole = !gzip->failed;
    deflateEnd(&gzip->stream);
    free(gzip);
    return whole;
}

/* The bytes so far; `room` doubles up to `max`. */
struct unpacked {
    uint8_t *bytes;
    size_t size, room, max;
};

static enum sw_profile_gzip_answer make_room(struct unpacked *to)
{
    if (to->size < to->room)
        return SW_PROFILE_GZIP_OK;
    if (to->room == to->max)
        return SW_PROFILE_GZIP_LARGE;
    const size_t wanted = to->room ? to->room * 2 : OUT_BYTES, room = wanted < to->max ? wanted : to->max;
    uint8_t *larger = realloc(to->bytes, room);
    if (!larger)
        return SW_PROFILE_GZIP_MEMORY;
    to->bytes = larger;
    to->room = room;
    return SW_PROFILE_GZIP_OK;
}

/* Until all that was read is taken. `ended`: a member's end was seen, and nothing behind it. */
static enum sw_profile_gzip_answer unpack(z_stream *stream, struct unpacked *to, bool *ended)
{
    while (stream->avail_in) {
        if (*ended && inflateReset(stream) != Z_OK)
            return SW_PROFILE_GZIP_BAD;
        const enum sw_profile_gzip_answer room = make_room(to);
        if (room != SW_PROFILE_GZIP_OK)
            return room;
        const size_t left = to->room - to->size;
        stream->next_out = to->bytes + to->size;
        stream->avail_out = left < UINT32_MAX ? (uInt)left : UINT32_MAX;
        const uInt before = stream->avail_out;
        const int answer = inflate(stream, Z_NO_FLUSH);
        to->size += before - stream->avail_out;
        *ended = answer == Z_STREAM_END;
        if (answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR)
            return answer == Z_MEM_ERROR ? SW_PROFILE_GZIP_MEMORY : SW_PROFILE_GZIP_BAD;
    }
    return SW_PROFILE_GZIP_OK;
}

enum sw_profile_gzip_answer sw_profile_gunzip(FILE *file, size_t max_bytes, uint8_t **bytes, size_t *size)
{
    z_stream stream = { 0 };
    struct unpacked to = { .max = max_bytes };
    uint8_t in[IN_BYTES];
    bool ended = false;
    enum sw_profile_gzip_answer answer = SW_PROFILE_GZIP_OK;
    if (inflateInit2(&stream, MAX_WBITS + GZIP_HEADER) != Z_OK)
        return SW_PROFILE_GZIP_MEMORY;
    for (size_t read; answer == SW_PROFILE_GZIP_OK && (read = fread(in, 1, sizeof in, file)) > 0;) {
        stream.next_in = in;
        stream.avail_in = (uInt)read;
        answer = unpack(&stream, &to, &ended);
    }
    inflateEnd(&stream);
    if (answer == SW_PROFILE_GZIP_OK && !ended)
        answer = SW_PROFILE_GZIP_BAD;
    if (answer != SW_PROFILE_GZIP_OK) {
        free(to.bytes);
        return answer;
    }
    *bytes = to.bytes;
    *size = to.size;
    return answer;
}
