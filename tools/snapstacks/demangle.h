/* Names of symbols as they were written. */
#ifndef SNAPSTACKS_DEMANGLE_H
#define SNAPSTACKS_DEMANGLE_H

#include <stddef.h>

/* The name behind a mangled one of C++ or Rust, else the name without its version. Cut to size - 1. Returns `text`. */
const char *demangle(const char *symbol, char *text, size_t size);

#endif
