/*
 * Frames of samples → places of a profile: Namespace.Type.Method<int>(string) of managed code, as it was written; of
 * native code the symbol, or its library alone.
 */
#ifndef PROFILER_NAMES_H
#define PROFILER_NAMES_H

#include "options.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct sw_clr;

/* Threads: all of these one at a time. False: no memory. Names of a runtime that is not known are "?". */
bool names_open(struct sw_clr *clr, const struct options *options);
void names_close(void);

/* Of a new profile: the program is its first file, which is the one that pprof names. */
void names_begin(struct sw_profile *profile);

/* What was read of the runtime may have changed: before samples are read. */
void names_renew(void);

/* A new profile has new numbers. */
void names_forget(void);

/* A method is gone: its FunctionID may become another's. */
void names_unload(uint64_t function);

/* An image is gone, with its methods. */
void names_unload_image(void);

/*
 * What frame a pc of a sample is: one word, the kind of its code in the highest byte (enum sw_kind), and its lookup
 * address. exact: it was being executed; others are return addresses.
 */
uint64_t names_frame(uint64_t pc, bool exact);
bool names_is_managed(uint64_t frame);

/* The number of a frame's location in that profile. */
uint32_t names_location(struct sw_profile *profile, uint64_t frame);

/* The number of a location that is only a text, such as "[stack cut]". */
uint32_t names_said(struct sw_profile *profile, const char *text);

#endif
