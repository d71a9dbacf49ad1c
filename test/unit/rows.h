/*
 * One row = one test: turns a table of rows into cmocka tests that share one function.
 */
#ifndef TEST_UNIT_ROWS_H
#define TEST_UNIT_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* Fills tests[0 .. COUNT_OF(rows)) with `run` on each row; every row's first member is its name. */
#define FILL_ROWS(tests, rows, run)                                                                                    \
    for (size_t row_ = 0; row_ < COUNT_OF(rows); row_++)                                                               \
        (tests)[row_] = (struct CMUnitTest)                                                                            \
        {                                                                                                              \
            (rows)[row_].name, run, NULL, NULL, (void *)(uintptr_t) & (rows)[row_]                                     \
        }

/* Tests from `begin` to `end` have that around them. */
#define SET_UP(tests, begin, end, set_up, tear_down)                                                                   \
    for (size_t test_ = (begin); test_ < (end); test_++) {                                                             \
        (tests)[test_].setup_func = (set_up);                                                                          \
        (tests)[test_].teardown_func = (tear_down);                                                                    \
    }

/* The same behind the first n tests, which become more. */
#define ADD_ROWS(tests, n, rows, run)                                                                                  \
    do {                                                                                                               \
        FILL_ROWS((tests) + (n), rows, run);                                                                           \
        (n) += COUNT_OF(rows);                                                                                         \
    } while (0)

#endif
