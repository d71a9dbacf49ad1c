/*
 * The data contract descriptor of CoreCLR: a table of the runtime's own structures, made for debuggers. Knows what
 * it names; refuses to know what the offsets are used for.
 *
 *   descriptor   u64 magic, u32 flags, u32 size of the text, u64 address of the text, u32 count of pointers, u32,
 *                u64 address of the pointers, to which globals such as [[20], "pointer"] refer
 *   text         {"types": {"Thread": {"Frame": 8, "GCHandle": [304, "type"], "!": size}},
 *                 "globals": {"x": ["0x1", "t"]}, "contracts": {"Thread": 1}}
 *
 * Source: dotnet/runtime docs/design/datacontracts/contract-descriptor.md and data_descriptor.md (compact form).
 */
#include "clr/runtime.h"

#include "base/bytes.h"
#include "clr/json.h"

#include <assert.h>
#include <string.h>

enum { LONGEST_TEXT = 1 << 20, DESCRIPTOR_SIZE = 40 };

static const uint64_t magic = UINT64_C(0x0043414443434e44); /* "DNCCDAC" */

/* ORDER sw_clr_field. "!" is the size of a type. Null: no descriptor says it. */
static const struct field {
    const char *type;
    const char *field;
} fields[] = {
    { "Thread", "PreemptiveGCDisabled" },
    { "Thread", "Frame" },
    { "Thread", "ExceptionTracker" },
    { "Thread", "State" },
    { NULL, NULL },
    { NULL, NULL },
    { "Frame", "Next" },
    { "InlinedCallFrame", "CallSiteSP" },
    { "InlinedCallFrame", "CallerReturnAddress" },
    { "InlinedCallFrame", "CalleeSavedFP" },
    { "FramedMethodFrame", "TransitionBlockPtr" },
    { "TransitionBlock", "!" },
    { "TransitionBlock", "ReturnAddress" },
    { "ResumableFrame", "TargetContextPtr" },
    { "FaultingExceptionFrame", "TargetContext" },
    { "SoftwareExceptionFrame", "TargetContext" },
    { NULL, NULL },
    { "HijackFrame", "ReturnAddress" },
    { "HijackFrame", "HijackArgsPtr" },
    { "HijackArgs", "!" },
    { "HijackArgs", "Rsp" },
    { "ExceptionInfo", "PreviousNestedInfo" },
    { NULL, NULL },
    { NULL, NULL },
    { NULL, NULL },
    { NULL, NULL },
    { NULL, NULL },
    { NULL, NULL },
    { NULL, NULL },
    { NULL, NULL },
    { "RangeSectionMap", "TopLevelData" },
    { "RangeSectionFragment", "Next" },
    { "RangeSectionFragment", "RangeBegin" },
    { "RangeSectionFragment", "RangeEndOpen" },
    { "RangeSectionFragment", "RangeSection" },
    { "RangeSection", "Flags" },
    { "RangeSection", "HeapList" },
    { "CodeHeapListNode", "StartAddress" },
    { "CodeHeapListNode", "EndAddress" },
    { "CodeHeapListNode", "MapBase" },
    { "CodeHeapListNode", "HeaderMap" },
    { "MethodDesc", "Flags" },
    { NULL, NULL },
    { NULL, NULL },
    { NULL, NULL },
};
static_assert(sizeof fields / sizeof fields[0] == SW_CLR_FIELDS, "a row for every field");

/* The registers that stubs save, by name. On x64 the last two are saved where the system's convention says so. */
static const struct saved_name {
    const char *name;
    enum sw_machine machine;
    uint16_t number;
    bool windows_only;
} saved_names[] = {
    { "Rbx", SW_MACHINE_X64, SW_X64_RBX, false },         { "Rbp", SW_MACHINE_X64, SW_X64_RBP, false },
    { "R12", SW_MACHINE_X64, SW_X64_R12, false },         { "R13", SW_MACHINE_X64, SW_X64_R13, false },
    { "R14", SW_MACHINE_X64, SW_X64_R14, false },         { "R15", SW_MACHINE_X64, SW_X64_R15, false },
    { "Rsi", SW_MACHINE_X64, SW_X64_RSI, true },          { "Rdi", SW_MACHINE_X64, SW_X64_RDI, true },
    { "Fp", SW_MACHINE_ARM64, SW_ARM64_FP, false },       { "Lr", SW_MACHINE_ARM64, SW_ARM64_LR, false },
    { "X19", SW_MACHINE_ARM64, SW_ARM64_X19, false },     { "X20", SW_MACHINE_ARM64, SW_ARM64_X19 + 1, false },
    { "X21", SW_MACHINE_ARM64, SW_ARM64_X19 + 2, false }, { "X22", SW_MACHINE_ARM64, SW_ARM64_X19 + 3, false },
    { "X23", SW_MACHINE_ARM64, SW_ARM64_X19 + 4, false }, { "X24", SW_MACHINE_ARM64, SW_ARM64_X19 + 5, false },
    { "X25", SW_MACHINE_ARM64, SW_ARM64_X19 + 6, false }, { "X26", SW_MACHINE_ARM64, SW_ARM64_X19 + 7, false },
    { "X27", SW_MACHINE_ARM64, SW_ARM64_X19 + 8, false }, { "X28", SW_MACHINE_ARM64, SW_ARM64_X28, false },
};

/* ORDER sw_clr_entry_field. Without these walks are as right, but some precompiled methods have no FunctionID. */
static const struct field entry_fields[] = {
    { "RangeSection", "R2RModule" },
    { "Module", "ReadyToRunInfo" },
    { "ReadyToRunInfo", "CompositeInfo" },
    { "ReadyToRunInfo", "EntryPointToMethodDescMap" },
    { "HashMap", "Buckets" },
    { "Bucket", "Keys" },
    { "Bucket", "Values" },
    { "Bucket", "!" },
};
static_assert(sizeof entry_fields / sizeof entry_fields[0] == SW_CLR_ENTRY_FIELDS, "a row for every field");

/* The numbers of explicit frames. Those of other kinds lead nowhere. */
static const struct identifier {
    const char *name;
    enum sw_clr_frame kind;
} identifiers[] = {
    { "InlinedCallFrameIdentifier", SW_CLR_FRAME_INLINED },
    { "ResumableFrameIdentifier", SW_CLR_FRAME_CONTEXT },
    { "RedirectedThreadFrameIdentifier", SW_CLR_FRAME_CONTEXT },
    { "FaultingExceptionFrameIdentifier", SW_CLR_FRAME_FAULT },
    { "SoftwareExceptionFrameIdentifier", SW_CLR_FRAME_SOFTWARE },
    { "HijackFrameIdentifier", SW_CLR_FRAME_HIJACK },
    { "PInvokeCalliFrameIdentifier", SW_CLR_FRAME_BLOCK },
    { "PrestubMethodFrameIdentifier", SW_CLR_FRAME_BLOCK },
    { "CallCountingHelperFrameIdentifier", SW_CLR_FRAME_BLOCK },
    { "StubDispatchFrameIdentifier", SW_CLR_FRAME_BLOCK },
    { "ExternalMethodFrameIdentifier", SW_CLR_FRAME_BLOCK },
    { "DynamicHelperFrameIdentifier", SW_CLR_FRAME_BLOCK },
};
enum { IDENTIFIERS = sizeof identifiers / sizeof identifiers[0] };
static_assert((unsigned)IDENTIFIERS <= SW_CLR_FRAME_WORDS, "room for every kind of frame");

/*
 * These contracts define what the fields mean, so another version of one means another runtime. code: it tells of
 * explicit frames and code, which a descriptor may omit altogether.
 */
static const struct contract {
    const char *name;
    uint64_t version;
    bool code;
} contracts[] = {
    { "ExecutionManager", 2, true },
    { "StackWalk", 1, true },
    { "Thread", 1, false },
    { "Exception", 1, false },
};

/* ---- the descriptor ---- */

/* name: the type that was looked for last, a constant; fields: its object, empty if there is none. */
struct types {
    struct sw_clr_json_keys all;
    const char *name;
    struct sw_clr_json fields;
};

static void open_types(struct sw_clr_json object, struct types *types)
{
    types->name = NULL;
    sw_clr_json_keys(object, &types->all);
}

/* Fields of one type are asked for one after the other. */
static bool find_field(struct types *types, const char *type, const char *field, uint16_t *offset)
{
    uint64_t value;
    if (!types->name || strcmp(types->name, type) != 0) {
        types->name = type;
        if (!sw_clr_json_key(&types->all, type, &types->fields))
            types->fields.at = types->fields.end;
    }
    struct sw_clr_json at = types->fields;
    if (!sw_clr_json_enter(&at, field) || !sw_clr_json_number(at, &value) || value >= SW_CLR_DESCRIBED)
        return false;
    *offset = (uint16_t)value;
    return true;
}

/* Whether a global is one of two words. Not to be there is allowed where only part is described. */
static bool is_built_for(struct sw_clr_json globals, const char *global, const char *name, const char *other, bool must)
{
    if (!sw_clr_json_enter(&globals, global))
        return !must;
    (void)sw_clr_json_take(&globals, '[');
    const struct sw_clr_json word = sw_clr_json_string(&globals);
    return sw_clr_json_equals(word, name) || (other && sw_clr_json_equals(word, other));
}

/* Within CoreCLR's build "unix" is a macro, whose value stands there instead of its name. */
static bool is_of_runtime(struct sw_clr_json globals, const struct sw_clr_layout *layout)
{
    const bool must = !layout->closed, windows = layout->system == SW_CLR_WINDOWS;
    return is_built_for(globals, "Architecture", layout->machine == SW_MACHINE_ARM64 ? "arm64" : "x64", NULL, must) &&
           is_built_for(globals, "OperatingSystem", windows ? "windows" : "unix", windows ? NULL : "1", must);
}

/* The index of the descriptor's pointer to which a global refers: [[20], "pointer"]. */
static bool pointer_of(struct sw_clr_json globals, const char *name, uint64_t *number_of_pointer)
{
    return sw_clr_json_enter(&globals, name) && sw_clr_json_take(&globals, '[') &&
           sw_clr_json_number(globals, number_of_pointer);
}

static bool knows_contracts(struct sw_clr_json all, bool code)
{
    uint64_t version;
    for (size_t i = 0; i < sizeof contracts / sizeof contracts[0]; i++) {
        struct sw_clr_json at = all;
        if ((code || !contracts[i].code) && (!sw_clr_json_enter(&at, contracts[i].name) ||
                                             !sw_clr_json_number(at, &version) || version != contracts[i].version))
            return false;
    }
    return true;
}

static bool find_entry_fields(struct types *types, uint16_t offsets[])
{
    for (unsigned i = 0; i < SW_CLR_ENTRY_FIELDS; i++)
        if (!find_field(types, entry_fields[i].type, entry_fields[i].field, &offsets[i]))
            return false;
    return true;
}

/* What the descriptor says counts more than what is known beforehand. */
static bool find_fields(struct types *types, struct sw_clr_layout *layout)
{
    for (unsigned i = 0; i < SW_CLR_FIELDS; i++)
        if ((!fields[i].type || !find_field(types, fields[i].type, fields[i].field, &layout->at[i])) &&
            layout->at[i] == SW_CLR_DESCRIBED)
            return false;
    return true;
}

/* The registers that a type names, from `base` on. */
static bool find_saved(struct types *types, const char *type, uint16_t base, const struct sw_clr_layout *layout,
                       struct sw_clr_saved *saved)
{
    saved->count = 0;
    for (size_t i = 0; i < sizeof saved_names / sizeof saved_names[0]; i++) {
        const struct saved_name *name = &saved_names[i];
        uint16_t offset;
        if (name->machine != layout->machine || (name->windows_only && layout->system != SW_CLR_WINDOWS))
            continue;
        if (!find_field(types, type, name->name, &offset) || offset >= SW_CLR_DESCRIBED - base ||
            saved->count == SW_CLR_SAVED_MAX)
            return false;
        saved->at[saved->count++] = (struct sw_clr_saved_register){ (uint16_t)(base + offset), name->number };
    }
    return true;
}

/* Of ARM64 the hijack stub's record names its registers itself. */
static bool find_all_saved(struct types *types, struct sw_clr_layout *layout)
{
    static const char all[] = "CalleeSavedRegisters", args[] = "HijackArgs";
    uint16_t block, hijack;
    if (!find_field(types, "TransitionBlock", all, &block) || !find_saved(types, all, block, layout, &layout->block))
        return false;
    return find_field(types, args, all, &hijack) ? find_saved(types, all, hijack, layout, &layout->hijack)
                                                 : find_saved(types, args, 0, layout, &layout->hijack);
}

static bool find_identifiers(struct sw_clr_json globals, struct sw_clr_layout *layout)
{
    for (unsigned i = 0; i < IDENTIFIERS; i++) {
        struct sw_clr_json at = globals;
        layout->frames[i].kind = identifiers[i].kind;
        if (!sw_clr_json_enter(&at, identifiers[i].name) || !sw_clr_json_number(at, &layout->frames[i].word))
            return false;
    }
    layout->frame_count = IDENTIFIERS;
    return true;
}

/* Explicit frames, saved registers, prepared entries, and which pointer leads to the map of code. */
static bool find_rest(struct types *types, struct sw_clr_json globals, struct sw_clr_layout *layout, uint64_t *pointer)
{
    layout->has_entries = find_entry_fields(types, layout->entry);
    return find_all_saved(types, layout) && find_identifiers(globals, layout) &&
           pointer_of(globals, "ExecutionManagerCodeRangeMapAddress", pointer);
}

static enum sw_status read_text(struct sw_clr_json whole, struct sw_clr_layout *layout, uint64_t *pointer)
{
    struct types types;
    struct sw_clr_json all = whole, globals = whole, versions = whole;
    if (!sw_clr_json_is_whole(whole) || !sw_clr_json_enter(&all, "types") || !sw_clr_json_enter(&globals, "globals") ||
        !sw_clr_json_enter(&versions, "contracts"))
        return SW_E_MALFORMED;
    open_types(all, &types);
    if (!is_of_runtime(globals, layout) || !knows_contracts(versions, !layout->closed) || !find_fields(&types, layout))
        return SW_E_UNSUPPORTED;
    return layout->closed || find_rest(&types, globals, layout, pointer) ? SW_OK : SW_E_UNSUPPORTED;
}

/* The descriptor's text, in memory of the allocator; head receives what stands in front. */
static enum sw_status get_text(const struct sw_memory *memory, uint64_t descriptor, const struct sw_alloc *alloc,
                               uint8_t head[DESCRIPTOR_SIZE], char **text, uint32_t *size)
{
    if (sw_memory_read(memory, descriptor, head, DESCRIPTOR_SIZE) != DESCRIPTOR_SIZE)
        return SW_E_UNREADABLE;
    *size = sw_load32(head + 12);
    if (sw_load64(head) != magic || *size == 0 || *size > LONGEST_TEXT)
        return SW_E_MALFORMED;
    *text = alloc->get(alloc->arg, *size);
    if (!*text)
        return SW_E_NO_MEMORY;
    if (sw_memory_read(memory, sw_load64(head + 16), *text, *size) == *size)
        return SW_OK;
    alloc->put(alloc->arg, *text, *size);
    return SW_E_UNREADABLE;
}

static enum sw_status read_descriptor(const struct sw_memory *memory, uint64_t descriptor, const struct sw_alloc *alloc,
                                      struct sw_clr_layout *layout)
{
    uint8_t head[DESCRIPTOR_SIZE];
    uint64_t pointer = 0;
    uint32_t size;
    char *text;
    enum sw_status status = get_text(memory, descriptor, alloc, head, &text, &size);
    if (status != SW_OK)
        return status;
    status = read_text((struct sw_clr_json){ text, text + size }, layout, &pointer);
    alloc->put(alloc->arg, text, size);
    if (status != SW_OK || layout->closed)
        return status;
    if (pointer >= sw_load32(head + 24))
        return SW_E_MALFORMED;
    return sw_memory_word(memory, sw_load64(head + 32) + 8 * pointer, &layout->code) ? SW_OK : SW_E_UNREADABLE;
}

enum sw_status sw_clr_layout_describe(const struct sw_memory *memory, uint64_t descriptor, const struct sw_alloc *alloc,
                                      bool (*use)(void *arg, const struct sw_clr_description *about), void *arg)
{
    uint8_t head[DESCRIPTOR_SIZE];
    uint32_t size;
    char *text;
    enum sw_status status = get_text(memory, descriptor, alloc, head, &text, &size);
    if (status != SW_OK)
        return status;
    const struct sw_clr_json whole = { text, text + size };
    struct sw_clr_json all = whole;
    struct types types;
    const struct sw_clr_description about = { &whole, sw_clr_json_enter(&all, "types") ? &types : NULL };
    open_types(all, &types);
    status = sw_clr_json_is_whole(whole) && use(arg, &about) ? SW_OK : SW_E_UNSUPPORTED;
    alloc->put(alloc->arg, text, size);
    return status;
}

bool sw_clr_described_field(const struct sw_clr_description *about, const char *type, const char *field,
                            uint16_t *offset)
{
    return about->types && find_field(about->types, type, field, offset);
}

bool sw_clr_described_contract(const struct sw_clr_description *about, const char *name, uint64_t *version)
{
    struct sw_clr_json all = *(const struct sw_clr_json *)about->text;
    return sw_clr_json_enter(&all, "contracts") && sw_clr_json_enter(&all, name) && sw_clr_json_number(all, version);
}

bool sw_clr_described_machine(const struct sw_clr_description *about, const char *name)
{
    struct sw_clr_json globals = *(const struct sw_clr_json *)about->text;
    return sw_clr_json_enter(&globals, "globals") && is_built_for(globals, "Architecture", name, NULL, true);
}

enum sw_status sw_clr_layout_read(const struct sw_memory *memory, const struct sw_clr_runtime *runtime,
                                  const struct sw_alloc *alloc, struct sw_clr_layout *layout)
{
    if (!sw_clr_layout_known(runtime, layout))
        return SW_E_UNSUPPORTED;
    if (runtime->descriptor)
        return read_descriptor(memory, runtime->descriptor, alloc, layout);
    for (unsigned i = 0; i < SW_CLR_FIELDS; i++)
        if (layout->at[i] == SW_CLR_DESCRIBED)
            return SW_E_NOT_FOUND;
    return SW_OK;
}
