/*
 * What the files of the vendor-like profiler share.
 */
#ifndef VENDOR_VENDOR_H
#define VENDOR_VENDOR_H

#include "profiling.h"

#include <string>

/* The runtime's interface, once Initialize was called. */
extern Info10 *info;

/* record.cc: lines of text, each kept once, written to the file that VENDOR_OUT names. */
void record(const std::string &line);
void record_always(const std::string &line); /* while paused, too */
void record_pause(bool pause);
void record_end();
std::string hex(std::uint32_t value);

/* stacks.cc: stacks as text. `thread` 0 for the caller's. */
std::string function_name(Id function);
std::string stack(Id thread, std::uint32_t flags = 0);
void look(const std::string &occasion);

/* sampler.cc: the profiler's own thread, and what the target calls. */
void sampler_start();
void sampler_end();
void detached();
void thread_new(Id thread);
void thread_gone(Id thread);

#endif
