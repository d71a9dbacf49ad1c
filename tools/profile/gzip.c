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
