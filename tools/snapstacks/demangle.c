/* C++ (Itanium ABI) and Rust (both manglings) by libiberty, whose recursion is bounded. A version is left out. */
#include "demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

const char *demangle(const char *symbol, char *text, size_t size)
{
    char *found = NULL;
    const char *version = strchr(symbol, '@'); /* "pause@@GLIBC_2.2.5" */
    if (strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0)
        found = cplus_demangle(symbol, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
    if (found || !version || version == symbol)
        snprintf(text, size, "%s", found ? found : symbol);
    else
        snprintf(text, size, "%.*s", (int)(version - symbol), symbol);
    free(found);
    return text;
}
