/*
 * The status that calls return where the contract does not ask for an HRESULT, and the attributes of the other headers.
 */
#ifndef SNAPWALK_STATUS_H
#define SNAPWALK_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of these headers, for #if. Before 1.0.0 a new MINOR may break sources. ABI is the number in the shared
 * library's soname: a program goes on with a later library of the same one (docs/versions.md).
 */
#define SW_VERSION_MAJOR  0
#define SW_VERSION_MINOR  2
#define SW_VERSION_PATCH  0
#define SW_VERSION_NUMBER (SW_VERSION_MAJOR * 10000 + SW_VERSION_MINOR * 100 + SW_VERSION_PATCH)
#define SW_VERSION_ABI    0

#if defined(__GNUC__)
#define SW_NODISCARD __attribute__((warn_unused_result))
#else
#define SW_NODISCARD
#endif

/*
 * In front of what the shared library exports. In the archive nothing is visible outside of the program or the library
 * that it is linked into.
 */
#if defined(SW_BUILDING_SHARED) && defined(__GNUC__)
#define SW_API __attribute__((visibility("default")))
#else
#define SW_API
#endif

/* Zero is success. Everything else names a failure. ORDER sw_status: src/common/status.c. */
enum sw_status {
    SW_OK = 0,
    SW_E_ARGUMENT,    /* null pointer, size that does not fit, or enumerator out of range */
    SW_E_NO_MEMORY,   /* the allocator returned null */
    SW_E_EMPTY,       /* begin == end */
    SW_E_WRAPS,       /* end < begin, or begin + size is beyond the end of the address space */
    SW_E_OVERLAP,     /* the range overlaps an existing one */
    SW_E_NOT_FOUND,   /* no such range, thread, image, section, or table entry */
    SW_E_EXISTS,      /* the id is already in use */
    SW_E_BUSY,        /* another caller is changing the object now */
    SW_E_TRUNCATED,   /* the bytes end before the structure does */
    SW_E_MALFORMED,   /* the bytes contradict their format */
    SW_E_UNSUPPORTED, /* well-formed, but of a version or with a feature that is not supported */
    SW_E_UNREADABLE,  /* target memory could not be read */
    SW_E_LIMIT,       /* a limit of this library (stack depth, steps, nesting) was reached */
    SW_E_NO_RULE,     /* nothing describes the code at this pc */
    SW_E_PERMISSION,  /* the operating system refused */
    SW_E_GONE,        /* the process or thread has ended */
    SW_E_OS,          /* any other failed request to the operating system */
    SW_STATUS_COUNT
};

/*
 * The name of a status, for messages: "SW_E_OVERLAP".
 *
 * Returns  A constant string; "SW_E_?" for any other value. Never null.
 * Memory   Static. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_status_name(enum sw_status status);

/*
 * The version of the library that is linked, as "MAJOR.MINOR.PATCH"; that of the headers is SW_VERSION_MAJOR and so on.
 *
 * Returns  A constant string. Memory  Static. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_version(void);

#ifdef __cplusplus
}
#endif

#endif
