/*
 * Libraries, by the system's loader. Refuses to know what is in them.
 */
#include "system.h"

#include <string.h>

#if defined(_WIN32)

#include <windows.h>

static char why[256];

void *sw_overlay_load(const char *path)
{
    HMODULE library = LoadLibraryA(path);
    if (!library && !FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, GetLastError(), 0,
                                    why, sizeof why, NULL))
        strcpy(why, "the system does not say why");
    why[strcspn(why, "\r\n")] = 0;
    return library;
}

const char *sw_overlay_why(void)
{
    return why;
}

void sw_overlay_find(void *library, const char *name, void *function)
{
    const FARPROC found = GetProcAddress(library, name);
    memcpy(function, &found, sizeof found);
}

void sw_overlay_stay(void)
{
    HMODULE self;
    (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                             (const WCHAR *)(const void *)why, &self);
}

#else

#include <dlfcn.h>

void *sw_overlay_load(const char *path)
{
    return dlopen(path, RTLD_LAZY);
}

const char *sw_overlay_why(void)
{
    return dlerror();
}

/* ISO C has no conversion from dlsym's result to a function. */
void sw_overlay_find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

/* It is linked with -z nodelete. */
void sw_overlay_stay(void)
{
}

#endif
