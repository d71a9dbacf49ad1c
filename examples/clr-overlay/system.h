/*
 * What differs between the systems that the overlay runs on. Refuses to know profilers.
 */
#ifndef SNAPWALK_OVERLAY_SYSTEM_H
#define SNAPWALK_OVERLAY_SYSTEM_H

#include <stdbool.h>

/*
 * SW_OVERLAY_FLAVOUR  Whose answers the CLR's are there.
 * SYSTEM_CALLS_MAIN   The loader calls a library's DllMain; elsewhere the runtime does, so the overlay has to.
 */
#if defined(_WIN32)
#define SW_OVERLAY_FLAVOUR SW_FLAVOUR_CORECLR_WINDOWS
#define EXPORT             __declspec(dllexport)
enum { SYSTEM_CALLS_MAIN = true };
#else
#define SW_OVERLAY_FLAVOUR SW_FLAVOUR_CORECLR_UNIX
#define EXPORT             __attribute__((visibility("default")))
enum { SYSTEM_CALLS_MAIN = false };
#endif

/* Null: it cannot be loaded, and sw_overlay_why says why, until the next call. */
void *sw_overlay_load(const char *path);
const char *sw_overlay_why(void);

/* Sets *function, a pointer to a function, to that of a name; null: there is none. */
void sw_overlay_find(void *library, const char *name, void *function);

/* From now on the library that this is in stays loaded. */
void sw_overlay_stay(void);

#endif
