/*
 * What a call answers when it is not an HRESULT, and the attributes that the other headers use.
 */
#ifndef SNAPWALK_STATUS_H
#define SNAPWALK_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SW_NODISCARD __attribute__((warn_unused_result))
#else
#define SW_NODISCARD
#endif

/* ORDER sw_status: src/status.c names them in this order. Zero is success, everything else a failure by name. */
enum sw_status {
    SW_OK = 0,
    SW_E_ARGUMENT,    /* a null pointer, a size that does not fit, an enumerator out of range */
    SW_E_NO_MEMORY,   /* the allocator answered null */
    SW_E_EMPTY,       /* begin == end */
    SW_E_WRAPS,       /* end < begin, or begin + size passes the end of the address space */
    SW_E_OVERLAP,     /* the range overlaps one that is already there */
    SW_E_NOT_FOUND,   /* no such range, thread, image, section or table entry */
    SW_E_EXISTS,      /* that id is already taken */
    SW_E_BUSY,        /* somebody else is changing it at this moment */
    SW_E_TRUNCATED,   /* the bytes end before the structure does */
    SW_E_MALFORMED,   /* the bytes contradict their format */
    SW_E_UNSUPPORTED, /* well-formed, but a version or feature that is not understood */
    SW_E_UNREADABLE,  /* target memory could not be read */
    SW_E_LIMIT,       /* a bound of this library (stack depth, steps, nesting) was reached */
    SW_E_NO_RULE,     /* nothing describes the code at this pc */
    SW_E_PERMISSION,  /* the operating system refused */
    SW_E_GONE,        /* the process or thread has ended */
    SW_E_OS,          /* any other failed request to the operating system */
    SW_STATUS_COUNT
};

/*
 * The name of a status, for messages: "SW_E_OVERLAP".
 *
 * Returns  A constant string; "SW_E_?" for a value that is no status. Never null.
 * Memory   Static. Threads  Any. Signals  Safe.
 */
const char *sw_status_name(enum sw_status status);

/*
 * The version of the library that is linked, as "MAJOR.MINOR.PATCH".
 *
 * Returns  A constant string. Memory  Static. Threads  Any. Signals  Safe.
 */
const char *sw_version(void);

#ifdef __cplusplus
}
#endif

#endif
