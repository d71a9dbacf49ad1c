/*
 * Names for people: every enumerator has one, no two of a kind share one, and numbers that are no enumerator are safe.
 */
#include "rows.h"
#include <snapwalk/snapshot.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *status_at(int n)
{
    return sw_status_name((enum sw_status)n);
}
static const char *source_at(int n)
{
    return sw_source_name((enum sw_source)n);
}
static const char *trust_at(int n)
{
    return sw_trust_name((enum sw_trust)n);
}
static const char *stop_at(int n)
{
    return sw_stop_name((enum sw_stop)n);
}
static const char *kind_at(int n)
{
    return sw_kind_name((enum sw_kind)n);
}
static const char *conduct_at(int n)
{
    return sw_conduct_name((enum sw_conduct)n);
}

static const struct family {
    const char *name;
    const char *(*at)(int n);
    int count;
    const char *unknown;
    const char *letters; /* that a name may be made of */
} families[] = {
    { "status_names", status_at, SW_STATUS_COUNT, "SW_E_?", "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" },
    { "source_names", source_at, SW_SOURCE_COUNT, "?", "abcdefghijklmnopqrstuvwxyz-" },
    { "trust_names", trust_at, SW_TRUST_COUNT, "?", "abcdefghijklmnopqrstuvwxyz-" },
    { "stop_names", stop_at, SW_STOP_COUNT, "?", "abcdefghijklmnopqrstuvwxyz-" },
    { "kind_names", kind_at, SW_KIND_NATIVE + 1, "?", "abcdefghijklmnopqrstuvwxyz-" },
    { "conduct_names", conduct_at, SW_CONDUCT_COUNT, "?", "abcdefghijklmnopqrstuvwxyz-" },
};

static void every_enumerator_has_its_own_name(void **state)
{
    const struct family *f = *state;
    for (int n = 0; n < f->count; n++) {
        assert_non_null(f->at(n));
        assert_true(strlen(f->at(n)) >= 3);
        assert_int_equal(strspn(f->at(n), f->letters), strlen(f->at(n)));
        for (int m = 0; m < n; m++)
            assert_string_not_equal(f->at(n), f->at(m));
    }
}

static void numbers_out_of_range_are_unknown(void **state)
{
    const struct family *f = *state;
    const int outside[] = { -1, f->count, f->count + 1, 1000000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(outside); i++)
        assert_string_equal(f->at(outside[i]), f->unknown);
}

/* One name of each table, taken from the headers' own words, so that a shifted table is seen. */
static void names_are_those_of_the_headers(void **state)
{
    (void)state;
    assert_string_equal(sw_status_name(SW_OK), "SW_OK");
    assert_string_equal(sw_status_name(SW_E_OVERLAP), "SW_E_OVERLAP");
    assert_string_equal(sw_status_name(SW_E_OS), "SW_E_OS");
    assert_string_equal(sw_source_name(SW_SOURCE_CFI), "cfi");
    assert_string_equal(sw_source_name(SW_SOURCE_FRAME_POINTER), "frame-pointer");
    assert_string_equal(sw_trust_name(SW_TRUST_EXACT), "exact");
    assert_string_equal(sw_stop_name(SW_STOP_ROOT), "root");
    assert_string_equal(sw_stop_name(SW_STOP_SP_NOT_RISING), "sp-not-rising");
    assert_string_equal(sw_stop_name(SW_STOP_BAD_START), "bad-start");
    assert_string_equal(sw_stop_name(SW_STOP_BUDGET), "budget");
    assert_string_equal(sw_kind_name(SW_KIND_NGEN), "ngen");
    assert_string_equal(sw_regs_name(SW_MACHINE_X64, SW_X64_RBX), "rbx");
    assert_string_equal(sw_regs_name(SW_MACHINE_ARM64, SW_ARM64_SP), "sp");
    assert_string_equal(sw_regs_name(SW_MACHINE_X64, SW_X64_COUNT), "?");
    assert_string_equal(sw_regs_name(SW_MACHINE_NONE, 0), "?");
    assert_string_equal(sw_conduct_name(SW_CONDUCT_MANAGED_SUSPENDER), "managed-suspender");
    assert_string_equal(sw_conduct_name(SW_CONDUCT_STALE_FRAME), "stale-frame");
}

/* Both ways, of values that differ; and nothing for what has no name. */
static void hresults_have_names(void **state)
{
    static const struct {
        const char *name;
        HRESULT hr;
    } some[] = {
        { "S_OK", S_OK },
        { "S_FALSE", S_FALSE },
        { "E_NOTIMPL", E_NOTIMPL },
        { "CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX", (HRESULT)0x8013135fu },
        { "CORPROF_E_MODULE_IS_ENC", (HRESULT)0x8013138au },
        { "CLDB_E_RECORD_NOTFOUND", (HRESULT)0x80131130u },
        { "ERROR_ENVVAR_NOT_FOUND", (HRESULT)0x800700cbu },
    };
    HRESULT hr = (HRESULT)0x12345678;
    (void)state;
    assert_string_equal(sw_hresult_name((HRESULT)0x12345678), "?");
    assert_false(sw_hresult_named("E_NOT", &hr));
    assert_false(sw_hresult_named("?", &hr));
    assert_false(sw_hresult_named(NULL, &hr));
    assert_false(sw_hresult_named("S_OK", NULL));
    assert_int_equal(hr, (HRESULT)0x12345678);
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        assert_string_equal(sw_hresult_name(some[i].hr), some[i].name);
        assert_true(sw_hresult_named(some[i].name, &hr));
        assert_int_equal(hr, some[i].hr);
    }
    for (uint32_t code = 0x80131350u; code <= 0x8013138au; code++) {
        const char *name = sw_hresult_name((HRESULT)code);
        assert_true(strcmp(name, "?") == 0 || (sw_hresult_named(name, &hr) && hr == (HRESULT)code));
    }
}

static void version_is_three_numbers(void **state)
{
    (void)state;
    const char *at = sw_version();
    for (int part = 0; part < 3; part++) {
        char *end;
        (void)strtoul(at, &end, 10);
        assert_ptr_not_equal(end, at);
        assert_int_equal(*end, part < 2 ? '.' : '\0');
        at = end + 1;
    }
}

int main(void)
{
    static char names[2 * COUNT_OF(families)][64];
    struct CMUnitTest tests[2 * COUNT_OF(families) + 3];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        void *row = (void *)(uintptr_t)&families[i];
        strcat(strcpy(names[2 * i], families[i].name), "_are_complete");
        strcat(strcpy(names[2 * i + 1], families[i].name), "_out_of_range");
        tests[count++] = (struct CMUnitTest){ names[2 * i], every_enumerator_has_its_own_name, NULL, NULL, row };
        tests[count++] = (struct CMUnitTest){ names[2 * i + 1], numbers_out_of_range_are_unknown, NULL, NULL, row };
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(names_are_those_of_the_headers);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(hresults_have_names);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(version_is_three_numbers);
    return _cmocka_run_group_tests("names", tests, count, NULL, NULL);
}
