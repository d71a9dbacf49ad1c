/*
 * What walks got wrong, grouped by the function whose caller was not found, with its instructions: for whoever mends
 * it.
 */
#ifndef ACCURACY_FINDINGS_H
#define ACCURACY_FINDINGS_H

#include "trace.h"

void findings_write(FILE *to, const char *name, const char *title, struct trace *trace, enum step_mode mode);

/* An instruction in words (text_x64.c or text_a64.c): its size, 0: it is none. */
size_t instruction_text(const uint8_t *bytes, size_t count, uint64_t pc, char *text, size_t size);

#endif
