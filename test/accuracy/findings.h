/*
 * What walks got wrong, grouped by the function whose caller was not found, with its instructions: for whoever mends it.
 */
#ifndef ACCURACY_FINDINGS_H
#define ACCURACY_FINDINGS_H

#include "trace.h"

void findings_write(FILE *to, const char *name, const char *title, struct trace *trace, enum step_mode mode);

#endif
