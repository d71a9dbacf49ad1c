/* Where profiles go: the name of each process's file, and the writing of it. */
#ifndef PROFILER_OUTPUT_H
#define PROFILER_OUTPUT_H

#include "options.h"
#include "profile/profile.h"

enum { OUTPUT_NAME = 1024 };

/*
 * The name of a file. In `pattern`, %p is the process id, %t the time when it is written (seconds since 1970), %% a
 * percent sign. Without %p the id is put in front of the ending: no process writes over another's. Files of one process
 * behind the first have their number there too.
 *
 * Returns  false: the name is too long, or no format ends so.
 */
bool output_name(const char *pattern, unsigned long pid, unsigned long time_s, unsigned long number,
                 char name[OUTPUT_NAME]);

/* Whether files of this pattern can be made: its folder is there, and may be written to. False, and errno: not. */
bool output_may_write(const char *pattern);

/* Whether there is such a file, not older than this process: one of its own, of whatever program it was. */
bool output_is_own(const char *name);

/*
 * Writes beside it, then renames: whoever sees the file sees all of it. `shown`: the column of formats that have one.
 * False, and errno: it could not.
 */
bool output_write(const struct sw_profile *profile, size_t shown, const char *name);

#endif
