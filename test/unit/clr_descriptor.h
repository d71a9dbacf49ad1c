/*
 * The text with which a runtime describes itself, whole or with one value changed: what it holds, and writing it.
 */
#ifndef TEST_UNIT_CLR_DESCRIPTOR_H
#define TEST_UNIT_CLR_DESCRIPTOR_H

#include "clr_target.h"

/* What the descriptor holds, in its order; field: where the reader has to put it, A_REGISTER: in both lists of such. */
enum { BASE = SW_CLR_FIELDS, A_REGISTER };
static const struct {
    const char *type;
    const char *name;
    unsigned field;
} fields[] = {
    { "Thread", "PreemptiveGCDisabled", SW_CLR_THREAD_MODE },
    { "Thread", "Frame", SW_CLR_THREAD_FRAME },
    { "Thread", "ExceptionTracker", SW_CLR_THREAD_EXCEPTION },
    { "Thread", "State", SW_CLR_THREAD_STATE },
    { "ExceptionInfo", "PreviousNestedInfo", SW_CLR_EXCEPTION_PREVIOUS },
    { "MethodDesc", "Flags", SW_CLR_METHOD_FLAGS },
    { "RangeSectionMap", "TopLevelData", SW_CLR_MAP_TOP },
    { "RangeSectionFragment", "RangeBegin", SW_CLR_FRAGMENT_BEGIN },
    { "RangeSectionFragment", "RangeEndOpen", SW_CLR_FRAGMENT_END },
    { "RangeSectionFragment", "RangeSection", SW_CLR_FRAGMENT_SECTION },
    { "RangeSectionFragment", "Next", SW_CLR_FRAGMENT_NEXT },
    { "RangeSection", "Flags", SW_CLR_SECTION_FLAGS },
    { "RangeSection", "HeapList", SW_CLR_SECTION_HEAP },
    { "CodeHeapListNode", "StartAddress", SW_CLR_HEAP_BEGIN },
    { "CodeHeapListNode", "EndAddress", SW_CLR_HEAP_END },
    { "CodeHeapListNode", "MapBase", SW_CLR_HEAP_BASE },
    { "CodeHeapListNode", "HeaderMap", SW_CLR_HEAP_MAP },
    { "Frame", "Next", SW_CLR_FRAME_NEXT },
    { "InlinedCallFrame", "CallSiteSP", SW_CLR_INLINED_SP },
    { "InlinedCallFrame", "CallerReturnAddress", SW_CLR_INLINED_RETURN },
    { "InlinedCallFrame", "CalleeSavedFP", SW_CLR_INLINED_FP },
    { "SoftwareExceptionFrame", "TargetContext", SW_CLR_SOFTWARE_CONTEXT },
    { "FramedMethodFrame", "TransitionBlockPtr", SW_CLR_METHOD_BLOCK },
    { "TransitionBlock", "!", SW_CLR_BLOCK_SIZE },
    { "TransitionBlock", "ReturnAddress", SW_CLR_BLOCK_RETURN },
    { "TransitionBlock", "CalleeSavedRegisters", BASE },
    { "ResumableFrame", "TargetContextPtr", SW_CLR_RESUMABLE_CONTEXT },
    { "HijackFrame", "ReturnAddress", SW_CLR_HIJACK_RETURN },
    { "HijackFrame", "HijackArgsPtr", SW_CLR_HIJACK_ARGS },
    { "HijackArgs", "!", SW_CLR_HIJACK_SIZE },
    { "HijackArgs", "CalleeSavedRegisters", BASE },
    { "FaultingExceptionFrame", "TargetContext", SW_CLR_FAULT_CONTEXT },
    { "CalleeSavedRegisters", "R12", A_REGISTER },
    { "CalleeSavedRegisters", "R13", A_REGISTER },
    { "CalleeSavedRegisters", "R14", A_REGISTER },
    { "CalleeSavedRegisters", "R15", A_REGISTER },
    { "CalleeSavedRegisters", "Rbx", A_REGISTER },
    { "CalleeSavedRegisters", "Rbp", A_REGISTER },
};
enum { DESCRIBED = COUNT_OF(fields), IDENTIFIERS = 12, BLOCK_BASE = 25, HIJACK_BASE = 30 };

/* The rest of what is asked for. */
static const struct {
    const char *name;
    const char *value;
} globals[] = {
    { "InlinedCallFrameIdentifier", "[\"0x11\",\"nuint\"]" },
    { "ResumableFrameIdentifier", "[\"0x12\",\"nuint\"]" },
    { "RedirectedThreadFrameIdentifier", "[\"0x13\",\"nuint\"]" },
    { "FaultingExceptionFrameIdentifier", "[\"0x14\",\"nuint\"]" },
    { "SoftwareExceptionFrameIdentifier", "[\"0x15\",\"nuint\"]" },
    { "HijackFrameIdentifier", "[\"0x16\",\"nuint\"]" },
    { "PInvokeCalliFrameIdentifier", "[\"0x17\",\"nuint\"]" },
    { "PrestubMethodFrameIdentifier", "[\"0x18\",\"nuint\"]" },
    { "CallCountingHelperFrameIdentifier", "[\"0x19\",\"nuint\"]" },
    { "StubDispatchFrameIdentifier", "[\"0x1a\",\"nuint\"]" },
    { "ExternalMethodFrameIdentifier", "[\"0x1b\",\"nuint\"]" },
    { "DynamicHelperFrameIdentifier", "[\"0x1c\",\"nuint\"]" },
    { "ExecutionManagerCodeRangeMapAddress", "[[2],\"pointer\"]" },
    { "Architecture", "[\"x64\",\"string\"]" },
    { "OperatingSystem", "[\"1\",\"string\"]" },
};
static const struct {
    const char *name;
    const char *value;
} contracts[] = { { "ExecutionManager", "2" }, { "StackWalk", "1" }, { "Thread", "1" }, { "Exception", "1" } };

enum {
    GLOBALS = DESCRIBED,
    RANGE_MAP = GLOBALS + IDENTIFIERS,
    ARCHITECTURE,
    SYSTEM,
    CONTRACTS,
    VALUES = CONTRACTS + COUNT_OF(contracts),
    NOTHING_CHANGED = VALUES,
    TEXT_ROOM = 0x8000,
    POINTERS = 3
};
#define HEAD        DATA
#define POINTERS_AT (DATA + 0x100)
#define TEXT_AT     (DATA + 0x200)
#define CODE_MAP    UINT64_C(0x7f00deadbee0)

/* Where the reader has to find field i. */
static unsigned offset_of(unsigned i)
{
    return 8 * i + 1;
}

/* ---- writing it ---- */

struct text {
    char at[TEXT_ROOM];
    size_t size;
    bool first;
};

static void add(struct text *t, const char *piece)
{
    const size_t size = strlen(piece);
    assert_true(t->size + size < sizeof t->at);
    memcpy(t->at + t->size, piece, size + 1);
    t->size += size;
    t->first = piece[size - 1] == '{';
}

static void add_key(struct text *t, const char *key)
{
    add(t, t->first ? "\"" : ",\"");
    add(t, key);
    add(t, "\":");
}

/* One value of all: left out when it is number `changed` and `value` is null, else that in its place. */
static void add_value(struct text *t, const char *key, const char *usual, unsigned number, unsigned changed,
                      const char *value)
{
    if (number == changed && !value)
        return;
    add_key(t, key);
    add(t, number == changed ? value : usual);
}

/* The table of prepared entries, behind the other types but for the first row. The runtime may leave any of it out. */
static const struct {
    const char *type;
    const char *name;
} entry_fields[] = {
    { "RangeSection", "R2RModule" },
    { "Module", "ReadyToRunInfo" },
    { "ReadyToRunInfo", "CompositeInfo" },
    { "ReadyToRunInfo", "EntryPointToMethodDescMap" },
    { "HashMap", "Buckets" },
    { "Bucket", "Keys" },
    { "Bucket", "Values" },
    { "Bucket", "!" },
};
_Static_assert(COUNT_OF(entry_fields) == SW_CLR_ENTRY_FIELDS, "a row for every field");
static unsigned left_out = COUNT_OF(entry_fields); /* a row that is not there */

static void add_entry_field(struct text *t, unsigned i)
{
    char value[16];
    snprintf(value, sizeof value, "%u", 700 + 8 * i);
    add_value(t, entry_fields[i].name, value, i, left_out, NULL);
}

static void add_entry_types(struct text *t)
{
    for (unsigned i = 1; i < COUNT_OF(entry_fields); i++) {
        if (strcmp(entry_fields[i].type, entry_fields[i - 1].type) != 0) {
            add_key(t, entry_fields[i].type);
            add(t, "{");
        }
        add_entry_field(t, i);
        if (i + 1 == COUNT_OF(entry_fields) || strcmp(entry_fields[i].type, entry_fields[i + 1].type) != 0)
            add(t, "}");
    }
}

static void add_types(struct text *t, unsigned changed, const char *value)
{
    add_key(t, "types");
    add(t, "{");
    for (unsigned i = 0; i < COUNT_OF(fields); i++) {
        char usual[16];
        snprintf(usual, sizeof usual, "%u", offset_of(i));
        if (i == 0 || strcmp(fields[i].type, fields[i - 1].type) != 0) {
            add_key(t, fields[i].type);
            add(t, "{");
            add_value(t, "Other", "[300,\"Thread\"]", VALUES, 0, NULL);
            if (strcmp(fields[i].type, entry_fields[0].type) == 0)
                add_entry_field(t, 0);
        }
        add_value(t, fields[i].name, usual, i, changed, value);
        if (i + 1 == COUNT_OF(fields) || strcmp(fields[i].type, fields[i + 1].type) != 0)
            add(t, "}");
    }
    add_entry_types(t);
    add(t, "}");
}

static void write_text(struct text *t, unsigned changed, const char *value)
{
    *t = (struct text){ .first = false };
    add(t, "{");
    add_key(t, "version");
    add(t, "0");
    add_types(t, changed, value);
    add_key(t, "globals");
    add(t, "{");
    for (unsigned i = 0; i < COUNT_OF(globals); i++)
        add_value(t, globals[i].name, globals[i].value, GLOBALS + i, changed, value);
    add(t, "}");
    add_key(t, "contracts");
    add(t, "{");
    for (unsigned i = 0; i < COUNT_OF(contracts); i++)
        add_value(t, contracts[i].name, contracts[i].value, CONTRACTS + i, changed, value);
    add(t, "}}");
}

#endif
