/*
 * MiniDebugInfo: the section .gnu_debugdata of a stripped file holds another ELF file, compressed by xz, with the
 * symbols (and sometimes the .debug_frame) that were stripped. This file unpacks and opens it, once. Refuses to know
 * what is in it, and looks for no third file inside. Source: GDB manual, "MiniDebugInfo"; the .xz file format 1.2
 * (block index, stream footer); liblzma's lzma/index.h.
 */
#include "elf/internal.h"

#include <snapwalk/limits.h>

#include <lzma.h>

static enum sw_status status_of(lzma_ret ret)
{
    switch (ret) {
    case LZMA_OK:
    case LZMA_STREAM_END:
        return SW_OK;
    case LZMA_MEM_ERROR:
        return SW_E_NO_MEMORY;
    case LZMA_MEMLIMIT_ERROR:
        return SW_E_LIMIT;
    case LZMA_OPTIONS_ERROR:
    case LZMA_UNSUPPORTED_CHECK:
        return SW_E_UNSUPPORTED;
    case LZMA_BUF_ERROR:
        return SW_E_TRUNCATED;
    default:
        return SW_E_MALFORMED;
    }
}

/* Removes the zeros that may follow a stream, four at a time. */
static struct sw_bytes without_padding(struct sw_bytes packed)
{
    while (packed.size >= 4 && sw_load32(packed.bytes + packed.size - 4) == 0)
        packed.size -= 4;
    return packed;
}

/* The unpacked size, by the index at the stream's end. */
static enum sw_status unpacked_size(struct sw_bytes packed, uint64_t *size)
{
    lzma_stream_flags footer;
    lzma_index *index = NULL;
    uint64_t memory = SW_UNPACK_MEMORY;
    if (packed.size < 2 * LZMA_STREAM_HEADER_SIZE)
        return SW_E_TRUNCATED;
    const size_t end = (size_t)packed.size - LZMA_STREAM_HEADER_SIZE;
    lzma_ret ret = lzma_stream_footer_decode(&footer, packed.bytes + end);
    if (ret != LZMA_OK)
        return status_of(ret);
    if (footer.backward_size > end - LZMA_STREAM_HEADER_SIZE)
        return SW_E_MALFORMED;
    size_t at = end - (size_t)footer.backward_size;
    ret = lzma_index_buffer_decode(&index, &memory, NULL, packed.bytes, &at, end);
    if (ret != LZMA_OK)
        return status_of(ret);
    *size = lzma_index_uncompressed_size(index);
    lzma_index_end(index, NULL);
    return SW_OK;
}

/* The claimed size is believed within limits, and the output must have exactly that size. */
static enum sw_status unpack(struct sw_elf *elf, struct sw_bytes packed)
{
    uint64_t size = 0;
    uint64_t memory = SW_UNPACK_MEMORY;
    size_t in = 0;
    size_t out = 0;
    enum sw_status status = unpacked_size(packed, &size);
    if (status != SW_OK)
        return status;
    if (size == 0)
        return SW_E_MALFORMED;
    uint8_t *bytes;
    status = sw_elf_room(elf, size, &bytes);
    if (status != SW_OK)
        return status;
    status = status_of(
        lzma_stream_buffer_decode(&memory, 0, NULL, packed.bytes, &in, (size_t)packed.size, bytes, &out, (size_t)size));
    if (status == SW_OK && (out != size || in != packed.size))
        status = SW_E_MALFORMED;
    if (status == SW_OK)
        elf->unpacked = (struct sw_bytes){ bytes, size, 0 };
    else
        sw_elf_give_back(elf, size, bytes);
    return status;
}

static enum sw_status open_mini(struct sw_elf *elf)
{
    struct sw_bytes packed;
    enum sw_status status = sw_elf_section(elf, ".gnu_debugdata", &packed);
    if (status == SW_OK)
        status = unpack(elf, without_padding(packed));
    if (status != SW_OK)
        return status;
    status = sw_elf_open_bytes(elf->unpacked, &elf->mini);
    if (status != SW_OK) {
        sw_elf_give_back(elf, elf->unpacked.size, elf->unpacked.bytes);
        elf->unpacked = (struct sw_bytes){ 0 };
        return status;
    }
    elf->mini->outer = elf;
    return elf->mini->machine == elf->machine ? SW_OK : SW_E_MALFORMED;
}

struct sw_elf *sw_elf_mini_file(const struct sw_elf *elf, enum sw_status *status)
{
    struct sw_elf *owner = (struct sw_elf *)(uintptr_t)elf;
    if (!elf->is_mini_tried) {
        owner->mini_status = elf->outer ? SW_E_NOT_FOUND : open_mini(owner);
        owner->is_mini_tried = elf->mini_status != SW_E_NO_MEMORY; /* of which there may be more later */
    }
    *status = elf->mini_status;
    return elf->mini_status == SW_OK ? elf->mini : NULL;
}

enum sw_status sw_elf_mini(const struct sw_elf *elf)
{
    enum sw_status status = SW_E_ARGUMENT;
    if (elf)
        (void)sw_elf_mini_file(elf, &status);
    return status;
}
