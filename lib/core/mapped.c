/*
 * The files that a core had mapped: whether a file is the one that was mapped, and which files there are if no note
 * lists them. Source: System V gABI, "Dynamic Section"; ld(1), --build-id; glibc's <link.h>.
 */
#include "core/core.h"

#include "base/memory.h"

#include <string.h>

enum { BUILD_ID = 3, LINKS_MOST = 4096, ENTRIES_MOST = 512 };
enum { TAG_NULL = 0, TAG_DEBUG = 21 };
enum { DEBUG_LIST_AT = 8, LINK_NAME_AT = 8, LINK_DYNAMIC_AT = 16, LINK_NEXT_AT = 24 };

struct sw_bytes sw_core_build_id(struct sw_bytes file)
{
    struct sw_core_headers headers;
    struct sw_core_note note;
    if (sw_core_headers_read(file, &headers) != SW_OK)
        return (struct sw_bytes){ 0 };
    struct sw_core_notes notes = sw_core_notes_over(&headers);
    while (sw_core_notes_next(&notes, &note))
        if (note.type == BUILD_ID && note.owner.size == 4 && memcmp(note.owner.bytes, "GNU", 4) == 0 &&
            note.data.size > 0 && note.data.size <= SW_CORE_BUILD_ID_MOST)
            return note.data;
    return (struct sw_bytes){ 0 };
}

enum sw_status sw_core_dynamic_check(const struct sw_core_headers *file, const struct sw_memory *memory, uint64_t bias)
{
    struct sw_core_header header;
    if (!sw_core_find_header(file, SW_CORE_DYNAMIC, &header))
        return SW_E_NOT_FOUND;
    const struct sw_bytes held = sw_core_held(file, &header);
    struct sw_cursor c = sw_cursor_over(held);
    for (uint64_t at = header.address + bias, n = 0; n < ENTRIES_MOST; at += 16, n++) {
        const uint64_t tag = sw_cursor_u(&c, 8);
        const uint64_t value = sw_cursor_u(&c, 8);
        uint64_t loaded_tag, loaded;
        if (!sw_cursor_ok(&c))
            return n ? SW_OK : SW_E_NOT_FOUND;
        if (!sw_memory_word(memory, at, &loaded_tag) || !sw_memory_word(memory, at + 8, &loaded))
            return SW_E_UNREADABLE;
        if (tag != loaded_tag || (tag != TAG_DEBUG && value != loaded && value + bias != loaded))
            return SW_E_MALFORMED;
        if (tag == TAG_NULL)
            return n ? SW_OK : SW_E_NOT_FOUND;
    }
    return SW_OK;
}

/* The address of the loader's list, or 0. */
static uint64_t debug_address(const struct sw_memory *memory, uint64_t dynamic)
{
    for (unsigned n = 0; n < ENTRIES_MOST; n++, dynamic += 16) {
        uint64_t tag, value;
        if (!sw_memory_word(memory, dynamic, &tag) || !sw_memory_word(memory, dynamic + 8, &value) || tag == TAG_NULL)
            return 0;
        if (tag == TAG_DEBUG)
            return value;
    }
    return 0;
}

struct sw_core_links sw_core_links_over(const struct sw_core_headers *executable, const struct sw_memory *memory,
                                        uint64_t bias)
{
    struct sw_core_links links = { .memory = memory, .left = LINKS_MOST };
    struct sw_core_header header;
    if (!sw_core_find_header(executable, SW_CORE_DYNAMIC, &header))
        return links;
    const uint64_t debug = debug_address(memory, header.address + bias);
    if (debug == 0 || !sw_memory_word(memory, debug + DEBUG_LIST_AT, &links.next))
        links.next = 0;
    return links;
}

bool sw_core_links_next(struct sw_core_links *links, struct sw_core_link *link)
{
    const uint64_t at = links->next;
    if (at == 0 || links->left == 0)
        return false;
    links->left--;
    if (!sw_memory_word(links->memory, at, &link->bias) ||
        !sw_memory_word(links->memory, at + LINK_NAME_AT, &link->name) ||
        !sw_memory_word(links->memory, at + LINK_DYNAMIC_AT, &link->dynamic) ||
        !sw_memory_word(links->memory, at + LINK_NEXT_AT, &links->next))
        return false;
    return true;
}
