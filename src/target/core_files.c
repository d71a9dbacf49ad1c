/*
 * The files of a core: whether one that was found is the one that was mapped. Refuses to know where files come from.
 */
#include "target/core.h"

#include "base/bytes.h"
#include "base/magic.h"
#include "base/memory.h"
#include "pe/pe.h"

#include <string.h>

enum { IMAGE_BEGIN = 1 << 16 };

const char *sw_core_file_state_name(enum sw_core_file_state state)
{
    static const char *const names[] = { "missing", "other", "bad", "unchecked", "checked" };
    _Static_assert(sizeof names / sizeof names[0] == SW_CORE_FILE_COUNT, "ORDER sw_core_file_state");
    return (unsigned)state < SW_CORE_FILE_COUNT ? names[state] : "?";
}

bool sw_core_get_file(const struct sw_core *core, size_t number, struct sw_core_file *file)
{
    if (!core || !file)
        return false;
    for (size_t i = 0; i < core->file_array.count; i++) {
        if (!core->files[i].is_wanted || number-- > 0)
            continue;
        *file = core->files[i].info;
        return true;
    }
    return false;
}

/*
 * By the bytes where this file has its build id; a capsule has them by themselves, behind a hole. UNCHECKED: there are
 * none.
 */
static enum sw_core_file_state check_build_id(struct sw_core *core, uint64_t begin, struct sw_bytes file)
{
    uint8_t held[SW_CORE_BUILD_ID_MOST];
    const struct sw_memory own = sw_core_own_memory(core);
    const struct sw_bytes id = sw_core_build_id(file);
    if (id.size == 0 ||
        sw_memory_read(&own, begin + (uint64_t)(id.bytes - file.bytes), held, (size_t)id.size) != id.size)
        return SW_CORE_FILE_UNCHECKED;
    return memcmp(held, id.bytes, (size_t)id.size) == 0 ? SW_CORE_FILE_CHECKED : SW_CORE_FILE_OTHER;
}

/*
 * held: from the image's first byte on, which is at `begin`. Of a PE file what is behind its headers is not mapped with
 * them: Wine fills their page up with zeros.
 */
static enum sw_core_file_state check_first_page(struct sw_core *core, uint64_t begin, struct sw_bytes held,
                                                struct sw_bytes file)
{
    enum { PAGE = 4096 };
    const enum sw_core_file_state known = check_build_id(core, begin, file);
    if (known != SW_CORE_FILE_UNCHECKED)
        return known;
    const uint32_t headers = sw_pe_headers_size(file);
    const uint64_t most = headers && headers < PAGE ? headers : PAGE;
    const uint64_t whole = file.size < most ? file.size : most, size = held.size < whole ? held.size : whole;
    if (memcmp(held.bytes, file.bytes, (size_t)size) != 0)
        return SW_CORE_FILE_OTHER;
    return size == whole ? SW_CORE_FILE_CHECKED : SW_CORE_FILE_UNCHECKED;
}

static enum sw_core_file_state check_dynamic(struct sw_core *core, const struct sw_core_headers *headers,
                                             const struct sw_core_mapped *file)
{
    const struct sw_memory own = sw_core_own_memory(core);
    struct sw_core_header header;
    uint64_t base;
    if (!sw_core_link_base(headers, &base))
        return SW_CORE_FILE_BAD;
    const uint64_t bias = file->info.address - base;
    if (file->dynamic != 0 &&
        (!sw_core_find_header(headers, SW_CORE_DYNAMIC, &header) || header.address + bias != file->dynamic))
        return SW_CORE_FILE_OTHER;
    switch (sw_core_dynamic_check(headers, &own, bias)) {
    case SW_OK:
        return SW_CORE_FILE_CHECKED;
    case SW_E_MALFORMED:
        return SW_CORE_FILE_OTHER;
    default:
        return SW_CORE_FILE_UNCHECKED;
    }
}

enum sw_core_file_state sw_core_check_file(struct sw_core *core, const struct sw_core_mapped *file,
                                           struct sw_bytes bytes)
{
    const struct sw_bytes held = sw_core_held_at(core, file->info.address, IMAGE_BEGIN);
    const bool is_pe = bytes.size >= SW_CORE_HEADER_BYTES && sw_begins_pe(bytes);
    struct sw_core_headers headers;
    if (!is_pe && sw_core_headers_read(bytes, &headers) != SW_OK)
        return SW_CORE_FILE_BAD;
    if (!is_pe && headers.machine != core->headers.machine)
        return SW_CORE_FILE_OTHER;
    if (held.size >= SW_CORE_HEADER_BYTES)
        return check_first_page(core, file->info.address, held, bytes);
    return is_pe ? SW_CORE_FILE_UNCHECKED : check_dynamic(core, &headers, file);
}
