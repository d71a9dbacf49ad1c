/*
 * A profile in pprof's format from arbitrary bytes, in gzip as files are, written in every format and read once more.
 * Holds: a bound of memory is kept, and what is written has as many samples as were read, or fewer, and none refused.
 */
#include "written.h"

#include <profile/gzip.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *pack(const uint8_t *bytes, size_t count, size_t *size)
{
    char *packed = NULL;
    FILE *file = open_memstream(&packed, size);
    struct sw_profile_gzip *gzip = file ? sw_profile_gzip_open(file) : NULL;
    if (!gzip)
        abort();
    sw_profile_gzip_write(gzip, bytes, count);
    if (!sw_profile_gzip_close(gzip) || fclose(file) != 0)
        abort();
    return packed;
}

static enum sw_profile_status read_packed(char *bytes, size_t size, struct sw_profile **profile, uint64_t *refused)
{
    const struct sw_profile_options options = { .max_bytes = SW_PROFILE_BYTES_MIN };
    FILE *file = fmemopen(bytes, size, "r");
    if (!file)
        abort();
    const enum sw_profile_status status = sw_profile_read_pprof(&options, file, profile, refused);
    fclose(file);
    return status;
}

static void write_all(const struct sw_profile *profile)
{
    static const char *const names[] = { ".otlp", ".speedscope.json", ".html", ".folded" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t size;
        free(write_as(profile, names[i], &size));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_profile *profile, *second;
    struct sw_profile_counts counts, again;
    uint64_t refused, none;
    size_t packed_size, written_size;
    char *packed = pack(data, size, &packed_size);
    const enum sw_profile_status status = read_packed(packed, packed_size, &profile, &refused);
    free(packed);
    if (status != SW_PROFILE_OK)
        return 0;
    sw_profile_get_counts(profile, &counts);
    if (counts.bytes > SW_PROFILE_BYTES_MIN)
        abort();
    write_all(profile);
    char *written = write_as(profile, ".pb.gz", &written_size);
    if (read_packed(written, written_size, &second, &none) != SW_PROFILE_OK || none != 0)
        abort();
    sw_profile_get_counts(second, &again);
    if (again.samples > counts.samples)
        abort();
    sw_profile_destroy(second);
    sw_profile_destroy(profile);
    free(written);
    return 0;
}
