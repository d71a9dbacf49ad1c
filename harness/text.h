/*
 * Names as the profiling interface passes them: UTF-16 with a terminator. The harness keeps them as UTF-8.
 */
#ifndef SW_HARNESS_TEXT_H
#define SW_HARNESS_TEXT_H

#include <snapwalk/corprof.h>

/*
 * Converts, and always terminates if `size` is not 0: at most size - 1 units are written, and a pair may be cut between
 * its units, as the CLR does. Bytes that are no UTF-8 become U+FFFD.
 *
 * Returns  How many units the whole text needs, with its terminator.
 */
size_t sw_text_to_wide(const char *text, WCHAR *to, size_t size);

/* The other way, in bytes; a character is never cut. A unit without its other half becomes U+FFFD. */
size_t sw_text_from_wide(const WCHAR *text, char *to, size_t size);

bool sw_text_equals(const WCHAR *wide, const char *text);

#endif
