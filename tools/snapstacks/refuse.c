/* Failures as sentences and exit codes: one table. */
#include "refuse.h"

#include "profile/text.h"

#include <snapwalk/process.h>

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    enum sw_status status;
    enum exit_code code;
    const char *next;
} rows[] = {
    { SW_E_GONE, EXIT_NOT_THERE, "there is no such process; it may have ended" },
    { SW_E_PERMISSION, EXIT_NOT_ALLOWED, "not allowed; run it as the owner of the process, or as root" },
    { SW_E_NO_MEMORY, EXIT_FAILED, "out of memory" },
    { SW_E_BUSY, EXIT_FAILED, "no thread could be stopped in time; try again" },
    { SW_E_ARGUMENT, EXIT_USAGE, "this is snapstacks itself; name another process" },
    { SW_E_UNSUPPORTED, EXIT_NOT_THERE, "a 32-bit process cannot be walked" },
};

void complain(const char *format, ...)
{
    char sentence[PATH_MAX + 512], clean[4 * sizeof sentence];
    bool cut;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    sw_profile_text_clean(sentence, clean, sizeof clean, &cut);
    fprintf(stderr, "snapstacks: %s\n", clean);
}

void refuse_with(enum exit_code code, const char *what, const char *why)
{
    fflush(stdout);
    complain("%s: %s", what, why);
    exit((int)code);
}

void must(enum sw_status status, const char *what)
{
    if (status == SW_OK)
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == status)
            refuse_with(rows[i].code, what, rows[i].next);
    refuse_with(EXIT_FAILED, what, sw_status_name(status));
}

void *must_get(size_t count, size_t size, const char *what)
{
    void *memory = calloc(count, size);
    must(memory ? SW_OK : SW_E_NO_MEMORY, what);
    return memory;
}

void must_for(enum sw_status status, int pid, const char *what)
{
    int tracer = 0;
    char why[512], who[40] = "";
    if (status == SW_E_UNSUPPORTED && sw_process_find_obstacle(pid, NULL) == SW_OBSTACLE_KERNEL)
        refuse_with(EXIT_NOT_THERE, what, sw_process_obstacle_text(SW_OBSTACLE_KERNEL));
    if (status != SW_E_PERMISSION) {
        must(status, what);
        return;
    }
    const enum sw_process_obstacle obstacle = sw_process_find_obstacle(pid, &tracer);
    if (tracer)
        snprintf(who, sizeof who, " (process %d)", tracer);
    snprintf(why, sizeof why, "%s%s", sw_process_obstacle_text(obstacle), who);
    refuse_with(EXIT_NOT_ALLOWED, what, why);
}
