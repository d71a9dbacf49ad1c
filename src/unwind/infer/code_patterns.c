/*
 * The machine's code patterns, asked of an unwind request: its code by the fetch interface, its memory by its reader.
 * Knows no encodings.
 */
#include "unwind/infer/code_patterns.h"

#include <string.h>

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

bool sw_is_behind_system_call(const struct sw_unwind_request *req, uint64_t after)
{
    struct sw_code code;
    return sw_code_of(req, &code) && code.arch->patterns->behind_system_call &&
           code.arch->patterns->behind_system_call(&code, after);
}

bool sw_goes_through(const struct sw_unwind_request *req, uint64_t at, uint64_t *slot)
{
    struct sw_code code;
    return sw_code_of(req, &code) && code.arch->patterns->goes_through(&code, at, slot);
}

static bool copy_code(const struct sw_code *code, uint64_t begin, uint8_t *bytes, size_t size)
{
    for (size_t done = 0, part; done < size; done += part) {
        const uint8_t *from = code->fetch(code->arg, begin + done, &part);
        if (!from || part == 0)
            return false;
        part = part < size - done ? part : size - done;
        memcpy(bytes + done, from, part);
    }
    return true;
}

size_t sw_loaded_before(const struct sw_unwind_request *req, uint64_t after, uint64_t addresses[SW_LOADED_MOST])
{
    uint8_t bytes[SW_LOADED_BYTES];
    const uint64_t begin = after - SW_LOADED_BYTES;
    struct sw_code code;
    if (after < SW_LOADED_BYTES || !sw_code_of(req, &code) || !copy_code(&code, begin, bytes, sizeof bytes))
        return 0;
    return code.arch->patterns->loaded(&req->walker->memory, bytes, begin, addresses);
}
