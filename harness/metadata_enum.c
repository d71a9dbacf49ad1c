/*
 * Enumerations: a private copy of tokens and a position behind an HCORENUM. Knows metadata-abi.md section 9. Refuses to
 * know what the tokens are of.
 */
#include "metadata.h"

#include <stdlib.h>
#include <string.h>

struct enumeration {
    struct sw_metadata *metadata;
    ULONG count, at;
    mdToken tokens[];
};

static struct enumeration *create(struct sw_metadata *metadata, sw_metadata_list *list,
                                  const struct sw_metadata_query *query, size_t capacity)
{
    struct enumeration *made = malloc(sizeof *made + capacity * sizeof *made->tokens);
    if (!made)
        return NULL;
    /* What was added since the tokens were counted is left out. */
    const size_t now = list(metadata->module, query, made->tokens, capacity);
    made->metadata = metadata;
    made->count = (ULONG)(now < capacity ? now : capacity);
    made->at = 0;
    atomic_fetch_add(&metadata->enumerations, 1);
    return made;
}

HRESULT sw_metadata_nothing(ULONG *count)
{
    SW_OUT(count, 0);
    return S_FALSE;
}

static HRESULT take(struct enumeration *enumeration, mdToken tokens[], ULONG max, ULONG *count)
{
    const ULONG left = enumeration->count - enumeration->at;
    const ULONG got = tokens ? (max < left ? max : left) : 0;
    if (got)
        memcpy(tokens, enumeration->tokens + enumeration->at, got * sizeof *tokens);
    enumeration->at += got;
    SW_OUT(count, got);
    return got ? S_OK : S_FALSE;
}

HRESULT sw_metadata_enumerate(struct sw_metadata *metadata, HCORENUM *handle, sw_metadata_list *list,
                              const struct sw_metadata_query *query, mdToken tokens[], ULONG max, ULONG *count)
{
    if (!handle)
        return E_INVALIDARG;
    if (!*handle) {
        const size_t capacity = list(metadata->module, query, NULL, 0);
        if (capacity == 0)
            return sw_metadata_nothing(count);
        *handle = create(metadata, list, query, capacity);
        if (!*handle)
            return E_OUTOFMEMORY;
    }
    return take(*handle, tokens, max, count);
}

void sw_metadata_close(HCORENUM handle)
{
    struct enumeration *enumeration = handle;
    if (!enumeration)
        return;
    atomic_fetch_sub(&enumeration->metadata->enumerations, 1);
    free(enumeration);
}

HRESULT sw_metadata_count(HCORENUM handle, ULONG *count)
{
    const struct enumeration *enumeration = handle;
    SW_OUT(count, enumeration ? enumeration->count : 0);
    return S_OK;
}

HRESULT sw_metadata_reset(HCORENUM handle, ULONG position)
{
    struct enumeration *enumeration = handle;
    if (enumeration)
        enumeration->at = position < enumeration->count ? position : enumeration->count;
    return S_OK;
}
