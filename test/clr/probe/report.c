/* Counts of walks by occasion, and where differences are written. */
#include "probe.h"

#include <stdarg.h>
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
    "stopped, unseeded",
    "stopped, own registers",
    "stopped, first managed",
    "stopped, no seed at all",
    "stopped, further out",
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
    setvbuf(report, NULL, _IONBF, 0);
}

/* The refusals that a walk of another thread gets; all others are one kind. */
static const struct {
    HRESULT hr;
    const char *name;
} kinds[] = {
    { S_OK, "S_OK" },
    { E_FAIL, "E_FAIL" },
    { CORPROF_E_STACKSNAPSHOT_UNSAFE, "UNSAFE" },
    { CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX, "UNMANAGED_CTX" },
    { S_FALSE, "others" },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
static _Atomic uint64_t answers[OCCASIONS][KINDS];

void count(enum occasion occasion, bool identical, HRESULT real)
{
    unsigned kind = 0;
    while (kind < KINDS - 1 && kinds[kind].hr != real)
        kind++;
    atomic_fetch_add(&answers[occasion][kind], 1);
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

void add_text(struct text *text, const char *format, ...)
{
    const size_t room = sizeof text->bytes - text->used;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text->bytes + text->used, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->used += (size_t)length < room ? (size_t)length : room - 1;
}

void print_text(const struct text *text)
{
    fwrite(text->bytes, 1, text->used, report);
}

static void print_answers(enum occasion occasion)
{
    for (unsigned i = 0; i < KINDS; i++)
        if (atomic_load(&answers[occasion][i]) != 0)
            fprintf(report, "; %s %llu", kinds[i].name, (unsigned long long)atomic_load(&answers[occasion][i]));
    fprintf(report, "\n");
}

void print_counts(void)
{
    uint64_t all = 0, same = 0;
    for (unsigned i = 0; i < OCCASIONS; i++) {
        const uint64_t n = atomic_load(&walks[i]), equal = atomic_load(&identical_walks[i]);
        all += n;
        same += equal;
        if (n == 0)
            continue;
        fprintf(report, "  %-26s %9llu walks, %9llu identical", names[i], (unsigned long long)n,
                (unsigned long long)equal);
        print_answers(i);
    }
    fprintf(report, "  registers that the CLR gives as 0 and that are not: %llu\n",
            (unsigned long long)atomic_load(&zeros));
    fprintf(report, "clr: %llu of %llu walks identical\n", (unsigned long long)same, (unsigned long long)all);
}
