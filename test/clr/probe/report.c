/* Counts of walks by occasion, and where differences are written. */
#include "probe.h"

#include <stdlib.h>

enum { DIFFERENCES_SHOWN = 8 }; /* of each occasion */

/* ORDER occasion */
static const char *const names[OCCASIONS] = {
    "platform invoke",
    "cooperative, unseeded",
    "cooperative, seeded",
    "other thread, suspended",
    "ObjectAllocated",
    "JITCompilationStarted",
    "JITCompilationFinished",
    "JITCachedFunctionSearch",
    "ClassLoad",
    "ModuleLoad",
    "ExceptionThrown",
    "ExceptionSearchFunction",
    "ExceptionSearchFilter",
    "ExceptionSearchCatcher",
    "ExceptionUnwindFunction",
    "ExceptionUnwindFinally",
    "ExceptionCatcher",
    "thread events",
    "GC events",
    "code transitions",
    "RuntimeThreadSuspended",
    "RuntimeThreadResumed",
    "native thread",
    "refusals",
};

static _Atomic uint64_t walks[OCCASIONS], identical_walks[OCCASIONS], shown[OCCASIONS], zeros;
FILE *report;

const char *occasion_name(enum occasion occasion)
{
    return names[occasion];
}

void open_report(void)
{
    const char *path = getenv("CLRTEST_OUT");
    report = path ? fopen(path, "w") : NULL;
    if (!report)
        report = stderr;
    setvbuf(report, NULL, _IOLBF, 0);
}

void count(enum occasion occasion, bool identical)
{
    atomic_fetch_add(&walks[occasion], 1);
    atomic_fetch_add(&identical_walks[occasion], identical);
}

void count_zeros(unsigned registers)
{
    atomic_fetch_add(&zeros, registers);
}

bool may_report_difference(enum occasion occasion)
{
    return atomic_fetch_add(&shown[occasion], 1) < DIFFERENCES_SHOWN;
}

void print_counts(void)
{
    uint64_t all = 0, same = 0;
    for (unsigned i = 0; i < OCCASIONS; i++) {
        const uint64_t n = atomic_load(&walks[i]), equal = atomic_load(&identical_walks[i]);
        all += n;
        same += equal;
        if (n)
            fprintf(report, "  %-26s %9llu walks, %9llu identical\n", names[i], (unsigned long long)n,
                    (unsigned long long)equal);
    }
    fprintf(report, "  registers that the CLR gives as 0 and that are not: %llu\n",
            (unsigned long long)atomic_load(&zeros));
    fprintf(report, "clr: %llu of %llu walks identical\n", (unsigned long long)same, (unsigned long long)all);
}
