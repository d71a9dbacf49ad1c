/*
 * The data contract descriptor of CoreCLR: a table of the runtime's own structures, made for debuggers. Knows its
 * layout, and enough JSON to skip what was not asked for; refuses to know what the offsets are used for.
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

#include <assert.h>
#include <string.h>

enum { LONGEST_TEXT = 1 << 20, DEEPEST = 16, DESCRIPTOR_SIZE = 40 };

static const uint64_t magic = UINT64_C(0x0043414443434e44); /* "DNCCDAC" */

/* ORDER sw_clr_field. "!" is the size of a type. */
static const struct field {
    const char *type;
    const char *field;
} fields[] = {
    { "Thread", "PreemptiveGCDisabled" },
    { "Thread", "Frame" },
    { "Thread", "ExceptionTracker" },
    { "ExceptionInfo", "PreviousNestedInfo" },
    { "Frame", "Next" },
    { "InlinedCallFrame", "CallSiteSP" },
    { "InlinedCallFrame", "CallerReturnAddress" },
    { "InlinedCallFrame", "CalleeSavedFP" },
    { "FramedMethodFrame", "TransitionBlockPtr" },
    { "TransitionBlock", "!" },
    { "TransitionBlock", "ReturnAddress" },
    { "TransitionBlock", "CalleeSavedRegisters" },
    { "ResumableFrame", "TargetContextPtr" },
    { "FaultingExceptionFrame", "TargetContext" },
    { "SoftwareExceptionFrame", "TargetContext" },
    { "HijackFrame", "ReturnAddress" },
    { "HijackFrame", "HijackArgsPtr" },
    { "HijackArgs", "!" },
    { "HijackArgs", "CalleeSavedRegisters" },
    { "CalleeSavedRegisters", "Rbx" },
    { "CalleeSavedRegisters", "Rbp" },
    { "CalleeSavedRegisters", "R12" },
    { "CalleeSavedRegisters", "R13" },
    { "CalleeSavedRegisters", "R14" },
    { "CalleeSavedRegisters", "R15" },
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
    { "Thread", "State" },
};
static_assert(sizeof fields / sizeof fields[0] == SW_CLR_FIELDS, "a row for every field");

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

/* ORDER sw_clr_frame. */
static const char *const identifiers[] = {
    "InlinedCallFrameIdentifier",       "ResumableFrameIdentifier",         "RedirectedThreadFrameIdentifier",
    "FaultingExceptionFrameIdentifier", "SoftwareExceptionFrameIdentifier", "HijackFrameIdentifier",
    "PInvokeCalliFrameIdentifier",      "PrestubMethodFrameIdentifier",     "CallCountingHelperFrameIdentifier",
    "StubDispatchFrameIdentifier",      "ExternalMethodFrameIdentifier",    "DynamicHelperFrameIdentifier",
};
static_assert(sizeof identifiers / sizeof identifiers[0] == SW_CLR_FRAMES, "a row for every kind of frame");

/* These contracts define what the fields mean, so another version of one means another runtime. */
static const struct {
    const char *name;
    uint64_t version;
} contracts[] = {
    { "ExecutionManager", 2 },
    { "StackWalk", 1 },
    { "Thread", 1 },
    { "Exception", 1 },
};

/* ---- JSON, as far as needed ---- */

/* A position in the text; at the end after an error. */
struct text {
    const char *at;
    const char *end;
};

static char peek(struct text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\t' || *t->at == '\r'))
        t->at++;
    return t->at < t->end ? *t->at : 0;
}

static bool take(struct text *t, char wanted)
{
    if (peek(t) != wanted)
        return false;
    t->at++;
    return true;
}

/* The content of a string between its quotes; escapes are not undone. */
static struct text string(struct text *t)
{
    struct text inner = { t->end, t->end };
    if (!take(t, '"'))
        return inner;
    inner.at = t->at;
    while (t->at < t->end && *t->at != '"')
        t->at += *t->at == '\\' && t->end - t->at > 1 ? 2 : 1;
    inner.end = t->at;
    t->at += t->at < t->end;
    return inner;
}

/* Skips one value in brackets, counting them; strings are skipped whole. */
static bool skip_brackets(struct text *t)
{
    int depth = 0;
    do {
        const char c = peek(t);
        if (c == 0)
            return false;
        if (c == '"') {
            (void)string(t);
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        t->at++;
    } while (depth > 0 && depth <= DEEPEST);
    return depth == 0;
}

/* The content of a string between its quotes, or a number or word as it stands. */
static struct text word(struct text *t)
{
    static const char ends[] = " \n\t\r,:\"{}[]";
    if (peek(t) == '"')
        return string(t);
    struct text inner = *t;
    while (t->at < t->end && *t->at != 0 && !strchr(ends, *t->at))
        t->at++;
    inner.end = t->at;
    return inner;
}

/* Skips one value. False: nothing follows it. */
static bool skip(struct text *t)
{
    const char first = peek(t);
    if (first != '{' && first != '[')
        (void)word(t);
    else if (!skip_brackets(t))
        return false;
    return peek(t) == ',' || peek(t) == '}' || peek(t) == ']';
}

static bool equals(struct text word, const char *name)
{
    const size_t size = strlen(name);
    return (size_t)(word.end - word.at) == size && memcmp(word.at, name, size) == 0;
}

/* Enters an object: moves *t behind the colon of that key. */
static bool enter(struct text *t, const char *key)
{
    if (!take(t, '{'))
        return false;
    while (peek(t) == '"') {
        const struct text name = string(t);
        if (!take(t, ':'))
            return false;
        if (equals(name, key))
            return true;
        if (!skip(t) || !take(t, ','))
            return false;
    }
    return false;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 16;
}

/* A number: 8, "0x8", or the first of [8, "type"]. */
static bool number(struct text t, uint64_t *value)
{
    (void)take(&t, '[');
    struct text digits = word(&t);
    int base = 10;
    if (digits.end - digits.at > 2 && digits.at[0] == '0' && digits.at[1] == 'x') {
        base = 16;
        digits.at += 2;
    }
    *value = 0;
    if (digits.at == digits.end || digits.end - digits.at > 16)
        return false;
    for (; digits.at < digits.end; digits.at++) {
        if (digit(*digits.at) >= base)
            return false;
        *value = *value * (uint64_t)base + (uint64_t)digit(*digits.at);
    }
    return true;
}

/* ---- the descriptor ---- */

static bool find_field(struct text types, const char *type, const char *field, uint16_t *offset)
{
    uint64_t value;
    if (!enter(&types, type) || !enter(&types, field) || !number(types, &value) || value > UINT16_MAX)
        return false;
    *offset = (uint16_t)value;
    return true;
}

static bool is_x64(struct text globals)
{
    return enter(&globals, "Architecture") && (take(&globals, '['), equals(string(&globals), "x64"));
}

/* The index of the descriptor's pointer to which a global refers: [[20], "pointer"]. */
static bool pointer_of(struct text globals, const char *name, uint64_t *number_of_pointer)
{
    return enter(&globals, name) && take(&globals, '[') && number(globals, number_of_pointer);
}

static bool knows_contracts(struct text all)
{
    uint64_t version;
    for (size_t i = 0; i < sizeof contracts / sizeof contracts[0]; i++) {
        struct text at = all;
        if (!enter(&at, contracts[i].name) || !number(at, &version) || version != contracts[i].version)
            return false;
    }
    return true;
}

/* A truncated text may end in the middle of a number, so only a whole one is believed. */
static bool is_whole(struct text whole)
{
    return peek(&whole) == '{' && skip_brackets(&whole);
}

static bool find_entry_fields(struct text types, uint16_t offsets[])
{
    for (unsigned i = 0; i < SW_CLR_ENTRY_FIELDS; i++)
        if (!find_field(types, entry_fields[i].type, entry_fields[i].field, &offsets[i]))
            return false;
    return true;
}

static enum sw_status read_text(struct text whole, struct sw_clr_layout *layout)
{
    struct text types = whole, globals = whole, versions = whole;
    if (!is_whole(whole) || !enter(&types, "types") || !enter(&globals, "globals") || !enter(&versions, "contracts"))
        return SW_E_MALFORMED;
    if (!is_x64(globals) || !knows_contracts(versions))
        return SW_E_UNSUPPORTED;
    for (unsigned i = 0; i < SW_CLR_FIELDS; i++)
        if (!find_field(types, fields[i].type, fields[i].field, &layout->at[i]))
            return SW_E_UNSUPPORTED;
    layout->has_entries = find_entry_fields(types, layout->entry);
    for (unsigned i = 0; i < SW_CLR_FRAMES; i++) {
        struct text at = globals;
        if (!enter(&at, identifiers[i]) || !number(at, &layout->id[i]))
            return SW_E_UNSUPPORTED;
    }
    return pointer_of(globals, "ExecutionManagerCodeRangeMapAddress", &layout->code) ? SW_OK : SW_E_UNSUPPORTED;
}

enum sw_status sw_clr_layout_read(const struct sw_memory *memory, uint64_t descriptor, const struct sw_alloc *alloc,
                                  struct sw_clr_layout *layout)
{
    uint8_t head[DESCRIPTOR_SIZE];
    if (sw_memory_read(memory, descriptor, head, sizeof head) != sizeof head)
        return SW_E_UNREADABLE;
    const uint32_t size = sw_load32(head + 12);
    if (sw_load64(head) != magic || size == 0 || size > LONGEST_TEXT)
        return SW_E_MALFORMED;
    char *text = alloc->get(alloc->arg, size);
    if (!text)
        return SW_E_NO_MEMORY;
    enum sw_status status = SW_E_UNREADABLE;
    if (sw_memory_read(memory, sw_load64(head + 16), text, size) == size)
        status = read_text((struct text){ text, text + size }, layout);
    alloc->put(alloc->arg, text, size);
    if (status != SW_OK)
        return status;
    if (layout->code >= sw_load32(head + 24))
        return SW_E_MALFORMED;
    const uint64_t pointer = sw_load64(head + 32) + 8 * layout->code;
    return sw_memory_word(memory, pointer, &layout->code) ? SW_OK : SW_E_UNREADABLE;
}
