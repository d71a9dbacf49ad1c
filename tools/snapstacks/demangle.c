/*
 * C++ (Itanium ABI) and Rust (both manglings) by libiberty, whose recursion is bounded. A version is left out; what
 * says that it is a stub stays.
 */
#include "demangle.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

const char *demangle(const char *symbol, char *text, size_t size)
{
    char *found = NULL;
    const char *version = strchr(symbol, '@'); /* "pause@@GLIBC_2.2.5" */
    const char *stub = version && strcmp(version, "@plt") == 0 ? version : "";
    snprintf(text, size, "%.*s", version && version > symbol ? (int)(version - symbol) : INT_MAX, symbol);
    if (strncmp(text, "_Z", 2) == 0 || strncmp(text, "_R", 2) == 0)
        found = cplus_demangle(text, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
    if (found)
        snprintf(text, size, "%s", found);
    free(found);
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s", stub);
    return text;
}
