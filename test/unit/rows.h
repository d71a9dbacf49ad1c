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

/* The same behind the first n tests, which become more. */
#define ADD_ROWS(tests, n, rows, run)                                                                                  \
    do {                                                                                                               \
        FILL_ROWS((tests) + (n), rows, run);                                                                           \
        (n) += COUNT_OF(rows);                                                                                         \
    } while (0)

#endif
