/*
 * The methods that dispatch exceptions, which a walk hides: found by name in the core library's metadata, told by their
 * tokens. Knows names; refuses to know code.
 *
 * Source: clr-contract.md section 4.
 */
#include "clr/clr.h"
#include "clr/format.h"

static const struct {
    const char *space;
    const char *name;
} types[SW_CLR_DISPATCH_TYPES] = {
    { "System.Runtime", "EH" },
    { "System.Runtime", "StackFrameIterator" },
    { "System.Runtime.ExceptionServices", "InternalCalls" },
};

/* Others may look up meanwhile: a range is empty until its end is there. */
static void set(struct sw_clr_tokens *tokens, uint32_t first, uint32_t end)
{
    tokens->first = first;
    tokens->end = end;
}

static bool is_in(const struct sw_clr_tokens *tokens, uint32_t token)
{
    return token < tokens->end && token >= tokens->first;
}

void sw_clr_find_dispatch(struct sw_clr_image *image)
{
    uint32_t first, end;
    for (unsigned i = 0; i < SW_CLR_DISPATCH_TYPES; i++)
        if (sw_clr_metadata_type(image->metadata, SW_CLR_CORE_LIBRARY, types[i].space, types[i].name, &first, &end) ==
            SW_OK)
            set(&image->dispatch[i], first, end);
}

bool sw_clr_image_has_dispatch(const struct sw_clr_image *image)
{
    for (unsigned i = 0; i < SW_CLR_DISPATCH_TYPES; i++)
        if (image->dispatch[i].end != 0)
            return true;
    return false;
}

bool sw_clr_image_dispatches(const struct sw_clr_image *image, uint32_t token)
{
    for (unsigned i = 0; i < SW_CLR_DISPATCH_TYPES; i++)
        if (is_in(&image->dispatch[i], token))
            return true;
    return false;
}

void sw_clr_image_tell(struct sw_clr_image *composite, const struct sw_clr_image *component)
{
    if (!composite->has_core || component->functions.size != 0)
        return;
    for (unsigned i = 0; i < SW_CLR_DISPATCH_TYPES; i++)
        if (composite->dispatch[i].end == 0 && component->dispatch[i].end != 0)
            set(&composite->dispatch[i], component->dispatch[i].first, component->dispatch[i].end);
}
