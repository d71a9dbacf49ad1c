/*
 * Where the runtime's structures have what names are made of, by version. What its descriptor says counts more than
 * what is known beforehand. Knows numbers; refuses to know what they are used for. Source: clr-names.md sections 1 and
 * 2, and sections 3 and 4.
 */
#include "clr/names/names.h"

#include <assert.h>

enum { N = SW_CLR_NONE, D = SW_CLR_DESCRIBED, RELEASES = 3 };

/* ORDER sw_names_field. Columns: 10, 9, 8. D: its descriptor has to say it; N: it need not, or there is none. */
static const struct row {
    const char *type, *field;
    uint16_t known[RELEASES];
} rows[] = {
    { "MethodDesc", "!", { D, 16, 8 } },
    { "MethodDesc", "Flags3AndTokenRemainder", { D, D, 0 } },
    { "MethodDesc", "ChunkIndex", { D, D, 2 } },
    { "MethodDesc", "Flags", { D, D, 6 } },
    { "MethodDescChunk", "!", { D, D, 24 } },
    { "MethodDescChunk", "MethodTable", { D, D, 0 } },
    { "MethodDescChunk", "FlagsAndTokenRange", { D, D, 18 } },
    { "InstantiatedMethodDesc", "PerInstInfo", { D, D, 16 } },
    { "InstantiatedMethodDesc", "Flags2", { D, D, 24 } },
    { "InstantiatedMethodDesc", "NumGenericArgs", { D, D, 26 } },
    { "StoredSigMethodDesc", "Sig", { D, D, 8 } },
    { "StoredSigMethodDesc", "cSig", { D, D, 16 } },
    { "StoredSigMethodDesc", "ExtendedFlags", { D, D, 20 } },
    { "DynamicMethodDesc", "MethodName", { D, D, 24 } },
    { "MethodTable", "MTFlags", { D, D, 0 } },
    { "MethodTable", "MTFlags2", { D, D, 8 } },
    { "MethodTable", "Module", { D, D, 24 } },
    { "MethodTable", "EEClassOrCanonMT", { D, D, 40 } },
    { "MethodTable", "PerInstInfo", { D, D, 48 } },
    { "ArrayClass", "Rank", { D, D, 72 } },
    { "TypeDesc", "TypeAndFlags", { D, D, 0 } },
    { "ParamTypeDesc", "TypeArg", { D, D, 8 } },
    { "TypeVarTypeDesc", "Module", { D, D, 8 } },
    { "TypeVarTypeDesc", "Token", { D, D, 40 } },
    { "FnPtrTypeDesc", "NumArgs", { D, D, N } },
    { "FnPtrTypeDesc", "RetAndArgTypes", { D, D, N } },
    { "Module", "DynamicMetadata", { D, D, 1688 } },
    { "Module", "Base", { D, D, N } },
    { "Module", "PEAssembly", { D, N, 272 } },
    { "PEAssembly", "PEImage", { D, N, 8 } },
    { "PEImage", "LoadedImageLayout", { D, N, 120 } },
    { "PEImageLayout", "Base", { D, N, 8 } },
    { "Module", "Path", { N, N, N } },
    { "PEImage", "Path", { N, N, 16 } },
};
static_assert(sizeof rows / sizeof rows[0] == SW_NAMES_FIELDS, "a row for every field");

/* These define what the fields mean. */
static const struct {
    const char *name;
    uint64_t version;
} contracts[] = { { "RuntimeTypeSystem", 1 }, { "Loader", 1 }, { "EcmaMetadata", 1 } };

static bool take(void *arg, const struct sw_clr_description *about)
{
    struct sw_names *names = arg;
    uint64_t version;
    names->release = sw_clr_described_contract(about, "ExecutionManager", &version) ? 10 : 9;
    names->layout.machine = sw_clr_described_machine(about, "arm64") ? SW_MACHINE_ARM64 : SW_MACHINE_X64;
    for (unsigned i = 0; i < sizeof contracts / sizeof contracts[0]; i++)
        if (!sw_clr_described_contract(about, contracts[i].name, &version) || version != contracts[i].version)
            return false;
    for (unsigned i = 0; i < SW_NAMES_FIELDS; i++) {
        names->at[i] = rows[i].known[10 - names->release];
        if (!sw_clr_described_field(about, rows[i].type, rows[i].field, &names->at[i]) && names->at[i] == D)
            return false;
    }
    return true;
}

void sw_names_known(struct sw_names *names, unsigned release)
{
    names->release = release;
    for (unsigned i = 0; i < SW_NAMES_FIELDS; i++)
        names->at[i] = rows[i].known[10 - release];
}

/* The runtimes that describe no code publish the map of code ranges as the first word of a table for debuggers. */
static enum sw_status take_table(struct sw_names *names, uint64_t base)
{
    uint64_t table;
    const enum sw_status status = sw_names_export(&names->memory, base, "g_dacTable", &table);
    if (status != SW_OK)
        return status;
    return sw_memory_word(&names->memory, table, &names->layout.code) ? SW_OK : SW_E_UNREADABLE;
}

enum sw_status sw_names_open(struct sw_names *names, uint64_t base, const struct sw_alloc *alloc)
{
    struct sw_clr_runtime runtime = { .machine = SW_MACHINE_X64, .system = SW_CLR_UNIX };
    uint64_t table;
    enum sw_status status =
        sw_names_export(&names->memory, base, "DotNetRuntimeContractDescriptor", &runtime.descriptor);
    sw_names_known(names, 8);
    if (status == SW_OK)
        status = sw_clr_layout_describe(&names->memory, runtime.descriptor, alloc, take, names);
    else if (status == SW_E_NOT_FOUND)
        status = sw_names_export(&names->memory, base, "g_dacTable", &table);
    if (status != SW_OK)
        return status;
    runtime.major = names->release;
    runtime.machine = names->release == 8 ? SW_MACHINE_X64 : names->layout.machine;
    status = sw_clr_layout_read(&names->memory, &runtime, alloc, &names->layout);
    return status == SW_OK && names->release < 10 ? take_table(names, base) : status;
}

bool sw_names_u(const struct sw_names *names, uint64_t address, unsigned size, uint64_t *value)
{
    uint8_t bytes[8];
    if (sw_memory_read(&names->memory, address, bytes, size) != size)
        return false;
    *value = sw_load_le(bytes, size);
    return true;
}

bool sw_names_field(const struct sw_names *names, uint64_t object, enum sw_names_field field, unsigned size,
                    uint64_t *value)
{
    return object != 0 && object % 8 == 0 && names->at[field] < SW_CLR_DESCRIBED &&
           sw_names_u(names, object + names->at[field], size, value);
}
