/* The runtime's texts, UTF-16, as UTF-8. */
#ifndef PROFILER_WIDE_H
#define PROFILER_WIDE_H

#include <snapwalk/corprof.h>

#include <stddef.h>

/* At most `units`, and up to a 0; cut between characters so that `size` bytes hold it with its end. */
void wide_to_text(const WCHAR *wide, size_t units, char *text, size_t size);

#endif
