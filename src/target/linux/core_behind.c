/*
 * What is mapped of a file behind its own segments: of a file that is completed with only these are read, but .NET maps
 * the images that a single-file program has within. Knows which parts of the file were mapped; refuses to know what
 * they are. Source: core(5), NT_FILE; System V gABI, chapter 5, PT_LOAD.
 */
#include "target/linux/core.h"
#include "target/linux/os.h"

#include <fcntl.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Where the pages of the last segment end in the file. */
static uint64_t end_of_segments(const struct sw_core_headers *headers)
{
    struct sw_core_header header;
    uint64_t end = 0, last;
    for (uint64_t n = 0; sw_core_header(headers, n, &header); n++)
        if (header.type == SW_CORE_LOAD && sw_add_u64(header.offset, header.file_size, &last) && last > end)
            end = last;
    return end > headers->file.size ? headers->file.size : (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* What cannot be read stays zero. */
void sw_core_read_behind(const struct sw_core *core, size_t file, const char *path, struct sw_bytes bytes)
{
    struct sw_core_headers headers;
    if (sw_core_headers_read(bytes, &headers) != SW_OK)
        return;
    const uint64_t end = end_of_segments(&headers);
    uint64_t left = 2 * bytes.size; /* rows may say the same again and again */
    int fd = -1;
    for (size_t i = 0; i < core->row_array.count; i++) {
        const struct sw_core_row *row = &core->rows[i];
        if (row->file != file || row->offset < end || row->offset >= bytes.size)
            continue;
        const uint64_t room = bytes.size - row->offset,
                       size = row->end - row->begin < room ? row->end - row->begin : room;
        fd = fd < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : fd;
        if (fd < 0 || size > left)
            break;
        left -= size;
        (void)sw_os_read_part(fd, row->offset, (uint8_t *)(uintptr_t)bytes.bytes + row->offset, size);
    }
    if (fd >= 0)
        (void)close(fd);
}
