/*
 * Any bytes as a file that the process of a core had mapped, behind 8 bytes of its address: what is relocated lies
 * inside it, and in segments that may be written.
 */
#include "target/linux/core.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether some program header holds the offset, in a segment that may be written. */
static bool may_change(struct sw_bytes file, uint64_t offset)
{
    struct sw_core_headers headers;
    struct sw_core_header header;
    if (sw_core_headers_read(file, &headers) != SW_OK)
        return false;
    for (uint64_t n = 0; sw_core_header(&headers, n, &header); n++)
        if (header.type == SW_CORE_LOAD && (header.flags & SW_CORE_WRITE) && offset >= header.offset &&
            offset - header.offset < header.file_size)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t address;
    if (size < sizeof address)
        return 0;
    memcpy(&address, data, sizeof address);
    const size_t length = size - sizeof address;
    uint8_t *bytes = malloc(length ? length : 1);
    if (!bytes)
        return 0;
    memcpy(bytes, data + sizeof address, length);
    sw_core_relocate(bytes, length, address);
    /* The headers may lie in such a segment themselves: then nothing is known of the others. */
    const struct sw_bytes before = { data + sizeof address, length, 0 };
    const bool keeps_headers = length >= 4096 && memcmp(bytes, before.bytes, 4096) == 0;
    for (size_t i = 4096; keeps_headers && i < length; i++)
        if (bytes[i] != before.bytes[i] && !may_change(before, i))
            abort();
    free(bytes);
    return 0;
}
