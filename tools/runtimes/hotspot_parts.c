/*
 * The parts of a blob of code, which are described by addresses or by offsets (hotspot_tables.h).
 *
 * Source: OpenJDK 17 and 25, src/hotspot/share/code: codeBlob.hpp, compiledMethod.hpp, nmethod.hpp.
 */
#include "hotspot_parts.h"

static bool add_int(const struct hotspot *h, const struct blob *blob, enum hotspot_field field, uint64_t *address)
{
    uint32_t offset;
    if (!get_int(h, blob->address + field_of(h, field), &offset) || offset > INT32_MAX)
        return false;
    *address += offset;
    return true;
}

static bool get_address(const struct hotspot *h, const struct blob *blob, enum hotspot_field field, uint64_t *address)
{
    return get_word(h, blob->address + field_of(h, field), address);
}

bool hotspot_extent(const struct hotspot *h, struct blob *blob)
{
    blob->begin = blob->end = blob->address;
    if (h->fields.has_offsets)
        return add_int(h, blob, HOTSPOT_BLOB_CODE_OFFSET, &blob->begin) &&
               add_int(h, blob, HOTSPOT_BLOB_DATA_OFFSET, &blob->end);
    return get_address(h, blob, HOTSPOT_BLOB_CODE_BEGIN, &blob->begin) &&
           get_address(h, blob, HOTSPOT_BLOB_CODE_END, &blob->end);
}

bool hotspot_complete(const struct hotspot *h, const struct blob *blob, uint32_t *bytes)
{
    const uint64_t at = blob->address + field_of(h, HOTSPOT_BLOB_FRAME_COMPLETE);
    uint16_t half;
    if (!h->fields.has_offsets)
        return get_int(h, at, bytes) && *bytes <= INT32_MAX;
    if (!peek(&h->memory, at, &half, sizeof half) || half > INT16_MAX)
        return false;
    *bytes = half;
    return true;
}

static bool parts_by_addresses(const struct hotspot *h, const struct blob *blob, struct method_parts *parts)
{
    parts->descs = parts->descs_end = parts->metadata = blob->address;
    return add_int(h, blob, HOTSPOT_NMETHOD_PCS, &parts->descs) &&
           add_int(h, blob, HOTSPOT_NMETHOD_PCS_END, &parts->descs_end) &&
           get_address(h, blob, HOTSPOT_COMPILED_SCOPES, &parts->scopes) &&
           add_int(h, blob, HOTSPOT_NMETHOD_METADATA, &parts->metadata) &&
           get_address(h, blob, HOTSPOT_COMPILED_DEOPT, &parts->deopt);
}

/* Scopes follow the descriptions, metadata the relocations. */
static bool parts_by_offsets(const struct hotspot *h, const struct blob *blob, struct method_parts *parts)
{
    uint64_t data;
    if (!get_address(h, blob, HOTSPOT_NMETHOD_IMMUTABLE, &data) ||
        !get_address(h, blob, HOTSPOT_BLOB_MUTABLE, &parts->metadata))
        return false;
    parts->descs = parts->descs_end = data;
    parts->deopt = blob->address;
    if (!add_int(h, blob, HOTSPOT_NMETHOD_PCS, &parts->descs) ||
        !add_int(h, blob, HOTSPOT_NMETHOD_SCOPES_OFFSET, &parts->descs_end) ||
        !add_int(h, blob, HOTSPOT_BLOB_RELOCATION_BYTES, &parts->metadata) ||
        !add_int(h, blob, HOTSPOT_NMETHOD_DEOPT_OFFSET, &parts->deopt))
        return false;
    parts->scopes = parts->descs_end;
    return true;
}

bool hotspot_method_parts(const struct hotspot *h, const struct blob *blob, struct method_parts *parts)
{
    return h->fields.has_offsets ? parts_by_offsets(h, blob, parts) : parts_by_addresses(h, blob, parts);
}
