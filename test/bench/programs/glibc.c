/* glibc's backtrace, by its own handle, in a process that has no libunwind: libunwind.so exports a backtrace of its
 * own. */
#include "rival.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>

static int (*glibc_backtrace)(void **, int);

static unsigned take_backtrace(uint64_t *out)
{
    return (unsigned)glibc_backtrace((void **)out, OUT);
}

int main(int argc, char **argv)
{
    static const struct way way = { "glibc backtrace", NULL, take_backtrace, 4000 };
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    must(libc != NULL, "finding libc");
    *(void **)&glibc_backtrace = dlsym(libc, "backtrace");
    must(glibc_backtrace != NULL, "finding backtrace");
    return rival_main(argc, argv, &way);
}
