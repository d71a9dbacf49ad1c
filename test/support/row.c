/*
 * Linked to each unit test: of its tests, ROW=NAME in the environment runs those of that name only; * and ? stand for
 * others.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

static __attribute__((constructor)) void choose_row(void)
{
    const char *row = getenv("ROW");
    if (row && *row)
        cmocka_set_test_filter(row);
}
