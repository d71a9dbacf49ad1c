/* A line "ok - NAME" or "not ok - NAME" for each thing that is tried. */
#ifndef TEST_WINDOWS_ROW_H
#define TEST_WINDOWS_ROW_H

#include <stdbool.h>
#include <stdio.h>

static int failed;

static inline void row(const char *name, bool good)
{
    printf("%s - %s\n", good ? "ok" : "not ok", name);
    fflush(stdout);
    failed += !good;
}

#endif
