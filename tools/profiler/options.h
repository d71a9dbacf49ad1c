/* What the user wants of the profiler: environment variables, or the same as text, which an attach brings along. */
#ifndef PROFILER_OPTIONS_H
#define PROFILER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { OPTIONS_TEXT = 512, OPTIONS_MESSAGE = 160 };

/* Bits of struct options.modes. ORDER modes: options.c. */
enum { MODE_CPU = 1, MODE_WALL = 2, MODE_ALLOC = 4, MODE_EXCEPTIONS = 8, MODE_LOCKS = 16 };

struct options {
    unsigned modes;
    unsigned long hz;           /* samples a second: of CPU time of each thread; of the clock for all of them */
    unsigned long wall_threads; /* of wall clock: threads looked at in one tick */
    unsigned long memory_mb;    /* bound of buffers, caches and the profile together */
    unsigned long interval_s;   /* 0, or a file every so many seconds */
    bool start;                 /* at once, or when the command says so */
    bool lines;                 /* of the source, where there is a portable PDB */
    bool raw_names;             /* of state machines and lambdas as the compiler calls them */
    bool verbose;
    char out[OPTIONS_TEXT]; /* output.h says what the name may hold; empty: none */
    char service[OPTIONS_TEXT];
    char endpoint[OPTIONS_TEXT]; /* the URL that OTLP profiles are sent to; empty: none */
};

/*
 * Fills in defaults, then what the environment says.
 *
 * message  Receives what is wrong, one line; empty: nothing is.
 * Returns  false: something is wrong, and `options` has its default there.
 */
bool options_from_environment(struct options *options, char message[OPTIONS_MESSAGE]);

/* The same from lines NAME=VALUE; ends at `size` bytes or at a NUL. Names that are not the profiler's are wrong. */
bool options_from_text(struct options *options, const char *text, size_t size, char message[OPTIONS_MESSAGE]);

/* Whom the environment names as the runtime's main profiler, of which it has one: nobody, `own`, another library. */
enum main_profiler { MAIN_NOBODY, MAIN_OWN, MAIN_OTHER };
enum main_profiler options_main_profiler(const char *own);

#endif
