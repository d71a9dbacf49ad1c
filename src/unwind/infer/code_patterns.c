/*
 * The machine's code patterns, asked of an unwind request: its code by the fetch interface, its memory by its reader.
 * Knows no encodings.
 */
#include "unwind/infer/code_patterns.h"

bool sw_call_before(const struct sw_unwind_request *req, uint64_t after, uint64_t *target, uint64_t *slot)
{
    struct sw_code code;
    *target = *slot = 0;
    return sw_code_of(req, &code) && code.arch->patterns->call_before(&code, after, target, slot);
}

bool sw_is_behind_call(const struct sw_unwind_request *req, uint64_t after, uint64_t *target)
{
    uint64_t slot;
    *target = 0;
    if (!sw_call_before(req, after, target, &slot))
        return false;
    if (slot && !sw_memory_word(&req->walker->memory, slot, target))
        *target = 0;
    *target = sw_code_address(req->walker, *target);
    return true;
}

bool sw_goes_through(const struct sw_unwind_request *req, uint64_t at, uint64_t *slot)
{
    struct sw_code code;
    return sw_code_of(req, &code) && code.arch->patterns->goes_through(&code, at, slot);
}

size_t sw_loaded_before(const struct sw_unwind_request *req, uint64_t after, uint64_t addresses[SW_LOADED_MOST])
{
    uint8_t bytes[SW_LOADED_BYTES];
    const struct sw_memory *memory = &req->walker->memory;
    const uint64_t begin = after - SW_LOADED_BYTES;
    struct sw_code code;
    if (after < SW_LOADED_BYTES || sw_memory_read(memory, begin, bytes, sizeof bytes) != sizeof bytes ||
        !sw_code_of(req, &code))
        return 0;
    return code.arch->patterns->loaded(memory, bytes, begin, addresses);
}
