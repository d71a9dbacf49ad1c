/*
 * The metadata that a profiler gets: every row of metadata-abi.md sections 2 and 6 to 9 that a module of the tube can
 * reach, by its number. Outputs hold garbage before each call, so that one that is written where it must not be, or is
 * not where it must, shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "metadata.h"

#include "../support/listener.h"

enum { GARBAGE = 0x5a5a5a5a, UNITS = 64 };
static const IID unknown_iid = { 0x12345678, 1, 2, { 3, 4, 5, 6, 7, 8, 9, 10 } };

/* Types of Demo.dll by row: `<Module>`, Demo.Program, Demo.Outer, Inner, Demo.Pair`2, Entry, Demo.List`1. */
static const char *const type_names[] = { "Demo.Program", "Demo.Outer",        "Demo.Outer+Inner",
                                          "Demo.Pair`2",  "Demo.Pair`2+Entry", "Demo.List`1" };
enum { MODULE_TYPE = 0x02000001, PROGRAM, OUTER, INNER, PAIR, ENTRY, LIST, TYPES_END };
enum { MAIN = 0x06000001, WORK, START, METHODS_END };

static struct listener listener;
static struct sw_tube *tube;
static struct sw_tube_module *module;
static ICorProfilerInfo15 *info;
static IMetaDataImport2 *import;
static IMetaDataAssemblyImport *assembly;
static struct sw_tube_function *hidden;

static void *get(struct sw_tube_module *of, const IID *iid)
{
    IUnknown *out = NULL;
    assert_int_equal(info->lpVtbl->GetModuleMetaData(info, sw_tube_module_id(of), ofRead, iid, &out), S_OK);
    assert_non_null(out);
    return out;
}

static int begin(void **state)
{
    const struct sw_tube_options options = { .simulated = true };
    (void)state;
    listener_init(&listener);
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
    assert_int_equal(sw_tube_start(tube), SW_OK);
    info = listener.info;
    module = sw_tube_module_load(tube, "Demo.dll");
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        assert_non_null(sw_tube_type_named(module, type_names[i]));
    assert_non_null(sw_tube_function_add(module, "Demo.Program", "Main", 0));
    assert_non_null(sw_tube_function_add(module, "Demo.Program", "Work", 0));
    assert_non_null(sw_tube_function_add(module, "<Module>", "Start", 0));
    hidden = sw_tube_function_add(module, "Demo.Program", "IL_STUB", SW_TUBE_HIDDEN);
    import = get(module, &IID_IMetaDataImport);
    assembly = get(module, &IID_IMetaDataAssemblyImport);
    return 0;
}

static int end(void **state)
{
    (void)state;
    assert_string_equal(sw_tube_problem(tube), "");
    import->lpVtbl->Release(import);
    assembly->lpVtbl->Release(assembly);
    sw_tube_destroy(tube);
    return 0;
}

/* A name buffer full of garbage, and a name in it as UTF-8. */
static WCHAR buffer[UNITS];
static void fill_buffer(void)
{
    memset(buffer, 0x5a, sizeof buffer);
}

#define ASSERT_NAME(expected) assert_true(sw_text_equals(buffer, expected))
#define ASSERT_UNTOUCHED_FROM(at)                                                                                      \
    do {                                                                                                               \
        for (size_t unit = (at); unit < UNITS; unit++)                                                                 \
            assert_int_equal(buffer[unit], 0x5a5a);                                                                    \
    } while (0)

/* The row's name in UTF-16. */
static const WCHAR *wide(const char *text)
{
    static WCHAR to[4][UNITS];
    static unsigned next;
    next = (next + 1) % 4;
    sw_text_to_wide(text, to[next], UNITS);
    return to[next];
}

/* ---- section 2: the object ---- */

static void md_2_1_each_request_for_a_module_gives_the_same_object(void **state)
{
    (void)state;
    void *again = get(module, &IID_IMetaDataImport2);
    assert_ptr_equal(again, import);
    assert_ptr_not_equal(get(sw_tube_module_of(tube, sw_tube_id(SW_ID_MODULE, 0)), &IID_IMetaDataImport), import);
    void *unknown = NULL;
    assert_int_equal(import->lpVtbl->QueryInterface(import, &IID_IUnknown, &unknown), S_OK);
    assert_ptr_equal(unknown, import);
}

/* Interface, and how far behind IMetaDataImport it lies. */
static void md_2_2_interfaces_lie_behind_each_other(void **state)
{
    static const struct {
        const IID *iid;
        ptrdiff_t offset;
    } rows[] = { { &IID_IMetaDataImport, 0 },       { &IID_IMetaDataImport2, 0 },  { &IID_IMetaDataAssemblyImport, 8 },
                 { &IID_IMetaDataTables, 16 },      { &IID_IMetaDataTables2, 16 }, { &IID_IMetaDataInfo, 24 },
                 { &IID_IMetaDataFilter, 48 },      { &IID_IMetaDataEmit, 32 },    { &IID_IMetaDataEmit2, 32 },
                 { &IID_IMetaDataAssemblyEmit, 40 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *out = NULL;
        assert_int_equal(import->lpVtbl->QueryInterface(import, rows[i].iid, &out), S_OK);
        assert_int_equal((char *)out - (char *)import, rows[i].offset);
        void *back = NULL;
        assert_int_equal(((IUnknown *)out)->lpVtbl->QueryInterface(out, &IID_IMetaDataImport2, &back), S_OK);
        assert_ptr_equal(back, import);
        /* those that write come last (row 8.24) */
        assert_int_equal(import->lpVtbl->GetPEKind(import, NULL, NULL), i > 6 ? S_FALSE : S_OK);
    }
}

static void md_2_3_references_are_counted_with_one_of_the_runtimes_own(void **state)
{
    (void)state;
    const ULONG held = 3; /* the runtime's, import, assembly */
    assert_int_equal(import->lpVtbl->AddRef(import), held + 1);
    assert_int_equal(assembly->lpVtbl->AddRef(assembly), held + 2);
    assert_int_equal(assembly->lpVtbl->Release(assembly), held + 1);
    assert_int_equal(import->lpVtbl->Release(import), held);
    get(module, &IID_IMetaDataImport);
    assert_int_equal(import->lpVtbl->Release(import), held);
    assert_int_equal(sw_tube_metadata_leaks(tube), 2);
    IUnknown *core = get(sw_tube_module_of(tube, sw_tube_id(SW_ID_MODULE, 0)), &IID_IMetaDataImport);
    assert_int_equal(sw_tube_metadata_leaks(tube), 3);
    assert_int_equal(core->lpVtbl->Release(core), 1);
}

static void md_2_3_a_reference_released_too_often_does_no_harm(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        import->lpVtbl->Release(import);
    ULONG count = 0;
    assert_int_equal(import->lpVtbl->GetScopeProps(import, NULL, 0, &count, NULL), S_OK);
    assert_int_equal(import->lpVtbl->Release(import), 0);
    for (unsigned i = 0; i < 3; i++)
        import->lpVtbl->AddRef(import);
}

typedef HRESULT any_method(void *This);

static void md_2_4_every_method_of_emit_is_there_and_says_that_it_is_not_implemented(void **state)
{
    static const struct {
        const IID *iid;
        size_t slots;
    } rows[] = { { &IID_IMetaDataEmit2, 60 }, { &IID_IMetaDataAssemblyEmit, 13 }, { &IID_IMetaDataTables2, 26 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct {
            any_method *const *table;
        } *object = get(module, rows[i].iid);
        for (size_t slot = 3; slot < rows[i].slots; slot++)
            assert_int_equal(object->table[slot](object), E_NOTIMPL);
        assert_true(((IUnknown *)object)->lpVtbl->Release((IUnknown *)object) > 0);
    }
}

/* ---- section 6: getting the object ---- */

static void md_6_1_open_flags(void **state)
{
    static const struct {
        DWORD flags;
        HRESULT hr;
    } rows[] = { { 0, S_OK },
                 { 1, S_OK },
                 { 0x1000, S_OK },
                 { 2, E_INVALIDARG },
                 { 3, E_INVALIDARG },
                 { 4, E_INVALIDARG },
                 { 8, E_INVALIDARG },
                 { 0x10, E_INVALIDARG },
                 { 0x11, E_INVALIDARG },
                 { 0x20, E_INVALIDARG },
                 { 0x40, E_INVALIDARG },
                 { 0x80, E_INVALIDARG },
                 { 0x10000, E_INVALIDARG },
                 { 0xffffffff, E_INVALIDARG } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        IUnknown *out = (IUnknown *)(uintptr_t)GARBAGE;
        const HRESULT hr =
            info->lpVtbl->GetModuleMetaData(info, sw_tube_module_id(module), rows[i].flags, &IID_IMetaDataImport, &out);
        assert_int_equal(hr, rows[i].hr);
        assert_ptr_equal(out, hr == S_OK ? (void *)import : (void *)(uintptr_t)GARBAGE);
    }
}

static void md_6_4_without_an_output_it_is_all_right(void **state)
{
    (void)state;
    assert_int_equal(info->lpVtbl->GetModuleMetaData(info, sw_tube_module_id(module), 0, &IID_IMetaDataImport, NULL),
                     S_OK);
    assert_int_equal(sw_tube_metadata_leaks(tube), 2);
}

static void md_6_5_an_unknown_interface_sets_null(void **state)
{
    IUnknown *out = (IUnknown *)(uintptr_t)GARBAGE;
    (void)state;
    assert_int_equal(info->lpVtbl->GetModuleMetaData(info, sw_tube_module_id(module), 0, &unknown_iid, &out),
                     E_NOINTERFACE);
    assert_null(out);
}

static void md_6_6_no_module_leaves_the_output_alone(void **state)
{
    IUnknown *out = (IUnknown *)(uintptr_t)GARBAGE;
    (void)state;
    assert_int_equal(info->lpVtbl->GetModuleMetaData(info, 0, 0, &IID_IMetaDataImport, &out), E_INVALIDARG);
    assert_ptr_equal(out, (void *)(uintptr_t)GARBAGE);
}

static size_t answered;
static void ask_for_metadata(struct listener *self, const char *callback)
{
    IUnknown *out = NULL;
    const ModuleID id = sw_tube_id(SW_ID_MODULE, 2);
    if (strncmp(callback, "Module", 6) != 0)
        return;
    assert_int_equal(self->info->lpVtbl->GetModuleMetaData(self->info, id, 0, &IID_IMetaDataImport, &out), S_OK);
    out->lpVtbl->Release(out);
    answered++;
}

static void md_6_7_it_is_there_from_the_first_to_the_last_event_of_its_module(void **state)
{
    (void)state;
    assert_int_equal(info->lpVtbl->SetEventMask(info, COR_PRF_MONITOR_MODULE_LOADS), S_OK);
    answered = 0;
    listener.on = ask_for_metadata;
    struct sw_tube_module *late = sw_tube_module_load(tube, "Late.dll");
    assert_int_equal(sw_tube_module_unload(late), SW_OK);
    assert_int_equal(answered, 5);
    listener.on = NULL;
}

static void md_6_10_tokens_and_metadata_of_functions(void **state)
{
    IUnknown *out = NULL;
    mdToken token = GARBAGE;
    const FunctionID entry = sw_tube_function_id(sw_tube_function_at(module, 1));
    (void)state;
#define ASK(id, iid, out, token) info->lpVtbl->GetTokenAndMetaDataFromFunction(info, id, iid, out, token)
    assert_int_equal(ASK(entry, &IID_IMetaDataImport, &out, &token), S_OK);
    assert_ptr_equal(out, import);
    assert_int_equal(token, MAIN);
    assert_int_equal(ASK(entry, &IID_IMetaDataImport, NULL, NULL), S_OK);
    assert_int_equal(ASK(entry, &unknown_iid, &out, NULL), E_NOINTERFACE);
    assert_null(out);
    assert_int_equal(ASK(0, &IID_IMetaDataImport, &out, &token), E_INVALIDARG);
    assert_int_equal(ASK(sw_tube_function_id(hidden), &IID_IMetaDataImport, &out, &token), S_OK);
    assert_int_equal(token, 0x06000000);
    assert_ptr_equal(out, import);
#undef ASK
}

/* ---- section 7: rules of all properties ---- */

static void md_7_1_every_output_is_optional(void **state)
{
    (void)state;
    assert_int_equal(import->lpVtbl->GetScopeProps(import, NULL, 0, NULL, NULL), S_OK);
    assert_int_equal(import->lpVtbl->GetTypeDefProps(import, PROGRAM, NULL, 0, NULL, NULL, NULL), S_OK);
    assert_int_equal(import->lpVtbl->GetTypeRefProps(import, mdtTypeRef + 1, NULL, NULL, 0, NULL), S_OK);
    assert_int_equal(import->lpVtbl->GetMethodProps(import, MAIN, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL),
                     S_OK);
    assert_int_equal(import->lpVtbl->GetMemberProps(import, MAIN, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL,
                                                    NULL, NULL, NULL),
                     S_OK);
    assert_int_equal(import->lpVtbl->GetNestedClassProps(import, INNER, NULL), S_OK);
    assert_int_equal(
        import->lpVtbl->GetGenericParamProps(import, mdtGenericParam + 1, NULL, NULL, NULL, NULL, NULL, 0, NULL), S_OK);
    assert_int_equal(
        assembly->lpVtbl->GetAssemblyProps(assembly, mdtAssembly + 1, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL),
        S_OK);
    assert_int_equal(assembly->lpVtbl->GetAssemblyRefProps(assembly, mdtAssemblyRef + 1, NULL, NULL, NULL, 0, NULL,
                                                           NULL, NULL, NULL, NULL),
                     S_OK);
    assert_int_equal(import->lpVtbl->FindTypeDefByName(import, wide("Demo.Program"), 0, NULL), S_OK);
    assert_int_equal(import->lpVtbl->FindMethod(import, PROGRAM, wide("Main"), NULL, 0, NULL), S_OK);
    assert_int_equal(import->lpVtbl->GetPEKind(import, NULL, NULL), S_OK);
}

static void md_7_2_counts_are_with_the_terminator_whatever_the_buffer(void **state)
{
    ULONG count = GARBAGE;
    (void)state;
    assert_int_equal(import->lpVtbl->GetTypeDefProps(import, PROGRAM, NULL, 50, &count, NULL, NULL), S_OK);
    assert_int_equal(count, sizeof "Demo.Program");
    count = GARBAGE;
    assert_int_equal(import->lpVtbl->GetTypeDefProps(import, PROGRAM, buffer, UNITS, &count, NULL, NULL), S_OK);
    assert_int_equal(count, sizeof "Demo.Program");
    count = GARBAGE;
    assert_int_equal(import->lpVtbl->GetTypeDefProps(import, PROGRAM, buffer, 3, &count, NULL, NULL),
                     CLDB_S_TRUNCATION);
    assert_int_equal(count, sizeof "Demo.Program");
}

/*
 * Each method that gives a name, by the buffer's size; `others` are its other outputs, which are filled all the same.
 */
static HRESULT scope_props(ULONG size, ULONG *count, DWORD *others)
{
    GUID mvid = { 0 };
    const HRESULT hr = import->lpVtbl->GetScopeProps(import, buffer, size, count, &mvid);
    *others = mvid.Data1;
    return hr;
}

static HRESULT type_def_props(ULONG size, ULONG *count, DWORD *others)
{
    mdToken extends = 0;
    const HRESULT hr = import->lpVtbl->GetTypeDefProps(import, PROGRAM, buffer, size, count, others, &extends);
    assert_int_equal(extends, mdtTypeRef + 1);
    return hr;
}

static HRESULT type_ref_props(ULONG size, ULONG *count, DWORD *others)
{
    return import->lpVtbl->GetTypeRefProps(import, mdtTypeRef + 1, others, buffer, size, count);
}

static HRESULT method_props(ULONG size, ULONG *count, DWORD *others)
{
    return import->lpVtbl->GetMethodProps(import, MAIN, others, buffer, size, count, NULL, NULL, NULL, NULL, NULL);
}

static HRESULT member_props(ULONG size, ULONG *count, DWORD *others)
{
    return import->lpVtbl->GetMemberProps(import, MAIN, others, buffer, size, count, NULL, NULL, NULL, NULL, NULL, NULL,
                                          NULL, NULL);
}

static HRESULT generic_param_props(ULONG size, ULONG *count, DWORD *others)
{
    return import->lpVtbl->GetGenericParamProps(import, mdtGenericParam + 2, others, NULL, NULL, NULL, buffer, size,
                                                count);
}

static HRESULT assembly_props(ULONG size, ULONG *count, DWORD *others)
{
    return assembly->lpVtbl->GetAssemblyProps(assembly, mdtAssembly + 1, NULL, NULL, others, buffer, size, count, NULL,
                                              NULL);
}

static HRESULT assembly_ref_props(ULONG size, ULONG *count, DWORD *others)
{
    return assembly->lpVtbl->GetAssemblyRefProps(assembly, mdtAssemblyRef + 1, NULL, others, buffer, size, count, NULL,
                                                 NULL, NULL, NULL);
}

static HRESULT version_string(ULONG size, ULONG *count, DWORD *others)
{
    *others = 1;
    return import->lpVtbl->GetVersionString(import, buffer, size, count);
}

static void md_7_3_what_does_not_fit_is_cut(void **state)
{
    static const struct {
        HRESULT (*get)(ULONG size, ULONG *count, DWORD *others);
        const char *name;
    } rows[] = { { scope_props, "Demo.dll" },
                 { type_def_props, "Demo.Program" },
                 { type_ref_props, "System.Object" },
                 { method_props, "Main" },
                 { member_props, "Main" },
                 { generic_param_props, "T2" },
                 { assembly_props, "Demo" },
                 { assembly_ref_props, "System.Runtime" },
                 { version_string, "v4.0.30319" } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ULONG need = (ULONG)strlen(rows[i].name) + 1;
        for (ULONG size = 0; size <= need + 1; size++) {
            ULONG count = GARBAGE;
            DWORD others = 0;
            char cut[UNITS] = "";
            fill_buffer();
            assert_int_equal(rows[i].get(size, &count, &others), size < need ? CLDB_S_TRUNCATION : S_OK);
            assert_int_equal(count, need);
            assert_int_not_equal(others, 0);
            strncat(cut, rows[i].name, size ? size - 1 : 0);
            if (size)
                ASSERT_NAME(cut);
            ASSERT_UNTOUCHED_FROM(size < need ? size : need);
        }
    }
}

static void md_7_3_a_pair_may_be_cut_between_its_units(void **state)
{
    ULONG count = 0;
    (void)state;
    assert_non_null(sw_tube_function_add(module, "Demo.Program", "x\xf0\x9f\x98\x80", 0));
    fill_buffer();
    assert_int_equal(
        import->lpVtbl->GetMethodProps(import, METHODS_END, NULL, buffer, 3, &count, NULL, NULL, NULL, NULL, NULL),
        CLDB_S_TRUNCATION);
    assert_int_equal(count, 4);
    assert_int_equal(buffer[1], 0xd83d);
    assert_int_equal(buffer[2], 0);
}

static void md_7_5_a_failure_writes_nothing(void **state)
{
    ULONG count = GARBAGE, size = GARBAGE, rva = GARBAGE;
    DWORD flags = GARBAGE, impl = GARBAGE;
    mdToken token = GARBAGE, extends = GARBAGE;
    const BYTE *blob = (const BYTE *)buffer;
    (void)state;
    fill_buffer();
    assert_true(FAILED(import->lpVtbl->GetMethodProps(import, METHODS_END, &token, buffer, UNITS, &count, &flags, &blob,
                                                      &size, &rva, &impl)));
    assert_true(FAILED(import->lpVtbl->GetTypeDefProps(import, TYPES_END, buffer, UNITS, &count, &flags, &extends)));
    assert_true(FAILED(import->lpVtbl->GetTypeRefProps(import, mdtTypeRef + 2, &token, buffer, UNITS, &count)));
    assert_true(FAILED(
        import->lpVtbl->GetMemberRefProps(import, mdtMemberRef + 1, &token, buffer, UNITS, &count, &blob, &size)));
    assert_true(FAILED(import->lpVtbl->GetGenericParamProps(import, mdtGenericParam + 99, &count, &flags, &token, NULL,
                                                            buffer, UNITS, &size)));
    assert_true(FAILED(assembly->lpVtbl->GetAssemblyProps(assembly, mdtAssembly + 2, NULL, &size, &flags, buffer, UNITS,
                                                          &count, NULL, &impl)));
    assert_true(FAILED(assembly->lpVtbl->GetAssemblyRefProps(assembly, mdtAssemblyRef + 2, NULL, &size, buffer, UNITS,
                                                             &count, NULL, NULL, NULL, &impl)));
    ASSERT_UNTOUCHED_FROM(0);
    assert_int_equal(count & size & rva & flags & impl & token & extends, GARBAGE);
    assert_int_equal(count | size | rva | flags | impl | token | extends, GARBAGE);
    assert_ptr_equal(blob, buffer);
}

static void md_7_6_blobs_stay_where_they_are(void **state)
{
    const BYTE *first = NULL, *second = NULL;
    ULONG size = 0;
    const void *key = NULL;
    (void)state;
    assert_int_equal(import->lpVtbl->GetMethodProps(import, MAIN, NULL, NULL, 0, NULL, NULL, &first, &size, NULL, NULL),
                     S_OK);
    assert_int_equal(size, 3);
    assert_memory_equal(first, "\0\0\1", 3); /* static void () */
    assert_int_equal(import->lpVtbl->GetMethodProps(import, MAIN, NULL, NULL, 0, NULL, NULL, &second, NULL, NULL, NULL),
                     S_OK);
    assert_ptr_equal(first, second);
    size = GARBAGE;
    assert_int_equal(
        assembly->lpVtbl->GetAssemblyProps(assembly, mdtAssembly + 1, &key, &size, NULL, NULL, 0, NULL, NULL, NULL),
        S_OK);
    assert_non_null(key); /* empty: a pointer, and no length */
    assert_int_equal(size, 0);
}

static void md_7_7_a_tokens_table_is_mostly_not_looked_at(void **state)
{
    mdTypeDef class = 0;
    (void)state;
    fill_buffer();
    assert_int_equal(
        import->lpVtbl->GetMethodProps(import, 0x02000001, &class, buffer, UNITS, NULL, NULL, NULL, NULL, NULL, NULL),
        S_OK);
    ASSERT_NAME("Main");
    assert_int_equal(class, PROGRAM);
}

/* ---- section 8: method by method ---- */

/* A method by its token: nil, too high, and in another table. */
static void md_8_rows_that_are_not_there(void **state)
{
    const BYTE *blob;
    const char *name;
    mdToken token;
    ULONG size;
    (void)state;
#define METHOD(row) import->lpVtbl->GetMethodProps(import, row, &token, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL)
    assert_int_equal(METHOD(0x06000000), CLDB_E_INDEX_NOTFOUND); /* 8.1 */
    assert_int_equal(METHOD(METHODS_END), CLDB_E_INDEX_NOTFOUND);
#define NESTED(row) import->lpVtbl->GetNestedClassProps(import, row, &token)
    assert_int_equal(NESTED(0x02000000), CLDB_E_RECORD_NOTFOUND); /* 8.4 */
    assert_int_equal(NESTED(TYPES_END), CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(NESTED(0x06000001), META_E_INVALID_TOKEN_TYPE);
#define REFERENCE(row) import->lpVtbl->GetMemberRefProps(import, row, &token, NULL, 0, NULL, &blob, &size)
    assert_int_equal(REFERENCE(0x0a000000), CLDB_E_INDEX_NOTFOUND); /* 8.5 */
    assert_int_equal(REFERENCE(0x0a000001), CLDB_E_INDEX_NOTFOUND);
    assert_int_equal(import->lpVtbl->GetSigFromToken(import, 0x11000001, &blob, &size), CLDB_E_INDEX_NOTFOUND);
    assert_int_equal(import->lpVtbl->GetTypeSpecFromToken(import, 0x1b000001, &blob, &size), CLDB_E_INDEX_NOTFOUND);
#define PARAMETER(row) import->lpVtbl->GetGenericParamProps(import, row, &size, NULL, NULL, NULL, NULL, 0, NULL)
    assert_int_equal(PARAMETER(0x2a000000), META_E_BAD_INPUT_PARAMETER); /* 8.9 */
    assert_int_equal(PARAMETER(0x2a000006), CLDB_E_INDEX_NOTFOUND);
    assert_int_equal(PARAMETER(0x02000001), META_E_BAD_INPUT_PARAMETER);
    assert_int_equal(import->lpVtbl->GetMethodSpecProps(import, 0x2b000001, &token, &blob, &size),
                     CLDB_E_INDEX_NOTFOUND);
    assert_int_equal(
        assembly->lpVtbl->GetAssemblyProps(assembly, 0x20000000, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL),
        CLDB_E_INDEX_NOTFOUND); /* 8.17 */
    assert_int_equal(
        assembly->lpVtbl->GetAssemblyProps(assembly, 0x20000002, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL),
        CLDB_E_INDEX_NOTFOUND);
    assert_int_equal(
        assembly->lpVtbl->GetAssemblyProps(assembly, 0x02000001, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL),
        S_OK); /* another table */
    assert_int_equal(import->lpVtbl->GetNameFromToken(import, METHODS_END, &name), CLDB_E_INDEX_NOTFOUND);
    assert_int_equal(import->lpVtbl->GetPinvokeMap(import, MAIN, NULL, NULL, 0, NULL, NULL), CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(import->lpVtbl->GetFieldMarshal(import, 0x04000001, &blob, &size), CLDB_E_RECORD_NOTFOUND);
}

/* What the tube's modules have none of. Rows like 8.5 and 8.21. */
static void md_8_empty_tables(void **state)
{
    const BYTE *blob;
    const void *value;
    mdToken token, other;
    DWORD flags;
    ULONG size;
    (void)state;
#define NO_ROW(name, ...)    assert_int_equal(import->lpVtbl->name(import, __VA_ARGS__), CLDB_E_INDEX_NOTFOUND)
#define NO_RECORD(name, ...) assert_int_equal(import->lpVtbl->name(import, __VA_ARGS__), CLDB_E_RECORD_NOTFOUND)
    NO_ROW(GetInterfaceImplProps, 0x09000001, &token, &other);
    NO_ROW(GetEventProps, 0x14000001, &token, NULL, 0, NULL, &flags, &other, &other, &other, &other, NULL, 0, &size);
    NO_RECORD(GetMethodSemantics, MAIN, 0x17000001, &flags);
    NO_ROW(GetPermissionSetProps, 0x0e000001, &flags, &value, &size);
    NO_ROW(GetModuleRefProps, 0x1a000001, NULL, 0, &size);
    NO_ROW(GetUserString, 0x70000001, NULL, 0, &size);
    NO_RECORD(GetParamForMethodIndex, MAIN, 1, &token);
    NO_ROW(GetCustomAttributeProps, 0x0c000001, &token, &other, &value, &size);
    NO_ROW(GetFieldProps, 0x04000001, &token, NULL, 0, NULL, &flags, &blob, &size, &flags, &value, &size);
    NO_ROW(GetPropertyProps, 0x17000001, &token, NULL, 0, NULL, &flags, &blob, &size, &flags, &value, &size, &other,
           &other, NULL, 0, &size);
    NO_ROW(GetParamProps, 0x08000001, &token, &size, NULL, 0, NULL, &flags, &flags, &value, &size);
    NO_ROW(GetGenericParamConstraintProps, 0x2c000001, &token, &other);
    assert_int_equal(import->lpVtbl->GetNativeCallConvFromSig(import, NULL, 0, &size), E_NOTIMPL);
    assert_int_equal(assembly->lpVtbl->GetFileProps(assembly, 0x26000001, NULL, 0, NULL, &value, &size, &flags),
                     CLDB_E_INDEX_NOTFOUND);
    assert_int_equal(
        assembly->lpVtbl->GetExportedTypeProps(assembly, 0x27000001, NULL, 0, NULL, &token, &other, &flags),
        CLDB_E_INDEX_NOTFOUND);
    assert_int_equal(
        assembly->lpVtbl->GetManifestResourceProps(assembly, 0x28000001, NULL, 0, NULL, &token, &flags, &flags),
        CLDB_E_INDEX_NOTFOUND);
}

static void md_8_1_methods(void **state)
{
    static const struct {
        mdMethodDef token;
        mdTypeDef class;
        const char *name;
    } rows[] = { { MAIN, PROGRAM, "Main" }, { WORK, PROGRAM, "Work" }, { START, 0x02000000, "Start" } };
    ULONG last = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mdTypeDef class = GARBAGE;
        DWORD flags = 0, impl = GARBAGE;
        ULONG rva = 0, again = 0;
        assert_int_equal(import->lpVtbl->GetMethodProps(import, rows[i].token, &class, buffer, UNITS, NULL, &flags,
                                                        NULL, NULL, &rva, &impl),
                         S_OK);
        ASSERT_NAME(rows[i].name);
        assert_int_equal(class, rows[i].class);
        assert_int_equal(flags & 0x17, 0x16); /* public static */
        assert_int_equal(impl, 0);
        assert_true(rva > last);
        last = rva;
        assert_int_equal(import->lpVtbl->GetRVA(import, rows[i].token, &again, &impl), S_OK);
        assert_int_equal(again, rva);
    }
}

static void md_8_1_members_that_are_methods_leave_a_fields_outputs_alone(void **state)
{
    DWORD type = GARBAGE;
    ULONG size = GARBAGE;
    const void *value = buffer;
    mdTypeDef class = 0;
    (void)state;
    assert_int_equal(import->lpVtbl->GetMemberProps(import, WORK, &class, buffer, UNITS, NULL, NULL, NULL, NULL, NULL,
                                                    NULL, &type, &value, &size),
                     S_OK);
    ASSERT_NAME("Work");
    assert_int_equal(class, PROGRAM);
    assert_int_equal(type & size, GARBAGE);
    assert_ptr_equal(value, buffer);
    assert_int_equal(import->lpVtbl->GetMemberProps(import, 0x04000001, &class, NULL, 0, NULL, NULL, NULL, NULL, NULL,
                                                    NULL, &type, &value, &size),
                     CLDB_E_INDEX_NOTFOUND);
}

static void md_8_2_types(void **state)
{
    static const struct {
        mdTypeDef token;
        const char *name;
        mdToken extends;
        DWORD visibility;
    } rows[] = { { 0x02000000, "", 0x01000000, 0 },          { MODULE_TYPE, "<Module>", 0x01000000, 0 },
                 { PROGRAM, "Demo.Program", 0x01000001, 1 }, { INNER, "Inner", 0x01000001, 2 },
                 { PAIR, "Demo.Pair`2", 0x01000001, 1 },     { ENTRY, "Entry", 0x01000001, 2 },
                 { LIST, "Demo.List`1", 0x01000001, 1 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        DWORD flags = GARBAGE;
        mdToken extends = GARBAGE;
        fill_buffer();
        assert_int_equal(import->lpVtbl->GetTypeDefProps(import, rows[i].token, buffer, UNITS, NULL, &flags, &extends),
                         S_OK);
        ASSERT_NAME(rows[i].name);
        assert_int_equal(extends, rows[i].extends);
        assert_int_equal(flags & 7, rows[i].visibility);
    }
    assert_int_equal(import->lpVtbl->GetTypeDefProps(import, TYPES_END, NULL, 0, NULL, NULL, NULL),
                     CLDB_E_INDEX_NOTFOUND);
}

/* A type or type reference of another table: S_FALSE, and nothing is written. */
static void md_8_2_8_3_another_table_is_no_failure(void **state)
{
    DWORD flags = GARBAGE;
    ULONG count = GARBAGE;
    mdToken token = GARBAGE;
    (void)state;
    fill_buffer();
    assert_int_equal(import->lpVtbl->GetTypeDefProps(import, 0x01000001, buffer, UNITS, &count, &flags, &token),
                     S_FALSE);
    assert_int_equal(import->lpVtbl->GetTypeRefProps(import, 0x02000001, &token, buffer, UNITS, &count), S_FALSE);
    ASSERT_UNTOUCHED_FROM(0);
    assert_int_equal(flags & count & token, GARBAGE);
}

static void md_8_2_the_core_library_has_the_type_that_others_refer_to(void **state)
{
    IMetaDataImport2 *core = get(sw_tube_module_of(tube, sw_tube_id(SW_ID_MODULE, 0)), &IID_IMetaDataImport);
    mdToken extends = GARBAGE;
    HCORENUM handle = NULL;
    mdTypeRef reference;
    mdTypeDef object = 0, canon = 0;
    (void)state;
    assert_int_equal(core->lpVtbl->FindTypeDefByName(core, wide("System.Object"), 0, &object), S_OK);
    assert_int_equal(core->lpVtbl->GetTypeDefProps(core, object, NULL, 0, NULL, NULL, &extends), S_OK);
    assert_int_equal(extends, 0x01000000);
    assert_int_equal(core->lpVtbl->FindTypeDefByName(core, wide("System.__Canon"), 0, &canon), S_OK);
    assert_int_equal(core->lpVtbl->GetTypeDefProps(core, canon, NULL, 0, NULL, NULL, &extends), S_OK);
    assert_int_equal(extends, object);
    assert_int_equal(core->lpVtbl->EnumTypeRefs(core, &handle, &reference, 1, NULL), S_FALSE);
    assert_int_equal(core->lpVtbl->GetTypeRefProps(core, 0x01000001, NULL, NULL, 0, NULL), CLDB_E_INDEX_NOTFOUND);
    assert_false(core->lpVtbl->IsValidToken(core, 0x23000001));
    core->lpVtbl->Release(core);
}

static void md_8_3_type_references(void **state)
{
    mdToken scope = GARBAGE, tokens[2] = { 0 };
    ULONG count = 0;
    HCORENUM handle = NULL;
    (void)state;
    assert_int_equal(import->lpVtbl->EnumTypeRefs(import, &handle, tokens, 2, &count), S_OK);
    assert_int_equal(count, 1);
    assert_int_equal(tokens[0], 0x01000001);
    import->lpVtbl->CloseEnum(import, handle);
    assert_int_equal(import->lpVtbl->GetTypeRefProps(import, 0x01000001, &scope, buffer, UNITS, NULL), S_OK);
    ASSERT_NAME("System.Object");
    assert_int_equal(scope, 0x23000001);
    fill_buffer();
    assert_int_equal(import->lpVtbl->GetTypeRefProps(import, 0x01000000, &scope, buffer, UNITS, &count), S_OK);
    ASSERT_NAME("");
    assert_int_equal(count, 1);
    assert_int_equal(scope, 0);
    assert_int_equal(import->lpVtbl->GetTypeRefProps(import, 0x01000002, NULL, NULL, 0, NULL), CLDB_E_INDEX_NOTFOUND);
}

static void md_8_4_not_nested_leaves_the_output_alone(void **state)
{
    mdTypeDef outer = GARBAGE;
    (void)state;
    assert_int_equal(import->lpVtbl->GetNestedClassProps(import, PROGRAM, &outer), CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(outer, GARBAGE);
    assert_int_equal(import->lpVtbl->GetNestedClassProps(import, INNER, &outer), S_OK);
    assert_int_equal(outer, OUTER);
    assert_int_equal(import->lpVtbl->GetNestedClassProps(import, ENTRY, &outer), S_OK);
    assert_int_equal(outer, PAIR);
}

static void md_8_7_8_8_the_scope(void **state)
{
    GUID mvid = { 0 }, again = { 0 };
    mdModule token = GARBAGE;
    (void)state;
    assert_int_equal(import->lpVtbl->GetScopeProps(import, buffer, UNITS, NULL, &mvid), S_OK);
    ASSERT_NAME("Demo.dll");
    assert_memory_equal(&mvid, &module->mvid, sizeof mvid);
    assert_memory_not_equal(&mvid, &again, sizeof mvid);
    assert_int_equal(import->lpVtbl->GetModuleFromScope(import, &token), S_OK);
    assert_int_equal(token, 1);
}

static void md_8_9_generic_parameters(void **state)
{
    static const struct {
        mdGenericParam token;
        ULONG number;
        mdToken owner;
        const char *name;
    } rows[] = { { 0x2a000001, 0, PAIR, "T1" },
                 { 0x2a000002, 1, PAIR, "T2" },
                 { 0x2a000003, 0, ENTRY, "T1" },
                 { 0x2a000004, 1, ENTRY, "T2" },
                 { 0x2a000005, 0, LIST, "T" } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ULONG number = GARBAGE, count = 0;
        DWORD flags = GARBAGE, reserved = GARBAGE;
        mdToken owner = 0;
        assert_int_equal(import->lpVtbl->GetGenericParamProps(import, rows[i].token, &number, &flags, &owner, &reserved,
                                                              buffer, UNITS, &count),
                         S_OK);
        assert_int_equal(number, rows[i].number);
        assert_int_equal(flags, 0);
        assert_int_equal(owner, rows[i].owner);
        assert_int_equal(reserved, GARBAGE);
        ASSERT_NAME(rows[i].name);
    }
}

static void md_8_10_generic_parameters_of_a_type(void **state)
{
    static const struct {
        mdToken owner;
        ULONG count;
        mdGenericParam first;
    } rows[] = { { 0, 0, 0 },
                 { 0x06000001, 0, 0 },
                 { PROGRAM, 0, 0 },
                 { TYPES_END, 0, 0 },
                 { PAIR, 2, 0x2a000001 },
                 { ENTRY, 2, 0x2a000003 },
                 { LIST, 1, 0x2a000005 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        HCORENUM handle = NULL;
        mdGenericParam tokens[4] = { 0 };
        ULONG count = GARBAGE;
        const HRESULT hr = import->lpVtbl->EnumGenericParams(import, &handle, rows[i].owner, tokens, 4, &count);
        assert_int_equal(hr, rows[i].count ? S_OK : S_FALSE);
        assert_int_equal(count, rows[i].count);
        for (ULONG at = 0; at < count; at++)
            assert_int_equal(tokens[at], rows[i].first + at);
        assert_int_equal(handle != NULL, rows[i].count != 0);
        import->lpVtbl->CloseEnum(import, handle);
    }
}

static void md_8_11_methods_of_a_type(void **state)
{
    static const struct {
        mdTypeDef type;
        HRESULT hr;
        ULONG count;
        mdMethodDef tokens[2];
    } rows[] = { { 0, S_OK, 1, { START } },           { 0x02000000, S_OK, 1, { START } },
                 { MODULE_TYPE, S_OK, 1, { START } }, { PROGRAM, S_OK, 2, { MAIN, WORK } },
                 { OUTER, S_FALSE, 0, { 0 } },        { TYPES_END, CLDB_E_INDEX_NOTFOUND, GARBAGE, { 0 } } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        HCORENUM handle = NULL;
        mdMethodDef tokens[4] = { 0 };
        ULONG count = GARBAGE;
        assert_int_equal(import->lpVtbl->EnumMethods(import, &handle, rows[i].type, tokens, 4, &count), rows[i].hr);
        assert_int_equal(count, rows[i].count);
        assert_memory_equal(tokens, rows[i].tokens, sizeof rows[i].tokens);
        assert_int_equal(handle != NULL, rows[i].hr == S_OK);
        import->lpVtbl->CloseEnum(import, handle);
    }
}

static void md_8_11_methods_with_a_name(void **state)
{
    HCORENUM handle = NULL;
    mdToken tokens[4] = { 0 };
    ULONG count = 0;
    (void)state;
    assert_int_equal(import->lpVtbl->EnumMethodsWithName(import, &handle, PROGRAM, wide("Work"), tokens, 4, &count),
                     S_OK);
    assert_int_equal(count, 1);
    assert_int_equal(tokens[0], WORK);
    import->lpVtbl->CloseEnum(import, handle);
    handle = NULL;
    assert_int_equal(import->lpVtbl->EnumMembersWithName(import, &handle, PROGRAM, wide("Wor"), tokens, 4, &count),
                     S_FALSE);
    assert_int_equal(import->lpVtbl->EnumMembers(import, &handle, PROGRAM, tokens, 4, &count), S_OK);
    assert_int_equal(count, 2);
    import->lpVtbl->CloseEnum(import, handle);
}

static void md_8_13_types_by_name(void **state)
{
    static const struct {
        const char *name;
        mdToken enclosing;
        HRESULT hr;
        mdTypeDef found;
    } rows[] = { { "Demo.Program", 0, S_OK, PROGRAM },
                 { "Demo.Program", 0x02000000, S_OK, PROGRAM },
                 { "Demo.Program", 1, S_OK, PROGRAM },
                 { "Demo.Pair`2", 0, S_OK, PAIR },
                 { "Program", 0, CLDB_E_RECORD_NOTFOUND, 0x02000000 },
                 { "Inner", OUTER, S_OK, INNER },
                 { "Inner", 0, CLDB_E_RECORD_NOTFOUND, 0x02000000 },
                 { "Inner", 1, CLDB_E_RECORD_NOTFOUND, 0x02000000 },
                 { "Inner", PAIR, CLDB_E_RECORD_NOTFOUND, 0x02000000 },
                 { "Inner", TYPES_END, CLDB_E_RECORD_NOTFOUND, 0x02000000 },
                 { "Demo.Outer+Inner", 0, CLDB_E_RECORD_NOTFOUND, 0x02000000 },
                 { "Demo.Outer/Inner", 0, CLDB_E_RECORD_NOTFOUND, 0x02000000 },
                 { "Demo.Nothing", 0, CLDB_E_RECORD_NOTFOUND, 0x02000000 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mdTypeDef found = GARBAGE;
        assert_int_equal(import->lpVtbl->FindTypeDefByName(import, wide(rows[i].name), rows[i].enclosing, &found),
                         rows[i].hr);
        assert_int_equal(found, rows[i].found);
    }
    mdTypeDef found = GARBAGE;
    assert_int_equal(import->lpVtbl->FindTypeDefByName(import, NULL, 0, &found), E_INVALIDARG);
    assert_int_equal(found, GARBAGE);
}

static void md_8_14_members_by_name(void **state)
{
    static const BYTE same[] = { 0, 0, 1 }, other[] = { 0, 0, 8 };
    mdToken found = GARBAGE;
    (void)state;
    assert_int_equal(import->lpVtbl->FindMethod(import, PROGRAM, wide("Work"), NULL, 0, &found), S_OK);
    assert_int_equal(found, WORK);
    assert_int_equal(import->lpVtbl->FindMethod(import, PROGRAM, wide("Work"), same, sizeof same, &found), S_OK);
    assert_int_equal(found, WORK);
    assert_int_equal(import->lpVtbl->FindMethod(import, 0, wide("Start"), NULL, 0, &found), S_OK);
    assert_int_equal(found, START);
    assert_int_equal(import->lpVtbl->FindMember(import, PROGRAM, wide("Main"), NULL, 0, &found), S_OK);
    assert_int_equal(found, MAIN);
    assert_int_equal(import->lpVtbl->FindMethod(import, PROGRAM, wide("Work"), other, sizeof other, &found),
                     CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(found, 0x06000000);
    assert_int_equal(import->lpVtbl->FindMethod(import, PROGRAM, wide("Start"), NULL, 0, &found),
                     CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(import->lpVtbl->FindField(import, PROGRAM, wide("Main"), NULL, 0, &found), CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(found, 0x04000000);
    assert_int_equal(import->lpVtbl->FindMemberRef(import, 0x01000001, wide("ToString"), NULL, 0, &found),
                     CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(found, 0x0a000000);
    assert_int_equal(import->lpVtbl->FindMember(import, PROGRAM, wide("x"), NULL, 0, &found), CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(import->lpVtbl->FindMethod(import, PROGRAM, NULL, NULL, 0, &found), E_INVALIDARG);
}

static void md_8_15_type_references_by_name_and_scope(void **state)
{
    static const struct {
        mdToken scope;
        const char *name;
        mdTypeRef found;
    } rows[] = { { 0x23000001, "System.Object", 0x01000001 },
                 { 0x23000001, "System.String", 0x01000000 },
                 { 0x23000002, "System.Object", 0x01000000 },
                 { 0, "System.Object", 0x01000000 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mdTypeRef found = GARBAGE;
        assert_int_equal(import->lpVtbl->FindTypeRef(import, rows[i].scope, wide(rows[i].name), &found),
                         rows[i].found == 0x01000000 ? CLDB_E_RECORD_NOTFOUND : S_OK);
        assert_int_equal(found, rows[i].found);
    }
}

static void md_8_16_an_absent_attribute_leaves_the_outputs_alone(void **state)
{
    const void *data = buffer;
    ULONG size = GARBAGE;
    static const mdToken owners[] = { PROGRAM, MAIN, 1, 0x20000001, TYPES_END };
    (void)state;
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        assert_int_equal(import->lpVtbl->GetCustomAttributeByName(import, owners[i], wide("System.A"), &data, &size),
                         S_FALSE);
        assert_ptr_equal(data, buffer);
        assert_int_equal(size, GARBAGE);
    }
    assert_int_equal(import->lpVtbl->GetCustomAttributeByName(import, PROGRAM, wide("System.A"), NULL, NULL), S_FALSE);
}

static void md_8_17_8_18_assemblies(void **state)
{
    mdAssembly token = GARBAGE;
    DWORD hash = 0, flags = GARBAGE;
    ULONG size = 0;
    const void *key = NULL;
    ASSEMBLYMETADATA about = { .cbLocale = 0, .usMajorVersion = 9 };
    (void)state;
    assert_int_equal(assembly->lpVtbl->GetAssemblyFromScope(assembly, &token), S_OK);
    assert_int_equal(token, 0x20000001);
    assert_int_equal(
        assembly->lpVtbl->GetAssemblyProps(assembly, token, NULL, NULL, &hash, buffer, UNITS, NULL, &about, &flags),
        S_OK);
    ASSERT_NAME("Demo");
    assert_int_equal(hash, 0x8004);
    assert_int_equal(about.usMajorVersion, 1);
    about.cbLocale = GARBAGE;
    ULONG hash_size = GARBAGE;
    flags = GARBAGE;
    assert_int_equal(assembly->lpVtbl->GetAssemblyRefProps(assembly, 0x23000001, &key, &size, buffer, UNITS, NULL,
                                                           &about, NULL, &hash_size, &flags),
                     S_OK);
    assert_int_equal(hash_size | flags, 0);
    ASSERT_NAME("System.Runtime");
    assert_int_equal(size, 8);
    assert_memory_equal(key, "\xb0\x3f\x5f\x7f\x11\xd5\x0a\x3a", 8);
    assert_int_equal(about.usMajorVersion, 10);
    assert_int_equal(about.cbLocale, 0); /* the neutral culture */
    HCORENUM handle = NULL;
    mdAssemblyRef tokens[2];
    ULONG count = 0;
    assert_int_equal(assembly->lpVtbl->EnumAssemblyRefs(assembly, &handle, tokens, 2, &count), S_OK);
    assert_int_equal(count, 1);
    assert_int_equal(tokens[0], 0x23000001);
    assembly->lpVtbl->CloseEnum(assembly, handle);
}

static void md_8_19_live_tokens(void **state)
{
    static const struct {
        mdToken token;
        BOOL valid;
    } rows[] = { { 1, 1 },          { 2, 0 },          { 0x01000001, 1 }, { 0x01000002, 0 }, { MODULE_TYPE, 1 },
                 { LIST, 1 },       { TYPES_END, 0 },  { 0x02000000, 0 }, { MAIN, 1 },       { METHODS_END, 0 },
                 { 0x04000001, 0 }, { 0x20000001, 1 }, { 0x20000002, 0 }, { 0x23000001, 1 }, { 0x2a000005, 1 },
                 { 0x2a000006, 0 }, { 0x2a000000, 0 }, { 0x70000001, 1 }, { 0x70000002, 0 }, { 0x99000001, 0 },
                 { 0, 0 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(import->lpVtbl->IsValidToken(import, rows[i].token), rows[i].valid);
}

static void md_8_20_names_of_tokens_are_utf8_and_their_own(void **state)
{
    static const struct {
        mdToken token;
        const char *name;
    } rows[] = { { 1, "Demo.dll" },  { 0x01000001, "Object" }, { PROGRAM, "Program" },
                 { INNER, "Inner" }, { PAIR, "Pair`2" },       { WORK, "Work" } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name = NULL;
        assert_int_equal(import->lpVtbl->GetNameFromToken(import, rows[i].token, &name), S_OK);
        assert_string_equal(name, rows[i].name);
    }
}

static void md_8_22_no_layout_is_two_zeros(void **state)
{
    DWORD pack = GARBAGE;
    ULONG count = GARBAGE, size = GARBAGE;
    (void)state;
    assert_int_equal(import->lpVtbl->GetClassLayout(import, PROGRAM, &pack, NULL, 0, &count, &size),
                     CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(pack, 0);
    assert_int_equal(size, 0);
    assert_int_equal(count, GARBAGE);
}

static void md_8_23_a_reference_is_resolved_across_assemblies(void **state)
{
    IUnknown *scope = NULL;
    mdTypeDef type = GARBAGE;
    (void)state;
    assert_int_equal(import->lpVtbl->ResolveTypeRef(import, 0x01000001, &IID_IMetaDataImport, &scope, &type), S_OK);
    IMetaDataImport2 *core = (IMetaDataImport2 *)scope;
    assert_ptr_not_equal(core, import);
    assert_int_equal(core->lpVtbl->GetTypeDefProps(core, type, buffer, UNITS, NULL, NULL, NULL), S_OK);
    ASSERT_NAME("System.Object");
    assert_int_equal(core->lpVtbl->Release(core), 1);
    assert_int_equal(import->lpVtbl->ResolveTypeRef(import, 0x01000002, &IID_IMetaDataImport, &scope, &type),
                     CLDB_E_INDEX_NOTFOUND);
}

static void md_8_24_once_it_is_writable_there_is_no_kind_of_file(void **state)
{
    DWORD kind = GARBAGE, machine = GARBAGE;
    IUnknown *emit = NULL;
    (void)state;
    assert_int_equal(import->lpVtbl->GetPEKind(import, &kind, &machine), S_OK);
    assert_int_equal(kind, 1);
    assert_int_equal(machine, 0x14c);
    assert_int_equal(
        info->lpVtbl->GetModuleMetaData(info, sw_tube_module_id(module), ofWrite, &IID_IMetaDataImport, &emit), S_OK);
    assert_int_equal(import->lpVtbl->GetPEKind(import, &kind, &machine), S_FALSE);
    assert_int_equal(kind | machine, 0);
    emit->lpVtbl->Release(emit);
}

static void md_6_3_asking_for_emit_makes_it_writable(void **state)
{
    static const IID *const iids[] = { &IID_IMetaDataEmit, &IID_IMetaDataEmit2, &IID_IMetaDataAssemblyEmit };
    (void)state;
    for (size_t i = 0; i < sizeof iids / sizeof *iids; i++) {
        char name[16];
        snprintf(name, sizeof name, "Fresh%zu.dll", i);
        IMetaDataImport2 *fresh = get(sw_tube_module_load(tube, name), &IID_IMetaDataImport);
        void *emit = NULL;
        assert_int_equal(fresh->lpVtbl->GetPEKind(fresh, NULL, NULL), S_OK);
        assert_int_equal(fresh->lpVtbl->QueryInterface(fresh, iids[i], &emit), S_OK);
        assert_int_equal(fresh->lpVtbl->GetPEKind(fresh, NULL, NULL), S_FALSE);
    }
}

static void md_8_25_8_26_the_rest(void **state)
{
    ULONG count = GARBAGE;
    int global = GARBAGE;
    (void)state;
    assert_int_equal(import->lpVtbl->GetVersionString(import, buffer, UNITS, &count), S_OK);
    ASSERT_NAME("v4.0.30319");
    assert_int_equal(assembly->lpVtbl->FindAssembliesByName(assembly, NULL, NULL, NULL, NULL, 0, &count), E_NOTIMPL);
    assert_int_equal(import->lpVtbl->IsGlobal(import, START, &global), S_OK);
    assert_int_equal(global, 1);
    assert_int_equal(import->lpVtbl->IsGlobal(import, MAIN, &global), S_OK);
    assert_int_equal(global, 0);
    assert_int_equal(import->lpVtbl->IsGlobal(import, MODULE_TYPE, &global), S_OK);
    assert_int_equal(global, 1);
    mdToken token = GARBAGE;
    assert_int_equal(assembly->lpVtbl->FindExportedTypeByName(assembly, wide("A"), 0, &token), CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(token, 0x27000000);
    assert_int_equal(assembly->lpVtbl->FindManifestResourceByName(assembly, wide("A"), &token), CLDB_E_RECORD_NOTFOUND);
    assert_int_equal(token, 0x28000000);
}

/* ---- section 9: enumerations ---- */

static void md_9_1_an_enumeration_goes_on_where_it_was_and_its_handle_stays(void **state)
{
    HCORENUM handle = NULL;
    mdTypeDef tokens[4] = { 0 };
    ULONG count = 0;
    (void)state;
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, tokens, 4, &count), S_OK);
    assert_int_equal(count, 4);
    assert_int_equal(tokens[3], ENTRY - 1);
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, tokens, 4, &count), S_OK);
    assert_int_equal(count, 2);
    assert_int_equal(tokens[1], LIST);
    assert_int_equal(tokens[2], PAIR - 1); /* what was not given stays */
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, tokens, 4, &count), S_FALSE);
    assert_int_equal(count, 0);
    assert_non_null(handle);
    import->lpVtbl->CloseEnum(import, handle);
}

static void md_9_1_what_it_is_over_is_said_by_the_first_call(void **state)
{
    HCORENUM handle = NULL;
    mdMethodDef token = 0;
    ULONG count = 0;
    (void)state;
    assert_int_equal(import->lpVtbl->EnumMethods(import, &handle, PROGRAM, &token, 1, &count), S_OK);
    assert_int_equal(import->lpVtbl->EnumMethods(import, &handle, TYPES_END, &token, 1, &count), S_OK);
    assert_int_equal(token, WORK);
    import->lpVtbl->CloseEnum(import, handle);
}

/* Every enumeration of a table that is empty here. */
static void md_9_2_nothing_leaves_the_handle_null(void **state)
{
    HCORENUM handle = NULL;
    mdToken tokens[2] = { GARBAGE, GARBAGE };
    ULONG count;
    (void)state;
#define NOTHING(call)                                                                                                  \
    do {                                                                                                               \
        count = GARBAGE;                                                                                               \
        assert_int_equal(call, S_FALSE);                                                                               \
        assert_int_equal(count, 0);                                                                                    \
        assert_null(handle);                                                                                           \
    } while (0)
#define ENUM(name, ...) NOTHING(import->lpVtbl->name(import, &handle, __VA_ARGS__, tokens, 2, &count))
    ENUM(EnumInterfaceImpls, PROGRAM);
    ENUM(EnumFields, PROGRAM);
    ENUM(EnumFieldsWithName, PROGRAM, wide("a"));
    ENUM(EnumParams, MAIN);
    ENUM(EnumMemberRefs, PROGRAM);
    ENUM(EnumPermissionSets, PROGRAM, 0);
    ENUM(EnumProperties, PROGRAM);
    ENUM(EnumEvents, PROGRAM);
    ENUM(EnumMethodSemantics, MAIN);
    ENUM(EnumCustomAttributes, 0, 0);
    ENUM(EnumGenericParamConstraints, 0x2a000001);
    ENUM(EnumMethodSpecs, MAIN);
    ENUM(EnumGenericParams, PROGRAM);
    ENUM(EnumMethods, OUTER);
    NOTHING(import->lpVtbl->EnumModuleRefs(import, &handle, tokens, 2, &count));
    NOTHING(import->lpVtbl->EnumUnresolvedMethods(import, &handle, tokens, 2, &count));
    NOTHING(import->lpVtbl->EnumSignatures(import, &handle, tokens, 2, &count));
    NOTHING(import->lpVtbl->EnumTypeSpecs(import, &handle, tokens, 2, &count));
    NOTHING(import->lpVtbl->EnumUserStrings(import, &handle, tokens, 2, &count));
    NOTHING(import->lpVtbl->EnumMethodImpls(import, &handle, PROGRAM, tokens, tokens, 2, &count));
    NOTHING(assembly->lpVtbl->EnumFiles(assembly, &handle, tokens, 2, &count));
    NOTHING(assembly->lpVtbl->EnumExportedTypes(assembly, &handle, tokens, 2, &count));
    NOTHING(assembly->lpVtbl->EnumManifestResources(assembly, &handle, tokens, 2, &count));
    assert_int_equal(tokens[0], GARBAGE);
}

static void md_9_3_counting_needs_no_room(void **state)
{
    HCORENUM handle = NULL;
    ULONG count = GARBAGE;
    mdTypeDef token = 0;
    (void)state;
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, NULL, 0, &count), S_FALSE);
    assert_int_equal(count, 0);
    assert_non_null(handle);
    assert_int_equal(import->lpVtbl->CountEnum(import, handle, &count), S_OK);
    assert_int_equal(count, sizeof type_names / sizeof *type_names);
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, &token, 1, NULL), S_OK);
    assert_int_equal(token, PROGRAM);
    import->lpVtbl->CloseEnum(import, handle);
}

static void md_9_4_a_null_handle_is_an_empty_enumeration(void **state)
{
    ULONG count = GARBAGE;
    (void)state;
    import->lpVtbl->CloseEnum(import, NULL);
    assembly->lpVtbl->CloseEnum(assembly, NULL);
    assert_int_equal(import->lpVtbl->CountEnum(import, NULL, &count), S_OK);
    assert_int_equal(count, 0);
    assert_int_equal(import->lpVtbl->ResetEnum(import, NULL, 0), S_OK);
}

static void md_9_5_reset_sets_the_position(void **state)
{
    HCORENUM handle = NULL;
    mdTypeDef token = 0;
    (void)state;
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, &token, 1, NULL), S_OK);
    assert_int_equal(token, 0x02000002);
    assert_int_equal(import->lpVtbl->ResetEnum(import, handle, 4), S_OK);
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, &token, 1, NULL), S_OK);
    assert_int_equal(token, ENTRY);
    assert_int_equal(import->lpVtbl->ResetEnum(import, handle, 99), S_OK); /* behind the end */
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, &token, 1, NULL), S_FALSE);
    assert_int_equal(import->lpVtbl->ResetEnum(import, handle, 0), S_OK);
    assert_int_equal(import->lpVtbl->EnumTypeDefs(import, &handle, &token, 1, NULL), S_OK);
    assert_int_equal(token, 0x02000002);
    import->lpVtbl->CloseEnum(import, handle);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(md_2_1_each_request_for_a_module_gives_the_same_object),
        TEST(md_2_2_interfaces_lie_behind_each_other),
        TEST(md_2_3_references_are_counted_with_one_of_the_runtimes_own),
        TEST(md_2_3_a_reference_released_too_often_does_no_harm),
        TEST(md_2_4_every_method_of_emit_is_there_and_says_that_it_is_not_implemented),
        TEST(md_6_1_open_flags),
        TEST(md_6_3_asking_for_emit_makes_it_writable),
        TEST(md_6_4_without_an_output_it_is_all_right),
        TEST(md_6_5_an_unknown_interface_sets_null),
        TEST(md_6_6_no_module_leaves_the_output_alone),
        TEST(md_6_7_it_is_there_from_the_first_to_the_last_event_of_its_module),
        TEST(md_6_10_tokens_and_metadata_of_functions),
        TEST(md_7_1_every_output_is_optional),
        TEST(md_7_2_counts_are_with_the_terminator_whatever_the_buffer),
        TEST(md_7_3_what_does_not_fit_is_cut),
        TEST(md_7_3_a_pair_may_be_cut_between_its_units),
        TEST(md_7_5_a_failure_writes_nothing),
        TEST(md_7_6_blobs_stay_where_they_are),
        TEST(md_7_7_a_tokens_table_is_mostly_not_looked_at),
        TEST(md_8_rows_that_are_not_there),
        TEST(md_8_empty_tables),
        TEST(md_8_1_methods),
        TEST(md_8_1_members_that_are_methods_leave_a_fields_outputs_alone),
        TEST(md_8_2_types),
        TEST(md_8_2_8_3_another_table_is_no_failure),
        TEST(md_8_2_the_core_library_has_the_type_that_others_refer_to),
        TEST(md_8_3_type_references),
        TEST(md_8_4_not_nested_leaves_the_output_alone),
        TEST(md_8_7_8_8_the_scope),
        TEST(md_8_9_generic_parameters),
        TEST(md_8_10_generic_parameters_of_a_type),
        TEST(md_8_11_methods_of_a_type),
        TEST(md_8_11_methods_with_a_name),
        TEST(md_8_13_types_by_name),
        TEST(md_8_14_members_by_name),
        TEST(md_8_15_type_references_by_name_and_scope),
        TEST(md_8_16_an_absent_attribute_leaves_the_outputs_alone),
        TEST(md_8_17_8_18_assemblies),
        TEST(md_8_19_live_tokens),
        TEST(md_8_20_names_of_tokens_are_utf8_and_their_own),
        TEST(md_8_22_no_layout_is_two_zeros),
        TEST(md_8_23_a_reference_is_resolved_across_assemblies),
        TEST(md_8_24_once_it_is_writable_there_is_no_kind_of_file),
        TEST(md_8_25_8_26_the_rest),
        TEST(md_9_1_an_enumeration_goes_on_where_it_was_and_its_handle_stays),
        TEST(md_9_1_what_it_is_over_is_said_by_the_first_call),
        TEST(md_9_2_nothing_leaves_the_handle_null),
        TEST(md_9_3_counting_needs_no_room),
        TEST(md_9_4_a_null_handle_is_an_empty_enumeration),
        TEST(md_9_5_reset_sets_the_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
