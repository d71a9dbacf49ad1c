/* Programs that were compiled ahead of time (NativeAOT): .NET without a runtime that could load a profiler. */
#ifndef COMMAND_AHEAD_H
#define COMMAND_AHEAD_H

#include <stdbool.h>

extern const char ahead_words[]; /* what people are told of one */

/* Whether the file is such a program. False, too: it cannot be read. */
bool ahead_of_time(const char *path);

/* The same of a program that is to be run by that name, which may be one of the folders of PATH. */
bool ahead_of_time_command(const char *name);

#endif
