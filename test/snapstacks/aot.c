/* NativeAOT's names, one row each, and bytes that are no names: nothing is read or written beyond its end. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aot.h"

#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *symbol, *method, *written;
} rows[] = {
    { "app_Shop_Cart__Pay", "Pay", "Shop.Cart.Pay" },
    { "app_Shop_Cart__Pay_1", "Pay", "Shop.Cart.Pay" },
    { "app_Shop_Cart__Pay", NULL, "Shop.Cart.Pay" },
    { "app_Shop_Cart___ctor", ".ctor", "Shop.Cart..ctor" },
    { "unbox_app_Shop_Money__Add", "Add", "Shop.Money.Add" },
    { "Int32__ToString_2", "ToString", "Int32.ToString" },
    { "S_P_CoreLib_System_Threading_Thread__Sleep", "Sleep", "System.Threading.Thread.Sleep" },
    { "System_Linq_System_Linq_Enumerable__Sum", "Sum", "System.Linq.Enumerable.Sum" },
    { "S_P_CoreLib_System_Collections_Generic_List_1<Int32>__Add", "Add",
      "System.Collections.Generic.List<Int32>.Add" },
    { "S_P_CoreLib_System_Collections_Generic_Dictionary_2_Enumerator<Int32__System___Canon>__MoveNext", "MoveNext",
      "System.Collections.Generic.Dictionary.Enumerator<Int32, System.__Canon>.MoveNext" },
    { "String__Create<S_P_CoreLib_System_ReadOnlySpan_1<Char>>", "Create", "String.Create<System.ReadOnlySpan<Char>>" },
    { "app_Shop_Cart___c___Pay_b__2_1", "<Pay>b__2_1", "Shop.Cart.Pay.{lambda#2_1}" },
    { "app_Shop_Cart___c__DisplayClass7_1___Pay_b__1", "<Pay>b__1", "Shop.Cart.Pay.{lambda#1}" },
    { "app_Shop_Cart___Pay_g__Ask_3_0", "<Pay>g__Ask|3_0", "Shop.Cart.Pay.Ask" },
    { "app_Shop_Cart__Wait_d__9__MoveNext", "MoveNext", "Shop.Cart.Wait" },
    { "S_P_CoreLib_System_Runtime___Finalizer__DrainQueue", "DrainQueue", "System.Runtime...Finalizer.DrainQueue" },
    { "RhThrowEx", "ThrowEx", "RhThrowEx" },
    { "app_Shop_Cart__Pay", "Other", "app_Shop_Cart__Pay" },
    { "", "", "" },
    { "__", NULL, "__" },
    { "__managed__Main", NULL, "__managed__Main" },
};

static void name_is_as_written(void **state)
{
    const struct row *row = *state;
    char text[256];
    assert_string_equal(aot_demangle(row->symbol, row->method, "app", text, sizeof text), row->written);
}

/* Copies on the heap, as long as they are, so that a byte too far is seen. */
static char *random_text(uint32_t *seed)
{
    static const char *const parts[] = {
        "_", "__", "<", ">", "S_P_", "a", "7", "_d__", "___c", "System_", "_1<", "app_"
    };
    char made[160] = "";
    for (unsigned i = (*seed = *seed * 1664525 + 1013904223) >> 28; i; i--) {
        *seed = *seed * 1664525 + 1013904223;
        strcat(made, parts[(*seed >> 16) % (sizeof parts / sizeof parts[0])]);
    }
    return strdup(made);
}

static void any_bytes_are_bounded(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (unsigned i = 0; i < 200000; i++) {
        const size_t size = 1 + i % 40;
        char *symbol = random_text(&seed), *method = random_text(&seed), *text = malloc(size);
        assert_non_null(text);
        assert_ptr_equal(aot_demangle(symbol, i % 3 ? method : NULL, i % 2 ? "app" : "", text, size), text);
        assert_true(strlen(text) < size);
        free(symbol);
        free(method);
        free(text);
    }
}

int main(void)
{
    struct CMUnitTest tests[sizeof rows / sizeof rows[0] + 1];
    size_t count = 0;
    for (; count < sizeof rows / sizeof rows[0]; count++)
        tests[count] =
            (struct CMUnitTest){ rows[count].symbol, name_is_as_written, NULL, NULL, (void *)(uintptr_t)&rows[count] };
    tests[count] = (struct CMUnitTest)cmocka_unit_test(any_bytes_are_bounded);
    return _cmocka_run_group_tests("aot", tests, count + 1, NULL, NULL);
}
